"""A step of a view of which groups are kept (`incremental.kept_aggregate`).

What is kept stands where the state of a stream stands: in a staging folder below the view's own, which the head names
(`Placement.state`). So it is pinned, withdrawn and gone back to with the step. A step writes it anew, as one table, and the
view's rows are computed from that. Where groups are many, it writes those that changed, and a summary of all
(`kept_summaries`).

What is kept says of which query and of which versions of the relations it is (`StreamState.form`). Where these are not the
ones before the step (the view was bootstrapped or changed, an apply or a restore wrote its relations, the folder is gone),
it is computed anew from the relations as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import digest_json
from reconciler.base.errors import EngineError, RowsNotFound
from reconciler.base.names import fold
from reconciler.delta.opening import is_local, join_location
from reconciler.delta.tables import is_staged
from reconciler.engine.protocol import Built, BuiltAtOnce, ColumnType, Engine, ViewBuild
from reconciler.engine.sources import CHANGE_COLUMN, MOST_SEARCHED, LogSource, Source, StoredSource
from reconciler.incremental import kept_aggregate
from reconciler.incremental.choice import Sizes, must_find
from reconciler.incremental.linked_reads import TermReads
from reconciler.incremental.model import KeptAggregate, Way, reads_of_terms
from reconciler.incremental.summaries import summary_of
from reconciler.materialize.changed_sources import needed_sources, with_terms
from reconciler.materialize.kept_summaries import Summarised
from reconciler.materialize.staged_columns import remember_columns, staged_columns
from reconciler.materialize.view_steps import ENDED, Around, Brought, needed_by, sizes_of, terms_of
from reconciler.project.program.model import Program, View
from reconciler.registry.placements import FormerState, Placement, StateSegment, StreamState, SummaryState
from reconciler.state.folders import staging_folder

_FEW: Final = 2_000
"""Groups: of so many the view's rows are computed with them, and none is passed over."""

_ALONE: Final = ":alone"
"""Ends the form of groups of which there is no summary that is small: it is not tried in each step."""


