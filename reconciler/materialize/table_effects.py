"""What a step brings into tables: ranges of inputs, a statement, newer steps of other pipelines.

Each is repeatable, with everything pinned: the ranges by the intent, the transaction by the step's number. Where a write
leaves a table with many small files, these are put together in the next commit, which changes no rows (`delta.compaction`);
what is published is that one. Rows that are late for their table are left out (`late_rows`): by what was published before,
whatever the step reads first.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from reconciler.base.boundaries import BEFORE, EFFECTED
from reconciler.base.errors import EngineError, IngestFailed
from reconciler.base.names import fold
from reconciler.delta.commits import version_with
from reconciler.engine.protocol import DeadLetters, Ingestion, Statement, TableTarget, Transaction, Written
from reconciler.environment.locations import with_absolute_location, with_root
from reconciler.materialize.commit_origins import short_range, versions_read
from reconciler.materialize.late_rows import as_stored, greatest_after, greatest_of_table
from reconciler.materialize.small_files import put_together
from reconciler.materialize.step_progress import StepProgress
from reconciler.materialize.withdrawing import ingest_transaction, statement_transaction
from reconciler.project.program.functions import called_functions
from reconciler.project.program.lateness import Number, columns_with_lateness, first_on_time
from reconciler.project.program.model import Connector
from reconciler.query.reading import declared_columns, functions_for, require_foreign, sources_for, table_defaults
from reconciler.registry.intents import Ingest, RunStatement
from reconciler.registry.placements import ForeignStep, Placement, moved_foreign
from reconciler.state.folders import dead_letters_location

DEFAULT_MAX_REJECTED = 100


class TableEffects:
    """See the module."""

    def __init__(self, step: StepProgress) -> None:
        self._step = step

    def ingest(self, ingest: Ingest) -> None:
        """Read a range of an input into its table. Raises IngestFailed."""
        connector = self._step.program.connectors[fold(ingest.connector)]
        key, name = fold(connector.relation), connector.qualified_name
        ingestion = Ingestion(
            target=self._table_target(key),
            connector=name,
            settings=with_absolute_location(connector.settings, self._step.target.root),
            range=with_root(ingest.range, self._step.target.root),
            transaction=ingest_transaction(name, self._step.number),
            dead_letters=self._dead_letters(connector),
            commit={**self._step.said, "inputs": {name: short_range(ingest.range)}},
            first_on_time=self._first_on_time(key),
        )
        try:
            self._write(key, name, lambda: self._step.engine.ingest(ingestion), ingestion.transaction)
        except EngineError as error:
            raise IngestFailed(name, error) from error

    def follow(self, newer: Mapping[str, ForeignStep]) -> None:
        """Read other pipelines at newer steps of theirs."""
        self._step.changed |= moved_foreign(self._step.foreign, newer)
        self._step.foreign = dict(sorted({**self._step.foreign, **newer}.items()))

    def _dead_letters(self, connector: Connector) -> DeadLetters:
        limit = connector.settings.get("max_rejected", DEFAULT_MAX_REJECTED)
        location = dead_letters_location(self._step.target, self._step.program.name)
        keeps_late = connector.settings.get("late_rows") == "dead_letters"
        return DeadLetters(location, self._step.number, limit, keeps_late)

    def _first_on_time(self, key: str) -> dict[str, Number]:
        """By folded name, the smallest value of a column that is not late in this step."""
        table, placement = self._step.program.tables[key], self._step.before[key]
        if not columns_with_lateness(table):
            return {}
        location = self._step.location_of(placement)
        known = greatest_of_table(self._step.engine, table, location, placement)
        self._step.greatest.setdefault(key, known)
        return first_on_time(table, known)

    def execute(self, work: RunStatement) -> None:
        """Run a statement that changes a table."""
        place = self._step.place_before
        sources = sources_for(self._step.program, work.relations, place)
        require_foreign(sources, self._step.foreign)
        statement = Statement(
            target=self._table_target(work.table),
            sql=work.sql,
            sources=sources,
            settings=self._step.program.settings.spark,
            functions=functions_for(
                self._step.program, called_functions(work.sql, self._step.program.functions), work.relations
            ),
            transaction=statement_transaction(self._step.number),
            commit={**self._step.said, "inputs": versions_read(sources)},
            first_on_time=self._first_on_time(work.table),
        )
        name = self._step.program.tables[work.table].name
        self._write(work.table, name, lambda: self._step.engine.execute(statement), statement.transaction)

    def _write(self, key: str, name: str, write: Callable[[], Written], transaction: Transaction) -> None:
        self._step.boundary(f"table:{BEFORE}")
        self._step.check()
        started = self._step.clock()
        written = write()
        self._step.seconds["ingest"] += self._step.clock() - started
        self._step.boundary(f"table:{EFFECTED}")
        placement = self._step.placements[key]
        if written.version != placement.version:
            self._step.added.setdefault(key, []).append(
                (placement.version, self._came_with(placement, written, transaction))
            )
            placement = self._with_greatest(key, placement, written.version)
            found = put_together(self._step, placement, written.version, transaction)
            rows, size = (found.rows, found.bytes) if found else (None, None)
            version = found.version if found else written.version
            self._step.placements[key] = replace(placement, version=version, rows=rows, bytes=size)
            self._step.changed.add(key)
        self._step.rows[name] = written.rows
        if written.rejected:
            self._step.rejected[name] = written.rejected
        if written.unmatched:
            self._step.unmatched[name] = written.unmatched
        if written.late:
            self._step.late[name] = written.late
        if written.unknown:
            self._step.unknown[name] = written.unknown
        if written.missing:
            self._step.missing[name] = written.missing
        if written.without_spark:
            self._step.without_spark.add(name)

    def _came_with(self, placement: Placement, written: Written, transaction: Transaction) -> int:
        """The version whose commit brought the rows of a write: where an earlier attempt wrote them, small files may have
        been put together since."""
        if not written.reused:
            return written.version
        location = self._step.location_of(placement)
        found = version_with(location, written.version, transaction)
        return written.version if found is None else found

    def _with_greatest(self, key: str, placement: Placement, version: int) -> Placement:
        """The placement with the greatest values of its columns after a write."""
        table = self._step.program.tables[key]
        if key not in self._step.greatest:
            return replace(placement, greatest={}) if placement.greatest else placement
        location, versions = self._step.location_of(placement), (placement.version, version)
        after = greatest_after(self._step.engine, table, location, self._step.greatest[key], versions)
        self._step.greatest[key] = after
        return replace(placement, greatest=as_stored(table, after))

    def _table_target(self, key: str) -> TableTarget:
        table = self._step.program.tables[key]
        return TableTarget(
            table.name,
            self._step.location_of(self._step.before[key]),
            declared_columns(table),
            table.primary_key,
            table_defaults(table, self._step.program.settings),
            table.declaration.append_only,
        )
