"""Plans of wide programs (`wide_programs`) held against an engine: is what a plan leaves as it is what its query gives?

A view that a plan computes anew is right by construction, once its tables are; what can be wrong is what is left. So of
each view that is stored before and after, and that no step computes, the old query over the old tables is compared with the
new query over the new ones: names and types of columns, and rows as a multiset.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from reconciler.base.declarations import BootstrapPolicy
from reconciler.base.diagnostics import errors_among
from reconciler.base.names import fold
from reconciler.diff.moves import resolve_moves
from reconciler.plan.make import make_plan
from reconciler.plan.model import Plan, Policies
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.clear_table import ClearTable
from reconciler.plan.operations.create_table import CreateTable
from reconciler.plan.operations.evolve_table import EvolveTable
from reconciler.plan.operations.extend_table import ExtendTable
from reconciler.plan.operations.rename_relation import RenameRelation
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.project.program.model import Program, View
from reconciler.project.snapshot.model import Snapshot, take_snapshot
from tests.plan.wide_programs import WideProgram, edited, program, rows_of

Cells: TypeAlias = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table's columns with their types, and its rows, each cell as SQL writes it."""

    columns: tuple[tuple[str, str], ...]
    rows: Cells


Tables: TypeAlias = Mapping[str, Table]


@dataclass(frozen=True, slots=True)
class Given:
    """What a query gives: columns with their types as the engine tells them, and rows."""

    columns: tuple[tuple[str, str], ...]
    rows: Counter[Any]


Compute: TypeAlias = Callable[[Program, str, Tables], Given | None]
"""A view of a program over tables; None where the engine refuses it."""


def snapshot_of(files: Mapping[str, str]) -> Snapshot | None:
    """The snapshot of a program's files; None where they are not valid."""
    read = read_manifest("pipelines/shop", files, {})
    if read.manifest is None:
        return None
    compiled = compile_program(read.manifest, complete=read.complete)
    return None if errors_among((*read.diagnostics, *compiled.diagnostics)) else take_snapshot(compiled.program)


def tables_after(plan: Plan, applied: Tables, desired: Program) -> Tables:
    """The tables once the plan's steps are done."""
    renamed = {fold(step.relation): fold(step.applied) for step in plan.steps if isinstance(step, RenameRelation)}
    found: dict[str, Table] = {}
    for key, table in desired.tables.items():
        columns = tuple((fold(column.name), column.type) for column in table.columns)
        places: list[int | None] = [*range(len(columns))]
        rows = applied[renamed.get(key, key)].rows if renamed.get(key, key) in applied else ()
        for step in plan.steps:
            match step:
                case CreateTable() | ClearTable() if fold(step.relation) == key:
                    rows = ()
                case EvolveTable() if fold(step.relation) == key:
                    old = [name for name, _ in applied[renamed.get(key, key)].columns]
                    places = [None if one.source is None else old.index(fold(one.source)) for one in step.columns]
                case ExtendTable() if fold(step.relation) == key:
                    places = [*range(len(columns) - len(step.columns)), *[None] * len(step.columns)]
                case _:
                    pass
        found[key] = Table(columns, tuple(tuple("NULL" if at is None else row[at] for at in places) for row in rows))
    return found


def needed(one: Program, key: str) -> list[str]:
    """A view and all that it is computed from, in dependency order."""
    wanted, left = {key}, [key]
    while left:
        view = one.views.get(left.pop())
        for read in view.reads if view is not None else ():
            if fold(read.relation) not in wanted:
                wanted.add(fold(read.relation))
                left.append(fold(read.relation))
    return [name for name in one.order if name in wanted]


def listed_names(view: View) -> str:
    """The list of names of a view's declaration, as SQL has it; empty where there is none."""
    names = view.declaration.column_names
    return f"({', '.join(names)})" if names else ""


@dataclass(slots=True)
class Tally:
    """What was seen: `plans` are those with something left to compare, `refused` comparisons that the engine refused."""

    plans: int = 0
    compared: int = 0
    refused: int = 0
    spared: int = 0


def wrong_spares(
    seed: int,
    compute: Compute,
    tally: Tally,
    plain: bool = False,
    names_are_data: bool = False,
    about_spelling: bool = False,
) -> Iterator[str]:
    """Make the program and the edit of a seed, plan it, and tell what the plan leaves wrongly. `names_are_data`: letter
    case of names counts in it, whatever its queries hold."""
    chance = random.Random(seed)
    before = replace(program(chance, plain, about_spelling), names_are_data=names_are_data)
    applied = snapshot_of(before.files)
    if applied is None:
        return
    for _ in range(3):
        after, edit = edited(chance, before, plain, about_spelling)
        desired = snapshot_of(after.files)
        if desired is not None and not resolve_moves(applied.program, desired.program).diagnostics:
            yield from _compared(seed, edit, before, after, applied, desired, chance, compute, tally)


def _compared(
    seed: int,
    edit: str,
    before: WideProgram,
    after: WideProgram,
    applied: Snapshot,
    desired: Snapshot,
    chance: random.Random,
    compute: Compute,
    tally: Tally,
) -> Iterator[str]:
    plan = make_plan("shop", "dev", applied, desired, Policies(BootstrapPolicy.ALLOW))
    one, other = applied.program, desired.program
    renamed = {fold(step.relation): fold(step.applied) for step in plan.steps if isinstance(step, RenameRelation)}
    anew = {fold(step.relation) for step in plan.steps if isinstance(step, BootstrapView)}
    left = [key for key in other.order if key in other.views and other.views[key].is_stored and key not in anew]
    rows = {table.name: Table(table.columns, rows_of(chance, table)) for table in before.tables}
    now = tables_after(plan, rows, other)
    if not plan.steps or not left:
        return
    tally.plans += 1
    for key in left:
        old = renamed.get(key, key)
        if all(_same(one, other, name, rows, now) for name in needed(other, key)):
            continue
        was = compute(one, old, rows)
        if was is None:
            tally.refused += 1
            continue
        tally.compared += 1
        tally.spared += key in {fold(spared.view) for spared in plan.diff.spared}
        given = compute(other, key, now)
        if given != was:
            files = "\n".join([before.files["pipelines/shop/program.sql"], "-- after", *after.files.values()])
            yield f"seed {seed} ({edit}): {key} is left\n{files}\nwas {was}\nis  {given}\n"


def _same(one: Program, other: Program, key: str, before: Tables, after: Tables) -> bool:
    """Whether a relation of the same name, and all functions, are written as before."""
    if one.functions != other.functions:
        return False
    if key in other.tables:
        return key in before and before[key] == after[key]
    if key not in one.views:
        return False
    views = one.views[key], other.views[key]
    return views[0].query == views[1].query and views[0].declaration.column_names == views[1].declaration.column_names
