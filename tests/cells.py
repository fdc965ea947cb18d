"""What of the tests is in every run: some cells of each long matrix, and something of all that is claimed."""

import ast
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest


def mostly_slow(cells: Sequence[Any], *kept: Any) -> list[Any]:
    """The cells as parameters: those that stand for the others in every run, the others in the slow suite."""
    strange = [one for one in kept if one not in cells]
    if strange:
        raise ValueError(f"no cell of this matrix: {strange}")
    return [
        one if one in kept else pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.slow)
        for one in cells
    ]


_FEW_CELLS = re.compile("1 of ([0-9]+) cells: ")
ROOT = Path(__file__).parents[1]


@cache
def listed() -> dict[str, int]:
    """The tests that `slow_suite.txt` names; 0: in the slow suite altogether, else one in so many cells is not."""
    lines = (ROOT / "tests" / "slow_suite.txt").read_text("utf-8").splitlines()
    found = {}
    for line in lines:
        few = _FEW_CELLS.match(line)
        if line and not line.startswith("#"):
            found[line[few.end() :] if few else line] = int(few[1]) if few else 0
    return found


def is_slow(file: Path, test: str) -> bool:
    """Whether a test is in the slow suite with all its cells: by a mark of its own, or of its file, or by its place."""
    place = file.resolve().relative_to(ROOT).as_posix()
    names = [one for one, few in listed().items() if not few and one.startswith(f"{place}::")]
    if any(one.rpartition("::")[2] == test for one in names):
        return True
    tree = _tree(file)
    found = next(one for one in _functions(tree) if one.name == test)
    return any(map(_says_slow, found.decorator_list)) or any(map(_says_slow, _marks_of_file(tree)))


def names_of_tests(file: Path) -> list[str]:
    """The names of a file's tests."""
    return [one.name for one in _functions(_tree(file)) if one.name.startswith("test_")]


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]


def _marks_of_file(tree: ast.Module) -> list[ast.expr]:
    """The marks of `pytestmark`, one or a list."""
    for one in tree.body:
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "pytestmark":
            return one.value.elts if isinstance(one.value, ast.List | ast.Tuple) else [one.value]
    return []


def _says_slow(mark: ast.expr) -> bool:
    return ast.unparse(mark.func if isinstance(mark, ast.Call) else mark) == "pytest.mark.slow"
