"""Sources as temporary views of a session, and a view's rows written to its staging folder.

Every call has a session of its own, so views and settings of one call are never seen by another. What a staging folder is:
`staging`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import reduce
from typing import assert_never

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructType

from reconciler.base.errors import Declared, EngineError
from reconciler.base.names import fold, quoted
from reconciler.engine.protocol import Built, ColumnType, ViewBuild
from reconciler.engine.sources import EmptySource, FunctionSource, InlineSource, LogSource, Source, StoredSource
from reconciler.engine.spark.added_rows import added_frame
from reconciler.engine.spark.changed_rows import changed_frame
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.functions import failed_calls, register_functions
from reconciler.engine.spark.locations import Sessions, spark_location
from reconciler.engine.spark.staging import staged_before, write_staged
from reconciler.project.program.settings import DEFAULTS, OF_A_CALL

StoredFrame = Callable[[SparkSession, StoredSource | LogSource], DataFrame]
"""What gives the rows of a stored source at its version, or those that are needed of a log, in the table's columns."""

_FORBIDDEN_IN_NAMES = frozenset(" ,;{}()\n\t=")


def isolated(sessions: Sessions, settings: Mapping[str, str]) -> SparkSession:
    """A session of its own for one call, with the settings that belong to a query; others belong to the whole process. What
    decides results and is not said has its default, whatever the process was told."""
    session = sessions().newSession()
    with translated("spark settings"):
        for name, text in sorted({**DEFAULTS, **settings}.items()):
            if name.startswith(OF_A_CALL):
                session.conf.set(name, text)
        # Else `${env:…}` and `${spark…}` in a query, even inside a string, would be replaced by what this process knows.
        session.conf.set("spark.sql.variable.substitute", "false")
    return session


def register(
    session: SparkSession,
    sources: Iterable[Source],
    functions: Iterable[FunctionSource] = (),
    computation: str = "",
    stored: StoredFrame | None = None,
) -> None:
    """Make each function and source usable under its name. Each comes after what it reads or calls itself. `computation`:
    under which name calls of functions that fail and give NULL are counted. `stored` gives the rows of stored sources, and
    is `stored_frame` where it is not given.

    A source may bring functions of its own. Spark takes a name for what it means when a query is analysed, and that is when
    the source is registered: so a name may mean one function to it, and another to the query that reads it."""
    functions = in_force = tuple(functions)
    register_functions(session, functions, computation)
    for source in sources:
        # A view that is computed where it is read is refused here, too.
        about = Declared("view", source.name) if isinstance(source, InlineSource) else None
        if isinstance(source, InlineSource):
            in_force = _in_force(session, in_force, source.functions or functions, computation)
        with translated(f"reading {source.name}", about):
            _frame(session, source, stored or stored_frame).createOrReplaceTempView(quoted(fold(source.name)))
    _in_force(session, in_force, functions, computation)


def _in_force(
    session: SparkSession, before: tuple[FunctionSource, ...], wanted: tuple[FunctionSource, ...], computation: str
) -> tuple[FunctionSource, ...]:
    if before != wanted:
        register_functions(session, wanted, computation)
    return wanted


def renamed(frame: DataFrame, column_names: tuple[str, ...], view: str) -> DataFrame:
    """The frame with these column names in order; as it is when there are none."""
    if not column_names:
        return frame
    if len(column_names) != len(frame.columns):
        raise EngineError(
            "X705", f"view {view} names {len(column_names)} column(s), but its query returns {len(frame.columns)}"
        )
    return frame.toDF(*column_names)


def build(sessions: Sessions, wanted: ViewBuild) -> Built:
    """Compute a view into its staging folder, unless that is complete."""
    done = staged_before(sessions, wanted.staging)
    if done is not None:
        return done
    session = isolated(sessions, wanted.settings)
    # A folder is built by one process, once at a time.
    register(session, wanted.sources, wanted.functions, computation=wanted.staging)
    try:
        with translated(wanted.shown, Declared("view", wanted.view)):
            frame = result_of(session, wanted)
            # Rebalancing makes few files of a small result and many of a large one, of even size.
            built = write_staged(session, wanted.staging, frame.hint("rebalance"), wanted.shown)
    finally:
        # What an attempt that failed has counted is not told with the next one.
        failed = failed_calls(session, wanted.staging)
    return replace(built, failed_calls=failed)


