"""A step of a view of whose groups a summary is kept (`incremental.summaries`).

The groups are a log in segments, as what streams remember is: a step writes those that changed, and looks up of the others
those alone that it needs. Segments are put together again where they become many, or large beside the first one. The
summary is small, and written anew by each step.

It is taken of all groups where it can't follow: a least value went, or too few rows are left of those that come first. None
where it is not small beside the groups: then a step reads and writes all of these.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError
from reconciler.delta.opening import join_location
from reconciler.engine.protocol import Engine, ViewBuild
from reconciler.engine.sources import CHANGE_COLUMN, LinkedSource, LogSource, Source, StoredSource
from reconciler.incremental import summaries
from reconciler.incremental.kept_aggregate import KEPT, ROWS, columns_of, key_columns
from reconciler.incremental.model import KeptAggregate
from reconciler.materialize.apply_effects import remove
from reconciler.materialize.staged_columns import remember_columns, staged_columns
from reconciler.materialize.view_steps import ENDED
from reconciler.project.program.model import Program, View
from reconciler.registry.placements import StateSegment, SummaryState
from reconciler.state.folders import staging_folder

MOST_SEGMENTS: Final = 8
"""Behind the first one."""

_SHARE: Final = 4
"""Segments that together have this part of the rows of the first one are put together with it."""


@dataclass(frozen=True, slots=True)
class _Ask:
    """A query, what it reads, and of its terms what these need."""

    query: str
    sources: tuple[Source, ...]
    terms: tuple[tuple[LinkedSource, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Summarised:
    """The groups of a view, whose columns have these types, and their summary. `location` is the folder of the view."""

    engine: Engine
    program: Program
    view: View
    location: str
    kept: KeptAggregate
    groups: Mapping[str, str]
    summary: summaries.Summary

    @property
    def form(self) -> str:
        """The definition of the summary."""
        return summaries.definition(self.summary)

    def anew(self, folders: Sequence[str], step: int, form: str) -> SummaryState | None:
        """The summary of all groups, in segments that stand in these folders. None: it fails, or is not small."""
        ask = _Ask(summaries.summary_query(self.summary), (self.log(summaries.ALL, folders),))
        try:
            return self._summary(self._written(ask, "summary", step, form), had_all=True)
        except EngineError as error:
            if error.code in ENDED:
                raise
            return None

    def after(self, known: SummaryState, were: Sequence[str], came: str, step: int, form: str) -> SummaryState | None:
        """The summary after groups changed: as they were in the segments `were`, as they are in the segment `came`. None:
        there is none any more."""
        try:
            state = self._followed(known, were, came, step, form)
        except EngineError as error:
            if error.code in ENDED:
                raise
            state = None
        if state is not None and summaries.is_enough(self.summary, state.rows, are_all=state.has_all):
            return state
        if state is not None:
            self.let_go(state.folder)
        return self.anew((*were, came), step, form)

    def rest(self, state: SummaryState) -> tuple[str, tuple[Source, ...]]:
        """The query for the view's rows, and what it reads."""
        query = summaries.rest_query(self.kept, self.summary, self.groups, self._types(state))
        return query, (self._source(KEPT, state.folder),)

    def log(self, name: str, folders: Sequence[str]) -> LogSource:
        """The groups in segments that stand in these folders, the oldest first."""
        locations = tuple(join_location(self.location, one) for one in folders)
        return LogSource(name, locations, latest=key_columns(self.kept))

    def joined(
        self, segments: Sequence[StateSegment], step: int, form: str, *, is_last: bool = False
    ) -> tuple[StateSegment, ...]:
        """Segments, with those put together that are to be; `is_last`: all, as there is no summary any more."""
        stay = 0 if is_last else _that_stay(segments)
        if stay == len(segments):
            return tuple(segments)
        columns = ", ".join(f"`{name}`" for name in columns_of(self.kept))
        # A group that is gone hides what an earlier segment has of it.
        there = "" if stay else f" WHERE `{ROWS}` > 0"
        source = self.log(KEPT, [one.folder for one in segments[stay:]])
        ask = _Ask(f"SELECT {columns} FROM `{KEPT}`{there}", (source,))
        return (*segments[:stay], self._written(ask, "joined", step, form))

    def _written(self, ask: _Ask, what: str, step: int, form: str) -> StateSegment:
        """Write the rows of a query to a folder of its own."""
        folder = staging_folder(self.program.name, what, str(step), self.view.name, form)
        settings = dict(sorted(self.program.settings.spark.items()))
        staging = join_location(self.location, folder)
        build = ViewBuild(f"{self.view.name} (kept)", ask.query, (), ask.sources, staging, settings)
        built = self.engine.build_view(replace(build, terms=ask.terms, is_kept=True))
        remember_columns(staging, built.columns)
        return StateSegment(folder, step, built.rows, built.bytes)

    def let_go(self, folder: str) -> None:
        """Remove a folder that no step comes to name."""
        with suppress(EngineError):  # on an object store; a prune removes it
            remove(self.engine, join_location(self.location, folder))

    def _followed(self, known: SummaryState, were: Sequence[str], came: str, step: int, form: str) -> SummaryState:
        query = summaries.changed_summary_query(
            self.kept, self.summary, self._types(known), CHANGE_COLUMN, are_all=known.has_all
        )
        sources: tuple[Source, ...] = (self._source(KEPT, known.folder), self._source(summaries.CAME, came))
        terms: tuple[tuple[LinkedSource, ...], ...] = ()
        if summaries.reads_what_was(self.summary):
            sources = (*sources, self.log(summaries.WERE, were))
            same = tuple((key, key) for key in key_columns(self.kept))
            terms = ((LinkedSource(summaries.CAME), LinkedSource(summaries.WERE, 0, same, with_null=True)),)
        written = self._written(_Ask(query, sources, terms), "summary followed", step, form)
        return self._summary(written, had_all=known.has_all)

    def _summary(self, written: StateSegment, *, had_all: bool) -> SummaryState:
        has_all = had_all and summaries.has_all(self.summary, written.rows)
        return SummaryState(written.folder, written.step, written.rows, written.bytes, self.form, has_all)

    def _types(self, state: SummaryState) -> dict[str, str]:
        """The types of the columns of the summary."""
        found = {one.name: one.type for one in staged_columns(join_location(self.location, state.folder))}
        if tuple(found) != summaries.summary_columns(self.summary):
            raise EngineError("X700", f"what is kept of {self.view.name} has other columns")
        return found

    def _source(self, name: str, folder: str) -> StoredSource:
        return StoredSource(name, join_location(self.location, folder), 0, is_kept=True)


def _that_stay(segments: Sequence[StateSegment]) -> int:
    """How many segments, the first ones, a step leaves as they are; it puts the others together."""
    first, *later = segments
    if later and _SHARE * sum(one.rows for one in later) > first.rows:
        return 0
    return 1 if len(later) > MOST_SEGMENTS else len(segments)
