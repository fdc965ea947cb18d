"""Names of pipelines, relations, columns and connectors.

Rules (Spark's): identifiers are case-insensitive and case-preserving, so `LINEITEM` and `lineitem` are one table and
the plan shows the spelling of the definition. `fold` gives the key under which a name is looked up; everything that maps
names to things maps folded names. `@` is no part of a name: it introduces a version.

Suggestions for unknown names cost little in all (`bounded_suggestions`): after the first few hundred, or among very many
names, an unknown one is told without.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from heapq import nlargest
from itertools import islice, pairwise
from typing import Final

IDENTIFIER_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"

_IDENTIFIER = re.compile(IDENTIFIER_PATTERN)


def fold(name: str) -> str:
    """The key of a name: two names with the same key are the same name."""
    return name.lower()


def quoted(name: str) -> str:
    """A name as Spark SQL reads it, whatever it holds."""
    return f"`{name.replace('`', '``')}`"


def is_identifier(name: str) -> bool:
    """Whether `name` can name a relation, a column or a connector's relation."""
    return _IDENTIFIER.match(name) is not None


def first_of(names: Sequence[str], most: int | None) -> str:
    """All names with commas between them (None), or the first ones and how many more: `a, b and 3 more`."""
    if most is None or len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


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


@contextmanager
def bounded_suggestions() -> Iterator[None]:
    """Within it, suggestions are made until so much was compared for them, counted in names and not in time: the same files
    get the same suggestions everywhere."""
    token = _left.set([_COMPARISONS])
    try:
        yield
    finally:
        _left.reset(token)


# Comparisons that are left. Each suggestion counts as some, however few names there are to choose from.
_left: ContextVar[list[int] | None] = ContextVar("comparisons left", default=None)
_COMPARISONS: Final = 250_000
_OF_EACH: Final = 500
# How many are compared letter by letter, and how long names are that this is done for.
_CLOSELY: Final = 32
_LONGEST: Final = 200


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` was most likely meant to be, or None when nothing is close. See `bounded_suggestions`."""
    left = _left.get() or [_COMPARISONS]
    if left[0] <= 0 or len(name) > _LONGEST:
        return None
    known = list(islice(candidates, left[0]))
    left[0] -= _OF_EACH + len(known)
    if left[0] <= 0:
        return None
    import difflib

    by_key = {fold(candidate): candidate for candidate in sorted(known) if len(candidate) <= _LONGEST}
    found = difflib.get_close_matches(fold(name), _much_alike(fold(name), list(by_key)), n=1, cutoff=0.6)
    return by_key[found[0]] if found else None


def _much_alike(name: str, keys: list[str]) -> list[str]:
    """Those that share most pairs of letters with the name, in their order; all, where they are few."""
    if len(keys) <= _CLOSELY:
        return keys
    pairs = set(pairwise(name))
    shared = [len(pairs.intersection(pairwise(key))) - abs(len(key) - len(name)) / 1000 for key in keys]
    return [keys[index] for index in sorted(nlargest(_CLOSELY, range(len(keys)), key=shared.__getitem__))]


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint for an unknown name, or None."""
    suggestion = closest(name, candidates)
    return f"did you mean {suggestion!r}?" if suggestion is not None else None
