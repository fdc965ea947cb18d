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

from reconciler.base.declarations import Move
from reconciler.base.names import fold

Trade: TypeAlias = frozenset[tuple[str, str]]
"""The circle: pairs (old name, new name) of columns, folded and qualified."""


def trades_of(moves: Iterable[Move]) -> tuple[Trade, ...]:
    """The circles among moves of columns within one table each."""
    return circles({fold(move.source): fold(move.target) for move in moves})


def circles(targets: Mapping[str, str]) -> tuple[Trade, ...]:
    """The circles that names lead round in, of two or more columns of one table; sorted. `targets`: new name by old."""
    found: set[Trade] = set()
    seen: set[str] = set()
    for start in targets:
        # By its place in the way, so that the way round can be told from what led to it.
        way: dict[str, int] = {}
        name = start
        while name in targets and name not in seen:
            seen.add(name)
            way[name] = len(way)
            name = targets[name]
        round_ = [one for one, place in way.items() if place >= way[name]] if name in way else []
        tables = {one.partition(".")[0] for one in round_}
        if len(round_) > 1 and len(tables) == 1 and all("." in one for one in round_):
            found.add(frozenset((one, targets[one]) for one in round_))
    return tuple(sorted(found, key=sorted))
