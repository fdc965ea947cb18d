"""AS before an alias, where it was left out: `SELECT a x FROM t y` is `SELECT a AS x FROM t AS y`.

Spark's grammar: `namedExpression: expression (AS? name)?`, `tableAlias: (AS? strictIdentifier identifierList?)?`, the same
for the values of PIVOT and the columns of UNPIVOT. A name right after something that ends an operand can only be an alias,
when it is quoted or means nothing to Spark's grammar, and no string follows (`x '1F'` is a literal). So can a noun of the
grammar (`SELECT a value, b name`), when the item ends behind it, and it is no unit of an interval. Other words (`SELECT a
limit`) stay as written.

One clause gives a second name without a comma, LATERAL VIEW, and there `AS` itself is read as a name: `explode(a) AS c`
names the relation `as` and its column c, `explode(a) c` names the relation c. Queries with one are left as written, and
so are those with WINDOW, TRANSFORM, REDUCE, a pipe or a hint, where a name may follow for other reasons.
"""

from typing import Final

from reconciler.sql.rewrites.changes import Changes
from reconciler.sql.shapes import STRING, at, ends_operand, is_alias

_LEFT_ALONE: Final = frozenset({"view", "window", "transform", "reduce", "|>", "/*+"})

_NOUN_LIST: Final = (
    "comment date day hour key location minute month name quarter role second source target time timestamp type user value "
    "week year"
)
_NOUNS: Final = frozenset(_NOUN_LIST.split())
_UNITS: Final = frozenset({"year", "quarter", "month", "week", "day", "hour", "minute", "second"})
_ENDS: Final = frozenset({"", ",", ")", "from"})


def even_aliases(shapes: list[str], present: frozenset[str], changes: Changes) -> None:
    if not _LEFT_ALONE.isdisjoint(present):
        return
    aliases = {shape for shape in present if is_alias(shape)}
    nouns = _NOUNS - _UNITS if "interval" in present else _NOUNS
    for index, shape in enumerate(shapes):
        if shape in aliases:
            is_one = at(shapes, index + 1) != STRING
        else:
            is_one = shape in nouns and at(shapes, index + 1) in _ENDS
        if is_one and ends_operand(shapes, index - 1):
            changes.aliases.add(index)
