"""What a name in an expression stands for. Spark's rules: the sources of its own block, then names of the select list, then
the blocks around it. Where a name may mean one of several, its value is made of all of them.
"""

from typing import Final

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.lineage_scope import CONSTANT, Beyond, Scope, Value, united

# Units of time stand where a column could.
_UNIT_LIST: Final = (
    "year years quarter month months week weeks day days dayofyear hour hours minute minutes second seconds millisecond "
    "milliseconds microsecond microseconds"
)
_UNITS: Final = frozenset(_UNIT_LIST.split())


def _around(scope: Scope) -> list[Scope]:
    found: list[Scope] = []
    one: Scope | None = scope
    while one is not None:
        found.append(one)
        one = one.parent
    return found


def parameter(node: exp.Identifier, scope: Scope) -> Value:
    """A bare name that the parser left: surely only a lambda's parameter, whose values come with the other arguments."""
    if any(fold(node.name) in one.parameters for one in _around(scope)):
        return CONSTANT
    raise Beyond


def column(node: exp.Expr, scope: Scope) -> Value:
    if not node.args.get("table"):
        return _named(fold(node.name), scope)
    assert isinstance(node, exp.Column)
    parts = node.parts
    head, second = fold(parts[0].name), fold(parts[1].name)
    for one in _around(scope):
        if head in one.parameters:
            return CONSTANT
        sources = one.named.get(head, [])
        found = [source.by_key[second] for source in sources if second in source.by_key]
        if found:
            return united(found) if len(parts) == 2 else united(found)._replace(number=None)
        if any(source.has_unnamed for source in sources):
            raise Beyond
        if any(head in source.by_key for source in one.sources) or head in one.aliases:
            return _named(head, one)._replace(number=None)
        if sources:
            raise Beyond
    raise Beyond


def _named(key: str, scope: Scope) -> Value:
    """A plain name. Where it may be one of several, it is all of them."""
    found: list[Value] = []
    for one in _around(scope):
        if key in one.parameters:
            return united([CONSTANT, *found])
        own = [source.by_key[key] for source in one.sources if key in source.by_key]
        found += own
        if key in one.aliases and (one.is_relaxed or not own):
            found.append(one.aliases[key])
        if own:
            break
        if not found and any(source.has_unnamed for source in one.sources):
            raise Beyond
    if found:
        return united(found)
    if key in _UNITS:
        return CONSTANT
    raise Beyond
