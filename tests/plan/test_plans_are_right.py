"""Plans carried out on rows: whatever was edited, every stored view ends as its query gives it over the final tables.

Nothing of ours computes a row: SQLite does. What is applied is computed from the tables; then the plan's steps are carried
out as `plan.steps` says, so that a view which is kept keeps its old rows. A view that was spared wrongly, a table that
should have been cleared, a step too few or too soon, and the rows differ.
"""

import random
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as some

from reconciler.base.declarations import BootstrapPolicy
from reconciler.base.names import fold
from reconciler.diff.causes import QueryChanged
from reconciler.plan.make import make_plan
from reconciler.plan.model import Plan, Policies
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.clear_table import ClearTable
from reconciler.plan.operations.commit_snapshot import CommitSnapshot
from reconciler.plan.operations.create_table import CreateTable
from reconciler.plan.operations.drop_relation import DropRelation
from reconciler.plan.operations.evolve_table import EvolveTable
from reconciler.plan.operations.extend_table import ExtendTable
from reconciler.plan.operations.publish_table import PublishTable
from reconciler.plan.operations.publish_view import PublishView
from reconciler.plan.operations.rename_relation import RenameRelation
from reconciler.project.program.model import Program, Table
from reconciler.testing.simulate import meant_by, simulate, state_of
from tests.plan.small_programs import Edited, Row, chained, edited, snapshot_of


@dataclass(frozen=True, slots=True)
class Rows:
    """A relation's contents. `columns` are folded."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


Stored = dict[str, Rows]


def compute(program: Program, view: str, stored: Mapping[str, Rows]) -> Rows:
    """The rows of a view over what is stored; views that are not are computed on the way."""
    connection = sqlite3.connect(":memory:")
    try:
        for key, one in stored.items():
            connection.execute(f"CREATE TABLE {key} ({', '.join(one.columns)})")
            connection.executemany(f"INSERT INTO {key} VALUES ({', '.join('?' * len(one.columns))})", one.rows)
        for key in program.order:
            if key in program.views and key not in stored:
                names = program.views[key].declaration.column_names
                listed = f" ({', '.join(names)})" if names else ""
                connection.execute(f"CREATE VIEW {key}{listed} AS {program.views[key].query}")
        cursor = connection.execute(f"SELECT * FROM {view}")
        return Rows(tuple(part[0].lower() for part in cursor.description), tuple(cursor.fetchall()))
    finally:
        connection.close()


def names_of(table: Table) -> tuple[str, ...]:
    return tuple(fold(column.name) for column in table.columns)


def tables_of(program: Program, stored: Mapping[str, Rows]) -> Stored:
    return {key: stored[key] for key in program.tables}


def stored_views(program: Program) -> list[str]:
    return [key for key in program.order if key in program.views and program.views[key].is_stored]


def carry_out(plan: Plan, applied: Stored, desired: Program) -> Stored:
    """What is stored after the plan's steps, as `plan.steps` describes them."""
    renamed = {fold(step.applied): fold(step.relation) for step in plan.steps if isinstance(step, RenameRelation)}
    stored = {renamed.get(key, key): one for key, one in applied.items()}
    emptied = {fold(step.relation) for step in plan.steps if isinstance(step, CreateTable | ClearTable)}
    extended = {fold(step.relation): step.columns for step in plan.steps if isinstance(step, ExtendTable)}
    staged: Stored = {}

    def place(key: str) -> Rows:
        if key in staged:
            return staged[key]
        if key in emptied:
            return empty(key)
        return longer(stored[key], extended.get(key, ()))

    def empty(key: str) -> Rows:
        return Rows(names_of(desired.tables[key]), ())

    for step in plan.steps:
        match step:
            case CreateTable():
                assert fold(step.relation) not in stored
                stored[fold(step.relation)] = empty(fold(step.relation))
            case ClearTable():
                assert fold(step.relation) in stored
                stored[fold(step.relation)] = empty(fold(step.relation))
            case EvolveTable():
                old = stored[fold(step.relation)]
                places = [None if c.source is None else old.columns.index(fold(c.source)) for c in step.columns]
                rows = tuple(tuple(None if at is None else row[at] for at in places) for row in old.rows)
                staged[fold(step.relation)] = Rows(tuple(fold(column.name) for column in step.columns), rows)
            case ExtendTable():
                stored[fold(step.relation)] = longer(stored[fold(step.relation)], step.columns)
            case BootstrapView():
                staged[fold(step.relation)] = compute(
                    desired, fold(step.relation), {fold(r): place(fold(r)) for r in step.reads}
                )
            case PublishTable():
                stored[fold(step.relation)] = staged.pop(fold(step.relation))
            case PublishView():
                stored[fold(step.relation)] = staged.pop(fold(step.relation))
            case DropRelation():
                del stored[fold(step.relation)]
            case RenameRelation() | CommitSnapshot():
                pass
    assert staged == {}
    return stored


