"""The SELECTs of a query that is nothing but these: over relations, joined, with WHERE and expressions, put together by
UNION ALL.

Each row that such a query gives is made of rows of the relations in which its SELECT is linear (`linear_walk`), and of
nothing else. So rows that come to one of them give rows that come to the result, and leave all others as they are.
"""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from reconciler.sql.block_model import NOT_TOLD_APART, NOT_UNDERSTOOD, TAKES_TODAY, TOO_LARGE, LinearBlock, NotKept, Span
from reconciler.sql.block_texts import block_text
from reconciler.sql.limits import TooMuch
from reconciler.sql.linear_walk import LinearWalk, items_of_from, linear_uses, relation_uses
from reconciler.sql.query import Parsed
from reconciler.sql.references import relation_key
from reconciler.sql.scopes import Scope
from reconciler.sql.surroundings import QuerySurroundings
from reconciler.sql.times_of_today import may_take_today
from reconciler.sql.values import Named
from reconciler.sql.words import spark_aggregates

_NO_RULE: Final = {
    "with_": "WITH",
    "distinct": "DISTINCT",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "qualify": "QUALIFY",
    "laterals": "LATERAL VIEW",
    "group": "an aggregate of another kind than COUNT, SUM and AVG",
    "having": "an aggregate of another kind than COUNT, SUM and AVG",
}


def linear_blocks(
    query: str, relations: Mapping[str, Mapping[str, str | None]], around: QuerySurroundings
) -> tuple[LinearBlock, ...] | NotKept:
    """The SELECTs of a query, in order. `relations` are as for `check.analyse_query`."""
    walk = _Walk(relations, query, around)
    try:
        parsed = walk.read()
        if parsed is None:
            return NOT_UNDERSTOOD
        found: list[LinearBlock] = []
        for branch in _branches(parsed.tree):
            block = branch if isinstance(branch, NotKept) else walk.block(parsed, branch)
            if isinstance(block, NotKept):
                return block
            found.append(block)
        return tuple(found)
    except (TooMuch, RecursionError):
        return TOO_LARGE


def _branches(tree: exp.Expr) -> list[exp.Select | NotKept]:
    """The SELECTs that UNION ALL puts together."""
    if isinstance(tree, exp.Select):
        return [tree]
    if not isinstance(tree, exp.SetOperation):
        return [NOT_UNDERSTOOD]
    is_all = isinstance(tree, exp.Union) and tree.args.get("distinct") is False
    if not is_all or any(part and name not in ("this", "expression", "distinct") for name, part in tree.args.items()):
        return [NotKept("a set operation other than UNION ALL, or one with more to it, has no rule")]
    return [*_branches(tree.this), *_branches(tree.expression)]


class _Walk(LinearWalk):
    """Remembers what is in sight in each SELECT."""

    def __init__(self, relations: Mapping[str, Mapping[str, str | None]], text: str, around: QuerySurroundings) -> None:
        super().__init__(relations, text, around)
        self._seen: dict[int, tuple[Scope, Named]] = {}

    def leave(self, node: exp.Select, scope: Scope, named: Named) -> None:
        self._seen[id(node)] = (scope, named)

    def block(self, parsed: Parsed, node: exp.Select) -> LinearBlock | NotKept:
        scope, named = self._seen[id(node)]
        beyond = next((word for part, word in _NO_RULE.items() if node.args.get(part)), None)
        if beyond is not None:
            return NotKept(f"{beyond} has no rule")
        items = items_of_from(node)
        if not items or not all(isinstance(item, exp.Table) and relation_key(item) not in named for item in items):
            return NotKept("a query within it has no rule", "put that query into a MATERIALIZED view")
        if scope.is_open:
            return NotKept("the columns of what it reads are not known", "once it was applied, they are")
        unfit = next((one for item in node.expressions for one in item.walk() if self._is_of_many(one)), None)
        if unfit is not None:
            word = self.name_of(unfit).upper() if isinstance(unfit, exp.Func) else "a function with OVER"
            return NotKept(f"{word} has no rule")
        uses = linear_uses(node)
        if isinstance(uses, NotKept):
            return uses
        if not any(is_linear for _, is_linear in uses):
            return NotKept("FULL JOIN has no rule")
        fixed = self.decided(node, node.expressions, scope, named)
        if isinstance(fixed, NotKept):
            return fixed
        text = block_text(self.text, parsed.tokens, node)
        relations = relation_uses(uses, text) if text is not None else None
        if text is None or relations is None:
            return NOT_TOLD_APART
        if may_take_today(parsed.tokens, text.whole):
            return TAKES_TODAY
        return LinearBlock(Span(text.whole.start, (text.where or text.origin).end), relations, fixed)

    def _is_of_many(self, node: exp.Expr) -> bool:
        """Whether a value is made of several rows of the block."""
        if isinstance(node, exp.Window):
            return True
        return isinstance(node, exp.Func) and (isinstance(node, exp.AggFunc) or self.name_of(node) in spark_aggregates())
