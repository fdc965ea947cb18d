"""Parentheses that group nothing: removed where no reading of the text could depend on them.

A pair goes only when all is known: what stands in it is surely one expression (`expression_texts` has the list), it begins
where an expression surely begins, and what follows surely ends it. Everything else keeps its parentheses, also many that a
person would call redundant. Each case is safe by itself (X is what stands between the parentheses):

- one operand: `(x)` with one name, number or string between a comparison, AND, OR, NOT or SELECT and a place where an
  operand ends. Not after a word that may be an alias (`FROM t WHERE (a)`), nor before a point or arrow;
  x is no word of Spark's grammar, except values: `SELECT (all)` is a column, `SELECT all` is not;
- one condition: `(X)` as a whole operand of AND, OR, WHERE, HAVING, ON, WHEN, when X is longer than a name, has neither
  AND, OR, NOT, BETWEEN nor CASE of its own, and no BETWEEN stands before it that could own the AND;
- a whole condition: `(X)` is all that WHERE, HAVING, ON or WHEN asks for. Then X may hold AND, OR, NOT and the like, too;
- an item of a select list, `(x)` or `(X)`, up to the comma, AS or FROM that ends it;
- one column to group by: `GROUP BY (x), (y)`, x as above but no number. An operand must end before GROUP: `FROM group by
  (x)` names a relation and its column;
- doubled: `((X))` is `(X)` where the outer pair is known to hold an expression (`_begins_group`): where an operand begins,
  around the arguments of a call, after IN. Not elsewhere: `ROLLUP (((a)))`, `UNPIVOT (v FOR n IN ((a)))` and `VALUES ((a))`
  have pairs that are part of the grammar. Nor when X is a query or a tuple, however deep: `IN ((SELECT …))` compares with a
  scalar, and what is in `(((q1) UNION (q2)))` is one, too. `WHERE ((p))` is no `WHERE (p)`, which may be an alias; nor is
  `WHERE (p - q)` the condition that it looks like, or `SELECT 1 WHERE - p`.

AND, OR, WHERE, HAVING, ON and WHEN count when an operand ends before them, or CASE stands there: each can be a name, too.
A query with types in angle brackets keeps what stands beside those; the columns of UNPIVOT look like operands of IN.
"""

from typing import Final

from reconciler.sql.expression_texts import Extent, calls, extent_of, is_number, is_string, is_value
from reconciler.sql.shapes import is_plain
from reconciler.sql.words import spark_functions

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
# After these only an operand can come.
_ARITHMETIC: Final = frozenset({"+", "-", "/", "%", "||"})
_ANGLES: Final = frozenset({"<", ">", "<>"})
_TYPES_WITH_ANGLES: Final = frozenset({"array", "map", "struct"})
_LIST_ENDS: Final = frozenset(
    {"from", "where", "having", "order", "sort", "cluster", "distribute", "window", "qualify", "limit", "offset", "union"}
    | {"except", "intersect", "minus", "lateral", "grouping", "with", "|>", "values", "pivot", "unpivot", "/*+", "using"}
)
_BEFORE_A_QUERY: Final = frozenset({"", "(", ")", "union", "except", "intersect", "minus", "all", "distinct"})
# What may stand before a query in parentheses, although it names a function, too.
_ASKING_FOR_A_QUERY: Final = frozenset(
    {"in", "exists", "any", "some", "and", "or", "not", "when", "case", "between", "like"}
)


def without_redundant(texts: list[str]) -> list[str]:
    """The tokens' texts without such parentheses. A word counts as it reads in lower case, however it is spelled."""
    keys = [text.lower() if text[0].isalpha() and text[-1] not in "'\"" else text for text in texts]
    while True:
        pairs = _pairs(keys)
        if not pairs:
            return texts
        drop = _Query(keys, pairs).redundant()
        if not drop:
            return texts
        texts = [text for index, text in enumerate(texts) if index not in drop]
        keys = [key for index, key in enumerate(keys) if index not in drop]


def _pairs(texts: list[str]) -> dict[int, int] | None:
    """Opening → closing index, inner pairs first; None when they do not balance."""
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


