"""Parentheses that group nothing: removed where no reading of the text could depend on them.

Each case is safe by itself (X is what stands between the parentheses):
- doubled: `((X))` is `(X)`, when X has no comma of its own (a tuple) and is no query (`IN ((SELECT …))` is a scalar);
- one operand: `(x)` with one name, number or string between a comparison, AND, OR, NOT or SELECT and a place where an
  operand ends. Not after a word that may be an alias (`FROM t WHERE (a)`), nor before a point or arrow;
  x is no word of Spark's grammar, except values: `SELECT (all)` is a column, `SELECT all` is not;
- one condition: `(X)` as a whole operand of AND, OR, WHERE, HAVING, ON, WHEN, when X is longer than a name, has neither
  AND, OR, NOT, BETWEEN, CASE nor a comma of its own, and no BETWEEN stands before it that could own the AND;
- a whole condition: `(X)` is all that WHERE, HAVING, ON or WHEN asks for. Then X may hold AND, OR, NOT and the like, too;
- an item of a select list, `(x)` or `(X)`, up to the comma, AS or FROM that ends it;
- one column to group by: `GROUP BY (x), (y)`, x as above but no number. An operand must end before GROUP: `FROM group by
  (x)` names a relation and its column.

AND, OR, WHERE, HAVING, ON and WHEN count when an operand ends before them, or CASE stands there: each can be a name, too.
Everything else keeps its parentheses, also many that a person would call redundant.
"""

from typing import Final

from reconciler.sql.shapes import VALUES, is_plain

_QUERY_STARTS: Final = frozenset({"select", "with", "values", "from", "table", "map", "reduce"})
_ENDS: Final = frozenset(
    {"", ")", "and", "or", "group", "having", "order", "limit", "window", "union", "except", "intersect", "minus"}
    | {"where", "join", "inner", "left", "right", "full", "cross", "semi", "anti", "then", "qualify"}
)
# Where a condition ends, and no operator goes on with it.
_WHOLE_ENDS: Final = _ENDS - {"and", "or"}
_ITEM_ENDS: Final = frozenset({",", "from", "as"})
_GROUPING_ENDS: Final = frozenset({"", ")", ",", "having", "order", "limit", "union", "except", "intersect", "qualify"})
_ASKING: Final = frozenset({"where", "having", "on", "when"})
_CONDITION_STARTS: Final = _ASKING | {"and", "or"}
_COMPARISONS: Final = frozenset({"=", "==", "<=>", "<>", "!=", "<", ">", "<=", ">="})
_OPERAND_STARTS: Final = _COMPARISONS | {"and", "or", "not", "select"}
_OPERAND_ENDS: Final = _ENDS | _COMPARISONS | {",", "from", "as"}
_STARTS: Final = _CONDITION_STARTS | _OPERAND_STARTS | {"(", "by", ","}
# What stands in no condition, or makes it more than one; the words of clauses, so that what is no query stays none.
_NO_EXPRESSION: Final = frozenset({",", "->", "=>", "select", "with", "as"})
_COMPOUND: Final = frozenset(
    {"and", "or", "not", "!", "between", "case", ",", "->", "=>", "select", "with", "exists", "as", "when", "then", "else"}
    | {"end", "where", "group", "having", "order", "sort", "limit", "offset", "window", "qualify", "lateral", "join", "on"}
    | {"union", "except", "intersect", "minus", "cluster", "distribute", "using"}
)
_LIST_ENDS: Final = frozenset(
    {"from", "where", "having", "order", "sort", "cluster", "distribute", "window", "qualify", "limit", "offset", "union"}
    | {"except", "intersect", "minus", "lateral", "grouping", "with", "|>", "values", "pivot", "unpivot"}
)
_BEFORE_A_QUERY: Final = frozenset({"", "(", ")", "union", "except", "intersect", "minus", "all", "distinct"})


def without_redundant(texts: list[str]) -> list[str]:
    """The tokens' texts without such parentheses. A word counts as it reads in lower case, however it is spelled."""
    keys = [text.lower() if text[0].isalpha() and text[-1] not in "'\"" else text for text in texts]
    while True:
        pairs = _pairs(keys)
        if not pairs:
            return texts
        drop = _redundant(keys, pairs)
        if not drop:
            return texts
        texts = [text for index, text in enumerate(texts) if index not in drop]
        keys = [key for index, key in enumerate(keys) if index not in drop]


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


def _at(texts: list[str], index: int) -> str:
    return texts[index] if 0 <= index < len(texts) else ""


