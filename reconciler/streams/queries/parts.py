"""What the queries of all transformations are put together from.

- Columns that a query adds to the rows have names that begin with `__`; so have its common table expressions. No column and
  no relation of a pipeline may be called so.
- `__t` is a row's event time in microseconds since 1970 (BIGINT), `__new` says whether the row came in this step.
- Where the order of rows matters, they are ordered by the step that they came in, then by event time, then by the values of
  all columns in turn, NULL before all others. A type that has no order of its own goes by its text. Rows that are equal in
  all of that can be taken for one another.
- A watermark that is NULL has passed nothing. Another one says that rows before it are late; rows of its own time are not.
  So a window whose end is not in it is over when the watermark is its end, and what includes its last moment when it is
  greater.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold, quoted
from reconciler.streams.model import CHANGE
from reconciler.streams.queries import Input, LateQueries, Moment

EVENT_TIME: Final = "event_time"
TIME: Final = "`__t`"
NEW: Final = "`__new`"

_BEFORE_ALL_TIMES: Final = -9_000_000_000_000_000_000
_WITHOUT_ORDER: Final = re.compile(r"\bMAP\s*<|\bVARIANT\b")


def unquoted(identifier: str) -> str:
    """The name of an identifier that `quoted` gives."""
    return identifier[1:-1].replace("``", "`")


def literal(text: str) -> str:
    """A text as a literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def listed(expressions: Iterable[str]) -> str:
    return ", ".join(expressions)


def names_of(source: Input) -> list[str]:
    """The columns of an input, quoted."""
    return [quoted(name) for name, _ in source.columns]


def keys_in(source: Input, keys: Iterable[str]) -> list[str]:
    """The keys as the input spells them, quoted."""
    spelled = {fold(name): name for name, _ in source.columns}
    return [quoted(spelled.get(fold(key), key)) for key in keys]


def of_keys(came: str, keys: Sequence[str]) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, tuple[str, ...]], ...]]:
    """`keys` and `came` of the memory of one input whose keys have the same names in the state. `came` is the relation that
    has the rows that come."""
    return tuple((key,) for key in keys), ((came, tuple(keys)),)


def watermark(text: str) -> str:
    """A watermark that can be compared with: before all times where it is NULL."""
    return f"COALESCE({text}, {_BEFORE_ALL_TIMES})"


def before(moment: Moment) -> str:
    return watermark(moment.before)


def after(moment: Moment) -> str:
    return watermark(moment.after)


def micros(source: Input) -> str:
    """The event time of an input's rows in microseconds."""
    return f"unix_micros({quoted(source.event_time)})"


def order_of(source: Input, kept: Sequence[str] | None = None) -> list[str]:
    """What orders rows of equal event time. A row that is changed is deleted before it is inserted. `kept`: how its columns
    are called, where not as the input's."""
    pairs = sorted(zip(kept or names_of(source), source.columns, strict=True), key=lambda one: fold(one[1][0]) != CHANGE)
    return [ordering(name, kind) for name, (_, kind) in pairs]


def ordering(expression: str, kind: str | None) -> str:
    """What orders the values of an expression of that type (None: not known)."""
    if kind is None or kind.upper().startswith("INTERVAL"):
        return f"CAST({expression} AS STRING)"
    return f"to_json({expression})" if _WITHOUT_ORDER.search(kind.upper()) else expression


def partition(keys: Sequence[str], *more: str) -> str:
    """The rows of a key, as a window of Spark SQL begins."""
    return f"PARTITION BY {listed([*keys, *more])}"


def within(times: str, moment: Moment, expiry: int) -> str:
    """The condition that an event time is no earlier than the watermark before the step less the expiry. Not so for NULL."""
    return f"{times} + {expiry} >= {before(moment)}"


@dataclass(frozen=True, slots=True)
class LateRows:
    """Rows of an input that came too late: those that meet the condition. They are read from `rows`, SQL as it stands behind
    FROM (None: the input itself)."""

    source: Input
    condition: str
    rows: str | None = None


def late_queries(parts: Sequence[tuple[str, str]], *late: LateRows) -> LateQueries:
    """What counts these rows, and what gives them. The first reads none of their columns without need."""

    def read(one: LateRows, columns: str) -> str:
        return f"SELECT {columns}\nFROM {one.rows or quoted(one.source.name)}\nWHERE {one.condition}"

    def columns_of(one: LateRows) -> str:
        record = f"to_json(struct({listed(names_of(one.source))}))"
        return f"{literal(one.source.name)} AS `__input`, {micros(one.source)} AS `__time`, {record} AS `__record`"

    counted = together(*(read(one, "1 AS `__late`") for one in late))
    return LateQueries(
        query(parts, f"SELECT COUNT(*) AS `late`\nFROM (\n{counted}\n) AS `__late_rows`"),
        query(parts, together(*(read(one, columns_of(one)) for one in late))),
    )


def not_within(source: Input, moment: Moment, expiry: int) -> LateRows:
    """The added rows that are earlier than the watermark before the step less the expiry, or have no event time."""
    return LateRows(source, f"NOT COALESCE({within(micros(source), moment, expiry)}, FALSE)")


def late_beyond(source: Input, moment: Moment, expiry: int) -> LateQueries:
    """What says which of them there are."""
    return late_queries((), not_within(source, moment, expiry))


def least_multiple(expression: str, of: int) -> str:
    """The least multiple that is not less than the expression."""
    return f"({expression} + pmod(-({expression}), {of}))"


def greatest_multiple(expression: str, of: int) -> str:
    """The greatest multiple that is not greater than the expression."""
    return f"({expression} - pmod({expression}, {of}))"


def query(parts: Sequence[tuple[str, str]], last: str) -> str:
    """A query with common table expressions, each by its name (not quoted)."""
    if not parts:
        return last
    # Texts are not indented: lines may end within a literal of an expression that the pipeline declares.
    return "WITH " + ",\n".join(f"{quoted(name)} AS (\n{text}\n)" for name, text in parts) + "\n" + last


def after_parts(parts: Sequence[tuple[str, str]], text: str) -> str:
    """A query that may read these parts, too. It is one that `query` made."""
    begun = "WITH `"
    if not text.startswith(begun):
        return query(parts, text)
    first, rest = query(parts, ""), text.removeprefix("WITH ")
    return f"{first.removesuffix(chr(10))},\n{rest}"


def together(*texts: str | None) -> str:
    """The rows of all these queries. None: there is no such."""
    return "\nUNION ALL\n".join(text for text in texts if text is not None)


def written(expression: str) -> str:
    """An expression that the pipeline declares, as it may stand before more text."""
    return f"{expression}\n" if "--" in expression else expression


def relation_alias(relation: str) -> str:
    """The name by which expressions over the columns of a relation may call it."""
    return quoted(relation.rpartition(".")[2].partition("@")[0])
