"""Renames that an author declares (`spec.moved`), held against what is applied.

Rules:
- A move whose old name is applied and whose new name is not says that the two are one: nothing is dropped, nothing made.
- A move whose new name is applied and whose old name is not has done its work; so has one that knows neither. Both stay in
  the file without harm, as in an environment that never saw the old name.
- One that knows neither, while something goes whose name is much like the old one, is a slip of the pen: an error. So are
  so many of these, while so much goes, that the one can't be compared with the other.
- Where both names are applied it can't be told which of them the new one continues: an error.
- A table stays a table, and a view a view.
- A column or connector moves within its relation, which may itself have moved. Connectors of a moved relation follow it
  without a move of their own.

- Columns of a table that trade names do so once: what is applied says which trades it has been through. Both names must be
  applied, and the columns must stand where they stood, under their new names, so that the table is seen to be another.
  Where that is not so, or a column has been part of another trade, it is an error rather than a guess.

What a move says by itself (that its new name is declared and its old one is not) is judged by `program.moves`.
"""

from collections.abc import Container, Mapping
from dataclasses import field
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import Move
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.names import closest, fold
from reconciler.project.manifest.trades import Trade, trades_of
from reconciler.project.program.model import Program

# Names of moves times names that go; each move counts as some.
_COMPARISONS: Final = 100_000
_OF_EACH: Final = 100


@dataclass(frozen=True, slots=True)
class Renames:
    """What has another name now: desired folded name → applied folded name, where they differ.

    `columns` is by desired table; `connectors` by folded qualified name.
    """

    relations: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    connectors: Mapping[str, str] = field(default_factory=dict)

    def applied_key(self, relation: str) -> str:
        """The applied name of a desired relation, both folded."""
        return self.relations.get(relation, relation)

    def applied_column(self, relation: str, column: str) -> str:
        """The applied name of a desired relation's column, all folded."""
        return self.columns.get(relation, {}).get(column, column)

    def applied_connector(self, key: str) -> str:
        """The applied qualified name of a desired connector, both folded."""
        if key in self.connectors:
            return self.connectors[key]
        relation, _, name = key.partition(".")
        return f"{self.applied_key(relation)}.{name}"


@dataclass(frozen=True, slots=True)
class ResolvedMoves:
    """The renames that hold, and the moves that are wrong about what is applied."""

    renames: Renames
    diagnostics: tuple[Diagnostic, ...]


def resolve_moves(applied: Program, desired: Program) -> ResolvedMoves:
    """Hold desired's moves against what is applied."""
    found: list[Diagnostic] = []
    slips = _Slips(found)
    relations: dict[str, str] = {}
    known_relations, wanted_relations = set(applied.relations), set(desired.relations)
    for move in desired.moves:
        source, target = fold(move.source), fold(move.target)
        if "." in source or "." in target:
            continue
        slips.judge(move, source, target, known_relations, wanted_relations)
        if _is_move(move, known_relations, source, target, found):
            kind = applied.relations[source].relation_kind
            if kind is not desired.relations[target].relation_kind:
                message = f"{move.source!r} is applied as a {kind}, {move.target!r} is another kind"
                found.append(Diagnostic("P331", message, move.location, "a table can't become a view by a move"))
            else:
                relations[target] = source
    parts = Renames(relations)
    columns: dict[str, dict[str, str]] = {}
    trading: set[str] = set()
    for trade in trades_of(desired.moves):
        trading |= {source for source, _ in trade}
        for source, target in _traded(trade, applied, desired, found):
            relation, _, name = target.partition(".")
            columns.setdefault(relation, {})[name] = source.partition(".")[2]
    connectors: dict[str, str] = {}
    known_columns, wanted_columns = _Columns(applied), _Columns(desired)
    for move in desired.moves:
        source, target = fold(move.source), fold(move.target)
        if "." not in source or "." not in target or source in trading:
            continue
        relation, _, name = target.partition(".")
        old_relation, _, old_name = source.partition(".")
        if parts.applied_key(relation) != old_relation:
            continue
        if target in desired.connectors:
            if _is_move(move, applied.connectors, source, target, found, f"{old_relation}.{name}"):
                connectors[target] = source
        elif relation in desired.tables and old_relation in applied.tables:
            known, wanted = known_columns.of(old_relation), wanted_columns.of(relation)
            slips.judge(move, old_name, name, known, wanted)
            if _is_move(move, known, old_name, name, found):
                columns.setdefault(relation, {})[name] = old_name
    return ResolvedMoves(Renames(relations, columns, connectors), tuple(found))


