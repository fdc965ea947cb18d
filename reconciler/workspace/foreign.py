"""Other pipelines' relations, looked up for a program that names some: `sales.revenue`.

- A pipeline whose files are in this repository counts as they say it is; any other as it is applied. So a change of both, in
  one pull request, is planned and approved as one, and each is applied after what it reads (`following` sees to that).
- Pipelines may not read each other in a circle.
- What has the name of something else by now is another relation, or column, also where no file says so any more
  (`versions.names_between`).
- What a relation means is compared with what it meant when the reader was applied. If that is the same, the reader keeps
  what it knew, to the letter: what a pipeline writes down of itself, and another version of reconciler, change no reader.
- How its columns are spelled is the reader's to judge: a reader in which names are data sees another relation where the
  letter case of a name is another. Any other one takes the new spelling down, and that is all.

Comparing takes both states of the other pipeline: its definitions of then, from the registry, and those of now.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import ForeignRelation, Manifest
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.digest import digest_json
from reconciler.base.errors import ManifestInvalid, ReconcileError, RegistryError
from reconciler.base.names import did_you_mean, fold, is_version
from reconciler.diff.compare import relation_changes
from reconciler.diff.foreign import ForeignChange, changed_in_name_only, seen_from_outside, unknown_change, with_respelled
from reconciler.environment.source import pipeline_names
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.project.snapshot.foreign import foreign_relation
from reconciler.project.snapshot.model import Snapshot
from reconciler.state.applied import read_snapshot
from reconciler.versions.names_between import other_relations
from reconciler.workspace.in_views import look_up_version, not_allowed
from reconciler.workspace.visits import Visit

_CIRCLE = "P373"


@dataclass(frozen=True, slots=True)
class FoundForeign:
    """Relations of other pipelines, and why others can't be read (by key)."""

    relations: tuple[ForeignRelation, ...]
    refused: Mapping[str, Diagnostic]


def look_up(visit: Visit, manifest: Manifest, keys: Iterable[str]) -> FoundForeign:
    """What is known of other pipelines' relations, and of versions, that a manifest's queries name."""
    relations: list[ForeignRelation] = []
    refused: dict[str, Diagnostic] = {}
    for key in sorted(keys):
        found: ForeignRelation | Diagnostic | None = None
        if is_version(key):
            found = _look_up_maintained(visit, manifest.settings.name, key) or look_up_version(visit.target, manifest, key)
        else:
            found = _look_up(visit, manifest.settings.name, key)
        if isinstance(found, ForeignRelation):
            relations.append(found)
        elif found is not None:
            refused[key] = found
    return FoundForeign(tuple(relations), refused)


def _look_up(visit: Visit, pipeline: str, key: str) -> ForeignRelation | Diagnostic | None:
    upstream, _, name = key.partition(".")
    if "." in name:
        return None
    if upstream == pipeline:
        return Diagnostic("P371", f"{key} belongs to this pipeline", None, f"leave its name out: {name}")
    snapshot = _state(visit, pipeline, upstream)
    return snapshot if isinstance(snapshot, Diagnostic) else foreign_relation(snapshot, name)


def _look_up_maintained(visit: Visit, pipeline: str, key: str) -> ForeignRelation | Diagnostic | None:
    """A version that another pipeline keeps up to date, and which is read like any relation of it; None where none does."""
    upstream, dot, name = key.partition(".")
    if not dot or upstream == pipeline:
        return None
    snapshot = _state(visit, pipeline, upstream)
    if isinstance(snapshot, Diagnostic):
        # Of one that is as it was, no file says anything.
        applied = read_applied_state(visit.target, upstream)
        return snapshot if applied is not None and name in applied.program.views else None
    if name not in snapshot.program.views:
        return None
    return foreign_relation(snapshot, name) if snapshot.program.settings.version_reads else not_allowed(key, upstream)


def _state(visit: Visit, pipeline: str, upstream: str) -> Snapshot | Diagnostic:
    """Another pipeline as it counts here, or why it can't be told."""
    if upstream in visit.chain:
        members = (*visit.chain[visit.chain.index(upstream) :], upstream)
        hint = "change one of them to read tables, or the relations that the other one reads"
        message = f"circular dependency between pipelines: {' → '.join(members)}"
        visit.circles[message] = frozenset(members)
        return Diagnostic(_CIRCLE, message, None, hint)
    found = visit.known.get(upstream)
    if found is None:
        found = visit.known[upstream] = _read_state(visit, upstream)
    if isinstance(found, Diagnostic) and pipeline not in visit.circles.get(found.message, {pipeline}):
        return Diagnostic("P374", f"pipeline {upstream} can't be read: {found.message}", None, _validate(upstream))
    return found


