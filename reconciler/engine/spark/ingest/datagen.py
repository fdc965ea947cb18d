"""`datagen`: made-up rows. A range is {from, to} in row numbers, a position {rows, started}: `started`, in milliseconds
since 1970, is when the first row was due, for plans with a rate.

A row depends on the seed, its number and its plan (`datagen_values`), so a range read again gives the same rows. `discover`
looks at the clock alone (`datagen_plan`). The input ends with its last plan; then the position is `complete`.
"""

import time
from typing import Any

from pyspark.sql import SparkSession

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.moments import moment_of_milliseconds
from reconciler.base.names import did_you_mean, fold, quoted
from reconciler.engine.protocol import Available, Ingestion
from reconciler.engine.spark.conform import by_name
from reconciler.engine.spark.ingest.datagen_plan import ROWS_AT_ONCE, due_at, next_rows, plan_at, plans_of
from reconciler.engine.spark.ingest.datagen_values import ROW, value
from reconciler.engine.spark.ingest.incoming import Incoming
from reconciler.engine.spark.locations import Sessions
from reconciler.engine.spark.writes import ORDER


def discover(sessions: Sessions, settings: JsonObject, position: JsonObject | None) -> Available | None:
    """The rows that are due."""
    if position is not None and position.get("complete"):
        return None
    plans = plans_of(settings["transport"].get("config") or {})
    now = time.time_ns() // 1_000_000
    rows = 0 if position is None else int(position["rows"])
    started = now if position is None else int(position.get("started", now))
    at_once = int(settings.get("max_batch_size") or ROWS_AT_ONCE)
    until, ready = next_rows(plans, rows, (now - started) / 1000, at_once)
    ends = plan_at(plans, until) is None
    if until == rows and not ends:
        return None
    reached: dict[str, Any] = {"rows": until, "started": started} | ({"complete": True} if ends else {})
    backlog, seconds = {} if ready is None else {"rows": ready - rows}, due_at(plans, rows) if until > rows else None
    since = None if seconds is None else moment_of_milliseconds(started + round(seconds * 1000))
    return Available({"from": rows, "to": until}, reached, ends, backlog, since, since)


def read(session: SparkSession, ingestion: Ingestion, settings: JsonObject) -> Incoming | None:
    """The rows with the range's numbers."""
    first, until = int(ingestion.range["from"]), int(ingestion.range["to"])
    if first == until:
        return None
    config = settings["transport"].get("config") or {}
    plan = plan_at(plans_of(config), first)
    if plan is None:
        raise EngineError("X710", f"no plan makes row {first}")
    target = ingestion.target
    known = {fold(column.name) for column in target.columns}
    for name in sorted(plan.fields):
        if fold(name) not in known:
            hint = did_you_mean(name, [column.name for column in target.columns])
            raise EngineError("X716", f"table {target.name} has no column {name}", hint)
    fields = {fold(name): field for name, field in plan.fields.items()}
    numbers = session.range(first - plan.first, until - plan.first).withColumnRenamed("id", ROW)
    seed = int(config.get("seed") or 0)
    values = [
        f"{value(column, fields.get(fold(column.name)) or {}, seed)} AS {quoted(fold(column.name))}"
        for column in target.columns
    ]
    rows = numbers.selectExpr(*values, f"{quoted(ROW)} AS {quoted(ORDER)}")
    origin = f"concat('{{\"row\": ', {quoted(ORDER)} + {plan.first}L, '}}')"
    return Incoming(rows, by_name(rows, hidden=(ORDER,)), origin, kept=(ORDER,))
