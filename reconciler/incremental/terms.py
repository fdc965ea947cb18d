"""What a change of a join is: a sum of terms, one for each relation that changed. A term joins the changed rows of that one
with the relations before it as they are now, and with those behind it as they were. So there are n terms, and not 2^n - 1.

Source: M. Budiu et al., DBSP (VLDB 2023), the bilinear rule, for n relations: what a join gives now, less what it gave, is
the sum over i of T1 now ⋈ … ⋈ ΔTi ⋈ … ⋈ Tn before.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from reconciler.sql.block_model import RelationUse, Span


def changed_source(relation: str) -> str:
    """Under which name a term reads what changed in a relation. No relation of a pipeline has a name that begins so."""
    return f"__changed_{relation}"


def former_source(relation: str) -> str:
    """Under which name it reads a relation as it was before the change."""
    return f"__former_{relation}"


def places_of_change(uses: Sequence[RelationUse], changed: Collection[str]) -> tuple[int, ...]:
    """Which of the relations of a FROM changed: each is a term."""
    return tuple(at for at, use in enumerate(uses) if use.relation in changed)


def former_reads(uses: Sequence[RelationUse], changed: Collection[str]) -> frozenset[str]:
    """The relations that the terms read as they were."""
    return frozenset(uses[at].relation for at in places_of_change(uses, changed)[1:])


def current_reads(uses: Sequence[RelationUse], changed: Collection[str]) -> frozenset[str]:
    """Those that they read as they are: what did not change, and what stands before something that did."""
    last = max(places_of_change(uses, changed), default=0)
    return frozenset(use.relation for at, use in enumerate(uses) if use.relation not in changed or at < last)


def term_text(
    query: str, span: Span, uses: Sequence[RelationUse], place: int, changed: Collection[str], change: str | None = None
) -> str:
    """A part of the query, which names all of these relations, as the term of the one at that place. `change`: a column of
    its changed rows, which SELECTs in FROM hand on."""
    put: list[tuple[Span, str]] = []
    for at, use in enumerate(uses):
        if at == place or (at > place and use.relation in changed):
            name = changed_source(use.relation) if at == place else former_source(use.relation)
            put.append((use.span, f"`{name}`" if use.has_alias else f"`{name}` AS {quoted(use.name)}"))
    if change is not None:
        for at, layer in enumerate(uses[place].within):
            handed = change_of(replace(uses[place], within=uses[place].within[at + 1 :]), change)
            put.append((Span(layer.place, layer.place), f", {handed} AS `{change}`"))
    parts, position = [], span.start
    for one, text in sorted(put, key=lambda pair: pair[0].start):
        parts += [query[position : one.start], text]
        position = one.end
    return "".join((*parts, query[position : span.end]))


def change_of(use: RelationUse, change: str) -> str:
    """That column of the changed rows of a relation, where its FROM is read."""
    return f"{quoted(use.within[0].name if use.within else use.name)}.`{change}`"


def quoted(name: str) -> str:
    """A name as a query may have it."""
    return f"`{name.replace('`', '``')}`"
