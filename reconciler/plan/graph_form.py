"""A plan as a graph: what reads what, and how far a change reaches. Mermaid for pull requests and pages, DOT for Graphviz.

Nodes are tables, views (LOCAL ones too: changes flow through them) and connectors; an edge leads from what is read to what
reads it. Each node is added, modified or removed by a change of its own, affected (it changes only because of what it uses),
or unchanged. Removed relations stand with the edges that they had. What is read of other pipelines, and versions, stand as
unchanged: no plan of this pipeline changes them.

Rules:
- Ids are opaque (`n1`, …) and labels are escaped: no name and nothing else that users wrote can end a label or begin a
  statement.
- Of more than `MOST` nodes only those that change are shown, with their direct neighbours; what is left out is counted. A
  graph says nothing of an empty plan but the program itself.
- The same plan gives the same bytes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import assert_never

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import ViewKind
from reconciler.base.names import fold
from reconciler.base.printing import printable
from reconciler.connectors.transport import Direction
from reconciler.diff.model import Action, RelationChange
from reconciler.plan.changes import is_affected_only
from reconciler.plan.model import Plan
from reconciler.project.program.model import Program, Relation, Table, View

MOST = 500


class Shape(StrEnum):
    """What a node is."""

    TABLE = "table"
    VIEW = "view"
    STREAM = "stream"
    MATERIALIZED_VIEW = "materialized view"
    LOCAL_VIEW = "local view"
    CONNECTOR = "connector"


class State(StrEnum):
    """What the plan does to a node."""

    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"
    AFFECTED = "affected"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Node:
    """A relation or connector. `id` is opaque; nodes are numbered in their order."""

    id: str
    name: str
    shape: Shape
    state: State


@dataclass(frozen=True, slots=True)
class PlanGraph:
    """See the module. `edges` are pairs of ids, sorted by the numbers of the nodes; `left_out` counts the nodes that are not
    shown."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str], ...]
    left_out: int = 0


def graph_of(plan: Plan, applied: Program, desired: Program, most: int = MOST) -> PlanGraph:
    """The graph of a plan between two programs, with at most about `most` nodes: all that change and their neighbours, when
    there are more."""
    found: dict[str, tuple[str, Shape, State]] = {}
    edges: set[tuple[str, str]] = set()
    states = {(fold(c.name), c.action is Action.REMOVED): _relation_state(c) for c in plan.diff.relations}
    gone = {key for key, is_removed in states if is_removed} | {
        key for key, action in plan.diff.local_views.items() if action is Action.REMOVED
    }
    connectors = {(fold(c.name), c.action is Action.REMOVED): _state_of(c.action) for c in plan.diff.connectors}
    for program, is_gone in ((desired, False), (applied, True)):
        # What both have stands as desired; of applied only what is gone, beside what took its name.
        own = "gone" if is_gone else "relation"
        for key, relation in sorted(program.relations.items()):
            if is_gone and key not in gone:
                continue
            state = (
                State.REMOVED if is_gone else _local_state(plan, program, key) or states.get((key, False), State.UNCHANGED)
            )
            found[f"{own}:{key}"] = (relation.name, _shape(relation), state)
            for read in relation.reads:
                source = fold(read.relation)
                edges.add((f"{'gone' if is_gone and source in gone else 'relation'}:{source}", f"{own}:{key}"))
        used = {source for source, _ in edges}
        for key, foreign in program.foreign.items():
            if f"relation:{key}" in used:
                shape = Shape.TABLE if foreign.kind == "table" else Shape.MATERIALIZED_VIEW
                found[f"relation:{key}"] = (foreign.qualified_name, shape, State.UNCHANGED)
        for key, connector in program.connectors.items():
            if is_gone and (key, True) not in connectors:
                continue
            node, side = f"{own}-connector:{key}", fold(connector.relation)
            relation_node = f"{'gone' if is_gone and side in gone else 'relation'}:{side}"
            found[node] = (connector.qualified_name, Shape.CONNECTOR, connectors.get((key, is_gone), State.UNCHANGED))
            is_input = connector.direction is Direction.INPUT
            edges.add((node, relation_node) if is_input else (relation_node, node))
    edges = {(source, target) for source, target in edges if source in found and target in found}
    shown = _shown(found, edges, most)
    ids = {key: f"n{number}" for number, key in enumerate(sorted(shown), 1)}
    return PlanGraph(
        title=f"{plan.pipeline} ({plan.environment})",
        nodes=tuple(Node(ids[key], *found[key]) for key in ids),
        edges=tuple((ids[source], ids[target]) for source, target in sorted(edges) if source in ids and target in ids),
        left_out=len(found) - len(ids),
    )


def render_mermaid(graph: PlanGraph) -> str:
    """The graph as a Mermaid flowchart, ending in a newline."""
    lines = ["flowchart LR", f"  %% {_comment(graph.title)}"]
    for node in graph.nodes:
        begin, end = _MERMAID_SHAPES[node.shape]
        lines.append(f'  {node.id}{begin}"{_mermaid_label(_label(node))}"{end}:::{node.state.value}')
    lines += [f"  {source} --> {target}" for source, target in graph.edges]
    lines.append("  subgraph legend")
    lines += [f'    {state.value}_["{state.value}"]:::{state.value}' for state in State]
    if graph.left_out:
        lines.append(f'    left_out["and {graph.left_out} unchanged, not shown"]:::unchanged')
    lines.append("  end")
    for state in State:
        style = _STYLES[state]
        lines.append(
            f"  classDef {state.value} fill:{style.fill},stroke:{style.line},color:#000000,stroke-width:{style.width}px"
            + (",stroke-dasharray:4" if style.is_dashed else "")
        )
    return "\n".join(lines) + "\n"


