"""A pipeline with history from Delta and live files, over the recording engine and real Delta tables; and runs of it in
processes of their own, as `python -m tests.shops.lineitem FOLDER`."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import arro3.core
from deltalake import write_deltalake

from reconciler.base.digest import JsonObject
from reconciler.cli.main import run
from reconciler.engine.protocol import Available, Ingestion, Written
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.service.status_model import ConnectorStatus
from reconciler.state.events import LoggedEvent, read_events
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.programs import Program, begin

PROGRAM = """\
CREATE TABLE lineitem (id BIGINT NOT NULL PRIMARY KEY, part VARCHAR);
CREATE TABLE log (line VARCHAR);
CREATE MATERIALIZED VIEW parts AS SELECT part FROM lineitem;
"""
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec:
  bootstrap_policy: allow
  connectors:
    - name: history
      table: lineitem
      labels: [lineitem.historical]
      transport: {name: delta_table_input, config: {uri: "source/lineitem", mode: snapshot}}
    - name: live
      table: lineitem
      start_after: lineitem.historical
      transport: {name: file_input, config: {path: source/live}}
      format: {name: json}
    - name: lines
      table: log
      transport: {name: file_input, config: {path: source/log}}
      format: {name: json}
"""


@dataclass(slots=True)
class HeldUp(RecordingEngine):
    """An engine that reads no file while one named `hold` lies in a folder, however long that is."""

    folder: Path = Path()

    def ingest(self, ingestion: Ingestion) -> Written:
        (self.folder / "reading").touch()
        while (self.folder / "hold").exists():
            time.sleep(0.02)
        # Named for the method of the dataclass with slots, whose class is made twice.
        return RecordingEngine.ingest(self, ingestion)

    def discover(self, connector: str, settings: JsonObject, position: JsonObject | None) -> Available | None:
        with (self.folder / "discovered").open("a") as file:
            file.write(f"{connector}\n")
        return RecordingEngine.discover(self, connector, settings, position)


def make(
    root: Path, yaml: str = YAML, program: str = PROGRAM, apply: Callable[[Path], object] = lambda root: opened(root).apply()
) -> Path:
    """The repository, with two rows of history; applied."""
    folder = root / "pipelines" / "shop"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(yaml)
    (folder / "program.sql").write_text(program)
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
    for name in ("live", "log"):
        (root / "source" / name).mkdir(parents=True)
    rows = {
        "id": arro3.core.Array([1, 2], type=arro3.core.DataType.int64()),
        "part": arro3.core.Array(["a", "b"], type=arro3.core.DataType.utf8()),
    }
    write_deltalake(str(root / "source/lineitem"), arro3.core.Table.from_pydict(rows))
    apply(root)
    return root


def opened(root: Path, engine: RecordingEngine | None = None) -> Pipeline:
    """The pipeline, with everything read anew."""
    return Project.open(root, engine=engine or RecordingEngine(DeltaWriter())).pipeline("shop")


def put(root: Path, folder: str, name: str, *rows: dict[str, Any]) -> None:
    """Put a file in place at once, as somebody who knows that others read would."""
    path = root / "source" / folder / name
    path.with_name(f"{name}.tmp").write_text("".join(json.dumps(row) + "\n" for row in rows))
    # What is hidden is not read; a rename is seen whole.
    path.with_name(f"{name}.tmp").rename(path)


def events(root: Path) -> tuple[LoggedEvent, ...]:
    """The event log."""
    return read_events(opened(root).target.registry, "shop")


def happened(root: Path) -> list[str]:
    """The event log, an event a line: what and of whom."""
    return [f"{event.event} {event.subject}".strip() for event in events(root)]


def connector(root: Path, name: str) -> ConnectorStatus:
    """The status of one connector."""
    return next(one for one in opened(root).status().connectors if one.name == name)


@contextmanager
def live(root: Path, *options: str) -> Iterator[Program]:
    """A run in a process of its own; killed at the end, if it still lives."""
    process = begin("tests.shops.lineitem", str(root), *options, out=Path(os.devnull))
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def main(folder: str, *options: str) -> int:
    """`reconcile run` on the pipeline, in this process."""
    engine = HeldUp(DeltaWriter(), folder=Path(folder))
    return run(["run", "shop", "--repo", folder, "--interval", "0.1", *options], engine)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
