"""What a step of a stream costs: beside a state a hundred times as large, and beside Spark's own streaming.

    python -m bench.streams [--few 10000] [--many 1000000] [--step 1000] [--steps 7] [--rows 5000000]

First each transformation with a state of few keys and with one of many: the same small steps, in turns. A step is measured
from its intent to its publication. The state is what one step has left that brought a row of each key.

Then many rows in ten steps: the wall and CPU seconds of each transformation, beside those of a sum by tumbling windows by
Spark's structured streaming over the same files, which appends what it gives to a Delta table. Of a step of ours only the
stream is counted: its rows are in a table then, as Spark's are in files. Where Spark has an operator that does the same
(windows, sessions, duplicates), the transformation stands beside that, too.

Results stand in bench/results/streams.json as well. A target that is missed is said, and is no error.
"""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

import click
import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import SparkSession, functions

from bench.cpu import cpu_seconds
from bench.plan import ROOT, Ratio
from bench.small_steps import tell
from reconciler import Project
from reconciler.engine.by_size import EngineBySize
from reconciler.engine.protocol import Engine
from reconciler.engine.spark.engine import SparkEngine
from reconciler.engine.spark.session import start
from reconciler.environment.observer import Observer

RESULTS: Final = ROOT / "bench" / "results" / "streams.json"
_BEGIN: Final = 1_767_225_600_000_000
"""The first event time, in microseconds since 1970."""

_PROGRAM: Final = "CREATE TABLE readings (device STRING, at TIMESTAMP, value BIGINT) WITH ('append_only' = 'true');\n"
_PIPELINE: Final = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: site}
spec:
  bootstrap_policy: allow
  connectors:
    - name: files
      table: readings
      transport: {name: file_input, config: {path: source}}
      format: {name: parquet}
    - name: log
      table: readings
      transport: {name: file_input, config: {path: lines}}
      format: {name: json}
  streams:
    - {name: timed, assign_timestamps_and_watermarks: {input: readings, event_time: at, delay: 1m}}
"""
_OTHER_SIDE: Final = """\
    - {name: again, assign_timestamps_and_watermarks: {input: readings, event_time: at, delay: 1m}}
