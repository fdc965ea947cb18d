"""What every engine with a log promises of `delta_table_input`: a table that another input fills is read at one version, and
followed from there, by its values; what did not change is not written."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import ColumnType, Engine, Ingestion, TableTarget, Transaction, Written
from tests.cells import mostly_slow
from tests.engine.asking import Storage, ingest_files, json_files, write

COLUMNS = (
    ColumnType("Id", "BIGINT", nullable=False),
    ColumnType("name", "STRING"),
    ColumnType("amount", "DECIMAL(5,2)"),
    ColumnType("beside", "INT"),
)
TAKEN = (ColumnType("ID", "BIGINT", nullable=False), ColumnType("label", "VARCHAR(5)"), ColumnType("amount", "DECIMAL(9,3)"))


class Followed:
    """A table with a key that files fill, and one that follows it."""

    def __init__(self, engine: Engine, storage: Storage, folder: Path, has_key: bool) -> None:
        self.engine, self.storage, self.folder = engine, storage, folder
        self.source = TableTarget("source", str(folder / "source"), COLUMNS, ("Id",))
        self.copy = TableTarget("copy", str(folder / "copy"), TAKEN, ("ID",) if has_key else ())
        for one in (self.source, self.copy):
            storage.create(one.location, one.columns)
        self.position: Any = None
        self.steps = 0

    def change(self, *records: dict[str, Any]) -> None:
        self.steps += 1
        file = write(self.folder / f"{self.steps}.json", *records)
        ingest_files(self.engine, self.source, json_files(file, update_format="insert_delete"), self.steps)

    def follow(self, mode: str = "snapshot_and_follow", **config: Any) -> Written | None:
        transport = {"name": "delta_table_input", "config": {"uri": self.source.location, "mode": mode, **config}}
        settings = {"transport": transport, "columns": {"label": {"source": "NAME"}}}
        found = self.engine.discover("c", settings, self.position)
        if found is None:
            return None
        self.position = json.loads(json.dumps(found.position))
        self.steps += 1
        one = Ingestion(self.copy, "c", settings, found.range, Transaction("c", self.steps))
        written = self.engine.ingest(one)
        again = self.engine.ingest(one)
        assert (again.version, again.reused or not written.rows) == (written.version, True)
        return replace(written, without_spark=False)

    def rows(self) -> list[tuple[Any, ...]]:
        return self.storage.rows(self.copy.location)


def order(number: int, name: str | None, amount: str = "1.5") -> dict[str, Any]:
    return {"insert": {"Id": number, "name": name, "amount": amount, "beside": 0}}


class DeltaInputContract:
    """Inherit, and give the fixtures `engine` and `storage`."""

    # What becomes of a table without a key is in every run by the last test here.
    @pytest.mark.parametrize("has_key", mostly_slow([True, False], True), ids=["keyed", "multiset"])
    def test_a_table_that_follows_becomes_what_the_source_is(
        self, has_key: bool, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        followed = Followed(engine, storage, tmp_path, has_key)
        followed.change(order(1, "a"), order(2, None), order(3, "c"))
        beside = {"unknown": {"beside": 3}}

        assert followed.follow() == Written(1, 3, **beside)
        assert followed.follow() is None
        followed.change(order(4, "d", "-0.25"), order(5, "a"))
        assert followed.follow() == Written(2, 2, unknown={"beside": 2})
        followed.change(order(1, "A"), {"delete": {"Id": 2}}, {"delete": {"Id": 9}})
        assert followed.follow() == Written(3, 2 if has_key else 3, **beside)

        assert followed.rows() == [
            (1, "A", Decimal("1.500")),
            (3, "c", Decimal("1.500")),
            (4, "d", Decimal("-0.250")),
            (5, "a", Decimal("1.500")),
        ]

    def test_where_nothing_but_now_says_where_to_begin_nothing_is_written(
        self, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        followed = Followed(engine, storage, tmp_path, has_key=True)
        followed.change(order(1, "a"))

        assert followed.follow("follow") == Written(0, 0)
        assert followed.rows() == []
        followed.change(order(2, "b"))
        assert followed.follow("follow") == Written(1, 1, unknown={"beside": 1})
        assert followed.rows() == [(2, "b", Decimal("1.500"))]

    def test_deletes_of_rows_that_are_not_there_are_counted(self, engine: Engine, storage: Storage, tmp_path: Path) -> None:
        for has_key in (True, False):
            followed = Followed(engine, storage, tmp_path / str(has_key), has_key)
            followed.change(order(1, "a"), order(2, "b"))
            followed.follow("follow")
            followed.change({"delete": {"Id": 1}}, order(2, "B"))

            written = followed.follow("follow")
            assert written == Written(1, 1, unmatched=1 if has_key else 2, unknown={"beside": 3})
            assert followed.rows() == [(2, "B", Decimal("1.500"))]
