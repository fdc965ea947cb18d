"""Which tokens are surely one whole expression, wherever they stand: read by a list of what is known, not by what is not.

Spark reserves no word, so a word of its grammar counts for nothing but what is listed here, and anything else makes the
answer no. Known are
- operands: a plain or quoted name, a number, a string, a noun of the grammar (`shapes.VALUES`), `DATE '…'` and the like, an
  INTERVAL with its units, CASE with its END, a call, and what stands in parentheses of its own; after one a field, an index,
  a cast to a simple type, FILTER (…) and OVER (…);
- between operands: comparisons, arithmetic, AND, OR, LIKE, BETWEEN with its AND, IS [NOT] DISTINCT FROM;
- after one: IN (…), IS [NOT] NULL, TRUE, FALSE or UNKNOWN; before one: a sign, NOT.

So no name, quantifier (`all - b`), lambda, star, alias, list, query or half a clause is ever taken for an expression.
"""

from enum import Enum
from typing import Final

from reconciler.sql.shapes import VALUES, is_plain
from reconciler.sql.words import spark_functions

_SIGNS: Final = frozenset({"+", "-", "~", "!", "not"})
_BETWEEN_OPERANDS: Final = frozenset(
    {"=", "==", "<=>", "<>", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "||", "&", "|", "^", "div"}
    | {"like", "ilike", "rlike", "regexp"}
)
_NEGATED: Final = frozenset({"in", "like", "ilike", "rlike", "regexp", "between"})
_AFTER_IS: Final = frozenset({"null", "true", "false", "unknown"})
_TYPED: Final = frozenset({"date", "timestamp", "timestamp_ltz", "timestamp_ntz", "x"})
_UNITS: Final = frozenset(
    {"year", "years", "month", "months", "week", "weeks", "day", "days", "hour", "hours", "minute", "minutes", "second"}
    | {"seconds", "millisecond", "milliseconds", "microsecond", "microseconds", "nanosecond", "nanoseconds"}
)
_TYPES: Final = frozenset(
    {
        "boolean",
        "tinyint",
        "byte",
        "smallint",
        "short",
        "int",
        "integer",
        "bigint",
        "long",
        "float",
        "real",
        "double",
        "date",
    }
    | {"timestamp", "timestamp_ltz", "timestamp_ntz", "string", "binary", "decimal", "dec", "numeric"}
)
_NO_FUNCTIONS: Final = frozenset(
    {"and", "or", "not", "in", "between", "like", "ilike", "rlike", "regexp", "is", "div", "case", "when", "all", "distinct"}
    | {"map", "reduce", "transform", "interval", "select", "values", "table"}
)


class Extent(Enum):
    """How much an expression is: what may stand beside it without another reading."""

    OPERAND = "one name, number or string"
    CONDITION = "more than that, but no AND, OR, NOT, BETWEEN or CASE"
    COMPOUND = "any expression"


def is_value(text: str) -> bool:
    """Whether a text is by itself a whole operand."""
    if text[0].isdigit() or text[0] in "`'\".":
        return len(text) > 1 or text[0].isdigit()
    return is_string(text) or text in VALUES or is_plain(text)


def is_string(text: str) -> bool:
    return text[-1:] in ("'", '"')


def is_number(text: str) -> bool:
    return text[:1].isdigit() or (text[:1] == "." and len(text) > 1)


def calls(text: str) -> bool:
    """Whether a text before a parenthesis calls a function and is nothing else, once an expression is due."""
    return text[0] == "`" or is_plain(text) or (text in spark_functions() and text not in _NO_FUNCTIONS)


def extent_of(texts: list[str], start: int, end: int, pairs: dict[int, int]) -> Extent | None:
    """What the texts from `start` up to `end` are; None when they are not surely one expression."""
    if end - start == 1:
        return Extent.OPERAND if is_value(texts[start]) else None
    reading = _Reading(texts, start, end, pairs)
    return reading.extent() if reading.is_whole() else None


