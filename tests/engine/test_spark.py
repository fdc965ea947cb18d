"""The engine on Spark: the contract, checked by another reader of Delta, and what only it does."""

import datetime
import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import Declared, EngineError
from reconciler.delta.publishing import publish
from reconciler.engine.protocol import Built, ColumnType, Engine, Ingestion, Selection, TableTarget, Transaction, ViewBuild
from reconciler.engine.sources import EmptySource, InlineSource, Source, StoredSource
from reconciler.engine.spark.engine import SparkEngine
from tests.cells import mostly_slow
from tests.engine.contract import GRADES, EngineContract, Storage, change, json_files, names_below, write
from tests.engine.engines import DeltaStorage
from tests.engine.vacuum_contract import VacuumContract

pytestmark = pytest.mark.spark


PASSED_OVER = (
    ('{"id":1}{"id":2}', "X714"),
    ('{"id":1} x', "X714"),
    ('{"id":1,"ID":2}', "X714"),
    ('{"id":1,"n":{"x":["q"]}}', "X712"),
    ('{"id":1,"n":5}', "X712"),
)
"""Records of which another reader would pass over a part."""


class TestSparkEngine(EngineContract, VacuumContract):
    pass


@pytest.fixture(scope="module")
def three_students(spark_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where three students are, at version 1. Copy them; don't change them."""
    columns = (ColumnType("id", "BIGINT"), ColumnType("name", "STRING"))
    target = TableTarget("students", str(tmp_path_factory.mktemp("three") / "students"), columns)
    DeltaStorage().create(target.location, columns)
    spark_engine.execute(change(target, "INSERT INTO students VALUES (1, 'Alice'), (2, 'Bob'), (3, NULL)"))
    return target.location


@pytest.fixture
def students(three_students: str, tmp_path: Path) -> StoredSource:
    """Three students, at version 1."""
    return StoredSource("students", str(shutil.copytree(three_students, tmp_path / "students")), 1)


def rows(engine: Engine, sql: str, *sources: Source, **settings: str) -> list[tuple[Any, ...]]:
    return list(
        engine.select(Selection(sql, sources, {name.replace("_", "."): text for name, text in settings.items()})).rows
    )


def build(engine: Engine, staging: Path, query: str, *sources: Source, names: tuple[str, ...] = ()) -> Built:
    return engine.build_view(ViewBuild("v", query, names, sources, str(staging), {}))


class TestSources:
    def test_names_fold_and_inline_views_read_each_other(self, engine: Engine, students: StoredSource) -> None:
        upper = InlineSource("Upper_Names", "SELECT upper(name) FROM STUDENTS", ("Name",))
        counted = InlineSource("counted", "SELECT count(NAME) AS n FROM upper_names")

        assert rows(engine, "SELECT n FROM Counted", students, upper, counted) == [(2,)]

    def test_a_cleared_table_has_its_columns_and_no_rows(self, engine: Engine) -> None:
        cleared = EmptySource("grades", GRADES)

        assert rows(engine, "SELECT count(*), sum(grade), max(class_date) FROM grades", cleared) == [(0, None, None)]

    def test_the_named_version_is_read(self, engine: Engine, students: StoredSource) -> None:
        before = StoredSource("students", students.location, 0)

        assert rows(engine, "SELECT count(*) FROM students", before) == [(0,)]
        with pytest.raises(EngineError) as raised:
            rows(engine, "SELECT 1 FROM students", StoredSource("students", students.location, 9))
        assert raised.value.code == "X730"

    def test_columns_are_spelled_as_who_reads_spells_them(self, engine: Engine, students: StoredSource) -> None:
        added = (ColumnType("grade", "INT"),)
        read = StoredSource("students", students.location, 1, added, ("Grade", "NAME", "Id", "other"))

        assert rows(engine, "SELECT to_json(struct(*)) FROM students WHERE id = 1", read) == [('{"Id":1,"NAME":"Alice"}',)]
        assert rows(engine, "SELECT to_json(struct(ID)) FROM students WHERE id = 2", read) == [('{"ID":2}',)]

    def test_no_call_sees_what_another_was_given(self, engine: Engine, students: StoredSource) -> None:
        rows(engine, "SELECT 1 FROM students", students, spark_sql_session_timeZone="Asia/Tokyo")

        with pytest.raises(EngineError, match="TABLE_OR_VIEW_NOT_FOUND") as raised:
            rows(engine, "SELECT 1 FROM students")
        assert raised.value.code == "X703"
        assert rows(engine, "SELECT current_timezone()") == [("UTC",)]

    def test_settings_of_the_pipeline_hold_for_its_call(self, engine: Engine) -> None:
        off = {"spark.sql.ansi.enabled": "false", "spark.executor.memory": "1g"}

        assert list(engine.select(Selection("SELECT 1/0", (), off)).rows) == [(None,)]
        with pytest.raises(EngineError, match="DIVIDE_BY_ZERO"):
            engine.select(Selection("SELECT 1/0", (), {}))


class TestSelect:
    def test_values_are_pythons(self, engine: Engine) -> None:
        sql = "SELECT 1.5, DATE '2025-01-02', ARRAY(1, NULL), 'ü', TRUE, CAST(NULL AS INT), X'00'"

        assert rows(engine, sql) == [(Decimal("1.5"), datetime.date(2025, 1, 2), [1, None], "ü", True, None, b"\0")]

    def test_instants_are_utc_wherever_it_runs(self, engine: Engine) -> None:
        sql = "SELECT TIMESTAMP '2025-01-02 03:04:05', TIMESTAMP_NTZ '2025-01-02 03:04:05', NULL::TIMESTAMP"

        found = rows(engine, sql, spark_sql_session_timeZone="Asia/Tokyo")

        instant = datetime.datetime(2025, 1, 1, 18, 4, 5, tzinfo=datetime.UTC)
        assert found == [(instant, datetime.datetime(2025, 1, 2, 3, 4, 5), None)]  # noqa: DTZ001

    @pytest.mark.parametrize("value", ["DATE '+12025-01-01'", "TIMESTAMP '+12025-01-01 00:00:00'"])
    def test_a_year_that_python_does_not_know_is_an_error_with_a_way_out(self, engine: Engine, value: str) -> None:
        with pytest.raises(EngineError, match="can't be shown") as raised:
            rows(engine, f"SELECT {value} AS d")
        assert (raised.value.code, raised.value.hint) == (
            "X700",
            "convert it to text in the query, as in CAST(column AS STRING)",
        )
        assert rows(engine, f"SELECT CAST({value} AS STRING) LIKE '+12025-01-01%' AS d") == [(True,)]

    def test_nothing_is_put_into_a_query(self, engine: Engine) -> None:
        """Neither the environment of the process nor its settings, not even if the pipeline asks for it."""
        query = "SELECT '${env:PATH}' AS e, '${spark.sql.shuffle.partitions}' AS s"
        for settings in ({}, {"spark.sql.variable.substitute": "true"}):
            found = engine.select(Selection(query, (), settings)).rows
            assert list(found) == [("${env:PATH}", "${spark.sql.shuffle.partitions}")]

    def test_columns_have_spark_types(self, engine: Engine) -> None:
        found = engine.select(Selection("SELECT avg(CAST(1 AS DECIMAL(5,2))) AS a, CAST(1 AS BIGINT) AS a", (), {}))

        assert [(column.name, column.type) for column in found.columns] == [("a", "decimal(9,6)"), ("a", "bigint")]

    @pytest.mark.parametrize("sql", ["SELEC 1", "SELECT nope", "SELECT nope(1)"])
    def test_a_refusal_is_one_line(self, sql: str, engine: Engine) -> None:
        with pytest.raises(EngineError) as raised:
            rows(engine, sql)

        assert raised.value.code == "X703"
        assert "\n" not in raised.value.message
        assert "SQLSTATE" not in raised.value.message


class TestViews:
    def test_a_view_is_staged_below_its_table_and_published(
        self, engine: Engine, storage: Storage, students: StoredSource, tmp_path: Path
    ) -> None:
        view = tmp_path / "view"
        first = build(engine, view / "v-1", "SELECT name AS n, id * 1.5 AS x FROM students", students)
        assert publish(str(view), "v-1", None, Transaction("p", 1)) == 0
        second = build(engine, view / "v-2", "SELECT count(*) FROM students", students, names=("all",))
        assert publish(str(view), "v-2", 0, Transaction("p", 2)) == 1

        assert [(column.name, column.type) for column in first.columns] == [("n", "string"), ("x", "decimal(23,1)")]
        assert (first.rows, second.rows) == (3, 1)
        assert first.bytes > 0
        assert storage.rows(str(view)) == [(3,)]
        assert rows(engine, "SELECT n FROM v ORDER BY n", StoredSource("v", str(view), 0)) == [(None,), ("Alice",), ("Bob",)]

    def test_what_a_killed_build_left_is_replaced(
        self, engine: Engine, storage: Storage, students: StoredSource, tmp_path: Path
    ) -> None:
        staging = tmp_path / "view" / "v-1"
        (staging / "_delta_log").mkdir(parents=True)
        (staging / "part-0.parquet").write_bytes(b"half")
        (staging / "_delta_log" / ".00000000000000000000.json.tmp").write_bytes(b"")

        assert not build(engine, staging, "SELECT id FROM students", students).reused
        assert storage.rows(str(staging)) == [(1,), (2,), (3,)]
        assert "part-0.parquet" not in names_below(staging)

    def test_no_rows(self, engine: Engine, storage: Storage, students: StoredSource, tmp_path: Path) -> None:
        built = build(engine, tmp_path / "v", "SELECT id FROM students WHERE false", students)

        assert (built.rows, built.bytes) == (0, 0)
        assert [column.name for column in built.columns] == ["id"]
        assert storage.rows(str(tmp_path / "v")) == []

    def test_a_small_result_is_one_file(self, engine: Engine, tmp_path: Path) -> None:
        build(engine, tmp_path / "v", "SELECT id FROM range(0, 1000, 1, 40)")

        assert len([name for name in names_below(tmp_path / "v") if name.endswith(".parquet")]) == 1

    @pytest.mark.parametrize(
        ("query", "names", "code"),
        [
            ("SELECT avg(id) FROM students", (), "X704"),
            ("SELECT id, ID FROM students", (), "X704"),
            ("SELECT id FROM students", ("a", "b"), "X705"),
            ("SELECT NULL AS n FROM students", (), "X706"),
            ("SELECT ARRAY(NULL) AS n FROM students", (), "X706"),
            ("SELECT CAST(name AS INT) AS i FROM students", (), "X700"),
        ],
    )
    def test_what_cannot_be_stored_leaves_nothing_complete(
        self,
        query: str,
        names: tuple[str, ...],
        code: str,
        engine: Engine,
        storage: Storage,
        students: StoredSource,
        tmp_path: Path,
    ) -> None:
        with pytest.raises(EngineError) as raised:
            build(engine, tmp_path / "v", query, students, names=names)

        assert raised.value.code == code
        assert raised.value.message.startswith("view v")
        assert raised.value.about == Declared("view", "v")
        assert not build(engine, tmp_path / "v", "SELECT id FROM students", students).reused

    def test_a_view_that_is_computed_where_it_is_read_is_told_by_name(self, engine: Engine, students: StoredSource) -> None:
        with pytest.raises(EngineError) as raised:
            rows(engine, "SELECT * FROM inner_one", students, InlineSource("inner_one", "SELECT nope FROM students"))

        assert (raised.value.code, raised.value.about) == ("X703", Declared("view", "inner_one"))


class TestStatements:
    def test_select_and_subqueries_read_the_sources(self, engine: Engine, storage: Storage, students: StoredSource) -> None:
        columns = (ColumnType("id", "BIGINT"), ColumnType("name", "STRING"))
        target = TableTarget("students", students.location, columns)
        twice = change(target, "INSERT INTO students SELECT id, name FROM students WHERE id = 1", 2, [students])
        engine.execute(twice)
        named = change(
            target, "DELETE FROM students s WHERE s.id IN (SELECT id FROM students WHERE name = 'Alice')", 3, [students]
        )

        assert engine.execute(named).rows == 2
        assert storage.rows(students.location) == [(2, "Bob"), (3, None)]

    def test_a_bracket_may_open_columns_or_a_query(self, engine: Engine, storage: Storage, students: StoredSource) -> None:
        target = TableTarget("students", students.location, (ColumnType("id", "BIGINT"), ColumnType("name", "STRING")))
        engine.execute(change(target, "INSERT INTO students (SELECT 4, 'D')", 2))
        engine.execute(change(target, "INSERT INTO students (id) (SELECT 5)", 3))

        assert storage.rows(students.location)[-2:] == [(4, "D"), (5, None)]

    def test_values_of_a_type_that_does_not_fit_are_refused(self, engine: Engine, students: StoredSource) -> None:
        columns = (ColumnType("id", "BIGINT"), ColumnType("name", "STRING"))
        target = TableTarget("students", students.location, columns)

        with pytest.raises(EngineError) as raised:
            engine.execute(change(target, "INSERT INTO students SELECT array(1), 'D'", 2))

        assert raised.value.code == "X712"
        told = "insert into students: the values for column id do not fit BIGINT: they are of type array<int>"
        assert raised.value.message == told


class TestIngestion:
    COLUMNS = (
        ColumnType("id", "BIGINT"),
        ColumnType("d", "DECIMAL(38,10)"),
        ColumnType("s", "STRING"),
        ColumnType("n", "STRUCT<x:ARRAY<DECIMAL(10,2)>>"),
        ColumnType("t", "TIMESTAMP"),
    )

    @pytest.fixture
    def target(self, storage: Storage, tmp_path: Path) -> TableTarget:
        target = TableTarget("t", str(tmp_path / "t"), self.COLUMNS)
        storage.create(target.location, self.COLUMNS)
        return target

    def ingest(self, engine: Engine, target: TableTarget, settings: dict[str, Any], number: int = 1) -> int:
        available = engine.discover("c", settings, None)
        assert available is not None
        return engine.ingest(Ingestion(target, "c", settings, available.range, Transaction("c", number))).rows

    def file(self, tmp_path: Path, name: str, text: str) -> Path:
        (tmp_path / name).write_text(text, "utf-8")
        return tmp_path / name

    def test_json_loses_nothing(self, engine: Engine, storage: Storage, target: TableTarget, tmp_path: Path) -> None:
        text = (
            '\ufeff{"ID": 1, "d": 12345678901234567890.1234567890, "s": {"q": 1.0 }, "n": {"x": [1.5, 2]}}\r\n\r\n'
            '{"ID": 2, "s": 5.0, "t": "2025-01-01T00:00:00+01:00"}'
        )
        assert self.ingest(engine, target, json_files(self.file(tmp_path, "a.json", text))) == 2

        first, second = storage.rows(target.location)
        assert first[:4] == (
            1,
            Decimal("12345678901234567890.1234567890"),
            '{"q":1.0}',
            {"x": [Decimal("1.50"), Decimal("2.00")]},
        )
        assert second[2] == "5.0"
        assert second[4] == datetime.datetime(2024, 12, 31, 23, tzinfo=datetime.UTC)

    def test_keys_spelled_in_several_ways(
        self, engine: Engine, storage: Storage, target: TableTarget, tmp_path: Path
    ) -> None:
        text = '[{"id": 1, "D": 1}, {"ID": 2, "d": 12345678901234567890.1234567890}]'
        self.ingest(engine, target, json_files(self.file(tmp_path, "a.json", text), array=True))

        assert [row[:2] for row in storage.rows(target.location)] == [
            (1, 1),
            (2, Decimal("12345678901234567890.1234567890")),
        ]

    @pytest.mark.parametrize(("text", "code"), mostly_slow(PASSED_OVER, PASSED_OVER[0], PASSED_OVER[3]))
    def test_nothing_is_passed_over(self, text: str, code: str, engine: Engine, target: TableTarget, tmp_path: Path) -> None:
        with pytest.raises(EngineError) as raised:
            self.ingest(engine, target, json_files(self.file(tmp_path, "a.json", text)))

        assert raised.value.code == code

    def test_an_empty_file_is_an_empty_append(self, engine: Engine, target: TableTarget, tmp_path: Path) -> None:
        assert self.ingest(engine, target, json_files(self.file(tmp_path, "a.json", "\n"))) == 0

    def csv(self, path: Path, **config: Any) -> dict[str, Any]:
        return {
            "transport": {"name": "file_input", "config": {"path": str(path)}},
            "format": {"name": "csv", "config": config},
        }

    def test_csv(self, engine: Engine, storage: Storage, target: TableTarget, tmp_path: Path) -> None:
        plain = self.file(tmp_path, "a.csv", 'id|S\n1|NULL\n2|""\n3|\n')
        bare = self.file(tmp_path, "b.csv", "4,1.5,x,,2025-01-01 10:00:00\n")
        lines = self.file(tmp_path, "c.csv", 'id,s\n5,"a\nb"\n')
        self.ingest(engine, target, self.csv(plain, delimiter="|", null_value="NULL"), 1)
        self.ingest(engine, target, self.csv(bare, header=False), 2)
        self.ingest(engine, target, self.csv(lines, multi_line=True), 3)

        assert [row[:3] for row in storage.rows(target.location)] == [
            (1, None, None),
            (2, None, ""),
            (3, None, None),
            (4, Decimal("1.5"), "x"),
            (5, None, "a\nb"),
        ]

    @pytest.mark.parametrize("text", ["id,s\n1\n", "id,s\n1,2,3\n", "id,id\n1,2\n"])
    def test_csv_of_another_shape_is_refused(self, text: str, engine: Engine, target: TableTarget, tmp_path: Path) -> None:
        with pytest.raises(EngineError) as raised:
            self.ingest(engine, target, self.csv(self.file(tmp_path, "a.csv", text)))

        assert raised.value.code == "X714"

    @pytest.mark.parametrize(
        ("bad", "code"), [("vehicle;vehicle;ts;amount\n1;1;2;3\n", "X714"), ("vehicle;amount\n1;2\n", "X713")]
    )
    def test_a_file_that_stops_the_others_is_named(
        self, bad: str, code: str, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        columns = (ColumnType("vehicle", "INT", False), ColumnType("ts", "STRING", False), ColumnType("amount", "INT"))
        target = TableTarget("tolls", str(tmp_path / "tolls"), columns)
        storage.create(target.location, columns)
        folder = tmp_path / "in coming [1]"
        folder.mkdir()
        for name, text in (("a.csv", "vehicle;ts;amount\n1;t;2\n"), ("b c.csv", bad), ("d.csv", "ts;vehicle\nt;1\n")):
            (folder / name).write_text(text)
        with pytest.raises(EngineError) as raised:
            self.ingest(engine, target, self.csv(folder, delimiter=";"))

        assert raised.value.code == code
        assert f"the file {folder / 'b c.csv'}" in raised.value.message

    @pytest.mark.parametrize(
        ("query", "code", "hint"),
        [
            ("SELECT parse_json('plain') AS p", "X700", "try_parse_json"),
            ("SELECT parse_json(s) AS p FROM VALUES ('plain') AS t (s)", "X700", "try_parse_json"),
            ("SELECT parse_json(s)::int AS p FROM VALUES ('\"x\"') AS t (s)", "X700", "try_variant_get"),
            ("SELECT variant_get(parse_json(s), '$', 'int') AS p FROM VALUES ('\"x\"') AS t (s)", "X700", "try_variant_get"),
            ("SELECT from_json(s, 'a INT', map('mode', 'FAILFAST')) AS p FROM VALUES ('{') AS t (s)", "X700", "try_parse"),
            ("SELECT CAST(s AS INT) AS p FROM VALUES ('x') AS t (s)", "X700", "try_cast"),
            ("SELECT 1 / n AS p FROM VALUES (0) AS t (n)", "X700", "try_divide"),
        ],
    )
    def test_what_a_view_computes_is_no_input(
        self, query: str, code: str, hint: str, engine: Engine, tmp_path: Path
    ) -> None:
        with pytest.raises(EngineError) as raised:
            build(engine, tmp_path / "v-1", query)
        assert (raised.value.code, raised.value.about) == (code, Declared("view", "v"))
        assert hint in str(raised.value.hint)
        with pytest.raises(EngineError) as raised:
            engine.select(Selection(query, (), {}))
        assert raised.value.code == code

    def test_each_csv_file_is_read_by_its_own_header(
        self, engine: Engine, storage: Storage, target: TableTarget, tmp_path: Path
    ) -> None:
        (tmp_path / "in").mkdir()
        self.file(tmp_path, "in/a.csv", "id,s\n1,a\n")
        self.file(tmp_path, "in/b.csv", "s,id,other\nb,2,x\n")
        self.file(tmp_path, "in/c.csv", "ID\n3\n")
        self.file(tmp_path, "in/d.csv", "")

        assert self.ingest(engine, replace(target, defaults={"s": "'d'"}), self.csv(tmp_path / "in")) == 3
        assert [(row[0], row[2]) for row in storage.rows(target.location)] == [(1, "a"), (2, "b"), (3, "d")]

    def test_parquet(self, engine: Engine, storage: Storage, target: TableTarget, tmp_path: Path) -> None:
        build(engine, tmp_path / "v", "SELECT CAST(id AS INT) AS ID, 'x' AS s, id AS other FROM range(3)")
        settings = {
            "transport": {"name": "file_input", "config": {"path": f"{tmp_path}/v/*.parquet"}},
            "format": {"name": "parquet"},
        }

        assert self.ingest(engine, target, settings) == 3
        assert [row[:3] for row in storage.rows(target.location)] == [(0, None, "x"), (1, None, "x"), (2, None, "x")]

    def test_a_default_stands_in_for_what_a_parquet_file_lacks_whatever_others_have(
        self, engine: Engine, storage: Storage, target: TableTarget, tmp_path: Path
    ) -> None:
        queries = ("SELECT 1L AS id, 'x' AS S", "SELECT 2L AS id", "SELECT 3L AS id, CAST(NULL AS STRING) AS s")
        (tmp_path / "in").mkdir()
        for number, query in enumerate(queries):
            build(engine, tmp_path / f"v{number}", query)
            (part,) = (tmp_path / f"v{number}").glob("*.parquet")
            part.rename(tmp_path / "in" / f"{number}.parquet")
        settings = {
            "transport": {"name": "file_input", "config": {"path": str(tmp_path / "in")}},
            "format": {"name": "parquet"},
        }

        assert self.ingest(engine, replace(target, defaults={"s": "'d'"}), settings) == 3
        assert [(row[0], row[2]) for row in storage.rows(target.location)] == [(1, "x"), (2, "d"), (3, None)]

    def test_the_last_file_by_name_wins(self, engine: Engine, storage: Storage, tmp_path: Path) -> None:
        columns = (ColumnType("id", "BIGINT", nullable=False), ColumnType("s", "STRING"))
        keyed = TableTarget("k", str(tmp_path / "k"), columns, ("id",))
        storage.create(keyed.location, columns)
        write(tmp_path / "in" / "b.json", {"id": 1, "s": "third"}, {"id": 1, "s": "last"})
        write(tmp_path / "in" / "a.json", *[{"id": 1, "s": "first"}] * 500)

        self.ingest(engine, keyed, json_files(tmp_path / "in"))

        assert storage.rows(keyed.location) == [(1, "last")]

    def test_secrets_are_resolved_and_never_stored(
        self, engine: Engine, target: TableTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("INPUT_KEY", "s3cr3t")
        build(engine, tmp_path / "v", "SELECT id FROM range(3)")
        config = {"uri": str(tmp_path / "v"), "fs.example.key": "${secret:INPUT_KEY}"}
        settings = {"transport": {"name": "delta_table_input", "config": config}}

        available = engine.discover("c", settings, None)

        assert "s3cr3t" not in repr(available)
        assert self.ingest(engine, target, settings) == 3


def test_what_needs_no_spark_starts_none(spark_engine: Engine, storage: Storage, tmp_path: Path) -> None:
    def never() -> Any:
        raise AssertionError("Spark was started")

    idle = SparkEngine(never)
    target = TableTarget("grades", str(tmp_path / "grades"), GRADES)
    storage.create(target.location, GRADES)
    inserted = change(target, "INSERT INTO grades VALUES (1, 'a', 1, NULL)")
    spark_engine.execute(inserted)
    built = build(spark_engine, tmp_path / "v", "SELECT 1 AS a")
    write(tmp_path / "in" / "a.json", {"student_id": 1})

    assert idle.execute(inserted).reused
    assert build(idle, tmp_path / "v", "SELECT 1 AS a") == Built(built.rows, built.bytes, built.columns, reused=True)
    assert idle.discover("c", json_files(tmp_path / "in"), None) is not None
    idle.remove(str(tmp_path / "v"))
    idle.close()
    with pytest.raises(EngineError, match="closed"):
        rows(idle, "SELECT 1")
