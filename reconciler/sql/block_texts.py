"""Where a SELECT of a parsed query stands in the query's text, clause by clause.

The parser forgets where a node ends, so the text is cut at its tokens: at words that begin clauses, outside of parentheses.
Spark reserves no word, and a column may bear any of these. So each part that is cut out is parsed by itself, and has to give
the node that it stands for; else there is no answer. Texts that are put together from such parts say what the query says.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from sqlglot import exp

from reconciler.sql.block_model import BlockText, Span
from reconciler.sql.lexer import Token
from reconciler.sql.places import offset_of
from reconciler.sql.query import Parsed, parse_query
from reconciler.sql.token_lists import split

_SET_OPERATORS: Final = ("UNION", "EXCEPT", "INTERSECT", "MINUS")
_AFTER_HAVING: Final = ("WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET")
_PLAIN: Final = frozenset(
    {"expressions", "from_", "joins", "where", "group", "having", "distinct", "order", "limit", "offset"}
)

_OF_WINDOWS: Final = frozenset({"windows", "qualify"})


def block_text(query: str, tokens: Sequence[Token], node: exp.Select, *, has_windows: bool = False) -> BlockText | None:
    """Where a SELECT stands, without its WITH. None where that can't surely be told, or it has other clauses. `has_windows`:
    it may have WINDOW and QUALIFY, which are in its tail."""
    known = _PLAIN | _OF_WINDOWS if has_windows else _PLAIN
    if any(part and name not in (*known, "with_") for name, part in node.args.items()):
        return None
    bare = node.copy()
    bare.set("with_", None)
    place = offset_of(node)
    # The one next before its first name, but where subqueries come before that.
    for begin, token in reversed([*enumerate(tokens)]):
        if token.is_word("SELECT") and place is not None and token.start <= place:
            own = tokens[begin : _end(tokens, begin)]
            if place < own[-1].end and _parsed(query[own[0].start : own[-1].end]) == bare:
                found = _cut(own)
                return found if found is not None and _is_right(query, found, bare) else None
    return None


def means(text: str, node: exp.Expr) -> bool:
    """Whether a text by itself is the expression that the node is."""
    item = _item(text)
    return item is not None and item == node


def _end(tokens: Sequence[Token], begin: int) -> int:
    """The index behind the last token of the SELECT that begins at one."""
    depth = 0
    for index in range(begin, len(tokens)):
        token = tokens[index]
        depth += token.is_symbol("(") - token.is_symbol(")")
        if depth < 0 or (depth == 0 and (token.is_word(*_SET_OPERATORS) or token.is_symbol(";"))):
            return index
    return len(tokens)


def _cut(tokens: Sequence[Token]) -> BlockText | None:
    """The clauses by their words. Each word that is there stands once, in the order of Spark's grammar."""
    places: dict[str, int] = {}
    depth = 0
    for index, token in enumerate(tokens):
        depth += token.is_symbol("(") - token.is_symbol(")")
        word = _clause(tokens, index) if depth == 0 else None
        if word is not None and word not in places:
            places[word] = index
    if "FROM" not in places:
        return None
    order = [word for word in ("FROM", "WHERE", "GROUP", "HAVING") if word in places]
    tail = min((places[word] for word in _AFTER_HAVING if word in places), default=len(tokens))
    ends = {word: places[following] for word, following in pairwise(order)} | {order[-1]: tail}
    if [places[word] for word in order] != sorted(places[word] for word in order) or places[order[-1]] > tail:
        return None
    parts = {word: tokens[places[word] + (2 if word == "GROUP" else 1) : ends[word]] for word in order}
    select = tokens[1 : places["FROM"]]
    listed = select[1:] if select and select[0].is_word("DISTINCT", "ALL") else select
    if not listed or not all(parts.values()):
        return None
    return BlockText(
        _over(tokens),
        _over(select),
        tuple(split(listed)),
        _over(parts["FROM"]),
        _over(parts["WHERE"]) if "WHERE" in parts else None,
        tuple(split(parts["GROUP"])) if "GROUP" in parts else (),
        _over(parts["HAVING"]) if "HAVING" in parts else None,
        _over(tokens[tail:]) if tail < len(tokens) else None,
    )


def _clause(tokens: Sequence[Token], index: int) -> str | None:
    """The word of the clause that may begin at a token."""
    token = tokens[index]
    if token.is_word("GROUP", "ORDER"):
        follows = index + 1 < len(tokens) and tokens[index + 1].is_word("BY")
        return token.text.upper() if follows else None
    if (
        token.is_word("FROM")
        and index >= 2
        and tokens[index - 1].is_word("DISTINCT")
        and tokens[index - 2].is_word("IS", "NOT")
    ):
        return None
    if token.is_word("WINDOW"):
        return "WINDOW" if index + 2 < len(tokens) and tokens[index + 2].is_word("AS") else None
    return token.text.upper() if token.is_word("FROM", "WHERE", "HAVING", "QUALIFY", "LIMIT", "OFFSET") else None


def _over(tokens: Sequence[Token]) -> Span:
    return Span(tokens[0].start, tokens[-1].end)


def _is_right(query: str, found: BlockText, node: exp.Select) -> bool:
    """Whether each part is what the node has there."""
    group = node.args.get("group")
    keys = group.expressions if group is not None else []
    if group is not None and any(part for name, part in group.args.items() if name != "expressions"):
        return False
    if len(found.items) != len(node.expressions) or len(found.keys) != len(keys):
        return False
    origin = _parsed(f"SELECT 1 FROM {found.origin.of(query)}")
    if origin is None or any(origin.args.get(part) != node.args.get(part) for part in ("from_", "joins")):
        return False
    pairs = [*zip(found.items, node.expressions, strict=True), *zip(found.keys, keys, strict=True)]
    for span, name in ((found.where, "where"), (found.having, "having")):
        clause = node.args.get(name)
        if (span is None) != (clause is None):
            return False
        if span is not None and clause is not None:
            pairs.append((span, clause.this))
    return all(means(span.of(query), part) for span, part in pairs)


def _parsed(text: str) -> exp.Select | None:
    parsed = parse_query(text)
    return parsed.tree if isinstance(parsed, Parsed) and isinstance(parsed.tree, exp.Select) else None


def _item(text: str) -> exp.Expr | None:
    select = _parsed(f"SELECT {text}")
    if (
        select is None
        or len(select.expressions) != 1
        or any(part for name, part in select.args.items() if name != "expressions")
    ):
        return None
    item: exp.Expr = select.expressions[0]
    return item
