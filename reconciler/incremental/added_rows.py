"""Rows that are added: where rows only came to what a view reads, so do its own.

A query of SELECTs over relations, put together by UNION ALL, is linear in the relations that each names in its FROM: so
the rows that come to its result are what the query gives over the rows that came, a term for each relation (`terms`). They
are added to the table of the view, which is not read. Where a row went, or a relation changed that is read in another way,
rows of the view may go: `changed_rows`.

Source: A. Gupta, I. S. Mumick, V. S. Subrahmanian, Maintaining Views Incrementally (SIGMOD 1993), for insertions; DBSP's
linear operators. Streams of this project give their rows so, too.
"""

from collections.abc import Collection, Sequence

from reconciler.base.names import quoted
from reconciler.incremental.model import LinearRows
from reconciler.incremental.terms import Term, places_of_change, term_text
from reconciler.sql.block_model import LinearBlock


def added_query(method: LinearRows, changed: Collection[str], columns: Sequence[tuple[str, str]]) -> str:
    """The rows that come to a view, in its columns (with their types), after rows came to relations (keys)."""
    terms = [
        [term_text(method.query, block.rows, Term(block.relations, place, changed)) for place in places]
        for block, places in ((one, places_of_change(one.relations, changed)) for one in method.blocks)
    ]
    given = ", ".join(f"CAST(`{at}` AS {kind}) AS {quoted(name)}" for at, (name, kind) in enumerate(columns))
    places = ", ".join(f"`{at}`" for at in range(len(columns)))
    return f"WITH __added({places}) AS ({with_terms(method, terms)}) SELECT {given} FROM __added"


def with_terms(method: LinearRows, terms: Sequence[Sequence[str]], none: str = "SELECT *") -> str:
    """The query with the terms of each of its blocks in the block's place. A block without any stays, and gives no rows: all
    branches of UNION ALL decide, one after the other, which types its columns have. `none` begins what reads such a
    block."""
    if len(method.blocks) == 1:
        return " UNION ALL ".join(terms[0])
    parts, position = [], 0
    for block, own in zip(method.blocks, terms, strict=True):
        text = f"SELECT * FROM ({' UNION ALL '.join(own)})" if own else f"{none} FROM ({_without_rows(method, block)})"
        parts += [method.query[position : block.rows.start], text]
        position = block.rows.end
    return "".join((*parts, method.query[position:]))


def _without_rows(method: LinearRows, block: LinearBlock) -> str:
    if block.where is None:
        return f"{block.rows.of(method.query)} WHERE false"
    return f"{method.query[block.rows.start : block.where.start]}({block.where.of(method.query)}) AND false"