def _read_state(visit: Visit, upstream: str) -> Snapshot | Diagnostic:
    try:
        snapshot = visit.compiled(visit.below(upstream))
    except ManifestInvalid as error:
        circle = next((one for one in error.diagnostics if one.code == _CIRCLE), None)
        if circle is not None:
            return replace(circle, location=None)
        first = error.diagnostics[0]
        message = f"pipeline {upstream} can't be read: its files have errors: {first.code}: {first.message}"
        return Diagnostic("P374", message, None, _validate(upstream))
    except RegistryError:
        raise
    except ReconcileError as error:
        message = f"pipeline {upstream} can't be read: {error.code}: {error.message}"
        return Diagnostic("P374", message, None, f"run: reconcile plan {upstream}")
    return snapshot or read_applied_state(visit.target, upstream) or _unknown(visit.target, upstream)


def _validate(pipeline: str) -> str:
    return f"run: reconcile validate {pipeline}"


def _unknown(target: Target, upstream: str) -> Diagnostic:
    known = sorted({*pipeline_names(target.root), *target.registry.pipelines()})
    message = f"pipeline {upstream!r} has no files here and is not applied in {target.environment.name}"
    return Diagnostic("P372", message, None, did_you_mean(upstream, known))


def read_applied_state(target: Target, pipeline: str) -> Snapshot | None:
    """What is applied of a pipeline, if anything is."""
    stored = target.registry.head(pipeline)
    if stored is None or stored.value.applied is None or stored.value.applied.record is None:
        return None
    return read_snapshot(target, pipeline, stored.value.applied.record)


def with_settled_foreign(visit: Visit, program: Program) -> Program:
    """The program, knowing of other pipelines' relations what it knew when it was applied, where they mean the same."""
    applied = read_applied_state(visit.target, program.name)
    if applied is None:
        return program
    before, comparing = applied.program.foreign, _Comparing(visit)
    names_are_data = applied.program.names_are_data or program.names_are_data
    settled = {
        key: comparing.settled(before[key], relation, names_are_data) if key in before else relation
        for key, relation in program.foreign.items()
    }
    return replace(program, foreign=settled)


def foreign_changes(visit: Visit, applied: Program, desired: Program) -> dict[str, ForeignChange]:
    """How far the changes of other pipelines' relations reach for a program that read them before and reads them now."""
    return _Comparing(visit).changes(applied, desired)


def changed_records(visit: Visit, applied: Program, desired: Program) -> frozenset[tuple[str, str]]:
    """The pipelines in which what a program reads changed, in themselves or in what they read, each with the definitions
    (empty: it is not known which) that it was read in before."""
    return _Comparing(visit).changed_records(applied, desired)


def redefined(visit: Visit, known: Mapping[str, ForeignRelation], upstream: Snapshot) -> tuple[str, ...]:
    """The keys of what a program knows of another pipeline's relations, and which means something else in this state of that
    pipeline; sorted."""
    comparing = _Comparing(visit, upstream)

    def is_same(one: ForeignRelation) -> bool:
        now = foreign_relation(upstream, one.name)
        return isinstance(now, ForeignRelation) and comparing.is_same(one, now)

    return tuple(sorted(key for key, one in known.items() if not is_same(one)))


class _Between:
    """What is another in two states of another pipeline. Each answer is found once, however many of its relations are asked
    about: it takes a comparison of the whole pipeline, and of those that it reads."""

    def __init__(self, comparing: "_Comparing", old: Snapshot, new: Snapshot) -> None:
        self._comparing = comparing
        self.old = old
        self.new = new

    @cached_property
    def changes(self) -> Mapping[str, ForeignChange]:
        """By folded name, of the relations that changed."""
        return self._changes(self.new)

    @cached_property
    def changes_without_moves(self) -> Mapping[str, ForeignChange]:
        """The same, as if nobody had told what was renamed."""
        return self._changes(replace(self.new, program=replace(self.new.program, moves=())))

    @cached_property
    def others(self) -> frozenset[str]:
        """The relations (folded) that are, or read, something else than what had its name, and nobody told of it."""
        return other_relations(self._comparing.target, self.old, self.new)

    @cached_property
    def others_as_recorded(self) -> frozenset[str]:
        """The same, whatever was told."""
        return other_relations(self._comparing.target, self.old, self.new, as_recorded=True)

    @cached_property
    def of_other_tables(self) -> frozenset[str]:
        """Those among them that are, or read, another table."""
        return other_relations(self._comparing.target, self.old, self.new, as_recorded=True, whole=True)

    def _changes(self, new: Snapshot) -> Mapping[str, ForeignChange]:
        return relation_changes(self.old, new, self._comparing.changes(self.old.program, new.program))


