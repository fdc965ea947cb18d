"""Pruning: what retention lets go is recorded, then removed. What goes and what stays is `retention`'s to say.

The order is what makes it safe, killed at any point and beside whoever else (`live_pruning`: beside the steps of a run):

1. Without the lease: what would go, and for which folders (a dry run ends here). Where nothing would, nothing is written.
2. Under the lease, for a moment: it is decided again, recorded (`pruned`), and the head is replaced by itself. Who read the
   head before that and means to read what goes finds its own write refused; who reads it later finds the record. So the
   record is there before the first file goes, and whatever was recorded is never needed again.
3. Without the lease: the files that nothing needs, listed anew, are removed by Delta (`Engine.vacuum`), folder by folder;
   then what of a log lies before all that stays. A live run goes on meanwhile: nothing of this is named by any version that
   stays or comes.

Delta does not say so when a place refuses to let go of a file. So they are listed again, and what is still there is an error
(A552), which is mended and pruned again.

Who is killed in 3 leaves files that the next prune removes. Two at once remove the same. A process that wakes up after it
lost the lease finds the head replaced in 2; in 3 it removes what it recorded, which does no harm at any time.

The last versions that readers may be at stay for as long as `steps` says; what was staged and never published for a week.
"""

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import Final

from reconciler.base.boundaries import BEFORE, EFFECTED, INTENDED, RECORDED, Boundary, no_boundary
from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import Retention, duration
from reconciler.base.digest import canonical_json
from reconciler.base.errors import NotFound, ReconcileError
from reconciler.base.moments import this_moment
from reconciler.delta.objects import can_be_listed, stored_objects
from reconciler.delta.opening import join_location
from reconciler.delta.unneeded_files import (
    UnneededFile,
    clean_log,
    files_of_version,
    log_settings,
    put_settings,
    remove_empty_folders,
    unhindered,
    unneeded_files,
    wants_care,
)
from reconciler.engine.protocol import Engine, Vacuum
from reconciler.environment.target import Target
from reconciler.materialize.apply_effects import remove
from reconciler.materialize.registry_backups import require_newest_registry
from reconciler.materialize.standing_tables import require_standing_tables
from reconciler.registry.model import Head, LeftOutput, Published, Stored
from reconciler.registry.protocol import HISTORY_COLUMNS, History
from reconciler.retention.facts import read_known, read_states
from reconciler.retention.references import kept_staging_folders
from reconciler.retention.rules import Decision, Known, KnownVersion, decide
from reconciler.run.outputs_by_place import versions_of
from reconciler.run.recovering import program_in_force
from reconciler.state.events import Event, EventLog
from reconciler.state.lease import hold_lease, somebody_holds, this_process
from reconciler.state.past_states import PastStates
from reconciler.state.pruned import FOLDER, VERSION, Left
from reconciler.state.refreshed import refreshed_key

ORPHANS_SECONDS: Final = 7 * 86400
"""How long what no version ever named may be of a writer at work."""


