"""How a view of a program is maintained.

A view has a method if its query has one, it reads relations of its own pipeline only, calls no function of the pipeline's
(a failed call is counted where it was made), and nothing is set that may have a say in what sums are. Queries of views that
are computed in place are written into its own. Types of columns that only Spark knows are those that stand in what is
published; before that, sums of them have no rule.

Rows that went or came are told by comparing rows: so groups over tables with columns that Spark can't compare are not kept.
Nor are least and greatest values over floating numbers: of two zeros, which are equal, it is not known which one is there. A
view without groups over columns that are not compared, or with such columns, follows where rows only come.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeAlias

from reconciler.base.names import fold, is_foreign
from reconciler.incremental.in_place import views_in_place, written_query
from reconciler.incremental.model import FLOATING, ChangedGroups, KeptAggregate, LinearRows, Maintenance, Method, Recompute
from reconciler.project.program.model import Program, Read, Table, View
from reconciler.project.program.settings import SPARK, are_read_plainly, decisive_settings
from reconciler.sql.block_model import NO_AGGREGATE, AggregateBlock, NotKept, SingleValue, Span
from reconciler.sql.lexer import query_tokens
from reconciler.sql.lineage import ALL_COLUMNS
from reconciler.sql.stars import holds_columns
from reconciler.sql.surroundings import USUAL
from reconciler.sql.token_lists import with_texts

_SAY_NOTHING: Final = frozenset({SPARK, "spark.sql.session.timeZone"})
"""What decides results and has no say in what sums and counts are."""

_NOT_COMPARED: Final = re.compile(r"(?i)\b(MAP<|VARIANT\b(?!:))")

Columns: TypeAlias = Mapping[str, str | None]
_Known: TypeAlias = tuple[tuple[str, tuple[tuple[str, str | None], ...]], ...]
"""Of relations, by key, the columns with their types."""


def maintenance(program: Program, view: View, stored: Mapping[str, Columns]) -> Maintenance:
    """How a stored view of a program is maintained. `stored`: by key, the columns that views have where they are published,
    with their types."""
    columns: dict[str, Columns] = {}
    within = [view, *views_in_place(program, view)]
    reads = [read for one in within for read in one.reads]
    for read in reads:
        key = fold(read.relation)
        relation = program.relations.get(key)
        if relation is None or is_foreign(key):
            return Recompute(f"it reads {read.relation}, which is another pipeline's or a version")
        if any(fold(name).startswith("__") for name in relation.column_names):
            return Recompute(f"a column of {relation.name} has a name that begins with __")
        if relation.is_stored:
            columns[key] = _columns(program, key, stored)
    if any(one.calls for one in within):
        return Recompute("it calls functions of the pipeline, of which no rule is known", "write in SQL what they compute")
    if not are_read_plainly(program.settings):
        return Recompute("settings may have its query read otherwise than Spark reads it by itself")
    said = sorted(decisive_settings(program.settings).keys() - _SAY_NOTHING)
    if said:
        return Recompute(f"{said[0]} may have a say in what sums are", "leave it at Spark's default")
    query = written_query(program, view)
    if isinstance(query, Recompute):
        return query
    known = tuple((key, tuple(columns[key].items())) for key in sorted(columns))
    found = derived(query, known)
    if isinstance(found, KeptAggregate) and found.extremes:
        why = _why_not_told_apart(reads, columns, with_signs=False)
        # Of two zeros it is not known which one is the least.
        found = found if why is None else _instead(derived_groups(query, known), Recompute(why))
    if isinstance(found, Recompute):
        return found
    why = _why_not_told_apart(reads, columns, with_signs=True)
    if isinstance(found, KeptAggregate):
        return found if why is None else Recompute(why)
    why = why or _why_rows_stay(view, stored.get(fold(view.name), {}))
    if why is None:
        return found
    return Recompute(why) if isinstance(found, ChangedGroups) else _if_any_follows(replace(found, only_added=why))


def groups_instead(program: Program, view: View, kept: KeptAggregate, stored: Mapping[str, Columns]) -> ChangedGroups | None:
    """The groups of a view that may be computed anew one by one, instead of being kept: None where these are not the rows of
    the view, or changes of fewer relations are followed so. `stored` is as for `maintenance`."""
    if not kept.block.keys or _why_rows_stay(view, stored.get(fold(view.name), {})) is not None:
        return None
    found = derived_groups(kept.query, _known(program, kept, stored))
    return found if isinstance(found, ChangedGroups) and found.fixed <= kept.fixed else None


def _why_rows_stay(view: View, own: Columns) -> str | None:
    """Why rows of a view can't be taken out of it; None: they can. `own` are its columns, where they are known."""
    unfit = _unfit(own, {ALL_COLUMNS}, with_signs=True)
    if unfit is not None:
        return f"its column {unfit[0]} {unfit[1]}"
    odd = next((name for name in (*view.column_names, *own) if fold(name).startswith("__")), None)
    return None if odd is None else f"its column {odd} has a name that begins with __"