def _redundant(texts: list[str], pairs: dict[int, int]) -> set[int]:
    drop: set[int] = set()
    lists, after_between = _lists(texts), _after_between(texts)
    for opening, closing in pairs.items():
        before = texts[opening - 1] if opening else ""
        if before not in _STARTS or opening in drop or closing - opening < 2:
            continue
        if texts[opening + 1] in _QUERY_STARTS or not _is_keyword(texts, opening - 1):
            continue
        after = _at(texts, closing + 1)
        if (
            (closing - opening == 2 and _is_operand(texts, opening, before, after, lists))
            or (before == "(" and after == ")" and _is_doubled(_own(texts, opening + 1, closing, pairs)))
            or (before in _CONDITION_STARTS and after in _ENDS and _is_condition(texts, opening, pairs, after_between))
            or (before in _ASKING and after in _WHOLE_ENDS and _is_expression(texts, opening, pairs))
            or (lists.get(opening - 1) == "select" and after in _ITEM_ENDS and _is_expression(texts, opening, pairs))
        ):
            drop |= {opening, closing}
    return drop


def _is_doubled(own: list[str]) -> bool:
    # `((a) + (b))` opens and closes alike but is no pair. Here this pair's neighbours are parentheses on both sides, and
    # a pair that touches one on both sides is enclosed by one pair.
    return "," not in own and "->" not in own and "=>" not in own


def _is_operand(texts: list[str], opening: int, before: str, after: str, lists: dict[int, str]) -> bool:
    if not _is_value(texts[opening + 1]):
        return False
    if before in ("by", ","):
        if lists.get(opening - 1) == "group":
            return after in _GROUPING_ENDS and not _is_literal(texts[opening + 1])
        return lists.get(opening - 1) == "select" and after in _ITEM_ENDS
    if before == "not":
        # Where NOT can be no name: `FROM t not (a)` is a relation's alias with its column.
        is_due = lists.get(opening - 2) == "select" or (
            _at(texts, opening - 2) in _CONDITION_STARTS and _is_keyword(texts, opening - 2)
        )
        return is_due and after in _ENDS | _ITEM_ENDS
    return before in _OPERAND_STARTS and after in _OPERAND_ENDS


def _lists(texts: list[str]) -> dict[int, str]:
    """Each word or comma after which an item of a SELECT or GROUP BY list begins, and which of both."""
    found: dict[int, str] = {}
    levels = [""]
    for index, text in enumerate(texts):
        if text == "(":
            levels.append("")
        elif text == ")" and len(levels) > 1:
            levels.pop()
        elif text == "select" and _is_keyword(texts, index):
            levels[-1] = found[index] = "select"
        elif text == "by" and _at(texts, index - 1) == "group" and _ends_operand(texts, index - 2):
            levels[-1] = found[index] = "group"
        elif text == "," and levels[-1]:
            found[index] = levels[-1]
        elif text in _LIST_ENDS and _at(texts, index - 1) != ".":
            levels[-1] = ""
    return found


def _is_literal(text: str) -> bool:
    return text[0].isdigit() or text[0] in "'\"."


def _is_value(text: str) -> bool:
    """Whether a text is by itself a whole operand."""
    if text[0].isdigit() or text[0] in "`'\".":
        return len(text) > 1 or text[0].isdigit()
    return text.lower() in VALUES or is_plain(text.lower())


def _ends_operand(texts: list[str], index: int) -> bool:
    """As in `shapes`."""
    text = _at(texts, index)
    if not text:
        return False
    return text in (")", "]", "end") or _is_value(text) or (_at(texts, index - 1) == "." and text[0].isalpha())


def _is_keyword(texts: list[str], index: int) -> bool:
    """Whether the word at `index`, one of those before which parentheses may be redundant, is no name of a thing.

    Spark reserves no word: `abs(and(a))` calls `and`, `FROM t WHERE having (a = b)` calls `having`.
    """
    word = texts[index]
    if word == "select":
        return _at(texts, index - 1) in _BEFORE_A_QUERY
    if word == "when" and _at(texts, index - 1) == "case":
        return True
    return word not in _CONDITION_STARTS or _ends_operand(texts, index - 1)


def _is_condition(texts: list[str], opening: int, pairs: dict[int, int], after_between: set[int]) -> bool:
    own = _own(texts, opening + 1, pairs[opening], pairs)
    if len(own) < 2 or any(text in _COMPOUND for text in own):
        return False
    return opening - 1 not in after_between


def _is_expression(texts: list[str], opening: int, pairs: dict[int, int]) -> bool:
    """Whether one expression of several tokens stands in the parentheses: no list, no lambda, no `*` for columns."""
    own = _own(texts, opening + 1, pairs[opening], pairs)
    return len(own) > 1 and own[-1] != "*" and _NO_EXPRESSION.isdisjoint(own)


def _after_between(texts: list[str]) -> set[int]:
    """The indexes of AND before which a BETWEEN stands within the same parentheses."""
    found: set[int] = set()
    levels = [False]
    for index, text in enumerate(texts):
        if text == "(":
            levels.append(False)
        elif text == ")" and len(levels) > 1:
            levels.pop()
        elif text == "between":
            levels[-1] = True
        elif text == "and" and levels[-1]:
            found.add(index)
    return found
