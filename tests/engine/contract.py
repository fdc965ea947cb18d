"""The contract of `engine.protocol` as tests; each engine's test module inherits them with its own `engine` and `storage`.

What needs a query evaluated is not here: only one of the engines does that.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import pytest

from reconciler.engine.dead_letters import DEAD_LETTER_COLUMNS
from reconciler.engine.protocol import (
    ColumnType,
    DeadLetters,
    EmptySource,
    Engine,
    Ingestion,
    Selection,
    Source,
    Statement,
    StoredSource,
    TableBuild,
    TableTarget,
    Transaction,
    ViewBuild,
    Written,
)
from reconciler.errors import EngineError

GRADES = (
    ColumnType("student_id", "BIGINT"),
    ColumnType("class", "STRING"),
    ColumnType("grade", "DECIMAL(5,2)"),
    ColumnType("class_date", "DATE"),
)
STUDENTS = (ColumnType("Id", "BIGINT", nullable=False), ColumnType("name", "VARCHAR(5)"))


class Storage(Protocol):
    """Tables as somebody else sees them."""

    def create(self, location: str, columns: tuple[ColumnType, ...]) -> None: ...

    def rows(self, location: str, version: int | None = None) -> list[tuple[Any, ...]]: ...

    def version(self, location: str) -> int | None: ...


class EngineContract:
    """Inherit, and give the fixtures `engine` and `storage`."""

    @pytest.fixture
    def grades(self, storage: Storage, tmp_path: Path) -> TableTarget:
        target = TableTarget("grades", str(tmp_path / "grades"), GRADES)
        storage.create(target.location, target.columns)
        return target

    @pytest.fixture
    def students(self, storage: Storage, tmp_path: Path) -> TableTarget:
        target = TableTarget("Students", str(tmp_path / "students"), STUDENTS, ("Id",))
        storage.create(target.location, target.columns)
        return target

    def test_values_are_cast_to_the_columns(self, engine: Engine, storage: Storage, grades: TableTarget) -> None:
        written = engine.execute(
            change(grades, "insert into grades values (1, 'algebra', 97, '2025-09-15'), (2, 'x', NULL, NULL)")
        )

        assert (written.version, written.rows, written.reused) == (1, 2, False)
        assert storage.rows(grades.location) == [
            (1, "algebra", Decimal("97.00"), date(2025, 9, 15)),
            (2, "x", None, None),
        ]

    def test_named_columns_in_any_order_and_case(self, engine: Engine, storage: Storage, grades: TableTarget) -> None:
        engine.execute(change(grades, "INSERT INTO TABLE `Grades` (CLASS, student_id) VALUES ('x', 5);"))

        assert storage.rows(grades.location) == [(5, "x", None, None)]

    def test_a_repeated_transaction_writes_nothing(self, engine: Engine, storage: Storage, grades: TableTarget) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1, 'a', 1, NULL)", 7))
        engine.execute(change(grades, "INSERT INTO grades VALUES (2, 'b', 2, NULL)", 8))

        again = engine.execute(change(grades, "INSERT INTO grades VALUES (2, 'b', 2, NULL)", 8))

        assert (again.version, again.reused) == (2, True)
        assert len(storage.rows(grades.location)) == 2

    @pytest.mark.parametrize(
        ("sql", "code"),
        [
            ("INSERT INTO grades VALUES (1, 'a')", "X720"),
            ("INSERT INTO grades (nope) VALUES (1)", "X720"),
            ("INSERT INTO other VALUES (1, 'a', 1, NULL)", "X720"),
            ("INSERT INTO grades", "X720"),
            ("INSERT INTO grades VALUES (1, 'a', 1, NULL); DELETE FROM grades", "X720"),
            ("UPDATE grades SET grade = 1", "X720"),
            ("INSERT INTO grades VALUES (1, 'unclosed", "X720"),
            ("INSERT INTO grades VALUES (1, 'a', 1000, NULL)", "X712"),
            ("INSERT INTO grades VALUES (1, 'a', 1, 'never')", "X712"),
            ("INSERT INTO grades VALUES (9223372036854775808, 'a', 1, NULL)", "X712"),
        ],
    )
    def test_what_does_not_fit_is_refused(
        self, sql: str, code: str, engine: Engine, storage: Storage, grades: TableTarget
    ) -> None:
        with pytest.raises(EngineError) as raised:
            engine.execute(change(grades, sql))

        assert raised.value.code == code
        assert "\n" not in raised.value.message
        assert storage.version(grades.location) == 0

    @pytest.mark.parametrize(("values", "code"), [("(1, 'Alicia')", "X712"), ("(NULL, 'Al')", "X713")])
    def test_length_and_null_are_checked(
        self, values: str, code: str, engine: Engine, storage: Storage, students: TableTarget
    ) -> None:
        with pytest.raises(EngineError) as raised:
            engine.execute(change(students, f"INSERT INTO students VALUES {values}"))

        assert raised.value.code == code
        assert storage.version(students.location) == 0

    def test_rows_of_a_keyed_table_replace_those_of_equal_key_and_the_last_wins(
        self, engine: Engine, storage: Storage, students: TableTarget
    ) -> None:
        engine.execute(change(students, "INSERT INTO students VALUES (1, 'Alice'), (2, 'Bob'), (1, 'Al')", 1))
        engine.execute(change(students, "INSERT INTO students VALUES (2, 'Rob'), (3, 'Cy')", 2))

        assert storage.rows(students.location) == [(1, "Al"), (2, "Rob"), (3, "Cy")]
        assert storage.rows(students.location, 1) == [(1, "Al"), (2, "Bob")]

    def test_delete(self, engine: Engine, storage: Storage, grades: TableTarget) -> None:
        engine.execute(
            change(grades, "INSERT INTO grades VALUES (1, 'a', 1, NULL), (1, 'a', 1, NULL), (2, 'b', 2, NULL)", 1)
        )

        assert engine.execute(change(grades, "DELETE FROM grades WHERE student_id = 1", 2)).rows == 2
        assert storage.rows(grades.location) == [(2, "b", Decimal("2.00"), None)]
        assert engine.execute(change(grades, "delete from GRADES where class = 'zzz'", 3)).rows == 0
        assert engine.execute(change(grades, "delete from grades", 4)).rows == 1
        assert storage.rows(grades.location) == []

    def test_writing_to_nothing_is_an_error(self, engine: Engine, tmp_path: Path) -> None:
        with pytest.raises(EngineError) as raised:
            engine.execute(change(TableTarget("grades", str(tmp_path / "none"), GRADES), "DELETE FROM grades"))

        assert raised.value.code == "X721"

    def test_a_select_of_everything(self, engine: Engine, grades: TableTarget) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1, 'a', 1, '2025-01-01')"))
        empty, full = StoredSource("grades", grades.location, 0), StoredSource("GRADES", grades.location, 1)

        assert list(engine.select(selected(empty)).rows) == []
        assert list(engine.select(selected(full)).rows) == [(1, "a", Decimal("1.00"), date(2025, 1, 1))]
        rows = engine.select(selected(EmptySource("grades", GRADES)))
        assert list(rows.rows) == []
        assert [column.name for column in rows.columns] == [column.name for column in GRADES]

    def test_a_view_is_built_once(self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path) -> None:
        source = StoredSource("grades", grades.location, 0)
        build = ViewBuild("v", "SELECT COUNT(*) FROM grades", ("n",), (source,), str(tmp_path / "v" / "v-1"), {})

        built, again = engine.build_view(build), engine.build_view(build)

        assert (built.rows, built.reused, again.reused) == (1, False, True)
        assert (again.rows, again.bytes, again.columns) == (built.rows, built.bytes, built.columns)
        assert [column.name for column in built.columns] == ["n"]
        assert len(storage.rows(build.staging)) == 1
        engine.remove(build.staging)
        assert storage.version(build.staging) is None
        assert not engine.build_view(build).reused

    def test_a_tables_rows_are_written_under_other_columns_once(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1, 'a', 1.5, NULL), (2, NULL, 2, '2025-01-02')", 1))
        engine.execute(change(grades, "INSERT INTO grades VALUES (3, 'later', 3, NULL)", 2))
        columns = (
            ColumnType("points", "DECIMAL(7,3)"),
            ColumnType("note", "STRING"),
            ColumnType("Student_Id", "BIGINT", nullable=False),
            ColumnType("title", "STRING"),
        )
        source = StoredSource("grades", grades.location, 1)
        build = TableBuild(
            "grades", source, columns, ("grade", None, "student_id", "class"), str(tmp_path / "grades" / "v-1")
        )

        built, again = engine.build_table(build), engine.build_table(build)

        assert storage.rows(build.staging) == [(Decimal("1.500"), None, 1, "a"), (Decimal("2.000"), None, 2, None)]
        assert [column.name for column in built.columns] == ["points", "note", "Student_Id", "title"]
        assert (built.rows, built.reused, again.reused, again.rows) == (2, False, True, 2)
        assert storage.version(grades.location) == 2

    @pytest.mark.parametrize(
        ("column", "code"), [(ColumnType("student_id", "TINYINT"), "X712"), (ColumnType("class", "STRING", False), "X713")]
    )
    def test_what_other_columns_do_not_hold_is_an_error_and_never_null(
        self, column: ColumnType, code: str, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1000, NULL, 1, NULL)"))
        source = StoredSource("grades", grades.location, 1)

        staging = str(tmp_path / "grades" / "v-1")

        with pytest.raises(EngineError) as raised:
            engine.build_table(TableBuild("grades", source, (column,), (column.name,), staging))

        assert raised.value.code == code
        assert not engine.build_table(TableBuild("grades", source, GRADES[:1], ("student_id",), staging)).reused
        assert storage.rows(staging) == [(1000,)]

    def test_columns_that_rows_lack_get_their_defaults(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        target = replace(grades, defaults={"class": "'it\\'s \\\\n'", "grade": "-1.5", "class_date": "DATE '2025-01-02'"})
        engine.execute(change(target, "INSERT INTO grades (student_id, class) VALUES (1, NULL)", 1))
        engine.execute(change(target, "INSERT INTO grades VALUES (2, NULL, NULL, NULL)", 2))
        write(tmp_path / "in" / "a.json", {"student_id": 3, "class": "x", "grade": None}, {"student_id": 4})
        self._ingest_all(engine, target, json_files(tmp_path / "in"), 3)
        (tmp_path / "b.csv").write_text("student_id,grade\n5,\n", "utf-8")
        csv = {
            "transport": {"name": "file_input", "config": {"path": str(tmp_path / "b.csv")}},
            "format": {"name": "csv", "config": {}},
        }
        self._ingest_all(engine, target, csv, 4)

        default, day = Decimal("-1.50"), date(2025, 1, 2)
        assert storage.rows(grades.location) == [
            (1, None, default, day),
            (2, None, None, None),
            (3, "x", default, day),
            (4, "it's \\n", default, day),
            (5, "it's \\n", None, day),
        ]

    def test_a_delta_table_that_lacks_a_column_gives_its_default(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1, NULL, 1, NULL)"))
        columns = (*GRADES, ColumnType("more", "BOOLEAN", nullable=False))
        target = TableTarget("copy", str(tmp_path / "copy"), columns, defaults={"more": "TRUE", "class": "'x'"})
        storage.create(target.location, columns)
        settings = {"transport": {"name": "delta_table_input", "config": {"uri": grades.location, "mode": "snapshot"}}}
        self._ingest_all(engine, target, settings, 1)

        assert storage.rows(target.location) == [(1, None, Decimal("1.00"), None, True)]

    def test_removing_nothing_is_no_error(self, engine: Engine, tmp_path: Path) -> None:
        engine.remove(str(tmp_path / "none"))

    def test_files_are_read_once_each(self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path) -> None:
        folder = tmp_path / "in"
        settings = json_files(folder)
        write(folder / "a 1[%].json", {"STUDENT_ID": 1, "grade": 1.10, "class": "a", "other": 5}, {"student_id": "2"})
        write(folder / "_hidden.json", {"student_id": 9})
        first = engine.discover("c", settings, None)
        assert first is not None
        assert not first.end_of_input
        assert engine.ingest(Ingestion(grades, "c", settings, first.range, Transaction("c", 1))).rows == 2
        assert engine.discover("c", settings, first.position) is None

        write(folder / "deeper" / "b.json", {"student_id": 3, "class_date": "2025-01-02"})
        second = engine.discover("c", settings, json.loads(json.dumps(first.position)))
        assert second is not None
        ingestion = Ingestion(grades, "c", settings, second.range, Transaction("c", 2))
        assert engine.ingest(ingestion).version == 2
        assert engine.ingest(ingestion).reused

        assert storage.rows(grades.location) == [
            (1, "a", Decimal("1.10"), None),
            (2, None, None, None),
            (3, None, None, date(2025, 1, 2)),
        ]
        assert engine.discover("c", settings, second.position) is None

    def test_a_repeat_reads_nothing(self, engine: Engine, grades: TableTarget, tmp_path: Path) -> None:
        settings = json_files(tmp_path / "in")
        write(tmp_path / "in" / "a.json", {"student_id": 1})
        available = engine.discover("c", settings, None)
        assert available is not None
        ingestion = Ingestion(grades, "c", settings, available.range, Transaction("c", 1))
        engine.ingest(ingestion)
        (tmp_path / "in" / "a.json").unlink()

        assert engine.ingest(ingestion).reused

    def test_a_file_that_changes_after_it_was_read_is_an_error(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        settings = json_files(tmp_path / "in")
        file = write(tmp_path / "in" / "a.json", {"student_id": 1})
        available = engine.discover("c", settings, None)
        assert available is not None
        write(file, {"student_id": 1}, {"student_id": 2})

        for attempt in (
            lambda: engine.ingest(Ingestion(grades, "c", settings, available.range, Transaction("c", 1))),
            lambda: engine.discover("c", settings, available.position),
        ):
            with pytest.raises(EngineError, match=r"a\.json") as raised:
                attempt()
            assert raised.value.code == "X711"
        assert storage.version(grades.location) == 0

    def test_one_file_ends_and_a_pattern_does_not(self, engine: Engine, tmp_path: Path) -> None:
        file = write(tmp_path / "in" / "a.json", {"student_id": 1})

        single, pattern = (
            engine.discover("c", json_files(file), None),
            engine.discover("c", json_files(file.parent / "*.json"), None),
        )

        assert single is not None
        assert single.end_of_input
        assert pattern is not None
        assert not pattern.end_of_input
        assert pattern.range == single.range
        assert engine.discover("c", json_files(tmp_path / "in" / "*.csv"), None) is None

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ('{"student_id": 1}\n{"student_id": "x"}\n', "X712"),
            ('{"student_id": 1}\n{"student_id": \n', "X714"),
            ('[{"student_id": 1}]\n', "X714"),
            ("5\n", "X714"),
        ],
    )
    def test_a_bad_record_writes_nothing(
        self, text: str, code: str, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "a.json").write_text(text, "utf-8")
        settings = json_files(tmp_path / "in")
        available = engine.discover("c", settings, None)
        assert available is not None

        with pytest.raises(EngineError) as raised:
            engine.ingest(Ingestion(grades, "c", settings, available.range, Transaction("c", 1)))

        assert raised.value.code == code
        assert storage.version(grades.location) == 0

    def test_arrays_and_csv(self, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text(
            '[{"id": 1, "name": "q"},\n {"id": 2, "name": "r"}, {"id": 1, "name": "z"}]', "utf-8"
        )
        (tmp_path / "b.csv").write_text('NAME;id\n"a ""b""";3\n;4\n', "utf-8")
        self._ingest_all(engine, students, json_files(tmp_path / "a.json", array=True), 1)
        csv = {
            "transport": {"name": "file_input", "config": {"path": str(tmp_path / "b.csv")}},
            "format": {"name": "csv", "config": {"delimiter": ";"}},
        }
        self._ingest_all(engine, students, csv, 2)

        assert storage.rows(students.location) == [(1, "z"), (2, "r"), (3, 'a "b"'), (4, None)]

    def test_a_delta_table_is_read_once_at_its_version(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1, 'a', 1, '2025-01-01')", 1))
        target = TableTarget("copy", str(tmp_path / "copy"), GRADES)
        storage.create(target.location, GRADES)
        settings = {"transport": {"name": "delta_table_input", "config": {"uri": grades.location, "mode": "snapshot"}}}

        available = engine.discover("c", settings, None)
        assert available is not None
        assert available.end_of_input
        assert available.range["version"] == 1
        engine.execute(change(grades, "INSERT INTO grades VALUES (2, 'b', 2, NULL)", 2))
        engine.ingest(Ingestion(target, "c", settings, available.range, Transaction("c", 1)))

        assert storage.rows(target.location) == [(1, "a", Decimal("1.00"), date(2025, 1, 1))]
        assert engine.discover("c", settings, available.position) is None

    @pytest.mark.parametrize(
        "transport",
        [
            {"name": "delta_table_input", "config": {"uri": "/nowhere/at/all"}},
            {"name": "file_input", "config": {"path": "/nowhere/at/all"}},
        ],
    )
    def test_a_missing_source_is_an_error(self, transport: dict[str, Any], engine: Engine) -> None:
        with pytest.raises(EngineError, match="/nowhere/at/all") as raised:
            engine.discover("c", {"transport": transport}, None)

        assert raised.value.code == "X710"

    def test_a_secret_that_is_not_set_is_named(self, engine: Engine) -> None:
        settings = {"transport": {"name": "file_input", "config": {"path": "${secret:NO_SUCH_SECRET}"}}}

        with pytest.raises(EngineError, match="NO_SUCH_SECRET") as raised:
            engine.discover("c", settings, None)

        assert raised.value.code == "X715"

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
        assert (written.version, written.unmatched, written.rejected) == (2, 2, 0)

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

    def test_a_record_that_is_no_row_goes_to_the_dead_letters_and_the_others_go_on(
        self, engine: Engine, storage: Storage, students: TableTarget, tmp_path: Path
    ) -> None:
        lines = ['{"id": 1, "name": "a"}', '{"id": "x"}', '{"id": 2', '{"id": null}', "5", '{"id":3,"ID":3}', '{"id":4}']
        (tmp_path / "a.json").write_text("\n".join(lines), "utf-8")
        letters = DeadLetters(str(tmp_path / "dead-letters"), 7, 5)
        settings = json_files(tmp_path / "a.json")

        written = ingest_files(engine, students, settings, 1, letters)
        again = ingest_files(engine, students, settings, 1, letters)

        assert storage.rows(students.location) == [(1, "a"), (4, None)]
        assert (written.rejected, again.rejected, again.reused) == (5, 5, True)
        assert storage.version(students.location) == 1
        place = json.dumps({"file": str(tmp_path / "a.json")}, separators=(",", ":"))
        found = storage.rows(letters.location)
        assert len(found[0]) == len(DEAD_LETTER_COLUMNS)
        assert sorted((row[5], row[4][:4]) for row in found) == sorted(
            zip(lines[1:6], ["X712", "X714", "X713", "X714", "X714"], strict=True)
        )
        assert {row[:4] for row in found} == {(7, "c", "Students", place)}

    def test_dead_letters_that_are_missing_are_written_when_a_range_is_repeated(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        write(tmp_path / "a.json", {"student_id": "x"}, {"student_id": 1})
        settings, letters = json_files(tmp_path / "a.json"), DeadLetters(str(tmp_path / "dead-letters"), 1)
        ingest_files(engine, grades, settings, 1, letters)
        engine.remove(letters.location)

        again = ingest_files(engine, grades, settings, 1, letters)

        assert (again.reused, again.rejected, again.version) == (True, 1, 1)
        assert len(storage.rows(letters.location)) == 1

    def test_too_many_rejected_records_are_an_error(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        write(tmp_path / "a.json", {"student_id": "x"}, {"student_id": 1}, {"student_id": "y"})
        letters = DeadLetters(str(tmp_path / "dead-letters"), 1, 1)

        with pytest.raises(EngineError, match=r"2 record.*at most 1.*a\.json.*X712.*x") as raised:
            ingest_files(engine, grades, json_files(tmp_path / "a.json"), 1, letters)

        assert raised.value.code == "X724"
        assert storage.version(letters.location) is None

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

    def test_maps_cannot_be_compared(self, engine: Engine, storage: Storage, tmp_path: Path) -> None:
        columns = (ColumnType("m", "MAP<STRING,STRING>"),)
        target = TableTarget("t", str(tmp_path / "t"), columns)
        storage.create(target.location, columns)
        write(tmp_path / "a.json", {"delete": {"m": {"a": "b"}}})

        with pytest.raises(EngineError, match="MAP") as raised:
            ingest_files(engine, target, json_files(tmp_path / "a.json", update_format="insert_delete"), 1)

        assert raised.value.code == "X716"

    def _ingest_all(self, engine: Engine, target: TableTarget, settings: dict[str, Any], number: int) -> None:
        available = engine.discover("c", settings, None)
        assert available is not None
        engine.ingest(Ingestion(target, "c", settings, available.range, Transaction("c", number)))


def change(target: TableTarget, sql: str, number: int = 1, sources: Sequence[Source] = ()) -> Statement:
    return Statement(target, sql, tuple(sources), {}, Transaction("test", number))


def selected(source: Source) -> Selection:
    return Selection(f"SELECT * FROM {source.name}", (source,), {})


def json_files(path: Path, array: bool = False, update_format: str = "raw") -> dict[str, Any]:
    return {
        "transport": {"name": "file_input", "config": {"path": str(path)}},
        "format": {"name": "json", "config": {"array": array, "update_format": update_format}},
    }


def ingest_files(
    engine: Engine, target: TableTarget, settings: dict[str, Any], number: int, letters: DeadLetters | None = None
) -> Written:
    """Everything that there is to read, in one range."""
    available = engine.discover("c", settings, None)
    assert available is not None
    return engine.ingest(Ingestion(target, "c", settings, available.range, Transaction("c", number), letters))


def write(file: Path, *records: dict[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return file


def names_below(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.exists() else []