@dataclass(frozen=True, slots=True)
class PrunedFolder:
    """A folder (below the warehouse), what is left of it, and the files that go."""

    location: str
    left: Left
    files: tuple[UnneededFile, ...]

    @property
    def bytes(self) -> int:
        """How much goes."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class Pruning:
    """What a prune removes, or would. `decision` says which versions go and stay; `bytes` how much of each version that goes
    (object's id, number) goes with it; `folders` are those that lose files. `retention` is that of each object, in words.
    `is_open`: something was left open, and is to be finished before."""

    pipeline: str
    step: int
    decision: Decision
    folders: tuple[PrunedFolder, ...]
    bytes: Mapping[tuple[str, int], int]
    retention: Mapping[str, str]
    steps: str
    is_open: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing goes."""
        return not self.decision.pruned and not any(folder.files for folder in self.folders)


@dataclass(frozen=True, slots=True)
class PruneRun:
    """What a prune is told besides its target: how to remove, whom to tell, the time, where to die in tests. `pause` is
    called between small parts of the work, and may wait, or raise to end it; `at_once`: so many files are removed at once,
    all where it is None."""

    engine: Engine
    by: str
    tell: Callable[[str], None] = lambda message: None
    boundary: Boundary = no_boundary
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    pause: Callable[[], None] = unhindered
    at_once: int | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """As of which step it was looked, and the states of the steps up to it."""

    published: Published
    states: PastStates


@dataclass(frozen=True, slots=True)
class Found:
    """What a look found: what would go, and as of which step; of each folder that is to be cared for the first version that
    stays, and what its table has yet to say (`log_settings`)."""

    would: Pruning
    seen: Seen
    logs: Mapping[str, tuple[int, Mapping[str, str]]]

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is to be done."""
        return self.would.is_empty and not self.logs


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a prune wrote down: what goes, and the folders that are to be cared for."""

    pruning: Pruning
    folders: tuple[str, ...]


def look(target: Target, pipeline: str, now: datetime) -> Pruning:
    """What a prune would do. Writes nothing, takes no lease, needs no JVM. Raises NotFound (A506), ReconcileError (A551),
    RegistryError (G610)."""
    return _look(target, pipeline, now, unhindered)[0]


def find(target: Target, pipeline: str, run: PruneRun) -> Found:
    """What is to be done. Raises as `look` does, and ReconcileError (A550), EngineError."""
    would, seen = _look(target, pipeline, run.now(), run.pause)
    if not somebody_holds(target.registry, pipeline):
        # What somebody is at now is no less open: a run hands over when it is done, of others the lease tells.
        _require_closed(would)
    losing = {folder.location for folder in would.folders if folder.files}
    logs: dict[str, tuple[int, Mapping[str, str]]] = {}
    for location, left in sorted(would.decision.left.items()):
        place, first = join_location(target.warehouse, location), _first(left)
        run.pause()
        if location in losing or wants_care(place, first):
            logs[location] = first, log_settings(place, first)
    if losing:
        # It starts here, and not while a run waits.
        run.engine.vacuum(Vacuum("", ()))
    return Found(would, seen, logs)


def _look(target: Target, pipeline: str, now: datetime, pause: Callable[[], None]) -> tuple[Pruning, Seen]:
    if not can_be_listed(target.warehouse):
        message = f"the files in the warehouse of {target.environment.name} ({target.warehouse}) can't be listed"
        raise ReconcileError("A551", message, "this version of reconciler prunes only warehouses in folders and on S3")
    stored, found, seen = _decided(target, pipeline, now)
    require_standing_tables(target, stored.value)
    folders = tuple(_folders(target, stored.value, found.decision, now, pause))
    size = {(one.object, one.number): _bytes(target, one, folders) for one in found.decision.pruned}
    return replace(found, folders=folders, bytes=size), seen


def _decided(target: Target, pipeline: str, now: datetime, seen: Seen | None = None) -> tuple[Stored[Head], Pruning, Seen]:
    """The head, and what is decided by it; no folder was looked at. What was `seen` before is decided upon as of then, by
    what is needed now: so no history of steps is read."""
    stored, program = program_in_force(target, pipeline)
    head = stored.value
    if head.published is None:
        raise NotFound("A506", f"pipeline {pipeline} has no published step", "run: reconcile apply")
    seen = seen or Seen(head.published, read_states(target, head, program, now))
    known = read_known(target, replace(head, published=seen.published), program, now, seen.states)
    is_open = head.intent is not None or head.journal is not None
    decision, steps = decide(known, now), duration(known.steps_seconds)
    return stored, Pruning(pipeline, seen.published.step, decision, (), {}, _words(known), steps, is_open), seen


def prune(target: Target, pipeline: str, run: PruneRun) -> Pruning:
    """Remove what retention lets go; what went. Raises as `look` does, and ReconcileError where something was left open
    (A550) or can't be removed (A552), LeaseHeld (A503), EngineError."""
    found = find(target, pipeline, run)
    if found.is_nothing:
        return found.would
    run.boundary(f"prune:{BEFORE}")
    with hold_lease(target.registry, pipeline, this_process("prune"), report=run.tell) as lease:
        recorded = record(target, found, run, lease.check)
    done = remove_recorded(target, recorded, run)
    log_pruned(target, done, run)
    return done


def record(target: Target, looked: Found, run: PruneRun, check: Callable[[], None], is_current: bool = False) -> Recorded:
    """Decide again, for good, and write it down, under the lease. `is_current`: it was held all the while since the look, so
    that the past is as it was seen. Raises as `prune` does, and RegistryConflict where the head was replaced meanwhile."""
    registry, pipeline = target.registry, looked.would.pipeline
    stored, found, _ = _decided(target, pipeline, run.now(), looked.seen if is_current else None)
    _require_closed(found)
    require_newest_registry(target, stored.value)
    rows = list(_rows(found, looked.logs, run))
    run.boundary(f"prune:{INTENDED}")
    check()
    if rows:
        registry.append(History.PRUNES, pipeline, rows, None)
    run.boundary("prune:told")
    check()
    gone = {refreshed_key(one.object, one.number) for one in found.decision.pruned}
    left = {key: one for key, one in stored.value.refreshed.items() if key not in gone}
    # No difference can be told any more from what goes.
    known = tuple(one for one in stored.value.left if _stays_readable(one, found.decision.left))
    registry.replace_head(stored.token, replace(stored.value, refreshed=left, left=known), str(uuid.uuid4()))
    for location, (first, settings) in looked.logs.items():
        if location in found.decision.left:
            check()
            place, stays = join_location(target.warehouse, location), _first(found.decision.left[location])
            # What was looked up reaches back far enough, unless somebody came to need more.
            put_settings(place, settings if stays >= first else log_settings(place, stays))
    run.boundary(f"prune:{RECORDED}")
    for key in sorted(gone & {*stored.value.refreshed}):
        one = stored.value.refreshed[key]
        remove(run.engine, join_location(target.warehouse, one.folder))
    return Recorded(replace(found, bytes=looked.would.bytes), tuple(looked.logs))


def remove_recorded(target: Target, recorded: Recorded, run: PruneRun) -> Pruning:
    """Remove the files that nothing needs any more, without the lease; what went. Raises ReconcileError (A552)."""
    went = tuple(_remove(target, location, recorded.pruning, run) for location in recorded.folders)
    return replace(recorded.pruning, folders=went)


def log_pruned(target: Target, done: Pruning, run: PruneRun) -> None:
    """Have the event log tell what went."""
    if not done.is_empty:
        details = {
            "versions": [f"{one.name}@v{one.number}" for one in done.decision.pruned],
            "files": sum(len(folder.files) for folder in done.folders),
            "bytes": sum(folder.bytes for folder in done.folders),
            "by": run.by,
        }
        EventLog(target.registry, done.pipeline, run.tell).record(Event.PRUNED, "", done.step, details)
    run.boundary(f"prune:{EFFECTED}")


def _rows(found: Pruning, cared_for: Collection[str], run: PruneRun) -> Iterator[Mapping[str, str]]:
    same = {
        **dict.fromkeys(HISTORY_COLUMNS[History.PRUNES], ""),
        "prune_id": str(uuid.uuid4()),
        "at": this_moment(),
        "by": run.by,
        "step": str(found.step),
    }
    for version in found.decision.pruned:
        own = {"object": version.object, "number": str(version.number), "name": version.name}
        yield {**same, "what": VERSION, **own, "retention": found.retention[version.object]}
    for location in sorted({*cared_for} & {*found.decision.left}):
        left = found.decision.left[location]
        own = {"location": location, "since": str(left.since), "versions": canonical_json(list(left.versions))}
        yield {**same, "what": FOLDER, **own, "retention": f"steps: {found.steps}"}


def _stays_readable(one: LeftOutput, left: Mapping[str, Left]) -> bool:
    """Whether the versions are left that what was sent is told by."""
    return one.location not in left or all(left[one.location].has(version) for version in versions_of(one.state))


def _remove(target: Target, location: str, found: Pruning, run: PruneRun) -> PrunedFolder:
    left, place = found.decision.left.get(location), join_location(target.warehouse, location)
    if left is None:
        # It was dropped meanwhile, and went as a whole.
        return PrunedFolder(location, Left(0), ())
    stored = target.registry.head(found.pipeline)
    kept = _staging_below(target, location, stored.value) if stored is not None else frozenset()
    files = unneeded_files(place, left.since, left.versions, run.now().timestamp() - ORPHANS_SECONDS, kept, run.pause)
    for begin in range(0, len(files), run.at_once or len(files) or 1):
        part = files[begin : begin + (run.at_once or len(files))]
        run.pause()
        run.boundary(f"vacuum:{BEFORE}")
        run.engine.vacuum(Vacuum(place, tuple(file.path for file in part)))
        run.boundary(f"vacuum:{EFFECTED}")
        remove_empty_folders(place, [file.path for file in part])
    if files:
        _require_gone(place, files)
    clean_log(place, _first(left))
    return PrunedFolder(location, left, files)


def _require_gone(place: str, files: tuple[UnneededFile, ...]) -> None:
    left = {one.path for one in stored_objects(place)} & {file.path for file in files}
    if left:
        message = f"{len(left)} of {len(files)} unneeded files could not be deleted, {place}/{min(left)} among them"
        raise ReconcileError("A552", message, "let this process delete files there, and prune again")


def _folders(
    target: Target, head: Head, decision: Decision, now: datetime, pause: Callable[[], None]
) -> Iterator[PrunedFolder]:
    for location, left in sorted(decision.left.items()):
        place, kept = join_location(target.warehouse, location), _staging_below(target, location, head)
        files = unneeded_files(place, left.since, left.versions, now.timestamp() - ORPHANS_SECONDS, kept, pause)
        if files:
            yield PrunedFolder(location, left, files)


def _staging_below(target: Target, location: str, head: Head) -> frozenset[str]:
    prefix = f"{location}/"
    return frozenset(one.removeprefix(prefix) for one in kept_staging_folders(target, head) if one.startswith(prefix))


def _first(left: Left) -> int:
    return min((left.since, *left.versions))


def _bytes(target: Target, version: KnownVersion, folders: tuple[PrunedFolder, ...]) -> int:
    total = 0
    for place in version.places:
        sizes = {file.path: file.bytes for one in folders if one.location == place.location for file in one.files}
        if sizes:
            files = files_of_version(join_location(target.warehouse, place.location), place.version)
            total += sum(sizes.get(path, 0) for path in files)
    return total


def _words(known: Known) -> dict[str, str]:
    return {
        one.object: Retention(rule.versions, rule.keep).words
        for one in known.versions
        for rule in (known.retention.get(one.object, Retention()),)
    }


def _require_closed(found: Pruning) -> None:
    if found.is_open:
        message = f"an apply or a step of {found.pipeline} is unfinished; finish it before you prune"
        raise ReconcileError("A550", message, f"run: reconcile apply {found.pipeline}, or reconcile run {found.pipeline}")
