"""The SQL of a step of a stream. See the package.

What is given names the relations that the SQL reads: of each input the rows that were added, and the state (None: there is
none yet, it is the first step). `Moment` says which step it is, and the watermark before and after it as expressions of SQL
(BIGINT, microseconds since 1970; NULL: none yet). With literals the SQL is that of one step; with the whole tables as added
rows, no state and the watermark as a subquery, it is the stream's definition, from which it is bootstrapped.
"""

from enum import Enum, auto
from typing import Final

from reconciler.base.dataclass import dataclass

NO_WATERMARK: Final = "CAST(NULL AS BIGINT)"
FOLDED: Final = "__folded"
"""The relation by which queries read the rows that came, put together (`StreamQueries.fold`)."""


@dataclass(frozen=True, slots=True)
class Input:
    """What a stream reads: under which name its SQL finds the rows, their columns in order with their types (None: not
    known), and which of them has the event time."""

    name: str
    columns: tuple[tuple[str, str | None], ...]
    event_time: str


@dataclass(frozen=True, slots=True)
class Moment:
    """Which step it is, and the watermark before and after it, as SQL."""

    step: int
    before: str = NO_WATERMARK
    after: str = NO_WATERMARK


@dataclass(frozen=True, slots=True)
class StepInput:
    """What a step reads: the rows of its one input that came, by which name it finds what is remembered (None: nothing is),
    and which step it is. `is_folded`: the rows that came have been put together by the step's `fold`."""

    source: Input
    state: str | None
    moment: Moment
    is_folded: bool = False


class Holds(Enum):
    """What is remembered of a key of which several steps wrote rows: `LATEST`, the rows of the latest step. `ALL`, all rows,
    none of which ever changes. `GREATEST`, one row, with the greatest value of each column: a step writes what it knows by
    the rows that came, and need not know what was remembered."""

    LATEST = auto()
    ALL = auto()
    GREATEST = auto()

    @property
    def is_added_to(self) -> bool:
        """Whether a step writes rows beside those that were remembered of their keys, in place of these."""
        return self is not Holds.LATEST


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered of a stream, row by row. All texts are expressions over the columns of the state.

    `columns` are those of the state, quoted. `keys` say which rows belong together, each by the columns of which one has it;
    `came` has of each input the columns that have the keys in the rows that come. A row is remembered while the watermark is
    no greater than `until`.

    `due`: where the watermark comes to the first of these, and has not passed the second before, the row gives something, or
    is remembered otherwise, though no row of its key comes. None: nothing does.

    `holds` says what the rows of a key are to those that were remembered of it before. `needs_keys`: what was remembered of
    the keys that come is needed."""

    columns: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    came: tuple[tuple[str, tuple[str, ...]], ...]
    until: str
    due: tuple[str, str] | None = None
    holds: Holds = Holds.LATEST
    needs_keys: bool = True


@dataclass(frozen=True, slots=True)
class LateQueries:
    """What says of the rows that came which of them came too late. `count` gives one row with their number (`late`, BIGINT),
    `rows` each of them: the input that it came by (`__input`), its event time in microseconds (`__time`), and its columns as
    JSON (`__record`)."""

    count: str
    rows: str


@dataclass(frozen=True, slots=True)
class StreamQueries:
    """`output` gives the rows that are emitted, `state` the rows that are remembered, `late` those that came too late.
    `event_time` is the column of the output that has its event time. `memory` says of the rows of the state which of them a
    step needs.

    `fold`: what puts the rows that came together, so that there are few of them. Queries that are made for that read
    `FOLDED`, which has what it gives, in place of the input; `late` reads both. None: the rows that came are all needed."""

    output: str
    state: str
    late: LateQueries
    event_time: str
    memory: Memory
    fold: str | None = None
