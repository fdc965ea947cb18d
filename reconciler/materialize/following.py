"""Reading other pipelines: at which of their steps, and whether what they are now is what was planned for.

- A pipeline reads another where that one is published: at one step of it, the same for all that it reads there. The step and
  the Delta versions are pinned in what is published, in the journal of an apply, and in the intent of a step.
- An apply that computes what reads another pipeline takes its newest step, and brings along everything else that reads there
  (`plan.steps.with_followers`).
- A run follows: when another pipeline has published something new of what is read, it makes a step of its own.
- A version (`revenue@v2`) is read as it was at the last step at which it was active, when what reads it was applied, and
  there it stays: nobody keeps it up to date.
- Pipelines are followed only as long as a relation means what the program was planned, and approved, for. If it means
  something else, an apply is refused before it touches anything (A560), and a run stays where it is: what it has read can be
  read on, until an apply says what becomes of its views.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import ForeignRelation
from reconciler.base.errors import EngineError, RegistryError, UpstreamDiffers
from reconciler.base.names import fold
from reconciler.delta.opening import join_location
from reconciler.delta.removal import table_identity
from reconciler.delta.restoring import require_version
from reconciler.environment.target import Target
from reconciler.plan.hazards.readers import ForeignReader
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.step import Step
from reconciler.plan.steps import StoredReads, with_followers
from reconciler.project.program.model import Program
from reconciler.project.snapshot.codec import encode_program
from reconciler.project.snapshot.model import Snapshot
from reconciler.query.sources import last_state
from reconciler.registry.changing import change_document
from reconciler.registry.model import Head, Readers
from reconciler.registry.placements import ForeignStep, Placement, foreign_placements, moved_foreign
from reconciler.sql.lineage import ALL_COLUMNS
from reconciler.state.applied import read_snapshot
from reconciler.state.pruned import require_kept, require_version_kept
from reconciler.versions.looking import find_in_head
from reconciler.workspace.desired import begin_visit, read_desired
from reconciler.workspace.foreign import read_applied_state, redefined


@dataclass(frozen=True, slots=True)
class ForeignState:
    """Where another pipeline stands: its newest step, of the relations that are read, and those (by key) that mean something
    else than the reader knows, or are not there."""

    now: ForeignStep
    changed: tuple[str, ...]


@dataclass(slots=True)
class ForeignStates:
    """Looks at other pipelines for one reader. What a state of another pipeline means is looked at once, and so is where its
    tables stand at one step."""

    target: Target
    judged: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    looked: dict[str, ForeignStep] = field(default_factory=dict)

    def look(self, program: Program, pipeline: str, known: ForeignStep | None = None) -> ForeignState | None:
        """Where a pipeline stands that `program` reads; None when it is not applied. `known` is where it was read: what is
        still so need not be looked at again."""
        while True:
            stored = self.target.registry.head(pipeline)
            head = stored.value if stored is not None else None
            if head is None or head.published is None or head.applied is None or head.applied.record is None:
                return None
            changed = self._judge(program, pipeline, head.applied.record)
            wanted = {fold(one.name) for one in _followed(program) if one.pipeline == pipeline}
            for one in (known, self.looked.get(pipeline)):
                if one is not None and one.step == head.published.step and set(one.ids) == wanted:
                    return ForeignState(one, changed)
            there = {name: _pinned(one) for name, one in sorted(head.published.relations.items()) if name in wanted}
            found = {name: table_identity(join_location(self.target.warehouse, one.location)) for name, one in there.items()}
            ids = {name: one for name, one in found.items() if one is not None}
            again = self.target.registry.head(pipeline)
            if again is not None and again.value.published == head.published:
                missing = {f"{pipeline}.{name}" for name in wanted - set(ids)}
                now = self.looked[pipeline] = ForeignStep(head.published.step, there, ids)
                return ForeignState(now, tuple(sorted({*changed, *missing})))

    def _judge(self, program: Program, pipeline: str, record: str) -> tuple[str, ...]:
        """The keys of what means something else in that state of the pipeline than `program` knows."""
        known = {fold(one.qualified_name): one for one in _followed(program) if one.pipeline == pipeline}
        judged = record, " ".join(f"{one.meaning} {one.record}" for one in known.values())
        if judged not in self.judged:
            snapshot = read_snapshot(self.target, pipeline, record)
            visit = begin_visit(self.target, program.name)
            self.judged[judged] = redefined(visit, known, snapshot)
        return self.judged[judged]


def _pinned(placement: Placement) -> Placement:
    """What a reader has to know of a placement: its columns stand in the other pipeline's head."""
    return Placement(placement.location, placement.version, placement.rows, bytes=placement.bytes)


