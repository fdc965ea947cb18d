"""Late rows without Spark, for `recording`: the rules are those of `engine.spark.conform`."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from reconciler.base.names import fold
from reconciler.engine.protocol import TableTarget
from reconciler.project.program.lateness import Number

_FIRST_DAY: Final = date(1970, 1, 1)
_FIRST_MOMENT: Final = datetime(1970, 1, 1, tzinfo=UTC)


def late_column(row: Sequence[Any], target: TableTarget, first: Mapping[str, Number], deletes: bool = False) -> str | None:
    """The first column whose value makes a row late; None of one that is on time."""
    keys = {fold(name) for name in target.primary_key} if deletes else set()
    for column, value in zip(target.columns, row, strict=True):
        key = fold(column.name)
        if value is not None and key in first and (not keys or key in keys) and _number(value) < first[key]:
            return column.name
    return None


def told(value: Any) -> str:
    """A value as the reason says it: timestamps in UTC, without zeros at their end."""
    if not isinstance(value, datetime):
        return str(value)
    moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    text = str(moment)
    short = text.rstrip("0") if "." in text else text
    return short if value.tzinfo is None else f"{short}Z"


def _number(value: Any) -> Any:
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (moment - _FIRST_MOMENT) // timedelta(microseconds=1)
    return (value - _FIRST_DAY).days if isinstance(value, date) else value
