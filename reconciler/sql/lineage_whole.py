"""Whether a parsed tree still holds every name and every `*` of its text: a parser may drop an argument, or take a column
for a keyword.

Each name that stands in the text as often as an operand could is counted, and must stand in the tree at least as often.
Words that surely are no names in their place (types in a CAST, functions, units behind a number, hints) don't count.
"""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.determinism import NON_DETERMINISTIC
from reconciler.sql.lexer import Kind, Token
from reconciler.sql.parsed_stars import keeps_stars
from reconciler.sql.query import Parsed
from reconciler.sql.references import relation_key

_LITERAL_TYPES: Final = ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "INTERVAL", "X")
_CASTS: Final = ("CAST", "TRY_CAST")


def is_whole(parsed: Parsed, relations: Mapping[str, Mapping[str, str | None]], saw_chance: bool) -> bool:
    """Whether no name was lost, and no call of chance or clock either (`saw_chance`: one was found in the tree)."""
    left, has_chance = _left(parsed, relations)
    if not keeps_stars(parsed.tree, parsed.tokens):
        return False
    return (saw_chance or not has_chance) and min(left.values(), default=0) >= 0


def lost_names(parsed: Parsed, relations: Mapping[str, Mapping[str, str | None]]) -> frozenset[str] | None:
    """The names that the text may have as operands and the tree has lost, folded; None where it lost a `*`."""
    if not keeps_stars(parsed.tree, parsed.tokens):
        return None
    left, _ = _left(parsed, relations)
    return frozenset(name for name, count in left.items() if count < 0)


def _left(parsed: Parsed, relations: Mapping[str, Mapping[str, str | None]]) -> tuple[dict[str, int], bool]:
    """How much oftener the tree has each name than the text; and whether the text has a call of chance."""
    in_tree: dict[str, int] = {}
    of_other_pipelines: list[str] = []
    for node in parsed.tree.walk():
        if isinstance(node, exp.Identifier):
            name = fold(node.this)
            in_tree[name] = in_tree.get(name, 0) + 1
        elif isinstance(node, exp.Table) and node.args.get("db") is not None:
            of_other_pipelines.append(relation_key(node))
    left = dict(in_tree)
    for name in (*in_tree, *of_other_pipelines):
        for column in relations.get(name, ()):
            left.setdefault(fold(column), 0)
    has_chance = _take_away(parsed.tokens, left)
    return left, has_chance


def _take_away(tokens: tuple[Token, ...], left: dict[str, int]) -> bool:
    """Count each word down where it may be a name. Whether a function of chance is called."""
    has_chance = is_hint = False
    openers: list[str] = []
    count = len(tokens)
    for index, (kind, text, _, _) in enumerate(tokens):
        if kind is Kind.SYMBOL:
            if text == "(":
                openers.append(tokens[index - 1].text.upper() if index else "")
            elif text == ")" and openers:
                openers.pop()
            elif text == "/*+":
                is_hint = True
            elif text == "*/":
                is_hint = False
            continue
        if kind is not Kind.WORD and kind is not Kind.QUOTED:
            continue
        name = text.lower() if kind is Kind.WORD else text[1:-1].replace("``", "`").lower()
        is_known = name in left
        if (not is_known and name not in NON_DETERMINISTIC) or is_hint:
            continue
        after = tokens[index + 1] if index + 1 < count else None
        if after is not None:
            if after.kind is Kind.SYMBOL and after.text == "(":
                has_chance = has_chance or name in NON_DETERMINISTIC
                if not index or not tokens[index - 1].is_word("AS"):
                    continue
            elif kind is Kind.WORD and after.kind is Kind.STRING and name.upper() in _LITERAL_TYPES:
                continue
        if is_known and not (index and kind is Kind.WORD and _is_no_name(tokens, index, openers)):
            left[name] -= 1
    return has_chance


def _is_no_name(tokens: tuple[Token, ...], index: int, openers: list[str]) -> bool:
    before = tokens[index - 1]
    if before.kind is Kind.NUMBER or before.kind is Kind.STRING or (before.kind is Kind.SYMBOL and before.text == "::"):
        return True
    if before.kind is Kind.WORD:
        return before.is_word("AS") and bool(openers) and openers[-1] in _CASTS
    # EXTRACT(YEAR FROM d)
    return bool(openers) and openers[-1] == "EXTRACT" and before.text == "("
