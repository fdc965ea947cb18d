"""A step of a view of which groups are kept (`incremental.kept_aggregate`).

What is kept stands where the state of a stream stands: in a staging folder below the view's own, which the head names
(`Placement.state`). So it is pinned, withdrawn and gone back to with the step. A step writes it anew, as one table, and the
view's rows are computed from that.

What is kept says of which query and of which versions of the relations it is (`StreamState.form`). Where these are not the
ones before the step (the view was bootstrapped or changed, an apply or a restore wrote its relations, the folder is gone),
it is computed anew from the relations as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import digest_json
from reconciler.base.errors import EngineError, RowsNotFound
from reconciler.base.names import fold
from reconciler.delta.opening import is_local, join_location
from reconciler.delta.tables import is_staged, typed_columns
from reconciler.engine.protocol import ColumnType, Engine, ViewBuild
from reconciler.engine.sources import CHANGE_COLUMN, MOST_SEARCHED, Source, StoredSource
from reconciler.incremental import kept_aggregate
from reconciler.incremental.choice import Sizes, must_find
from reconciler.incremental.linked_reads import TermReads
from reconciler.incremental.model import KeptAggregate, Way, reads_of_terms
from reconciler.materialize.changed_sources import needed_sources, with_terms
from reconciler.materialize.view_steps import ENDED, Around, Brought, needed_by, sizes_of, terms_of
from reconciler.project.program.model import Program, View
from reconciler.registry.placements import FormerState, Placement, StreamState
from reconciler.state.folders import staging_folder


@dataclass(frozen=True, slots=True)
class Kept:
    """A view of which groups are kept."""

    engine: Engine
    program: Program
    view: View
    around: Around
    method: KeptAggregate

    @property
    def known(self) -> StreamState | None:
        return self.around.changes.before[fold(self.view.name)].state

    @property
    def definition(self) -> str:
        """What is kept, and how it is laid out."""
        return f"kept {kept_aggregate.LAYOUT}.{digest_json(kept_aggregate.state_query(self.method))}"

    def form(self, placements: Mapping[str, Placement]) -> str:
        """The definition, and the versions of the relations that it is over."""
        places = {key: [placements[key].location, placements[key].version] for key in self.method.relations}
        return f"{self.definition}:{digest_json(places)}"

    @property
    def is_same_definition(self) -> bool:
        return self.known is not None and self.known.form.partition(":")[0] == self.definition

    def sizes(self) -> Sizes:
        """What is known before the step."""
        known, changes = self.known, self.around.changes
        is_current = known is not None and known.form == self.form(changes.before) and self._is_there(known)
        changed = frozenset(changes.of(self.method.relations))
        kept = known.bytes if known is not None and self.is_same_definition else None
        return Sizes(
            sizes_of(self.program, self.view, changes),
            changed,
            changes.changed_bytes,
            kept,
            is_current,
            changed_keys=changes.changed_keys,
            needed_bytes=changes.needed_bytes,
            most_searched=MOST_SEARCHED if is_local(self.around.location) else 0,
        )

    def attempts(self, way: Way) -> tuple[Way, ...]:
        """What is tried, in order. Where a least or greatest value may have gone, all that is kept is made anew."""
        return (way, Way.ANEW) if way is Way.CHANGES and self.method.extremes else (way,)

    def keep(self, way: Way, step: int, *, must_find: bool) -> tuple[StreamState, dict[str, str]]:
        """Write what is kept after the step; with it come the types of its columns."""
        form = self.form(self.around.changes.now)
        folder = staging_folder(self.program.name, "kept", str(step), self.view.name, form, way.value)
        query, sources = self._by_changes() if way is Way.CHANGES else self._anew()
        terms: tuple[TermReads, ...] = ()
        if way is Way.CHANGES:
            changed = self.around.changes.of(self.method.relations)
            terms = terms_of(self.method, changed, kept_aggregate.kept_keys(self.method))
        settings = dict(sorted(self.program.settings.spark.items()))
        staging = join_location(self.around.location, folder)
        build = ViewBuild(f"{self.view.name} (kept)", query, (), sources, staging, settings, must_find=must_find)
        build = replace(build, rest_of=kept_aggregate.KEPT) if terms else build
        built = self.engine.build_view(with_terms(build, self.program, self.view, terms))
        known = self.known
        former = None if known is None else FormerState(known.folder, step - 1, (), known.step)
        return StreamState(folder, step, built.rows, built.bytes, former, form=form), self._types(built.columns)

    def finishing(self, build: ViewBuild, state: StreamState, types: Mapping[str, str]) -> ViewBuild:
        """The view's rows, from what is kept."""
        query = kept_aggregate.finishing_query(self.method, types)
        others = self.around.changes.current_sources(self.program, self.method.block.elsewhere)
        return replace(build, query=query, sources=(self._kept_source(state), *others))

    def _anew(self) -> tuple[str, tuple[Source, ...]]:
        sources = self.around.changes.current_sources(self.program, self.method.relations)
        return kept_aggregate.state_query(self.method), sources

    def _by_changes(self) -> tuple[str, tuple[Source, ...]]:
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
        types = self._types(typed_columns(join_location(self.around.location, self.known.folder), 0))
        query = kept_aggregate.changed_query(self.method, changed, types, CHANGE_COLUMN)
        return query, needed_sources(sources, needed_by(self.method, changes, changed))

    def _kept_source(self, state: StreamState) -> StoredSource:
        return StoredSource(kept_aggregate.KEPT, join_location(self.around.location, state.folder), 0, is_kept=True)

    def _types(self, columns: Sequence[ColumnType]) -> dict[str, str]:
        """The types of the columns of what is kept."""
        found = {one.name: one.type for one in columns}
        if tuple(found) != kept_aggregate.columns_of(self.method):
            raise EngineError("X700", f"what is kept of {self.view.name} has other columns")
        return found

    def _is_there(self, state: StreamState) -> bool:
        return is_staged(join_location(self.around.location, state.folder))


def by_what_is_kept(work: Kept, build: ViewBuild, step: int) -> Brought:
    sizes = work.sizes()
    way = work.around.choice.way(work.method, sizes)
    if way is Way.RECOMPUTED:
        # What is kept tells the next steps how much that is, though they can't go on from it.
        return Brought(work.engine.build_view(build), work.known if work.is_same_definition else None, way)
    state: StreamState | None = None
    for attempt in work.attempts(way):
        try:
            state, types = work.keep(attempt, step, must_find=must_find(work.method, sizes))
            work.around.kept()
            return Brought(work.engine.build_view(work.finishing(build, state, types)), state, attempt)
        except EngineError as error:
            if error.code in ENDED:
                raise
            if isinstance(error, RowsNotFound):
                break
        work.around.check()
    return Brought(work.engine.build_view(build), state, Way.GIVEN_UP)
