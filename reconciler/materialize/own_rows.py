"""A step of a view whose own rows follow: rows are added to its table and taken out of it.

Rows that are only added are staged apart, and added to those that the view had as of the step before
(`incremental.added_rows`). Else it is staged which rows come and which go: of a view without groups
(`incremental.changed_rows`), or of the groups that changed (`incremental.changed_groups`), whose keys are staged first.

Nobody else may have written the table since: else the view is computed from its query.
"""

from collections.abc import Sequence
from dataclasses import replace

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError
from reconciler.base.names import fold
from reconciler.delta.key_ranges import range_of
from reconciler.delta.opening import is_local, join_location
from reconciler.delta.short_logs import open_log
from reconciler.delta.transactions import has_commit_after, has_transaction
from reconciler.engine.protocol import Built, Engine, ViewBuild
from reconciler.engine.sources import CHANGE_COLUMN, MOST_SEARCHED, Source, StoredSource
from reconciler.incremental import added_rows, changed_groups, changed_rows
from reconciler.incremental.choice import Sizes, must_find
from reconciler.incremental.linked_reads import TermReads
from reconciler.incremental.model import ChangedGroups, LinearRows, Way, read_whole, reads_of_terms
from reconciler.incremental.needed_rows import KeyRange
from reconciler.materialize.changed_sources import needed_sources, with_terms
from reconciler.materialize.view_steps import ENDED, Around, Brought, needed_by, sizes_of, terms_of
from reconciler.materialize.withdrawing import view_transaction
from reconciler.project.program.model import Program, View
from reconciler.registry.placements import Placement
from reconciler.state.folders import staging_folder


@dataclass(frozen=True, slots=True)
class OwnRows:
    """A view whose own rows follow: what is asked of its table."""

    engine: Engine
    program: Program
    view: View
    around: Around

    @property
    def placement(self) -> Placement:
        return self.around.changes.before[fold(self.view.name)]

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        return tuple((one.name, one.type) for one in self.placement.columns)

    def stands(self, step: int) -> bool:
        """Whether the table of the view holds the rows of the step before, or has those of this one already: nobody else
        wrote it."""
        if not has_commit_after(self.around.location, self.placement.version):
            return True
        table = open_log(self.around.location)
        return table is not None and has_transaction(table, view_transaction(step), self.around.location)

    def sizes(self, method: LinearRows | ChangedGroups) -> Sizes:
        """What is known before the step."""
        changes = self.around.changes
        changed = frozenset(changes.of(method.relations))
        only_came = isinstance(method, LinearRows) and method.beside.isdisjoint(changed)
        only_came = only_came and all(changes.added_bytes(key) is not None for key in changed)
        return Sizes(
            sizes_of(self.program, self.view, changes),
            changed,
            changes.added_bytes if only_came else changes.changed_bytes,
            None,
            # Heads of early versions had no columns.
            bool(self.columns) and (only_came or self.engine.may_change_rows(self.around.location)),
            self.placement.bytes,
            self.placement.rows,
            only_came,
            changes.changed_keys,
            changes.needed_bytes,
            MOST_SEARCHED if is_local(self.around.location) else 0,
        )

    def way(self, method: LinearRows | ChangedGroups, sizes: Sizes, step: int) -> Way:
        """Which way to take in a step."""
        return self.around.choice.way(method, sizes) if self.stands(step) else Way.RECOMPUTED

    def staged(
        self, build: ViewBuild, query: str, folder: str, sources: Sequence[Source], terms: Sequence[TermReads] = ()
    ) -> Built:
        """Compute a query, which may be a sum of terms, into a folder of the view."""
        staging = join_location(self.around.location, folder)
        build = replace(build, query=query, column_names=(), sources=tuple(sources), staging=staging)
        return self.engine.build_view(with_terms(build, self.program, self.view, terms))


@dataclass(frozen=True, slots=True)
class Rows:
    """A view to which rows come as they come to what it reads, and from which they go as they go there."""

    own: OwnRows
    method: LinearRows

    def added(self, build: ViewBuild, folder: str) -> Built:
        """Stage the rows that come to the view."""
        changed = self.own.around.changes.of(self.method.relations)
        query = added_rows.added_query(self.method, changed, self.own.columns)
        sources = self._sources(changed, only_added=True)
        return self.own.staged(build, query, folder, sources, terms_of(self.method, changed))

    def changed(self, build: ViewBuild, folder: str) -> Built:
        """Stage the rows that come to it and go from it, each once with how many copies of it."""
        changed = self.own.around.changes.of(self.method.relations)
        query = changed_rows.changed_rows_query(self.method, changed, self.own.columns, CHANGE_COLUMN)
        sources = self._sources(changed, only_added=False)
        return self.own.staged(build, query, folder, sources, terms_of(self.method, changed))

    def _sources(self, changed: Sequence[str], *, only_added: bool) -> tuple[Source, ...]:
        changes = self.own.around.changes
        former, current = reads_of_terms(self.method, changed)
        sources = (
            *changes.changed_sources(changed, only_added=only_added),
            *changes.former_sources(former),
            *changes.current_sources(self.own.program, current),
        )
        return needed_sources(sources, needed_by(self.method, changes, changed))


