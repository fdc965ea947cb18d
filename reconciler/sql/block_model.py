"""What is said of the SELECTs of a query by which its result may follow what changes: their parts, and where these stand in
the query's text."""

from typing import Final, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.sql.repeatable import Number
from reconciler.sql.row_condition import RowCondition


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text: from the offset `start` up to `end`."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]

    def has(self, other: "Span") -> bool:
        """Whether the other part lies within this one."""
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class BlockText:
    """A SELECT and its clauses, each without the words that begin it. `items` are those of the select list, each with its
    alias; `select` is all between SELECT and FROM. `tail` is what stands behind HAVING, with its words: ORDER BY, LIMIT."""

    whole: Span
    select: Span
    items: tuple[Span, ...]
    origin: Span
    where: Span | None
    keys: tuple[Span, ...]
    having: Span | None
    tail: Span | None


@dataclass(frozen=True, slots=True)
class Layer:
    """A SELECT in FROM: its alias, and the offset at which its select list ends."""

    name: str
    place: int


@dataclass(frozen=True, slots=True)
class RelationUse:
    """A relation that a block reads in its FROM, or in a subquery of its WHERE (`keyed_subqueries`): its key, where its name
    stands in the query (`span`), the name that its columns have there, and whether that is written as an alias.
    `is_linear`: rows that come to it or go from it bring or take rows of groups of their own, whatever the other relations
    hold. `within`: the SELECTs in FROM that it stands in, outer ones first. `joined`: its columns, and those that they are
    equal to (`joined_columns`): the place of the relation in the block, and the column. `shown`: its columns that the
    outermost SELECT in FROM hands on, with the alias of that and their names there. `partners`: of the relations that
    `joined` leads to, the places of those without whose rows its own mean nothing; so they do where they do not meet all
    `conditions`."""

    relation: str
    span: Span
    name: str
    has_alias: bool
    is_linear: bool
    within: tuple[Layer, ...] = ()
    joined: tuple[tuple[str, int, str], ...] = ()
    shown: tuple[tuple[str, str, str], ...] = ()
    partners: frozenset[int] = frozenset()
    conditions: tuple[RowCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """A call of an aggregate, with its FILTER (`span`). `kind` is count, sum, avg, min, max or distinct, which is
    COUNT(DISTINCT …); `call` is how its function is written. `argument`, without DISTINCT, and `condition` (None: no FILTER)
    are texts; `number` says of a sum or an average what is added up."""

    span: Span
    kind: str
    call: str
    argument: str
    condition: str | None
    number: Number | None


@dataclass(frozen=True, slots=True)
class KeyUse:
    """A place where the block gives or compares the key of that index. `named`: it is an item by itself, which has this name
    of its column."""

    span: Span
    key: int
    named: str | None = None


@dataclass(frozen=True, slots=True)
class AliasUse:
    """A place in HAVING where the item of that index is meant by its alias."""

    span: Span
    item: int


Use: TypeAlias = AggregateCall | KeyUse | AliasUse


@dataclass(frozen=True, slots=True)
class AggregateBlock:
    """The block that groups. `keys` are texts; of each, `columns` has the column that it is, with the place of its relation
    (None: it is none). `uses` are all places of the select list, of HAVING and of what follows it
    that name keys, aggregates or aliases, in their order; `items` are the expressions of the select list, without aliases.
    `fixed` are relations (keys) that subqueries of the block read; `elsewhere` those that the query reads outside it.
    `is_global`: there is no GROUP BY, and so one group, be there rows or not."""

    text: BlockText
    relations: tuple[RelationUse, ...]
    keys: tuple[str, ...]
    columns: tuple[tuple[int, str] | None, ...]
    uses: tuple[Use, ...]
    items: tuple[Span, ...]
    fixed: frozenset[str]
    elsewhere: frozenset[str]
    is_global: bool


@dataclass(frozen=True, slots=True)
class LinearBlock:
    """One SELECT without aggregates (`linear_blocks`), and where it stands, less an ORDER BY that decides nothing; it ends
    with its WHERE, if it has one. `fixed` are relations (keys) that its subqueries read."""

    rows: Span
    where: Span | None
    relations: tuple[RelationUse, ...]
    fixed: frozenset[str]


@dataclass(frozen=True, slots=True)
class GroupedBlock:
    """A SELECT over relations whose rows fall into groups by `keys`, which are texts within it. Of each key, `columns` has
    the column that it is, with the place of its relation (None: it is none). `fixed` are relations (keys) that its
    subqueries read."""

    text: BlockText
    relations: tuple[RelationUse, ...]
    keys: tuple[str, ...]
    columns: tuple[tuple[int, str] | None, ...]
    fixed: frozenset[str]


@dataclass(frozen=True, slots=True)
class GroupedQuery:
    """A query whose rows fall into groups (`grouped_blocks`), and its innermost SELECTs, which all have the same number of
    keys. Of each key, `items` has its place among the columns of the query. `end` is where the query ends, less an ORDER BY
    that decides nothing."""

    blocks: tuple[GroupedBlock, ...]
    items: tuple[int, ...]
    end: int


@dataclass(frozen=True, slots=True)
class SingleValue:
    """A subquery for one value that is the same for all rows (`single_values`): where it stands in the query, with its
    parentheses, and the relations (keys) that it reads."""

    span: Span
    relations: frozenset[str]


@dataclass(frozen=True, slots=True)
class NotKept:
    """Why the result of a query can't follow what changes: what stands in the way, and what would help (None: nothing that
    is known)."""

    reason: str
    hint: str | None = None


NO_AGGREGATE: Final = NotKept("it groups no rows of relations by GROUP BY, COUNT, SUM or AVG")
"""Of a query that has none."""

NOT_UNDERSTOOD: Final = NotKept("the query is not surely understood")
TOO_LARGE: Final = NotKept("the query is too large to be looked at")
NOT_TOLD_APART: Final = NotKept("the parts of its text are not surely told apart")
TAKES_TODAY: Final = NotKept("it may read a text as a time, and take today's date for it", "convert it where rows come in")
