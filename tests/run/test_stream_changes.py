"""What becomes of a stream's rows and of what it remembers with each change of its definition: what the plan says, on Spark.

The changes are those of the golden folders (`tests/golden/stream_…`), each made after some steps, and followed by one more.
Beside the pipeline that is changed there are two to compare it with: one that was never anything else but what it is changed
to, and got all rows at once; and one that is not changed at all.
"""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.names import fold
from reconciler.diff.model import Fate
from reconciler.engine.protocol import Engine
from reconciler.plan.model import Plan
from reconciler.project.program.model import Program
from reconciler.registry.placements import StreamState
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from tests.streams.pond import contents_of

GOLDEN = Path(__file__).parents[1] / "golden"
CHANGES = sorted(folder.name for folder in GOLDEN.glob("stream_*"))

DAY = "2026-01-01"
# Repairs come after the readings of their device, so that it means nothing which step brings which.
STEPS: tuple[Mapping[str, tuple[str, ...]], ...] = (
    {
        "day": (
            "('a', 'd1', {10:05}, 31)",
            "('a', 'd1', {10:10}, 35)",
            "('b', 'd1', {10:20}, 12)",
            "(NULL, 'd1', {10:21}, 1)",
        )
    },
    {"day": ("('a', 'd1', {11:45}, 33)", "('a', 'd2', {10:50}, 39)", "('b', 'd1', {12:30}, 12)", "('b', 'd1', NULL, 0)")},
    {"part": ("('a', {12:10}, 'fan')", "('b', {12:35}, 'belt')", "('c', {11:00}, 'belt')")},
)
LAST: Mapping[str, tuple[str, ...]] = {
    "day": ("('a', 'd1', {12:29}, 30)", "('a', 'd2', {14:10}, 31)", "('c', 'd2', {14:11}, 40)", "('b', 'd2', {11:00}, 9)"),
    "part": ("('b', {15:00}, 'fan')",),
}


@dataclass(frozen=True, slots=True)
class Stands:
    """Rows and state of each relation."""

    rows: Mapping[str, list[tuple[Any, ...]]]
    states: Mapping[str, StreamState | None]


def write(root: Path, definition: Path) -> None:
    folder = root / "pipelines" / "shop"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(definition, folder)
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")


def pipeline(root: Path, engine: Engine) -> Pipeline:
    """The pipeline, with all state read anew from the disk."""
    return Project.open(root, engine=engine).pipeline("shop")


def program(root: Path) -> Program:
    validated = Project.open(root).pipeline("shop").validate()
    assert validated.program is not None
    return validated.program


def stands(root: Path) -> Stands:
    stored = Project.open(root).target.registry.head("shop")
    assert stored is not None
    assert stored.value.published is not None
    known = stored.value.published.relations
    return Stands(
        {name: contents_of(root, one) for name, one in known.items()}, {name: one.state for name, one in known.items()}
    )


def table_with(root: Path, column: str) -> tuple[str, str]:
    """The table that has a column, and its columns as far as all its definitions have them."""
    for table in program(root).tables.values():
        if column in [one.name for one in table.columns]:
            names = [one.name for one in table.columns][: 4 if column == "day" else 3]
            return table.name, ", ".join(names)
    raise AssertionError(f"no table has {column}")


def insert(root: Path, engine: Engine, rows: Mapping[str, tuple[str, ...]]) -> None:
    for column, values in rows.items():
        name, columns = table_with(root, column)
        timed = re.sub(r"\{(..:..)\}", rf"TIMESTAMP '{DAY} \1:00Z'", ", ".join(values))
        pipeline(root, engine).execute(f"INSERT INTO {name} ({columns}) VALUES {timed}")


@pytest.fixture(scope="module")
def befores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By its files, each definition from which changes begin, after some steps. Copy it; don't change it."""
    return {}


def before_change(change: str, befores: dict[str, Path], engine: Engine, to: Path) -> Path:
    definition = GOLDEN / change / "applied"
    files = repr([(file.name, file.read_text()) for file in sorted(definition.rglob("*")) if file.is_file()])
    if files not in befores:
        write(to, definition)
        pipeline(to, engine).apply()
        for rows in STEPS:
            insert(to, engine, rows)
        befores[files] = to
    return befores[files]


def copied(root: Path, to: Path) -> Path:
    shutil.copytree(root, to)
    return to


def at_once(root: Path, desired: Path, cleared: bool, engine: Engine) -> Path:
    """A pipeline that has been what the other one is changed to from the beginning."""
    write(root, desired)
    pipeline(root, engine).apply()
    if not cleared:
        insert(root, engine, {"day": tuple(row for step in STEPS for row in step.get("day", ()))})
    insert(root, engine, {"part": tuple(row for step in STEPS for row in step.get("part", ()))})
    return root


def streams_and_views(root: Path) -> dict[str, str]:
    """What is stored of them; their kinds."""
    found = {key: view for key, view in program(root).views.items() if view.is_stored}
    return {key: "view" if view.stream is None else "stream" for key, view in found.items()}


def anew(plan: Plan, root: Path) -> set[str]:
    """What the plan says is computed from the rows of its tables."""
    changed = {fold(one.name) for one in plan.diff.relations if one.fate in (None, Fate.RECOMPUTED)}
    return changed & streams_and_views(root).keys()


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_rows_and_state_become_what_the_plan_says(
    change: str, befores: dict[str, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine
) -> None:
    desired = GOLDEN / change / "desired"
    before = before_change(change, befores, spark_engine, tmp_path_factory.mktemp("before"))
    root, unchanged = copied(before, tmp_path / "changed"), copied(before, tmp_path / "unchanged")
    had = stands(root)
    write(root, desired)
    plan = pipeline(root, spark_engine).plan()
    if not plan.diff.is_empty:
        pipeline(root, spark_engine).apply()
    has = stands(root)
    former = {fold(one.name): fold(one.renamed_from or one.name) for one in plan.diff.relations}
    cleared = any(one.fate is Fate.CLEARED for one in plan.diff.relations)
    fresh = at_once(tmp_path / "fresh", desired, cleared, spark_engine)
    would_have = stands(fresh)

    computed = anew(plan, root)
    kinds = streams_and_views(root)
    for name in kinds:
        if name in computed:
            assert has.rows[name] == would_have.rows[name], name
            assert has.states[name] is None, name
        else:
            assert has.rows[name] == had.rows[former.get(name, name)], name
            assert has.states[name] == had.states[former.get(name, name)], name
    assert has.rows.keys() == kinds.keys() | {fold(one) for one in program(root).tables}

    for one in (root, unchanged, fresh):
        insert(one, spark_engine, LAST)
    has, would_have, stayed = stands(root), stands(fresh), stands(unchanged)
    for name, kind in kinds.items():
        if name in computed:
            assert has.rows[name] == would_have.rows[name], f"{name}, a step later"
        elif name not in former:
            assert has.rows[name] == stayed.rows[name], f"{name}, a step later"
        else:
            assert set(has.rows[name]) >= set(had.rows[former[name]]), f"{name}, a step later"
        assert kind == "view" or has.states[name] is not None, name
    assert pipeline(root, spark_engine).plan().diff.is_empty
