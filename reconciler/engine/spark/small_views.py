"""A view of few rows, without what Spark takes around its query: Spark gets the rows of small tables from this process
(`held_rows`), computes the query in one job, and its rows go to the staging folder as Spark would write them
(`delta.arrow_writes`).

It gives nothing (None) wherever it is not surely the same that Spark does by itself; then Spark does it by itself:

- The query decides as ever; which ones are left to Spark, and what becomes of failures, says `plain_views`.
- Tables are those that are known (`delta.arrow_rows`), so are the types of the result: no VARIANT, no collation, no CHAR.
- Of the rows of a result only few are collected. Where there are more (`MOST_ROWS`, `MOST_BYTES`), Spark computes them again
  and writes them, and goes on doing so for this view while its results are large. So it does with a query that compares
  all rows of relations with all of others, where it reads more than few.

A query that is asked again and again is planned once (`repeated_queries`).

Of a table that is not small, the rows may be found that have to do with what changed (`linked_rows`): these are few.

A view over tables that are not small is computed over their files (`pinned_files`), or as ever. Where its last result had
few rows, or what it reads is what changed in a table, its rows are collected: to write them takes Spark longer than to
compute many a query.
"""

import re
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import Declared, EngineError, RegistryError
from reconciler.base.names import fold
from reconciler.base.recently_used import RecentlyUsed
from reconciler.delta.arrow_rows import is_known_schema
from reconciler.delta.arrow_writes import all_nullable, can_be_committed_to, put_table
from reconciler.delta.objects import can_be_listed
from reconciler.engine.protocol import Built, BuiltAtOnce, ViewBuild
from reconciler.engine.sources import LogSource, StoredSource
from reconciler.engine.spark.commit_log import built_from, read_commit
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.functions import failed_calls
from reconciler.engine.spark.held_logs import HeldLogs
from reconciler.engine.spark.held_rows import MOST_KEPT, Held, HeldRows
from reconciler.engine.spark.latest_rows import held_latest
from reconciler.engine.spark.linked_rows import linked_rows
from reconciler.engine.spark.locations import Sessions, folder
from reconciler.engine.spark.pinned_files import SETTINGS, Few, PinnedFrames
from reconciler.engine.spark.plain_settings import is_plain_session
from reconciler.engine.spark.plain_views import AskedOnce, is_determined, is_plain, left_to_spark
from reconciler.engine.spark.repeated_queries import RepeatedQueries, key_of
from reconciler.engine.spark.searched_columns import SearchedColumns
from reconciler.engine.spark.small_rows import MOST_AT_ONCE, Code, Relation, can_bring_rows, collected, planned, relation_of
from reconciler.engine.spark.staging import staged_before
from reconciler.engine.spark.views import isolated, register, result_of

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS: Final = MOST_KEPT
MOST_BYTES: Final = 32 << 20
"""As Spark holds them."""
_MOST_STORED: Final = 8 << 20
_MOST_IN_LOOPS: Final = 20_000
"""Rows read by a query that compares all rows of relations with all of others: one task would take long for more."""
_MOST_INTERPRETED: Final = 2_000
"""Rows read: so few are through before code for them is compiled."""
_VIEWS: Final = 2_000

