"""The columns that a stream gives, in order, with their types where these are declared.

The type of an aggregate is not told here: what is inferred may be told otherwise by a later version, and the SQL of whatever
reads the stream depends on it.
"""

from typing import Final, TypeAlias, assert_never

from reconciler.base.names import fold
from reconciler.streams.model import (
    CHANGE,
    CHANGES,
    AggregateOverWindow,
    AssignWatermarks,
    Count,
    Custom,
    Deduplicate,
    OuterCachingJoin,
    Previous,
    RunningAggregate,
    Sort,
    Transformation,
)
from reconciler.streams.queries import Input

TIMESTAMP: Final = "TIMESTAMP"
EVENT_TIME: Final = "event_time"

Columns: TypeAlias = tuple[tuple[str, str | None], ...]


def output_columns(transformation: Transformation, inputs: tuple[Input, ...]) -> Columns:
    """The columns of the rows that a transformation of these inputs gives."""
    first = inputs[0].columns
    match transformation:
        case AssignWatermarks(column=column, read=read):
            change: Columns = ((CHANGE, "STRING"),) if read == CHANGES else ()
            return (*first, *change) if column is None else (*first, (column, TIMESTAMP), *change)
        case AggregateOverWindow():
            times = ("window_start", TIMESTAMP), ("window_end", TIMESTAMP)
            window: Columns = () if isinstance(transformation.window, Count) else times
            aggregates = tuple((name, None) for name, _ in transformation.aggregates)
            return (*_named(transformation.keys, first), *window, *aggregates, ("firing", "STRING"), (EVENT_TIME, TIMESTAMP))
        case OuterCachingJoin():
            left, right = (_besides(transformation.keys, one.columns) for one in inputs)
            # The rows have an event time of their own.
            both = {fold(name) for name, _ in left} & {fold(name) for name, _ in right} | {EVENT_TIME}
            sides = zip((transformation.left, transformation.right), (left, right), strict=True)
            joined = tuple(
                (f"{side}_{name}" if fold(name) in both else name, kind) for side, of in sides for name, kind in of
            )
            return (*_named(transformation.keys, first), *joined, (EVENT_TIME, TIMESTAMP))
        case RunningAggregate():
            return (*first, *((name, None) for name, _ in transformation.aggregates))
        case Previous():
            known = {fold(name): kind for name, kind in first}
            return (*first, *((name, known.get(fold(column))) for name, column in transformation.columns))
        case Sort() | Deduplicate():
            return first
        case Custom(keys=keys, gives=gives):
            return (*_named(keys, first), *gives)
        case _:
            assert_never(transformation)


def _named(names: tuple[str, ...], columns: Columns) -> Columns:
    known = {fold(name): (name, kind) for name, kind in columns}
    return tuple(known.get(fold(name), (name, None)) for name in names)


def _besides(names: tuple[str, ...], columns: Columns) -> Columns:
    keys = {fold(name) for name in names}
    return tuple(column for column in columns if fold(column[0]) not in keys)