"""
_SUM: Final = "aggregates: {total: sum(value)}"
TUMBLING: Final = "tumbling window"
JOIN: Final = "join"
STREAMS: Final = {
    TUMBLING: f"aggregate_over_window: {{input: timed, keys: [device], window: {{tumbling: 1h}}, {_SUM}}}",
    "early and late": f"aggregate_over_window: {{input: timed, keys: [device], window: {{tumbling: 1h}}, {_SUM}, "
    "trigger: {after_watermark: {early: {count: 10}, late: {count: 1}}}, allowed_lateness: 10m}",
    "session": f"aggregate_over_window: {{input: timed, keys: [device], window: {{session: 2m}}, {_SUM}}}",
    "running aggregate": "running_aggregate: {input: timed, keys: [device], aggregates: {total: sum(value)}, expiry: 1d}",
    "deduplicate": "deduplicate: {input: timed, keys: [device], expiry: 1d}",
    "deduplicate by many keys": "deduplicate: {input: timed, keys: [value], expiry: 1d}",
    "previous": "previous: {input: timed, keys: [device], columns: {before: value}, expiry: 1d}",
    JOIN: "outer_caching_join: {left: timed, right: again, keys: [device], expiry: 1s}",
}


class _Seconds:
    """Told of each boundary: wall seconds of the step, wall and CPU seconds of its stream."""

    def __init__(self) -> None:
        self.step = self.stream = self.cpu = 0.0
        self._began = self._stream = self._cpu = 0.0

    def reached(self, name: str) -> None:
        now = time.monotonic()
        match name:
            case "intent:before":
                self._began, self.stream, self.cpu = now, 0.0, 0.0
            case "view:before":
                self._stream, self._cpu = now, cpu_seconds()
            case "view:intended" | "view:effected":
                self.stream, self.cpu = now - self._stream, cpu_seconds() - self._cpu
            case "step:recorded":
                self.step = now - self._began


@click.command()
@click.option("--few", default=10_000, show_default=True, help="Keys of the small state.")
@click.option("--many", default=1_000_000, show_default=True, help="Keys of the large one.")
@click.option("--step", default=1_000, show_default=True, help="The rows of a small step.")
@click.option("--steps", default=7, show_default=True, help="How many small steps are measured.")
@click.option("--rows", default=5_000_000, show_default=True, help="Of all ten large steps together; 0: none are taken.")
@click.option("--only", multiple=True, type=click.Choice(list(STREAMS)), help="These transformations.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(few: int, many: int, step: int, steps: int, rows: int, only: tuple[str, ...], results: Path) -> None:
    """Run all, show the ratios, write them as JSON."""
    session = start({"spark.sql.shuffle.partitions": "2"}, lives_long=True)
    engine = EngineBySize(SparkEngine(lambda: session), dict)
    ratios, small, large, native = [], {}, {}, {}
    try:
        for name in only or STREAMS:
            with tempfile.TemporaryDirectory() as scratch:
                small[name] = _by_state(engine, Path(scratch), name, (few, many), step, steps)
            click.echo(f"{name}: {json.dumps(small[name])}")
            ratios.append(Ratio(f"{name}: a step beside {many:,} keys / {few:,}", small[name]["ratio"], 1.3))
        if rows:
            with tempfile.TemporaryDirectory() as scratch:
                _large_rows(Path(scratch) / "source", rows)
                for name in NATIVE:
                    if name == TUMBLING or name in (only or STREAMS):
                        native[name] = _native(session, Path(scratch), name)
                        click.echo(f"{name}, native: {json.dumps(native[name])}")
                for name in only or STREAMS:
                    large[name] = found = _in_ten_steps(engine, Path(scratch), name)
                    click.echo(f"{name}: {json.dumps(found)}")
                    # A join reads each row twice: once for each side.
                    sum_cpu = native[TUMBLING]["cpu"] * (2 if name == JOIN else 1)
                    ratios.append(Ratio(f"{name}: CPU / native tumbling sum of its rows", found["cpu"] / sum_cpu, 8))
                    if name in native:
                        ratio = found["wall"] / native[name]["wall"]
                        ratios.append(Ratio(f"{name}: seconds / the same by Spark", ratio, 1.05))
    finally:
        engine.close()
    taken = {"small_steps": small, "ten_steps": large, "ten_steps_native": native}
    tell(results, ratios, {"few": few, "many": many, "rows": rows}, taken)


def _by_state(engine: Engine, root: Path, stream: str, keys: tuple[int, int], rows: int, steps: int) -> Mapping[str, float]:
    """Median seconds of a small step beside each state, their ratio, and what of a step is the stream."""
    roots = [root / str(count) for count in keys]
    for place, count in zip(roots, keys, strict=True):
        _write(place, stream)
        _rows(place / "source" / "000.parquet", 0, count, count)
    taken: list[list[float]] = [[], []]
    streams: list[float] = []
    for number in range(-3, steps):
        for place, count, seconds in zip(roots, keys, taken, strict=True):
            told = _Seconds()
            pipeline = Project.open(place, engine=engine, observer=Observer(boundary=told.reached)).pipeline("site")
            if number == -3:
                pipeline.apply()
            else:
                _lines(place / "lines" / f"{number + 3:03}.json", number + 3, rows, count)
            if pipeline.run_once().step_count != 1:
                raise click.ClickException("a run did not take one step")
            if number >= 0:
                seconds.append(told.step)
                streams.append(told.stream)
    few, many = map(median, taken)
    shown = {"few": few, "many": many, "ratio": many / few, "stream": median(streams)}
    return {name: round(value, 3) for name, value in shown.items()}


def _write(root: Path, stream: str) -> None:
    folder = root / "pipelines" / "site"
    folder.mkdir(parents=True)
    for name in ("source", "lines"):
        (root / name).mkdir()
    (folder / "program.sql").write_text(_PROGRAM)
    other = _OTHER_SIDE if "again" in STREAMS[stream] else ""
    (folder / "pipeline.yaml").write_text(f"{_PIPELINE}{other}    - name: measured\n      {STREAMS[stream]}\n")


def _columns(number: int, rows: int, keys: int) -> tuple[list[str], list[int]]:
    """The devices and event times of a step's rows: one second further, by devices in no order."""
    devices = [f"device {(number * 7_919 + one * 104_729) % keys}" for one in range(rows)]
    return devices, [_BEGIN + number * 1_000_000 + one % 1_000_000 for one in range(rows)]


