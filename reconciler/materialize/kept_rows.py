"""Rows of a view that Delta still keeps and that are what a bootstrap would compute: then nothing need be computed.

When an apply makes an earlier version of something active again (a pin, a definition that came back, a rollback), the views
that it bootstraps may have had these very rows before: at the last published step at which that version was active. At any
published step a view holds what its query gives over what it reads as of that step. So rows of then are current if all that
decides them is the same now:
- the view's meaning, settings that decide results among it; that of plain and LOCAL views that it reads, and of functions
  that it calls, directly or not;
- what it reads from Delta, told by `delta.contents`: a published table that holds what it held then, another pipeline's
  among them, or a view that takes its own rows of then in this very plan;
- and nothing else decides: neither clock, chance nor session, and no function that does not say that it is deterministic.
  What depends on the order of rows only (a sum of doubles, a LIMIT) does not count: rows that were computed are one of the
  results that the query has, and none is more right.

And the view beside it may have them: one that keeps a version up to date (`maintained`) has, at the published step, the rows
that the view itself is to have when that version becomes active; and the view has those of its active version, when that is
to be kept up to date from now on. By the same rules these are taken as files (`delta.copying`).

And they have to be there: a prune or a vacuum takes them. Whatever can't be told means that the view is bootstrapped.

Costs nothing where no earlier version becomes active. Nothing of it is part of a plan: its steps do not depend on rows.
"""

from collections.abc import Iterable, Mapping
from typing import assert_never

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import PythonBody, SqlBody
from reconciler.base.errors import NotFound, ReconcileError
from reconciler.base.names import fold, is_version, without_version
from reconciler.delta.contents import is_readable, same_contents
from reconciler.delta.copying import can_be_copied
from reconciler.delta.opening import join_location
from reconciler.delta.removal import table_identity
from reconciler.environment.target import Target
from reconciler.materialize.building import Building
from reconciler.project.program.model import Function, Program
from reconciler.project.snapshot.functions import called_closely
from reconciler.project.snapshot.objects import object_key, same_meaning
from reconciler.registry.entries import Kept
from reconciler.registry.model import Head, ObjectVersions
from reconciler.registry.placements import foreign_place
from reconciler.registry.protocol import History
from reconciler.sql.repeatable import takes_from_outside
from reconciler.state.applied import read_snapshot
from reconciler.state.histories import published_rows
from reconciler.state.pruned import pruned_place
from reconciler.state.step_history import StepState, published_state, read_step


@dataclass(frozen=True, slots=True)
class _Reached:
    """What a view reads and calls: plain and LOCAL views, stored relations, functions; folded names."""

    inline: frozenset[str]
    stored: frozenset[str]
    functions: frozenset[str]


