"""What reading costs, against the bare Spark jobs that do the same: rows a second, ratios taken in one run.

    python -m bench.ingest [--rows 5000000] [--runs 3] [--without-kafka]

Each kind of input is read by `engine.ingest` (what a step of a pipeline does: look, read, fit, count what is rejected,
commit once) and by jobs written by hand, in turns, in one session, into empty tables of the same shape:

- Parquet files into a table without key, against a Structured Streaming job (readStream, availableNow, append).
- JSON messages of Kafka likewise, against two such jobs: `text`, which reads values as text and casts them, as ours does, so
  that no decimal passes through a double; and `typed`, which leaves the types to from_json.
- Changes by key into a table that has half of the keys, against the MERGE of the last change of each key, written by hand.

The first run of each is not counted. Beside seconds, the processor's seconds of the JVM are taken, which others on the
machine change less; ratios are of both, targets are about time. Every table is checked for its number of rows. Results
stand in bench/results/ingest.json as well. A target that is missed is said, and is no error.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
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
Kinds = Mapping[str, Callable[[str], int]]
"""What is measured → writes to a table at a location, and says how many rows must be there then."""

Taken = tuple[float, float]
"""Seconds, and seconds of the processor."""


@click.command()
@click.option("--rows", default=5_000_000, show_default=True, help="Rows of each input.")
@click.option("--runs", default=3, show_default=True, help="Runs of each kind that count.")
@click.option("--without-kafka", is_flag=True, help="Leave Kafka out.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(rows: int, runs: int, without_kafka: bool, results: Path) -> None:
    """Measure, show rows a second and ratios, write them as JSON."""
    session = start({"spark.driver.memory": "4g", "spark.driver.extraJavaOptions": _JAVA})
    engine = SparkEngine(lambda: session)
    measured: dict[str, Taken] = {}
    ratios: list[Ratio] = []
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            measured |= _take_turns(session, folder, _from_parquet(session, engine, folder, rows), runs, COLUMNS)
            ratios += _ratios(measured, "rows/s, Parquet: ours / bare", "Parquet bare", "Parquet ours", 0.9, False)
            measured |= _take_turns(session, folder, _by_key(session, engine, folder, rows // 5), runs, KEYED)
            ratios += _ratios(measured, "time, upserts: ours / by hand", "upsert ours", "upsert by hand", 1.2, True)
            if not without_kafka:
                measured |= _with_kafka(session, engine, folder, rows, runs)
                for other in ("text", "typed"):
                    name = f"rows/s, Kafka: ours / bare, {other}"
                    ratios += _ratios(measured, name, f"Kafka {other}", "Kafka ours", 0.9, False)
    finally:
        engine.close()
        session.stop()
    for name, (seconds, processor) in measured.items():
        speed = (rows // 5 if "upsert" in name else rows) / seconds
        click.echo(f"{name:<20}{seconds:>9.2f} s{processor:>9.2f} s of the processor{speed:>12,.0f} rows/s")
    for ratio in ratios:
        target = f"{'at most' if ratio.at_most else 'at least'} {ratio.target:g}"
        click.echo(f"{ratio.name:<40}{ratio.value:>8.2f}  {target}: {'met' if ratio.is_met else 'MISSED'}")
    document = {
        "rows": rows,
        "runs": runs,
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "seconds": {name: round(taken[0], 3) for name, taken in measured.items()},
        "processor_seconds": {name: round(taken[1], 3) for name, taken in measured.items()},
        "ratios": [{**asdict(one), "value": round(one.value, 3), "met": one.is_met} for one in ratios],
    }
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps(document, indent=2) + "\n")


def _ratios(
    measured: Mapping[str, Taken], name: str, over: str, under: str, target: float, at_most: bool
) -> tuple[Ratio, Ratio]:
    """The same ratio of seconds and of the processor's."""
    first, second = (measured[over][place] / measured[under][place] for place in (0, 1))
    return Ratio(name, first, target, at_most), Ratio(f"{name}, processor", second, target, at_most)


def _from_parquet(session: SparkSession, engine: Engine, folder: Path, rows: int) -> Kinds:
    source = folder / "parquet"
    _made(session, rows).write.parquet(str(source))
    settings = {"transport": {"name": "file_input", "config": {"path": str(source)}}, "format": {"name": "parquet"}}

    def bare(location: str) -> int:
        stream = session.readStream.schema(_made(session, 1).schema).parquet(str(source))
        return _appended(stream, location, rows)

    return {"Parquet ours": lambda location: _ours(engine, settings, COLUMNS, location, rows), "Parquet bare": bare}


