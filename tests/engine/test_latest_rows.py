"""Of a log whose later rows stand for earlier ones those that count: as Spark joins them, and as this process does."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from reconciler.delta.arrow_writes import put_table
from reconciler.engine.protocol import Engine
from reconciler.engine.sources import LogSource
from reconciler.engine.spark.held_rows import Held, HeldRows
from reconciler.engine.spark.latest_rows import held_latest
from reconciler.engine.spark.views import log_frame, stored_frame
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.engine.engines import session_of

SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("key_0", "long"), ("key_1", "string"), ("key_2", "double"), ("rows", "long"))
    ],
}
KEYS = ("key_0", "key_1", "key_2")


def log_by(chance: Random, folder: Path) -> tuple[LogSource, set[tuple[Any, ...]]]:
    """A log, and the rows of it that count."""
    latest: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    locations = []
    for segment in range(chance.randint(1, 4)):
        rows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for _ in range(chance.randint(0, 6)):
            key = (chance.choice((None, 1, 2)), chance.choice((None, "", "x")), chance.choice((None, 0.0, 1.5)))
            rows[key] = (*key, chance.randint(0, 9))
        latest |= rows
        columns = list(zip(*rows.values(), strict=True)) if rows else [(), (), (), ()]
        kinds = (pa.int64(), pa.string(), pa.float64(), pa.int64())
        arrays = [pa.array(list(values), kind) for values, kind in zip(columns, kinds, strict=True)]
        locations.append(str(folder / f"s{segment}"))
        put_table(locations[-1], SCHEMA, pa.table(arrays, names=[one["name"] for one in SCHEMA["fields"]]))
    return LogSource("log", tuple(locations), latest=KEYS), set(latest.values())


def rows_of(held: Held | None) -> list[tuple[Any, ...]]:
    assert held is not None
    return sorted(zip(*(column.to_pylist() for column in held.rows.columns), strict=True), key=repr)


def test_a_later_row_stands_for_an_earlier_one(tmp_path: Path) -> None:
    held = HeldRows()
    for seed in range(30):
        log, wanted = log_by(Random(seed), tmp_path / str(seed))
        found = held_latest(log, lambda source: held.of(source.location, 0, is_kept=source.is_kept))
        assert rows_of(found) == sorted(wanted, key=repr)
        recording = RecordingEngine(DeltaWriter())
        assert sorted(recording._contents(log).rows, key=repr) == sorted(wanted, key=repr)


@pytest.mark.spark
def test_spark_reads_the_same(tmp_path: Path, spark_engine: Engine) -> None:
    for seed in range(4):
        log, wanted = log_by(Random(seed), tmp_path / str(seed))
        found = log_frame(session_of(spark_engine), log, stored_frame).collect()
        assert sorted(map(tuple, found), key=repr) == sorted(wanted, key=repr)
