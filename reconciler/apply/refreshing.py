"""Bringing a version that is not active up to date, once: `reconcile versions refresh revenue@v1`.

- The version is computed from what is published now, as a version that is kept up to date is, by the functions that were
  recorded with it (`maintained`). From then on `revenue@v1` reads these rows, as of that step; nothing computes them again.
- It changes nothing that is applied, and nothing that serves: so it needs no approval. It is told in the audit.
- Rows are built beside a live run, without the lease; one commit of the head, under the lease, has them read. Who is killed
  before leaves a folder that nobody names, which a prune removes.
- A second refresh takes the place of the first.
- Tables and functions have no rows that could be computed, a plain or LOCAL view is computed where it is read, and what is
  active, or kept up to date, is up to date (A593).
"""

import uuid
from collections.abc import Callable
from dataclasses import replace

from reconciler.apply.prebuilding import as_stored
from reconciler.apply.staging import HANDOVER_WAIT_SECONDS, remove_folders, require_closed
from reconciler.base.boundaries import BEFORE, EFFECTED, INTENDED, RECORDED
from reconciler.base.dataclass import dataclass
from reconciler.base.digest import canonical_json
from reconciler.base.errors import NotFound, ReconcileError
from reconciler.base.moments import this_moment
from reconciler.base.names import fold
from reconciler.environment.commits import who_is_at_work
from reconciler.environment.progress import Progress, in_built_rows
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.materialize.building import Building, PlannedBuilds
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.steps import StoredReads
from reconciler.project.program.model import Program
from reconciler.project.snapshot.codec import encode_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from reconciler.registry.model import Head, Refreshed
from reconciler.registry.protocol import History
from reconciler.state.applied import read_applied
from reconciler.state.lease import hold_lease, this_process
from reconciler.state.refreshed import refreshed_key
from reconciler.versions.column_types import require_recorded_types
from reconciler.versions.looking import FoundObject, VersionedName, find_object, no_such_version, number_of
from reconciler.workspace.desired import begin_visit
from reconciler.workspace.maintained import maintained_name, with_maintained_versions


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """What was brought up to date: `name` of `pipeline` at `number`, as of a step, with so many rows."""

    pipeline: str
    name: str
    number: int
    refreshed: Refreshed


def refresh_version(target: Target, name: VersionedName, session: Session) -> RefreshResult:
    """See the module. Raises NotFound (A506, A520, A522), ReconcileError (A521, A527, A572, A591, A593), LeaseHeld,
    EngineError (A590 and those of a bootstrap), with nothing changed."""
    builder = str(uuid.uuid4())
    while True:
        found = find_object(target, name, "view" if name.name else None)
        number = number_of(target, found, name.version or "")
        if name.version is None or number is None or number > found.versions.last:
            raise no_such_version(target, found, name.version or "")
        wanted = _wanted(target, found, number)
        chosen: set[str] = set()
        try:
            refreshed = _build(target, wanted, session, builder, chosen)
            holder, waiting = this_process("refresh"), HANDOVER_WAIT_SECONDS
            with hold_lease(target.registry, found.pipeline, holder, wait_seconds=waiting, report=session.tell) as lease:
                is_done = _record(target, wanted, refreshed, replace(session, check=lease.check), chosen.clear)
        except (Exception, KeyboardInterrupt):
            remove_folders(target, session, chosen)
            raise
        if is_done:
            return RefreshResult(found.pipeline, found.name, number, refreshed)
        remove_folders(target, session, chosen)
        session.tell(f"another process applied {found.pipeline} meanwhile; starting again")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A version that is to be brought up to date: the head as it was found, the applied program with the version in it, and
    the version's name there."""

    version: FoundObject
    number: int
    head: Head
    desired: Snapshot
    view: str


