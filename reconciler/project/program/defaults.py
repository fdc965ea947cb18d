"""What a column's DEFAULT stands for: one value, whoever fills it in.

A constant means the same under all settings but for a moment that names no zone: `TIMESTAMP '2020-01-01 00:00:00'` is in the
zone of the pipeline's session, as it would be in a query. Inputs are read without a pipeline's settings, so an engine is
given the zone with the moment. Another zone is another default, and a change of its table.
"""

import re
from datetime import date, datetime
from typing import Final

from reconciler.base.declarations import ColumnDeclaration, Settings
from reconciler.project.program.settings import DEFAULTS, decisive_settings
from reconciler.sql.column_clauses import spark_text

ZONE: Final = "spark.sql.session.timeZone"

_TIME: Final = re.compile(r"(DATE|TIMESTAMP|TIMESTAMP_NTZ) '(.*)'")


def zone_of_default(column: ColumnDeclaration, settings: Settings) -> str | None:
    """The time zone that decides what a column's default is; None where none does."""
    time = _time(column.default)
    if time is None or time[0] != "TIMESTAMP" or time[1].tzinfo is not None:
        return None
    return decisive_settings(settings).get(ZONE, DEFAULTS[ZONE])


def settled_default(column: ColumnDeclaration, settings: Settings) -> str | None:
    """A column's default as a literal that means the same in every session; None where it has none. Days and times are
    written as Spark reads them: `20200101` would be no date to it."""
    time, zone = _time(column.default), zone_of_default(column, settings)
    if time is None:
        return column.default
    kind, at = time
    if kind == "DATE":
        return f"DATE '{at.date().isoformat()}'"
    if zone is None or (ZONE in settings.sealed and ZONE not in settings.spark):
        return f"{kind} '{at.isoformat(' ')}'"
    # A setting is a text like any other: what it says must not end the literal.
    moment = f"{at.isoformat(' ')} {zone}"
    return f"{kind} {spark_text(moment)}"


def _time(default: str | None) -> tuple[str, datetime] | None:
    """The kind of a day or time, and which it is; None where a default is something else."""
    found = _TIME.fullmatch(default or "")
    if found is None:
        return None
    try:
        read = date.fromisoformat(found[2]) if found[1] == "DATE" else datetime.fromisoformat(found[2])
    except ValueError:
        return None
    return found[1], read if isinstance(read, datetime) else datetime.combine(read, datetime.min.time())