def _rows(file: Path, number: int, rows: int, keys: int) -> None:
    devices, times = _columns(number, rows, keys)
    values = pa.array(range(rows), pa.int64())
    columns = {"device": pa.array(devices), "at": pa.array(times, pa.timestamp("us", "UTC")), "value": values}
    pa.parquet.write_table(pa.table(columns), file)


def _lines(file: Path, number: int, rows: int, keys: int) -> None:
    lines = (
        json.dumps(
            {"device": device, "at": f"{datetime.fromtimestamp(time / 1e6, UTC):%Y-%m-%dT%H:%M:%S.%fZ}", "value": value}
        )
        for value, (device, time) in enumerate(zip(*_columns(number, rows, keys), strict=True))
    )
    file.write_text("\n".join(lines) + "\n")


def _large_rows(folder: Path, rows: int) -> None:
    """Ten files, of ten minutes of event time each, by 1,000 devices. A device rests for five minutes after five minutes."""
    folder.mkdir()
    for number in range(10):
        many = rows // 10
        begin, span = _BEGIN + number * 600_000_000, 600_000_000 // many
        columns: dict[str, Any] = {
            "device": [f"device {one * 7_919 % 500 * 2 + one * 2 // many % 2}" for one in range(many)],
            "at": pa.array([begin + one * span for one in range(many)], pa.timestamp("us", "UTC")),
            "value": pa.array(range(many), pa.int64()),
        }
        file = folder / f"{number}.parquet"
        pa.parquet.write_table(pa.table(columns), file)
        os.utime(file, (number, number))


def _native(session: SparkSession, root: Path, name: str) -> dict[str, float]:
    """The same by Spark's structured streaming, one file at a time; the second time counts."""
    found = {}
    for attempt in ("cold", "warm"):
        place = root / attempt / name
        stream = (
            session.readStream.schema("device string, at timestamp, value bigint")
            .option("maxFilesPerTrigger", 1)
            .parquet(str(root / "source"))
        )
        began, cpu = time.monotonic(), cpu_seconds()
        query = (
            NATIVE[name](stream)
            .writeStream.format("delta")
            .option("checkpointLocation", str(place / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(place / "sums"))
        )
        query.awaitTermination()
        found = {"wall": round(time.monotonic() - began, 3), "cpu": round(cpu_seconds() - cpu, 3)}
    return found


def _sum(rows: Any, window: Any) -> Any:
    return (
        rows.withWatermark("at", "1 minute").groupBy("device", window).agg({"value": "sum"}).toDF("device", "hour", "total")
    )


NATIVE: Final[Mapping[str, Callable[[Any], Any]]] = {
    TUMBLING: lambda rows: _sum(rows, functions.window("at", "1 hour")),
    "session": lambda rows: _sum(rows, functions.session_window("at", "2 minutes")),
    "deduplicate": lambda rows: rows.withWatermark("at", "1 day").dropDuplicatesWithinWatermark(["device"]),
    "deduplicate by many keys": lambda rows: rows.withWatermark("at", "1 day").dropDuplicatesWithinWatermark(["value"]),
}
"""Of transformations for which Spark's streaming has an operator, that operator over the rows. It has a join, too, which is
left out: it compares each row with all that it keeps of its key, and did not end in ten minutes."""


def _in_ten_steps(engine: Engine, root: Path, stream: str) -> dict[str, float]:
    """Seconds of all steps of a stream."""
    place = root / stream.replace(" ", "_")
    _write(place, stream)
    total = {"wall": 0.0, "cpu": 0.0}
    told = _Seconds()
    pipeline = Project.open(place, engine=engine, observer=Observer(boundary=told.reached)).pipeline("site")
    pipeline.apply()
    for file in sorted((root / "source").iterdir()):
        shutil.copy(file, place / "source")
        if pipeline.run_once().step_count != 1:
            raise click.ClickException("a run did not take one step")
        total["wall"] += told.stream
        total["cpu"] += told.cpu
    shutil.rmtree(place)
    return {name: round(value, 3) for name, value in total.items()}


if __name__ == "__main__":
    main()
