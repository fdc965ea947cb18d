"""Which words of a query are surely no names of columns, fields or keys, by their place.

Spark reserves no word: `offset`, `left`, `case` and `null` can be the field of a struct, the key of a map, the path in a
variant, a column in UNPIVOT, an alias with or without AS, the parameter of a lambda. Where names are data, their spelling is
meaning. So a word counts as a keyword only in a place where a name can't stand, or where its spelling reaches no row (as
that of a relation, a function, or a column that another name is given to right there). When unsure, it is a name.

Never: after a point, a colon or AS; as a field in STRUCT<…>. Else it is one

- as the first word of the query; right before `(`;
- before a name, a number, a string or a word that begins an operand: two names in a row are a column and its alias;
- after something that ends an operand, unless what follows may follow an alias, too: `a AND b`, but not `a Limit FROM t`;
- BY after GROUP, ORDER and the like; words before JOIN; what follows IS; the words of a CASE that has its END; a literal
  NULL, TRUE or FALSE after an operator, or as an argument.

So `SELECT` and `select` are one in all but odd places, and `struct(a Limit)` and `struct(a limit)` never are.
"""

from typing import Final

from reconciler.sql.shapes import NUMBER, STRING, VALUES, at, ends_operand, is_alias, is_word
from reconciler.sql.words import spark_functions, spark_words

_NAMED_BEFORE: Final = frozenset({".", ":", "::", "as", "<", "interval"})
_BY: Final = frozenset({"group", "order", "sort", "cluster", "distribute", "partition"})
_JOIN_LIST: Final = "inner left right full outer cross semi anti natural"
_JOINS: Final = frozenset(_JOIN_LIST.split())
# NATURAL LEFT OUTER
_MOST_JOIN_WORDS: Final = 3
# What may stand right after an alias, or after a column that ends an item, is no sign of a keyword before it.
_AFTER_ALIAS_LIST: Final = (
    "from where having window limit offset union except intersect minus lateral qualify for join on using pivot unpivot "
    "tablesample with as by rows range"
)
_AFTER_ALIAS: Final = (
    frozenset(_AFTER_ALIAS_LIST.split()) | _JOINS | {"", ",", ")", "]", ">", ":", ".", "->", "=>", "|>", "*/"}
)
_BEGINNING_LIST: Final = (
    "select case cast try_cast exists interval distinct all null true false values first last if unbounded current row "
    "preceding following"
)
_BEGINNING: Final = VALUES | frozenset(_BEGINNING_LIST.split()) | {NUMBER, STRING, "("}
_UNITS: Final = frozenset({"years", "months", "weeks", "days", "hours", "minutes", "seconds"})
_LITERALS: Final = frozenset({"null", "true", "false"})
_AFTER_IS: Final = _LITERALS | {"distinct", "unknown"}
_OPERATORS: Final = frozenset({"=", "==", "<>", "!=", "<=", ">=", "<=>", "+", "-", "/", "%", "||", "&", "|", "^"})
_OPERATOR_WORDS: Final = frozenset({"and", "or", "then", "else", "when", "between", "like"})
_NO_OPERAND: Final = frozenset({".", "->", "=>", ":", "(", "["})


def sure_keywords(shapes: list[str]) -> set[int]:
    """The indexes of words that are surely no names whose spelling could reach a row. See the module."""
    found: set[int] = set()
    present = frozenset(shapes)
    has_fields = "<" in present and "struct" in present
    words = spark_words()
    openings: list[int] = []
    for index, shape in enumerate(shapes):
        if shape == "(":
            openings.append(index)
        elif shape == ")" and openings:
            openings.pop()
        if shape not in words:
            continue
        before = at(shapes, index - 1)
        if index and (before in _NAMED_BEFORE or (before == "," and has_fields)):
            continue
        is_literal = shape in _LITERALS and _is_literal(shapes, index, openings, present)
        if index == 0 or is_literal or _is_keyword(shapes, index):
            found.add(index)
    if "case" in present:
        _add_cases(shapes, found)
    return found