def values_of(program: Program, method: Method, stored: Mapping[str, Columns]) -> tuple[SingleValue, ...]:
    """The subqueries of a method's query for one value, that is the same for all rows, of relations in which it has no rule
    for changes. `stored` is as for `maintenance`."""
    if not method.fixed:
        return ()
    found = _values_of(method.query, _known(program, method, stored))
    return tuple(one for one in found if one.relations <= method.fixed)


def with_values(
    program: Program, method: Method, stored: Mapping[str, Columns], values: Sequence[tuple[Span, str]]
) -> Method:
    """The method where the query has values in place of such subqueries; the method itself, where that would be another
    one."""
    found = derived(with_texts(method.query, values), _known(program, method, stored))
    match method, found:
        case KeptAggregate(), KeptAggregate() if _keep_the_same(method, found):
            return found
        case LinearRows(), LinearRows():
            return replace(found, only_added=method.only_added)
        case ChangedGroups(), ChangedGroups() if method.groups.items == found.groups.items:
            return found
        case _:
            return method


def _keep_the_same(one: KeptAggregate, other: KeptAggregate) -> bool:
    """Whether what is kept for both is the same, but for values in their WHERE."""
    parts = ((kept.counts, kept.sums, kept.extremes, kept.distinct, kept.block.keys) for kept in (one, other))
    first, second = parts
    return first == second and one.block.elsewhere == other.block.elsewhere


def _known(program: Program, method: Method, stored: Mapping[str, Columns]) -> _Known:
    elsewhere = method.block.elsewhere if isinstance(method, KeptAggregate) else ()
    read = {key: _columns(program, key, stored) for key in (*method.relations, *elsewhere)}
    return tuple((key, tuple(read[key].items())) for key in sorted(read))


@lru_cache(maxsize=256)
def _values_of(query: str, columns: _Known) -> tuple[SingleValue, ...]:
    from reconciler.sql.single_values import single_values

    return single_values(query, {key: dict(of) for key, of in columns})


class Questions:
    """All that decides how views of two programs are maintained, but for what only Spark knows: to equal questions the
    answers are equal."""

    def __init__(self, applied: Program, desired: Program) -> None:
        self._programs = applied, desired
        self._settings_are_equal = _said(applied) == _said(desired)
        self._equal: dict[str, bool] = {}

    def are_equal(self, applied: View, desired: View) -> bool:
        """Whether the question of a view is that of another one, in the other program."""
        before, after = (
            [view, *views_in_place(program, view)] for program, view in zip(self._programs, (applied, desired), strict=True)
        )
        if not self._settings_are_equal or len(before) != len(after):
            return False
        if not all(_ask_alike(one, other) for one, other in zip(before, after, strict=True)):
            return False
        reads = _keys_read(before)
        return reads == _keys_read(after) and all(map(self._is_read_alike, reads))

    def _is_read_alike(self, key: str) -> bool:
        """Whether a relation is there, and stored, on both sides or neither, with the same columns in the same order."""
        if key not in self._equal:
            before, after = (_as_read(program, key) for program in self._programs)
            self._equal[key] = before == after
        return self._equal[key]


def _said(program: Program) -> object:
    said = decisive_settings(program.settings)
    return are_read_plainly(program.settings), sorted((name, said[name]) for name in said.keys() - _SAY_NOTHING)


def _ask_alike(one: View, other: View) -> bool:
    return (
        one.query == other.query
        and one.declaration.column_names == other.declaration.column_names
        and one.calls == other.calls
    )


def _keys_read(views: Sequence[View]) -> set[str]:
    return {fold(read.relation) for one in views for read in one.reads}


def _as_read(program: Program, key: str) -> object:
    relation = program.relations.get(key)
    return None if relation is None else (relation.is_stored, tuple(_columns(program, key, {}).items()))


def stored_reads(program: Program, view: View) -> tuple[str, ...]:
    """The keys of the relations that a view reads, itself or by what is computed in place, sorted."""
    reads = {fold(read.relation) for one in (view, *views_in_place(program, view)) for read in one.reads}
    return tuple(sorted(key for key in reads if key not in program.views or program.views[key].is_stored))


def _columns(program: Program, key: str, stored: Mapping[str, Columns]) -> Columns:
    relation = program.relations[key]
    if isinstance(relation, Table):
        return {column.name: column.type for column in relation.columns}
    known = {fold(name): kind for name, kind in stored.get(key, {}).items()}
    return {name: known.get(fold(name)) for name in relation.column_names}


