"""How a view is maintained: a sum type."""

import re
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Final, TypeAlias, assert_never

from reconciler.base.dataclass import dataclass
from reconciler.incremental.terms import current_reads, former_reads, key_of, places_of_change
from reconciler.sql.block_model import AggregateBlock, GroupedBlock, GroupedQuery, LinearBlock, RelationUse

LEAST_GROUPS: Final = 1_000
"""Of fewer, a change mostly reaches all: a view of fewer rows has no groups computed anew."""

_Block: TypeAlias = AggregateBlock | LinearBlock | GroupedBlock

FLOATING: Final = re.compile(r"(?i)\b(FLOAT|DOUBLE)\b(?!:)")
"""A type, as Spark writes it, with floating numbers at any depth. A field of a struct may bear such a name (`double:`)."""


@dataclass(frozen=True, slots=True)
class KeptCount:
    """A count that is kept: its call, and the condition of its FILTER (None: there is none)."""

    call: str
    condition: str | None


@dataclass(frozen=True, slots=True)
class KeptSum:
    """What is added up for sums and averages of one argument under one condition. `is_integer`: of integers, else of
    decimals. `has_average`: an average is asked for."""

    argument: str
    condition: str | None
    is_integer: bool
    has_average: bool


@dataclass(frozen=True, slots=True)
class KeptExtreme:
    """The least or greatest value of an argument that is kept: its call, argument and condition. `is_least` says which."""

    call: str
    argument: str
    condition: str | None
    is_least: bool


@dataclass(frozen=True, slots=True)
class KeptAggregate:
    """The groups of one aggregate of the query are kept (`kept_aggregate`). `query` is that of the view. `distinct` is what
    COUNT(DISTINCT …) takes (None: the query has none): groups are kept for each of its values."""

    query: str
    block: AggregateBlock
    counts: tuple[KeptCount, ...]
    sums: tuple[KeptSum, ...]
    extremes: tuple[KeptExtreme, ...]
    distinct: str | None

    @property
    def relations(self) -> tuple[str, ...]:
        """The keys of the relations that decide what is kept, sorted."""
        return _relations((self.block,))

    @property
    def fixed(self) -> frozenset[str]:
        """The keys of those in which it has no rule for changes: where one changes, all that is kept is computed anew. Least
        and greatest values have no rule where a term takes rows away and brings them again."""
        return _fixed((self.block,), by_keys=not self.extremes)


@dataclass(frozen=True, slots=True)
class Recompute:
    """The query is computed anew: why, and what would help (None: nothing that is known)."""

    reason: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class LinearRows:
    """Each row that the query gives is made of rows of the relations that it reads, and of nothing else: so rows that come
    there bring rows (`added_rows`), and rows that go take rows away (`changed_rows`). `blocks` are the SELECTs of the query,
    which UNION ALL puts together. `only_added`: why rows that go can't be followed (None: they can)."""

    query: str
    blocks: tuple[LinearBlock, ...]
    only_added: str | None = None

    @property
    def relations(self) -> tuple[str, ...]:
        """The keys of the relations that it reads, sorted."""
        return _relations(self.blocks)

    @property
    def fixed(self) -> frozenset[str]:
        """The keys of those in which it has no rule for changes."""
        return _fixed(self.blocks, by_keys=self.only_added is None)

    @property
    def beside(self) -> frozenset[str]:
        """The keys of those where rows that come may take rows of the view away."""
        uses = (use.relation for block in self.blocks for use in block.relations if not use.is_linear)
        return frozenset().union(*(block.fixed for block in self.blocks), uses)


@dataclass(frozen=True, slots=True)
class ChangedGroups:
    """The groups of which rows came or went are computed anew, and take the place of those that the view had
    (`changed_groups`). `query` is that of the view. `not_kept`: why its groups can't be kept (None: it has no aggregate, or
    they can)."""

    query: str
    groups: GroupedQuery
    not_kept: Recompute | None = None

    @property
    def relations(self) -> tuple[str, ...]:
        """The keys of the relations that it reads, sorted."""
        return _relations(self.groups.blocks)

    @property
    def fixed(self) -> frozenset[str]:
        """The keys of those in which it has no rule for changes."""
        return _fixed(self.groups.blocks, by_keys=True)


Method: TypeAlias = KeptAggregate | LinearRows | ChangedGroups
"""A way to follow."""


def froms_of(method: Method) -> tuple[tuple[RelationUse, ...], ...]:
    """The relations of each FROM by whose changes the method follows."""
    return tuple(block.relations for block in _blocks_of(method))


def read_whole(method: Method) -> frozenset[str]:
    """The relations (keys) that subqueries read without a key: of these any row may matter."""
    return frozenset().union(*(block.fixed for block in _blocks_of(method)))


def reads_of_terms(method: Method, changed: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The relations that the terms of a change read as they were, and those that they read as they are. A SELECT of
    `LinearRows` without any term is read as it is: its rows are left out, and its types count."""
    former: set[str] = set()
    current: set[str] = set()
    for block in _blocks_of(method):
        if places_of_change(block.relations, changed):
            former |= former_reads(block.relations, changed)
            current |= current_reads(block.relations, changed) | block.fixed
        elif changed and isinstance(method, LinearRows):
            current |= {use.relation for use in block.relations} | block.fixed
    return tuple(sorted(former)), tuple(sorted(current))


def _relations(blocks: Sequence[_Block]) -> tuple[str, ...]:
    return tuple(sorted(frozenset[str]().union(*({use.relation for use in one.relations} | one.fixed for one in blocks))))


def _fixed(blocks: Sequence[_Block], *, by_keys: bool) -> frozenset[str]:
    """The relations of blocks for whose changes there is no rule. `by_keys`: those in which a block is not linear have one
    where their keys are known."""
    without = (
        use.relation
        for block in blocks
        for at, use in enumerate(block.relations)
        if not use.is_linear and not (by_keys and key_of(block.relations, at))
    )
    return frozenset().union(*(block.fixed for block in blocks), without)


def _blocks_of(method: Method) -> Sequence[_Block]:
    match method:
        case KeptAggregate():
            return (method.block,)
        case LinearRows():
            return method.blocks
        case ChangedGroups():
            return method.groups.blocks
        case _:
            assert_never(method)


Maintenance: TypeAlias = Method | Recompute


class Way(StrEnum):
    """Which way a view took in a step."""

    RECOMPUTED = "recomputed"
    """From its query. Of what a step did: as it has no method."""
    SMALL = "small"
    """From its query, as all that it reads is small."""
    NO_RULE = "no rule"
    """From its query, as its method has no rule for the changes of a relation that changed."""
    DEARER = "dearer"
    """From its query, as to follow would have cost more, or its rows can't be taken out one by one."""
    NOT_TRIED = "not tried"
    """From its query, since the way by what changed failed in steps before."""
    CHANGES = "changes"
    """What is kept, or the view's own rows, followed what changed."""
    ADDED = "added"
    """Rows were added to those that it had."""
    ANEW = "anew"
    """What is kept was computed anew, and the view from it."""
    GIVEN_UP = "given up"
    """From its query, since the way by what changed failed, or was not certain."""