def _wanted(target: Target, found: FoundObject, number: int) -> _Wanted:
    applied = read_applied(target, found.pipeline)
    if applied.head is None or applied.snapshot is None or applied.head.value.published is None:
        raise NotFound("A506", f"pipeline {found.pipeline} is not applied", f"run: reconcile apply {found.pipeline}")
    head, program = applied.head.value, applied.snapshot.program
    require_closed(head)
    shown = f"{found.pipeline}.{found.name}@v{number}"
    view = program.views.get(found.name)
    if view is None:
        raise _refused(f"{shown} is a version of a view that no longer exists", "restore its definition in the files")
    published = head.published.relations if head.published is not None else {}
    if not view.is_stored or found.name not in published:
        raise _refused(f"{shown}: {view.name} stores no rows; a query computes it when it reads it")
    if found.versions.active == number:
        raise _refused(f"{shown} is the active version: every step updates it")
    name = maintained_name(view.name, number)
    if fold(name) in program.views:
        raise _refused(f"{shown} is already kept up to date")
    maintained = {**program.settings.maintained}
    maintained[found.name] = tuple(sorted({*maintained.get(found.name, ()), number}))
    settings = replace(program.settings, maintained=maintained)
    try:
        wanted = with_maintained_versions(begin_visit(target, found.pipeline), replace(program, settings=settings))
    except ReconcileError as error:
        if error.code != "A527":
            raise
        raise _refused(f"{shown} can't be computed in the current program: {error.message}") from error
    missing = sorted(_foreign_reads(wanted, fold(name)) - _foreign_reads(program, *program.views))
    if missing:
        message = f"{shown} reads {missing[0]}, which no relation of {found.pipeline} reads now"
        raise _refused(
            message, "add the version to `maintain` in pipeline.yaml, and apply: the apply pins what the version reads"
        )
    return _Wanted(found, number, head, take_snapshot(wanted), name)


def _foreign_reads(program: Program, *views: str) -> set[str]:
    return {key for view in views for read in program.views[view].reads if (key := fold(read.relation)) in program.foreign}


def _build(target: Target, wanted: _Wanted, session: Session, builder: str, chosen: set[str]) -> Refreshed:
    head, desired, view = wanted.head, wanted.desired, wanted.view
    published = head.published
    assert published is not None
    step = BootstrapView(view, StoredReads(desired.program).of(fold(view)))
    # Below the view's own folder: what is left over there, a prune finds.
    places = {**published.relations, fold(view): published.relations[fold(view.partition("@")[0])]}
    program = as_stored(target, desired.program)
    planned = PlannedBuilds(program, (step,), places, published.foreign)
    building = Building(session.engine, target.warehouse, planned, builder, session.clock)
    session.boundary(f"refresh_view:{BEFORE}")
    words = f"compute {view} from {', '.join(step.reads)}"
    session.report(Progress(1, 1, words, done=False))
    staging, location = building.choose(step), building.folder(view)
    chosen.add(building.staged_folder(view))
    result = building.build(step)
    require_recorded_types(target.registry, replace(head, published=None), head.versions, program, view, result.columns)
    session.boundary(f"refresh_view:{EFFECTED}")
    session.report(Progress(1, 1, words, done=True, detail=f"{in_built_rows(result)}, as of step {published.step}"))
    now = this_moment()
    return Refreshed(location, staging, view, desired.record, published.step, now, who_is_at_work(target.root), result)


def _record(target: Target, wanted: _Wanted, refreshed: Refreshed, session: Session, keep: Callable[[], None]) -> bool:
    """Have the rows read; whether that could be done. `keep` is called before the folder may be named."""
    found, number, desired = wanted.version, wanted.number, wanted.desired
    registry, key = target.registry, refreshed_key(found.versions.id, number)
    stored = registry.head(found.pipeline)
    if stored is None or stored.value.applied != wanted.head.applied or stored.value.journal is not None:
        return False
    registry.write_snapshot(found.pipeline, desired.record, encode_program(desired.program))
    session.boundary(f"refresh:{INTENDED}")
    session.check()
    keep()
    before = stored.value.refreshed.get(key)
    now = replace(stored.value, refreshed=dict(sorted({**stored.value.refreshed, key: refreshed}.items())))
    registry.replace_head(stored.token, now, str(uuid.uuid4()))
    session.boundary(f"refresh:{RECORDED}")
    said = {"version": f"{found.name}@v{number}", "step": refreshed.step, "rows": refreshed.result.rows}
    row = {"event": "version refreshed", "at": refreshed.at, "by": refreshed.by, "details": canonical_json(said)}
    registry.record(History.AUDIT, found.pipeline, [row], f"refresh:{refreshed.folder}")
    session.boundary("refresh:told")
    if before is not None and before.folder != refreshed.folder:
        remove_folders(target, session, [before.folder])
    return True


def _refused(message: str, hint: str | None = None) -> ReconcileError:
    return ReconcileError("A593", message, hint)