@dataclass(frozen=True, slots=True)
class Groups:
    """A view of which the groups that changed are computed anew."""

    own: OwnRows
    method: ChangedGroups

    def keys(self, build: ViewBuild, folder: str) -> Built:
        """Stage the keys of the groups that changed."""
        changes = self.own.around.changes
        changed = changes.of(self.method.relations)
        former, current = reads_of_terms(self.method, changed)
        sources = (
            *changes.changed_sources(changed, only_added=False),
            *changes.former_sources(former),
            *changes.current_sources(self.own.program, current),
        )
        query = changed_groups.keys_query(self.method, changed)
        needed = needed_sources(sources, needed_by(self.method, changes, changed))
        return self.own.staged(build, query, folder, needed, terms_of(self.method, changed))

    def are_many(self, keys: Built) -> bool:
        """Whether so many groups changed that all of them are better computed at once."""
        return keys.rows > self.own.around.choice.share_of_groups * (self.own.placement.rows or 0)

    def changed(self, build: ViewBuild, folder: str, keys: str) -> Built:
        """Stage the rows that come to the view and go from it, once the groups with these keys are computed anew."""
        own = self.own
        location, names = join_location(own.around.location, keys), tuple(name for name, _ in own.columns)
        sources = (
            StoredSource(changed_groups.KEYS, location, 0),
            StoredSource(changed_groups.OWN, own.around.location, own.placement.version, used=names),
            *own.around.changes.current_sources(own.program, self.method.relations),
        )
        query = changed_groups.changed_groups_query(self.method, own.columns)
        reads = changed_groups.reads_of_groups(self.method, names)
        return own.staged(build, query, folder, needed_sources(sources, self._within(location)), reads)

    def _within(self, keys: str) -> dict[str, dict[str, KeyRange]]:
        """Between what the keys lie that are columns, of what has these columns."""
        groups = self.method.groups
        read = [use.relation for block in groups.blocks for use in block.relations]
        found: dict[str, dict[str, KeyRange]] = {}
        for at, item in enumerate(groups.items):
            columns = [(block, column) for block in groups.blocks if (column := block.columns[at]) is not None]
            ends = range_of(keys, changed_groups.key_column(at)) if columns else None
            if ends is None:
                continue
            found.setdefault(changed_groups.OWN, {})[fold(self.own.columns[item][0])] = KeyRange(*ends)
            for block, (place, name) in columns:
                relation = block.relations[place].relation
                if read.count(relation) == 1 and relation not in read_whole(self.method):
                    found.setdefault(relation, {})[name] = KeyRange(*ends)
        return found


def by_rows(work: Rows, build: ViewBuild, step: int) -> Brought:
    own, sizes = work.own, work.own.sizes(work.method)
    way = own.way(work.method, sizes, step)
    if way is not Way.RECOMPUTED:
        folder = staging_folder(own.program.name, way.value, str(step), own.view.name)
        some = replace(build, must_find=must_find(work.method, sizes))
        try:
            if way is Way.ADDED:
                return Brought(work.added(some, folder), None, way, added=folder)
            return Brought(work.changed(some, folder), None, way, changed=folder)
        except EngineError as error:
            if error.code in ENDED:
                raise
        own.around.check()
        way = Way.GIVEN_UP
    return Brought(own.engine.build_view(build), None, way)


def by_groups(work: Groups, build: ViewBuild, step: int) -> Brought:
    own, sizes = work.own, work.own.sizes(work.method)
    way = own.way(work.method, sizes, step)
    if way is Way.RECOMPUTED:
        return Brought(own.engine.build_view(build), None, way)
    keys, folder = (staging_folder(own.program.name, part, str(step), own.view.name) for part in ("keys", way.value))
    some = replace(build, must_find=must_find(work.method, sizes))
    try:
        if not work.are_many(work.keys(some, keys)):
            return Brought(work.changed(some, folder, keys), None, way, changed=folder, beside=keys)
        way = Way.RECOMPUTED
    except EngineError as error:
        if error.code in ENDED:
            raise
        way = Way.GIVEN_UP
    own.around.check()
    return Brought(own.engine.build_view(build), None, way, beside=keys)