class _Comparing:
    """Compares states of other pipelines. `given` is one that was looked up already."""

    def __init__(self, visit: Visit, given: Snapshot | None = None) -> None:
        self.target = visit.target
        self._visit = visit
        self._states: dict[tuple[str, str], Snapshot | None] = {}
        self._between: dict[tuple[str, str, str], _Between | None] = {}
        if given is not None:
            self._states[given.program.name, given.record] = given

    def is_same(self, before: ForeignRelation, after: ForeignRelation) -> bool:
        """Whether two states of a relation mean the same by themselves. Renames that its pipeline declares excuse nothing,
        since they are forgotten when it is applied: a name that passes to another column means another one at once."""
        if before.meaning == after.meaning:
            return not self._is_of_other_tables(before, after)
        if (before.kind, before.names_are_data) != (after.kind, after.names_are_data):
            return False
        between, name = self._states_between(before, after), fold(after.name)
        return between is not None and name not in between.changes_without_moves and name not in between.others_as_recorded

    def settled(self, before: ForeignRelation, after: ForeignRelation, names_are_data: bool) -> ForeignRelation:
        """A relation as a program is to know it that knew it as `before`. What reads as it did, of a table that took the
        name of the one that was read, has a meaning of its own; and so has what is spelled otherwise, where names are data
        to the program."""
        if self.is_same(before, after):
            names = [name for name, _ in after.columns]
            if names == [name for name, _ in before.columns]:
                return before
            if not names_are_data:
                return replace(before, columns=after.columns)
            return replace(after, meaning=digest_json(["spelled otherwise", after.meaning, names]))
        if before.meaning != after.meaning:
            return after
        return replace(after, meaning=digest_json(["of other tables", before.meaning, before.record]))

    def _is_of_other_tables(self, before: ForeignRelation, after: ForeignRelation) -> bool:
        """Whether a relation is, or reads, another table than the one that had its name, as their pipeline recorded it."""
        if before.record == after.record:
            return False
        between = self._states_between(before, after)
        return between is not None and fold(after.name) in between.of_other_tables

    def changes(self, applied: Program, desired: Program) -> dict[str, ForeignChange]:
        """By key, of what both read and means something else in desired."""
        found = {}
        for key, (before, relation) in _redefined(applied, desired).items():
            found[key] = self._change(before, relation)
            if applied.names_are_data or desired.names_are_data:
                found[key] = with_respelled(found[key], before, relation)
        return found

    def changed_records(self, applied: Program, desired: Program) -> frozenset[tuple[str, str]]:
        """See `changed_records`. Of a state that can't be had any more it is not known what it read."""
        found: set[tuple[str, str]] = set()
        looked_at: set[tuple[str, str, str]] = set()
        waiting = [(applied, desired)]
        while waiting:
            for before, after in _redefined(*waiting.pop()).values():
                found.add((after.pipeline, before.record))
                key = after.pipeline, before.record, after.record
                if key in looked_at:
                    continue
                looked_at.add(key)
                between = self._states_between(before, after)
                if between is not None:
                    waiting.append((between.old.program, between.new.program))
                else:
                    found |= {(one, "") for one in self._all_read(after)}
        return frozenset(found)

    def _all_read(self, relation: ForeignRelation) -> frozenset[str]:
        """The pipelines that this one's pipeline reads, and those that they read."""
        found: dict[tuple[str, str], set[str]] = {}
        waiting = [relation]
        while waiting:
            one = waiting.pop()
            key = one.pipeline, one.record
            state = self._state(one) if one.record and key not in found else None
            if state is not None:
                read = state.program.foreign.values()
                found[key] = {other.pipeline for other in read}
                waiting += [other for other in read if not other.is_own]
        return frozenset().union(*found.values())

    def _change(self, before: ForeignRelation, after: ForeignRelation) -> ForeignChange:
        between = self._states_between(before, after)
        if between is None:
            return unknown_change(after)
        if self._is_of_other_tables(before, after) or fold(after.name) in between.others:
            # Nobody has told what was renamed.
            return unknown_change(after)
        found = between.changes.get(fold(after.name))
        if found is None:
            return changed_in_name_only(after)
        return seen_from_outside(after.pipeline, after, found)

    def _states_between(self, before: ForeignRelation, after: ForeignRelation) -> _Between | None:
        """Both states of the pipeline in which a relation was looked up, if they can still be had."""
        if not before.record or not after.record:
            return None  # versions: which one it is says it all
        key = after.pipeline, before.record, after.record
        if key not in self._between:
            old, new = self._state(before), self._state(after)
            self._between[key] = None if old is None or new is None else _Between(self, old, new)
        return self._between[key]

    def _state(self, relation: ForeignRelation) -> Snapshot | None:
        """The state of a pipeline in which a relation was looked up, if it can still be had."""
        key = relation.pipeline, relation.record
        if key not in self._states:
            self._states[key] = self._read(*key)
        return self._states[key]

    def _read(self, pipeline: str, record: str) -> Snapshot | None:
        # The files know more than what is stored of them: which names were moved.
        known = self._visit.known.get(pipeline)
        if known is None:
            try:
                known = self._visit.compiled(self._visit.apart(pipeline))
            except RegistryError:
                raise
            except ReconcileError:
                known = None
        if isinstance(known, Snapshot) and known.record == record:
            return known
        try:
            return read_snapshot(self.target, pipeline, record)
        except RegistryError as error:
            if error.code != "G601":
                raise
            return None


def _redefined(applied: Program, desired: Program) -> dict[str, tuple[ForeignRelation, ForeignRelation]]:
    """By key, what both programs read and means something else in desired, as each knows it."""
    both = {key: (applied.foreign[key], one) for key, one in desired.foreign.items() if key in applied.foreign}
    return {key: pair for key, pair in both.items() if pair[0].meaning != pair[1].meaning}
