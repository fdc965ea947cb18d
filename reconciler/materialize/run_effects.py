"""The effects of one step: its tables are written, then the stored views that depend on them are computed and published.

Each is repeatable, with everything pinned: the ranges by the intent, the versions that are read by the published step and by
what this step wrote before, the transactions by the step's number. Each commit says of which pipeline, step and epoch it is,
and from what it was made: for a table the connector's range in short, for a view the versions of the relations it reads.

Where a write leaves a table with many small files, these are put together in the next commit, which changes no rows
(`delta.compaction`); what is published is that one. Views that read the table are computed after it, in the same step: none
was computed from its rows in another order.

Rows that are late for their table are left out (`late_rows`): by what was published before, whatever the step reads first.

A view that had no rows and has none again stays as it was, and so does what reads it: no other sameness can be told without
reading rows. Only views follow that read, directly or not, a relation that changed; which way each does, says
`incremental_steps`.

A step that follows other pipelines (kind `follow`) writes no table: it reads their relations where its intent pins them, and
what stands elsewhere than before has changed.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias, assert_never

from reconciler.base.boundaries import BEFORE, EFFECTED, INTENDED
from reconciler.base.errors import EngineError, IngestFailed, RegistryError
from reconciler.base.names import fold
from reconciler.delta.appending import publish_added
from reconciler.delta.commits import version_with
from reconciler.delta.opening import join_location
from reconciler.delta.publishing import publish
from reconciler.delta.tables import TableStatistics, statistics, table_version
from reconciler.engine.protocol import (
    Built,
    Compaction,
    DeadLetters,
    FailedCalls,
    Ingestion,
    RowChanges,
    Source,
    Statement,
    TableTarget,
    Transaction,
    Written,
)
from reconciler.engine.stored import compaction_of
from reconciler.environment.locations import with_absolute_location, with_root
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.incremental.model import Way
from reconciler.materialize.apply_effects import remove, staging_folder
from reconciler.materialize.changed_sources import KnownKeys, StepChanges
from reconciler.materialize.commit_origins import short_range, versions_read
from reconciler.materialize.incremental_steps import bring_up_to_date
from reconciler.materialize.late_letters import add_letters
from reconciler.materialize.late_rows import as_stored, greatest_after, greatest_of_table
from reconciler.materialize.stream_steps import Places, go_on
from reconciler.materialize.view_builds import view_build
from reconciler.materialize.view_steps import Around
from reconciler.materialize.withdrawing import ingest_transaction, statement_transaction, view_transaction
from reconciler.plan.steps import StoredReads
from reconciler.project.program.functions import called_functions
from reconciler.project.program.lateness import Number, columns_with_lateness, first_on_time
from reconciler.project.program.model import Connector, Program, View
from reconciler.query.reading import (
    Place,
    declared_columns,
    functions_for,
    published_place,
    require_foreign,
    sources_for,
    table_defaults,
)
from reconciler.registry.intents import FollowPipelines, Ingest, ReadInputs, RestoreCheckpoint, RunStatement, UnknownWork
from reconciler.registry.model import Head
from reconciler.registry.placements import ForeignStep, KeysSeen, Placement, foreign_placements, moved_foreign
from reconciler.state.folders import dead_letters_location

DEFAULT_MAX_REJECTED = 100

Doing: TypeAlias = Callable[[int, str, int, int], None]
"""Told before each part of a step that may take long: the step's number, what is done, the how many-th of how many."""


def untold(step: int, what: str, number: int, of: int) -> None:
    """Nobody wants to know."""


