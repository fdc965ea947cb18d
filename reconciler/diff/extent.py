"""How far a change reaches: what of a changed relation may differ for whoever reads it, and what of a reader then may.

A relation's extent is either any row (`ANY_ROW`), or some columns of otherwise equal rows: projected on all other columns,
the relation is the same multiset before and after. A reader that uses none of these columns, neither for its values nor
for its rows, is the same before and after too; that is what spares it from being computed again.

Rules (column-level lineage; when unsure, any row):
- A change of any row, or of a column that decides which rows a reader has, changes any row of the reader.
- A change of a column else changes those output columns of the reader that its values reach.
- Columns at other places change any row of a reader that may use them by their place: one whose text holds a `*` for
  columns, or which reads all columns of the relation (`p(a, b)`, `TABLE t`).
- A column that is named like a word of SQL's own (`current_user`, `all`) changes any row of a reader that holds the word.
- Where the lineage of a reader is not known (PIVOT, recursion, UNION BY NAME), any difference of the columns of what it
  reads changes any row: such a query may group, match or name by columns that stand nowhere in it.
- A renamed column that a reader reads changes any row of it, if its text may now name another one: if a word of it is the
  old name or the new one, or if its results show names of columns (`renaming.shows_names`: NATURAL, BY NAME, structs).
- A view that is computed anew may besides change in columns that are not repeatable (`rand()`, sums of doubles), and in
  any row where its rows are not (a LIMIT).
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Final, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.project.program.model import Read, View
from reconciler.sql.determinism import MOMENTS, NON_DETERMINISTIC_WITHOUT_ARGUMENTS
from reconciler.sql.lexer import Kind, Token, query_tokens
from reconciler.sql.lineage import ALL_COLUMNS, Lineage
from reconciler.sql.stars import holds_columns


@dataclass(frozen=True, slots=True)
class AnyRow:
    """Any row may differ."""


@dataclass(frozen=True, slots=True)
class OnlyColumns:
    """Only these columns may differ; folded names. None of them: only how the relation is kept or named. `renamed` are the
    names, old and new, of columns that hold what they held: they matter to whoever reads all columns there are.
    `reordered`: columns stand at other places, which matters to whoever uses them by their place."""

    names: frozenset[str]
    renamed: frozenset[str] = frozenset()
    reordered: bool = False


Extent: TypeAlias = AnyRow | OnlyColumns

ANY_ROW: Final = AnyRow()
NOTHING: Final = OnlyColumns(frozenset())


def union(one: Extent, other: Extent) -> Extent:
    """Both extents together."""
    if isinstance(one, AnyRow) or isinstance(other, AnyRow):
        return ANY_ROW
    return OnlyColumns(one.names | other.names, one.renamed | other.renamed, one.reordered or other.reordered)


_OF_SQL_BESIDES: Final = (
    "all current_catalog current_database current_date current_schema current_time current_timestamp current_user "
    "grouping__id localtimestamp session_user user"
)
_OF_SQL: Final = NON_DETERMINISTIC_WITHOUT_ARGUMENTS | MOMENTS | frozenset(_OF_SQL_BESIDES.split())


class QueryText:
    """What the text of a view's query holds, found when it is first asked for, and once for all that the view reads."""

    def __init__(self, query: str) -> None:
        self.query = query

    @cached_property
    def _lowered(self) -> str:
        return self.query.lower()

    @cached_property
    def names(self) -> frozenset[str]:
        """Its words and quoted names, folded."""
        tokens = query_tokens(self.query)
        return frozenset(_named(token) for token in tokens if token.kind in (Kind.WORD, Kind.QUOTED))

    @cached_property
    def before_points(self) -> frozenset[str]:
        """Those before a point, folded."""
        tokens = query_tokens(self.query)
        return frozenset(_named(token) for token, following in pairwise(tokens) if following.is_symbol("."))

    @cached_property
    def holds_columns(self) -> bool:
        """Whether a `*` in it stands for columns."""
        return holds_columns(query_tokens(self.query))

    @cached_property
    def shows_names(self) -> bool:
        """Whether its results may show names of columns."""
        from reconciler.sql.renaming import shows_names

        return shows_names(self.query)

    def may_hold(self, names: frozenset[str]) -> bool:
        """Whether one of some names may stand in it: a look that spares most texts from being cut into words."""
        return len(names) > _FEW or any(name in self._lowered for name in names)


_FEW: Final = 8


def _named(token: Token) -> str:
    return fold(token.text.strip("`"))


def uses_places(text: QueryText, read: Read, columns: int | None) -> bool:
    """Whether a view may use columns of what it reads by their place. `columns`: how many there are, None if unknown."""
    reads_all = columns is None or len(read.columns) >= columns or ALL_COLUMNS in read.columns
    return reads_all or text.holds_columns


def may_resolve_otherwise(text: QueryText, columns: Iterable[str], extent: OnlyColumns) -> bool:
    """Whether a view's text may name another column of a relation after columns of it were renamed. `columns` are those that
    it reads of the relation, or read. A text that names none of them gets them by `*` alone, and then what its lineage says
    is all that there is."""
    if not extent.renamed or extent.renamed.isdisjoint(map(fold, columns)):
        return False
    return not text.names.isdisjoint(extent.renamed) or text.shows_names


def may_be_captured(text: QueryText, extent: OnlyColumns) -> bool:
    """Whether something in the view's text may name one of these columns that means something else to its lineage: a word of
    SQL's own, or a name before a point. Spark takes `customer.id` for a field of a column `customer` where a join by USING
    hides the column `id` of the relation `customer`."""
    names = extent.names | extent.renamed
    if not text.may_hold(names):
        return False
    captured = extent.names & _OF_SQL
    return not text.names.isdisjoint(captured) or not text.before_points.isdisjoint(names)


def flow(view: View, upstream: Mapping[str, Extent]) -> Extent:
    """What of a view may differ because of what it reads; `upstream` are the extents of changed relations, folded."""
    if not upstream:
        return NOTHING
    lineage = view.lineage
    if lineage is None or any(isinstance(extent, AnyRow) for extent in upstream.values()):
        return ANY_ROW

    def differs(source: tuple[str, str]) -> bool:
        extent = upstream.get(source[0])
        return isinstance(extent, OnlyColumns) and source[1] in extent.names

    if any(differs(source) for source in lineage.rows):
        return ANY_ROW
    return OnlyColumns(frozenset(fold(one.name) for one in lineage.outputs if any(map(differs, one.sources))))


def unrepeatable(lineage: Lineage | None) -> Extent:
    """What of a view may differ by computing it again over the same input."""
    if lineage is None or not lineage.rows_repeatable:
        return ANY_ROW
    return OnlyColumns(frozenset(fold(one.name) for one in lineage.outputs if not one.repeatable))


def reshaped(applied: View, desired: View) -> Extent:
    """What of a view may differ because its unchanged text now resolves otherwise (`*` over other columns)."""
    if applied.lineage is None or desired.lineage is None:
        same = applied.column_names == desired.column_names and applied.reads == desired.reads
        return NOTHING if same else ANY_ROW
    if applied.lineage.rows != desired.lineage.rows:
        return ANY_ROW
    if applied.lineage.outputs is desired.lineage.outputs:
        return NOTHING
    before = {fold(one.name): one.sources for one in applied.lineage.outputs}
    after = {fold(one.name): one.sources for one in desired.lineage.outputs}
    return OnlyColumns(frozenset(name for name in {*before, *after} if before.get(name) != after.get(name)))
