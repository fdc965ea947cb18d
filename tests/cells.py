"""What of the tests is in every run: some cells of each long matrix, and something of all that is claimed."""

import ast
from collections.abc import Sequence
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


def is_slow(file: Path, test: str) -> bool:
    """Whether a test is in the slow suite with all its cells."""
    functions = (one for one in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(one, ast.FunctionDef))
    found = next(one for one in functions if one.name == test)
    return "pytest.mark.slow" in map(ast.unparse, found.decorator_list)
