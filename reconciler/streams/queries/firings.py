"""When the rows of a window are given: which firings of a step each row belongs to.

Rows of a key and window are counted off in order (`__o`), and a firing has a number: twice the count of the row that it
fires with, and one more where the watermark's passing fires after that row. So the numbers are in the order of the firings,
and
- an accumulating window gives with a firing each row that is no later than it,
- a discarding one gives with a firing each row that is no later than it and was not given before (`pending`).

Where all aggregates can go on from row to row and all rows are given each time, they are computed for each row over those up
to it, and the rows after which something fires are taken. Else each row gets the numbers of its firings as an array, which
is exploded. Any aggregate can be computed over the rows of a firing then, and nothing is joined: the rows of a key and
window are in one place already.
"""

from collections.abc import Sequence
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.names import quoted
from reconciler.streams.model import Accumulation, AggregateOverWindow
from reconciler.streams.queries.parts import least_multiple
from reconciler.streams.queries.running_forms import over_window

ORDINAL: Final = "`__o`"
FIRING: Final = "`__firing`"
_NONE: Final = "array()"


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows that a count trigger counts: it fires with the row whose count is `first`, if that is no more than `last`, and
    then with each `every`-th one. The counts are expressions of SQL."""

    first: str
    last: str
    every: int


@dataclass(frozen=True, slots=True)
class Passing:
    """A firing after the row whose count is `after`, if the condition holds."""

    condition: str
    after: str


def numbers(
    accumulation: Accumulation, counted: Sequence[Counted], passing: Passing | None, pending: str, row: str = ORDINAL
) -> str:
    """An expression that gives the numbers of the firings that a row belongs to. Those of `counted` follow each other."""
    firsts = [(_first_for(row, one), one) for one in counted]
    if accumulation is Accumulation.ACCUMULATING:
        arrays = [f"CASE WHEN {first} <= {one.last} THEN {_each(first, one)} ELSE {_NONE} END" for first, one in firsts]
        if passing is not None:
            arrays.append(f"CASE WHEN {passing.condition} THEN array(2 * {passing.after} + 1) ELSE {_NONE} END")
        return arrays[0] if len(arrays) == 1 else f"concat({', '.join(arrays)})"
    cases = [f"WHEN NOT ({pending}) THEN {_NONE}"]
    cases += [f"WHEN {first} <= {one.last} THEN array(2 * {first})" for first, one in firsts]
    if passing is not None:
        cases.append(f"WHEN {passing.condition} THEN array(2 * {passing.after} + 1)")
    return f"CASE {' '.join(cases)} ELSE {_NONE} END"


def own_numbers(counted: Sequence[Counted], passing: Passing | None, row: str = ORDINAL) -> str:
    """An expression that gives the numbers of the firings after a row: those whose last row it is."""
    arrays = [
        f"CASE WHEN {row} BETWEEN {one.first} AND {one.last} AND pmod({row} - {one.first}, {one.every}) = 0 "
        f"THEN array(2 * {row}) ELSE {_NONE} END"
        for one in counted
    ]
    if passing is not None:
        arrays.append(
            f"CASE WHEN {passing.condition} AND {row} = {passing.after} THEN array(2 * {row} + 1) ELSE {_NONE} END"
        )
    return arrays[0] if len(arrays) == 1 else f"concat({', '.join(arrays)})"


def running_values(given: AggregateOverWindow, window: str) -> list[str] | None:
    """The aggregates over the rows of a window of Spark SQL, one after the other, as columns `value_column` names; None if
    they have to be computed over the rows of each firing."""
    if given.accumulation is not Accumulation.ACCUMULATING:
        return None
    texts = [(name, over_window(expression, window)) for name, expression in given.aggregates]
    if any(text is None for _, text in texts):
        return None
    return [f"{text} AS {value_column(name)}" for name, text in texts]


def value_column(name: str) -> str:
    """What a value that is given as `name` is called within a query."""
    return quoted(f"__value_{name}")


def _first_for(row: str, counted: Counted) -> str:
    """The count of the first row that fires and is no earlier than this one."""
    return f"GREATEST({counted.first}, {counted.first} + {least_multiple(f'({row} - {counted.first})', counted.every)})"


def _each(first: str, counted: Counted) -> str:
    """The numbers of all firings from there on."""
    return f"sequence(2 * {first}, 2 * {counted.last}, CAST({2 * counted.every} AS BIGINT))"
