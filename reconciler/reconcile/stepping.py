"""One step of a running pipeline: inputs to a point, every view at that point, published in one commit.

A step is first written down as an intent in the head: what is read (connectors and their ranges, or one statement). Then
its effects, each repeatable: tables are written under the step's transaction, the stored views that depend on them are
computed from pinned table versions into staging folders and published. Last, one commit of the head publishes the new
versions and positions and closes the intent. A step whose writer died is replayed from its intent: what happened is
recognised and skipped, what is missing is done, with the same inputs.

A step that the engine refuses (a file that does not fit, a view that divides by zero over the new rows) is withdrawn: the
intent is marked, tables and views that it wrote are put back to the published step, the intent is closed. Nothing of it
stays, its input is offered again, and neither data nor a query that fails can block the pipeline.

Views are recomputed in this version; only those that read, directly or not, a table that changed.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from reconciler.delta.opening import join_location
from reconciler.delta.tables import publish, restore, statistics, table_version
from reconciler.digest import JsonObject
from reconciler.engine.protocol import (
    Engine,
    Ingestion,
    Statement,
    TableTarget,
    Transaction,
    ViewBuild,
    Written,
)
from reconciler.errors import EngineError, IngestFailed, RegistryError
from reconciler.names import fold
from reconciler.plan.steps import base_reads, stored_reads
from reconciler.program.functions import called_functions
from reconciler.program.model import Program
from reconciler.reconcile.boundaries import BEFORE, EFFECTED, INTENDED, RECORDED, Boundary
from reconciler.reconcile.effects import staging_folder
from reconciler.reconcile.locations import with_absolute_location, with_root
from reconciler.reconcile.reading import functions_for, published_place, sources_for, table_columns, table_defaults
from reconciler.reconcile.target import Target
from reconciler.registry.model import Head, Intent, Placement, Published, Stored

STEP_TRANSACTION = "reconcile/step"


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step did: rows by connector (or by table, for a statement), and the views that were computed."""

    step: int
    rows: Mapping[str, int]
    views: tuple[str, ...]


def write_intent(target: Target, stored: Stored[Head], kind: str, details: JsonObject) -> Stored[Head]:
    """Write down the next step. Raises RegistryConflict when this process lost the pipeline."""
    published = _published(stored.value)
    intent = Intent(max(published.step, stored.value.last_step) + 1, kind, details, _now())
    return target.registry.replace_head(stored.token, replace(stored.value, intent=intent), str(uuid.uuid4()))


def carry_out(
    target: Target, stored: Stored[Head], program: Program, engine: Engine, boundary: Boundary
) -> tuple[Stored[Head], StepResult]:
    """Do, or do again, what the head's intent says, and publish it.

    Raises EngineError when the engine refuses; then the step was withdrawn, and the head has no intent any more.
    """
    head = stored.value
    intent = head.intent
    if intent is None:
        raise RegistryError("G602", f"{head.pipeline!r} has no step to carry out")
    if intent.withdrawn:
        _put_back(target, stored, program, boundary)
        raise EngineError("X723", f"step {intent.step} of {head.pipeline} was refused before, and has now been put back")
    boundary(f"step:{INTENDED}")
    work = _Step(target, program, engine, boundary, intent, dict(_published(head).relations))
    try:
        rows = work.write_tables()
        views = work.compute_views()
    except EngineError:
        marked = replace(head, intent=replace(intent, withdrawn=True))
        stored = target.registry.replace_head(stored.token, marked, str(uuid.uuid4()))
        _put_back(target, stored, program, boundary)
        raise
    boundary(f"step:{BEFORE}")
    positions = dict(head.positions)
    for ingest in intent.details.get("ingests", ()):
        positions[fold(ingest["connector"])] = ingest["position"]
    published = Published(intent.step, _now(), dict(sorted(work.placements.items())))
    done = replace(
        head,
        published=published,
        positions=dict(sorted(positions.items())),
        intent=None,
        last_step=intent.step,
    )
    written = target.registry.replace_head(stored.token, done, str(uuid.uuid4()))
    boundary(f"step:{RECORDED}")
    return written, StepResult(intent.step, rows, views)


def _put_back(target: Target, stored: Stored[Head], program: Program, boundary: Boundary) -> None:
    """Put every relation that the withdrawn step may have written back to the published step, and close the intent."""
    head = stored.value
    intent = head.intent
    assert intent is not None
    boundary(f"withdrawal:{INTENDED}")
    placements = _published(head).relations
    tables = {fold(program.connectors[fold(i["connector"])].relation) for i in intent.details.get("ingests", ())}
    tables |= {intent.details["table"]} if "table" in intent.details else set()
    views = {
        key
        for key, view in program.views.items()
        if view.is_stored and tables & {fold(name) for name in base_reads(program, key)}
    }
    for key in sorted(tables | views):
        restore(join_location(target.warehouse, placements[key].location), placements[key].version)
    boundary(f"withdrawal:{EFFECTED}")
    target.registry.replace_head(stored.token, replace(head, intent=None, last_step=intent.step), str(uuid.uuid4()))


