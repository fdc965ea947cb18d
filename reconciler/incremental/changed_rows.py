"""Rows that change: where rows come to what a view reads or go from it, so do its own, each with how many copies of it.

A query of SELECTs over relations, put together by UNION ALL, gives rows that are made of rows of the relations. So what a
change brings is a sum of terms (`terms`): what the query gives over the rows that came, less what it gives over those that
went; for a relation behind an outer join or in a subquery, what rows with its changed keys give now, less what they gave.
Equal rows are added up: what is left is how many copies of each row come, or go. Nothing is asked of the rows that the view
has. To take rows out of its table is the engine's.

Of floating numbers two zeros are equal, and a query may tell them apart; grouping loses the sign. So rows with such numbers
are told apart by their texts as well, and MAX gives the number as it was. Columns that are not compared have no such rule
(`derive`).

Sources: A. Gupta, I. S. Mumick, V. S. Subrahmanian, Maintaining Views Incrementally (SIGMOD 1993): counting; DBSP's Z-sets.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from reconciler.base.names import quoted
from reconciler.incremental.added_rows import with_terms
from reconciler.incremental.model import FLOATING, LinearRows
from reconciler.incremental.terms import Term, changed_source, places_of_change, term_text
from reconciler.sql.block_model import LinearBlock

COPIES: Final = "__copies"
"""The last column of what changed: how many copies of a row come or, where it is negative, go."""

_SIGN: Final = "__sign"
_CAME: Final = "__came_"
_WENT: Final = "__went_"


def changed_rows_query(method: LinearRows, changed: Collection[str], columns: Sequence[tuple[str, str]], change: str) -> str:
    """The rows that come to a view and go from it, each once, in its columns (with their types) and `COPIES`, after
    relations (keys) changed. Their changed rows have a column `change`, which says `insert` or `delete`. None of them is
    `fixed`."""
    terms, read = list[list[str]](), set[str]()
    for block in method.blocks:
        places = places_of_change(block.relations, changed)
        terms.append([text for place in places for text in _of_relation(method.query, block, place, changed)])
        read |= {block.relations[place].relation for place in places if block.relations[place].is_linear}
    names = [
        f"`{prefix}{key}` AS (SELECT * EXCEPT (`{change}`) FROM `{changed_source(key)}` WHERE `{change}` = '{what}')"
        for key in sorted(read)
        for prefix, what in ((_CAME, "insert"), (_WENT, "delete"))
    ]
    rows = with_terms(method, terms, "SELECT *, 0")
    return f"WITH {', '.join([*names, netted([rows], columns)])}"


def netted(parts: Sequence[str], columns: Sequence[tuple[str, str]]) -> str:
    """The end of a query, from its last name of WITH on: rows in the columns of a view (with their types), each once, with
    `COPIES`. `parts` are queries that give them, and last the sign of each."""
    places = ", ".join(f"`{at}`" for at in range(len(columns)))
    given = ", ".join(f"CAST(`{at}` AS {kind}) AS {quoted(name)}" for at, (name, kind) in enumerate(columns))
    keys, told = list[str](), list[str]()
    for name, kind in columns:
        floats = FLOATING.search(kind) is not None
        keys += [quoted(name), f"CAST({quoted(name)} AS STRING)"] if floats else [quoted(name)]
        told.append(f"max({quoted(name)}) AS {quoted(name)}" if floats else quoted(name))
    return (
        f"__rows({places}, `{_SIGN}`) AS ({' UNION ALL '.join(parts)})"
        f" SELECT {', '.join(told)}, CAST(sum(`{_SIGN}`) AS BIGINT) AS `{COPIES}`"
        f" FROM (SELECT {given}, `{_SIGN}` FROM __rows) GROUP BY {', '.join(keys)} HAVING sum(`{_SIGN}`) <> 0"
    )


def _of_relation(query: str, block: LinearBlock, place: int, changed: Collection[str]) -> Iterator[str]:
    """What a change of one relation of a SELECT brings, and what it takes, each row with its sign."""
    uses = block.relations
    if uses[place].is_linear:
        for prefix, sign in ((_CAME, 1), (_WENT, -1)):
            term = Term(uses, place, changed, rows=f"{prefix}{uses[place].relation}")
            yield f"SELECT *, {sign} FROM ({term_text(query, block.rows, term)})"
        return
    for was, sign in ((False, 1), (True, -1)):
        yield f"SELECT *, {sign} FROM ({term_text(query, block.rows, Term(uses, place, changed, was))})"
