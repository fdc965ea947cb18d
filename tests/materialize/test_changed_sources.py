"""What a step knows of a relation that changed, before it reads anything."""

from pathlib import Path

import pyarrow as pa

from reconciler.delta.arrow_rows import OpenedTable, plain_table, rows_of
from reconciler.delta.arrow_writes import Taken, append, create, rewrite
from reconciler.engine.sources import StoredSource
from reconciler.engine.stored import Transaction
from reconciler.incremental.needed_rows import KeyRange
from reconciler.materialize.changed_sources import LookedUp, StepChanges
from reconciler.registry.placements import Placement

SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "good", "type": "string", "nullable": True, "metadata": {}},
    ],
}
MANY = 30_000


def rows(*ids: int) -> pa.Table:
    texts = [f"one of twenty texts that are long and take little in a file {one % 20}" for one in ids]
    return pa.table({"id": pa.array(ids, pa.int64()), "good": texts})


def opened(place: str) -> OpenedTable:
    found = plain_table(place)
    assert found is not None
    return found


def changes_to(place: str, before: int) -> StepChanges:
    table = opened(place)

    def at(version: int) -> StoredSource:
        return StoredSource("t", place, version)

    placements = [Placement("t", version, table.rows, bytes=table.bytes) for version in (before, table.version)]
    was, now = ({"t": one} for one in placements)
    return StepChanges(was, now, lambda key: at(before), lambda key: at(table.version), {}, LookedUp())


def test_rows_that_came_are_not_taken_for_more_than_their_file(tmp_path: Path) -> None:
    """In memory they take ten times as much."""
    place = str(tmp_path / "t")
    create(place, SCHEMA, rows(*range(MANY)), Transaction("us", 0))
    append(opened(place), rows(*range(MANY, MANY + 2_000)), Transaction("us", 1))
    (new,) = (file for file in opened(place).files if file.rows == 2_000)
    told = changes_to(place, 0).changed_bytes("t")
    assert told is not None
    assert told <= new.bytes < rows(*range(2_000)).nbytes / 5


def test_of_a_file_that_was_written_anew_only_what_changed_counts(tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    create(place, SCHEMA, rows(*range(MANY)), Transaction("us", 0))
    table = opened(place)
    held = rows_of(table)
    assert held is not None
    taken = Taken({file.path: held.slice(1) for file in table.files}, held.slice(0, 1))
    rewrite(table, taken, rows(MANY), Transaction("us", 1))
    changes = changes_to(place, 0)
    told = changes.changed_bytes("t")
    assert told is not None
    assert told < table.bytes / 1_000
    assert changes.changed_keys("t", "id") == KeyRange(0, MANY)