@dataclass(frozen=True, slots=True)
class KeptGroups:
    """What a step keeps of a view, the types of its columns, and what was built of the view with it (None: nothing)."""

    state: StreamState
    types: Mapping[str, str]
    view: Built | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A view of which groups are kept. `method` may have values in place of subqueries; `declared` is that of the query."""

    engine: Engine
    program: Program
    view: View
    around: Around
    method: KeptAggregate
    declared: KeptAggregate

    @property
    def known(self) -> StreamState | None:
        return self.around.changes.before[fold(self.view.name)].state

    @property
    def definition(self) -> str:
        """What is kept, and how it is laid out."""
        return f"kept {kept_aggregate.LAYOUT}.{digest_json(kept_aggregate.state_query(self.declared))}"

    def form(self, placements: Mapping[str, Placement]) -> str:
        """The definition, and the versions of the relations that it is over."""
        places = {key: [placements[key].location, placements[key].version] for key in self.declared.relations}
        return f"{self.definition}:{digest_json(places)}"

    @property
    def is_same_definition(self) -> bool:
        return self.known is not None and self.known.form.startswith(f"{self.definition}:")

    def sizes(self) -> Sizes:
        """What is known before the step."""
        known, changes = self.known, self.around.changes
        form = None if known is None else known.form.removesuffix(_ALONE)
        is_current = known is not None and form == self.form(changes.before) and self._is_there(known)
        changed = frozenset(changes.of(self.method.relations))
        kept = known.bytes if known is not None and self.is_same_definition else None
        return Sizes(
            sizes_of(self.program, self.view, changes),
            changed,
            changes.changed_bytes,
            kept,
            is_current,
            kept_is_searched=known is not None and known.summary is not None,
            changed_keys=changes.changed_keys,
            needed_bytes=changes.needed_bytes,
            most_searched=MOST_SEARCHED if is_local(self.around.location) else 0,
        )

    def attempts(self, way: Way) -> tuple[Way, ...]:
        """What is tried, in order. Where a least or greatest value may have gone, all that is kept is made anew."""
        return (way, Way.ANEW) if way is Way.CHANGES and self.method.extremes else (way,)

    def keep(self, way: Way, step: int, build: ViewBuild, *, must_find: bool) -> "KeptGroups":
        """Write what is kept after the step. `build` is that of the view."""
        known = self.known
        if way is Way.CHANGES and known is not None and known.summary is not None:
            types = self._types_of(known)
            summarised = self._summarised(types)
            if summarised is not None and summarised.form == known.summary.form:
                state = self._keep_changes(known, known.summary, summarised, step, must_find=must_find)
                return KeptGroups(state, types)
        form = self.form(self.around.changes.now)
        built = self._built(way, self._folder(step, form, way.value), must_find=must_find, view=build)
        types = self._types(built.columns)
        state = StreamState(self._folder(step, form, way.value), step, built.rows, built.bytes, form=form)
        is_alone = way is Way.CHANGES and self._is_alone
        if built.rows >= self.around.choice.many_groups and not is_alone:
            summarised = self._summarised(types)
            summary = None if summarised is None else summarised.anew((state.folder,), step, form)
            summary = self._if_small(summarised, summary, built.rows)
            state = replace(state, summary=summary, form=form if summary is not None else form + _ALONE)
        elif is_alone:
            state = replace(state, form=form + _ALONE)
        return KeptGroups(replace(state, former=_former(known, state, step)), types, built.at_once)

    def _keep_changes(
        self, known: StreamState, summary: SummaryState, summarised: Summarised, step: int, *, must_find: bool
    ) -> StreamState:
        """Write the groups that changed, and the summary after them."""
        form = self.form(self.around.changes.now)
        folder = self._folder(step, form, "changed")
        built = self._built(Way.CHANGES, folder, must_find=must_find, only_changed=True)
        groups: tuple[StateSegment, ...] = known.segments
        after: SummaryState | None = summary
        if built.rows:
            followed = summarised.after(summary, [one.folder for one in groups], folder, step, form)
            groups = (*groups, StateSegment(folder, step, built.rows, built.bytes))
            after = self._if_small(summarised, followed, sum(one.rows for one in groups))
            groups = summarised.joined(groups, step, form, is_last=after is None)
        if all(one.folder != folder for one in groups):
            summarised.let_go(folder)
        last, earlier = groups[-1], groups[:-1]
        rows, size = sum(one.rows for one in groups), sum(one.bytes for one in groups)
        form = form if after is not None else form + _ALONE
        state = StreamState(last.folder, last.step, rows, size, form=form, earlier=earlier, summary=after)
        return replace(state, former=_former(known, state, step))

    def _built(
        self, way: Way, folder: str, *, must_find: bool, only_changed: bool = False, view: ViewBuild | None = None
    ) -> Built:
        """Write groups to a folder; with them the rows of a `view`, where that costs less than by itself."""
        query, sources = self._by_changes(only_changed=only_changed) if way is Way.CHANGES else self._anew()
        at_once = self._at_once(query, view) if way is Way.CHANGES and view is not None else None
        terms: tuple[TermReads, ...] = ()
        # Where all groups are read from several segments, none may be left out.
        if way is Way.CHANGES and (only_changed or isinstance(sources[0], StoredSource)):
            changed = self.around.changes.of(self.method.relations)
            keys = kept_aggregate.kept_keys(self.method) if at_once is None else None
            terms = terms_of(self.method, changed, keys)
        settings = dict(sorted(self.program.settings.spark.items()))
        staging = join_location(self.around.location, folder)
        build = ViewBuild(f"{self.view.name} (kept)", query, (), sources, staging, settings, must_find=must_find)
        rest_of = kept_aggregate.KEPT if terms and not only_changed and at_once is None else None
        build = replace(build, rest_of=rest_of, at_once=at_once, is_kept=True)
        built = self.engine.build_view(with_terms(build, self.program, self.view, terms))
        remember_columns(staging, built.columns)
        return built

    def _at_once(self, query: str, view: ViewBuild) -> BuiltAtOnce | None:
        """The view's rows, computed with the groups. None: these are many, or the view's rows are others."""
        if self.known is None or self.known.rows > _FEW or len(self.known.segments) > 1:
            return None
        both = kept_aggregate.both_query(self.method, self._types_of(self.known), query)
        if both is None:
            return None
        return BuiltAtOnce(both, kept_aggregate.columns_of(self.method), view.staging, view.column_names)

    def finishing(self, build: ViewBuild, state: StreamState, types: Mapping[str, str]) -> ViewBuild:
        """The view's rows, from what is kept."""
        summarised = None if state.summary is None else self._summarised(types)
        if summarised is not None and state.summary is not None:
            query, sources = summarised.rest(state.summary)
            return replace(build, query=query, sources=sources)
        query = kept_aggregate.finishing_query(self.method, types)
        others = self.around.changes.current_sources(self.program, self.method.block.elsewhere)
        return replace(build, query=query, sources=(self._kept_source(state), *others))

    def _anew(self) -> tuple[str, tuple[Source, ...]]:
        sources = self.around.changes.current_sources(self.program, self.method.relations)
        return kept_aggregate.state_query(self.method), sources

    def _by_changes(self, *, only_changed: bool) -> tuple[str, tuple[Source, ...]]:
        assert self.known is not None, "there is something that can follow"
        changes = self.around.changes
        changed = changes.of(self.method.relations)
        former, current = reads_of_terms(self.method, changed)
        sources = (
            self._kept_source(self.known),
            *changes.changed_sources(changed, only_added=False),
            *changes.former_sources(former),
            *changes.current_sources(self.program, current),
        )
        types = self._types_of(self.known)
        query = kept_aggregate.changed_query(self.method, changed, types, CHANGE_COLUMN, only_changed=only_changed)
        return query, needed_sources(sources, needed_by(self.method, changes, changed))

    def _kept_source(self, state: StreamState) -> StoredSource | LogSource:
        locations = tuple(join_location(self.around.location, one.folder) for one in state.segments)
        if len(locations) > 1 or state.summary is not None:
            return LogSource(kept_aggregate.KEPT, locations, latest=kept_aggregate.key_columns(self.method))
        return StoredSource(kept_aggregate.KEPT, locations[0], 0, is_kept=True)

    def _summarised(self, types: Mapping[str, str]) -> Summarised | None:
        """What makes the summary of the groups, whose columns have these types."""
        summary = summary_of(self.method, types)
        if summary is None:
            return None
        return Summarised(self.engine, self.program, self.view, self.around.location, self.method, types, summary)

    def _if_small(self, summarised: Summarised | None, summary: SummaryState | None, groups: int) -> SummaryState | None:
        """A summary that is small beside so many groups, as it is written anew by each step. Another one goes."""
        if summarised is None or summary is None or summary.rows <= self.around.choice.share_of_summary * groups:
            return summary
        summarised.let_go(summary.folder)
        return None

    @property
    def _is_alone(self) -> bool:
        """Whether it is known that there is no summary of the groups that is small."""
        return self.known is not None and self.is_same_definition and self.known.form.endswith(_ALONE)

    def _folder(self, step: int, form: str, what: str) -> str:
        return staging_folder(self.program.name, "kept", str(step), self.view.name, form, what)

    def _types_of(self, state: StreamState) -> dict[str, str]:
        return self._types(staged_columns(join_location(self.around.location, state.folder)))

    def _types(self, columns: Sequence[ColumnType]) -> dict[str, str]:
        """The types of the columns of what is kept."""
        found = {one.name: one.type for one in columns}
        if tuple(found) != kept_aggregate.columns_of(self.method):
            raise EngineError("X700", f"what is kept of {self.view.name} has other columns")
        return found

    def _is_there(self, state: StreamState) -> bool:
        return all(is_staged(join_location(self.around.location, folder)) for folder in state.folders)


