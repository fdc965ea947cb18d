"""What every engine promises of records that insert, change and delete rows. Part of ingest_contract.py; changes at large:
changes_contract.py.
"""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from reconciler.engine.protocol import ColumnType, DeadLetters, Engine, TableTarget
from tests.engine.asking import Storage, Tables, change, ingest_files, json_files, write


class UpdateContract(Tables):
    """Inherit, and give the fixtures `engine` and `storage`."""

    def test_changes_of_a_keyed_table_the_last_of_each_key_counts(
        self, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(students, "INSERT INTO students VALUES (1, 'a'), (2, 'b'), (3, 'c')", 1))
        lines = [
            {"delete": {"ID": 1}},
            {"insert": {"id": 2, "name": "x"}},
            {"insert": {"id": 2, "name": "y"}},
            {"delete": {"id": 3}},
            {"insert": {"id": 3, "name": "z"}},
            {"insert": {"id": 4, "name": "q"}},
            {"delete": {"id": 4}},
            {"delete": {"id": 5, "name": "longer than five"}},
        ]
        write(tmp_path / "a.json", *lines)

        written = ingest_files(engine, students, json_files(tmp_path / "a.json", update_format="insert_delete"), 2)

        assert storage.rows(students.location) == [(2, "y"), (3, "z")]
        # The row of key 4 came and went; it is only that of key 5 that nobody ever had.
        assert (written.version, written.unmatched, written.rejected) == (2, 1, 0)

    def test_changes_of_a_table_without_key_are_those_of_a_multiset(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1, 'a', 1, NULL), (1, 'a', 1, NULL), (2, NULL, 2, NULL)"))
        one, two = {"student_id": 1, "class": "a", "grade": 1}, {"student_id": 2, "grade": "2.00"}
        three, four = {"student_id": 3}, {"student_id": 4}
        changes = [("delete", one), ("delete", two), ("delete", two), ("insert", two), ("delete", three), ("insert", three)]
        changes += [("insert", four), ("insert", four), ("delete", four)]
        write(tmp_path / "a.json", *({kind: row} for kind, row in changes))

        written = ingest_files(engine, grades, json_files(tmp_path / "a.json", update_format="insert_delete"), 2)

        kept = [
            (1, "a", Decimal("1.00"), None),
            (2, None, Decimal("2.00"), None),
            (3, None, None, None),
            (4, None, None, None),
        ]
        assert storage.rows(grades.location) == kept
        assert (written.version, written.unmatched) == (2, 2)

    def test_inserts_and_deletes_that_find_nothing_add_rows_only(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        write(
            tmp_path / "a.json", {"insert": {"student_id": 1}}, {"insert": {"student_id": 1}}, {"delete": {"student_id": 2}}
        )

        written = ingest_files(engine, grades, json_files(tmp_path / "a.json", update_format="insert_delete"), 2)

        assert storage.rows(grades.location) == [(1, None, None, None)] * 2
        assert written.unmatched == 1

    def test_change_events_of_debezium(
        self, engine: Engine, storage: Storage, students: TableTarget, grades: TableTarget, tmp_path: Path
    ) -> None:
        def row(number: int, text: str) -> dict[str, Any]:
            return {"id": number, "name": text, "student_id": number, "class": text}

        write(
            tmp_path / "a.json",
            {"payload": {"op": "c", "before": None, "after": row(1, "a")}, "schema": {}},
            {"op": "r", "after": row(2, "b")},
            {"op": "u", "before": row(1, "a"), "after": row(1, "A")},
            {"op": "u", "before": row(2, "b"), "after": row(3, "B")},
            {"op": "c", "after": row(4, "d")},
            {"op": "d", "before": row(4, "d"), "after": None},
        )
        settings = json_files(tmp_path / "a.json", update_format="debezium")

        ingest_files(engine, students, settings, 2)
        ingest_files(engine, grades, settings, 2)

        assert storage.rows(students.location) == [(1, "A"), (3, "B")]
        assert storage.rows(grades.location) == [(1, "A", None, None), (3, "B", None, None)]

    def test_an_append_only_table_rejects_deletes_and_both_rows_of_an_update(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        target, letters = replace(grades, append_only=True), DeadLetters(str(tmp_path / "dead-letters"), 1)
        one, two = {"student_id": 1}, {"student_id": 2}
        write(
            tmp_path / "a.json",
            {"op": "c", "after": one},
            {"op": "u", "before": one, "after": two},
            {"op": "d", "before": one},
        )

        written = ingest_files(engine, target, json_files(tmp_path / "a.json", update_format="debezium"), 1, letters)

        assert storage.rows(grades.location) == [(1, None, None, None)]
        assert {row[4][:4] for row in storage.rows(letters.location)} == {"X722"}
        assert (written.rejected, len(storage.rows(letters.location))) == (2, 2)

    def test_an_update_is_both_rows_or_none(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1, NULL, NULL, NULL)"))
        write(tmp_path / "a.json", {"op": "u", "before": {"student_id": 1}, "after": {"student_id": "x"}})
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1)

        ingest_files(engine, grades, json_files(tmp_path / "a.json", update_format="debezium"), 2, letters)

        assert storage.rows(grades.location) == [(1, None, None, None)]

    def test_maps_are_equal_by_their_entries(self, engine: Engine, storage: Storage, tmp_path: Path) -> None:
        columns = (ColumnType("id", "BIGINT"), ColumnType("m", "MAP<STRING,STRING>"), ColumnType("p", "MAP<STRING,BIGINT>"))
        target = TableTarget("t", str(tmp_path / "t"), columns)
        storage.create(target.location, columns)
        rows = [{"id": 1, "m": {"a": "b", "c": "d"}}, {"id": 2, "m": {}, "p": {"x": 1, "y": 2}}, {"id": 3, "m": {"a": None}}]
        write(tmp_path / "a.json", *({"insert": row} for row in [*rows, rows[0], {"id": 4}]))
        ingest_files(engine, target, json_files(tmp_path / "a.json", update_format="insert_delete"), 1)
        gone = [
            {"id": 1, "m": {"c": "d", "a": "b"}},
            {"id": 2, "m": {}, "p": {"y": 2, "x": 1}},
            {"id": 3, "m": {}},
            {"id": 4},
        ]
        write(tmp_path / "b.json", *({"delete": row} for row in gone))

        written = ingest_files(engine, target, json_files(tmp_path / "b.json", update_format="insert_delete"), 2)

        found = sorted((row[0], sorted(dict(row[1]).items())) for row in storage.rows(target.location))
        assert found == [(1, [("a", "b"), ("c", "d")]), (3, [("a", None)])]
        assert written.unmatched == 1

    def test_an_array_of_json_is_the_bytes_of_a_binary_column(
        self, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        columns = (ColumnType("id", "BIGINT"), ColumnType("b", "BINARY"))
        target, letters = TableTarget("t", str(tmp_path / "t"), columns), DeadLetters(str(tmp_path / "dead-letters"), 1)
        storage.create(target.location, columns)
        unfit = [[1, 256], [1, -1], [1.5], ["1", 2], [[1]], [], ["a"], ["1", 'x"]'], [True], [None], [[]], [{"a": "b"}]]
        texts = ["[1]", "text", '["a", 1]', '["a"', "[a]", " [true]"]
        values: list[Any] = [[0, 255, 91], None, [0], *texts, *unfit]
        write(tmp_path / "a.json", *({"id": number, "b": value} for number, value in enumerate(values)))

        written = ingest_files(engine, target, json_files(tmp_path / "a.json"), 1, letters)

        rows = dict(storage.rows(target.location))
        told = {number: text.encode() for number, text in enumerate(texts, start=3)}
        assert rows == {0: b"\x00\xff[", 1: None, 2: b"\x00"} | told
        assert written.rejected == len(unfit)
