"""Columns that surely have another type than before.

Types of a view are known to Spark alone, and what a plan says must not depend on guesses. So a type counts as changed only
where both are written down: a table declares it, a CAST or a function of the pipeline says it (the version of it that the
view calls), or another view hands such a column on as it is.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from reconciler.base.names import fold
from reconciler.diff.causes import ColumnRetyped, FunctionChanged, QueryChanged
from reconciler.diff.model import Action, Diff
from reconciler.project.program.model import Program, View

if TYPE_CHECKING:
    from reconciler.sql.query import ParsedQuery

Retyped = Mapping[str, Mapping[str, ColumnRetyped]]
"""By relation and column, both folded as desired."""


def retyped_columns(diff: Diff, applied: Program, desired: Program) -> Retyped:
    """See the module. Views are parsed only where their own text or a function of theirs changed, or below such columns."""
    changes = {fold(change.name): change for change in (*diff.relations, *diff.local_changes)}
    sides = _Types(applied), _Types(desired)
    found: dict[str, dict[str, ColumnRetyped]] = {}
    for key in desired.foreign:
        found[key] = _differing(sides[0].of(key), sides[1].of(key))
    for key in desired.order:
        change = changes.get(key)
        if change is None or change.action is not Action.MODIFIED:
            continue
        columns: dict[str, ColumnRetyped] = {}
        if key in desired.tables:
            columns = {fold(cause.column): cause for cause in change.causes if isinstance(cause, ColumnRetyped)}
        elif (old := applied.views.get(fold(change.renamed_from or change.name))) is not None:
            says_other = any(isinstance(cause, QueryChanged | FunctionChanged) for cause in change.causes)
            if says_other or any(found.get(fold(read.relation)) for read in desired.views[key].reads):
                columns = _differing(sides[0].of(fold(old.name)), sides[1].of(key))
        found[key] = columns
    return found


def _differing(applied: Mapping[str, str], desired: Mapping[str, str]) -> dict[str, ColumnRetyped]:
    """The columns of which both types are known, and differ."""
    return {
        name: ColumnRetyped(name, applied[name], kind)
        for name, kind in sorted(desired.items())
        if applied.get(name, kind) != kind
    }


class _Types:
    """What is surely known of the types of one program's columns."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[str, Mapping[str, str]] = {}
        self._functions = {key: one.declaration.returns for key, one in program.functions.items()}

    def of(self, key: str) -> Mapping[str, str]:
        """The canonical types of a relation's columns, as far as they are known; all folded."""
        if key not in self._known:
            # A circle of views, which is an error elsewhere, must not keep us here.
            self._known[key] = {}
            self._known[key] = self._find(key)
        return self._known[key]

    def _find(self, key: str) -> Mapping[str, str]:
        if key in self._program.tables:
            return {fold(column.name): column.type for column in self._program.tables[key].columns}
        if key in self._program.foreign:
            return {fold(name): kind for name, kind in self._program.foreign[key].columns if kind is not None}
        view = self._program.views.get(key)
        if view is None or view.lineage is None or view.declaration.column_names:
            return {}
        from reconciler.sql.plain_columns import stated_types

        parsed = _parsed(view.query)
        # What a rolled back or pinned view calls is not what is called so today.
        called = {name: self._functions[bound] for name, bound in view.declaration.functions if bound in self._functions}
        found = dict(stated_types(parsed, {**self._functions, **called}))
        for name, (relation, column) in _handed_on(view, parsed).items():
            kind = self.of(relation).get(column)
            if kind is not None:
                found[name] = kind
        return found


@lru_cache(maxsize=256)
def _parsed(query: str) -> "ParsedQuery":
    """Remembered: two hazards ask for the same."""
    from reconciler.sql.query import parse_query

    return parse_query(query)


def _handed_on(view: View, parsed: "ParsedQuery") -> dict[str, tuple[str, str]]:
    """The relation and column that each output column is, of those that are handed on; all folded."""
    from reconciler.sql.plain_columns import plain_columns

    assert view.lineage is not None
    plain = plain_columns(parsed, view.column_names)
    return {
        fold(output.name): output.sources[0]
        for output in view.lineage.outputs
        # One source of another name is a struct, of which the column is a field.
        if len(output.sources) == 1 and plain.get(fold(output.name)) == output.sources[0][1]
    }