class KeptRows:
    """Finds kept rows for the views of one apply. `versions` are those of all objects once it is applied."""

    def __init__(self, target: Target, head: Head, desired: Program, versions: Mapping[str, ObjectVersions]) -> None:
        self._target = target
        self._head = head
        self._desired = desired
        self._versions = versions
        self._returning = _returning(head, versions)
        self._last_states: dict[str, StepState | None] = {}
        self._states: dict[int, StepState] = {}
        self._programs: dict[str, Program] = {}

    def find(self, view: str, building: Building) -> Kept | None:
        """The kept rows that a bootstrap of this view would give, once those of what it reads were looked for."""
        if not self._returning and not any(map(is_version, (*self._desired.views, *building.placements))):
            return None
        try:
            return self._find(fold(view), building)
        except ReconcileError:
            # What can't be told now was there once: computing it anew is always right.
            return None

    def are_there(self, kept: Kept, location: str) -> bool:
        """Whether rows that were found before can still be read; `location` is that of their view."""
        return is_readable(join_location(self._target.warehouse, kept.location or location), kept.version)

    def _find(self, key: str, building: Building) -> Kept | None:
        reached = _reached(self._desired, key)
        for step in sorted(self._candidates(key, reached, building), reverse=True):
            kept = self._kept_at(key, reached, self._state(step), building)
            if kept is not None:
                return kept
        return self._beside(key, reached, building)

    def _beside(self, key: str, reached: _Reached, building: Building) -> Kept | None:
        """What the view beside this one has: that of the version which this one is to have, or the other way round."""
        versions = self._versions.get(object_key("view", key))
        number = int(key.partition("@v")[2]) if is_version(key) else versions.active if versions is not None else None
        beside = key.partition("@")[0] if is_version(key) else f"{key}@v{number}"
        if number is None or self._head.published is None or beside not in self._head.published.relations:
            return None
        state = self._state(self._head.published.step)
        if not self._means_the_same(key, beside, reached, self._program(state.record)):
            return None
        if not all(self._reads_the_same(one, state, building) for one in sorted(reached.stored)):
            return None
        found = state.relations[beside]
        if not can_be_copied(join_location(self._target.warehouse, found.location), found.version):
            return None
        return Kept(found.version, state.step, number, found.location)

    def _candidates(self, key: str, reached: _Reached, building: Building) -> set[int]:
        """The steps at which the view may have had these rows: the last ones of what becomes active again, and of what it
        reads."""
        keys = {object_key("view", key), *(object_key("view", one) for one in reached.inline)}
        keys |= {object_key("function", without_version(one)) for one in reached.functions}
        found = {state.step for one in sorted(keys & self._returning) if (state := self._last_state(one)) is not None}
        return found | {step for one in reached.stored if (step := building.kept_step(one)) is not None}

    def _last_state(self, key: str) -> StepState | None:
        """The last published state at which the version that an object is to have was active."""
        if key not in self._last_states:
            found = self._read_last_state(self._versions[key])
            self._last_states[key] = found
            if found is not None:
                self._states[found.step] = found
        return self._last_states[key]

    def _state(self, step: int) -> StepState:
        if step not in self._states:
            self._states[step] = read_step(self._target.registry, self._head, step)
        return self._states[step]

    def _read_last_state(self, versions: ObjectVersions) -> StepState | None:
        columns = ("number", "step")
        rows = published_rows(self._target.registry, self._head, History.ACTIVATIONS, columns, object=versions.id)
        spans = [index for index, row in enumerate(rows) if row["number"] == str(versions.active)]
        if not spans or spans[-1] + 1 == len(rows):
            return None
        begin, end = int(rows[spans[-1]]["step"]), int(rows[spans[-1] + 1]["step"]) - 1
        try:
            return published_state(self._target.registry, self._head, begin, end)
        except NotFound:
            return None

    def _kept_at(self, key: str, reached: _Reached, state: StepState, building: Building) -> Kept | None:
        folder = building.folder(key)
        name = next((one for one, place in state.relations.items() if place.location == folder), None)
        if name is None or name in state.gone:
            return None
        then = self._program(state.record)
        if not self._means_the_same(key, name, reached, then):
            return None
        if not all(self._reads_the_same(one, state, building) for one in sorted(reached.stored)):
            return None
        version = state.relations[name].version
        # What was pruned may be there still, and be going.
        if pruned_place(self._target.registry, self._head.pipeline, state.step, folder, version) is not None:
            return None
        if not is_readable(join_location(self._target.warehouse, folder), version):
            return None
        versions = self._versions.get(object_key("view", key))
        return Kept(version, state.step, versions.active if versions is not None else None)

    def _means_the_same(self, key: str, name: str, reached: _Reached, then: Program) -> bool:
        if name not in then.views or not then.views[name].is_stored:
            return False
        if _is_moved_by_others(self._desired, {key, *reached.inline}, reached.functions):
            return False
        pairs = [(object_key("view", key), object_key("view", name))]
        pairs += [(object_key("view", one), object_key("view", one)) for one in sorted(reached.inline)]
        # One that had rows of its own then is computed where it is read now: what these were says nothing.
        if any(one not in then.views or then.views[one].is_stored for one in reached.inline):
            return False
        return all(same_meaning(self._desired, then, *pair) for pair in pairs)

    def _reads_the_same(self, key: str, state: StepState, building: Building) -> bool:
        if key in self._desired.foreign:
            return self._reads_the_same_of_others(key, state, building)
        folder, now = building.folder(key), building.stored_version(key)
        before = state.relations.get(key)
        if now is None or before is None or before.location != folder or key in state.gone:
            return False
        return same_contents(join_location(self._target.warehouse, folder), before.version, now)

    def _reads_the_same_of_others(self, key: str, state: StepState, building: Building) -> bool:
        place, name = foreign_place(key, state.foreign)
        then, now = state.foreign.get(place), building.foreign_table(key)
        if now is None or then is None or name not in then.relations or then.ids.get(name) != now[1]:
            return False
        before, after = then.relations[name], now[0]
        location = join_location(self._target.warehouse, after.location)
        if before.location != after.location or table_identity(location) != now[1]:
            return False
        return same_contents(location, before.version, after.version)

    def _program(self, record: str) -> Program:
        if record not in self._programs:
            self._programs[record] = read_snapshot(self._target, self._head.pipeline, record).program
        return self._programs[record]


def _returning(head: Head, versions: Mapping[str, ObjectVersions]) -> frozenset[str]:
    """The keys of objects that are to have a version that they had before, and do not have now."""
    before = {one.id: one for one in head.versions.values()}
    return frozenset(
        key
        for key, one in versions.items()
        if one.active is not None
        and one.id in before
        and one.active != before[one.id].active
        and one.active <= before[one.id].last
    )


def _reached(program: Program, key: str) -> _Reached:
    inline: set[str] = set()
    stored: set[str] = set()
    waiting, calls = [key], set(program.views[key].calls)
    while waiting:
        for read in program.views[waiting.pop()].reads:
            one = fold(read.relation)
            view = program.views.get(one)
            if view is None or view.is_stored:
                stored.add(one)
            elif one not in inline:
                inline.add(one)
                waiting.append(one)
                calls |= set(view.calls)
    return _Reached(frozenset(inline), frozenset(stored), called_closely(program.functions, calls))


def _is_moved_by_others(program: Program, views: Iterable[str], functions: Iterable[str]) -> bool:
    """Whether something besides rows decides what these views give."""
    return any(takes_from_outside(program.views[one].query) for one in views) or any(
        _takes_more_than_parameters(program.functions[one]) for one in functions
    )


def _takes_more_than_parameters(function: Function) -> bool:
    match function.declaration.body:
        case SqlBody(expression):
            return takes_from_outside(expression)
        case PythonBody():
            return not function.declaration.deterministic
        case unknown:
            assert_never(unknown)
