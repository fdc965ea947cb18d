"""What a change of a join is: a sum of terms, one for each relation that changed. A term joins the changed rows of that one
with the relations before it as they are now, and with those behind it as they were. So there are n terms, and not 2^n - 1.

A relation in which a block is not linear (behind an outer, SEMI or ANTI join, in a subquery of WHERE) may have a key:
columns that are equal to those of a relation in which the block is linear. Then its changed rows change nothing but what
rows with their keys give. So its term is what these rows give with it as it is now, less what they give with it as it was.
Of the relation that has that key no other rows are read, wherever it stands. A key may also lead there by other relations,
as where a table is joined with what is itself brought by a LEFT JOIN: its changed rows say which rows of that one they have
to do with, and these say which keys. On the way rows are passed over that mean nothing, now and before: those that do not
meet what the query asks of each by itself (`sql.plain_conditions`), and those whose partners do not.

Sources: M. Budiu et al., DBSP (VLDB 2023), the bilinear rule, for n relations: what a join gives now, less what it gave, is
the sum over i of T1 now ⋈ … ⋈ ΔTi ⋈ … ⋈ Tn before. A. Gupta, I. S. Mumick, Maintenance of Materialized Views (1995): outer
joins and subqueries by the keys that changed.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.names import quoted
from reconciler.sql.block_model import RelationUse, Span


@dataclass(frozen=True, slots=True)
class Hop:
    """The relation at a place, whose columns are equal to those of the one before it: in each pair the latter's comes
    first."""

    place: int
    pairs: tuple[tuple[str, str], ...]


Key: TypeAlias = tuple[Hop, ...]
"""From a relation to one in which the block is linear, which is the last. Each is equal to the one before it."""


@dataclass(frozen=True, slots=True)
class Term:
    """That of the relation at a place, where these relations (keys) changed. `was`: the relation has a key, and is read as
    it was, for what is taken away. `rows`: under which name a relation without a key is read (None: `changed_source`)."""

    uses: Sequence[RelationUse]
    place: int
    changed: Collection[str]
    was: bool = False
    rows: str | None = None


def changed_source(relation: str) -> str:
    """Under which name a term reads what changed in a relation. No relation of a pipeline has a name that begins so."""
    return f"__changed_{relation}"


def former_source(relation: str) -> str:
    """Under which name it reads a relation as it was before the change."""
    return f"__former_{relation}"


def key_of(uses: Sequence[RelationUse], place: int) -> Key | None:
    """By what rows of a relation in which the block is not linear are reached; None: by nothing that is known."""
    if uses[place].is_linear:
        return None
    keys: list[tuple[int, Key]] = [(place, ())]
    seen = {place}
    # The list grows: those with fewer hops come first.
    for reached, key in keys:
        for at in sorted(range(len(uses)), key=lambda at: not uses[at].is_linear):
            pairs = tuple((end, column) for column, other, end in uses[at].joined if other == reached)
            if not pairs or at in seen:
                continue
            longer = (*key, Hop(at, pairs))
            if uses[at].is_linear:
                return longer
            seen.add(at)
            keys.append((at, longer))
    return None


def equal_columns(uses: Sequence[RelationUse], place: int, other: int) -> tuple[tuple[str, str], ...]:
    """The columns of the relation at a place, each with that of the other one to which it leads."""
    return tuple((start, end) for start, of, end in uses[place].joined if of == other)


def narrowing(uses: Sequence[RelationUse], place: int, changed: Collection[str]) -> list[int]:
    """The relations of which rows of the one at a place need partners that meet conditions, where these (keys) did not
    change: rows without mean nothing, now and before."""
    known = (one for one in uses[place].partners if uses[one].conditions and uses[one].relation not in changed)
    return sorted(known)


def places_of_change(uses: Sequence[RelationUse], changed: Collection[str]) -> tuple[int, ...]:
    """Which of the relations of a block changed: each is a term."""
    return tuple(at for at, use in enumerate(uses) if use.relation in changed)


def former_reads(uses: Sequence[RelationUse], changed: Collection[str]) -> frozenset[str]:
    """The relations that the terms read as they were."""
    places = places_of_change(uses, changed)
    return frozenset(uses[at].relation for at in places if at != places[0] or not uses[at].is_linear)


def current_reads(uses: Sequence[RelationUse], changed: Collection[str]) -> frozenset[str]:
    """Those that they read as they are: what did not change, and what stands before something that did, or has a key."""
    last = max(places_of_change(uses, changed), default=0)
    return frozenset(
        use.relation for at, use in enumerate(uses) if use.relation not in changed or at < last or not use.is_linear
    )


def term_text(query: str, span: Span, term: Term, change: str | None = None) -> str:
    """A part of the query as a term has it. `change`: a column of the changed rows, which SELECTs in FROM hand on."""
    uses, place, changed = term.uses, term.place, term.changed
    put: list[tuple[Span, str]] = []
    is_linear, key = uses[place].is_linear, key_of(uses, place)
    for at, use in enumerate(uses):
        if not span.has(use.span):
            continue
        read = None
        if (at == place and (is_linear or term.was)) or (at > place and use.relation in changed):
            changed_rows = term.rows or changed_source(use.relation)
            read = f"`{changed_rows if at == place and is_linear else former_source(use.relation)}`"
        if key is not None and at == key[-1].place:
            read = f"(SELECT * FROM {_with_keys(query, term, key)})"
        if read is not None:
            put.append((use.span, read if use.has_alias else f"{read} AS {quoted(use.name)}"))
    if change is not None and is_linear:
        for at, layer in enumerate(uses[place].within):
            handed = change_of(replace(uses[place], within=uses[place].within[at + 1 :]), change)
            put.append((Span(layer.place, layer.place), f", {handed} AS `{change}`"))
    parts, position = [], span.start
    for one, text in sorted(put, key=lambda pair: pair[0].start):
        parts += [query[position : one.start], text]
        position = one.end
    return "".join((*parts, query[position : span.end]))


def _with_keys(query: str, term: Term, key: Key) -> str:
    """The relation to which a key leads, less the rows that none of the changed ones has to do with: the end of a query."""
    rows, reached, conditions = f"`{changed_source(term.uses[term.place].relation)}`", term.place, list[str]()
    for hop in key:
        use = term.uses[hop.place]
        conditions += _meaningful(query, term, reached)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        is_former = hop.place > term.place and use.relation in term.changed
        conditions = [f"{_own(hop.pairs)} IN (SELECT {_listed(hop.pairs, 0)} FROM {rows}{where})"]
        rows, reached = f"`{former_source(use.relation)}`" if is_former else use.span.of(query), hop.place
    return f"{rows} WHERE {' AND '.join(conditions)}"


def _meaningful(query: str, term: Term, place: int) -> list[str]:
    """The conditions on rows of a relation without which they mean nothing."""
    found = [one.text for one in term.uses[place].conditions]
    for other in narrowing(term.uses, place, term.changed):
        use, pairs = term.uses[other], equal_columns(term.uses, place, other)
        met = " AND ".join(one.text for one in use.conditions)
        swapped = tuple((end, start) for start, end in pairs)
        found.append(f"{_own(swapped)} IN (SELECT {_listed(swapped, 0)} FROM {use.span.of(query)} WHERE {met})")
    return found


def _own(pairs: Sequence[tuple[str, str]]) -> str:
    return _listed(pairs, 1) if len(pairs) == 1 else f"({_listed(pairs, 1)})"


def _listed(pairs: Sequence[tuple[str, str]], at: int) -> str:
    return ", ".join(quoted(pair[at]) for pair in pairs)


def change_of(use: RelationUse, change: str) -> str:
    """That column of the changed rows of a relation, where its FROM is read."""
    return f"{quoted(use.within[0].name if use.within else use.name)}.`{change}`"
