"""The rows of keys that are remembered until they expire, counted off in order.

The state that these queries read has rows in the order of `__count`, with `__last`, the last event time that their key had
in microseconds. What comes is counted on from there.
"""

from collections.abc import Sequence

from reconciler.base.dataclass import dataclass
from reconciler.base.names import quoted
from reconciler.streams.queries import StepInput
from reconciler.streams.queries.parts import NEW, TIME, listed, micros, order_of, partition, relation_alias, together, within

COUNT = "`__count`"
KNOWN = "`__known`"
TOTAL = "`__total`"
LAST = "`__last`"


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of rows that are counted off: `names` once they are together; `came` gives them of the rows that came,
    `remembered` of those in the state."""

    names: Sequence[str]
    came: Sequence[str]
    remembered: Sequence[str]


def counted_rows(
    read: StepInput,
    relation: str,
    keys: Sequence[str],
    columns: Columns,
    expiry: int,
) -> list[tuple[str, str]]:
    """The parts of a query of which the last, `__counted`, has the remembered rows and those that came in time: their
    columns, whether they are new, their count, that of the last
    remembered row of their key (0: none) and of its last row, and the last event time of the key. Expressions may call the
    input by the name of the relation."""
    source, moment, names = read.source, read.moment, columns.names
    added = (
        f"SELECT {listed(columns.came)}, TRUE AS {NEW}, {micros(source)} AS {TIME}, "
        f"ROW_NUMBER() OVER ({partition(keys)} ORDER BY {listed([micros(source), *order_of(source)])}) AS {COUNT}\n"
        f"FROM {quoted(source.name)} AS {relation_alias(relation)}\nWHERE {within(micros(source), moment, expiry)}"
    )
    remembered = read.state and (
        f"SELECT {listed(columns.remembered)}, FALSE AS {NEW}, {LAST} AS {TIME}, {COUNT}\nFROM {quoted(read.state)}"
    )
    window = partition(keys)
    counts = [
        f"COALESCE(MAX(CASE WHEN NOT {NEW} THEN {COUNT} END) OVER ({window}), 0) AS {KNOWN}",
        f"MAX({TIME}) OVER ({window}) AS {LAST}",
    ]
    placed = f"SELECT {listed([*names, NEW, TIME, COUNT, *counts])}\nFROM `__rows`"
    count = f"CAST(CASE WHEN {NEW} THEN {KNOWN} + {COUNT} ELSE {COUNT} END AS BIGINT)"
    numbered = f"SELECT {listed([*names, NEW, LAST, KNOWN])}, {count} AS {COUNT}\nFROM `__placed`"
    counted = (
        f"SELECT {listed([*names, NEW, LAST, KNOWN, COUNT])}, MAX({COUNT}) OVER ({window}) AS {TOTAL}\nFROM `__numbered`"
    )
    return [
        ("__rows", together(remembered, added)),
        ("__placed", placed),
        ("__numbered", numbered),
        ("__counted", counted),
    ]
