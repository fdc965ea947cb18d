"""Stateful transformations as values. Durations and watermarks are in microseconds.

- **Event time** is a column of the input of type TIMESTAMP. A row without one (NULL) is late.
- **The watermark** says how far event time has come: the greatest event time that a table had so far, less the delay. It is
  moved at the end of a step, so all rows of a step meet the watermark that the step before left. Of several inputs, the
  least one counts; while an input has no watermark yet, there is none. An input may be taken to be idle: then it is no
  more than so far behind the furthest one. Behind a stream that waits before it gives rows, it is less by that wait
  (`held_back`).
- **Order.** Rows are taken by key in the order of steps; within a step in the order of event time, and rows of equal event
  time in the order of all their values, what is deleted before what is inserted. So nothing depends on the order of files.

The rules are the seed's ("Streaming stateful transformations"); docs/streams.md says which of them the seed leaves open, and
what was chosen.
"""

from enum import StrEnum
from typing import Final, TypeAlias, assert_never

from reconciler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Tumbling:
    """Windows of a length that follow each other without a gap, counted from 1970: [start, start + size)."""

    size: int


@dataclass(frozen=True, slots=True)
class Hopping:
    """Windows of a length, of which one begins after each `every`, counted from 1970. A row is in size / every of them."""

    size: int
    every: int


@dataclass(frozen=True, slots=True)
class Session:
    """Rows of a key between which no break in event time is longer than the gap. The window reaches from the first event
    time to the last one plus the gap, both included."""

    gap: int


@dataclass(frozen=True, slots=True)
class Count:
    """The most recent rows of a key, so many at most. There is no end that a watermark could pass."""

    rows: int


Window: TypeAlias = Tumbling | Hopping | Session | Count


@dataclass(frozen=True, slots=True)
class CountTrigger:
    """Fires for a key and window with each so-many-th row."""

    rows: int


@dataclass(frozen=True, slots=True)
class WindowClose:
    """Fires once, when the window closes: the watermark has passed its end and the allowed lateness."""


@dataclass(frozen=True, slots=True)
class AfterWatermark:
    """Fires when the watermark passes the end of the window; before that with each so-many-th row (`early`), after it, while
    the window is open, with each so-many-th late row (`late`)."""

    early: CountTrigger | None = None
    late: CountTrigger | None = None


Trigger: TypeAlias = CountTrigger | WindowClose | AfterWatermark


class Accumulation(StrEnum):
    """What a window that fires again gives: all its rows so far, or those since it fired last."""

    ACCUMULATING = "accumulating"
    DISCARDING = "discarding"


class Matches(StrEnum):
    """Which cached rows of the other side a row is joined with: all of them, or the one with the latest event time."""

    ALL = "all"
    LATEST = "latest"


CHANGES: Final = "changes"
CHANGE: Final = "change"
"""The column that says what a change of a table is: `insert` or `delete`. A row that is changed is deleted as it was, and
inserted as it is."""

Named: TypeAlias = tuple[str, str]
"""A column that is given, and the expression or column that it is taken from."""


@dataclass(frozen=True, slots=True)
class AssignWatermarks:
    """Gives the rows of a table their event time: `event_time` is one of its columns, or an expression of Spark SQL over
    them, which is then given as a column of that name in `column`. The watermark follows `delay` behind. Beside other inputs
    that go further it is no more than `idle_after` behind the furthest (None: however far).

    `per`: each value of these columns has a watermark of its own, and the least one counts; `idle_after` holds for these,
    too. None: all rows have one.

    `read`: `CHANGES` gives the changes of a table whose rows are changed, too, and what each is in the column `change`;
    None: the rows of a table to which rows are only added."""

    input: str
    event_time: str
    column: str | None
    delay: int
    idle_after: int | None = None
    read: str | None = None
    per: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class AggregateOverWindow:
    """Aggregates of the rows of a key in a window. Gives the keys, `window_start`, `window_end` (not for count windows),
    the aggregates, and `firing`: `early`, `on_time`, `late`, `close` or `count`.

    `expiry` is of count windows alone: a key is forgotten once the watermark passes its last event time by so much.
    """

    input: str
    keys: tuple[str, ...]
    window: Window
    aggregates: tuple[Named, ...]
    trigger: Trigger
    accumulation: Accumulation = Accumulation.ACCUMULATING
    allowed_lateness: int = 0
    expiry: int | None = None


@dataclass(frozen=True, slots=True)
class OuterCachingJoin:
    """Rows of two inputs with equal keys, and event times that lie no further apart than the expiry. Each pair is given
    once. A row that found nobody is given once, with NULLs for the other side, when it leaves the cache: the watermark has
    passed its event time by the expiry. Gives the keys, then the other columns of both sides; of those that both have, each
    as `<side's name>_<column>`."""

    left: str
    right: str
    keys: tuple[str, ...]
    expiry: int
    matches: Matches = Matches.ALL


@dataclass(frozen=True, slots=True)
class RunningAggregate:
    """Each row of the input, with aggregates over all rows of its key up to it. A key is forgotten once the watermark passes
    its last event time by the expiry."""

    input: str
    keys: tuple[str, ...]
    aggregates: tuple[Named, ...]
    expiry: int


@dataclass(frozen=True, slots=True)
class Sort:
    """Each row of the input once, when the watermark has passed its event time. A late row is given at once."""

    input: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """The first row of each key. A key is forgotten once the watermark passes its last event time by the expiry."""

    input: str
    keys: tuple[str, ...]
    expiry: int


@dataclass(frozen=True, slots=True)
class Previous:
    """Each row of the input, with values of the row of its key that came `offset` rows before it (NULL where there is none).
    A key is forgotten once the watermark passes its last event time by the expiry."""

    input: str
    keys: tuple[str, ...]
    columns: tuple[Named, ...]
    offset: int
    expiry: int


@dataclass(frozen=True, slots=True)
class Custom:
    """What a function of the pipeline makes of the rows of a key, in order, and of what it remembered of the key. The
    declaration of the function says the rest: `state` is the type of what it remembers, `takes` and `gives` are columns of
    the rows that it takes and gives. A key is forgotten once the watermark passes its last event time by the expiry."""

    input: str
    keys: tuple[str, ...]
    function: str
    expiry: int
    state: str = ""
    takes: tuple[Named, ...] = ()
    gives: tuple[Named, ...] = ()


Stateful: TypeAlias = AggregateOverWindow | OuterCachingJoin | RunningAggregate | Sort | Deduplicate | Previous | Custom
Transformation: TypeAlias = AssignWatermarks | Stateful


def held_back(transformation: Transformation) -> int:
    """By how much a transformation gives rows after the watermark has passed their event time, because it waits for others:
    a join for the expiry, windows for the allowed lateness. So much later a stream that reads it takes event time to have
    come, or it would find these rows late."""
    match transformation:
        case OuterCachingJoin():
            return transformation.expiry
        case AggregateOverWindow():
            return transformation.allowed_lateness
        case AssignWatermarks() | RunningAggregate() | Sort() | Deduplicate() | Previous() | Custom():
            return 0
        case _:
            assert_never(transformation)


def inputs_of(transformation: Transformation) -> tuple[str, ...]:
    """The relations that a transformation reads, in order."""
    if isinstance(transformation, OuterCachingJoin):
        return (transformation.left, transformation.right)
    return (transformation.input,)
