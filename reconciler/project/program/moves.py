"""Declared renames (`spec.moved`), judged by the files alone: that each could be meant as it stands.

    moved:
      - {from: sales, to: orders}                  # a table or view
      - {from: sales.cust, to: orders.customer}    # a column or connector of a relation that moved, too
      - {from: orders.at, to: orders.placed_at}    # a column or connector

Rules:
- What a move leads to is declared; what it comes from is not declared any more.
- Both are relations, or both are parts (columns or connectors) of relations. A part stays in its relation; it leads to
  another one only if that is what its relation is called now.
- No two moves have the same `from`, or the same `to`; none begins where another ends, but for columns of one table that
  trade names (`manifest.trades`), each of which is both. Entries may stay once they have done
  their work (another environment may still need them); a name moves a second time when its first move is applied wherever
  it is needed, and the entry is rewritten.
- A name that is both a column and a connector of its relation says not which of them moved.

Not here: whether the old name is applied (`diff.moves`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from reconciler.base.declarations import Move
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.names import did_you_mean, fold
from reconciler.project.manifest.trades import trades_of
from reconciler.project.program.model import Connector, Program, Table, View


def check_moves(
    moves: Sequence[Move],
    tables: Mapping[str, Table],
    views: Mapping[str, View],
    connectors: Mapping[str, Connector],
    into: list[Diagnostic],
) -> None:
    """Report what is wrong with the moves of a program. Mappings are keyed by folded names; P322 is about unknown names,
    which may be declared in what could not be read."""
    names = _Declared(tables, views, connectors)
    relations = {fold(move.source): fold(move.target) for move in moves if "." not in move.source}
    real = [move for move in moves if fold(move.source) != fold(move.target)]
    sources = Counter(fold(move.source) for move in real)
    targets = Counter(fold(move.target) for move in real)
    trading = {name for trade in trades_of(moves) for name, _ in trade}
    seen: set[str] = set()
    for move in moves:
        source, target = fold(move.source), fold(move.target)
        found = _by_itself(move, names, relations, trading)
        if source != target and target in sources and source not in trading:
            found = _chain(move)
        elif found is None:
            twice = source if sources[source] > 1 else target if targets[target] > 1 else None
            if twice is not None and twice in seen:
                name = move.source if twice == source else move.target
                message = f"{name!r} already has another move"
                found = Diagnostic("P326", message, move.location, "a name can move only once: keep one of the entries")
        seen |= {source, target}
        if found is not None:
            into.append(found)


class _Declared:
    """The names of a program."""

    def __init__(self, tables: Mapping[str, Table], views: Mapping[str, View], connectors: Mapping[str, Connector]) -> None:
        self.relations = {key: one.name for key, one in tables.items()} | {key: one.name for key, one in views.items()}
        self.columns = {f"{key}.{fold(c.name)}": f"{one.name}.{c.name}" for key, one in tables.items() for c in one.columns}
        self.connectors = {key: one.qualified_name for key, one in connectors.items()}
        self.parts = {**self.columns, **self.connectors}


def _by_itself(move: Move, names: _Declared, relations: Mapping[str, str], trading: set[str]) -> Diagnostic | None:
    """What is wrong with one move whatever the others say, but for the relations that move, and what trades names."""
    source, target = fold(move.source), fold(move.target)

    def problem(code: str, message: str, hint: str | None = None) -> Diagnostic:
        return Diagnostic(code, message, move.location, hint)

    if source == target:
        return problem("P324", f"{move.source!r} moves to itself", "names are case-insensitive")
    if ("." in source) is not ("." in target):
        hint = "write two relations, two columns (relation.column) or two connectors (relation.connector)"
        return problem("P325", f"{move.source!r} and {move.target!r} are different kinds of objects", hint)
    declared = names.parts if "." in target else names.relations
    if target not in declared:
        hint = (
            did_you_mean(move.target, declared.values())
            or "`to` must be the new name; if that was removed later, remove the entry"
        )
        return problem("P322", f"{move.target!r} is not declared", hint)
    if target in names.columns and target in names.connectors:
        return problem("P328", f"{move.target!r} is a column and a connector", "give the connector another name")
    if source in trading and source in names.columns and source.partition(".")[0] not in relations:
        return None
    if source in declared or _where_it_would_be(source, relations) in declared:
        hint = "a moved name must no longer be declared: remove the entry or the declaration"
        return problem("P323", f"{move.source!r} is still declared", hint)
    if "." in source:
        before, after = source.partition(".")[0], target.partition(".")[0]
        if before != after and relations.get(before) != after:
            hint = f"a column or connector stays in its relation; if the relation moved: {{from: {before}, to: {after}}}"
            return problem("P329", f"{move.source!r} moves to another relation, but {before!r} does not", hint)
        if before == after and before not in names.relations:
            return problem("P322", f"{move.target!r} is not declared")
    return None


def _where_it_would_be(source: str, relations: Mapping[str, str]) -> str:
    """The name of a part now, had it only followed its relation."""
    relation, point, part = source.partition(".")
    return f"{relations.get(relation, relation)}{point}{part}" if point else source


def _chain(move: Move) -> Diagnostic:
    message = f"{move.target!r} is the end of one move and the start of another"
    return Diagnostic("P327", message, move.location, "write one move, from the applied name to the newest name")


def former_name(program: Program, name: str) -> str:
    """The name (folded) that a relation (folded) had before the moves that its author declares."""
    return next((fold(move.source) for move in program.moves if fold(move.target) == name), name)


def moved_key(program: Program, key: str) -> str:
    """The key (`kind:folded name`) that an object has in a program, as its moves declare, if it had this one before."""
    kind, _, name = key.partition(":")
    if kind == "function" or program.relation(name) is not None:
        return key
    return next((f"{kind}:{fold(move.target)}" for move in program.moves if fold(move.source) == name), key)
