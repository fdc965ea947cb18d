"""How the rows that come to a stream are divided among its keys, and what that means for whoever waits for it.

State is kept by key, and the rows of a key are one task's. So a key that has most of the rows makes all others wait, and a
key column with one value divides nothing. It is looked at in a step that brings many rows, and again a hundred steps later
at the earliest: a look costs about as much as an aggregate of the rows does.
"""

import json
from typing import Any, Final

from reconciler.base.printing import printable
from reconciler.plan.impact_words import rows_words
from reconciler.registry.placements import KeyRows, KeysSeen

MANY_ROWS: Final = 100_000
"""So many rows of a step say how those to come are divided."""
STEPS_BETWEEN: Final = 100
UNEVEN: Final = 0.2
"""The part of the rows from which a key makes others wait."""


def is_due(known: KeysSeen | None, step: int, rows: int | None) -> bool:
    """Whether a step looks at its keys. `rows` came to the stream; None: it is not known how many."""
    return rows is not None and rows >= MANY_ROWS and (known is None or step - known.step >= STEPS_BETWEEN)


def keys_seen(row: Any, names: tuple[str, ...], step: int) -> KeysSeen:
    """What the answer to `keys_seen_query` says of a step, for keys of these names."""
    rows, keys, most, *constant = row
    told = tuple(KeyRows(tuple(one["values"]), int(one["n"])) for one in json.loads(most or "[]"))
    single = tuple(name for name, is_constant in zip(names, constant, strict=True) if is_constant and rows)
    return KeysSeen(step, int(rows), int(keys), names, told, single)


def largest_part(seen: KeysSeen) -> float:
    """Which part of the rows the key has that has most of them."""
    return seen.most[0].rows / seen.rows if seen.most and seen.rows else 0.0


def describe_uneven_keys(seen: KeysSeen) -> str | None:
    """In words, what makes tasks wait for each other; None where nothing does."""
    uneven = [one for one in seen.most if one.rows / seen.rows >= UNEVEN] if seen.rows else []
    told = []
    if uneven:
        keys = ", ".join(f"{_key(seen.names, one)} has {one.rows / seen.rows:.0%}" for one in uneven)
        told.append(f"{keys} of the {rows_words(seen.rows)} of step {seen.step}: the rows of a key are one task's")
    if seen.constant and seen.keys > 1:
        names = " and ".join(seen.constant)
        told.append(f"{names} has one value only in step {seen.step}, and divides nothing as a key")
    return "; ".join(told) or None


def _key(names: tuple[str, ...], one: KeyRows) -> str:
    pairs = zip(names, one.values, strict=True)
    return ", ".join(f"{name} = {'NULL' if value is None else printable(value)}" for name, value in pairs)
