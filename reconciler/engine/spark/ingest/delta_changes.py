"""What changed in a Delta table between two of its versions: the rows that went, then the rows that came.

The table needs no change data feed. The files of the one version that the other lacks (a file with another deletion vector
is another file) hold every row that went or came, and rows that only moved between files. Those cancel out: what is left is
the difference of two multisets, over the columns that the target has. So OPTIMIZE changes nothing, a row that was changed
and changed back neither, and an overwrite touches the rows that really differ.

- Where commits only added files, just these are read, as plain rows: no comparison, no shuffle, no `deletes`.
- Columns are matched by name. Where a name of the target, or one that the filter reads, means another column now, rows
  changed that no commit wrote (`delta_columns`): all rows of both versions are compared. Rows of an append-only table can't
  change; where they would have to, that is X758.
- Values of a column whose type changed are compared, and made to fit, as texts: of the type that Spark would make of the
  two, values need not be, and then no row could be read.
- What can't be read any more (a vacuum or log clean-up went past it) is X747, another table in the same place X748.
"""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType, VariantType

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.names import fold, quoted
from reconciler.engine.delta_versions import only_added, table_id
from reconciler.engine.protocol import Ingestion, TableTarget
from reconciler.engine.spark.conform import by_name
from reconciler.engine.spark.copies import COPIES, net, repeated
from reconciler.engine.spark.ingest.delta_columns import HIGHEST_ID, MODE, Columns, changed_everywhere, columns_of, same
from reconciler.engine.spark.ingest.incoming import Incoming, with_fields
from reconciler.engine.spark.ingest.storage import sessions_with
from reconciler.engine.spark.locations import folder, hadoop_path, literal, local_path, scheme_and_authority, spark_location
from reconciler.engine.spark.nested import cast_by_name
from reconciler.engine.spark.writes import DELETES, ORDER, hashed
from reconciler.sql.structures import Leaf, shape_of
from reconciler.sql.types import storage_type

_FILE = "reconcile file"

ANOTHER_TABLE: Final = (
    "the rows that were read stay; to read the new table: reconcile connector seek PIPELINE CONNECTOR --to "
    "earliest; to read only its changes from now on: --to latest"
)
"""What to do where a table that is followed was made anew (X748)."""
_LOOKING_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class ChangedTable:
    """The table that is followed: Hadoop's options to reach it with, and the predicate that its rows must fulfil."""

    uri: str
    options: Mapping[str, str]
    filter: str | None


@dataclass(frozen=True, slots=True)
class _Version:
    """One version of the table: Delta's snapshot, its columns, and those of them, by folded name, that the target has."""

    snapshot: Any
    all_columns: Columns
    columns: Mapping[str, JsonObject]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(column["name"]) for column in self.all_columns.fields.values())


@dataclass(frozen=True, slots=True)
class _Files:
    """Delta's own file actions (java.util.List) in a version that has them."""

    version: _Version
    actions: Any


def changed_rows(session: SparkSession, ingestion: Ingestion, table: ChangedTable) -> Incoming | None:
    """The rows of a range {uri, from, to, table}; None where the log says already that no row changed."""
    return _Difference(session, ingestion, table).incoming()


