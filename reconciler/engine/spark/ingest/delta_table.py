"""`delta_table_input`: a Delta table that somebody else writes: as it stands at one version, as it changes, or both.

Where it begins is the configured `version`, or the last version at the configured `timestamp`, or the newest when it is
first asked. From then on it is pinned:

- `snapshot`: the rows of that version, once; range {uri, version}, position {version, complete}.
- `snapshot_and_follow`: the same, then what changes after it.
- `follow`: what changes after it; range {uri, from, to, table}, position {version, table}, where `table` is Delta's id
  of the table, so that another table in the same place is noticed (`delta_changes`). Where nothing but "now" says where to
  begin, the first range holds no version: it pins the beginning.

`end_version` ends the input when it is reached; the position is `complete` then. A position that a user asks for is
{version} with a number or `latest`; it need not name the table.

`discover` lists the log, and reads commits of it as text; only a `timestamp` needs a Spark job, once.
"""

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.names import fold, quoted
from reconciler.engine.delta_versions import committed_at, table_id
from reconciler.engine.protocol import Available, Ingestion
from reconciler.engine.spark.commit_log import latest_version
from reconciler.engine.spark.conform import by_name
from reconciler.engine.spark.ingest.delta_changes import ANOTHER_TABLE, ChangedTable, changed_rows
from reconciler.engine.spark.ingest.incoming import Incoming, with_fields
from reconciler.engine.spark.ingest.storage import sessions_with, storage_options
from reconciler.engine.spark.locations import Folder, Sessions, delta_reference, folder, literal, spark_location
from reconciler.engine.spark.writes import ORDER, hashed

_MODES = ("follow", "snapshot", "snapshot_and_follow")


def discover(sessions: Sessions, settings: JsonObject, position: JsonObject | None) -> Available | None:
    """The snapshot as long as it was not read, then what changed after the position."""
    config = settings["transport"]["config"]
    uri, mode = str(config["uri"]), str(config.get("mode", "snapshot"))
    if mode not in _MODES:
        raise EngineError("X716", f"mode {mode!r} of delta_table_input is not supported: {', '.join(_MODES)} are")
    if position is not None and (mode == "snapshot" or position.get("complete")):
        return None
    sessions = sessions_with(sessions, storage_options(config, uri))
    table = folder(uri, sessions)
    newest = latest_version(table)
    if newest is None and position is not None:
        raise EngineError("X748", f"the Delta table at {uri} no longer exists")
    if newest is None:
        raise EngineError("X710", f"there is no Delta table at {uri}")
    end = None if config.get("end_version") is None else int(config["end_version"])
    if position is not None:
        latest = position["version"] == "latest"
        start = newest if latest else int(position["version"])
        return _after(_Seen(table, uri, newest), start, end, position.get("table"), must_pin=latest)
    start = _beginning(sessions, config, uri, newest)
    came = committed_at(table, start)
    if mode == "snapshot":
        return Available({"uri": uri, "version": start}, {"version": start, "complete": True}, True, {}, came, came)
    if mode == "follow":
        return _after(_Seen(table, uri, newest), start, end, None, must_pin=config.get("version") is None)
    ends = end is not None and start >= end
    reached = _position(start, table_id(table, start), ends)
    backlog = {} if ends else {"versions": _until(newest, end) - start}
    return Available({"uri": uri, "version": start}, reached, ends, backlog, came, came)


def read(session: SparkSession, ingestion: Ingestion, settings: JsonObject) -> Incoming | None:
    """The rows of the range's version, or what changed between its two versions; None where it only pins the beginning."""
    config, uri = settings["transport"]["config"], str(ingestion.range["uri"])
    options = storage_options(config, uri)
    if "from" in ingestion.range and ingestion.range["from"] == ingestion.range["to"]:
        return None
    if "from" in ingestion.range:
        return changed_rows(session, ingestion, ChangedTable(uri, options, config.get("filter")))
    version = int(ingestion.range["version"])
    reader = session.read.format("delta").option("versionAsOf", str(version))
    rows = reader.options(**options).load(spark_location(uri))
    for predicate in (config.get("filter"), config.get("snapshot_filter")):
        rows = rows.where(f.expr(str(predicate))) if predicate is not None else rows
    given, origin = by_name(rows), literal(json.dumps({"table": uri, "version": version}))
    column, names = config.get("timestamp_column"), rows.columns
    if column is None:
        return with_fields(Incoming(rows, given, origin), names, ingestion.target)
    return with_fields(Incoming(_ordered(rows, str(column), uri), given, origin, kept=(ORDER,)), names, ingestion.target)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A followed table as it was found: its folder, its address, its newest version."""

    table: Folder
    uri: str
    newest: int


def _after(seen: _Seen, start: int, end: int | None, known: str | None, must_pin: bool) -> Available | None:
    """What came after version `start`. `known` is the id of the table that was read before, if one was; `must_pin`: the
    beginning is recorded, though nothing came."""
    table, uri, newest = seen.table, seen.uri, seen.newest
    if newest < start:
        raise EngineError(
            "X748",
            f"the Delta table at {uri} is not the one that was read before: its newest version is {newest}, after {start}",
            ANOTHER_TABLE,
        )
    until = _until(newest, end)
    ends = end is not None and max(start, until) >= end
    if start >= until and not ends and not must_pin:
        return None
    until = max(start, until)
    read_before = known if known is not None else table_id(table, start)
    range_ = {"uri": uri, "from": start, "to": until} | ({} if read_before is None else {"table": read_before})
    reached = _position(until, table_id(table, until, start, read_before), ends)
    if until == start:
        return Available(range_, reached, ends)
    came = committed_at(table, start + 1)
    return Available(range_, reached, ends, {"versions": _until(newest, end) - start}, came, came)


def _until(newest: int, end: int | None) -> int:
    return newest if end is None else min(newest, end)


def _position(version: int, table: str | None, ends: bool) -> JsonObject:
    position: dict[str, Any] = {"version": version}
    return position | ({} if table is None else {"table": table}) | ({"complete": True} if ends else {})


def _beginning(sessions: Sessions, config: JsonObject, uri: str, newest: int) -> int:
    if config.get("version") is not None:
        version = int(config["version"])
        if version > newest:
            raise EngineError("X710", f"the Delta table at {uri} has no version {version}; its newest is {newest}")
        return version
    timestamp: Any = config.get("timestamp", config.get("datetime"))
    if timestamp is None:
        return newest
    history = sessions().newSession().sql(f"DESCRIBE HISTORY {delta_reference(uri)}")
    found = history.where(f.col("timestamp") <= f.lit(str(timestamp)).cast("timestamp")).agg(f.max("version")).first()
    if found is None or found[0] is None:
        raise EngineError("X710", f"the Delta table at {uri} has no version from before {timestamp}")
    return int(found[0])


def _ordered(rows: DataFrame, column: str, uri: str) -> DataFrame:
    """The rows with what says in which order they are read: a column's values, rows without a value first."""
    if fold(column) not in {fold(name) for name in rows.columns}:
        raise EngineError("X710", f"the Delta table at {uri} has no column {column}", "see timestamp_column")
    return rows.withColumn(ORDER, f.struct(f.col(quoted(column)).alias("at"), hashed(rows).alias("tie")))
