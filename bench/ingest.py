"""What reading costs, against the bare Spark jobs that do the same: rows a second, ratios taken in one run.

    python -m bench.ingest [--rows 5000000] [--runs 3] [--only parquet|upsert|kafka]

Each kind of input is read by `engine.ingest` (what a step of a pipeline does: look, read, fit, count what is rejected,
commit once) and by jobs written by hand, into empty tables of the same shape:

- Parquet files into a table without key, against a Structured Streaming job (readStream, availableNow, append).
- JSON messages of Kafka likewise, against two such jobs: `text`, which reads values as text and casts them, as ours does, so
  that no decimal passes through a double; and `typed`, which leaves the types to from_json.
- Changes by key into a table that has half of the keys, against the MERGE of the last change of each key, written by hand.

They take turns, and every turn is a process of its own, as it is for whoever uses one of them: in one JVM each is compiled
for what the others do as well, and which comes first decides who is fast. The first two runs in each process are not
counted: a driver lives for long, and Java takes that many to compile what these jobs run. Beside seconds, the processor's
seconds of the JVM are taken, which others on the machine change less; ratios are of both, targets are about time. Every
table is checked for its number of rows. Results stand in bench/results/ingest.json as well. A target that is missed is
said, and is no error.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import click
from pyspark.sql import DataFrame, SparkSession

from bench.plan import ROOT, Ratio
from reconciler.delta.tables import create_table
from reconciler.engine.protocol import ColumnType, DeadLetters, Engine, Ingestion, TableTarget, Transaction
from reconciler.engine.spark.engine import SparkEngine
from reconciler.engine.spark.session import start

RESULTS: Final = ROOT / "bench" / "results" / "ingest.json"
COLUMNS: Final = (
    ColumnType("id", "BIGINT"),
    ColumnType("customer", "INT"),
    ColumnType("state", "STRING"),
    ColumnType("price", "DECIMAL(15,2)"),
    ColumnType("quantity", "BIGINT"),
    ColumnType("ordered_at", "TIMESTAMP"),
    ColumnType("day", "DATE"),
    ColumnType("comment", "STRING"),
)
KEYED: Final = (ColumnType("id", "BIGINT", nullable=False), *COLUMNS[1:])
_MADE: Final = (
    "id",
    "CAST(id * 7919 % 100003 AS INT) AS customer",
    "concat('st', id % 17) AS state",
    "CAST(id % 100000 / 100 AS DECIMAL(15,2)) AS price",
    "id % 50 AS quantity",
    "timestamp_seconds(1700000000 + id) AS ordered_at",
    "date_add(DATE '2024-01-01', CAST(id % 900 AS INT)) AS day",
    "concat('some words about order number ', id) AS comment",
)
_JAVA: Final = "-XX:+UseSerialGC"
"""Long work: the compiler that the small-work defaults switch off is worth its time."""
_RUNS: Final = 3
Taken = tuple[float, float]
"""Seconds, and seconds of the processor."""

UPSERT: Final = ("upsert ours", "upsert by hand")
KINDS: Final = {
    "parquet": ("Parquet ours", "Parquet bare"),
    "upsert": UPSERT,
    "kafka": ("Kafka ours", "Kafka text", "Kafka typed"),
}
RATIOS: Final = {
    "parquet": (("rows/s, Parquet: ours / bare", "Parquet bare", "Parquet ours", 0.9),),
    "upsert": (("time, upserts: ours / by hand", "upsert ours", "upsert by hand", 1.2),),
    "kafka": (
        ("rows/s, Kafka: ours / bare, text", "Kafka text", "Kafka ours", 0.9),
        ("rows/s, Kafka: ours / bare, typed", "Kafka typed", "Kafka ours", 0.9),
    ),
}
"""By kind: a name, what is divided by what, and the target: at most so much where it is above 1, else at least."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is read: `rows` of each kind (of changes by key, `rows // 5`), below a folder and in a topic."""

    folder: str
    rows: int
    bootstrap: str = ""
    topic: str = ""

    def place(self, name: str) -> str:
        """Where an input, or a result, lies."""
        return str(Path(self.folder) / name)


