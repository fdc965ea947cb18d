"""What a step costs after many steps, without Spark: the recording engine over real Delta tables and the real registry.

    python -m bench.history [--steps 30] [--after 1000 --after 10000 --after 100000]

A pipeline with one input, a table of one row and a view makes real steps. Then it is aged: its tables and its registry get
what so many steps at one a second leave behind, and real steps are made on top.

- A table and a view keep their logs until a prune: a commit a step, each with the file that it replaced.
- The registry keeps ten minutes of its logs: of the head two commits a step, of steps, events and the report one. The
  histories have a row a step.

What is told: the median step, and by folder how many files its log has, which deltalake lists whenever it opens a table on a
disk or commits to it. The target is 1.2 times the step after the fewest steps. Results stand in bench/results/history.json;
a target that is missed is said, and is no error.
"""

import json
import shutil
import tempfile
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

import click
import pyarrow as pa
from deltalake import DeltaTable

from bench.plan import ROOT
from reconciler import Project
from reconciler.base.boundaries import BEFORE, RECORDED
from reconciler.base.digest import JsonObject
from reconciler.base.moments import this_moment
from reconciler.delta.arrow_rows import arrow_schema, plain_table, rows_of
from reconciler.delta.arrow_writes import overwrite
from reconciler.delta.histories import HistoryTable
from reconciler.delta.short_logs import open_log
from reconciler.delta.tables import table_version, typed_columns
from reconciler.delta.transactions import has_transaction
from reconciler.engine.protocol import Available, Ingestion, Transaction, Written
from reconciler.environment.observer import Observer
from reconciler.registry.protocol import HISTORY_COLUMNS, History
from reconciler.service.pipeline import Pipeline
from reconciler.testing.recording import RecordingEngine
from reconciler.testing.records import Change
from reconciler.testing.tables import Contents
from tests.engine.delta_writer import DeltaWriter

RESULTS: Final = ROOT / "bench" / "results" / "history.json"
_TARGET: Final = 1.2
_TEN_MINUTES: Final = 600
_PROGRAM: Final = """\
CREATE TABLE ticks (id BIGINT NOT NULL PRIMARY KEY, number BIGINT);
CREATE MATERIALIZED VIEW last_tick AS SELECT number FROM ticks;
"""
_YAML: Final = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: clock}
spec:
  bootstrap_policy: allow
  connectors:
    - name: live
      table: ticks
      transport: {name: kafka_input, config: {topic: ticks, bootstrap.servers: "nowhere:1"}}
      format: {name: json}