class _Query:
    """The tokens of one query, and what is known of each place."""

    def __init__(self, texts: list[str], pairs: dict[int, int]) -> None:
        self._texts = texts
        self._pairs = pairs
        self._comparisons = _COMPARISONS - _ANGLES if _has_angles(texts) else _COMPARISONS
        self._lists: dict[int, str] = {}
        """Each word or comma after which an item of a SELECT or GROUP BY list begins, and which of both."""
        self._groups: set[int] = set()
        """Each parenthesis within which an expression surely begins: see `_begins_group`."""
        self._arguments: set[int] = set()
        """Each comma after which an argument of a call, or an operand of IN, begins."""
        self._after_between = _after_between(texts)
        self._turns_columns = "unpivot" in texts or "pivot" in texts
        self._note_places()

    def redundant(self) -> set[int]:
        drop: set[int] = set()
        extents: dict[int, tuple[int, Extent | None]] = {}
        for opening, closing in self._pairs.items():
            inner = opening + 1
            if self._text(inner) == "(" and self._pairs[inner] == closing - 1:
                # A pair around a pair is what the innermost of them is.
                extents[opening] = extents[inner]
            else:
                extents[opening] = (inner, extent_of(self._texts, inner, closing, self._pairs))
            content, extent = extents[opening]
            if extent is not None and self._is_redundant(opening, content, extent):
                drop |= {opening, closing}
        return drop

    def _text(self, index: int) -> str:
        return self._texts[index] if 0 <= index < len(self._texts) else ""

    def _is_redundant(self, opening: int, content: int, extent: Extent) -> bool:
        before, after = self._text(opening - 1), self._text(self._pairs[opening] + 1)
        if before == "(":
            outer = opening - 1
            return after == ")" and self._pairs[outer] == self._pairs[opening] + 1 and self._is_doubled(outer, content)
        if not self._is_keyword(opening - 1):
            return False
        if extent is Extent.OPERAND:
            return self._is_operand(opening, content, before, after)
        if before in _ASKING and self._may_be_alias(content):
            return False
        if before in _CONDITION_STARTS and self._text(content) == "-":
            # Spark takes `SELECT 1 WHERE - a` for an alias ill spelled, `where-a`.
            return False
        if self._lists.get(opening - 1) == "select" and after in _ITEM_ENDS:
            return True
        if before in _ASKING and after in _WHOLE_ENDS:
            return True
        is_condition = extent is Extent.CONDITION and opening - 1 not in self._after_between
        return is_condition and before in _CONDITION_STARTS and after in _ENDS

    def _is_doubled(self, outer: int, content: int) -> bool:
        if outer not in self._groups or self._text(self._pairs[outer] + 1) == "->":
            return False
        return self._text(outer - 1) not in _ASKING or not self._may_be_alias(content)

    def _may_be_alias(self, content: int) -> bool:
        """Whether it may be the column of a relation's alias, `t WHERE (a)`: Spark takes `(a - b)` for one ill spelled."""
        texts = self._texts[content : self._pairs[content - 1]]
        return all(map(_may_name, texts[::2])) and set(texts[1::2]) <= {"-"}

    def _is_operand(self, opening: int, content: int, before: str, after: str) -> bool:
        text = self._text(content)
        if before in ("by", ","):
            if self._lists.get(opening - 1) == "group":
                return after in _GROUPING_ENDS and not is_number(text) and not is_string(text)
            return self._lists.get(opening - 1) == "select" and after in _ITEM_ENDS
        if before == "not":
            # Where NOT can be no name: `FROM t not (a)` is a relation's alias with its column.
            is_due = self._lists.get(opening - 2) == "select" or (
                self._text(opening - 2) in _CONDITION_STARTS and self._is_keyword(opening - 2)
            )
            return is_due and after in _ENDS | _ITEM_ENDS
        if before in _ANGLES and before not in self._comparisons:
            return False
        return before in _OPERAND_STARTS and after in _OPERAND_ENDS

    def _note_places(self) -> None:
        levels = [""]
        openings = [-1]
        for index, text in enumerate(self._texts):
            if text == "(":
                if self._begins_group(index):
                    self._groups.add(index)
                levels.append("")
                openings.append(index)
            elif text == ")":
                levels.pop()
                openings.pop()
            elif text == "select" and self._is_keyword(index):
                levels[-1] = self._lists[index] = "select"
            elif text == "by" and self._text(index - 1) == "group" and self._ends_operand(index - 2):
                levels[-1] = self._lists[index] = "group"
            elif text == "," and levels[-1]:
                self._lists[index] = levels[-1]
            elif text == "," and openings[-1] in self._groups:
                self._arguments.add(index)
            elif text in _LIST_ENDS and self._text(index - 1) != ".":
                levels[-1] = ""

    def _begins_group(self, index: int) -> bool:
        """Whether a pair that opens here is an operand, holds the arguments of a call, or what IN compares with."""
        if self._begins_operand(index):
            return True
        before = self._text(index - 1)
        if before == "in":
            due = index - 3 if self._text(index - 2) == "not" else index - 2
            return self._ends_operand(due) and not self._turns_columns
        return before != "" and calls(before) and self._begins_operand(index - 1)

    def _begins_operand(self, index: int) -> bool:
        """Whether an operand surely begins at this place."""
        before = self._text(index - 1)
        if before == "(":
            return index - 1 in self._groups
        if before in ("and", "or", "then", "else"):
            return self._ends_operand(index - 2)
        if before in _ASKING:
            return self._is_keyword(index - 1)
        place = index - 1
        return before in self._comparisons or before in _ARITHMETIC or place in self._lists or place in self._arguments

    def _ends_operand(self, index: int) -> bool:
        """As in `shapes`."""
        text = self._text(index)
        if not text:
            return False
        return text in (")", "]", "end") or is_value(text) or (self._text(index - 1) == "." and text[0].isalpha())

    def _is_keyword(self, index: int) -> bool:
        """Whether the word at `index`, one of those before which parentheses may be redundant, is no name of a thing.

        Spark reserves no word: `abs(and(a))` calls `and`, `FROM t WHERE having (a = b)` calls `having`.
        """
        word = self._text(index)
        if word == "select":
            return self._begins_query(index)
        if word == "when" and self._text(index - 1) == "case":
            return True
        return word not in _CONDITION_STARTS or self._ends_operand(index - 1)

    def _begins_query(self, index: int) -> bool:
        before = self._text(index - 1)
        if before not in _BEFORE_A_QUERY:
            return False
        # `abs(select(a))` calls `select`.
        called = self._text(index - 2) if before == "(" else ""
        is_called = called[:1] == "`" or (
            called != "" and (is_plain(called) or (called in spark_functions() and called not in _ASKING_FOR_A_QUERY))
        )
        return not is_called and self._text(index + 1) not in ("", ",", ")", ".", "]")


def _has_angles(texts: list[str]) -> bool:
    """Whether types such as `array<int>` are named, whose brackets read like comparisons."""
    return any(
        text in _TYPES_WITH_ANGLES and index + 1 < len(texts) and texts[index + 1][0] == "<"
        for index, text in enumerate(texts)
    )


def _may_name(text: str) -> bool:
    return text[0].isalpha() or text[0] in '_`"'


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
