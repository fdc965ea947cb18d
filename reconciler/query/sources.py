"""What a query reads where it names a version: `revenue@v2`.

- The active version is the relation as it is. Any other is as it was at the last published step at which it was active: its
  rows are in Delta's history, for as long as retention keeps them. The answer says which step that was.
- With an earlier step asked for, it is the last such step that is not later; the version that was active then is read then.
- One that is kept up to date (`maintained`) is read as any view is, at the query's own step.
- One that was brought up to date once (`refreshing`) has those rows, as of the step that they were computed from.
- One that is staged (`staging`) has the rows that it was staged with, as of the step that they were built from.
- A view that is computed in place is computed from what it read then, as its program said then, by the functions of then.
- One whose rows were pruned is an error that says so (X735), be the files there or not: they may be going.
- It has to be allowed: `spec.versions.reads`, in what is applied.

Sources of one version stand before those of the next and of the query's own step, which may go by the same names: Spark has
read a name as it stood when what follows it was registered. A plain view may name a version, too, whose rows stay as they
were (`in_views`): so the versions that the query itself names stand once more behind all that others read (`in_order`).
"""

from collections.abc import Iterable
from dataclasses import replace

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import NotFound, ReconcileError
from reconciler.base.names import fold
from reconciler.engine.sources import InlineSource, Source, StoredSource
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.project.program.settings import differing_settings
from reconciler.project.snapshot.objects import object_key
from reconciler.query.reading import published_place, sources_for
from reconciler.registry.model import Head
from reconciler.registry.placements import foreign_placements
from reconciler.registry.protocol import History
from reconciler.state.applied import read_snapshot
from reconciler.state.histories import published_rows
from reconciler.state.pruned import require_version_kept
from reconciler.state.refreshed import refreshed_key, refreshed_placement
from reconciler.state.staged import staged_placements
from reconciler.state.step_history import StepState, published_state, read_step
from reconciler.versions.looking import FoundObject, find_in_head, no_such_version, number_of, versioned_name
from reconciler.workspace.maintained import maintained_name


@dataclass(frozen=True, slots=True)
class VersionSources:
    """The sources of one version under its name as written, and as of which step they are."""

    name: str
    step: int
    state: StepState
    sources: tuple[Source, ...]


def is_versioned(name: str) -> bool:
    """Whether a relation's name in a query is that of a version."""
    return "@" in name


def version_sources(
    target: Target, head: Head, program: Program, names: Iterable[str], at_step: int
) -> tuple[VersionSources, ...]:
    """What is to be read for these names, as of `at_step` at the latest. `program` is that of the query.

    Raises ReconcileError (A524: not allowed; X722; X735: pruned), NotFound (A520, A522, A515).
    """
    wanted = sorted(names)
    if wanted and not program.settings.version_reads:
        raise ReconcileError(
            "A524",
            f"{wanted[0]} can't be read: pipeline {program.name} does not allow reading versions",
            "set spec.versions.reads to true in its pipeline.yaml, and apply",
        )
    return tuple(_sources(target, head, program, name, at_step) for name in wanted)


def _sources(target: Target, head: Head, program: Program, name: str, at_step: int) -> VersionSources:
    given = versioned_name(name)
    if given.pipeline is not None:
        raise ReconcileError(
            "X722", f"{name} names a pipeline", f"a query reads only one pipeline: write {name.partition('.')[2]}"
        )
    found = find_in_head(head, given.name)
    if found.kind == "function":
        raise ReconcileError("X722", f"{name} is a version of a function: it can't be read")
    staged = _staged_state(target, head, found, given.version or "", at_step)
    maintained = _maintained_state(target, head, found, given.version or "", program, at_step)
    refreshed = _refreshed_state(target, head, found, given.version or "", at_step)
    state, spelled = maintained or staged or refreshed or last_state(target, head, found, given.version or "", at_step)
    then = read_snapshot(target, head.pipeline, state.record).program
    is_past = head.published is None or state.step != head.published.step
    if is_past and not (maintained or staged or refreshed):
        number = number_of(target, found, given.version or "")
        shown = f"{found.pipeline}.{found.name}@v{number}"
        require_version_kept(target.registry, head.pipeline, found.versions.id, number or 0, state.step, shown)
    view = then.views.get(fold(spelled))
    if view is not None and view.is_local:
        raise ReconcileError("X722", f"view {view.name} is LOCAL: only views of its pipeline can read it")
    # Rows that were computed once stand before those that a view goes on reading under the same name.
    place = published_place(then, target.warehouse, {**foreign_placements(state.foreign), **state.relations})
    sources = sources_for(then, [spelled], place, with_functions=True)
    if any(isinstance(source, InlineSource) for source in sources):
        _require_same_settings(name, program, then)
    return VersionSources(name, state.step, state, (*sources[:-1], replace(sources[-1], name=name)))


