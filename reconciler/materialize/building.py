"""Building beside what serves: rows of evolved tables and of new and modified views, written into staging folders.

| step | reads | writes |
|---|---|---|
| evolve_table | the table at its published version | its rows under the new columns |
| bootstrap_view | see below | the view's rows |

A view is bootstrapped from: what is published, for relations that stay, with NULL in the columns that a table is extended
by; no rows, for tables that are created or cleared; the staging folder, for tables evolved and views bootstrapped before it
in the same plan; the version of the table that has them, for views before it that take rows which are kept (`kept_rows`).
Nothing of this depends on when or how often it runs.

Rules for the names of staging folders:
- A folder is named by everything that its contents are computed from: query or columns, settings, functions, the version of
  every relation read, the ids of other pipelines' tables, and for those that are staged themselves, their folder. So where
  nothing moved the name is the same, and what is there already is the result; where anything moved, directly or not, it is
  another.
- Rows that were staged to be promoted (`staging`) are found by the same names: where nothing moved since, theirs is the
  folder.
- It is named by who builds, too: no two processes ever write into one folder, whatever they believe about each other.
  What somebody else completed may be read, since nothing is ever written to a complete folder.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.delta.contents import is_readable
from reconciler.delta.opening import join_location
from reconciler.delta.tables import table_version
from reconciler.engine.protocol import Engine, TableBuild, ViewBuild
from reconciler.engine.sources import EmptySource, StoredSource
from reconciler.materialize.view_builds import view_build
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.clear_table import ClearTable
from reconciler.plan.operations.create_table import CreateTable
from reconciler.plan.operations.evolve_table import EvolveTable
from reconciler.plan.operations.extend_table import ExtendTable
from reconciler.plan.operations.rename_relation import RenameRelation
from reconciler.plan.operations.step import Step
from reconciler.plan.steps import StoredReads
from reconciler.project.program.model import Program
from reconciler.query.reading import (
    Place,
    declared_columns,
    published_place,
    require_foreign,
    spelled_columns,
    table_columns,
)
from reconciler.registry.entries import BuildResult
from reconciler.registry.model import StagedView
from reconciler.registry.placements import ForeignStep, Placement, foreign_place, foreign_placements
from reconciler.state.folders import folder_for, renamed_placements, staging_folder

BuildStep: TypeAlias = BootstrapView | EvolveTable


@dataclass(frozen=True, slots=True)
class Copied:
    """Rows that a view takes from another one, at a Delta version of its folder (`location`, below the warehouse), as files
    in the folder `staging` below its own; `step` is the published one of that version."""

    location: str
    version: int
    step: int
    staging: str


@dataclass(frozen=True, slots=True)
class PlannedBuilds:
    """What the builds of one plan are made of: the desired program and the steps that lead to it; `placements`, which are
    those published, under the names that relations had before the plan; `foreign`, what is read of other pipelines; and
    `staged`, rows that were staged before, by folded name of their views."""

    desired: Program
    steps: tuple[Step, ...]
    placements: Mapping[str, Placement]
    foreign: Mapping[str, ForeignStep] = field(default_factory=dict)
    staged: Mapping[str, StagedView] = field(default_factory=dict)


class Building:
    """The builds of one plan. `builder` names the process that builds, `clock` gives seconds, of which only differences
    count."""

    def __init__(
        self, engine: Engine, warehouse: str, planned: PlannedBuilds, builder: str, clock: Callable[[], float]
    ) -> None:
        self._staged_before = planned.staged
        self._engine = engine
        self._warehouse = warehouse
        self._desired = planned.desired
        self._reads = StoredReads(planned.desired)
        self._builder = builder
        self._clock = clock
        steps = planned.steps
        renames = [(step.applied, step.relation) for step in steps if isinstance(step, RenameRelation)]
        self._placements = renamed_placements(planned.placements, renames)
        self._foreign_steps = planned.foreign
        self._foreign = foreign_placements(planned.foreign)
        self._emptied = {fold(step.relation) for step in steps if isinstance(step, CreateTable | ClearTable)}
        self._builds = {fold(step.relation) for step in steps if isinstance(step, BootstrapView | EvolveTable)}
        self._extended = {fold(step.relation): step.columns for step in steps if isinstance(step, ExtendTable)}
        self._staged: dict[str, str] = {}
        self._kept: dict[str, tuple[int, int]] = {}
        self._copied: dict[str, Copied] = {}
        self._rows: dict[str, int] = {}

    @property
    def placements(self) -> Mapping[str, Placement]:
        """Those published, under the names that relations have after the plan."""
        return self._placements

    def folder(self, relation: str) -> str:
        """The folder of a relation below the warehouse."""
        return folder_for(self._desired.name, relation, self._placements)

    def staged(self, relation: str) -> str:
        """The staging folder that was chosen for a relation."""
        return self._staged[fold(relation)]

    def staged_folder(self, relation: str) -> str:
        """The folder below the warehouse that is `staged` for a relation."""
        return f"{self.folder(relation)}/{self.staged(relation)}"

    def choose(self, step: BuildStep) -> str:
        """Choose the staging folder of a step, below its relation's folder. What it reads must have been chosen before."""
        relation, contents = step.relation, repr(self._build_of(step, staging="")) + self._tables_of_others()
        before = self._staged_before.get(fold(relation)) if isinstance(step, BootstrapView) else None
        if before is not None and before.location == self.folder(relation):
            same = staging_folder(self._desired.name, before.builder, contents) == before.staging
            if same and is_readable(join_location(self._warehouse, before.location, before.staging), 0):
                return self.keep(relation, before.staging, before.result.rows)
        return self.keep(relation, staging_folder(self._desired.name, self._builder, contents))

    def _tables_of_others(self) -> str:
        """The tables of other pipelines that are read, by their ids: one that is made anew at its place begins again at the
        versions that the other one had."""
        ids = {place: dict(sorted(one.ids.items())) for place, one in sorted(self._foreign_steps.items()) if one.ids}
        return repr(ids) if ids else ""

    def takes_staged(self, relation: str) -> bool:
        """Whether the folder that was chosen for a relation is that of rows that were staged before."""
        before = self._staged_before.get(fold(relation))
        return before is not None and self._staged.get(fold(relation)) == before.staging

    def has_staged(self, step: BuildStep) -> bool:
        """Whether rows that were staged before are those that this step gives; then their folder is chosen."""
        if not isinstance(step, BootstrapView) or fold(step.relation) not in self._staged_before:
            return False
        self.choose(step)
        return self.takes_staged(step.relation)

    def keep(self, relation: str, staging: str, rows: int | None = None) -> str:
        """Take the staging folder that was chosen for a relation before, and the rows that are known to be there."""
        self._staged[fold(relation)] = staging
        if rows is not None:
            self._rows[fold(relation)] = rows
        return staging

    def take_kept(self, relation: str, version: int, step: int) -> None:
        """Take rows that are kept in a relation's table, at this version, as of this step: nothing is built."""
        self._kept[fold(relation)] = version, step

    def take_copied(self, relation: str, location: str, version: int, step: int, staging: str | None = None) -> Copied:
        """Take the rows that another view has in its folder, at this version, as of this step: nothing is built. `staging`
        was chosen before."""
        contents = repr(("copy", location, version))
        folder = staging or staging_folder(self._desired.name, self._builder, contents)
        self._copied[fold(relation)] = Copied(location, version, step, folder)
        return self._copied[fold(relation)]

    def copied(self, relation: str) -> Copied | None:
        """The rows of another view that a relation takes, if it does."""
        return self._copied.get(fold(relation))

    def drop_kept(self, relation: str) -> None:
        """Build a relation after all: the rows that it was to take are gone."""
        self._kept.pop(fold(relation), None)
        self._copied.pop(fold(relation), None)

    def kept_version(self, relation: str) -> int | None:
        """The version of a relation's table whose rows it takes; None where it takes none that are kept."""
        kept = self._kept.get(fold(relation))
        return None if kept is None else kept[0]

    def kept_step(self, relation: str) -> int | None:
        """As of which step the rows are that a relation takes; None where it takes none that are kept."""
        kept, copied = self._kept.get(fold(relation)), self._copied.get(fold(relation))
        return kept[1] if kept is not None else copied.step if copied is not None else None

    def stored_version(self, relation: str) -> int | None:
        """The version of a relation's own table that has its rows once the plan is done; None where there is none yet."""
        key = fold(relation)
        if key in self._kept:
            return self._kept[key][0]
        if key in self._emptied | self._builds | set(self._extended) or key not in self._placements:
            return None
        return self._placements[key].version

    def foreign_table(self, key: str) -> tuple[Placement, str] | None:
        """Where another pipeline's relation, or a version, is read, by its key, and the id of the table there; None where it
        is not."""
        place, name = foreign_place(key, self._foreign_steps)
        one = self._foreign_steps.get(place)
        return (one.relations[name], one.ids.get(name, "")) if one is not None and name in one.relations else None

    def is_complete(self, relation: str) -> bool:
        """Whether a relation's staging folder holds a result: then it will never be written again."""
        if self.takes_staged(relation):
            # It may be there for long: somebody's vacuum takes files that no version of the view's table names.
            return is_readable(self._absolute(relation), 0)
        return table_version(self._absolute(relation)) is not None

    def build(self, step: BuildStep) -> BuildResult:
        """Build into the staging folder that was chosen, unless it is complete; what is to be known of the result."""
        relation = step.relation
        if self.takes_staged(relation):
            return self._staged_before[fold(relation)].result
        started = self._clock()
        wanted = self._build_of(step, self._absolute(step.relation))
        if isinstance(wanted, TableBuild):
            written = self._engine.build_table(wanted)
            return BuildResult(written.rows, written.bytes)
        require_foreign(wanted.sources, self._foreign_steps)
        built = self._engine.build_view(wanted)
        # Who finds the folder complete has not seen how long it took.
        seconds = None if built.reused else round(self._clock() - started, 3)
        key = fold(wanted.view)
        self._rows[key] = built.rows
        return BuildResult(built.rows, built.bytes, built.columns, seconds, self._rows_read(key), built.failed_calls)

    def _build_of(self, step: BuildStep, staging: str) -> TableBuild | ViewBuild:
        if isinstance(step, EvolveTable):
            placement = self._placements[fold(step.relation)]
            return TableBuild(
                table=step.relation,
                source=StoredSource(
                    step.applied, join_location(self._warehouse, self.folder(step.relation)), placement.version
                ),
                columns=declared_columns(self._desired.tables[fold(step.relation)]),
                taken_from=tuple(column.source for column in step.columns),
                staging=staging,
            )
        return view_build(self._desired, self._desired.views[fold(step.relation)], self._place(), staging)

    def _rows_read(self, key: str) -> int | None:
        """The rows of all that the view is computed from; None when those of some are not known."""
        total = 0
        for read in map(fold, self._reads.of(key)):
            placement = self._placements.get(read) or self._foreign.get(read)
            rows = placement.rows if placement else None
            rows = 0 if read in self._emptied else self._rows.get(read, rows)
            if rows is None:
                return None
            total += rows
        return total

    def _place(self) -> Place:
        published = published_place(self._desired, self._warehouse, {**self._placements, **self._foreign})

        def place(key: str) -> StoredSource | EmptySource:
            if key in self._emptied:
                table = self._desired.tables[key]
                return EmptySource(table.name, table_columns(table))
            spelled = spelled_columns(self._desired, key)
            if key in self._kept:
                location = join_location(self._warehouse, self.folder(key))
                return StoredSource(self._desired.views[key].name, location, self._kept[key][0], spelled=spelled)
            if key in self._copied:
                copied = self._copied[key]
                location = join_location(self._warehouse, copied.location)
                return StoredSource(self._desired.views[key].name, location, copied.version, spelled=spelled)
            if key in self._builds:
                relation = self._desired.relations[key]
                return StoredSource(relation.name, self._absolute(relation.name), 0, spelled=spelled)
            found = published(key)
            if key in self._extended and isinstance(found, StoredSource):
                more = {fold(name) for name in self._extended[key]}
                added = (c for c in table_columns(self._desired.tables[key]) if fold(c.name) in more)
                return replace(found, added=tuple(added))
            return found

        return place

    def _absolute(self, relation: str) -> str:
        return join_location(self._warehouse, self.folder(relation), self.staged(relation))