@click.command()
@click.option("--rows", default=5_000_000, show_default=True, help="Rows of each input.")
@click.option("--runs", default=3, show_default=True, help="Processes of each kind.")
@click.option("--only", type=click.Choice(list(KINDS)), help="Only this kind of input; results of the others stay.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
@click.option("--measure", hidden=True, help="Measure one kind over inputs that are there (JSON), and print what it took.")
@click.option("--inputs", hidden=True, default="{}")
def main(rows: int, runs: int, only: str | None, results: Path, measure: str | None, inputs: str) -> None:
    """Measure, show rows a second and ratios, write them as JSON."""
    if measure is not None:
        click.echo(json.dumps(_measured(measure, Inputs(**json.loads(inputs)))))
        return
    known = json.loads(results.read_text()) if results.exists() else {}
    for kind in KINDS if only is None else (only,):
        with tempfile.TemporaryDirectory() as scratch:
            measured = _measure_kind(kind, scratch, rows, runs)
        ratios = [
            ratio for name, over, under, target in RATIOS[kind] for ratio in _ratios(measured, name, over, under, target)
        ]
        for name, (seconds, processor) in measured.items():
            speed = (rows // 5 if kind == "upsert" else rows) / seconds
            click.echo(f"{name:<20}{seconds:>9.2f} s{processor:>9.2f} s of the processor{speed:>12,.0f} rows/s")
        for ratio in ratios:
            target = f"{'at most' if ratio.at_most else 'at least'} {ratio.target:g}"
            click.echo(f"{ratio.name:<50}{ratio.value:>8.2f}  {target}: {'met' if ratio.is_met else 'MISSED'}")
        known[kind] = {
            "rows": rows,
            "runs": runs,
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "seconds": {name: round(taken[0], 3) for name, taken in measured.items()},
            "processor_seconds": {name: round(taken[1], 3) for name, taken in measured.items()},
            "ratios": [{**asdict(one), "value": round(one.value, 3), "met": one.is_met} for one in ratios],
        }
        results.parent.mkdir(parents=True, exist_ok=True)
        results.write_text(json.dumps({kind: known[kind] for kind in KINDS if kind in known}, indent=2) + "\n")


def _measure_kind(kind: str, scratch: str, rows: int, runs: int) -> dict[str, Taken]:
    if kind != "kafka":
        inputs = Inputs(scratch, rows)
        _make(kind, inputs)
        return _take_turns(KINDS[kind], inputs, runs)
    from tests.kafka.broker import running

    broker = running()
    kafka = next(broker)
    try:
        inputs = Inputs(scratch, rows, kafka.bootstrap, kafka.create_topic(partitions=4))
        _make(kind, inputs)
        return _take_turns(KINDS[kind], inputs, runs)
    finally:
        next(broker, None)


def _take_turns(kinds: Sequence[str], inputs: Inputs, runs: int) -> dict[str, Taken]:
    found: dict[str, list[Taken]] = {name: [] for name in kinds}
    for run in range(1, runs + 1):
        for name in kinds:
            words = [sys.executable, "-m", "bench.ingest", "--measure", name, "--inputs", json.dumps(asdict(inputs))]
            printed = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
            seconds, processor = json.loads(printed.splitlines()[-1])
            click.echo(f"{name}: run {run} of {runs}, {seconds:.2f} s, {processor:.2f} s of the processor", err=True)
            found[name].append((seconds, processor))
    return {name: (median(one for one, _ in taken), median(one for _, one in taken)) for name, taken in found.items()}


def _session() -> SparkSession:
    return start({"spark.driver.memory": "4g", "spark.driver.extraJavaOptions": _JAVA})


def _make(kind: str, inputs: Inputs) -> None:
    """Of changes by key, every key comes twice, and half of them stand in the table before."""
    session, rows = _session(), inputs.rows
    try:
        match kind:
            case "parquet":
                _made(session, rows).write.parquet(inputs.place("parquet"))
            case "upsert":
                keys = rows // 5 // 2
                _made(session, keys).unionAll(_made(session, keys)).write.parquet(inputs.place("changes"))
                _made(session, keys // 2).write.parquet(inputs.place("before"))
            case _:
                texts = _made(session, rows).selectExpr("to_json(struct(*)) AS value", "CAST(id AS STRING) AS key")
                texts.write.format("kafka").options(**_servers(inputs)).option("topic", inputs.topic).save()
    finally:
        session.stop()


def _measured(kind: str, inputs: Inputs) -> Taken:
    """One kind, in this process: the last of its runs."""
    session = _session()
    engine = SparkEngine(lambda: session)
    columns = KEYED if kind in UPSERT else COLUMNS
    taken = (0.0, 0.0)
    try:
        for _ in range(_RUNS):
            table = inputs.place("table")
            create_table(table, columns, Transaction("create", 1))
            if kind in UPSERT:
                before = session.read.parquet(inputs.place("before"))
                before.write.format("delta").mode("append").save(table)
            started, used = time.monotonic(), _processor_seconds(session)
            wanted = _carry_out(kind, session, engine, inputs, table)
            taken = time.monotonic() - started, _processor_seconds(session) - used
            if session.read.format("delta").load(table).count() != wanted:
                raise click.ClickException(f"{kind} wrote another number of rows than {wanted}")
            for left in Path(inputs.folder).glob("table*"):
                shutil.rmtree(left)
    finally:
        engine.close()
    return taken


def _carry_out(kind: str, session: SparkSession, engine: Engine, inputs: Inputs, location: str) -> int:
    """Read into the table, and say how many rows must be there then."""
    match kind:
        case "Parquet ours":
            return _ours(engine, _files(inputs.place("parquet")), COLUMNS, location, inputs.rows)
        case "Parquet bare":
            stream = session.readStream.schema(_made(session, 1).schema).parquet(inputs.place("parquet"))
            return _appended(stream, location, inputs.rows)
        case "upsert ours":
            return _ours(engine, _files(inputs.place("changes")), KEYED, location, inputs.rows // 5 // 2, ("id",))
        case "upsert by hand":
            return _merged_by_hand(session, inputs, location)
        case "Kafka ours":
            config = {"bootstrap.servers": inputs.bootstrap, "topic": inputs.topic, "start_from": "earliest"}
            form = {"name": "json", "config": {"update_format": "raw"}}
            settings = {"transport": {"name": "kafka_input", "config": config}, "format": form}
            return _ours(engine, settings, COLUMNS, location, inputs.rows)
        case "Kafka text" | "Kafka typed":
            return _bare_kafka(session, inputs, kind == "Kafka typed", location)
        case _:
            raise click.ClickException(f"there is no kind {kind!r}")


def _ratios(measured: Mapping[str, Taken], name: str, over: str, under: str, target: float) -> tuple[Ratio, Ratio]:
    """The same ratio of seconds and of the processor's."""
    first, second = (measured[over][place] / measured[under][place] for place in (0, 1))
    return Ratio(name, first, target, target > 1), Ratio(f"{name}, processor", second, target, target > 1)


def _files(path: str) -> dict[str, Any]:
    return {"transport": {"name": "file_input", "config": {"path": path}}, "format": {"name": "parquet"}}


def _merged_by_hand(session: SparkSession, inputs: Inputs, location: str) -> int:
    place = "struct(_metadata.file_path, _metadata.file_block_start, monotonically_increasing_id())"
    changes = session.read.parquet(inputs.place("changes")).selectExpr("*", f"{place} AS place")
    changes.createOrReplaceTempView("changes")
    session.sql(
        f"MERGE INTO delta.`{location}` AS t USING (SELECT * EXCEPT (place, n) FROM (SELECT *, row_number() OVER "
        f"(PARTITION BY id ORDER BY place DESC) AS n FROM changes) WHERE n = 1) AS s ON t.id = s.id "
        f"WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    return inputs.rows // 5 // 2


def _bare_kafka(session: SparkSession, inputs: Inputs, typed: bool, location: str) -> int:
    records = session.readStream.format("kafka").options(**_servers(inputs))
    records = records.option("subscribe", inputs.topic).option("startingOffsets", "earliest")
    types = ", ".join(f"{one.name} {one.type if typed else 'STRING'}" for one in COLUMNS)
    parsed = records.load().selectExpr(f"from_json(CAST(value AS STRING), '{types}') AS v")
    return _appended(
        parsed.selectExpr(*(f"CAST(v.{c.name} AS {c.type}) AS {c.name}" for c in COLUMNS)), location, inputs.rows
    )


def _servers(inputs: Inputs) -> dict[str, str]:
    return {"kafka.bootstrap.servers": inputs.bootstrap}


def _made(session: SparkSession, rows: int) -> DataFrame:
    return session.range(0, rows, 1, 8).selectExpr(*_MADE)


def _ours(
    engine: Engine,
    settings: Mapping[str, Any],
    columns: tuple[ColumnType, ...],
    location: str,
    rows: int,
    key: tuple[str, ...] = (),
) -> int:
    """As a step does it: what is there, then its range, once, with dead letters."""
    available = engine.discover("bench", settings, None)
    if available is None:
        raise click.ClickException("the input is empty")
    letters = DeadLetters(f"{location}-dead-letters", 1, 0)
    target = TableTarget("bench", location, columns, key)
    engine.ingest(Ingestion(target, "bench", settings, available.range, Transaction("bench", 1), letters))
    return rows


def _appended(stream: DataFrame, location: str, rows: int) -> int:
    writer = stream.writeStream.format("delta").option("checkpointLocation", f"{location}-checkpoint")
    writer.trigger(availableNow=True).start(location).awaitTermination()
    return rows


def _processor_seconds(session: SparkSession) -> float:
    """What the JVM has used so far."""
    jvm: Any = session._jvm
    return float(jvm.java.lang.ProcessHandle.current().info().totalCpuDuration().get().toNanos()) / 1e9


if __name__ == "__main__":
    main()