@dataclass(frozen=True, slots=True)
class PinnedApply:
    """The steps of an apply, and what it reads of other pipelines."""

    steps: tuple[Step, ...]
    foreign: Mapping[str, ForeignStep]


def pin_apply(
    target: Target, head: Head | None, applied: Program | None, desired: Program | None, steps: tuple[Step, ...]
) -> PinnedApply:
    """What an apply of these steps reads of other pipelines, and the views that it has to bring along.

    Raises UpstreamDiffers (A560) where another pipeline is not what this one was planned for.
    """
    if desired is None or not desired.foreign:
        return PinnedApply(steps, {})
    before = head.published.foreign if head is not None and head.published is not None else {}
    computed = [fold(step.relation) for step in steps if isinstance(step, BootstrapView)]
    reads = StoredReads(desired)
    read = {fold(name) for key in computed for name in reads.of(key) if fold(name) in desired.foreign}
    known = foreign_placements(before)
    states, pins = ForeignStates(target), {}
    for pipeline in sorted({one.pipeline for one in _followed(desired)}):
        keys = {fold(one.qualified_name) for one in _followed(desired) if one.pipeline == pipeline}
        if all(key in known and key not in read and _is_known(applied, desired, key) for key in keys):
            kept = {key.partition(".")[2]: known[key] for key in sorted(keys)}
            ids = {name: one for name, one in before[pipeline].ids.items() if name in kept}
            pins[pipeline] = ForeignStep(before[pipeline].step, kept, ids)
            continue
        pins[pipeline] = _newest(states, desired, pipeline)
    for key, relation in desired.foreign.items():
        if relation.version is not None:
            is_pinned = key in known and _is_known(applied, desired, key)
            pins[key] = before[key] if is_pinned else _kept_rows(target, relation)
    moved = moved_foreign(before, pins)
    return PinnedApply(with_followers(steps, desired, moved) if moved else steps, pins)


def _followed(program: Program) -> list[ForeignRelation]:
    """What a program reads as it is, and follows: all but versions."""
    return [one for one in program.foreign.values() if one.version is None]


def _kept_rows(target: Target, relation: ForeignRelation) -> ForeignStep:
    """Where the rows of a version are: as it was at the last step at which it was active.

    Raises EngineError (X730, X736) and ReconcileError (X735) where they are gone.
    """
    stored = target.registry.head(relation.pipeline)
    if stored is None or stored.value.published is None:
        raise UpstreamDiffers("A560", f"pipeline {relation.pipeline} is not applied", "run: reconcile apply")
    head, step = stored.value, stored.value.published.step
    found = find_in_head(head, relation.name, relation.kind)
    state, name = last_state(target, head, found, f"v{relation.version}", step)
    placement = state.relations.get(fold(name))
    if placement is None or fold(name) in state.gone:
        message = f"the rows of {relation.qualified_name} no longer exist: a later apply removed the table"
        raise EngineError("X730", message, "read another version")
    location = join_location(target.warehouse, placement.location)
    if state.step != step:
        number = relation.version or 0
        require_version_kept(target.registry, head.pipeline, found.versions.id, number, state.step, relation.qualified_name)
        require_kept(target.registry, head.pipeline, target.warehouse, state.step, location, placement.version)
    require_version(location, placement.version)
    identity = table_identity(location)
    return ForeignStep(state.step, {"": _pinned(placement)}, {"": identity} if identity is not None else {})


def _is_known(applied: Program | None, desired: Program, key: str) -> bool:
    known = applied.foreign.get(key) if applied is not None else None
    return known is not None and known.meaning == desired.foreign[key].meaning