def render_dot(graph: PlanGraph) -> str:
    """The graph in Graphviz's DOT, ending in a newline."""
    lines = [
        "digraph plan {",
        "  rankdir=LR;",
        f'  label="{_dot_label(graph.title)}";',
        '  node [style="filled", fontname="sans-serif"];',
    ]
    for node in graph.nodes:
        lines.append(f'  {node.id} [label="{_dot_label(_label(node))}", {_dot_style(node.shape, node.state)}];')
    lines += [f"  {source} -> {target};" for source, target in graph.edges]
    lines += ["  subgraph cluster_legend {", '    label="legend";']
    lines += [f'    {state.value}_ [label="{state.value}", {_dot_style(Shape.VIEW, state)}];' for state in State]
    if graph.left_out:
        label = f"and {graph.left_out} unchanged, not shown"
        lines.append(f'    left_out [label="{label}", {_dot_style(Shape.VIEW, State.UNCHANGED)}];')
    return "\n".join([*lines, "  }", "}"]) + "\n"


def _relation_state(change: RelationChange) -> State:
    return State.AFFECTED if is_affected_only(change) else _state_of(change.action)


def _local_state(plan: Plan, program: Program, key: str) -> State | None:
    """LOCAL views are no part of a diff's relations; whether one changed itself is not kept."""
    if not program.relations[key].is_local or key not in plan.diff.local_views:
        return None
    return _state_of(plan.diff.local_views[key])


def _state_of(action: Action) -> State:
    return State(action.value)


def _shape(relation: Relation) -> Shape:
    match relation:
        case Table():
            return Shape.TABLE
        case View(kind=ViewKind.MATERIALIZED):
            return Shape.MATERIALIZED_VIEW
        case View(kind=ViewKind.LOCAL):
            return Shape.LOCAL_VIEW
        case View(kind=ViewKind.STREAM):
            return Shape.STREAM
        case View():
            return Shape.VIEW
        case _:
            assert_never(relation)


def _shown(found: Mapping[str, tuple[str, Shape, State]], edges: Iterable[tuple[str, str]], most: int) -> set[str]:
    if len(found) <= most:
        return set(found)
    changed = {key for key, (_, _, state) in found.items() if state is not State.UNCHANGED}
    near = {end for edge in edges if changed & set(edge) for end in edge}
    return changed | near


def _label(node: Node) -> str:
    return node.name if node.shape is Shape.TABLE else f"{node.name} ({node.shape.value})"


def _comment(text: str) -> str:
    return re.sub(r"[^\w .()-]", "_", printable(text), flags=re.ASCII)


def _mermaid_label(text: str) -> str:
    """All but letters, digits, blanks and the plainest signs by their numbers, which Mermaid writes `#NN;`."""
    return "".join(_mermaid_characters(printable(text)))


def _mermaid_characters(text: str) -> Iterator[str]:
    for character in text:
        plain = character.isascii() and (character.isalnum() or character in " _.,()-")
        yield character if plain else f"#{ord(character)};"


def _dot_label(text: str) -> str:
    return printable(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


@dataclass(frozen=True, slots=True)
class _Style:
    """Colours that are told apart without seeing red from green: also by line."""

    fill: str
    line: str
    width: int = 1
    is_dashed: bool = False


_STYLES = {
    State.ADDED: _Style("#c8f0c8", "#1a7f37", 3),
    State.MODIFIED: _Style("#fff0b0", "#9a6700", 3),
    State.REMOVED: _Style("#ffd0d0", "#cf222e", 3, True),
    State.AFFECTED: _Style("#fff8dc", "#9a6700", 1, True),
    State.UNCHANGED: _Style("#f6f8fa", "#8c959f", 1),
}
_MERMAID_SHAPES = {
    Shape.TABLE: ("[(", ")]"),
    Shape.VIEW: ("[", "]"),
    Shape.MATERIALIZED_VIEW: ("[[", "]]"),
    Shape.LOCAL_VIEW: ("(", ")"),
    Shape.STREAM: ("{{", "}}"),
    Shape.CONNECTOR: ("([", "])"),
}
_DOT_SHAPES = {
    Shape.TABLE: "cylinder",
    Shape.VIEW: "box",
    Shape.MATERIALIZED_VIEW: "box3d",
    Shape.LOCAL_VIEW: "ellipse",
    Shape.STREAM: "hexagon",
    Shape.CONNECTOR: "cds",
}


def _dot_style(shape: Shape, state: State) -> str:
    style = _STYLES[state]
    words = 'style="filled,dashed"' if style.is_dashed else 'style="filled"'
    small = ", fontsize=10" if shape is Shape.CONNECTOR else ""
    return (
        f'shape={_DOT_SHAPES[shape]}, fillcolor="{style.fill}", color="{style.line}", penwidth={style.width}, {words}{small}'
    )
