"""How tests ask things of an engine, the tables that they ask about, and how they see what it stored."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest

from reconciler.engine.protocol import (
    ColumnType,
    DeadLetters,
    Engine,
    Ingestion,
    Selection,
    Statement,
    TableTarget,
    Transaction,
    Written,
)
from reconciler.engine.sources import Source

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


class Tables:
    """The tables of a contract, empty; inherit, and give the fixture `storage`."""

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
