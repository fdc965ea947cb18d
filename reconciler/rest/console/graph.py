"""The part of a program that is drawn: what stands within some steps of what is chosen, in layers from left to right.

Each thing stands right of all that it reads. Within a layer, things are ordered by where their neighbours stand, so that
lines cross seldom (the barycentre heuristic of Sugiyama's method). A program of five hundred relations is drawn around one
of them.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.connectors.transport import Direction
from reconciler.project.program.model import Program
from reconciler.rest.descriptions import HTTP_CONNECTOR

STEPS: Final = 2
ALL_AT_ONCE: Final = 30
"""So many things are drawn whole."""
_WIDTH: Final = 230
_HEIGHT: Final = 58
_SWEEPS: Final = 4


@dataclass(frozen=True, slots=True)
class Node:
    """A table, view, stream or connector: its key, what it is called, what it is, and its place in pixels."""

    key: str
    name: str
    kind: str
    x: int
    y: int
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Line:
    """From what is read to what reads it."""

    x1: int
    y1: int
    x2: int
    y2: int


@dataclass(frozen=True, slots=True)
class Graph:
    """What is drawn, of how many things in all."""

    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]
    width: int
    height: int
    all: int


def draw(program: Program, chosen: str | None) -> Graph:
    """The part around what is chosen (a key); all of a small program where nothing is chosen."""
    names, reads = _things(program)
    if chosen not in names:
        chosen = None
    shown = set(names) if chosen is None and len(names) <= ALL_AT_ONCE else _around(chosen or min(names, default=""), reads)
    shown &= names.keys()
    edges = sorted((source, key) for key in shown for source in reads.get(key, ()) if source in shown)
    places = _places(_layers(shown, edges), edges)
    nodes = tuple(Node(key, *names[key], *places[key], key == chosen) for key in sorted(shown))
    middle = _HEIGHT // 2 - 8
    lines = tuple(
        Line(places[a][0] + _WIDTH - 50, places[a][1] + middle, places[b][0], places[b][1] + middle) for a, b in edges
    )
    width = max((node.x for node in nodes), default=0) + _WIDTH
    return Graph(nodes, lines, width, max((node.y for node in nodes), default=0) + _HEIGHT, len(names))


def _things(program: Program) -> tuple[dict[str, tuple[str, str]], dict[str, set[str]]]:
    """By key what each thing is called and is; and the keys of what it reads."""
    names = {key: (relation.name, relation.kind_words) for key, relation in program.relations.items()}
    reads = {key: {fold(read.relation) for read in relation.reads} for key, relation in program.relations.items()}
    for key, connector in program.connectors.items():
        if connector.name == HTTP_CONNECTOR:
            continue
        mark = f"{key} "
        names[mark] = connector.qualified_name, f"{connector.direction.value} connector"
        relation = fold(connector.relation)
        if connector.direction is Direction.INPUT:
            reads.setdefault(relation, set()).add(mark)
        else:
            reads[mark] = {relation}
    return names, reads


def _around(chosen: str, reads: Mapping[str, Iterable[str]]) -> set[str]:
    beside: dict[str, set[str]] = {}
    for key, sources in reads.items():
        for source in sources:
            beside.setdefault(key, set()).add(source)
            beside.setdefault(source, set()).add(key)
    found = edge = {chosen}
    for _ in range(STEPS):
        edge = {other for key in edge for other in beside.get(key, ())} - found
        found = found | edge
    return found


def _layers(shown: set[str], edges: list[tuple[str, str]]) -> list[list[str]]:
    """What is shown, in layers: each thing after all that it reads."""
    depth = dict.fromkeys(shown, 0)
    # No longer than the longest way: a program has no circles.
    for _ in shown:
        moved = False
        for source, key in edges:
            if depth[key] <= depth[source]:
                depth[key], moved = depth[source] + 1, True
        if not moved:
            break
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for key in sorted(shown):
        layers[depth[key]].append(key)
    return layers


def _places(layers: list[list[str]], edges: list[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    beside: dict[str, list[str]] = {}
    for source, key in edges:
        beside.setdefault(key, []).append(source)
        beside.setdefault(source, []).append(key)
    place = {key: float(index) for layer in layers for index, key in enumerate(layer)}
    for _ in range(_SWEEPS):
        for layer in layers:
            middle = {key: _mean([place[one] for one in beside.get(key, ())], place[key]) for key in layer}
            layer.sort(key=lambda key: (middle[key], key))
            place.update({key: float(index) for index, key in enumerate(layer)})
    return {key: (x * _WIDTH, y * _HEIGHT) for x, layer in enumerate(layers) for y, key in enumerate(layer)}


def _mean(found: list[float], otherwise: float) -> float:
    return sum(found) / len(found) if found else otherwise