def _why_not_told_apart(reads: Sequence[Read], columns: Mapping[str, Columns], *, with_signs: bool) -> str | None:
    """Why changed rows of what a view reads are not surely told; None: they are. `with_signs`: zeros with other signs are
    told apart, and nothing else is asked of them."""
    for read in reads:
        used = {fold(name) for name in read.columns}
        unfit = _unfit(columns[fold(read.relation)], used, with_signs) if fold(read.relation) in columns else None
        if unfit is not None:
            return f"column {unfit[0]} of {read.relation} {unfit[1]}"
    return None


def _unfit(columns: Columns, used: Collection[str], with_signs: bool) -> tuple[str, str] | None:
    """A column by which changed rows are not surely told, and why; `used` are those that the query uses, folded."""
    for name, kind in columns.items():
        if kind is not None and _NOT_COMPARED.search(kind):
            return name, "is a MAP or VARIANT, by which rows are not compared"
        if kind is None or with_signs:
            continue
        if FLOATING.search(kind) and (fold(name) in used or ALL_COLUMNS in used):
            return name, "is of floating numbers, of which equal ones may differ in a sign"
    return None


@lru_cache(maxsize=1024)
def derived(query: str, columns: _Known) -> Maintenance:
    """How a query is maintained over relations with these columns (pairs, by key), where nothing else matters. Remembered: a
    run asks at each step."""
    from reconciler.sql.written_keys import with_written_keys

    known = {key: dict(of) for key, of in columns}
    query = with_written_keys(query, known) or query
    found = _derived(query, known)
    if isinstance(found, Recompute):
        from reconciler.sql.inlined import without_names

        without = without_names(query)
        if without is not None:
            # What stands in the way then is in the way in any case; WITH is not.
            query, found = without, _derived(without, known)
    if not isinstance(found, KeptAggregate | LinearRows):
        from reconciler.sql.written_aliases import with_aliases

        named = with_aliases(query)
        if named is not None:
            query, found = named, _rather(_derived(named, known), found)
    if isinstance(found, KeptAggregate | LinearRows) or not holds_columns(query_tokens(query)):
        return found
    from reconciler.sql.written_stars import without_stars

    written = without_stars(query, known, USUAL)
    other = _derived(written, known) if written is not None else found
    return found if type(other) is type(found) else _rather(other, found)


def _rather(one: Maintenance, other: Maintenance) -> Maintenance:
    """The first, of a query that is written more plainly, unless that is no better than the other, of the query as it was.
    Why the plainer one has no method, or its groups are not kept, is what is in the way: how the other is written is not."""
    if isinstance(one, ChangedGroups) and isinstance(other, ChangedGroups):
        return replace(other, not_kept=one.not_kept)
    return other if isinstance(one, Recompute) and not isinstance(other, Recompute) else one


@lru_cache(maxsize=1024)
def derived_groups(query: str, columns: _Known) -> ChangedGroups | NotKept:
    """The groups of a query that are computed anew one by one, whether they could be kept or not."""
    return _changed_groups(query, {key: dict(of) for key, of in columns})


def _instead(groups: ChangedGroups | NotKept, not_kept: Recompute) -> ChangedGroups | Recompute:
    """How a query is maintained whose groups can't be kept."""
    return replace(groups, not_kept=not_kept) if isinstance(groups, ChangedGroups) else not_kept


def _changed_groups(query: str, known: Mapping[str, Columns]) -> ChangedGroups | NotKept:
    from reconciler.sql.grouped_blocks import grouped_blocks

    groups = grouped_blocks(query, known, USUAL)
    if isinstance(groups, NotKept):
        return groups
    found = ChangedGroups(query, groups)
    return found if _follows_any(found) else _why_none_follows(found)


def _derived(query: str, known: Mapping[str, Columns]) -> Maintenance:
    from reconciler.incremental.kept_aggregate import kept_aggregate
    from reconciler.sql.aggregate_blocks import aggregate_block
    from reconciler.sql.linear_blocks import linear_blocks

    blocks = linear_blocks(query, known, USUAL)
    if not isinstance(blocks, NotKept):
        return _if_any_follows(LinearRows(query, blocks))
    block = aggregate_block(query, known, USUAL)
    if isinstance(block, AggregateBlock):
        return _if_any_follows(kept_aggregate(query, block))
    groups = _changed_groups(query, known)
    if not isinstance(groups, NotKept):
        return groups if block is NO_AGGREGATE else replace(groups, not_kept=Recompute(block.reason, block.hint))
    # What has an aggregate, or a window, is not linear: why that has no rule says more.
    why = next(one for one in (block, groups, blocks) if one is not NO_AGGREGATE)
    return Recompute(why.reason, why.hint)


def _if_any_follows(found: Method) -> Maintenance:
    return found if _follows_any(found) else Recompute(_why_none_follows(found).reason)


def _why_none_follows(method: Method) -> NotKept:
    read = ", ".join(method.relations)
    return NotKept(f"no rule is known for changes of {read} in a subquery, or behind an outer join")


def _follows_any(method: Method) -> bool:
    return not method.fixed.issuperset(method.relations)
