"""Moves held against what is applied: many of them in little time."""

import time

import pytest

from reconciler.base.declarations import BootstrapPolicy
from reconciler.diff.moves import ResolvedMoves, resolve_moves
from reconciler.plan.make import make_plan
from reconciler.plan.model import Policies
from reconciler.project.manifest.read import read_manifest
from reconciler.project.manifest.trades import circles
from reconciler.project.program.compile import compile_program
from reconciler.project.program.model import Program
from reconciler.project.snapshot.model import take_snapshot
from tests.pace import at_usual_pace

YAML = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\nspec:\n  evolution: evolve\n"


def program(columns: list[str], moves: list[tuple[str, str]] | None = None) -> Program:
    yaml = YAML + ("  moved:\n" + "".join(f"    - {{from: {one}, to: {other}}}\n" for one, other in moves) if moves else "")
    sql = f"CREATE TABLE t ({', '.join(f'{name} INT' for name in columns)});"
    read = read_manifest("pipelines/shop", {"pipelines/shop/pipeline.yaml": yaml, "pipelines/shop/p.sql": sql}, {})
    assert read.manifest is not None
    compiled = compile_program(read.manifest)
    assert not compiled.diagnostics
    return compiled.program


def resolved(applied: list[str], desired: list[str], moves: list[tuple[str, str]]) -> ResolvedMoves:
    return resolve_moves(program(applied), program(desired, moves))


def test_thousands_of_columns_are_renamed_in_little_time() -> None:
    count = 6_000
    moves = [(f"t.c{number}", f"t.d{number}") for number in range(count)]
    applied = take_snapshot(program([f"c{number}" for number in range(count)]))
    desired = take_snapshot(program([f"d{number}" for number in range(count)], moves))
    began = time.process_time()
    make_plan("shop", "dev", applied, desired, Policies(BootstrapPolicy.ALLOW))
    assert at_usual_pace(time.process_time() - began) < 4


def test_a_slip_of_the_pen_is_told() -> None:
    found = resolved(["a", "costumer"], ["a", "buyer"], [("t.customer", "t.buyer")])
    assert [one.code for one in found.diagnostics] == ["P332"]
    assert resolved(["a", "buyer"], ["a", "buyer"], [("t.customer", "t.buyer")]).diagnostics == ()


@pytest.mark.parametrize(("going", "codes"), [(50, []), (500, ["P362"])])
def test_too_many_moves_to_be_held_against_what_goes_are_an_error(going: int, codes: list[str]) -> None:
    names = [f"d{number}" for number in range(500)]
    moves = [(f"t.long_ago_{number}", f"t.d{number}") for number in range(500)]
    found = resolved(["a", *(f"q{number}" for number in range(going))], ["a", *names], moves)
    assert [one.code for one in found.diagnostics] == codes


def test_names_that_lead_on_and_on_are_followed_once() -> None:
    targets = {f"t.n{number}": f"t.n{number + 1}" for number in range(20_000)}
    began = time.process_time()
    assert circles(targets) == ()
    (trade,) = circles({**targets, "t.n20000": "t.n0"})
    assert len(trade) == 20_001
    assert at_usual_pace(time.process_time() - began) < 2
    # What leads into a circle is no part of it.
    assert circles({"t.x": "t.a", "t.a": "t.b", "t.b": "t.a"}) == (frozenset({("t.a", "t.b"), ("t.b", "t.a")}),)
