"""Names of pipelines, relations, columns and connectors.

Rules (Spark's): identifiers are case-insensitive and case-preserving, so `LINEITEM` and `lineitem` are one table and
the plan shows the spelling of the definition. `fold` gives the key under which a name is looked up; everything that maps
names to things maps folded names. `@` is no part of a name: it introduces a version.
"""

import re
from collections.abc import Iterable

IDENTIFIER_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"

_IDENTIFIER = re.compile(IDENTIFIER_PATTERN)


def fold(name: str) -> str:
    """The key of a name: two names with the same key are the same name."""
    return name.lower()


def is_identifier(name: str) -> bool:
    """Whether `name` can name a relation, a column or a connector's relation."""
    return _IDENTIFIER.match(name) is not None


def is_foreign(name: str) -> bool:
    """Whether a relation's name, or its key, is of nothing that a program itself declares: of another pipeline's relation
    (`pipeline.name`), or of a version (`name@v2`, `pipeline.name@v2`)."""
    return "." in name or is_version(name)


def is_version(name: str) -> bool:
    """Whether a relation's name, or its key, is that of a version: `name@v2`."""
    return "@" in name


def without_version(name: str) -> str:
    """What a name is without the version that it may have: of `name@v2`, and of `name`, it is `name`."""
    return name.partition("@")[0]


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` was most likely meant to be, or None when nothing is close."""
    import difflib

    by_key = {fold(candidate): candidate for candidate in sorted(candidates)}
    found = difflib.get_close_matches(fold(name), list(by_key), n=1, cutoff=0.6)
    return by_key[found[0]] if found else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint for an unknown name, or None."""
    suggestion = closest(name, candidates)
    return f"did you mean {suggestion!r}?" if suggestion is not None else None