class _Difference:
    """One range of one table, read in one session."""

    def __init__(self, session: SparkSession, ingestion: Ingestion, table: ChangedTable) -> None:
        self._session = session
        java: Any = session._jvm
        self._jvm = java
        self._ingestion = ingestion
        self._target: TableTarget = ingestion.target
        self._table = table
        self._first, self._last = int(ingestion.range["from"]), int(ingestion.range["to"])
        self._looking = sessions_with(lambda: session, dict(table.options))
        self._folder = folder(table.uri, self._looking)
        path = java.org.apache.hadoop.fs.Path(spark_location(table.uri))
        options = java.org.apache.spark.api.python.PythonUtils.toScalaMap(dict(table.options))
        self._log = java.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, path, options)

    def incoming(self) -> Incoming | None:
        with self._active():
            newest = self._log.update(False, self._none(), self._none())
            self._check_identity()
            appended = only_added(self._folder, self._first, self._last)
            if appended is None:
                return self._compared(newest)
            if not appended:
                return None
            after = self._version(self._last, newest)
            parse = self._jvm.org.apache.spark.sql.delta.actions.Action.fromJson
            actions = self._jvm.java.util.ArrayList()
            for action in appended:
                actions.add(parse(json.dumps(action)))
            added = _Files(after, actions)
            if newest.version() > self._last:
                self._check_files(added)
            rows = self._frame(added, after.columns)
            return with_fields(Incoming(rows, by_name(rows), self._origin()), after.names, self._target)

    def _compared(self, newest: Any) -> Incoming:
        before, after = self._version(self._first, newest), self._version(self._last, newest)
        self._check_required(after)
        wanted = [fold(column.name) for column in self._target.columns]
        columns_changed = changed_everywhere(before.all_columns, after.all_columns, wanted, self._target.defaults)
        whole = columns_changed or self._filter_changed(before, after)
        removed = self._files(before, None if whole else after)
        added = self._files(after, None if whole else before)
        self._check_files(removed)
        if newest.version() > self._last:
            self._check_files(added)
        columns = {**before.columns, **after.columns}
        if removed.actions.isEmpty():
            rows = self._frame(added, columns)
            return with_fields(Incoming(rows, by_name(rows), self._origin()), after.names, self._target)
        rows = _difference(self._frame(removed, columns), self._frame(added, columns), self._target)
        if columns_changed and self._target.append_only and not rows.where(f.col(quoted(DELETES))).isEmpty():
            raise self._can_not_follow()
        given = by_name(rows, hidden=(DELETES, ORDER))
        changed = Incoming(rows, given, self._origin(), kept=(ORDER,), deletes=quoted(DELETES))
        return with_fields(changed, after.names, self._target)

    def _version(self, number: int, newest: Any) -> _Version:
        try:
            if number == newest.version():
                snapshot = newest
            else:
                snapshot = self._log.getSnapshotAt(number, self._none(), self._none(), False)
            schema = json.loads(snapshot.metadata().schemaString())
        except (PySparkException, Py4JJavaError) as error:
            raise self._gone(f"version {number} is no longer in its log") from error
        properties = snapshot.metadata().configuration()
        mode, highest = (properties.get(name) for name in (MODE, HIGHEST_ID))
        found = columns_of(schema, *(str(one.get()) if one.isDefined() else None for one in (mode, highest)))
        wanted = {fold(column.name) for column in self._target.columns}
        return _Version(snapshot, found, {name: one for name, one in found.fields.items() if name in wanted})

    def _filter_changed(self, before: _Version, after: _Version) -> bool:
        """Whether the filter may say something else, for the version after, of rows that both versions have."""
        if self._table.filter is None or before.all_columns == after.all_columns:
            return False
        names = [self._read_by_filter(version, self._table.filter) for version in (before, after)]
        if None in names:
            return True
        read = {name for found in names if found is not None for name in found}
        return not all(same(name, before.all_columns, after.all_columns) for name in read)

    def _read_by_filter(self, version: _Version, condition: str) -> set[str] | None:
        """The columns that the filter reads in a version, as Spark understands it there; None where that can't be told."""
        plan = self._rows(_Files(version, self._jvm.java.util.ArrayList())).where(f.expr(condition))
        analysed = plan._jdf.queryExecution().analyzed()
        if str(analysed.nodeName()) != "Filter":
            return None
        found = analysed.condition().references().toSeq()
        names = {fold(str(found.apply(at).name())) for at in range(found.length())}
        return names if names <= version.all_columns.fields.keys() else None

    def _files(self, of: _Version, without: _Version | None) -> _Files:
        """All files of a version, or those that another lacks."""
        dataset = of.snapshot.allFiles()
        identity = f.to_json(f.struct("path", "deletionVector")).alias(_FILE)
        if without is not None:
            others = DataFrame(without.snapshot.allFiles().toDF(), self._session).select(identity)
            mine = DataFrame(dataset.toDF(), self._session).withColumn(_FILE, identity)
            left = mine.join(others, _FILE, "left_anti").drop(_FILE)
            dataset = getattr(left._jdf, "as")(dataset.encoder())
        return _Files(of, dataset.collectAsList())

    def _frame(self, files: _Files, columns: Mapping[str, JsonObject]) -> DataFrame:
        """The rows of some files, with these columns: one that the files' version lacks is what the target had got."""
        rows = self._rows(files)
        if self._table.filter is not None:
            rows = rows.where(f.expr(self._table.filter))
        return rows.select(*(self._column(name, files.version.columns, columns) for name in sorted(columns)))

    def _rows(self, files: _Files) -> DataFrame:
        actions = self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(files.actions)
        return DataFrame(self._log.createDataFrame(files.version.snapshot, actions, False, self._none()), self._session)

    def _column(self, name: str, own: Mapping[str, JsonObject], all_columns: Mapping[str, JsonObject]) -> Column:
        if name in own:
            return f.col(quoted(str(own[name]["name"]))).alias(name)
        value = f.expr(self._target.defaults.get(name, "NULL"))
        kind = next(column.type for column in self._target.columns if fold(column.name) == name)
        return value.cast(storage_type(kind)).alias(name)

    def _check_identity(self) -> None:
        known = self._ingestion.range.get("table")
        if known is None:
            return
        found = table_id(self._folder, self._first)
        if found is not None and found != known:
            raise EngineError(
                "X748",
                f"the Delta table at {self._table.uri} is not the one that was read before: it was recreated",
                ANOTHER_TABLE,
            )

    def _check_required(self, after: _Version) -> None:
        for column in self._target.columns:
            name = fold(column.name)
            if not column.nullable and name not in after.columns and name not in self._target.defaults:
                raise EngineError(
                    "X713",
                    f"the NOT NULL column {column.name} is not among the columns of the Delta table at "
                    f"{self._table.uri} at version {self._last}",
                )

    def _check_files(self, files: _Files) -> None:
        """Raises EngineError when files that have to be read were removed."""
        root = self._jvm.org.apache.hadoop.fs.Path(spark_location(self._table.uri))
        paths: set[str] = set()
        for action in files.actions:
            paths.add(str(action.absolutePath(self._log).toString()))
            vector = action.deletionVector()
            if vector is not None and vector.isOnDisk():
                paths.add(str(vector.absolutePath(root).toString()))
        # One client for each store: Hadoop makes a new one for every path where a connector has options of its own.
        looking = self._looking()
        one_of_each = {_store(path): path for path in sorted(paths) if local_path(path) is None}
        clients = {store: hadoop_path(looking, path)[0] for store, path in one_of_each.items()}

        def is_there(path: str) -> bool:
            local = local_path(path)
            if local is not None:
                return local.exists()
            return bool(clients[_store(path)].exists(self._jvm.org.apache.hadoop.fs.Path(path)))

        with ThreadPoolExecutor(_LOOKING_AT_ONCE) as pool:
            missing = [path for path, there in zip(paths, pool.map(is_there, paths), strict=True) if not there]
        if missing:
            raise self._gone(f"{len(missing)} file(s) were removed, {min(missing)} among them")

    def _gone(self, why: str) -> EngineError:
        return EngineError(
            "X747",
            f"the changes after version {self._first} of the Delta table at {self._table.uri} no longer exist: {why}",
            "to skip them: reconcile connector seek PIPELINE CONNECTOR --to latest, or --to a version; then the "
            f"changes from version {self._first + 1} up to there are never read",
        )

    def _can_not_follow(self) -> EngineError:
        return EngineError(
            "X758",
            f"columns of the Delta table at {self._table.uri} changed between its versions {self._first} and {self._last}, "
            f"so existing rows may have other values now: table {self._target.name} is append-only and can't update them",
            "to keep the existing rows as they are: reconcile connector seek PIPELINE CONNECTOR --to latest, or --to "
            f"a version; then the changes from version {self._first + 1} up to there are never read. Or remove append_only "
            "from the table",
        )

    def _origin(self) -> str:
        return literal(json.dumps({"table": self._table.uri, "from": self._first, "to": self._last}))

    def _none(self) -> Any:
        return self._jvm.scala.Option.empty()

    @contextmanager
    def _active(self) -> Iterator[None]:
        """Delta makes frames in the session that is active in Java, which must be the one that the rows are written in."""
        sessions = self._jvm.org.apache.spark.sql.classic.SparkSession
        before = sessions.getActiveSession()
        sessions.setActiveSession(self._session._jsparkSession)
        try:
            yield
        finally:
            if before.isDefined():
                sessions.setActiveSession(before.get())
            else:
                sessions.clearActiveSession()