def _traded(trade: Trade, applied: Program, desired: Program, found: list[Diagnostic]) -> list[tuple[str, str]]:
    """The pairs of a trade that is still to be done; none where it is done, or is wrong about what is applied."""
    names = dict(sorted(trade))
    first = next(move for move in desired.moves if fold(move.source) in names)
    table = next(iter(names)).partition(".")[0]
    before, after = applied.tables.get(table), desired.tables.get(table)
    done = [dict(one) for one in applied.settings.traded]
    if before is None or after is None or names in done:
        return []
    listed = ", ".join(names)

    def problem(code: str, message: str, hint: str) -> list[tuple[str, str]]:
        found.append(Diagnostic(code, message, first.location, hint))
        return []

    if any(not names.keys().isdisjoint(one) for one in done):
        hint = "remove the entries of that trade and apply, then write the new ones"
        return problem("P334", f"of {listed}, some have traded names already, in another way", hint)
    stood = [key for column in before.columns if (key := f"{table}.{fold(column.name)}") in names]
    stand = [key for column in after.columns if (key := f"{table}.{fold(column.name)}") in names]
    if len(stood) < len(names):
        missing = ", ".join(sorted(names.keys() - set(stood)))
        return problem(
            "P333", f"{missing} is not applied, and can't trade names", "columns that trade names are all applied"
        )
    if stand != [names[key] for key in stood]:
        hint = f"declare them in this order: {', '.join(names[key].partition('.')[2] for key in stood)}"
        return problem("P335", f"{listed} trade names, and do not stand where they stood under the new ones", hint)
    return sorted(trade)


class _Slips:
    """Finds moves of names that are not applied, where one like it is, and goes."""

    def __init__(self, found: list[Diagnostic]) -> None:
        self._found = found
        self._going: dict[tuple[int, int], set[str]] = {}
        self._compared = 0

    def judge(self, move: Move, source: str, target: str, applied: set[str], desired: set[str]) -> None:
        """Report a move that is one."""
        if source in applied or target in applied or self._compared > _COMPARISONS:
            return
        key = (id(applied), id(desired))
        if key not in self._going:
            self._going[key] = applied - desired
        going = self._going[key]
        if not going:
            return
        self._compared += max(len(going), _OF_EACH)
        if self._compared > _COMPARISONS:
            message = (
                f"too many moves of names that are not applied, while {len(going)} name(s) go: is one meant by the other?"
            )
            hint = "remove the entries that have done their work"
            self._found.append(Diagnostic("P362", message, move.location, hint))
            return
        meant = closest(source, going)
        if meant is not None:
            hint = f"did you mean {meant!r}? It is removed otherwise"
            self._found.append(Diagnostic("P332", f"{move.source!r} is not applied", move.location, hint))


def _is_move(
    move: Move,
    known: Container[str],
    source: str,
    target: str,
    found: list[Diagnostic],
    target_as_applied: str | None = None,
) -> bool:
    """Whether the old name is applied and the new one is not; both is an error."""
    new = target_as_applied or target
    if source in known and new in known:
        message = f"{move.source!r} and {move.target!r} are both applied: it is unclear which of them the move means"
        hint = "remove the entry under moved, and the object that you no longer want"
        found.append(Diagnostic("P330", message, move.location, hint))
    return source in known and new not in known


class _Columns:
    """The folded columns of a program's tables, found once each."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._found: dict[str, set[str]] = {}

    def of(self, table: str) -> set[str]:
        if table not in self._found:
            self._found[table] = {fold(column.name) for column in self._program.tables[table].columns}
        return self._found[table]