def _require_same_settings(name: str, program: Program, then: Program) -> None:
    """What is computed now has to be computed as it was then."""
    if differing_settings(then.settings, program.settings):
        raise ReconcileError("X722", f"{name} stores no rows, and settings that decide results have changed since")


def last_state(target: Target, head: Head, found: FoundObject, version: str, at_step: int) -> tuple[StepState, str]:
    """The state at the last step, not after `at_step`, at which the version was active, and the object's name then."""
    number = number_of(target, found, version)
    columns = ("number", "name", "step")
    rows = published_rows(target.registry, head, History.ACTIVATIONS, columns, object=found.versions.id)
    spans = [row for row in rows if int(row["step"]) <= at_step]
    active = [index for index, row in enumerate(spans) if number is not None and row["number"] == str(number)]
    if not active and number is not None and any(row["number"] == str(number) for row in rows):
        name = f"{found.pipeline}.{found.name}@{version}"
        raise NotFound("A522", f"{name} was not active at step {at_step} or before", "read a later step")
    if not active:
        raise no_such_version(target, found, version)
    begin = spans[active[-1]]
    end = int(spans[active[-1] + 1]["step"]) - 1 if active[-1] + 1 < len(spans) else at_step
    return published_state(target.registry, head, int(begin["step"]), end), str(begin["name"])


def _maintained_state(
    target: Target, head: Head, found: FoundObject, version: str, program: Program, at_step: int
) -> tuple[StepState, str] | None:
    """The state of the query's own step, and the name there of the view that keeps a version up to date; None where none
    does. `program` is that of this step."""
    number = number_of(target, found, version)
    view = program.views.get(fold(maintained_name(found.name, number))) if number is not None else None
    return (read_step(target.registry, head, at_step), view.name) if view is not None else None


def _staged_state(
    target: Target, head: Head, found: FoundObject, version: str, at_step: int
) -> tuple[StepState, str] | None:
    """The state that a version is staged at, and its name there; None where it is not staged by then."""
    staged = head.staged
    if staged is None or staged.step > at_step:
        return None
    if staged.numbers.get(object_key(found.kind, found.name)) != number_of(target, found, version):
        return None
    state = read_step(target.registry, head, staged.step)
    return replace(state, record=staged.record, relations={**state.relations, **staged_placements(staged)}), found.name


def _refreshed_state(
    target: Target, head: Head, found: FoundObject, version: str, at_step: int
) -> tuple[StepState, str] | None:
    """The state that a version was brought up to date at, and its name there; None where it was not, or not by then."""
    number = number_of(target, found, version)
    one = head.refreshed.get(refreshed_key(found.versions.id, number)) if number is not None else None
    if one is None or one.step > at_step:
        return None
    state = read_step(target.registry, head, one.step)
    return replace(state, record=one.record, relations={**state.relations, **refreshed_placement(one)}), one.name


def in_order(versions: Iterable[VersionSources], sources: Iterable[Source]) -> tuple[Source, ...]:
    """All sources of a query, in the order in which an engine is to register them; `sources` are those of its own step."""
    named = [version.sources[-1] for version in versions]
    found = [*(source for version in versions for source in version.sources), *sources]
    last = {fold(source.name): source for source in found}
    # What is computed in place is no relation that a view may name.
    again = (one for one in named if isinstance(one, StoredSource) and last[fold(one.name)] is not one)
    return (*found, *again)


def told_apart(relations: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The relations of a query: plain names, and those of versions."""
    all_names = tuple(relations)
    return tuple(one for one in all_names if not is_versioned(one)), tuple(one for one in all_names if is_versioned(one))
