"""A pipeline with streams, for tests of what runs make of them: readings of devices, by the hour, each device once, and a
view and an output over them. Its input comes in files, a step for each."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reconciler.engine.protocol import Engine
from reconciler.registry.model import Head
from reconciler.registry.placements import Placement
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from tests.engine.delta_writer import DeltaWriter

PIPELINE = "pond"
STORED = ("readings", "hourly", "once", "hottest")

PROGRAM = """\
CREATE TABLE readings (device STRING, at TIMESTAMP, temperature INT) WITH ('append_only' = 'true');
CREATE MATERIALIZED VIEW hottest AS SELECT device, max(hottest) AS hottest FROM hourly GROUP BY device;
"""
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: pond}
spec:
  bootstrap_policy: allow
  connectors:
    - name: files
      table: readings
      max_batch_size: 1
      transport: {name: file_input, config: {path: source}}
      format: {name: json}
    - name: told
      view: hourly
      transport: {name: file_output, config: {path: out}}
      format: {name: json, config: {update_format: insert_delete}}
  streams:
    - name: timed
      assign_timestamps_and_watermarks: {input: readings, event_time: at, delay: 1m}
    - name: hourly
      aggregate_over_window:
        input: timed
        keys: [device]
        window: {tumbling: 1h}
        aggregates: {readings: count(*), hottest: max(temperature)}
        allowed_lateness: 10m
    - name: once
      deduplicate: {input: timed, keys: [device], expiry: 2h}
"""

Reading = tuple[str, str, int]
BATCHES: tuple[tuple[Reading, ...], ...] = (
    (("a", "10:05", 1), ("a", "10:10", 5), ("b", "10:20", 2)),
    (("a", "11:05", 3),),
    (("a", "10:50", 9), ("b", "11:30", 2)),
    (("a", "10:50", 7), ("b", "11:31", 4)),
    (("c", "14:00", 1),),
)
HOURLY = (
    ("a", "10:00", 2, 5, "on_time"),
    ("b", "10:00", 1, 2, "on_time"),
    ("a", "10:00", 3, 9, "late"),
    ("a", "11:00", 1, 3, "on_time"),
    ("b", "11:00", 2, 4, "on_time"),
)
"""What `hourly` gives of all batches: device, beginning of the hour, readings, hottest, firing."""


def write_pond(root: Path, yaml: str = YAML, program: str = PROGRAM) -> None:
    """The pipeline's files."""
    folder = root / "pipelines" / PIPELINE
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pipeline.yaml").write_text(yaml)
    (folder / "program.sql").write_text(program)
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
    (root / "source").mkdir(exist_ok=True)


def put(root: Path, number: int, *readings: Reading) -> None:
    """A file of readings, each with the hour of a day at which it was taken."""
    rows = [{"device": device, "at": f"2026-01-01T{at}:00Z", "temperature": value} for device, at, value in readings]
    (root / f"source/{number:03}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def put_batches(root: Path, first: int = 0, last: int = len(BATCHES)) -> None:
    """Some of the batches."""
    for number in range(first, last):
        put(root, number, *BATCHES[number])


def open_pond(root: Path, engine: Engine) -> Pipeline:
    """The pipeline, with all state read anew from the disk."""
    return Project.open(root, engine=engine).pipeline(PIPELINE)


def head_of(root: Path) -> Head:
    """The head as stored."""
    stored = Project.open(root).target.registry.head(PIPELINE)
    assert stored is not None
    return stored.value


def placement(root: Path, relation: str) -> Placement:
    """Where a relation stands."""
    published = head_of(root).published
    assert published is not None
    return published.relations[relation]


def rows(root: Path, relation: str) -> list[tuple[Any, ...]]:
    """What another reader of Delta finds of a relation as it is published, as a sorted multiset."""
    return contents_of(root, placement(root, relation))


def contents_of(root: Path, stands: Placement) -> list[tuple[Any, ...]]:
    """What another reader of Delta finds there, as a sorted multiset."""
    found = DeltaWriter().read(str(root / "warehouse" / stands.location), stands.version)
    return sorted(found.rows, key=repr)


def hourly(root: Path) -> list[tuple[Any, ...]]:
    """What `hourly` gave, as `HOURLY` has it; sorted."""
    return sorted((row[0], f"{row[1]:%H:%M}", row[3], row[4], row[5]) for row in rows(root, "hourly"))


def contents(root: Path) -> Mapping[str, Any]:
    """All that is published."""
    return {name: rows(root, name) for name in STORED}
