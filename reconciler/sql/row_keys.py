"""What tells the rows of a relation, or of one SELECT, apart: keys that are known to be unique (see `undetermined`)."""

from dataclasses import field
from typing import TypeAlias

from sqlglot import exp

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold

Key: TypeAlias = frozenset[tuple[str, str]]
"""What tells rows apart: columns (source, column), or expressions ("", text)."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a relation or a query gives: folded names of its columns (empty: unknown), and sets of them of which each tells
    its rows apart."""

    columns: tuple[str, ...] = ()
    keys: tuple[frozenset[str], ...] = ()


@dataclass(slots=True)
class Block:
    """One SELECT: what stands in its FROM, the keys of its rows, before it is grouped and after. `is_of_rows`: its rows are
    those of its FROM as they are, with all columns known."""

    sources: dict[str, Given] = field(default_factory=dict)
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    items: list[exp.Expr] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    before: list[Key] = field(default_factory=list)
    grouped_by: Key | None = None
    is_of_rows: bool = False

    def part(self, node: exp.Expr, depth: int = 0) -> tuple[str, str]:
        """An expression as a part of a key."""
        while isinstance(node, (exp.Paren, exp.Ordered, exp.Alias)):
            node = node.this
        if isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit():
            index = int(str(node.this)) - 1
            if depth == 0 and 0 <= index < len(self.items):
                return self.part(self.items[index], 1)
        if isinstance(node, exp.Column) and not node.is_star:
            name, head = fold(node.name), fold(node.table)
            if head:
                return (head, name) if head in self.sources else ("", f"{head}.{name}")
            holders = [key for key, one in self.sources.items() if name in one.columns]
            if len(holders) == 1:
                return (holders[0], name)
            if not holders and name in self.aliases and depth < 3:
                return self.part(self.aliases[name], depth + 1)
            return (next(iter(self.sources)), name) if len(self.sources) == 1 else ("", name)
        return ("", node.sql().lower())

    def ordered_part(self, node: exp.Expr) -> tuple[str, str]:
        """What ORDER BY names, as a part of a key: there, an alias goes before a column of its name."""
        while isinstance(node, (exp.Paren, exp.Ordered)):
            node = node.this
        is_alias = isinstance(node, exp.Column) and not node.table and fold(node.name) in self.aliases
        return self.part(self.aliases[fold(node.name)], 1) if is_alias else self.part(node)

    def tells_apart(self, parts: set[tuple[str, str]]) -> bool:
        """Whether no two rows are equal in these, by one of the keys."""
        return any(key <= parts for key in self.keys)

    def are_whole_rows(self, parts: set[tuple[str, str]]) -> bool:
        """Whether rows that are equal in these are equal in all of their columns."""
        return self.is_of_rows and all((name, one) in parts for name, of in self.sources.items() for one in of.columns)


def renamed_by(given: Given, alias: exp.Expr | None) -> Given:
    """What is given, under the names of columns that an alias gives, if it does."""
    names = [fold(one.name) for one in alias.args.get("columns") or ()] if alias is not None else []
    return renamed(given, tuple(names))


def renamed(given: Given, names: tuple[str, ...]) -> Given:
    """What is given, under other names of columns (folded), if there are any."""
    if not names:
        return given
    if len(names) != len(given.columns):
        return Given(names)
    new = dict(zip(given.columns, names, strict=True))
    return Given(names, tuple(frozenset(new[name] for name in key) for key in given.keys))
