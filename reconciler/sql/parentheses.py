"""Parentheses that group nothing: removed where no reading of the text could depend on them.

Three cases, each safe by itself (X is what stands between the parentheses):
- doubled: `((X))` is `(X)`, when X has no comma of its own (a tuple) and is no query (`IN ((SELECT …))` is a scalar);
- one operand: `(x)` with one name, number or string between a comparison, AND, OR or SELECT and a place where an
  operand ends. Not after a word that may be a function or an alias (`FROM t WHERE (a)`), nor before a point or arrow;
- one condition: `(X)` as a whole operand of AND, OR, WHERE, HAVING, ON, WHEN, when X is longer than a name, has neither
  AND, OR, NOT, BETWEEN, CASE nor a comma of its own, and no BETWEEN stands before it that could own the AND.

Everything else keeps its parentheses, also many that a person would call redundant.
"""

from typing import Final

_QUERY_STARTS: Final = frozenset({"select", "with", "values", "from", "table", "map", "reduce"})
_ENDS: Final = frozenset(
    {"", ")", "and", "or", "group", "having", "order", "limit", "window", "union", "except", "intersect", "minus"}
    | {"where", "join", "inner", "left", "right", "full", "cross", "then", "qualify"}
)
_CONDITION_STARTS: Final = frozenset({"where", "having", "on", "and", "or", "when"})
_OPERAND_STARTS: Final = frozenset({"=", "==", "<=>", "<>", "!=", "<", ">", "<=", ">=", "and", "or", "select"})
_OPERAND_ENDS: Final = _ENDS | {"=", "==", "<=>", "<>", "!=", "<", ">", "<=", ">=", ",", "from", "as"}
_COMPOUND: Final = frozenset({"and", "or", "not", "!", "between", "case", ",", "->", "=>", "select", "with", "exists"})


def without_redundant(texts: list[str]) -> list[str]:
    """The tokens' texts (keywords in lower case) without such parentheses."""
    while True:
        pairs = _pairs(texts)
        if pairs is None:
            return texts
        drop = _redundant(texts, pairs)
        if not drop:
            return texts
        texts = [text for index, text in enumerate(texts) if index not in drop]


def _pairs(texts: list[str]) -> dict[int, int] | None:
    """Opening → closing index; None when they do not balance."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for index, text in enumerate(texts):
        if text == "(":
            stack.append(index)
        elif text == ")":
            if not stack:
                return None
            pairs[stack.pop()] = index
    return None if stack else pairs


def _own(texts: list[str], start: int, end: int, pairs: dict[int, int]) -> list[str]:
    """The texts from `start` up to `end` that stand in no further parentheses."""
    found: list[str] = []
    index = start
    while index < end:
        found.append(texts[index])
        index = pairs[index] if texts[index] == "(" else index + 1
    return found


def _redundant(texts: list[str], pairs: dict[int, int]) -> set[int]:
    drop: set[int] = set()
    for opening, closing in pairs.items():
        if opening in drop or closing - opening < 2:
            continue
        before = texts[opening - 1] if opening else ""
        after = texts[closing + 1] if closing + 1 < len(texts) else ""
        own = _own(texts, opening + 1, closing, pairs)
        if own[0] in _QUERY_STARTS or (opening > 1 and texts[opening - 2] == "."):
            continue
        if (
            _is_doubled(opening, closing, before, after, own)
            or _is_operand(opening, closing, before, after, texts)
            or _is_condition(texts, opening, before, after, own, pairs)
        ):
            drop |= {opening, closing}
    return drop


def _is_doubled(opening: int, closing: int, before: str, after: str, own: list[str]) -> bool:
    if before != "(" or after != ")" or "," in own or "->" in own or "=>" in own:
        return False
    # `((a) + (b))` opens and closes alike but is no pair: the outer one must be the next on both sides, which holds
    # here because `before` and `after` touch this pair, and a pair that touches both is enclosed by one pair.
    return closing > opening


def _is_operand(opening: int, closing: int, before: str, after: str, texts: list[str]) -> bool:
    if closing - opening != 2 or not _is_plain(texts[opening + 1]):
        return False
    return before in _OPERAND_STARTS and after in _OPERAND_ENDS


def _is_plain(text: str) -> bool:
    return text[0].isalnum() or text[0] in "_`'\"."


def _is_condition(texts: list[str], opening: int, before: str, after: str, own: list[str], pairs: dict[int, int]) -> bool:
    if before not in _CONDITION_STARTS or after not in _ENDS or len(own) < 2:
        return False
    if any(text in _COMPOUND for text in own):
        return False
    return before != "and" or not _between_before(texts, opening, pairs)


def _between_before(texts: list[str], opening: int, pairs: dict[int, int]) -> bool:
    """Whether a BETWEEN stands before `opening` within the same parentheses."""
    closings = {closing: start for start, closing in pairs.items()}
    index = opening - 1
    while index >= 0 and texts[index] != "(":
        if texts[index] == "between":
            return True
        index = closings[index] - 1 if texts[index] == ")" else index - 1
    return False
