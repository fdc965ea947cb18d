"""Columns of one table that trade names: entries of `moved` that lead round in a circle.

    moved:
      - {from: orders.net, to: orders.gross}
      - {from: orders.gross, to: orders.net}

A rename says by itself whether it is done: the old name is applied or it is not. A trade does not, for the same names are
there before and after. So what is applied records which trades it has been through (`Settings.traded`), and an entry counts
once. Whoever wants the same trade again removes the entries, applies, and writes them again.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from reconciler.manifest.model import Move
from reconciler.names import fold

Trade: TypeAlias = frozenset[tuple[str, str]]
"""The circle: pairs (old name, new name) of columns, folded and qualified."""


def trades_of(moves: Iterable[Move]) -> tuple[Trade, ...]:
    """The circles among moves of columns within one table each."""
    return circles({fold(move.source): fold(move.target) for move in moves})


def circles(targets: Mapping[str, str]) -> tuple[Trade, ...]:
    """The circles that names lead round in, of two or more columns of one table; sorted. `targets`: new name by old."""
    found: set[Trade] = set()
    for start in targets:
        way, name = [start], targets[start]
        while name in targets and name not in way:
            way.append(name)
            name = targets[name]
        tables = {one.partition(".")[0] for one in way}
        if name == start and len(way) > 1 and len(tables) == 1 and all("." in one for one in way):
            found.add(frozenset((one, targets[one]) for one in way))
    return tuple(sorted(found, key=sorted))