class StepEffects:
    """The effects of the head's intent. `placements` moves along from the published step to the next; so do the counts."""

    def __init__(
        self,
        target: Target,
        program: Program,
        head: Head,
        session: Session,
        doing: Doing = untold,
    ) -> None:
        if head.intent is None or head.published is None:
            raise RegistryError("G602", f"{head.pipeline!r} has no step to carry out")
        self._target = target
        self._program = program
        self._engine = session.engine
        self._intent = head.intent
        self._boundary = session.boundary
        self._check = session.check
        self._clock = session.clock
        self._choice = session.choice
        self._doing = doing
        self._said = {"pipeline": head.pipeline, "step": head.intent.step, "epoch": head.epoch}
        self._before = dict(head.published.relations)
        self.placements: dict[str, Placement] = dict(self._before)
        self.foreign: dict[str, ForeignStep] = dict(head.published.foreign)
        self.rows: dict[str, int] = {}
        self.rejected: dict[str, int] = {}
        self.unmatched: dict[str, int] = {}
        self.late: dict[str, int] = {}
        self.unknown: dict[str, Mapping[str, int]] = {}
        self.missing: dict[str, tuple[str, ...]] = {}
        self.without_spark: set[str] = set()
        self.ways: dict[str, str] = {}
        self.failed_calls: dict[str, tuple[FailedCalls, ...]] = {}
        self.seconds: dict[str, float] = {"ingest": 0.0, "views": 0.0, "publish": 0.0}
        self._changed: set[str] = set()
        self._known_keys: KnownKeys = {}
        self._greatest: dict[str, Mapping[str, Number]] = {}
        self._added: dict[str, list[tuple[int, int]]] = {}
        self.lost: list[str] = []
        self.keys: dict[str, KeysSeen] = {}

    def write_tables(self) -> None:
        """Bring in what the intent names."""
        work = self._intent.work
        match work:
            case ReadInputs():
                for number, ingest in enumerate(work.ingests, start=1):
                    self._doing(self._intent.step, f"read {ingest.connector}", number, len(work.ingests))
                    self._ingest(ingest)
            case RunStatement():
                self._execute(work)
            case FollowPipelines():
                self._follow(work.foreign)
            case RestoreCheckpoint():
                raise AssertionError("a restore is carried out by `restoring_checkpoints`")
            case UnknownWork():
                raise RegistryError("G606", f"a newer version of reconciler left a step of kind {work.kind!r} unfinished")
            case _:
                assert_never(work)

    def compute_views(self) -> tuple[str, ...]:
        """Bring every stored view up to date that reads what changed; their names."""
        computed = []
        reads = StoredReads(self._program)
        views = self._program.views
        stored = [(key, views[key]) for key in self._program.order if key in views and views[key].is_stored]
        for number, (key, view) in enumerate(stored, start=1):
            if not self._changed & {fold(name) for name in reads.of(key)}:
                continue
            self._doing(self._intent.step, f"compute {view.name}", number, len(stored))
            if view.stream is not None and view.stream.remembers:
                self._go_on(key)
            else:
                self._compute(key)
            computed.append(view.name)
        return tuple(computed)

    def _ingest(self, ingest: Ingest) -> None:
        connector = self._program.connectors[fold(ingest.connector)]
        key, name = fold(connector.relation), connector.qualified_name
        ingestion = Ingestion(
            target=self._table_target(key),
            connector=name,
            settings=with_absolute_location(connector.settings, self._target.root),
            range=with_root(ingest.range, self._target.root),
            transaction=ingest_transaction(name, self._intent.step),
            dead_letters=self._dead_letters(connector),
            commit={**self._said, "inputs": {name: short_range(ingest.range)}},
            first_on_time=self._first_on_time(key),
        )
        try:
            self._write(key, name, lambda: self._engine.ingest(ingestion), ingestion.transaction)
        except EngineError as error:
            raise IngestFailed(name, error) from error

    def _follow(self, newer: Mapping[str, ForeignStep]) -> None:
        """Read other pipelines at newer steps of theirs."""
        self._changed |= moved_foreign(self.foreign, newer)
        self.foreign = dict(sorted({**self.foreign, **newer}.items()))

    def _dead_letters(self, connector: Connector) -> DeadLetters:
        limit = connector.settings.get("max_rejected", DEFAULT_MAX_REJECTED)
        location = dead_letters_location(self._target, self._program.name)
        keeps_late = connector.settings.get("late_rows") == "dead_letters"
        return DeadLetters(location, self._intent.step, limit, keeps_late)

    def _first_on_time(self, key: str) -> dict[str, Number]:
        """By folded name, the smallest value of a column that is not late in this step."""
        table, placement = self._program.tables[key], self._before[key]
        if not columns_with_lateness(table):
            return {}
        location = join_location(self._target.warehouse, placement.location)
        known = greatest_of_table(self._engine, table, location, placement)
        self._greatest.setdefault(key, known)
        return first_on_time(table, known)

    def _execute(self, work: RunStatement) -> None:
        place = self._place(self._before)
        sources = sources_for(self._program, work.relations, place)
        require_foreign(sources, self.foreign)
        statement = Statement(
            target=self._table_target(work.table),
            sql=work.sql,
            sources=sources,
            settings=self._program.settings.spark,
            functions=functions_for(self._program, called_functions(work.sql, self._program.functions), work.relations),
            transaction=statement_transaction(self._intent.step),
            commit={**self._said, "inputs": versions_read(sources)},
            first_on_time=self._first_on_time(work.table),
        )
        name = self._program.tables[work.table].name
        self._write(work.table, name, lambda: self._engine.execute(statement), statement.transaction)

    def _write(self, key: str, name: str, write: Callable[[], Written], transaction: Transaction) -> None:
        self._boundary(f"table:{BEFORE}")
        self._check()
        started = self._clock()
        written = write()
        self.seconds["ingest"] += self._clock() - started
        self._boundary(f"table:{EFFECTED}")
        placement = self.placements[key]
        if written.version != placement.version:
            self._added.setdefault(key, []).append((placement.version, self._came_with(placement, written, transaction)))
            placement = self._with_greatest(key, placement, written.version)
            found = self._compacted(placement, written.version, transaction)
            rows, size = (found.rows, found.bytes) if found else (None, None)
            version = found.version if found else written.version
            self.placements[key] = replace(placement, version=version, rows=rows, bytes=size)
            self._changed.add(key)
        self.rows[name] = written.rows
        if written.rejected:
            self.rejected[name] = written.rejected
        if written.unmatched:
            self.unmatched[name] = written.unmatched
        if written.late:
            self.late[name] = written.late
        if written.unknown:
            self.unknown[name] = written.unknown
        if written.missing:
            self.missing[name] = written.missing
        if written.without_spark:
            self.without_spark.add(name)

    def _came_with(self, placement: Placement, written: Written, transaction: Transaction) -> int:
        """The version whose commit brought the rows of a write: where an earlier attempt wrote them, small files may have
        been put together since."""
        if not written.reused:
            return written.version
        location = join_location(self._target.warehouse, placement.location)
        found = version_with(location, written.version, transaction)
        return written.version if found is None else found

    def _with_greatest(self, key: str, placement: Placement, version: int) -> Placement:
        """The placement with the greatest values of its columns after a write."""
        table = self._program.tables[key]
        if key not in self._greatest:
            return replace(placement, greatest={}) if placement.greatest else placement
        location, versions = join_location(self._target.warehouse, placement.location), (placement.version, version)
        after = greatest_after(self._engine, table, location, self._greatest[key], versions)
        self._greatest[key] = after
        return replace(placement, greatest=as_stored(table, after))

    def _compacted(self, placement: Placement, version: int, written: Transaction) -> TableStatistics | None:
        """What is known of a table that was written, after its small files are put together where they are many."""
        location = join_location(self._target.warehouse, placement.location)
        found = statistics(location, version)
        if found is None:
            return None
        self._boundary(f"compaction:{BEFORE}")
        self._check()
        started = self._clock()
        compacted = self._engine.compact(
            Compaction(location, version, found.small_files, compaction_of(written), self._said)
        )
        self.seconds["ingest"] += self._clock() - started
        self._boundary(f"compaction:{EFFECTED}")
        return found if compacted is None else statistics(location, compacted)

    def _place(self, placements: Mapping[str, Placement]) -> Place:
        return published_place(self._program, self._target.warehouse, {**placements, **foreign_placements(self.foreign)})

    def _compute(self, key: str) -> None:
        view, step = self._program.views[key], self._intent.step
        location = join_location(self._target.warehouse, self.placements[key].location)
        staging = staging_folder(self._program.name, "step", str(step), key)
        build = view_build(self._program, view, self._place(self.placements), join_location(location, staging))
        require_foreign(build.sources, self.foreign)
        self._boundary(f"view:{BEFORE}")
        self._check()
        started = self._clock()
        brought = bring_up_to_date(self._engine, self._program, view, self._around(location), build, step)
        self.seconds["views"] += self._clock() - started
        self._boundary(f"view:{INTENDED}")
        self._check()
        self.ways[view.name] = brought.way.value
        before, built = self.placements[key], brought.built
        self.placements[key] = placement = replace(before, state=brought.state)
        if brought.beside is not None:
            self._let_go(join_location(location, brought.beside))
        if brought.added is not None or brought.changed is not None:
            if brought.added is not None:
                is_done = self._add_rows(key, brought.added, built, build.sources, after=placement.version)
            else:
                assert brought.changed is not None
                is_done = self._change_rows(key, brought.changed, built, build.sources)
            if is_done:
                self._note(location, view)
                return
            self.ways[view.name] = Way.GIVEN_UP.value
            self._check()
            built = self._engine.build_view(build)
        self._note(location, view)
        if built.rows == 0 and placement.rows == 0 and built.columns == placement.columns:
            self._let_go(build.staging)
            return
        started = self._clock()
        commit = {**self._said, "inputs": versions_read(build.sources)}
        version = publish(location, staging, table_version(location), view_transaction(step), commit=commit)
        self.seconds["publish"] += self._clock() - started
        self._boundary(f"view:{EFFECTED}")
        self.placements[key] = replace(
            placement,
            version=version,
            rows=built.rows,
            bytes=built.bytes,
            columns=built.columns,
            failed_calls=built.failed_calls,
        )
        self._tell_of(view.name, built)
        self._changed.add(key)

    def _note(self, location: str, view: View) -> None:
        """Remember whether a view could follow, for the steps to come."""
        way = self.ways[view.name]
        if way != Way.RECOMPUTED:
            self._choice.given_up.note((location, view.query), gave_up=way == Way.GIVEN_UP)

    def _around(self, location: str) -> Around:
        foreign = foreign_placements(self.foreign)
        before, now = {**self._before, **foreign}, {**self.placements, **foreign}
        places = self._place(self._before), self._place(self.placements)
        changes = StepChanges(before, now, *places, self._added, self._known_keys)
        return Around(location, changes, self._choice, lambda: self._boundary(f"kept:{EFFECTED}"), self._check)

    def _go_on(self, key: str) -> None:
        """A stream goes on: it gives rows beside those that it gave before."""
        view, placement, step = self._program.views[key], self.placements[key], self._intent.step
        location = join_location(self._target.warehouse, placement.location)
        letters = dead_letters_location(self._target, self._program.name)
        places = Places(location, self._place(self._before), self._place(self.placements), self._added, letters)
        self._boundary(f"view:{BEFORE}")
        self._check()
        started = self._clock()
        done = go_on(self._engine, self._program, view, places, placement.state, step)
        self.seconds["views"] += self._clock() - started
        self._boundary(f"view:{INTENDED}")
        self._check()
        if done.lost:
            self.lost.append(view.name)
        if done.state.keys is not None and done.state.keys.step == step:
            self.keys[view.name] = done.state.keys
        self.placements[key] = replace(placement, state=done.state, failed_calls=done.built.failed_calls)
        if done.late:
            self.late[view.name] = done.late
        if done.letters is not None:
            add_letters(letters, done.letters, view.name, step)
            self._boundary(f"letters:{EFFECTED}")
        self._tell_of(view.name, done.built)
        self._add_rows(key, done.folder, done.built, done.output.sources)

    def _add_rows(
        self, key: str, folder: str, built: Built, sources: tuple[Source, ...], *, after: int | None = None
    ) -> bool:
        """Add rows that are staged to those that a view or stream has. False: it stands at another version than `after`."""
        placement = self.placements[key]
        location = join_location(self._target.warehouse, placement.location)
        if built.rows == 0:
            self._let_go(join_location(location, folder))
            return True
        started = self._clock()
        transaction = view_transaction(self._intent.step)
        commit = {**self._said, "inputs": versions_read(sources)}
        version = publish_added(location, folder, transaction, commit, after=after)
        self.seconds["publish"] += self._clock() - started
        if version is None:
            self._let_go(join_location(location, folder))
            return False
        self._go_to(key, version, transaction)
        return True

    def _change_rows(self, key: str, folder: str, built: Built, sources: tuple[Source, ...]) -> bool:
        """Bring staged rows to a view and take others out. False: it is to be computed from its query."""
        placement = self.placements[key]
        location = join_location(self._target.warehouse, placement.location)
        staging = join_location(location, folder)
        if built.rows == 0:
            self._let_go(staging)
            return True
        started = self._clock()
        transaction = view_transaction(self._intent.step)
        commit = {**self._said, "inputs": versions_read(sources)}
        version = self._engine.change_rows(RowChanges(location, placement.version, staging, transaction, commit))
        self.seconds["publish"] += self._clock() - started
        self._let_go(staging)
        if version is None:
            return False
        self._go_to(key, version, transaction)
        return True

    def _go_to(self, key: str, version: int, transaction: Transaction) -> None:
        """A view stands at a version to which rows came, or from which some went."""
        placement, started = self.placements[key], self._clock()
        self._added.setdefault(key, []).append((placement.version, version))
        found = self._compacted(placement, version, transaction)
        self.seconds["publish"] += self._clock() - started
        self._boundary(f"view:{EFFECTED}")
        rows, size = (found.rows, found.bytes) if found else (None, None)
        self.placements[key] = replace(placement, version=found.version if found else version, rows=rows, bytes=size)
        self._changed.add(key)

    def _let_go(self, staging: str) -> None:
        with suppress(EngineError):  # on an object store; a prune removes it
            remove(self._engine, staging)

    def _tell_of(self, name: str, built: Built) -> None:
        if built.without_spark:
            self.without_spark.add(name)
        if built.failed_calls:
            self.failed_calls[name] = built.failed_calls

    def _table_target(self, key: str) -> TableTarget:
        table = self._program.tables[key]
        return TableTarget(
            table.name,
            join_location(self._target.warehouse, self._before[key].location),
            declared_columns(table),
            table.primary_key,
            table_defaults(table, self._program.settings),
            table.declaration.append_only,
        )
