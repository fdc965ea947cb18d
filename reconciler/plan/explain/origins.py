"""Lineage down to tables: which columns of tables decide a view's columns and rows, through every view between.

Rules: a view whose lineage is not known (`sql.lineage`) comes from anything that it reads, and so does whoever reads it;
the answer then says that it is no finer than that. A column of a table comes from itself; the rows of a table are its own
and are decided by nothing. Cost: linear in the ancestors of the view that is asked about.
"""

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.project.program.model import Program, View
from reconciler.sql.lineage import ALL_COLUMNS

_Pairs = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Origins:
    """Columns of tables as `table.column` (`table.*`: any), sorted. Not `is_exact`: nothing finer is known than that these
    are read."""

    columns: tuple[str, ...]
    is_exact: bool


@dataclass(frozen=True, slots=True)
class ViewOrigins:
    """Where a view's columns come from, by folded name, and what decides its rows."""

    columns: dict[str, Origins]
    rows: Origins


@dataclass(frozen=True, slots=True)
class _Traced:
    """One view, in pairs of folded names. `anything`: all that it reads."""

    columns: dict[str, tuple[_Pairs, bool]]
    rows: tuple[_Pairs, bool]
    anything: _Pairs


def trace_origins(program: Program, key: str) -> ViewOrigins:
    """The origins of the view with that folded name."""
    traced: dict[str, _Traced] = {}
    ancestors = _ancestors(program, key)
    for name in program.order:
        if name in ancestors:
            traced[name] = _trace(program.views[name], traced)
    found = traced[key]
    names = [fold(name) for name in program.views[key].column_names]
    columns = {name: _origins(program, found.columns.get(name, (found.anything, False))) for name in names}
    return ViewOrigins(columns, _origins(program, found.rows))


def _ancestors(program: Program, key: str) -> set[str]:
    """The view and all views that it reads, directly or not."""
    found: set[str] = set()
    waiting = [key]
    while waiting:
        name = waiting.pop()
        if name in program.views and name not in found:
            found.add(name)
            waiting += [fold(read.relation) for read in program.views[name].reads]
    return found


def _trace(view: View, traced: dict[str, _Traced]) -> _Traced:
    anything: set[tuple[str, str]] = set()
    for read in view.reads:
        relation = fold(read.relation)
        for column in read.columns:
            anything |= _value(relation, fold(column), traced)[0]
        anything |= _rows(relation, traced)[0]
    everything = frozenset(anything)
    if view.lineage is None:
        return _Traced({}, (everything, False), everything)
    columns: dict[str, tuple[_Pairs, bool]] = {}
    for output in view.lineage.outputs:
        before = columns.get(fold(output.name), (frozenset(), True))
        columns[fold(output.name)] = _union([before, *(_value(*source, traced) for source in output.sources)])
    deciding = [_value(*source, traced) for source in view.lineage.rows]
    deciding += [_rows(fold(read.relation), traced) for read in view.reads]
    return _Traced(columns, _union(deciding), everything)


def _value(relation: str, column: str, traced: dict[str, _Traced]) -> tuple[_Pairs, bool]:
    view = traced.get(relation)
    if view is None:
        return frozenset({(relation, column)}), True
    return view.columns.get(column, (view.anything, False))


def _rows(relation: str, traced: dict[str, _Traced]) -> tuple[_Pairs, bool]:
    return traced[relation].rows if relation in traced else (frozenset(), True)


def _union(parts: list[tuple[_Pairs, bool]]) -> tuple[_Pairs, bool]:
    return frozenset().union(*(pairs for pairs, _ in parts)), all(exact for _, exact in parts)


def _origins(program: Program, found: tuple[_Pairs, bool]) -> Origins:
    pairs, exact = found
    return Origins(tuple(sorted((_spelled(program, *pair) for pair in pairs), key=lambda name: (fold(name), name))), exact)


def _spelled(program: Program, relation: str, column: str) -> str:
    table = program.tables.get(relation)
    if table is None:
        return f"{relation}.{column}"
    names = {fold(one.name): one.name for one in table.columns}
    return f"{table.name}.{column if column == ALL_COLUMNS else names.get(column, column)}"
