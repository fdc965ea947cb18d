"""What every engine promises of requests that came over HTTP (`http_input`). Part of ingest_contract.py, which says what
their lines mean.
"""

import json
import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.engine import http_ranges
from reconciler.engine.http_requests import place_of, remove_read, store
from reconciler.engine.protocol import Available, ColumnType, DeadLetters, Engine, Ingestion, TableTarget, Transaction
from tests.engine.asking import Storage, Tables, change, ingest_files


def requests_in(folder: Path, **more: Any) -> dict[str, Any]:
    return {"transport": {"name": "http_input", "config": {"path": str(folder)}}, **more}


def stored(folder: Path, *changes: dict[str, Any], least: int = 1) -> int:
    return store(folder, "".join(json.dumps(one) + "\n" for one in changes).encode(), least)


def found(engine: Engine, settings: dict[str, Any], position: JsonObject | None = None) -> Available:
    available = engine.discover("c", settings, position)
    assert available is not None
    return available


class HttpInputContract(Tables):
    """Inherit, and give the fixtures `engine` and `storage`."""

    def test_requests_are_read_once_each_in_the_order_of_their_numbers(
        self, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path
    ) -> None:
        folder = tmp_path / "in"
        settings = requests_in(folder, max_batch_size=12)
        assert engine.discover("c", settings, None) is None
        for number in range(1, 12):
            assert stored(folder, {"insert": {"id": number % 3, "name": f"a{number}"}}) == number
        stored(folder, {"delete": {"id": 1}}, {"insert": {"ID": 1, "Name": "b"}}, {"delete": {"id": 0}})
        (folder / "13.jsonl").write_text("what nobody stored")
        (folder / f"{13:020d}.json").write_text("the same")
        (folder / f".{13:020d}.jsonl").write_text("hidden")
        stored(folder, {"delete": {"id": 2}}, {"insert": {"id": 9, "name": "c"}}, least=20)

        first = found(engine, settings)
        assert (first.range["from"], first.range["before"], first.position) == (1, 13, {"next": 13})
        assert (first.backlog, first.end_of_input) == ({"requests": 13}, False)
        ingestion = Ingestion(students, "c", settings, json.loads(json.dumps(first.range)), Transaction("c", 1))
        assert engine.ingest(ingestion).version == 1
        assert storage.rows(students.location) == [(1, "b"), (2, "a11")]

        remove_read(folder, 13)
        second = found(engine, settings, first.position)
        assert second.position == {"next": 21}
        engine.ingest(Ingestion(students, "c", settings, second.range, Transaction("c", 2)))
        assert storage.rows(students.location) == [(1, "b"), (9, "c")]
        assert engine.discover("c", settings, second.position) is None
        remove_read(folder, 21)
        assert engine.ingest(ingestion).reused

    def test_requests_change_a_table_without_key_too(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1, 'a', 1, NULL)"))
        stored(tmp_path / "in", {"delete": {"student_id": 1, "class": "a", "grade": "1.00"}})
        stored(tmp_path / "in", {"insert": {"student_id": 2}}, {"insert": {"student_id": 2, "more": 1}})

        written = ingest_files(engine, grades, requests_in(tmp_path / "in"), 2)

        assert storage.rows(grades.location) == [(2, None, None, None)] * 2
        assert (written.unmatched, dict(written.unknown)) == (0, {"more": 1})

    def test_a_column_takes_the_field_of_a_request_that_its_connector_names(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        stored(tmp_path / "in", {"insert": {"student_id": 1, "mark": 2.5, "grade": 1}})

        ingest_files(engine, grades, requests_in(tmp_path / "in", columns={"grade": {"source": "mark"}}), 1)

        assert storage.rows(grades.location) == [(1, None, Decimal("2.50"), None)]

    def test_a_line_of_a_request_that_is_no_row_goes_to_the_dead_letters(
        self, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path
    ) -> None:
        folder, letters = tmp_path / "in", DeadLetters(str(tmp_path / "dead-letters"), 1)
        stored(folder, {"insert": {"id": 1}})
        stored(folder, {"insert": {"id": 2}}, {"id": 3}, {"insert": {"id": "x"}})

        assert ingest_files(engine, students, requests_in(folder), 1, letters).rejected == 2

        assert storage.rows(students.location) == [(1, None), (2, None)]
        places = [json.loads(text) for row in storage.rows(letters.location) for text in row if "line" in str(text)[-12:]]
        assert sorted(place["line"] for place in places) == [2, 3]
        assert {place["file"] for place in places} == {str(place_of(folder, 2))}

    def test_updates_set_columns_of_the_row_that_changes_before_them_left(
        self, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        columns = (
            ColumnType("id", "BIGINT", nullable=False),
            ColumnType("name", "VARCHAR(5)"),
            ColumnType("points", "BIGINT", nullable=False),
            ColumnType("price", "DECIMAL(6,2)"),
        )
        target = TableTarget("kept", str(tmp_path / "kept"), columns, ("id",), {"points": "7", "price": "1.5"})
        storage.create(target.location, columns)
        held = [(1, "a", "1.00"), (2, "b", "2.00"), (3, "c", "3.00")]
        before = [{"insert": {"id": id_, "name": name, "points": id_, "price": price}} for id_, name, price in held]
        stored(tmp_path / "before", *before)
        ingest_files(engine, target, requests_in(tmp_path / "before"), 1)
        folder, letters = tmp_path / "in", DeadLetters(str(tmp_path / "dead-letters"), 2)
        # What a later request sets counts, each column by itself; NULL is set, and no default.
        stored(folder, {"update": {"id": 1, "name": "x", "price": 9}}, {"update": {"ID": 1, "Price": None}})
        stored(folder, {"update": {"id": 1, "points": 5}}, {"update": {"id": 2}})
        # An update behind a delete has no row; one behind an insert has that.
        stored(folder, {"delete": {"id": 3}}, {"update": {"id": 3, "name": "z"}})
        stored(folder, {"update": {"id": 4, "name": "n"}}, {"insert": {"id": 4}}, {"update": {"id": 4, "name": "m"}})
        stored(folder, {"insert": {"id": 5}}, {"delete": {"id": 5}}, {"update": {"id": 5, "name": "q"}})
        # Nobody has this row.
        stored(folder, {"update": {"id": 6, "name": "none"}})

        written = ingest_files(engine, target, requests_in(folder), 2, letters)

        rows = [(1, "x", 5, None), (2, "b", 2, Decimal("2.00")), (4, "m", 7, Decimal("1.50"))]
        assert storage.rows(target.location) == rows
        assert (written.unmatched, written.rejected) == (1, 0)
        assert ingest_files(engine, target, requests_in(folder), 2, letters).reused
        assert storage.rows(target.location) == rows

    def test_updates_that_do_not_fit_go_to_the_dead_letters(
        self, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path
    ) -> None:
        stored(tmp_path / "before", {"insert": {"id": 1, "name": "a"}})
        ingest_files(engine, students, requests_in(tmp_path / "before"), 1)
        folder, letters = tmp_path / "in", DeadLetters(str(tmp_path / "dead-letters"), 2)
        stored(folder, {"update": {"name": "x"}}, {"update": {"id": 1, "name": "longer"}}, {"update": {"id": None}})
        stored(folder, {"update": {"id": 1, "more": 2}}, {"update": {"id": 1}, "insert": {"id": 1}})

        written = ingest_files(engine, students, requests_in(folder), 2, letters)

        assert storage.rows(students.location) == [(1, "a")]
        assert (written.rejected, dict(written.unknown)) == (4, {"more": 1})

    def test_an_update_of_a_table_without_key_or_of_one_that_is_append_only_is_rejected(
        self, engine: Engine, storage: Storage, grades: TableTarget, students: TableTarget, tmp_path: Path
    ) -> None:
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)
        stored(tmp_path / "in", {"update": {"student_id": 1}}, {"insert": {"student_id": 1}})
        assert ingest_files(engine, grades, requests_in(tmp_path / "in"), 1, letters).rejected == 1
        stored(tmp_path / "more", {"update": {"id": 1, "name": "x"}}, {"insert": {"id": 1}})
        only = replace(students, append_only=True)
        assert ingest_files(engine, only, requests_in(tmp_path / "more"), 2, letters).rejected == 1
        assert storage.rows(students.location) == [(1, None)]

    def test_since_when_requests_wait(self, engine: Engine, tmp_path: Path) -> None:
        for number, time in enumerate((1_700_000_100, 1_700_000_200, 1_700_000_300), 1):
            stored(tmp_path, {"insert": {}})
            os.utime(place_of(tmp_path, number), (time, time))

        one = found(engine, requests_in(tmp_path, max_batch_size=1), {"next": 2})

        assert one.since == one.waiting_since == "2023-11-14T22:16:40.000+00:00"
        assert (one.position, one.backlog) == ({"next": 3}, {"requests": 2})

    def test_a_step_takes_so_many_bytes_and_one_request_at_least(
        self, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(http_ranges, "_MOST_BYTES", 10)
        for size in (11, 5, 5, 1):
            store(tmp_path, b"\n" * size)
        settings, position = requests_in(tmp_path), None
        taken = []
        while (available := engine.discover("c", settings, position)) is not None:
            taken.append((available.range["requests"], available.range["bytes"]))
            position = available.position

        assert taken == [(1, 11), (2, 10), (1, 1)]

    def test_requests_that_changed_before_they_were_read_are_an_error(
        self, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path
    ) -> None:
        settings = requests_in(tmp_path / "in")
        for number in (1, 2):
            stored(tmp_path / "in", {"insert": {"id": number}})
        range_ = found(engine, settings).range
        place_of(tmp_path / "in", 1).unlink()

        with pytest.raises(EngineError, match=r"requests 1 to 2 in .*/in changed") as raised:
            engine.ingest(Ingestion(students, "c", settings, range_, Transaction("c", 1)))

        assert raised.value.code == "X711"
        assert storage.version(students.location) == 0
        assert found(engine, settings).range["requests"] == 1
