"""Rows that are added: where rows only came to what a view reads, so do its own.

A query of SELECTs over relations, put together by UNION ALL, is linear in the relations that each names in its FROM: so
the rows that come to its result are what the query gives over the rows that came, a term for each relation (`terms`). They
are added to the table of the view, which is not read. Where a row went, or a relation changed that is read in another way,
the view is computed from its query.

Source: A. Gupta, I. S. Mumick, V. S. Subrahmanian, Maintaining Views Incrementally (SIGMOD 1993), for insertions; DBSP's
linear operators. Streams of this project give their rows so, too.
"""

from collections.abc import Collection, Sequence

from reconciler.incremental.model import LinearRows
from reconciler.incremental.terms import Term, current_reads, former_reads, places_of_change, quoted, term_text


def added_query(method: LinearRows, changed: Collection[str], columns: Sequence[tuple[str, str]]) -> str:
    """The rows that come to a view, in its columns (with their types), after rows came to relations (keys)."""
    terms = [
        term_text(method.query, block.rows, Term(block.relations, place, changed))
        for block in method.blocks
        for place in places_of_change(block.relations, changed)
    ]
    # A branch of UNION ALL alone may have narrower types than all of them have together.
    given = ", ".join(f"CAST(`{at}` AS {kind}) AS {quoted(name)}" for at, (name, kind) in enumerate(columns))
    places = ", ".join(f"`{at}`" for at in range(len(columns)))
    return f"WITH __added({places}) AS ({' UNION ALL '.join(terms)}) SELECT {given} FROM __added"


def reads_of_terms(method: LinearRows, changed: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The relations that the query reads as they were, and those that it reads as they are."""
    former: set[str] = set()
    current: set[str] = set()
    for block in method.blocks:
        if places_of_change(block.relations, changed):
            former |= former_reads(block.relations, changed)
            current |= current_reads(block.relations, changed) | block.fixed
    return tuple(sorted(former)), tuple(sorted(current))
