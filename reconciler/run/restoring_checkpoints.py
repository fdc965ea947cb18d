"""Carrying out a restore: the step whose intent says to which checkpoint a pipeline goes (`restore` writes it).

| relation | effect | a repeat |
|---|---|---|
| table or view, own checkpoint | Delta's restore of the version, in one commit | sees its own transaction |
| table, another's checkpoint | the engine copies its rows into a staging folder; published in one commit | the same |
| view, another's checkpoint | the engine computes it from the copies; published in one commit | the same |

Then histories, then one commit of the head: program, versions and positions change together, and the intent is closed.

What stands now and is no part of the checkpoint keeps its place in the head, so that nobody takes its folder for something
foreign: a later checkpoint may have it back, and an apply that makes a relation of that name makes it there, anew.
"""

from collections.abc import Mapping
from dataclasses import replace

from reconciler.base.boundaries import BEFORE, EFFECTED, RECORDED
from reconciler.base.digest import canonical_json
from reconciler.base.errors import RegistryError
from reconciler.base.moments import moment_after
from reconciler.base.names import fold
from reconciler.base.version import __version__
from reconciler.delta.opening import join_location
from reconciler.delta.publishing import publish
from reconciler.delta.restoring import restore as restore_version
from reconciler.delta.tables import statistics
from reconciler.diff.compare import compare
from reconciler.diff.model import Diff
from reconciler.engine.protocol import Built, TableBuild
from reconciler.engine.sources import StoredSource
from reconciler.environment.planned_engine import require_planned_engine
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.materialize.apply_effects import staging_folder
from reconciler.materialize.registry_backups import with_ids
from reconciler.materialize.view_builds import view_build
from reconciler.materialize.withdrawing import view_transaction
from reconciler.project.program.model import Program
from reconciler.project.snapshot.model import Snapshot
from reconciler.query.reading import published_place, require_foreign, table_columns
from reconciler.registry.intents import ComputeAgain, CopyRows, PutBack, RestoreCheckpoint, RestoredRelation, kind_of
from reconciler.registry.model import Applied, Approval, Head, LeftOutput, ObjectVersions, OutputState, Published, Stored
from reconciler.registry.placements import Placement, foreign_placements
from reconciler.registry.protocol import History
from reconciler.run.output_starts import begun, going_back
from reconciler.run.outputs_by_place import outputs_of, sent_by, states_known, still_known
from reconciler.run.publishing_head import publish_head, record_applied, with_program
from reconciler.state.applied import read_snapshot
from reconciler.state.events import Event, EventLog
from reconciler.state.step_history import ToldOfStep
from reconciler.versions.numbering import Switch, record_versions, versions_restored


def is_kept(program: Program, key: str) -> bool:
    """Whether a program has a relation (folded) that is stored."""
    return program.is_stored(key)


def carry_out_restore(target: Target, stored: Stored[Head], session: Session) -> Stored[Head]:
    """Do, or do again, what the head's intent says. Raises EngineError when the engine refuses; the caller withdraws it."""
    boundary, check = session.boundary, session.check
    head = stored.value
    intent = head.intent
    if intent is None or not isinstance(intent.work, RestoreCheckpoint):
        raise RegistryError("G602", f"{head.pipeline!r} has no restore to carry out")
    restore = intent.work
    snapshot = read_snapshot(target, head.pipeline, restore.record)
    program = snapshot.program
    work = _Restore(target, program, session, head, restore)
    for key in program.order:
        if key in restore.restored:
            boundary(f"restore:{BEFORE}")
            check()
            work.bring_back(key, restore.restored[key])
            boundary(f"restore:{EFFECTED}")
    check()
    now = moment_after(head.applied.at if head.applied is not None else None)
    versions = _versions(target, head, restore, snapshot)
    applied = _applied(restore, head.applied, now)
    placements = with_ids(target, _with_those_in_the_way(head, work.placements))
    outputs, left = _outputs(target, stored, restore, program, work.placements)
    done = replace(
        with_program(head, applied, program, versions),
        published=Published(intent.step, now, placements, work.foreign),
        positions=dict(sorted(restore.positions.items())),
        outputs=outputs,
        left=still_known(target, left, program, placements),
        intent=None,
        last_step=intent.step,
    )
    _record(target, head.pipeline, restore, applied)
    # It comes from no commit.
    switch = Switch(intent.step, now, restore.by, "", applied.approval, "", restore.apply_id, placements=work.placements)
    record_versions(target.registry, head, done.versions, snapshot, switch)
    written = publish_head(target.registry, stored, done, program, ToldOfStep(kind_of(restore)), boundary)
    details = {"checkpoint": restore.checkpoint, "pipeline": restore.source, "of_step": restore.step, "by": restore.by}
    EventLog(target.registry, head.pipeline, session.tell).record(Event.RESTORED, "", intent.step, details)
    boundary(f"step:{RECORDED}")
    return written


def _versions(target: Target, head: Head, restore: RestoreCheckpoint, restored: Snapshot) -> dict[str, ObjectVersions]:
    applied = read_snapshot(target, head.pipeline, head.applied.record) if head.applied and head.applied.record else None
    diff = compare(applied, restored) if applied else Diff((), ())
    step = restore.step if restore.source == head.pipeline else None
    return versions_restored(target.registry, head, applied.program if applied else None, restored, diff, step)


