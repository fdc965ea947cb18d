"""How far a change reaches: what of a changed relation may differ for whoever reads it, and what of a reader then may.

A relation's extent is either any row (`ANY_ROW`), or some columns of otherwise equal rows: projected on all other columns,
the relation is the same multiset before and after. A reader that uses none of these columns, neither for its values nor
for its rows, is the same before and after too; that is what spares it from being computed again.

Rules (column-level lineage; when unsure, any row):
- A change of any row, or of a column that decides which rows a reader has, changes any row of the reader.
- A change of a column else changes those output columns of the reader that its values reach.
- A view that is computed anew may besides change in columns that are not repeatable (`rand()`, sums of doubles), and in
  any row where its rows are not (a LIMIT).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from reconciler.names import fold
from reconciler.program.model import View
from reconciler.sql.lineage import Lineage


@dataclass(frozen=True, slots=True)
class AnyRow:
    """Any row may differ."""


@dataclass(frozen=True, slots=True)
class OnlyColumns:
    """Only these columns may differ; folded names. None of them: only how the relation is kept or named. `renamed` are the
    names, old and new, of columns that hold what they held: they matter to whoever reads all columns there are."""

    names: frozenset[str]
    renamed: frozenset[str] = frozenset()


Extent: TypeAlias = AnyRow | OnlyColumns

ANY_ROW: Final = AnyRow()
NOTHING: Final = OnlyColumns(frozenset())


def union(one: Extent, other: Extent) -> Extent:
    """Both extents together."""
    if isinstance(one, AnyRow) or isinstance(other, AnyRow):
        return ANY_ROW
    return OnlyColumns(one.names | other.names, one.renamed | other.renamed)


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
    before = {fold(one.name): one.sources for one in applied.lineage.outputs}
    after = {fold(one.name): one.sources for one in desired.lineage.outputs}
    return OnlyColumns(frozenset(name for name in {*before, *after} if before.get(name) != after.get(name)))
