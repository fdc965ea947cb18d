"""Small emissions without Spark: the contract of sinks, on tables of the disk, where no JVM runs; and files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from reconciler.base.errors import AnotherEmission, EngineError, LeaseHeld
from reconciler.delta import known_changes
from reconciler.delta.arrow_rows import plain_table, rows_of
from reconciler.delta.arrow_writes import Taken, rewrite
from reconciler.delta.tables import create_table
from reconciler.engine.arrow.emit import changes
from reconciler.engine.by_size import EngineBySize
from reconciler.engine.protocol import Check, Emission, Emitted, Engine, TableTarget, Transaction, unchecked
from reconciler.testing.recording import RecordingEngine
from reconciler.testing.tables import MemoryWriter
from tests.engine.contract import Storage
from tests.engine.emissions import Meanwhile, folders, lines, to_files
from tests.engine.emit_contract import COLUMNS, EmitContract, emission
from tests.engine.engines import DeltaStorage


class Spark(RecordingEngine):
    """Where Spark would be asked."""

    def __init__(self) -> None:
        super().__init__(MemoryWriter())
        self.asked: list[Emission] = []

    def emit(self, emission: Emission, check: Check = unchecked) -> Emitted:
        self.asked.append(emission)
        raise EngineError("X716", "left to Spark")


VERSIONS: tuple[list[tuple[int | None, str | None]], ...] = (
    [(1, "a"), (1, "a"), (1, "a"), (2, "b"), (3, None)],
    [(2, "b"), (3, None)],
    [(2, "b"), (3, None), (None, None), (None, None), (3, None)],
)


def table_of(*values: tuple[int | None, str | None]) -> pa.Table:
    kinds = pa.schema([("id", pa.int64()), ("name", pa.string())])
    return pa.table({name: [row[at] for row in values] for at, name in enumerate(kinds.names)}, schema=kinds)


class TestWithoutSpark(EmitContract):
    @pytest.fixture
    def storage(self) -> DeltaStorage:
        return DeltaStorage()

    @pytest.fixture
    def engine(self) -> EngineBySize:
        return EngineBySize(Spark(), dict)

    @pytest.fixture
    def view(self, engine: Engine, storage: Storage, tmp_path: Path) -> TableTarget:
        target = TableTarget("v", str(tmp_path / "v"), COLUMNS)
        create_table(target.location, COLUMNS, Transaction("create", 1))
        for rows in VERSIONS:
            write_deltalake(target.location, table_of(*rows), mode="overwrite")
        return target

    @pytest.fixture
    def spark(self, engine: EngineBySize) -> Spark:
        assert isinstance(engine.spark, Spark)
        return engine.spark

    def test_it_says_so(self, engine: Engine, view: TableTarget, tmp_path: Path) -> None:
        sink = tmp_path / "sink"
        made = [engine.emit(emission(view, sink, None, 1)), engine.emit(emission(view, sink, 1, 3, 2))]
        repeated = engine.emit(emission(view, sink, 1, 3, 2))
        assert [one.without_spark for one in (*made, repeated)] == [True, True, True]

    @pytest.mark.parametrize("name", ["MOST_ROWS", "MOST_BYTES"])
    def test_what_is_large_is_left_to_spark(
        self, engine: Engine, spark: Spark, view: TableTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        """The view, the difference, and a table from which rows have to go."""
        sink = tmp_path / "sink"
        for serial in range(1, 9):
            engine.emit(emission(view, sink, None, 1, serial))
        size = {"MOST_ROWS": 39, "MOST_BYTES": plain_table(str(sink)).bytes - 1}[name]  # type: ignore[union-attr]
        monkeypatch.setattr(changes, name, size)
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(emission(view, sink, 1, 2, 9))
        assert engine.emit(emission(view, sink, 2, 3, 9)).inserted == 3, "nothing has to be looked for"
        monkeypatch.setattr(changes, name, 2)
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(emission(view, sink, 2, 3, 10))
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(emission(view, tmp_path / "other", None, 1))
        assert len(spark.asked) == 3

    def test_of_a_view_that_this_process_changed_no_file_is_read(
        self, engine: Engine, view: TableTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine.emit(emission(view, tmp_path / "sink", None, 3))
        table = plain_table(view.location)
        assert table is not None
        held = rows_of(table)
        assert held is not None
        staying = {file.path: held.slice(1) for file in table.files}
        rewrite(table, Taken(staying, held.slice(0, 1)), table_of((9, "new")), Transaction("us", 1))
        # As many as the sink has. The files of both versions have more.
        monkeypatch.setattr(changes, "MOST_ROWS", held.num_rows)
        sent = engine.emit(emission(view, tmp_path / "sink", 3, 4, 2))
        assert (sent.inserted, sent.deleted) == (1, 1)
        assert sorted(map(repr, DeltaTable(tmp_path / "sink").to_pyarrow_table().to_pylist())) == sorted(
            map(repr, DeltaTable(view.location).to_pyarrow_table().to_pylist())
        )
        known_changes._committed.clear()
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(emission(view, tmp_path / "sink", 3, 4, 3))

    @pytest.mark.parametrize(
        "config",
        [{"mode": "error_if_exists"}, {"fs.s3a.access.key": "x"}, {"aws_region": "x"}, {"unheard": "of"}],
    )
    def test_options_are_left_to_spark(
        self, engine: Engine, view: TableTarget, tmp_path: Path, config: dict[str, Any]
    ) -> None:
        create_table(str(tmp_path / "sink"), COLUMNS, Transaction("create", 1))
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(emission(view, tmp_path / "sink", None, 1, **config))

    @pytest.mark.parametrize("name", ["a b", "a%20b", "a#b", "ä", "a/../b", "a'b"])
    def test_odd_places_are_left_to_spark(self, engine: Engine, view: TableTarget, tmp_path: Path, name: str) -> None:
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(emission(view, tmp_path / name, None, 1))

    def test_a_folder_that_holds_something_is_left_to_spark(self, engine: Engine, view: TableTarget, tmp_path: Path) -> None:
        (tmp_path / "sink").mkdir()
        engine.emit(emission(view, tmp_path / "sink", None, 1))
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "file").write_text("")
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(emission(view, tmp_path / "other", None, 1))
        (tmp_path / "file").write_text("")
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(emission(view, tmp_path / "file", None, 1))

    def test_a_sink_that_is_not_surely_understood_is_left_to_spark(
        self, engine: Engine, view: TableTarget, tmp_path: Path
    ) -> None:
        sink = tmp_path / "sink"
        engine.emit(emission(view, sink, None, 1))
        DeltaTable(str(sink)).alter.set_table_properties({"delta.enableChangeDataFeed": "true"})
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(emission(view, sink, 1, 2, 2))

    def test_a_table_that_was_there_with_other_columns_is_left_to_spark(
        self, engine: Engine, view: TableTarget, tmp_path: Path
    ) -> None:
        sink = tmp_path / "sink"
        write_deltalake(str(sink), pa.table({"other": [1]}))
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(emission(view, sink, None, 1))
        engine.emit(emission(view, sink, None, 1, mode="truncate"))
        assert len(DeltaStorage().rows(str(sink))) == 5

    def test_columns_in_another_order_and_letter_case(self, engine: Engine, view: TableTarget, tmp_path: Path) -> None:
        sink = tmp_path / "sink"
        write_deltalake(str(sink), pa.table({"NAME": ["x"], "Id": [7]}))
        engine.emit(emission(view, sink, None, 1))
        engine.emit(emission(view, sink, 1, 2, 2))
        assert DeltaStorage().rows(str(sink)) == [("b", 2), ("x", 7), (None, 3)]

    def test_who_writes_meanwhile_is_told_to_spark(
        self, engine: Engine, spark: Spark, view: TableTarget, tmp_path: Path
    ) -> None:
        sink = tmp_path / "sink"
        engine.emit(emission(view, sink, None, 1))
        meanwhile = Meanwhile()
        meanwhile.act = lambda: write_deltalake(str(sink), table_of((9, "z")), mode="append")
        made = replace(emission(view, sink, 1, 2, 2), warehouses=meanwhile)
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(made)
        assert spark.asked == [made]
        assert DeltaTable(str(sink)).version() == 1
        assert len(list(sink.glob("*.parquet"))) == 2, "what was written for it is gone"

    @pytest.mark.parametrize(
        ("settings", "does"),
        [
            ({"spark.master": "local[2]", "spark.driver.memory": "4g", "spark.driver.extraJavaOptions": "-Xss8m"}, True),
            ({"spark.databricks.delta.properties.defaults.enableChangeDataFeed": "true"}, False),
            ({"spark.delta.logStore.file.impl": "somebody.Else"}, False),
            ({"spark.driver.extraClassPath": "/opt/another-delta.jar"}, False),
            ({"spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY"}, False),
            ({"unheard": "of"}, False),
        ],
    )
    def test_settings_that_may_have_a_say_are_left_to_spark(
        self, view: TableTarget, tmp_path: Path, settings: dict[str, str], does: bool
    ) -> None:
        engine = EngineBySize(Spark(), lambda: settings)
        if does:
            assert engine.emit(emission(view, tmp_path / "sink", None, 1)).without_spark
            return
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(emission(view, tmp_path / "sink", None, 1))

    def test_settings_are_asked_for_once(self, view: TableTarget, tmp_path: Path) -> None:
        asked: list[int] = []
        engine = EngineBySize(Spark(), lambda: asked.append(1) or {})
        for number in (1, 2):
            engine.emit(emission(view, tmp_path / f"sink{number}", None, 1))
        assert asked == [1]

    @pytest.mark.parametrize("variable", ["PYSPARK_GATEWAY_PORT", "SPARK_CONF_DIR", "HADOOP_CONF_DIR"])
    def test_a_process_that_is_told_settings_elsewhere_leaves_all_to_spark(
        self, engine: Engine, view: TableTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
    ) -> None:
        monkeypatch.setenv(variable, "1")
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(emission(view, tmp_path / "sink", None, 1))

    def test_rows_are_taken_out_of_the_files_that_hold_them(self, engine: Engine, view: TableTarget, tmp_path: Path) -> None:
        sink = tmp_path / "sink"
        engine.emit(emission(view, sink, None, 2))
        engine.emit(emission(view, sink, None, 1, 2))
        before = set(sink.glob("*.parquet"))
        engine.emit(emission(view, sink, 1, 2, 3))
        after = {sink / path for path in DeltaTable(str(sink)).get_add_actions()["path"].to_pylist()}
        assert (len(before & after), len(after - before)) == (1, 1)
        assert DeltaStorage().rows(str(sink)) == [(2, "b"), (2, "b"), (3, None), (3, None)]

    def test_what_comes_in_meanwhile_under_its_number_does_not_pass_for_it(
        self, engine: Engine, view: TableTarget, tmp_path: Path
    ) -> None:
        sink = tmp_path / "sink"
        engine.emit(emission(view, sink, None, 1))
        meanwhile = Meanwhile()
        meanwhile.act = lambda: engine.emit(emission(view, sink, 1, 2, 2, by="them"))
        with pytest.raises(AnotherEmission):
            engine.emit(replace(emission(view, sink, 1, 3, 2), warehouses=meanwhile))
        assert DeltaStorage().rows(str(sink)) == DeltaStorage().rows(view.location, 2)


def json_files(made: Emission, folder: Path, **config: Any) -> Emission:
    return to_files(made, folder, "json", **config)


class TestFilesWithoutSpark:
    @pytest.fixture
    def engine(self) -> EngineBySize:
        return EngineBySize(Spark(), dict)

    @pytest.fixture
    def view(self, tmp_path: Path) -> TableTarget:
        target = TableTarget("v", str(tmp_path / "v"), COLUMNS)
        create_table(target.location, COLUMNS, Transaction("create", 1))
        for rows in VERSIONS:
            write_deltalake(target.location, table_of(*rows), mode="overwrite")
        return target

    def test_what_changed_is_in_a_folder_that_is_complete(self, engine: Engine, view: TableTarget, tmp_path: Path) -> None:
        out = tmp_path / "out"
        first = engine.emit(json_files(emission(view, out, None, 1), out))
        second = engine.emit(json_files(emission(view, out, 1, 3, 2), out))
        again = engine.emit(json_files(emission(view, out, 1, 3, 2), out))
        nothing = engine.emit(json_files(emission(view, out, 3, 3, 3), out))

        assert [one.without_spark for one in (first, second, again, nothing)] == [True] * 4
        assert [(one.inserted, one.deleted) for one in (first, second, again, nothing)] == [(5, 0), (3, 3), (3, 3), (0, 0)]
        assert again.reused
        (one, other) = folders(out)
        assert lines(one) == sorted(
            [*['{"insert":{"id":1,"name":"a"}}'] * 3, '{"insert":{"id":2,"name":"b"}}', '{"insert":{"id":3,"name":null}}']
        )
        comes = ['{"insert":{"id":3,"name":null}}', *['{"insert":{"id":null,"name":null}}'] * 2]
        assert lines(other) == sorted([*comes, *['{"delete":{"id":1,"name":"a"}}'] * 3])
        assert all((folder / "_SUCCESS").exists() for folder in (one, other))

    def test_another_emission_under_its_number(self, engine: Engine, view: TableTarget, tmp_path: Path) -> None:
        out = tmp_path / "out"
        engine.emit(json_files(emission(view, out, None, 1, by="them"), out))
        with pytest.raises(AnotherEmission):
            engine.emit(json_files(emission(view, out, None, 2), out))

    def test_who_was_taken_over_leaves_nothing(self, engine: Engine, view: TableTarget, tmp_path: Path) -> None:
        def check() -> None:
            raise LeaseHeld("A503", "another process took it over")

        with pytest.raises(LeaseHeld):
            engine.emit(json_files(emission(view, tmp_path / "out", None, 1), tmp_path / "out"), check)
        assert list((tmp_path / "out").iterdir()) == []

    def test_csv(self, engine: Engine, view: TableTarget, tmp_path: Path) -> None:
        out = tmp_path / "out"
        made = engine.emit(to_files(emission(view, out, None, 1), out, "csv"))
        (folder,) = folders(out)
        assert made.without_spark
        assert lines(folder) == ["1,a", "1,a", "1,a", "2,b", "3,", "id,name"]

    def test_formats_that_are_left_to_spark(self, engine: Engine, view: TableTarget, tmp_path: Path) -> None:
        out = tmp_path / "out"
        for name, config in (("parquet", {}), ("json", {"unheard": "of"}), ("csv", {"null_value": "a"})):
            with pytest.raises(EngineError, match="left to Spark"):
                engine.emit(to_files(emission(view, out, None, 1), out, name, **config))
        assert not out.exists() or list(out.iterdir()) == []

    @pytest.mark.parametrize(
        "values",
        [
            pa.array([0.1]),
            pa.array([1e7]),
            pa.array([1e-300]),
            pa.array([0.5], pa.float32()),
            pa.array([b"x"]),
            pa.array([3_000_000], pa.int32()).cast(pa.date32()),
            pa.array([-(10**17)]).cast(pa.timestamp("us", "UTC")),
            pa.array([[("k", 0.1)]], pa.map_(pa.string(), pa.float64())),
            pa.array([[(0, 1)]], pa.map_(pa.date32(), pa.int64())),
            pa.array([{"x": [0.1]}]),
        ],
        ids=str,
    )
    def test_values_whose_text_is_not_surely_known_are_left_to_spark(
        self, engine: Engine, view: TableTarget, tmp_path: Path, values: pa.Array
    ) -> None:
        other = replace(view, location=str(tmp_path / "w"))
        write_deltalake(other.location, pa.table({"a": values}))
        out = tmp_path / "out"
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(json_files(emission(other, out, None, 0), out))
        assert not out.exists() or list(out.iterdir()) == []

    def test_deleted_rows_of_other_columns_are_left_to_spark(
        self, engine: Engine, view: TableTarget, tmp_path: Path
    ) -> None:
        write_deltalake(view.location, pa.table({"other": [1]}), mode="overwrite", schema_mode="overwrite")
        out = tmp_path / "out"
        with pytest.raises(EngineError, match="left to Spark"):
            engine.emit(json_files(emission(view, out, 3, 4), out))
        assert not out.exists() or list(out.iterdir()) == []