def _former(known: StreamState | None, now: StreamState, step: int) -> FormerState | None:
    """The folders that a step does without, by which the view remembered until then."""
    if known is None:
        return None
    summary = () if known.summary is None else ((known.summary.folder, known.summary.step),)
    had = ((one.folder, one.step) for one in known.segments)
    left = [(folder, since) for folder, since in (*had, *summary) if folder not in now.folders]
    if not left:
        return None
    (first, _), *others = left
    return FormerState(first, step - 1, tuple(folder for folder, _ in others), min(since for _, since in left))


def by_what_is_kept(work: Kept, build: ViewBuild, step: int) -> Brought:
    sizes = work.sizes()
    way = work.around.choice.way(work.method, sizes)
    if way is Way.RECOMPUTED:
        # What is kept tells the next steps how much that is, though they can't go on from it.
        return Brought(work.engine.build_view(build), work.known if work.is_same_definition else None, way)
    state: StreamState | None = None
    for attempt in work.attempts(way):
        try:
            kept = work.keep(attempt, step, build, must_find=must_find(work.method, sizes))
            state = kept.state
            work.around.kept()
            built = kept.view or work.engine.build_view(work.finishing(build, state, kept.types))
            return Brought(built, state, attempt)
        except EngineError as error:
            if error.code in ENDED:
                raise
            if isinstance(error, RowsNotFound):
                break
        work.around.check()
    return Brought(work.engine.build_view(build), state, Way.GIVEN_UP)
