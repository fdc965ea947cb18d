"""Pruning: what retention lets go is recorded, then removed. What goes and what stays is `retention`'s to say.

The order is what makes it safe, killed at any point and beside whoever else:

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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from reconciler.base.boundaries import BEFORE, EFFECTED, INTENDED, RECORDED, Boundary, no_boundary
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
    keep_log,
    remove_empty_folders,
    unneeded_files,
    wants_care,
)
from reconciler.engine.protocol import Engine, Vacuum
from reconciler.environment.target import Target
from reconciler.materialize.apply_effects import remove
from reconciler.materialize.registry_backups import require_newest_registry, require_standing_tables
from reconciler.registry.model import Head, LeftOutput, Stored
from reconciler.registry.protocol import HISTORY_COLUMNS, History
from reconciler.retention.facts import read_known
from reconciler.retention.references import kept_staging_folders
from reconciler.retention.rules import Decision, Known, KnownVersion, decide
from reconciler.run.outputs_by_place import versions_of
from reconciler.run.recovering import program_in_force
from reconciler.state.events import Event, EventLog
from reconciler.state.lease import hold_lease, somebody_holds, this_process
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
    """What a prune is told besides its target: how to remove, whom to tell, the time, where to die in tests."""

    engine: Engine
    by: str
    tell: Callable[[str], None] = lambda message: None
    boundary: Boundary = no_boundary
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))


def look(target: Target, pipeline: str, now: datetime) -> Pruning:
    """What a prune would do. Writes nothing, takes no lease, needs no JVM. Raises NotFound (A506), ReconcileError (A551),
    RegistryError (G610)."""
    if not can_be_listed(target.warehouse):
        message = f"the files in the warehouse of {target.environment.name} ({target.warehouse}) can't be listed"
        raise ReconcileError("A551", message, "this version of reconciler prunes only warehouses in folders and on S3")
    stored, found = _decided(target, pipeline, now)
    require_standing_tables(target, stored.value)
    folders = tuple(_folders(target, stored.value, found.decision, now))
    size = {(one.object, one.number): _bytes(target, one, folders) for one in found.decision.pruned}
    return replace(found, folders=folders, bytes=size)


def _decided(target: Target, pipeline: str, now: datetime) -> tuple[Stored[Head], Pruning]:
    """The head, and what is decided by it; no folder was looked at."""
    stored, program = program_in_force(target, pipeline)
    head = stored.value
    if head.published is None:
        raise NotFound("A506", f"pipeline {pipeline} has no published step", "run: reconcile apply")
    known = read_known(target, head, program, now)
    is_open = head.intent is not None or head.journal is not None
    decision, steps = decide(known, now), duration(known.steps_seconds)
    return stored, Pruning(pipeline, head.published.step, decision, (), {}, _words(known), steps, is_open)


def prune(target: Target, pipeline: str, run: PruneRun) -> Pruning:
    """Remove what retention lets go; what went. Raises as `look` does, and ReconcileError where something was left open
    (A550) or can't be removed (A552), LeaseHeld (A503), EngineError."""
    would = look(target, pipeline, run.now())
    if not somebody_holds(target.registry, pipeline):
        # What somebody is at now is no less open: a run hands over when it is done, of others the lease tells.
        _require_closed(would)
    cared_for = {folder.location for folder in would.folders if folder.files}
    cared_for |= {one for one, left in would.decision.left.items() if _wants_care(target, one, left)}
    if would.is_empty and not cared_for:
        return would
    if any(folder.files for folder in would.folders):
        # It starts here, and not while a run waits.
        run.engine.vacuum(Vacuum("", ()))
    run.boundary(f"prune:{BEFORE}")
    with hold_lease(target.registry, pipeline, this_process("prune"), report=run.tell) as lease:
        found = _record(target, pipeline, run, cared_for, lease.check)
    went = tuple(_remove(target, location, found, run) for location in sorted(cared_for))
    done = replace(found, folders=went, bytes=would.bytes)
    if not done.is_empty:
        details = {
            "versions": [f"{one.name}@v{one.number}" for one in done.decision.pruned],
            "files": sum(len(folder.files) for folder in went),
            "bytes": sum(folder.bytes for folder in went),
            "by": run.by,
        }
        EventLog(target.registry, pipeline, run.tell).record(Event.PRUNED, "", found.step, details)
    run.boundary(f"prune:{EFFECTED}")
    return done


def _record(target: Target, pipeline: str, run: PruneRun, cared_for: set[str], check: Callable[[], None]) -> Pruning:
    """Decide again, for good, and write it down."""
    registry = target.registry
    stored, found = _decided(target, pipeline, run.now())
    _require_closed(found)
    require_newest_registry(target, stored.value)
    rows = list(_rows(found, cared_for, run))
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
    for location in sorted(cared_for & set(found.decision.left)):
        check()
        keep_log(join_location(target.warehouse, location), _first(found.decision.left[location]))
    run.boundary(f"prune:{RECORDED}")
    for key in sorted(gone & {*stored.value.refreshed}):
        one = stored.value.refreshed[key]
        remove(run.engine, join_location(target.warehouse, one.folder))
    return found


def _rows(found: Pruning, cared_for: set[str], run: PruneRun) -> Iterator[Mapping[str, str]]:
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
    for location in sorted(cared_for & set(found.decision.left)):
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
    kept = _staging_below(location, stored.value) if stored is not None else frozenset()
    files = unneeded_files(place, left.since, left.versions, run.now().timestamp() - ORPHANS_SECONDS, kept)
    if files:
        run.boundary(f"vacuum:{BEFORE}")
        run.engine.vacuum(Vacuum(place, tuple(file.path for file in files)))
        run.boundary(f"vacuum:{EFFECTED}")
        _require_gone(place, files)
        remove_empty_folders(place, [file.path for file in files])
    clean_log(place, _first(left))
    return PrunedFolder(location, left, files)


def _require_gone(place: str, files: tuple[UnneededFile, ...]) -> None:
    left = {one.path for one in stored_objects(place)} & {file.path for file in files}
    if left:
        message = f"{len(left)} of {len(files)} unneeded files could not be deleted, {place}/{min(left)} among them"
        raise ReconcileError("A552", message, "let this process delete files there, and prune again")


def _folders(target: Target, head: Head, decision: Decision, now: datetime) -> Iterator[PrunedFolder]:
    for location, left in sorted(decision.left.items()):
        place, kept = join_location(target.warehouse, location), _staging_below(location, head)
        files = unneeded_files(place, left.since, left.versions, now.timestamp() - ORPHANS_SECONDS, kept)
        if files:
            yield PrunedFolder(location, left, files)


def _staging_below(location: str, head: Head) -> frozenset[str]:
    prefix = f"{location}/"
    return frozenset(one.removeprefix(prefix) for one in kept_staging_folders(head) if one.startswith(prefix))


def _wants_care(target: Target, location: str, left: Left) -> bool:
    return wants_care(join_location(target.warehouse, location), _first(left))


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