class _Reading:
    """Goes once from left to right, over what stands in parentheses of its own."""

    def __init__(self, texts: list[str], start: int, end: int, pairs: dict[int, int]) -> None:
        self._texts = texts
        self._at = start
        self._end = end
        self._pairs = pairs
        # For the whole and for each open CASE: how many BETWEENs wait for their AND.
        self._betweens = [0]
        # Of each open CASE: the word that must come next, THEN after WHEN.
        self._due: list[str] = []
        self._is_compound = False

    def extent(self) -> Extent:
        return Extent.COMPOUND if self._is_compound else Extent.CONDITION

    def is_whole(self) -> bool:
        while self._operand():
            while self._ends_case() or self._is_judged():
                pass
            if self._at == self._end:
                return not self._due and self._betweens == [0]
            if not self._operator():
                return False
        return False

    def _text(self, distance: int = 0) -> str:
        index = self._at + distance
        return self._texts[index] if index < self._end else ""

    def _takes(self, *texts: str) -> bool:
        """Whether these come next; then they are read."""
        if any(self._text(distance) != text for distance, text in enumerate(texts)):
            return False
        self._at += len(texts)
        return True

    def _group(self) -> bool:
        if self._text() != "(":
            return False
        self._at = self._pairs[self._at] + 1
        return True

    def _operand(self) -> bool:
        """An operand with all that belongs to it, and the signs and the CASE before it."""
        while True:
            if self._text() in _SIGNS:
                self._is_compound |= self._text() in ("not", "!")
                self._at += 1
            elif self._takes("case"):
                self._is_compound = True
                self._betweens.append(0)
                self._due.append("then" if self._takes("when") else "when")
            else:
                break
        text = self._text()
        if not text:
            return False
        if self._group():
            return self._goes_down()
        if text == "interval":
            return self._interval()
        self._at += 1
        if self._text() == "(":
            return calls(text) and self._group() and self._suffixes() and self._goes_down()
        if text in _TYPED and is_string(self._text()):
            self._at += 1
            return self._goes_down()
        return is_value(text) and self._goes_down()

    def _suffixes(self) -> bool:
        """FILTER (…) and OVER (…) after a call."""
        return all(self._group() for word in ("filter", "over") if self._takes(word))

    def _interval(self) -> bool:
        start = self._at = self._at + 1
        while is_number(self._text()) or is_string(self._text()):
            if self._text(1) not in _UNITS:
                return False
            self._at += 2
        return self._at > start

    def _goes_down(self) -> bool:
        """Fields, indexes and casts right after an operand. False when a string follows, which makes it something else."""
        while True:
            if self._takes("."):
                if not _is_name(self._text()) or self._text(1) == "(":
                    return False
                self._at += 1
            elif self._takes("["):
                if not self._index():
                    return False
            elif self._takes("::"):
                if self._text() not in _TYPES:
                    return False
                self._at += 1
                self._group()
            else:
                return not is_string(self._text())

    def _index(self) -> bool:
        depth = 1
        while depth:
            text = self._text()
            if not text:
                return False
            depth += (text == "[") - (text == "]")
            self._at = self._pairs[self._at] + 1 if text == "(" else self._at + 1
        return True

    def _ends_case(self) -> bool:
        if not self._due or self._due[-1] not in ("else", "end") or self._betweens[-1] or not self._takes("end"):
            return False
        self._due.pop()
        self._betweens.pop()
        return self._goes_down()

    def _is_judged(self) -> bool:
        """IN (…) and IS NULL, after which an operand is complete again."""
        distance = 1 if self._text() == "not" else 0
        if self._text(distance) == "in" and self._text(distance + 1) == "(":
            self._is_compound |= distance > 0
            self._at += distance + 1
            return self._group()
        distance = 2 if self._text(1) == "not" else 1
        if self._text() != "is" or self._text(distance) not in _AFTER_IS:
            return False
        self._is_compound |= distance > 1
        self._at += distance + 1
        return True

    def _operator(self) -> bool:
        """What asks for another operand."""
        if self._takes("is", "not", "distinct", "from"):
            self._is_compound = True
            return True
        if self._takes("is", "distinct", "from"):
            return True
        if self._text() == "not" and self._text(1) in _NEGATED:
            self._is_compound = True
            self._at += 1
        word = self._text()
        self._at += 1
        if word == "between":
            self._is_compound = True
            self._betweens[-1] += 1
            return True
        if word == "and" and self._betweens[-1]:
            self._betweens[-1] -= 1
            return True
        if word in ("and", "or"):
            self._is_compound = True
            return True
        return word in _BETWEEN_OPERANDS or self._branches(word)

    def _branches(self, word: str) -> bool:
        """The words of the innermost CASE, each where it is due."""
        due = self._due[-1] if self._due and not self._betweens[-1] else ""
        if due == "then" and word == "then":
            self._due[-1] = "else"
        elif due in ("when", "else") and word == "when":
            self._due[-1] = "then"
        elif due == "else" and word == "else":
            self._due[-1] = "end"
        else:
            return False
        return True


def _is_name(text: str) -> bool:
    return text[:1].isalpha() or text[:1] in ("_", "`")