def _newest(states: ForeignStates, program: Program, pipeline: str) -> ForeignStep:
    state = states.look(program, pipeline)
    hint = f"run: reconcile apply {pipeline}"
    if state is None:
        message = f"{program.name} reads pipeline {pipeline}, which is not applied in {states.target.environment.name}"
        raise UpstreamDiffers("A560", message, hint)
    if state.changed:
        names = ", ".join(program.foreign[key].qualified_name for key in state.changed)
        message = f"the plan of {program.name} expects {names} as in the files, but other files of {pipeline} are applied"
        raise UpstreamDiffers("A560", message, hint)
    return state.now


@dataclass(frozen=True, slots=True)
class Followed:
    """What a run finds of the pipelines that it reads: newer steps, and of those that mean something else, the keys."""

    newer: Mapping[str, ForeignStep]
    held: tuple[str, ...]


def newer_steps(states: ForeignStates, head: Head, program: Program) -> Followed:
    """The steps of other pipelines that a run is to follow: those with something new of what it reads."""
    before = head.published.foreign if head.published is not None else {}
    newer: dict[str, ForeignStep] = {}
    held: list[str] = []
    for pipeline in sorted({one.pipeline for one in _followed(program)}):
        state = states.look(program, pipeline, before.get(pipeline))
        if state is None or state.changed:
            held += state.changed if state is not None else [pipeline]
            continue
        if moved_foreign(before, {pipeline: state.now}):
            newer[pipeline] = state.now
    return Followed(newer, tuple(held))


def register_reader(target: Target, program: Program) -> None:
    """Let the pipelines that a program reads know of it, and keep their definitions that it was planned for, so that they
    can be compared with. Before an apply begins: a reader that is named and does not come does no harm."""
    for pipeline in sorted({one.pipeline for one in program.foreign.values() if not one.is_own}):
        _register(target, pipeline, program.name)
    for pipeline, record in sorted({(one.pipeline, one.record) for one in _followed(program)}):
        _keep(target, pipeline, record)


def _register(target: Target, pipeline: str, reader: str) -> None:
    def with_reader(now: Readers | None) -> Readers | None:
        known = now.pipelines if now is not None else ()
        return None if reader in known else Readers(tuple(sorted({*known, reader})))

    change_document(target.registry, pipeline, Readers, with_reader)


def _keep(target: Target, pipeline: str, record: str) -> None:
    try:
        target.registry.snapshot(pipeline, record)
    except RegistryError as error:
        if error.code != "G601":
            raise
        desired = read_desired(target, pipeline)
        if desired is not None and desired.record == record:
            target.registry.write_snapshot(pipeline, record, encode_program(desired.program))


def find_readers(target: Target, pipeline: str, relations: Iterable[str]) -> dict[str, tuple[ForeignReader, ...]]:
    """The views of other pipelines that read this one's relations, as applied, by folded name of what they read. `relations`
    are all that there are: a pipeline of which it can't be told what it reads may read each of them."""
    stored = target.registry.document(pipeline, Readers)
    names = sorted(map(fold, relations))
    found: dict[str, list[ForeignReader]] = {}
    for reader in stored.value.pipelines if stored is not None else ():
        try:
            state = read_applied_state(target, reader)
            reads = _reads_of(state, pipeline) if state is not None else []
        except RegistryError:
            reads = [(name, ForeignReader(reader, frozenset({ALL_COLUMNS}))) for name in names]
        for name, one in reads:
            found.setdefault(name, []).append(one)
    return {name: tuple(readers) for name, readers in sorted(found.items())}


def _reads_of(state: Snapshot, pipeline: str) -> list[tuple[str, ForeignReader]]:
    program = state.program
    shows_names = program.names_are_data or any(view.has_output for view in program.views.values())
    found = []
    for view in program.views.values():
        for read in view.reads:
            relation = program.foreign.get(fold(read.relation))
            if relation is not None and relation.pipeline == pipeline and not relation.is_own:
                # The rows of a version keep the columns that they have.
                columns = frozenset(map(fold, read.columns)) if relation.version is None else frozenset[str]()
                found.append((fold(relation.name), ForeignReader(f"{program.name}.{view.name}", columns, shows_names)))
    return found
