"""Where a query's output columns come from, and what decides which rows it gives. See `check` for how it is found.

A dependency too many costs a recomputation, one too few would leave a view wrong: when unsure, there is no lineage, which
means that everything depends on everything.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OutputLineage:
    """One output column under its final name. `sources` are the (relation, column) pairs, folded and sorted, whose values
    reach its own; `repeatable`: computing it again over the same input surely gives the same values."""

    name: str
    sources: tuple[tuple[str, str], ...]
    repeatable: bool


@dataclass(frozen=True, slots=True)
class Lineage:
    """`rows` are the columns that decide which rows there are; `rows_repeatable`: the same input surely gives the same
    rows."""

    outputs: tuple[OutputLineage, ...]
    rows: tuple[tuple[str, str], ...]
    rows_repeatable: bool
