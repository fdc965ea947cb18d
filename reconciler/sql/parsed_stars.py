"""The `*` of a parsed query: see `stars` for what it stands for."""

from collections.abc import Sequence

from sqlglot import exp

from reconciler.sql.lexer import Token


def counts_rows(node: exp.Expr) -> bool:
    """Whether a parsed value is the bare `count(*)`."""
    if not isinstance(node, exp.Count) or type(node.this) is not exp.Star:
        return False
    return not node.expressions and not any(node.this.args.values())


def keeps_stars(tree: exp.Expr, tokens: Sequence[Token]) -> bool:
    """Whether a parsed tree has every `*` of its text: a parser drops what it does not expect, as in `named_struct(*)`."""
    written = [token.text for token in tokens].count("*")
    if not written:
        return True
    # `FROM t` by itself is parsed as `SELECT * FROM t`.
    added = sum(1 for _ in tree.find_all(exp.Select)) - sum(token.is_word("SELECT") for token in tokens)
    return written <= sum(1 for _ in tree.find_all(exp.Star, exp.Mul)) - max(added, 0)