_PLAIN_NAME: Final = re.compile(r"[\w$@#-]+")
_SMALL: Final = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""To send a relation of one partition to all tasks is a job of its own, and there is one task. To plan the rest of a query
anew after each exchange takes longer than a few rows do."""
_INTERPRETED: Final = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
_SETTINGS_BY_CODE: Final = {Code.NONE: {**_SMALL, **_INTERPRETED}, Code.OF_THE_PLAN: _SMALL, Code.ALL: _SMALL}

_Rows: TypeAlias = Mapping[StoredSource | LogSource, Held]


class SmallViews:
    """See the module; what it remembers of tables and views, from call to call."""

    def __init__(self) -> None:
        self._held = HeldRows()
        self._logs = HeldLogs(self._held)
        self._columns = SearchedColumns()
        self._repeated = RepeatedQueries()
        self._is_small: RecentlyUsed[str, bool] = RecentlyUsed(_VIEWS)
        self._can_bring = AskedOnce(lambda session: is_plain_session(session) and can_bring_rows(session))

    def build(self, sessions: Sessions, wanted: ViewBuild) -> Built | None:
        """Compute a view into its staging folder, unless that is complete. None: nothing is there, and it is for Spark."""
        done = staged_before(sessions, wanted.staging)
        if done is not None:
            return done
        was_small = self._is_small.get(_view(wanted))
        if was_small is False or not (is_plain(wanted) and _can_be_written(wanted)) or not self._can_bring(sessions()):
            return None
        few, rest = self._few_and_rest(wanted)
        held = self._rows_of(wanted, few)
        if held is None and not was_small and not (was_small is None and _reads_changes(wanted)):
            return None
        return self._computed(sessions, wanted, _Read(held, few, rest))

    def few_of(self, wanted: ViewBuild) -> Few:
        """What gives the rows of those sources of a build of which it reads few. None is left out that is to be a row of the
        result."""
        of_rest = fold(wanted.rest_of or "")
        terms = tuple(tuple(one for one in term if fold(one.source) != of_rest) for term in wanted.terms)
        return self._few_and_rest(replace(wanted, terms=terms, rest_of=None))[0]

    def _few_and_rest(self, wanted: ViewBuild) -> "tuple[Few, pa.Table | None]":
        linked = linked_rows(wanted, self._few_of, self._columns)

        def few(source: StoredSource | LogSource) -> Held | None:
            return linked.found.get(source) or self._few_of(source)

        return few, linked.rest

    def saw(self, wanted: ViewBuild, built: Built) -> None:
        """What Spark has written of a view by itself."""
        self._remember(wanted, built.rows <= MOST_ROWS and built.bytes <= _MOST_STORED)

    def _computed(self, sessions: Sessions, wanted: ViewBuild, read: "_Read") -> Built | None:
        held, few = read.held, read.few
        wanted = _with_both(wanted, read)
        code = Code.ALL if held is None else _code(wanted, held)
        wanted = replace(wanted, settings={**wanted.settings, **(SETTINGS if held is None else _SETTINGS_BY_CODE[code])})
        key = None if held is None else key_of(wanted, held, code)
        if held is not None and key is not None:
            done = self._repeated_of(sessions, wanted, held, key, read.rest)
            if done is not None:
                return done.built
            if code is Code.NONE and self._repeated.wants_code(key):
                code = Code.OF_THE_PLAN
                wanted = _planned_with_code(wanted)
        session = isolated(sessions, wanted.settings)
        pinned = PinnedFrames(few)
        brought = None if held is None else _Brought(held)
        about = Declared("view", wanted.view)
        try:
            with left_to_spark(lambda: held is not None or pinned.has_any):
                register(session, wanted.sources, wanted.functions, wanted.staging, brought or pinned)
                with translated(wanted.shown, about):
                    frame = result_of(session, wanted)
                    schema = _schema_of(frame, wanted)
                    if schema is None:
                        return None
                    query = None if brought is None else planned(frame, schema, brought.relations, code)
                    if query is not None and brought is not None and brought.rows > _MOST_IN_LOOPS and query.has_loops():
                        self._remember(wanted, False)
                        return None
                    if query is None:
                        rows = collected(frame, schema, MOST_ROWS, MOST_BYTES)
                    else:
                        rows = query.collected(MOST_ROWS, MOST_BYTES)
                if rows is None:
                    self._remember(wanted, False)
                    return None
                if query is not None and key is not None:
                    self._repeated.keep(session.sparkContext, key, query)
                built = self._staged(session, wanted, schema, rows, read.rest)
                self._remember(wanted, True)
                return replace(built, failed_calls=failed_calls(session, wanted.staging))
            return None
        finally:
            # What an attempt has counted is not told with the next one.
            failed_calls(session, wanted.staging)

    def _repeated_of(
        self, sessions: Sessions, wanted: ViewBuild, held: _Rows, key: Hashable, rest: "pa.Table | None"
    ) -> "_Done | None":
        """The view by a query that was planned before. None: there is none, or it failed."""
        spark = sessions().sparkContext
        with left_to_spark(lambda: True), self._repeated.taken(spark, key) as query:
            if query is None:
                return None
            relations = [held[one].rows for one in wanted.sources if isinstance(one, StoredSource | LogSource)]
            with translated(wanted.shown, Declared("view", wanted.view)):
                rows = query.collected_of(relations, MOST_ROWS, MOST_BYTES)
            self._remember(wanted, rows is not None)
            return _Done(None if rows is None else self._staged(sessions(), wanted, query.schema, rows, rest))
        return None

    def _rows_of(self, wanted: ViewBuild, few: Few) -> _Rows | None:
        """The rows of all stored sources that are needed; None where one of them is not small and plain."""
        found: dict[StoredSource | LogSource, Held] = {}
        for source in wanted.sources:
            if isinstance(source, StoredSource):
                held = few(source)
                if held is None:
                    return None
                found[source] = held
        came = {source: held for source, held in found.items() if isinstance(source, StoredSource)}
        for source in wanted.sources:
            if isinstance(source, LogSource):
                held = few(source) if source.latest else self._logs.needed(source, came)
                if held is None:
                    return None
                found[source] = held
        return found

    def _few_of(self, source: StoredSource | LogSource) -> Held | None:
        if isinstance(source, StoredSource):
            return self.held_of(source)
        return held_latest(source, self.held_of) if source.latest else None

    def _staged(
        self, session: SparkSession, wanted: ViewBuild, schema: JsonObject, rows: "pa.Table", rest: "pa.Table | None"
    ) -> Built:
        """Write the rows of a result, and those that are so besides."""
        if wanted.at_once is not None:
            own, other = _divided(wanted, wanted.at_once, schema, rows)
            at_once = self._written(session, wanted.at_once.staging, other, is_kept=False)
            return replace(self._written(session, wanted.staging, own, is_kept=wanted.is_kept), at_once=at_once)
        if rest is not None:
            import pyarrow as pa

            if rest.schema != rows.schema:
                raise EngineError("X700", f"the rest of {wanted.rest_of} has other columns than {wanted.shown}")
            rows = pa.concat_tables([rest, rows])
        return self._written(session, wanted.staging, _Result(schema, rows), is_kept=wanted.is_kept)

    def _written(self, session: SparkSession, staging: str, result: "_Result", *, is_kept: bool) -> Built:
        place = folder(staging, lambda: session)
        place.remove()
        table, rows = put_table(staging, result.schema, result.rows)
        written = read_commit(place, 0)
        if written is None:
            raise RegistryError("G607", f"{staging} was written, and holds no table")
        if is_kept:
            self._held.put(table, rows)
        return replace(built_from(written, reused=False), without_spark=True)

    def held_of(self, source: StoredSource) -> Held | None:
        """The rows of a stored source, where it is small and plain, or what is read of it is."""
        if source.ranges is None:
            held = self._held.of(source.location, source.version, is_kept=source.is_kept)
            return held or self._held.needed(source)
        if source.changes:
            return self._held.changed(source.location, source.version, source.ranges)
        return self._held.added(source.location, source.version, source.ranges)

    def _remember(self, wanted: ViewBuild, is_small: bool) -> None:
        self._is_small.put(_view(wanted), is_small)


def _reads_changes(wanted: ViewBuild) -> bool:
    """Whether a query reads what came or changed: then its result is mostly small, whatever the tables are."""
    return any(isinstance(source, StoredSource) and source.ranges is not None for source in wanted.sources)


def _view(wanted: ViewBuild) -> str:
    """A view, by the folder below which it is staged: its own; and by what is read, as what a stream gives and what it
    remembers are computed from other sources."""
    names = "+".join(source.name for source in wanted.sources)
    return f"{wanted.staging.rstrip('/').rpartition('/')[0]}/{names}"


def _can_be_written(wanted: ViewBuild) -> bool:
    return can_be_listed(wanted.staging) and can_be_committed_to(wanted.staging)


def _code(wanted: ViewBuild, held: _Rows) -> Code:
    """What code is written for a query that is planned for the first time."""
    read = sum(one.rows.num_rows for one in held.values())
    if any(name.startswith("spark.sql.codegen.") for name in wanted.settings) or read > MOST_AT_ONCE:
        return Code.ALL
    return Code.NONE if read <= _MOST_INTERPRETED else Code.OF_THE_PLAN


def _planned_with_code(wanted: ViewBuild) -> ViewBuild:
    return replace(wanted, settings={name: text for name, text in wanted.settings.items() if name not in _INTERPRETED})


@dataclass(frozen=True, slots=True)
class _Read:
    """What a build reads: the rows of all sources that are needed (None: not all are few), what gives those of single ones,
    and rows that are rows of the result as they are."""

    held: _Rows | None
    few: Few
    rest: "pa.Table | None"


@dataclass(frozen=True, slots=True)
class _Result:
    """The rows of a view, in the columns of a schema of Delta."""

    schema: JsonObject
    rows: "pa.Table"


@dataclass(frozen=True, slots=True)
class _Done:
    """What became of a view: built, or None where its result is not small."""

    built: Built | None


class _Brought:
    """Gives stored sources as frames of the rows that are held, as `views.stored_frame` does, and tells which it gave."""

    def __init__(self, held: _Rows) -> None:
        self.relations: list[Relation] = []
        self._held = held

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(one.rows.num_rows for one in self._held.values())

    def __call__(self, session: SparkSession, source: StoredSource | LogSource) -> DataFrame:
        self.relations.append(relation_of(session, self._held[source].schema, self._held[source].rows))
        return self.relations[-1].frame


def _schema_of(frame: DataFrame, wanted: ViewBuild) -> JsonObject | None:
    """The columns of the result as Delta has them; None where they are not known, or its values depend on places."""
    schema: JsonObject = all_nullable(frame.schema.jsonValue())
    if not is_known_schema(schema) or not _has_plain_names(schema):
        return None
    return schema if is_determined(frame, wanted) else None


def _has_plain_names(kind: Any) -> bool:
    """Whether all columns and fields have names that any writer takes, each once."""
    if not isinstance(kind, dict):
        return True
    if kind["type"] == "struct":
        names = [one["name"] for one in kind["fields"]]
        is_plain = len({name.casefold() for name in names}) == len(names) and all(map(_PLAIN_NAME.fullmatch, names))
        return is_plain and all(_has_plain_names(one["type"]) for one in kind["fields"])
    return all(_has_plain_names(kind.get(part)) for part in ("elementType", "keyType", "valueType"))


def _with_both(wanted: ViewBuild, read: _Read) -> ViewBuild:
    """The build with the query for another view as well, where there is one, and all rows of both are computed here."""
    if wanted.at_once is None or read.held is None or read.rest is not None:
        return replace(wanted, at_once=None)
    return replace(wanted, query=wanted.at_once.query)


def _divided(wanted: ViewBuild, at_once: BuiltAtOnce, schema: JsonObject, rows: "pa.Table") -> "tuple[_Result, _Result]":
    """What a query gave for two views."""
    count = len(at_once.names)
    own, others, fields = list(range(count)), list(range(count, rows.num_columns - 1)), schema["fields"]
    names = at_once.column_names or [fields[at]["name"] for at in others]
    if len(names) != len(others):
        raise EngineError("X700", f"{wanted.shown} gives other columns than are named")
    parts = ((own, at_once.names, rows), (others, names, rows.filter(rows.column(rows.num_columns - 1))))
    first, second = (
        _Result(
            {**schema, "fields": [{**fields[at], "name": name} for at, name in zip(places, called, strict=True)]},
            some.select(places).rename_columns(list(called)),
        )
        for places, called, some in parts
    )
    return first, second