def _store(path: str) -> str:
    scheme, authority = scheme_and_authority(path)
    return f"{scheme}://{authority}"


def _alike(rows: DataFrame, other: DataFrame, target: TableTarget) -> DataFrame:
    """The rows, with those columns which have another type there as texts, or, where both are nested, as the target's."""
    others = {part.name: part.dataType for part in other.schema.fields}
    wanted = {fold(column.name): storage_type(column.type) for column in target.columns}

    def like(part: StructField) -> Column:
        there = others[part.name]
        if part.dataType == there or _is_nested(part.dataType) is not _is_nested(there):
            return f.col(quoted(part.name))
        if not _is_nested(part.dataType):
            return f.col(quoted(part.name)).cast("string").alias(part.name)
        if VariantType() in (part.dataType, there) or isinstance(shape_of(wanted[part.name]), Leaf):
            return f.col(quoted(part.name))
        # Spark has no common type for structures whose fields have other names or another order.
        return f.expr(cast_by_name(quoted(part.name), part.dataType, wanted[part.name], part.name)).alias(part.name)

    return rows.select(*map(like, rows.schema.fields))


def _is_nested(kind: DataType) -> bool:
    return isinstance(kind, StructType | ArrayType | MapType | VariantType)


def _kinds(rows: DataFrame) -> list[str]:
    return [part.dataType.simpleString() for part in rows.schema.fields]


def _difference(removed: DataFrame, added: DataFrame, target: TableTarget) -> DataFrame:
    """The rows that only one side has, as often as it has them more: deletes first."""
    if _kinds(removed) != _kinds(added):
        removed, added = _alike(removed, added, target), _alike(added, removed, target)
    if _kinds(removed) == _kinds(added):
        rows = repeated(net(removed, added)).withColumn(DELETES, f.col(quoted(COPIES)) < 0).drop(COPIES)
    else:
        # Values that can't be compared here are compared by whoever writes them, once they have the target's types.
        rows = removed.withColumn(DELETES, f.lit(True)).unionByName(added.withColumn(DELETES, f.lit(False)))
    order = f.struct((~f.col(quoted(DELETES))).alias("inserts"), hashed(rows.drop(DELETES)).alias("tie"))
    return rows.withColumn(ORDER, order)