def _is_keyword(shapes: list[str], index: int) -> bool:
    shape, after = shapes[index], at(shapes, index + 1)
    if after in _BEGINNING or (after and is_alias(after)):
        return True
    if _ends_operand(shapes, index - 1) and not _may_follow_alias(shapes, index + 1):
        return True
    if after == "by" and shape in _BY:
        # Else it is a column that is called `by` right here.
        return True
    if shape == "by":
        return at(shapes, index - 1) in _BY and after not in _AFTER_ALIAS
    if shape == "join" or shape in _JOINS:
        return _joins(shapes, index)
    return shape in _AFTER_IS and _is_judged(shapes, index)


def _joins(shapes: list[str], index: int) -> bool:
    """Whether these are the words of a join: JOIN after an operand and such a word, and a relation after it."""
    first = last = index
    while at(shapes, first - 1) in _JOINS and index - first < _MOST_JOIN_WORDS:
        first -= 1
    while at(shapes, last) in _JOINS and last - index < _MOST_JOIN_WORDS:
        last += 1
    is_join = first < last and at(shapes, last) == "join" and not _may_follow_alias(shapes, last + 1)
    return is_join and _ends_operand(shapes, first - 1)


def _is_judged(shapes: list[str], index: int) -> bool:
    """Whether IS or IS NOT stands before, and what it judges before that."""
    verb = index - 2 if at(shapes, index - 1) == "not" else index - 1
    return at(shapes, verb) == "is" and _ends_operand(shapes, verb - 1)


def _is_literal(shapes: list[str], index: int, openings: list[int], present: frozenset[str]) -> bool:
    """Whether NULL, TRUE or FALSE surely is the value: an operand is due here, and it is a whole one."""
    before = at(shapes, index - 1)
    if at(shapes, index + 1) in _NO_OPERAND:
        return False
    if before in _OPERATORS or index == 1 or (index == 2 and before == "all"):
        return True
    if before in _OPERATOR_WORDS:
        return _ends_operand(shapes, index - 2)
    if before not in ("(", ",") or at(shapes, index + 1) not in (",", ")") or not openings:
        return False
    called, start = at(shapes, openings[-1] - 1), at(shapes, openings[-1] - 2)
    if called == "in":
        # Not in a PIVOT or UNPIVOT, where names stand in such a list.
        return present.isdisjoint({"pivot", "unpivot"})
    # Before a name in a FROM list or in WITH no operand is due: what follows it is a list of names.
    is_due = start in _OPERATORS or start in ("(", "select") or (start == "," and "with" not in present)
    return called in spark_functions() and is_due


def _add_cases(shapes: list[str], found: set[int]) -> None:
    """The words of each CASE that has its END: as many as there are of these between two commas of one level."""
    levels: list[tuple[list[int], list[int], list[int]]] = [([], [], [])]
    for index, shape in enumerate([*shapes, ""]):
        if shape == "(":
            levels.append(([], [], []))
        elif shape in (",", ")", ""):
            cases, ends, parts = levels.pop()
            if cases and len(cases) == len(ends):
                found.update(cases, ends, parts)
            if shape != ")" or not levels:
                levels.append(([], [], []))
        elif shape in ("case", "when", "then", "else", "end") and at(shapes, index - 1) not in _NAMED_BEFORE:
            ended = _ends_operand(shapes, index - 1)
            if shape == "case":
                if not ended:
                    levels[-1][0].append(index)
            elif ended and shape == "end":
                levels[-1][1].append(index)
            elif ended and len(levels[-1][0]) > len(levels[-1][1]):
                # Behind the END it is an alias: `CASE … END else`.
                levels[-1][2].append(index)
            elif shape == "when" and at(shapes, index - 1) == "case":
                levels[-1][2].append(index)


def _ends_operand(shapes: list[str], index: int) -> bool:
    """As in `shapes`, and after a `*` for columns, a type behind `::` and the unit of an interval."""
    if index < 0:
        return False
    shape, before = shapes[index], at(shapes, index - 1)
    if shape == "*":
        return before in ("select", "distinct", "all", ",", ".", "(")
    if is_word(shape) and (before == "::" or (shape in _UNITS and before in (NUMBER, STRING))):
        return True
    return ends_operand(shapes, index)


def _may_follow_alias(shapes: list[str], index: int) -> bool:
    shape = at(shapes, index)
    return shape in _AFTER_ALIAS or (shape in _BY and at(shapes, index + 1) == "by")