def result_of(session: SparkSession, wanted: ViewBuild) -> DataFrame:
    """The rows of a view whose sources are registered, in columns that a table may have."""
    frame = renamed(session.sql(wanted.query), wanted.column_names, wanted.view)
    _check_columns(frame.schema, wanted.view)
    return frame


def stored_frame(session: SparkSession, source: StoredSource | LogSource) -> DataFrame:
    """The table of a stored source at its version, as Delta's reader has it; or the rows that were added or changed in its
    ranges; or all rows of a log."""
    if isinstance(source, LogSource):
        return log_frame(session, source, stored_frame)
    if source.ranges is not None:
        of_ranges = changed_frame if source.changes else added_frame
        return of_ranges(session, source, source.ranges)
    whole = session.read.format("delta").option("versionAsOf", str(source.version)).load(spark_location(source.location))
    return needed_of(whole, source)


def needed_of(frame: DataFrame, source: StoredSource) -> DataFrame:
    """The rows of a source that are needed, where its reader knows how to pass over others."""
    for one in source.needed:
        frame = frame.where(f.col(quoted(one.column)).between(_value(one.least), _value(one.greatest)))
    return frame


def _value(value: int | date) -> Column:
    """A date is given as a text: Java's own have another calendar before 1582."""
    return f.lit(value.isoformat()).cast("date") if isinstance(value, date) else f.lit(value)


def log_frame(session: SparkSession, source: LogSource, stored: StoredFrame) -> DataFrame:
    """The rows of all segments that count, each segment as `stored` gives it."""
    segments = [stored(session, one) for one in source.segments]
    if source.latest:
        segments = [_not_among(one, segments[at + 1 :], source.latest) for at, one in enumerate(segments)]
    return reduce(DataFrame.unionByName, segments)


def _not_among(rows: DataFrame, others: Sequence[DataFrame], keys: Sequence[str]) -> DataFrame:
    """The rows that are equal to none of the others in these columns."""
    if not others:
        return rows
    names = [f"__later_{at}" for at in range(len(keys))]
    later = reduce(DataFrame.unionByName, [one.select(*map(quoted, keys)).toDF(*names) for one in others])
    same = [rows[quoted(key)].eqNullSafe(later[name]) for key, name in zip(keys, names, strict=True)]
    return rows.join(later, reduce(Column.__and__, same), "left_anti")


def _frame(session: SparkSession, source: Source, stored: StoredFrame) -> DataFrame:
    match source:
        case StoredSource():
            added = [f"CAST(NULL AS {column.type}) AS {quoted(column.name)}" for column in source.added]
            return _respelled(stored(session, source).selectExpr("*", *added), source.spelled)
        case LogSource():
            return stored(session, source)
        case EmptySource():
            return empty_frame(session, source.columns)
        case InlineSource():
            return renamed(session.sql(source.query), source.column_names, source.name)
        case _:
            assert_never(source)


def _respelled(frame: DataFrame, names: tuple[str, ...]) -> DataFrame:
    """The frame, its columns spelled like these names where they are the same but for letter case."""
    known = {fold(name): name for name in names}
    wanted = [known.get(fold(name), name) for name in frame.columns]
    return frame if wanted == frame.columns else frame.toDF(*wanted)


def empty_frame(session: SparkSession, columns: Iterable[ColumnType]) -> DataFrame:
    """No rows, with these columns."""
    parts = ", ".join(f"CAST(NULL AS {column.type}) AS {quoted(column.name)}" for column in columns)
    return session.sql(f"SELECT {parts} WHERE false")


def _check_columns(schema: StructType, view: str) -> None:
    twice = sorted(name for name, count in Counter(fold(part.name) for part in schema.fields).items() if count > 1)
    if twice:
        raise EngineError(
            "X704", f"view {view} has more than one column named {', '.join(twice)}", "give each its own name with AS"
        )
    for part in schema.fields:
        if _FORBIDDEN_IN_NAMES & set(part.name):
            raise EngineError(
                "X704",
                f"view {view}: {part.name!r} can't be a column's name in a Delta table",
                "give the expression a name with AS",
            )
        if _has_void(part.dataType):
            raise EngineError(
                "X706", f"view {view}: column {part.name} is NULL without a type", "give it one, as in CAST(NULL AS STRING)"
            )


def _has_void(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_has_void(part.dataType) for part in kind.fields)
    if isinstance(kind, ArrayType):
        return _has_void(kind.elementType)
    if isinstance(kind, MapType):
        return _has_void(kind.keyType) or _has_void(kind.valueType)
    return isinstance(kind, NullType)
