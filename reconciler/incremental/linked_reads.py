"""Which rows of what a term reads can have to do with what changed: those to which equalities of the query lead, from the
changed rows on, one relation after the other (`sql.joined_columns`).

A term holds rows that change, and reads other relations for what these are joined with. Of such a relation it needs no rows
but those that are equal, in all columns that an equality leads to, to some row that is needed of the relation before it.
That is a semi-join for each relation. Of a relation whose rows have to meet conditions by themselves
(`sql.plain_conditions`), rows that do not meet them lead nowhere; nor do rows that have no partner there, where they need
one.

Unlike `needed_rows`, which looks at ranges before anything is read, this leads on from what was found. To find it is the
engine's.

Sources: P. Bernstein, D. Chiu, Using Semi-Joins to Solve Relational Queries (JACM 1981); M. Yannakakis, Algorithms for
Acyclic Database Schemes (VLDB 1981).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.incremental.terms import changed_source, equal_columns, former_source, key_of, narrowing, places_of_change
from reconciler.sql.block_model import RelationUse
from reconciler.sql.row_condition import RowCondition


@dataclass(frozen=True, slots=True)
class LinkedRead:
    """What a term reads under this name. `via`: its number among the reads of the term from which equalities lead here; of
    `pairs` each has a column there and one here, which are equal. None: of the first, which holds the changed rows, and of
    those of which any row may matter. `is_whole`: any row may matter to something else, and equalities lead on from some.

    Rows that do not meet all `conditions` lead nowhere. `narrows`: nor do, from now on, rows of the read that leads here
    which are equal to none of these. To a read `with_null`, where NULL is equal to NULL, all rows lead."""

    name: str
    via: int | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    is_whole: bool = False
    with_null: bool = False
    conditions: tuple[RowCondition, ...] = ()
    narrows: bool = False


TermReads: TypeAlias = tuple[LinkedRead, ...]
"""All that a term reads. The first is what changed; what leads to a read comes before it."""


@dataclass(frozen=True, slots=True)
class KeptKeys:
    """What is kept under a name: of each of its keys the column that holds it, and the column of a relation of FROM that it
    is, with the place of that (None: it is none)."""

    name: str
    keys: tuple[tuple[str, tuple[int, str] | None], ...]


def linked_reads(
    froms: Iterable[Sequence[RelationUse]], changed: Collection[str], whole: Collection[str], kept: KeptKeys | None = None
) -> tuple[TermReads, ...]:
    """The reads of all terms. `froms` are the FROMs of the SELECTs; of relations (keys) that are `whole` any row matters.
    What is `kept` is read for the groups of the rows of each term: that read is the last."""
    return tuple(_of_term(uses, place, changed, whole, kept) for uses in froms for place in places_of_change(uses, changed))


def _of_term(
    uses: Sequence[RelationUse], place: int, changed: Collection[str], whole: Collection[str], kept: KeptKeys | None
) -> TermReads:
    found = [LinkedRead(changed_source(uses[place].relation), conditions=uses[place].conditions)]
    key, at = key_of(uses, place), {place: 0}
    before = (place, *(hop.place for hop in key or ()))
    for reached, hop in zip(before, key or (), strict=False):
        number = at[reached]
        for other in narrowing(uses, reached, changed):
            found += _reads(
                uses, place, other, changed, LinkedRead("", number, equal_columns(uses, reached, other), narrows=True)
            )
        # What leads to the last of them is read once more, for what that one is joined with.
        found += _reads(uses, place, hop.place, changed, LinkedRead("", number, hop.pairs))
        at = {hop.place: len(found) - 1}
    # What has a key is read as it is and as it was: neither leads on for both.
    lead_on(uses, found, at, lambda other, link: _reads(uses, place, other, changed, link), changed, last=place)
    if key is not None:
        # Each row that came is evaluated, has it a partner or not: where the query fails of it, so does the term.
        own = tuple((column, column) for column, _ in key[0].pairs)
        found.append(LinkedRead(uses[place].relation, 0, own, with_null=True))
    found += [_of_kept(kept, at)] if kept is not None else []
    return tuple(replace(one, is_whole=True) if one.name in whole else one for one in found)


def lead_on(
    uses: Sequence[RelationUse],
    found: list[LinkedRead],
    at: dict[int, int],
    reads: Callable[[int, LinkedRead], Iterable[LinkedRead]],
    changed: Collection[str] = (),
    last: int | None = None,
) -> None:
    """Add to what is `found` the reads of all other relations of a FROM. `at` has those that were reached, by place, with
    the numbers of their reads. `reads` says how one is read, with a link to it. From the place `last` nothing leads on. What
    `changed` (keys) narrows nothing."""
    waiting = [*at]
    while waiting:
        reached = waiting.pop(0)
        others = {other for _, other, _ in uses[reached].joined} - at.keys()
        first = [one for one in narrowing(uses, reached, changed) if one in others]
        for other in (*first, *sorted(others.difference(first))):
            link = LinkedRead("", at[reached], equal_columns(uses, reached, other), narrows=other in first)
            found += reads(other, link)
            at[other] = len(found) - 1
            if other != last:
                waiting.append(other)
    for other in range(len(uses)):
        if other not in at:
            found += reads(other, LinkedRead(""))


def _of_kept(kept: KeptKeys, at: Mapping[int, int]) -> LinkedRead:
    """What is kept of the groups to which the rows of a relation belong; `at` has the numbers of the reads, by place."""
    for place in sorted({column[0] for _, column in kept.keys if column is not None} & at.keys()):
        pairs = tuple((column[1], key) for key, column in kept.keys if column is not None and column[0] == place)
        return LinkedRead(kept.name, at[place], pairs, with_null=True)
    return LinkedRead(kept.name)


def _reads(
    uses: Sequence[RelationUse], place: int, at: int, changed: Collection[str], link: LinkedRead
) -> Iterator[LinkedRead]:
    """How the term of a place reads the relation at another one, or its own, where it has a key (`terms.term_text`)."""
    relation = uses[at].relation
    link = replace(link, conditions=uses[at].conditions)
    if at == place or not (at > place and relation in changed):
        yield replace(link, name=relation)
    if at == place or (at > place and relation in changed):
        yield replace(link, name=former_source(relation))