"""


class ArrowWriter(DeltaWriter):
    """Reads and writes tables as an engine does that holds their rows in this process."""

    def latest(self, location: str) -> int | None:
        return table_version(location)

    def read(self, location: str, version: int) -> Contents:
        table = plain_table(location, version)
        rows = None if table is None else rows_of(table)
        if rows is None:
            return super().read(location, version)
        values = zip(*(one.to_pylist() for one in rows.columns), strict=True)
        return Contents(typed_columns(location, version), tuple(values))

    def version_with(self, location: str, transaction: Transaction) -> int | None:
        table = open_log(location)
        return None if table is None or not has_transaction(table, transaction, location) else table.version()

    def write(
        self, location: str, contents: Contents, transaction: Transaction | None, said: JsonObject | None = None
    ) -> int:
        table = plain_table(location)
        if table is None or transaction is None:
            return super().write(location, contents, transaction, said)
        values = zip(*contents.rows, strict=True)
        named = dict(zip((column.name for column in contents.columns), values, strict=True))
        rows = pa.table(named, schema=arrow_schema(table.schema))
        return overwrite(table, table.schema, rows, transaction, said)


class Clock(RecordingEngine):
    """An engine whose one input has a record as often as `ticks` says, and holds one position however many those were."""

    ticks = 0

    def discover(self, connector: str, settings: JsonObject, position: JsonObject | None) -> Available | None:
        if self.ticks == 0:
            return None
        number = 0 if position is None else int(position["offsets"]["0"])
        return Available({"from": number}, {"offsets": {"0": number + 1}}, end_of_input=False, since=this_moment())

    def ingest(self, ingestion: Ingestion) -> Written:
        self.ticks -= 1
        return self._apply(ingestion.target, ingestion.transaction, [Change((1, int(ingestion.range["from"])))])


@dataclass(frozen=True, slots=True)
class Price:
    """After so many steps: the median step in seconds, against the first one, and the files of each log."""

    after: int
    seconds: float
    ratio: float
    log_files: Mapping[str, int]


class Aged:
    """A pipeline that is given a past."""

    def __init__(self, root: Path) -> None:
        folder = root / "pipelines" / "clock"
        folder.mkdir(parents=True)
        (folder / "pipeline.yaml").write_text(_YAML)
        (folder / "program.sql").write_text(_PROGRAM)
        (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
        self._warehouse = root / "warehouse"
        self._engine = Clock(ArrowWriter())
        self.pipeline: Pipeline = Project.open(
            root, engine=self._engine, observer=Observer(boundary=self._reached)
        ).pipeline("clock")
        self.pipeline.apply()
        self._steps, self._began = 0, 0.0
        self._seconds: list[float] = []

    def steps(self, count: int) -> list[float]:
        """Make real steps; the seconds of each, from what it reads to what is published."""
        self._engine.ticks, self._seconds = count, []
        self.pipeline.run_once()
        self._steps += count
        return self._seconds

    def _reached(self, boundary: str) -> None:
        if boundary == f"intent:{BEFORE}":
            self._began = time.perf_counter()
        elif boundary == f"step:{RECORDED}":
            self._seconds.append(time.perf_counter() - self._began)

    def age(self, until: int, replaced: int = 1) -> None:
        """Leave behind what steps up to this number would, each of which replaced so many files of a relation."""
        more = until - self._steps
        registry = self.pipeline.target.registry
        found = registry.head("clock")
        assert found is not None
        assert found.value.published is not None
        placed = found.value.published.relations
        moved = {
            key: replace(one, version=_commits(self._warehouse / one.location, more, replaced))
            for key, one in placed.items()
        }
        step = found.value.last_step + more
        self._rows(found.value.last_step + 1, step, found.value.applied.record if found.value.applied else "")
        published = replace(found.value.published, step=step, relations=moved)
        registry.replace_head(found.token, replace(found.value, published=published, last_step=step), str(uuid.uuid4()))
        for name, a_step in (("head", 2), ("report", 1), ("steps", 1), ("events", 1)):
            kept = max(0, min(until, _TEN_MINUTES) - min(self._steps, _TEN_MINUTES))
            _commits(self._folder(name), kept * a_step, replaced=0)
        self._steps = until

    def log_files(self) -> dict[str, int]:
        """How many files each log has."""
        logs = sorted(self._warehouse.rglob("_delta_log"))
        counts = {log.parent.relative_to(self._warehouse).as_posix(): len(list(log.iterdir())) for log in logs}
        return {name: count for name, count in counts.items() if "/v-" not in name and count > 2}

    def _folder(self, name: str) -> Path:
        return self._warehouse / "_registry" / "clock" / name

    def _rows(self, first: int, last: int, record: str | None) -> None:
        table = HistoryTable(str(self._folder("steps")), HISTORY_COLUMNS[History.STEPS])
        same = {"at": this_moment(), "kind": "ingest", "record": record or "", "epoch": "1", "told": "{}"}
        state = {"relations": '{"ticks":{"location":"clock/ticks","version":1}}', "positions": "{}"}
        numbers = range(first, last + 1)
        rows = [{**same, **state, "step": str(one), "whole": "true" if one % 100 == 0 else "false"} for one in numbers]
        for start in range(0, len(rows), 10_000):
            table.append_serial(rows[start : start + 10_000], first + min(start + 9_999, len(rows) - 1))


def _commits(folder: Path, count: int, replaced: int) -> int:
    """So many commits more, each replacing so many files, and a checkpoint behind them; the table's version then."""
    now = int(time.time() * 1000)
    first = DeltaTable(str(folder)).version() + 1
    for version in range(first, first + count):
        actions: list[dict[str, Any]] = [{"commitInfo": {"timestamp": now, "operation": "WRITE"}}]
        for _ in range(replaced):
            path = f"v-{version:020x}/part-00000-{uuid.uuid4()}-c000.snappy.parquet"
            actions.append({"remove": {"path": path, "deletionTimestamp": now, "dataChange": True, "size": 1000}})
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (folder / "_delta_log" / f"{version:020d}.json").write_text(text)
    table = DeltaTable(str(folder))
    table.create_checkpoint()
    return table.version()


@click.command()
@click.option("--steps", default=30, show_default=True, help="Real steps at each age.")
@click.option("--after", "ages", type=int, multiple=True, default=(1_000, 10_000, 100_000), show_default=True)
def main(steps: int, ages: tuple[int, ...]) -> None:
    """Measure, print and write the results."""
    scratch = Path(tempfile.mkdtemp(prefix="reconcile-history-"))
    prices: list[Price] = []
    try:
        aged = Aged(scratch / "clock")
        aged.steps(steps)
        for after in sorted(ages):
            aged.age(after)
            # The first look at what was aged is no step.
            aged.steps(1)
            seconds = median(aged.steps(steps))
            ratio = round(seconds / prices[0].seconds, 2) if prices else 1.0
            prices.append(Price(after, round(seconds, 4), ratio, aged.log_files()))
            said = "" if ratio <= _TARGET else f"  MISSED: {_TARGET}"
            print(
                f"after {after} steps: {seconds * 1000:.0f} ms a step, {ratio} x{said}; {prices[-1].log_files}", flush=True
            )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    RESULTS.write_text(json.dumps({"target": _TARGET, "prices": [asdict(one) for one in prices]}, indent=2) + "\n")


if __name__ == "__main__":
    main()
