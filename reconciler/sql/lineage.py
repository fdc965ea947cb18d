"""Which columns of the relations it reads decide each output column of a query, and which decide its rows.

The promise: change the values of one column of one relation, its rows staying what they are. An output column whose
`sources` do not name that column, in a query whose `rows` do not name it, keeps its values: projected on such output
columns, the query gives the same multiset as before. So nothing may be left out; what is named too much only costs work.

Rules:
- `sources` are all columns that reach a value: through expressions, CTEs, subqueries, aggregates, windows and their order.
- `rows` are those that decide which rows there are and how often: conditions, keys of joins and groups, DISTINCT, set
  operations other than UNION ALL, arguments of generators, the order below a LIMIT, and the rows of every query that this
  one reads from. They reach every output column.
- `repeatable`: computed again over the same input, the values are surely the same. No clock, no randomness, no function
  that is not Spark's own nor known to give the same, no aggregate that depends on the order of rows or rounds
  (`repeatable`), and only where the rows are repeatable, too. Casting a text that holds a time without a date takes
  today's date; that is not looked for. A text `today` that is written out may be the clock, whatever it is compared with.
- `functions` are those of the pipeline's own that are called for a value, or for the rows; they go where sources go.
- What the walk does not surely know has no lineage: then everything depends on everything. So it is where settings may let
  Spark read queries otherwise than it does by itself (`manifest.reading_settings`).
- A parser may drop or rename what it does not know. Names that the text holds more often than the tree give no lineage.

Not here: how it is found (`tracing`), and whether a relation's rows changed: a query that reads it changes then, whichever
columns it uses.
"""

from typing import Final

from reconciler.base.dataclass import dataclass

ALL_COLUMNS: Final = "*"
"""Stands among the columns of a read for: whichever there are."""


@dataclass(frozen=True, slots=True)
class OutputLineage:
    """One output column under its final name. `sources` are pairs (relation, column), folded and sorted; `functions` are
    the pipeline's own that it is computed by, beyond those of the rows."""

    name: str
    sources: tuple[tuple[str, str], ...]
    repeatable: bool
    functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lineage:
    """The lineage of one query. `rows` are pairs like sources, `rows_functions` decide rows. See the module."""

    outputs: tuple[OutputLineage, ...]
    rows: tuple[tuple[str, str], ...]
    rows_repeatable: bool
    rows_functions: tuple[str, ...] = ()
