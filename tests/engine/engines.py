"""The engines that the contracts are checked on, and their tables as somebody else sees them.

A test of this folder that asks for `engine` and `storage` gets those of Spark (conftest.py); in a class that inherits
OnRecording it gets those of the recording engine.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reconciler.delta.tables import create_table
from reconciler.engine.by_size import EngineBySize
from reconciler.engine.protocol import ColumnType, Engine, Transaction
from reconciler.testing.recording import RecordingEngine
from reconciler.testing.tables import Contents, MemoryWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class DeltaStorage:
    """Tables made and read by the deltalake package."""

    def create(self, location: str, columns: tuple[ColumnType, ...]) -> None:
        create_table(location, columns, Transaction("create", 1))

    def rows(self, location: str, version: int | None = None) -> list[tuple[Any, ...]]:
        from deltalake import DeltaTable, QueryBuilder

        found = QueryBuilder().register("t", DeltaTable(location, version=version)).execute("SELECT * FROM t").read_all()
        columns = [found[name].to_pylist() for name in found.schema.names]
        return sorted(zip(*columns, strict=True), key=repr)

    def version(self, location: str) -> int | None:
        from deltalake import DeltaTable

        return DeltaTable(location).version() if (Path(location) / "_delta_log").exists() else None


class Memory:
    """The recording engine's own tables, read from outside."""

    def __init__(self) -> None:
        self.writer = MemoryWriter()

    def create(self, location: str, columns: tuple[ColumnType, ...]) -> None:
        self.writer.write(location, Contents(columns, ()), None)

    def rows(self, location: str, version: int | None = None) -> list[tuple[Any, ...]]:
        newest = self.writer.latest(location)
        assert newest is not None
        return sorted(self.writer.read(location, newest if version is None else version).rows, key=repr)

    def version(self, location: str) -> int | None:
        return self.writer.latest(location)


def session_of(engine: Engine) -> "SparkSession":
    """The Spark session of an engine, started if need be."""
    from reconciler.engine.spark.engine import SparkEngine

    spark = engine.spark if isinstance(engine, EngineBySize) else engine
    assert isinstance(spark, SparkEngine)
    return spark._spark()


class OnRecording:
    """Inherit to test the recording engine."""

    @pytest.fixture
    def storage(self) -> Memory:
        return Memory()

    @pytest.fixture
    def engine(self, storage: Memory) -> RecordingEngine:
        return RecordingEngine(storage.writer)


def jobs() -> int:
    """How many jobs Spark was ever given in this session, kept or forgotten."""
    from reconciler.engine.spark.session import start

    return int(start().sparkContext._jsc.sc().dagScheduler().numTotalJobs())
