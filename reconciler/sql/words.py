"""The word lists of Spark that ship with this package, read once, and what each function of Spark's makes of rows.

A function that is not in the list may be anything: it may aggregate rows, make several of one, or give other values each
time. So whoever wants to know what is harmless asks which kind a function surely is, never whether it is in a list of those
that are not.
"""

from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path


class FunctionKind(StrEnum):
    """What a function makes of rows."""

    SCALAR = "scalar"
    """One value of each row."""
    AGGREGATE = "aggregate"
    """One value of many rows; with OVER, a value of each row and those around it."""
    WINDOW = "window"
    """A value of each row and those around it. It always has OVER."""
    GENERATOR = "generator"
    """Several rows of one."""
    TABLE = "table"
    """Rows. It stands in FROM only."""


def _lines(name: str) -> Iterator[str]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return (line for line in text.splitlines() if line and not line.startswith("#"))


@cache
def spark_functions() -> dict[str, FunctionKind]:
    """Spark's built-in functions, by their names in lower case."""
    pairs = (line.split(" ") for line in _lines("spark_functions.txt"))
    return {name: FunctionKind(kind) for name, kind in pairs}


@cache
def spark_words() -> frozenset[str]:
    """Words that Spark's grammar knows, in lower case: quoting one of these may change what it means."""
    return frozenset(_lines("spark_words.txt"))


@cache
def spark_aggregates() -> frozenset[str]:
    """The names of the built-in functions that aggregate rows, in lower case."""
    return frozenset(name for name, kind in spark_functions().items() if kind is FunctionKind.AGGREGATE)


@cache
def spark_generators() -> frozenset[str]:
    """The names of those that make several rows of one, or rows of nothing, in lower case."""
    multiplying = (FunctionKind.GENERATOR, FunctionKind.TABLE)
    return frozenset(name for name, kind in spark_functions().items() if kind in multiplying)
