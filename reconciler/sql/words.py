"""The word lists of Spark that ship with this package, read once."""

from functools import cache
from importlib.resources import files


def _lines(name: str) -> frozenset[str]:
    text = files("reconciler.sql").joinpath(name).read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


@cache
def spark_functions() -> frozenset[str]:
    """The names of Spark's built-in functions, in lower case."""
    return _lines("spark_functions.txt")


@cache
def spark_words() -> frozenset[str]:
    """Words that Spark's grammar knows, in lower case: quoting one of these may change what it means."""
    return _lines("spark_words.txt")


@cache
def spark_aggregates() -> frozenset[str]:
    """The names of the built-in functions that aggregate rows, in lower case."""
    return _lines("spark_aggregates.txt")