def longer(old: Rows, names: Iterable[str]) -> Rows:
    more = tuple(map(fold, names))
    return Rows((*old.columns, *more), tuple((*row, *[None] * len(more)) for row in old.rows))


def more_rows(case: Edited) -> list[dict[str, tuple[Row, ...]]]:
    """Other rows of the same tables: what was drawn is often too plain to tell two queries apart."""
    numbers = random.Random(20)
    found = []
    for count in (4, 7, 9):
        rows = {}
        for table in case.applied.tables:
            width = len(table.columns)
            rows[table.name] = tuple(
                tuple(numbers.choice((None, 0, 1, 1, 2, 3)) for _ in range(width)) for _ in range(count)
            )
        found.append(rows)
    return found


def check_rows(plan: Plan, applied: Program, desired: Program, tables: Stored) -> None:
    """Carry the plan out on these rows, and compare every stored view with what desired means."""
    before = tables | {key: compute(applied, key, tables) for key in stored_views(applied)}
    after = carry_out(plan, before, desired)
    assert set(after) == {*desired.tables, *stored_views(desired)}
    for key, table in desired.tables.items():
        assert after[key].columns == names_of(table)
    for key in stored_views(desired):
        right = compute(desired, key, tables_of(desired, after))
        assert after[key].columns == right.columns, key
        assert Counter(after[key].rows) == Counter(right.rows), key


def reads_the_same(applied: Program, desired: Program) -> bool:
    """Whether no view reads other relations than before: beyond that the model of `simulate` is coarser than the diff."""
    views = [(applied.views[key], desired.views[key]) for key in applied.views if key in desired.views]
    return all({read.relation for read in one.reads} == {read.relation for read in other.reads} for one, other in views)


def check(case: Edited, seen: set[str] | None = None) -> None:
    """Plan the edit, carry it out, and compare everything with what desired means."""
    applied, desired = snapshot_of(case.applied.files), snapshot_of(case.desired.files)
    plan = make_plan("shop", "dev", applied, desired, Policies(BootstrapPolicy.ALLOW))
    for rows in (case.rows, *more_rows(case)):
        tables = {key: Rows(names_of(table), rows[key]) for key, table in applied.program.tables.items()}
        check_rows(plan, applied.program, desired.program, tables)
    final = simulate(plan, state_of(applied.program, loaded=True, computed_by="before"), desired.program)
    if reads_the_same(applied.program, desired.program):
        assert meant_by(desired.program, final) == final
    if seen is not None:
        seen |= {type(step).__name__ for step in plan.steps} | set(case.edits)
        seen |= {"spared"} if plan.diff.spared else set()
        causes = [cause for change in plan.diff.relations for cause in change.causes]
        seen |= {"some columns" for cause in causes if isinstance(cause, QueryChanged) and cause.columns is not None}


STEPS = (
    *("CreateTable", "EvolveTable", "BootstrapView", "ClearTable", "ExtendTable", "PublishTable", "PublishView"),
    *("RenameRelation", "DropRelation", "CommitSnapshot"),
)


def run_examples(cases: some.SearchStrategy[Edited], count: int, begin_with: int | None = None) -> set[str]:
    """Check that many cases; what they held. `begin_with` chooses them."""
    seen: set[str] = set()

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(cases)
    def examples(case: Edited) -> None:
        check(case, seen)

    (examples if begin_with is None else seed(begin_with)(examples))()
    return seen


def test_every_stored_view_ends_as_its_query_gives_it() -> None:
    # These have everything in them.
    seen = run_examples(edited(), 50, 0)
    assert {*STEPS, "spared", "some columns"} <= seen


def test_who_is_reached_by_a_changed_column_is_computed_again() -> None:
    assert {"spared", "some columns"} <= run_examples(chained(), 30)


@pytest.mark.slow
def test_every_stored_view_ends_as_its_query_gives_it_in_many_more_cases() -> None:
    # Hypothesis remembers every draw of a run, megabytes a case: many short runs instead of a long one.
    for number in range(12):
        run_examples(edited(), 250, number)
        run_examples(chained(), 500, number)
