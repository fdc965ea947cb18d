"""A small pipeline over real Delta tables and without Spark: two tables, views over one, both, and none that changes."""

import json
from pathlib import Path
from typing import Any

from reconciler.engine.protocol import Ingestion
from reconciler.registry.model import Head
from reconciler.registry.protocol import History
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter

PIPELINE = "shop"
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec:
  bootstrap_policy: allow
  connectors:
    - name: left
      table: a
      transport: {name: file_input, config: {path: in/left}}
      format: {name: json}
    - name: right
      table: b
      transport: {name: file_input, config: {path: in/right}}
      format: {name: json}
"""
PROGRAM = """\
CREATE TABLE a (id BIGINT);
CREATE TABLE b (id BIGINT, note STRING);
CREATE MATERIALIZED VIEW over_a AS SELECT id FROM a;
CREATE MATERIALIZED VIEW over_both AS SELECT a.id FROM a JOIN b ON a.id = b.id;
CREATE MATERIALIZED VIEW over_b AS SELECT id FROM b;
"""
STORED = ("a", "b", "over_a", "over_b", "over_both")


def write_project(root: Path, program: str = PROGRAM, yaml: str = YAML) -> None:
    """The pipeline's files, and folders to read from."""
    folder = root / "pipelines" / PIPELINE
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pipeline.yaml").write_text(yaml)
    (folder / "program.sql").write_text(program)
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
    for name in ("left", "right"):
        (root / "in" / name).mkdir(parents=True, exist_ok=True)


def recording() -> RecordingEngine:
    """The engine without Spark over real Delta tables."""
    return RecordingEngine(DeltaWriter())


def open_project(root: Path, engine: RecordingEngine | None = None) -> Pipeline:
    """The pipeline, with all state read anew."""
    return Project.open(root, engine=engine or recording()).pipeline(PIPELINE)


def feed(root: Path, folder: str, name: str, *rows: dict[str, Any]) -> None:
    """A file to read."""
    (root / "in" / folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def head_of(root: Path) -> Head:
    """The head as stored."""
    stored = Project.open(root).target.registry.head(PIPELINE)
    assert stored is not None
    return stored.value


def rows_of(root: Path, relation: str) -> list[tuple[Any, ...]]:
    """What another reader finds at a relation's path now."""
    writer, location = DeltaWriter(), str(root / "warehouse" / PIPELINE / relation)
    latest = writer.latest(location)
    return [] if latest is None else sorted(writer.read(location, latest).rows, key=repr)


def everything(root: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that is stored, as another reader finds it."""
    return {relation: rows_of(root, relation) for relation in STORED}


def steps_recorded(root: Path) -> list[tuple[int, str]]:
    """The history of steps: (number, kind), sorted."""
    rows = Project.open(root).target.registry.history(History.STEPS, PIPELINE)
    return sorted((int(row["step"]), row["kind"]) for row in rows)


def ingestions(engine: RecordingEngine) -> list[Ingestion]:
    """What the engine was asked to bring in."""
    return [call for call in engine.calls if isinstance(call, Ingestion)]