class _Restore:
    def __init__(
        self,
        target: Target,
        program: Program,
        session: Session,
        head: Head,
        restore: RestoreCheckpoint,
    ) -> None:
        assert head.intent is not None
        self._target = target
        self._program = program
        self._engine = session.engine
        self._boundary = session.boundary
        self._check = session.check
        self._pipeline = head.pipeline
        self._step = head.intent.step
        self._said = {
            "pipeline": head.pipeline,
            "step": head.intent.step,
            "epoch": head.epoch,
            "inputs": {"checkpoint": restore.checkpoint},
        }
        self.placements: dict[str, Placement] = {}
        self.foreign = restore.foreign

    def bring_back(self, key: str, pinned: RestoredRelation) -> None:
        location = join_location(self._target.warehouse, pinned.location)
        transaction = view_transaction(self._step)
        if isinstance(pinned, PutBack):
            version = restore_version(location, pinned.read, pinned.expected, transaction)
            self.placements[key] = replace(pinned.placement, version=version)
            return
        staging = staging_folder(self._pipeline, "restore", str(self._step), key)
        built = self._build(key, pinned, join_location(location, staging))
        self._boundary(f"restore:published:{BEFORE}")
        self._check()
        columns = table_columns(self._program.tables[key]) if key in self._program.tables else ()
        version = publish(location, staging, pinned.expected, transaction, columns, self._said)
        found = statistics(location, version)
        size = built.bytes if found is None else found.bytes
        self.placements[key] = Placement(
            pinned.location,
            version,
            built.rows,
            columns or built.columns,
            bytes=size,
            failed_calls=built.failed_calls,
        )

    def _build(self, key: str, pinned: CopyRows | ComputeAgain, staging: str) -> Built:
        if isinstance(pinned, CopyRows):
            table = self._program.tables[key]
            source = StoredSource(table.name, join_location(self._target.warehouse, pinned.source), pinned.read)
            columns = table_columns(table)
            names = tuple(column.name for column in columns)
            return self._engine.build_table(TableBuild(table.name, source, columns, names, staging))
        require_planned_engine(self._target, self._program)
        placements = {**self.placements, **foreign_placements(self.foreign)}
        place = published_place(self._program, self._target.warehouse, placements)
        build = view_build(self._program, self._program.views[key], place, staging)
        require_foreign(build.sources, self.foreign)
        return self._engine.build_view(build)


def _with_those_in_the_way(head: Head, placements: Mapping[str, Placement]) -> dict[str, Placement]:
    """The restored placements, and those of whatever else stands: under its name, or if that is taken, under its folder."""
    after = dict(placements)
    folders = {placement.location for placement in placements.values()}
    for key, placement in (head.published.relations if head.published else {}).items():
        if placement.location not in folders:
            after[key if key not in placements else placement.location] = placement
    return dict(sorted(after.items()))


def _outputs(
    target: Target,
    stored: Stored[Head],
    restore: RestoreCheckpoint,
    program: Program,
    placements: Mapping[str, Placement],
) -> tuple[dict[str, OutputState], tuple[LeftOutput, ...]]:
    """Every output of the restored program with its state, and what those have sent that it does not have."""
    head = stored.value
    locations = {key: placement.location for key, placement in placements.items()}
    known, left = known_at_restore(target, head, program, locations)
    outputs = {}
    for key, connector in outputs_of(program).items():
        placement = placements.get(fold(connector.relation))
        if placement is None:
            continue
        identity = f"{head.pipeline}/{key}/{restore.apply_id}"
        is_silent = restore.source != head.pipeline
        outputs[key] = (
            going_back(known[key], head.outputs.get(key))
            if key in known
            else begun(connector, identity, placement.version, stored.token + 1, is_silent=is_silent)
        )
    return outputs, left


def known_at_restore(
    target: Target, head: Head, program: Program, locations: Mapping[str, str]
) -> tuple[Mapping[str, LeftOutput], tuple[LeftOutput, ...]]:
    """What was sent to the places that the outputs (folded) of a restored program write to, as far as it is known; and what
    was sent to places that none of them writes to. `locations` are the folders of views by folded name."""
    applied = None
    if head.applied is not None and head.applied.record is not None:
        applied = read_snapshot(target, head.pipeline, head.applied.record).program
    everything = (*head.left, *sent_by(head, applied))
    known = states_known(outputs_of(program), locations, everything)
    used = known.values()
    return known, tuple(one for one in everything if one not in used)


def _applied(restore: RestoreCheckpoint, before: Applied | None, now: str) -> Applied:
    return Applied(
        digest=restore.digest,
        record=restore.record,
        apply_id=restore.apply_id,
        plan_digest="",
        at=now,
        by=restore.by,
        # A restore comes from no commit; but nothing older than what was applied comes back by it.
        commit=before.commit if before is not None else "",
        approval=Approval("restored", restore.by, now),
        reconciler=__version__,
        follows=restore.follows,
        home=before.home if before is not None else None,
    )


def _record(target: Target, pipeline: str, restore: RestoreCheckpoint, applied: Applied) -> None:
    record_applied(target.registry, pipeline, applied, "", f"restored checkpoint {restore.checkpoint} of {restore.source}")
    said = canonical_json({"checkpoint": restore.checkpoint, "source": restore.source})
    audit = {"event": "checkpoint restored", "at": applied.at, "by": restore.by, "details": said}
    target.registry.record(History.AUDIT, pipeline, [audit], f"restore:{restore.apply_id}")