def _by_key(session: SparkSession, engine: Engine, folder: Path, rows: int) -> Kinds:
    """Every key twice, half of them in the table before."""
    source, before = folder / "changes", folder / "before"
    _made(session, rows // 2).unionAll(_made(session, rows // 2)).write.parquet(str(source))
    _made(session, rows // 4).write.parquet(str(before))
    settings = {"transport": {"name": "file_input", "config": {"path": str(source)}}, "format": {"name": "parquet"}}

    def filled(location: str) -> None:
        session.read.parquet(str(before)).write.format("delta").mode("append").save(location)

    def ours(location: str) -> int:
        return _ours(engine, settings, KEYED, location, rows // 2, ("id",))

    def by_hand(location: str) -> int:
        place = "struct(_metadata.file_path, _metadata.file_block_start, monotonically_increasing_id())"
        changes = session.read.parquet(str(source)).selectExpr("*", f"{place} AS place")
        changes.createOrReplaceTempView("changes")
        session.sql(
            f"MERGE INTO delta.`{location}` AS t USING (SELECT * EXCEPT (place, n) FROM (SELECT *, row_number() OVER "
            f"(PARTITION BY id ORDER BY place DESC) AS n FROM changes) WHERE n = 1) AS s ON t.id = s.id "
            f"WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        return rows // 2

    return {"upsert ours": _after(filled, ours), "upsert by hand": _after(filled, by_hand)}


def _with_kafka(session: SparkSession, engine: Engine, folder: Path, rows: int, runs: int) -> dict[str, Taken]:
    from tests.kafka.broker import running

    broker = running()
    kafka = next(broker)
    try:
        topic = kafka.create_topic(partitions=4)
        texts = _made(session, rows).selectExpr("to_json(struct(*)) AS value", "CAST(id AS STRING) AS key")
        servers = {"kafka.bootstrap.servers": kafka.bootstrap}
        texts.write.format("kafka").options(**servers).option("topic", topic).save()
        config = {"bootstrap.servers": kafka.bootstrap, "topic": topic, "start_from": "earliest"}
        settings = {
            "transport": {"name": "kafka_input", "config": config},
            "format": {"name": "json", "config": {"update_format": "raw"}},
        }

        def bare(typed: bool, location: str) -> int:
            records = session.readStream.format("kafka").options(**servers)
            records = records.option("subscribe", topic).option("startingOffsets", "earliest")
            types = ", ".join(f"{one.name} {one.type if typed else 'STRING'}" for one in COLUMNS)
            parsed = records.load().selectExpr(f"from_json(CAST(value AS STRING), '{types}') AS v")
            return _appended(
                parsed.selectExpr(*(f"CAST(v.{c.name} AS {c.type}) AS {c.name}" for c in COLUMNS)), location, rows
            )

        kinds: Kinds = {
            "Kafka ours": lambda location: _ours(engine, settings, COLUMNS, location, rows),
            "Kafka text": lambda location: bare(False, location),
            "Kafka typed": lambda location: bare(True, location),
        }
        return _take_turns(session, folder, kinds, runs, COLUMNS)
    finally:
        next(broker, None)


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


def _after(before: Callable[[str], None], act: Callable[[str], int]) -> Callable[[str], int]:
    act.__dict__["before"] = before
    return act


def _take_turns(
    session: SparkSession, folder: Path, kinds: Kinds, runs: int, columns: tuple[ColumnType, ...]
) -> dict[str, Taken]:
    found: dict[str, list[Taken]] = {name: [] for name in kinds}
    for run in range(runs + 1):
        # Whoever comes first may pay for what the others find: the order alternates.
        for name in sorted(kinds, reverse=bool(run % 2)):
            table = folder / "table"
            create_table(str(table), columns, Transaction("create", 1))
            act = kinds[name]
            act.__dict__.get("before", lambda location: None)(str(table))
            started, used = time.monotonic(), _processor_seconds(session)
            wanted = act(str(table))
            seconds, processor = time.monotonic() - started, _processor_seconds(session) - used
            if session.read.format("delta").load(str(table)).count() != wanted:
                raise click.ClickException(f"{name} wrote another number of rows than {wanted}")
            click.echo(f"{name}: run {run} of {runs}, {seconds:.2f} s, {processor:.2f} s of the processor", err=True)
            if run:
                found[name].append((seconds, processor))
            for left in folder.glob("table*"):
                shutil.rmtree(left)
    return {name: (median(one for one, _ in taken), median(one for _, one in taken)) for name, taken in found.items()}


def _processor_seconds(session: SparkSession) -> float:
    """What the JVM has used so far."""
    jvm: Any = session._jvm
    return float(jvm.java.lang.ProcessHandle.current().info().totalCpuDuration().get().toNanos()) / 1e9


if __name__ == "__main__":
    main()
