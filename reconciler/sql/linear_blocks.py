"""The SELECTs of a query that is nothing but these: over relations, joined, with WHERE and expressions, put together by
UNION ALL.

Each row that such a query gives is made of rows of the relations in which its SELECT is linear (`linear_walk`), and of
nothing else. So rows that come to one of them give rows that come to the result, and leave all others as they are.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from reconciler.sql.block_model import NOT_TOLD_APART, NOT_UNDERSTOOD, TAKES_TODAY, TOO_LARGE, LinearBlock, NotKept, Span
from reconciler.sql.block_texts import block_text
from reconciler.sql.keyed_subqueries import keyed_tables
from reconciler.sql.limits import TooMuch
from reconciler.sql.linear_walk import LinearWalk, relation_uses
from reconciler.sql.query import Parsed
from reconciler.sql.surroundings import QuerySurroundings
from reconciler.sql.times_of_today import may_take_today


def linear_blocks(
    query: str, relations: Mapping[str, Mapping[str, str | None]], around: QuerySurroundings
) -> tuple[LinearBlock, ...] | NotKept:
    """The SELECTs of a query, in order. `relations` are as for `check.analyse_query`."""
    walk = LinearWalk(relations, query, around)
    try:
        parsed = walk.read()
        if parsed is None:
            return NOT_UNDERSTOOD
        found: list[LinearBlock] = []
        for branch in _branches(parsed.tree):
            block = branch if isinstance(branch, NotKept) else _block(walk, parsed, branch)
            if isinstance(block, NotKept):
                return block
            found.append(block)
        return tuple(found) if len(found) == 1 or _are_all(parsed, found) else NOT_TOLD_APART
    except (TooMuch, RecursionError):
        return TOO_LARGE


def _are_all(parsed: Parsed, blocks: Sequence[LinearBlock]) -> bool:
    """Whether nothing stands beside these SELECTs but UNION ALL and parentheses."""
    others = [one for one in parsed.tokens if not any(block.rows.has(Span(one.start, one.end)) for block in blocks)]
    return all(one.is_word("UNION", "ALL") or one.is_symbol("(") or one.is_symbol(")") for one in others)


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


def _block(walk: LinearWalk, parsed: Parsed, node: exp.Select) -> LinearBlock | NotKept:
    why = walk.why_not_linear(node)
    if why is not None:
        return why
    origin = walk.origin(node)
    if isinstance(origin, NotKept):
        return origin
    scope, named = walk.seen[id(node)]
    keyed = keyed_tables(node, walk.relations)
    fixed = walk.decided(node, node.expressions, scope, named, keyed)
    if isinstance(fixed, NotKept):
        return fixed
    text = block_text(walk.text, parsed.tokens, node)
    every = (*origin.keyed, *keyed)
    relations = relation_uses(walk, node, origin.uses, parsed, text, every) if text is not None else None
    if text is None or relations is None:
        return NOT_TOLD_APART
    if may_take_today(parsed.tokens, text.whole):
        return TAKES_TODAY
    return LinearBlock(Span(text.whole.start, (text.where or text.origin).end), text.where, relations, fixed | origin.fixed)
