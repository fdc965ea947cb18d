"""RecordingEngine: the engine of `protocol` without Spark, for tests of everything around it.

It records every call and really does what is asked, on small data and in Python: staging, publishing by the shell,
transactions, versions, keys, positions and errors are as with Spark. What it does not do is evaluate SQL or run functions.
A query's answer is given beforehand (`answers`, by the name of the view or the text of the SELECT); without one a view is a
single row with a digest of its query, of the functions and of the rows that it reads, so that it changes exactly when these
do. It takes INSERT … VALUES of literals, DELETE without condition or by equality with a literal, JSON and CSV files, and
`SELECT * FROM source`.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject, canonical_json, digest_json
from reconciler.base.errors import EngineError
from reconciler.base.names import fold
from reconciler.engine.dead_letters import DEAD_LETTER_COLUMNS
from reconciler.engine.fields import missing_fields, no_common_field, under_source_names, unknown_fields
from reconciler.engine.files import changed, files_of, local_file, local_listing, unread
from reconciler.engine.http_ranges import as_files
from reconciler.engine.http_ranges import unread as unread_requests
from reconciler.engine.protocol import (
    Available,
    Built,
    Check,
    ColumnType,
    Compaction,
    Emission,
    Emitted,
    Ingestion,
    RowChanges,
    Rows,
    Selection,
    Statement,
    TableBuild,
    TableTarget,
    Transaction,
    Vacuum,
    ViewBuild,
    Written,
    unchecked,
)
from reconciler.engine.secrets import concealed, resolved, revealed
from reconciler.engine.sources import (
    CHANGE_COLUMN,
    EmptySource,
    FunctionSource,
    InlineSource,
    LogSource,
    Source,
    StoredSource,
)
from reconciler.engine.statement import Insert, read_statement
from reconciler.engine.stored import dead_letters_of
from reconciler.sql.structures import Shape, shape_of, without_common_field
from reconciler.testing.late_rows import late_column, told
from reconciler.testing.literals import deleted, fitted, inserted, matching
from reconciler.testing.recording_sinks import Sinks
from reconciler.testing.records import Change, Record, fitting, missing_from, read_records, updated
from reconciler.testing.tables import Contents, MemoryWriter, Row, Writer


@dataclass(slots=True)
class RecordingEngine:
    """See the module. `answers` maps a view's folded name, or a SELECT's text, to what its query gives; `sinks` are what
    outputs write to."""

    writer: Writer = field(default_factory=MemoryWriter)
    answers: Mapping[str, Contents] = field(default_factory=dict)
    calls: list[Any] = field(default_factory=list)
    closed: bool = False
    sinks: Sinks = field(default_factory=Sinks)

    def build_view(self, build: ViewBuild) -> Built:
        self._record(build)
        reused = self.writer.latest(build.staging) is not None
        if not reused:
            answer = self.answers.get(fold(build.view)) or self._digest_of(
                build.query, build.column_names, build.sources, build.functions
            )
            self.writer.write(build.staging, answer, None)
        return _built(self.writer.read(build.staging, 0), reused)

    def build_table(self, build: TableBuild) -> Built:
        self._record(build)
        reused = self.writer.latest(build.staging) is not None
        if not reused:
            now = self.writer.read(build.source.location, build.source.version)
            places = {fold(column.name): place for place, column in enumerate(now.columns)}
            taken = [None if name is None else places[fold(name)] for name in build.taken_from]
            rows = [[None if place is None else row[place] for place in taken] for row in now.rows]
            # What is staged says nothing of NULL: the declared columns do, when it is published.
            staged = tuple(replace(column, nullable=True) for column in build.columns)
            self.writer.write(build.staging, Contents(staged, tuple(_fitted(row, build.columns) for row in rows)), None)
        return _built(self.writer.read(build.staging, 0), reused)

    def discover(self, connector: str, settings: JsonObject, position: JsonObject | None) -> Available | None:
        self._record(("discover", connector, settings, position))
        found = self._discovered(connector, settings, None if position is None else revealed(position))
        if found is None:
            return None
        return replace(found, range=concealed(found.range, settings), position=concealed(found.position, settings))

    def _discovered(self, connector: str, settings: JsonObject, position: JsonObject | None) -> Available | None:
        config = resolved(settings)["transport"]["config"]
        match settings["transport"]["name"]:
            case "file_input":
                return unread(local_listing(Path(config["path"])), position, settings.get("max_batch_size"))
            case "http_input":
                return unread_requests(resolved(settings), position)
            case "delta_table_input" if position is not None:
                return None
            case "delta_table_input":
                version = self.writer.latest(config["uri"])
                if version is None:
                    raise EngineError("X710", f"connector {connector}: there is no Delta table at {config['uri']}")
                return Available({"uri": config["uri"], "version": version}, {"version": version, "complete": True}, True)
            case name:
                raise EngineError("X716", f"connector {connector}: the engine has no input transport {name!r}")

    def ingest(self, ingestion: Ingestion) -> Written:
        self._record(ingestion)

        target = ingestion.target
        as_read = under_source_names(target, ingestion.settings)
        missing: tuple[str, ...] = ()

        def read() -> list[Record]:
            nonlocal missing
            wanted = revealed(ingestion.range)
            if "uri" in wanted:
                source = self.writer.read(wanted["uri"], wanted["version"])
                names = [column.name for column in source.columns]
                values = [dict(zip(names, row, strict=True)) for row in source.rows]
                place = canonical_json({"table": wanted["uri"], "version": wanted["version"]})
                rows = (matching(one, as_read.columns, as_read.defaults) for one in values)
                shapes = _shapes(source.columns, as_read)
                unknown, missing = unknown_fields(names, as_read, shapes), missing_fields(names, as_read, shapes)
                return [fitting(Record(place, repr(row), (Change(row, unknown=unknown),)), target) for row in rows]
            settings = resolved(ingestion.settings)
            if settings["transport"]["name"] == "http_input":
                of_files, settings = as_files(ingestion, settings)
                wanted = of_files.range
            for file in files_of(wanted):
                if local_file(Path(file.path)) != file:
                    raise changed(file)
            format_ = settings.get("format") or {}
            paths = [file.path for file in files_of(wanted)]
            missing = missing_from(paths, format_, as_read)
            return [fitting(record, target) for record in read_records(paths, format_, as_read)]

        done = self._done(target, ingestion.transaction)
        if done is not None and ingestion.dead_letters is None:
            return done
        records = [_judged(record, ingestion) for record in read()]
        rejected = [record for record in records if record.problem is not None and not record.is_late]
        self._check_rejected(ingestion, rejected)
        late = [record for record in records if record.is_late]
        changes = [change for record in records if record.problem is None for change in record.changes]
        written = done or self._apply(target, ingestion.transaction, changes)
        keeps_late = ingestion.dead_letters is not None and ingestion.dead_letters.keeps_late
        self._write_dead_letters(ingestion, [*rejected, *(late if keeps_late else ())])
        if done is not None:
            return replace(written, rejected=len(rejected))
        counts = Counter(name for record in records for change in record.changes for name in change.unknown)
        unknown = dict(sorted(counts.items()))
        return replace(written, rejected=len(rejected), unknown=unknown, missing=missing, late=len(late))

    def execute(self, statement: Statement) -> Written:
        self._record(statement)
        parsed, target = read_statement(statement.sql), statement.target
        if fold(parsed.table) != fold(target.name):
            raise EngineError("X720", f"the statement writes to {parsed.table}, not to {target.name}")
        if isinstance(parsed, Insert):
            rows = [_fitted(row, target.columns) for row in inserted(parsed, target)]
            on_time = [row for row in rows if late_column(row, target, statement.first_on_time) is None]
            written = self._write(target, statement.transaction, lambda: on_time)
            return written if written.reused else replace(written, late=len(rows) - len(on_time))
        return self._delete(target, statement.transaction, deleted(parsed, target))

    def emit(self, emission: Emission, check: Check = unchecked) -> Emitted:
        self._record(emission)
        return self.sinks.emit(self.writer, emission, check)

    def select(self, selection: Selection) -> Rows:
        self._record(selection)
        if selection.sql in self.answers:
            answer = self.answers[selection.sql]
            return Rows(answer.columns, answer.rows)
        for source in selection.sources:
            if fold(selection.sql) == f"select * from {fold(source.name)}":
                contents = self._contents(source)
                return Rows(contents.columns, contents.rows)
        answer = self._digest_of(selection.sql, (), selection.sources, selection.functions)
        return Rows(answer.columns, answer.rows)

    def compact(self, compaction: Compaction) -> int | None:
        return None

    def may_change_rows(self, location: str) -> bool:
        return False

    def change_rows(self, changes: RowChanges) -> int | None:
        return None

    def vacuum(self, vacuum: Vacuum) -> None:
        self._record(vacuum)
        self.writer.vacuum(vacuum.location, vacuum.files)

    def remove(self, location: str) -> None:
        self._record(("remove", location))
        self.writer.remove(location)

    def interrupt(self) -> None:
        # Every call is over before another can be made.
        self._record(("interrupt",))

    def close(self) -> None:
        self.closed = True

    def _record(self, call: Any) -> None:
        if self.closed:
            raise EngineError("X701", "the engine is closed")
        self.calls.append(call)

    def _contents(self, source: Source) -> Contents:
        match source:
            case StoredSource(ranges=None):
                found = self.writer.read(source.location, source.version)
                nothing = (None,) * len(source.added)
                known = {fold(name): name for name in source.spelled}
                columns = (*found.columns, *source.added)
                spelled = tuple(replace(one, name=known.get(fold(one.name), one.name)) for one in columns)
                return Contents(spelled, tuple((*row, *nothing) for row in found.rows))
            case StoredSource(changes=True):
                ranges = source.ranges or ((source.version, source.version),)
                # By their texts as well: zeros with other signs are two values.
                both = (self._at(source, one).rows for one in (ranges[0][0], ranges[-1][1]))
                had, has = (Counter((row, repr(row)) for row in rows) for rows in both)
                changed = [(*row, "insert") for row, _ in (has - had).elements()]
                changed += [(*row, "delete") for row, _ in (had - has).elements()]
                columns = (*self._at(source, source.version).columns, ColumnType(CHANGE_COLUMN, "string"))
                return Contents(columns, tuple(changed))
            case StoredSource():
                parts = [(self._at(source, before), self._at(source, after)) for before, after in source.ranges or ()]
                added = [row for before, after in parts for row in (Counter(after.rows) - Counter(before.rows)).elements()]
                return Contents(self._at(source, source.version).columns, tuple(added))
            case LogSource():
                segments = [self._contents(one) for one in source.segments]
                rows = [row for one in segments for row in one.rows]
                if source.latest:
                    names = [fold(column.name) for column in segments[0].columns]
                    places = [names.index(fold(key)) for key in source.latest]
                    rows = [*{tuple(row[place] for place in places): row for row in rows}.values()]
                return Contents(segments[0].columns, tuple(rows))
            case EmptySource():
                return Contents(source.columns, ())
            case InlineSource():
                return self.answers.get(fold(source.name)) or self._digest_of(
                    source.query, source.column_names, (), source.functions
                )

    def _at(self, source: StoredSource, version: int) -> Contents:
        return self._contents(replace(source, version=version, ranges=None, changes=False))

    def _digest_of(
        self,
        query: str,
        column_names: Sequence[str],
        sources: Sequence[Source],
        functions: Sequence[FunctionSource] = (),
    ) -> Contents:
        read = [[fold(source.name), sorted(map(repr, self._contents(source).rows))] for source in sources]
        columns = tuple(ColumnType(name, "string") for name in column_names or ("digest",))
        return Contents(columns, ((digest_json([query, read, *map(repr, functions)]),) * len(columns),))

    def _write(self, target: TableTarget, transaction: Transaction, read: Callable[[], list[Row]]) -> Written:
        done = self._done(target, transaction)
        if done is not None:
            return done
        return self._apply(target, transaction, [Change(_fitted(row, target.columns)) for row in read()])

    def _apply(self, target: TableTarget, transaction: Transaction, changes: Sequence[Change]) -> Written:
        now = self._now(target)
        if not target.primary_key:
            return self._apply_to_multiset(target, transaction, changes)
        keys = {fold(name) for name in target.primary_key}
        places = [place for place, column in enumerate(target.columns) if fold(column.name) in keys]
        kept = {tuple(row[place] for place in places): row for row in now.rows}
        last: dict[Row, Change] = {}
        came: set[Row] = set()
        for change in changes:
            key = tuple(change.row[place] for place in places)
            before = last.get(key)
            if change.sets is not None:
                last[key] = change if before is None else updated(before, change)
                continue
            is_there = before is not None and not before.deletes and before.sets is None
            (came.add if is_there else came.discard)(key)
            last[key] = change
        # A delete of what came just before it found its row, although the table never had it.
        gone = [key for key, change in last.items() if change.deletes and key not in kept]
        unmatched = sum(key not in came for key in gone)
        lost = [key for key, change in last.items() if change.sets is not None and key not in kept]
        if len(places) < len(target.columns):
            unmatched += len(lost)
        for key, change in last.items():
            if change.deletes:
                kept.pop(key, None)
            elif change.sets is not None:
                if key in kept:
                    kept[key] = updated(Change(kept[key]), change).row
            else:
                kept[key] = change.row
        written = self._commit(target, transaction, tuple(kept.values()), len(last) - len(gone) - len(lost))
        return replace(written, unmatched=unmatched)

    def _apply_to_multiset(self, target: TableTarget, transaction: Transaction, changes: Sequence[Change]) -> Written:
        rows, unmatched = list(self._now(target).rows), 0
        for change in changes:
            if not change.deletes:
                rows.append(change.row)
            elif change.row in rows:
                rows.remove(change.row)
            else:
                unmatched += 1
        return replace(self._commit(target, transaction, tuple(rows), len(changes) - unmatched), unmatched=unmatched)

    def _check_rejected(self, ingestion: Ingestion, rejected: Sequence[Record]) -> None:
        letters = ingestion.dead_letters
        if rejected and letters is None:
            code, _, message = str(rejected[0].problem).partition(": ")
            raise EngineError(code, f"connector {ingestion.connector}: {message} in {rejected[0].position}")
        if letters is not None and letters.limit is not None and len(rejected) > letters.limit:
            raise EngineError(
                "X724",
                f"connector {ingestion.connector}: {len(rejected)} record(s) of one range do not fit table; at most "
                f"{letters.limit} may be rejected; the first at {rejected[0].position}: {rejected[0].problem}",
            )

    def _write_dead_letters(self, ingestion: Ingestion, rejected: Sequence[Record]) -> None:
        letters, mark = ingestion.dead_letters, ingestion.transaction
        own = dead_letters_of(mark)
        if letters is None or not rejected or self.writer.version_with(letters.location, own) is not None:
            return
        newest = self.writer.latest(letters.location)
        before = () if newest is None else self.writer.read(letters.location, newest).rows
        rows = [
            (letters.step, ingestion.connector, ingestion.target.name, one.position, one.problem, one.text)
            for one in rejected
        ]
        self.writer.write(letters.location, Contents(DEAD_LETTER_COLUMNS, (*before, *rows)), own)

    def _delete(self, target: TableTarget, transaction: Transaction, condition: Mapping[int, Any]) -> Written:
        done = self._done(target, transaction)
        if done is not None:
            return done
        now = self._now(target)
        kept = tuple(row for row in now.rows if not all(row[place] == value for place, value in condition.items()))
        if len(kept) == len(now.rows):
            return Written(self.writer.latest(target.location) or 0, 0)
        return self._commit(target, transaction, kept, len(now.rows) - len(kept))

    def _done(self, target: TableTarget, transaction: Transaction) -> Written | None:
        if self.writer.latest(target.location) is None:
            raise EngineError("X721", f"table {target.name} has no Delta table at {target.location}")
        version = self.writer.version_with(target.location, transaction)
        return None if version is None else Written(version, 0, reused=True)

    def _now(self, target: TableTarget) -> Contents:
        return self.writer.read(target.location, self.writer.latest(target.location) or 0)

    def _commit(self, target: TableTarget, transaction: Transaction, rows: tuple[Row, ...], count: int) -> Written:
        return Written(self.writer.write(target.location, Contents(target.columns, rows), transaction), count)


def _judged(record: Record, ingestion: Ingestion) -> Record:
    """The record, with a problem if one of its rows is late."""
    names = [column.name for column in ingestion.target.columns]
    for change in record.changes if record.problem is None else ():
        column = late_column(change.row, ingestion.target, ingestion.first_on_time, change.deletes)
        if column is not None:
            value = told(dict(zip(names, change.row, strict=True))[column])
            return replace(record, problem=f"X725: the row is late: its {column} is {value}", is_late=True)
    return record


def _fitted(row: Sequence[Any], columns: Sequence[ColumnType]) -> Row:
    return tuple(fitted(value, column) for value, column in zip(row, columns, strict=True))


def _shapes(columns: Sequence[ColumnType], target: TableTarget) -> dict[str, Shape]:
    """The shapes of a source's columns, by folded name. Raises EngineError where one shares no field with the target's."""
    kinds = {fold(column.name): column.type for column in columns}
    for column in target.columns:
        kind = kinds.get(fold(column.name), "")
        nowhere = without_common_field(shape_of(kind), shape_of(column.type), column.name)
        if nowhere is not None:
            raise EngineError("X712", no_common_field(nowhere, column.type, kind))
    return {name: shape_of(kind) for name, kind in kinds.items()}


def _built(contents: Contents, reused: bool) -> Built:
    size = sum(len(str(value)) for row in contents.rows for value in row)
    return Built(len(contents.rows), size, contents.columns, reused)
