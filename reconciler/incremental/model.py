"""How a view is maintained: a sum type."""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, TypeAlias, assert_never

from reconciler.base.dataclass import dataclass
from reconciler.incremental.terms import key_of
from reconciler.sql.block_model import AggregateBlock, GroupedBlock, GroupedQuery, LinearBlock, RelationUse

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
        return tuple(sorted({use.relation for use in self.block.relations} | self.block.fixed))

    @property
    def fixed(self) -> frozenset[str]:
        """The keys of those in which it has no rule for changes: where one changes, all that is kept is computed anew. Least
        and greatest values have no rule where a term takes rows away and brings them again."""
        uses = self.block.relations
        without = {
            use.relation for at, use in enumerate(uses) if not use.is_linear and (self.extremes or not key_of(uses, at))
        }
        return self.block.fixed | without


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
        return tuple(sorted({use.relation for block in self.blocks for use in block.relations} | self.fixed))

    @property
    def fixed(self) -> frozenset[str]:
        """The keys of those in which it has no rule for changes."""
        without = (
            use.relation
            for block in self.blocks
            for at, use in enumerate(block.relations)
            if not use.is_linear and (self.only_added is not None or not key_of(block.relations, at))
        )
        return frozenset().union(*(block.fixed for block in self.blocks), without)

    @property
    def beside(self) -> frozenset[str]:
        """The keys of those where rows that come may take rows of the view away."""
        uses = (use.relation for block in self.blocks for use in block.relations if not use.is_linear)
        return frozenset().union(*(block.fixed for block in self.blocks), uses)


@dataclass(frozen=True, slots=True)
class ChangedGroups:
    """The groups of which rows came or went are computed anew, and take the place of those that the view had
    (`changed_groups`). `query` is that of the view."""

    query: str
    groups: GroupedQuery

    @property
    def relations(self) -> tuple[str, ...]:
        """The keys of the relations that it reads, sorted."""
        return tuple(sorted({use.relation for block in self.groups.blocks for use in block.relations} | self.fixed))

    @property
    def fixed(self) -> frozenset[str]:
        """The keys of those in which it has no rule for changes."""
        without = (
            use.relation
            for block in self.groups.blocks
            for at, use in enumerate(block.relations)
            if not use.is_linear and not key_of(block.relations, at)
        )
        return frozenset().union(*(block.fixed for block in self.groups.blocks), without)


Method: TypeAlias = KeptAggregate | LinearRows | ChangedGroups
"""A way to follow."""


def froms_of(method: Method) -> tuple[tuple[RelationUse, ...], ...]:
    """The relations of each FROM by whose changes the method follows."""
    return tuple(block.relations for block in _blocks_of(method))


def read_whole(method: Method) -> frozenset[str]:
    """The relations (keys) that subqueries read without a key: of these any row may matter."""
    return frozenset().union(*(block.fixed for block in _blocks_of(method)))


def _blocks_of(method: Method) -> Sequence[AggregateBlock | LinearBlock | GroupedBlock]:
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
    """From its query."""
    CHANGES = "changes"
    """What is kept, or the view's own rows, followed what changed."""
    ADDED = "added"
    """Rows were added to those that it had."""
    ANEW = "anew"
    """What is kept was computed anew, and the view from it."""
    GIVEN_UP = "given up"
    """From its query, since the way by what changed failed, or was not certain."""
