"""The recording engine keeps the contract, and shows what it was asked."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import ColumnType, Engine, TableTarget, ViewBuild
from reconciler.engine.sources import FunctionSource, StoredSource
from reconciler.testing.recording import RecordingEngine
from reconciler.testing.tables import Contents
from tests.engine.contract import GRADES, EngineContract, Storage, change
from tests.engine.delta_writer import DeltaWriter
from tests.engine.engines import DeltaStorage, Memory, OnRecording
from tests.engine.vacuum_contract import VacuumContract


class TestRecordingEngineOnDelta(VacuumContract):
    @pytest.fixture
    def storage(self) -> DeltaStorage:
        return DeltaStorage()

    @pytest.fixture
    def engine(self) -> RecordingEngine:
        return RecordingEngine(DeltaWriter())


class TestRecordingEngine(OnRecording, EngineContract):
    def test_calls_are_recorded(self, engine: Engine, grades: TableTarget) -> None:
        assert isinstance(engine, RecordingEngine)
        statement = change(grades, "DELETE FROM grades")
        engine.execute(statement)

        assert engine.calls == [statement]

    def test_a_view_without_answer_changes_with_what_it_reads(
        self, engine: Engine, storage: Storage, grades: TableTarget, tmp_path: Path
    ) -> None:
        engine.execute(change(grades, "INSERT INTO grades VALUES (1, 'a', 1, NULL)"))

        def digest(name: str, query: str, version: int) -> Any:
            staging = str(tmp_path / name)
            engine.build_view(ViewBuild("v", query, (), (StoredSource("grades", grades.location, version),), staging, {}))
            return storage.rows(staging)

        assert digest("1", "SELECT 1", 0) == digest("2", "SELECT 1", 0)
        assert digest("1", "SELECT 1", 0) != digest("3", "SELECT 2", 0)
        assert digest("1", "SELECT 1", 0) != digest("4", "SELECT 1", 1)

    def test_a_view_without_answer_changes_with_its_functions(
        self, engine: Engine, storage: Storage, tmp_path: Path
    ) -> None:
        def digest(name: str, *functions: FunctionSource) -> Any:
            staging = str(tmp_path / name)
            engine.build_view(ViewBuild("v", "SELECT f(1)", (), (), staging, {}, functions))
            return storage.rows(staging)

        first, second = (FunctionSource("f", (), "INT", text) for text in ("1", "2"))
        assert digest("1", first) == digest("2", first)
        assert digest("1", first) != digest("3", second)

    def test_an_answer_is_given(self, storage: Memory, tmp_path: Path) -> None:
        answer = Contents(GRADES, ((1, "a", None, None),))
        engine = RecordingEngine(storage.writer, {"v": answer})
        engine.build_view(ViewBuild("V", "SELECT …", (), (), str(tmp_path), {}))

        assert storage.rows(str(tmp_path)) == [(1, "a", None, None)]

    def test_after_close_every_call_fails(self, engine: Engine) -> None:
        engine.close()
        with pytest.raises(EngineError):
            engine.remove("/nowhere")


def test_a_version_that_was_read_is_read_again_once_its_files_are_others(tmp_path: Path) -> None:
    writer, location = DeltaWriter(), str(tmp_path / "t")
    columns = (ColumnType("id", "bigint"),)
    version = writer.write(location, Contents(columns, ((1,), (2,))), None)
    assert writer.read(location, version) == writer.read(location, version) == Contents(columns, ((1,), (2,)))
    (file,) = (tmp_path / "t").glob("*.parquet")
    shutil.copy(file, tmp_path / "kept")
    file.unlink()
    with pytest.raises(Exception, match="not found"):
        writer.read(location, version)
    shutil.copy(tmp_path / "kept", file)
    assert writer.read(location, version).rows == ((1,), (2,))
