"""What changed in a table between two versions: by Spark over files, by Spark over whole versions, and without Spark, it is
the difference of their rows as multisets."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from reconciler.engine.protocol import Engine
from reconciler.engine.sources import CHANGE_COLUMN, StoredSource
from reconciler.engine.spark.added_rows import frame_at
from reconciler.engine.spark.changed_rows import changed_frame, difference
from reconciler.engine.spark.held_rows import HeldRows
from tests.engine.engines import session_of

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("size", pa.float64()),
        ("parts", pa.list_(pa.struct([("n", pa.int32())]))),
        ("shape", pa.struct([("x", pa.float32())])),
    ]
)
SIZES = (None, 1.5, float("nan"), 0.0, -0.0)
PARTS = (None, [], [{"n": 1}], [{"n": 1}, None])


def some_rows(random: Random) -> pa.Table:
    rows = [
        (
            random.randint(0, 4),
            random.choice(("a", "b", None)),
            random.choice(SIZES),
            random.choice(PARTS),
            random.choice((None, {"x": 0.0}, {"x": -0.0})),
        )
        for _ in range(random.randint(1, 6))
    ]
    return pa.table(
        [pa.array(list(column), field.type) for column, field in zip(zip(*rows, strict=True), SCHEMA, strict=True)],
        schema=SCHEMA,
    )


def write_versions(folder: Path, random: Random, versions: int) -> list[Counter[str]]:
    """Versions of a table, each by another kind of write; the rows of each."""
    found = []
    for number in range(versions):
        kind = random.choice(("append", "overwrite", "delete", "again")) if number else "append"
        if kind == "delete":
            DeltaTable(str(folder)).delete(f"id = {random.randint(0, 4)}")
        elif kind == "again":
            # Rows that are written in other files are the same rows.
            DeltaTable(str(folder)).optimize.compact()
        else:
            write_deltalake(str(folder), some_rows(random), mode=kind)
        table = DeltaTable(str(folder))
        found += [Counter(map(told, table.to_pyarrow_table().to_pylist()))] * (table.version() + 1 - len(found))
    return found


def told(row: dict[str, Any]) -> str:
    """A row so that equal ones are told alike. Zeros with other signs are two values."""
    return repr((row["id"], row["name"], row["size"], row["parts"], row["shape"]))


def changes(rows: Sequence[dict[str, Any]]) -> Counter[tuple[str, str]]:
    return Counter((row[CHANGE_COLUMN], told(row)) for row in rows)


@pytest.mark.parametrize("seed", range(3))
def test_what_changed_is_the_difference_of_the_rows(seed: int, tmp_path: Path, spark_engine: Engine) -> None:
    random, session = Random(seed), session_of(spark_engine)
    versions = write_versions(tmp_path, random, 6)
    last, location = len(versions) - 1, str(tmp_path)
    for before, after in ((0, last), (last - 1, last), (1, last - 1), (last, last)):
        middle = random.randint(before, after)
        ranges = ((before, middle), (middle, after))
        expected = Counter(
            {("insert", row): count for row, count in (versions[after] - versions[before]).items()}
            | {("delete", row): count for row, count in (versions[before] - versions[after]).items()}
        )
        source = StoredSource("t", location, last, ranges=ranges, changes=True)
        on_spark = [row.asDict(recursive=True) for row in changed_frame(session, source, ranges).collect()]
        assert changes(on_spark) == expected
        whole = difference(frame_at(session, source, before), frame_at(session, source, after)).collect()
        assert changes([row.asDict(recursive=True) for row in whole]) == expected
        held = HeldRows().changed(location, last, ranges)
        assert held is not None
        assert changes(held.rows.to_pylist()) == expected
        assert [field["name"] for field in held.schema["fields"]] == [*SCHEMA.names, CHANGE_COLUMN]
    none = changed_frame(session, StoredSource("t", location, last, ranges=(), changes=True), ())
    assert none.columns == [*SCHEMA.names, CHANGE_COLUMN]
    assert none.collect() == []