class _Step:
    """The effects of one intent; `placements` moves along from the published step to the next."""

    def __init__(
        self,
        target: Target,
        program: Program,
        engine: Engine,
        boundary: Boundary,
        intent: Intent,
        placements: dict[str, Placement],
    ) -> None:
        self._target = target
        self._program = program
        self._engine = engine
        self._boundary = boundary
        self._intent = intent
        self._before = dict(placements)
        self.placements = placements
        self._changed: set[str] = set()

    def write_tables(self) -> dict[str, int]:
        rows: dict[str, int] = {}
        match self._intent.kind:
            case "ingest":
                for ingest in self._intent.details["ingests"]:
                    rows[ingest["connector"]] = self._ingest(ingest)
            case "statement":
                details = self._intent.details
                rows[self._program.tables[details["table"]].name] = self._execute(details)
            case unknown:
                raise RegistryError("G606", f"a step of kind {unknown!r} was left open by a newer version of reconciler")
        return rows

    def compute_views(self) -> tuple[str, ...]:
        computed = []
        for key in self._program.order:
            view = self._program.views.get(key)
            if view is None or not view.is_stored:
                continue
            if not self._changed & {fold(name) for name in stored_reads(self._program, key)}:
                continue
            self._compute(key)
            computed.append(view.name)
        return tuple(computed)

    def _ingest(self, ingest: Mapping[str, Any]) -> int:
        connector = self._program.connectors[fold(ingest["connector"])]
        key = fold(connector.relation)
        ingestion = Ingestion(
            target=self._table_target(key),
            connector=connector.qualified_name,
            settings=with_absolute_location(connector.settings, self._target.root),
            range=with_root(ingest["range"], self._target.root),
            transaction=Transaction(f"{STEP_TRANSACTION}/{fold(connector.qualified_name)}", self._intent.step),
        )
        try:
            written = self._engine.ingest(ingestion)
        except EngineError as error:
            raise IngestFailed(connector.qualified_name, error) from error
        return self._wrote(key, written)

    def _execute(self, details: JsonObject) -> int:
        place = published_place(self._program, self._target.warehouse, self._before)
        written = self._engine.execute(
            Statement(
                target=self._table_target(details["table"]),
                sql=details["sql"],
                sources=sources_for(self._program, details["relations"], place),
                settings=self._program.settings.spark,
                functions=functions_for(
                    self._program, called_functions(details["sql"], self._program.functions), details["relations"]
                ),
                transaction=Transaction(f"{STEP_TRANSACTION}/statement", self._intent.step),
            )
        )
        return self._wrote(details["table"], written)

    def _wrote(self, key: str, written: Written) -> int:
        self._boundary(f"table:{EFFECTED}")
        placement = self.placements[key]
        if written.version != placement.version:
            found = statistics(join_location(self._target.warehouse, placement.location), written.version)
            rows, size = (found.rows, found.bytes) if found else (None, None)
            self.placements[key] = replace(placement, version=written.version, rows=rows, bytes=size)
            self._changed.add(key)
        return written.rows

    def _compute(self, key: str) -> None:
        view = self._program.views[key]
        placement = self.placements[key]
        location = join_location(self._target.warehouse, placement.location)
        staging = staging_folder(self._program.name, "step", str(self._intent.step), key)
        place = published_place(self._program, self._target.warehouse, self.placements)
        built = self._engine.build_view(
            ViewBuild(
                view=view.name,
                query=view.query,
                column_names=view.declaration.column_names,
                sources=sources_for(self._program, [read.relation for read in view.reads], place),
                staging=join_location(location, staging),
                settings=self._program.settings.spark,
                functions=functions_for(self._program, view.calls, [read.relation for read in view.reads]),
            )
        )
        self._boundary(f"view:{INTENDED}")
        transaction = Transaction(STEP_TRANSACTION, self._intent.step)
        version = publish(location, staging, table_version(location), transaction)
        self._boundary(f"view:{EFFECTED}")
        self.placements[key] = replace(placement, version=version, rows=built.rows, bytes=built.bytes, columns=built.columns)
        self._changed.add(key)

    def _table_target(self, key: str) -> TableTarget:
        table = self._program.tables[key]
        location = join_location(self._target.warehouse, self._before[key].location)
        return TableTarget(table.name, location, table_columns(table), table.primary_key, table_defaults(table))


def _published(head: Head) -> Published:
    if head.published is None:
        raise RegistryError("G602", f"nothing of {head.pipeline!r} is published")
    return head.published


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
