"""What every engine promises of statements, of reading tables, and of views and tables that are built.

Part of contract.py.
"""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import ColumnType, Engine, TableBuild, TableTarget, ViewBuild
from reconciler.engine.sources import EmptySource, StoredSource
from tests.engine.asking import GRADES, Storage, Tables, change, selected


class StatementContract(Tables):
    """Inherit, and give the fixtures `engine` and `storage`."""

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

    def test_removing_nothing_is_no_error(self, engine: Engine, tmp_path: Path) -> None:
        engine.remove(str(tmp_path / "none"))
