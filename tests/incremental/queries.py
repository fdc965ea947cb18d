"""Queries with an aggregate, and what happens to the tables that they read: NULLs, duplicates, empty groups, deletes, keys
that change, rows that come and go in the same step.

`t` has (k, g, v, w): small integers, a text and a decimal; `u` has (k, g, f). Both are multisets.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import count
from random import Random
from typing import Any, Final, TypeAlias

from reconciler.incremental.kept_aggregate import kept_aggregate
from reconciler.incremental.model import ChangedGroups, KeptAggregate, LinearRows
from reconciler.sql.aggregate_blocks import aggregate_block
from reconciler.sql.block_model import AggregateBlock, GroupedQuery, NotKept
from reconciler.sql.grouped_blocks import grouped_blocks
from reconciler.sql.inlined import without_names
from reconciler.sql.linear_blocks import linear_blocks
from reconciler.sql.surroundings import USUAL
from reconciler.sql.written_keys import with_written_keys

Row: TypeAlias = tuple[Any, ...]
Tables: TypeAlias = Mapping[str, Sequence[Row]]

COLUMNS: Final[Mapping[str, Mapping[str, str | None]]] = {
    "t": {"k": "INT", "g": "STRING", "v": "INT", "w": "DECIMAL(10,2)"},
    "u": {"k": "INT", "g": "STRING", "f": "INT"},
}

_FROM: Final = (
    ("t", ("t",)),
    ("t AS a", ("a",)),
    ("t JOIN u ON t.k = u.k", ("t", "u")),
    ("t, u", ("t", "u")),
    ("u CROSS JOIN t", ("t", "u")),
    ("t JOIN u ON t.k <=> u.k AND t.v > u.f", ("t", "u")),
    ("t LEFT JOIN u ON t.k = u.k", ("t", "u")),
    ("u RIGHT JOIN t ON t.k = u.k", ("t", "u")),
    ("t a JOIN t b ON a.k = b.k", ("a", "b")),
    ("t a JOIN u ON a.k = u.k JOIN t b ON b.g = u.g", ("a", "b", "u")),
    ("t JOIN u USING (k)", ("t", "u")),
    ("t a CROSS JOIN t b LEFT JOIN u ON u.k = a.k AND u.k = b.k", ("a", "b", "u")),
    ("t a LEFT JOIN u ON a.k = u.k AND a.k = a.v JOIN t b ON b.k = a.v", ("a", "b")),
    ("u RIGHT JOIN t a ON u.k = a.k JOIN t b ON a.k = b.v AND b.k = a.k", ("a", "b", "u")),
    ("t a JOIN u ON a.k = u.k LEFT JOIN t b ON b.k = u.k AND b.v = a.v", ("a", "b", "u")),
    ("(SELECT t.k, t.g, t.v{w} FROM t JOIN u ON t.k = u.k WHERE u.f > 0) AS a", ("a",)),
    ("(SELECT t.k % 2 AS k, g, v{w} FROM t WHERE v > 0) a JOIN u ON a.k = u.k", ("a", "u")),
    (
        "(SELECT t.k, t.g, t.v{w} FROM (SELECT k + 1 AS k, g, v{w} FROM t) t, u WHERE t.g = u.g) AS a JOIN t ON a.k = t.k",
        ("a", "t"),
    ),
    ("t LEFT JOIN (SELECT k, f FROM u) AS u ON t.k = u.k", ("t", "u")),
    # Equalities between two columns of the side that stays.
    ("u RIGHT JOIN (SELECT t.k, t.g, y.v{w} FROM t CROSS JOIN t AS y) AS a ON a.k = a.v AND u.k = a.k", ("a", "u")),
    (
        "t b RIGHT JOIN (SELECT t.k, t.g, u.f AS v{w} FROM t LEFT JOIN u ON t.g = u.g) AS a ON a.k = a.v AND b.k = a.k",
        ("a", "b"),
    ),
    ("named AS a JOIN t ON a.k = t.k", ("a", "t")),
)


def _nested_by(chance: Random, w: str = "", has_right_joins: bool = True) -> tuple[str, tuple[str, ...]]:
    """A FROM of SELECTs in FROM, joined in any way, some of which hand on columns as they are; and its aliases, which all
    have k, g and v. `w` is what their select lists end with."""
    counter = count()
    joins = ("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "CROSS JOIN", *(("RIGHT JOIN",) if has_right_joins else ()))

    def item(depth: int) -> tuple[str, str]:
        name = f"q{next(counter)}"
        if depth == 0 or chance.random() < 0.3:
            table = "(SELECT k, g, f AS v FROM u)" if not w and chance.random() < 0.4 else "t"
            return f"{table} AS {name}", name
        text, names = joined(depth - 1, chance.choice((0, 1, 1)))
        one, other = chance.choice(names), chance.choice(names)
        key = chance.choice((f"{one}.k", f"{one}.k", f"{other}.v", f"{one}.k + 1"))
        where = chance.choice(("", f" WHERE {other}.v > 0", f" WHERE {one}.g IS NOT NULL", f" WHERE {one}.k = {other}.k"))
        if chance.random() < 0.25:
            # Deeper ones would be too deep for SQLite's parser.
            where = chance.choice(_SUBQUERIES if depth == 2 else _SHORT_SUBQUERIES).format(t=other)
        last = w.replace("t.", f"{one}.")
        return f"(SELECT {key} AS k, {one}.g, {other}.v{last} FROM {text}{where}) AS {name}", name

    def joined(depth: int, more: int) -> tuple[str, tuple[str, ...]]:
        text, *names = item(depth)
        for _ in range(more):
            other, name = item(depth)
            kind, left = chance.choice(joins), chance.choice(names)
            on = chance.choice(
                (
                    f"{left}.k = {name}.k",
                    f"{name}.k = {left}.k AND {left}.v >= {name}.v",
                    f"{left}.v = {name}.k",
                    f"{name}.k = {name}.v AND {left}.k = {name}.k",
                    f"{left}.k = {name}.k AND {name}.v > 1",
                    f"{left}.k = {name}.k AND {left}.v IN (0, 1)",
                    f"{left}.k = {name}.k AND {left}.v = {name}.v AND 'x' = {name}.g",
                )
            )
            text = f"{text} {kind} {other}{'' if kind == 'CROSS JOIN' else f' ON {on}'}"
            names.append(name)
        return text, tuple(names)

    return joined(2, chance.choice((0, 1, 1, 2)))


_NAMED: Final = "WITH named AS (SELECT t.k, t.g, t.v{w} FROM t JOIN u ON t.k = u.k WHERE u.f > 0) "
_AGGREGATES: Final = (
    "COUNT(*)",
    "COUNT({t}.v)",
    "COUNT({t}.v, {t}.g)",
    "SUM({t}.v)",
    "AVG({t}.v)",
    "SUM({t}.v * 2 - 1)",
    "SUM({t}.v) FILTER (WHERE {t}.k > 1)",
    "COUNT(*) FILTER (WHERE {t}.g = 'x')",
    "SUM(CASE WHEN {t}.g IS NULL THEN {t}.v ELSE 0 END)",
    "SUM({t}.v) + COUNT(*)",
    "SUM({t}.v) / NULLIF(COUNT({t}.v), 0)",
    "MIN({t}.v)",
    "MAX({t}.g)",
    "MAX({t}.v) - MIN({t}.k)",
    "MAX({t}.v) FILTER (WHERE {t}.k > 1)",
)
_DISTINCT: Final = ("COUNT(DISTINCT {t}.g)", "COUNT(DISTINCT {t}.v) * 2", "COUNT(DISTINCT coalesce({t}.k, 7))")
_OF_DECIMALS: Final = (
    "SUM({t}.w)",
    "AVG({t}.w)",
    "AVG({t}.w * ({t}.w - 1) * (1 + {t}.w))",
    "SUM({t}.w * {t}.v)",
    "AVG({t}.w) FILTER (WHERE {t}.v > 0)",
    "AVG(CAST({t}.w AS DECIMAL(12,1)))",
    "SUM({t}.w) / COUNT(*)",
    "AVG(CAST({t}.w AS DECIMAL(38,4)))",
    "MIN({t}.w)",
    "bool_and({t}.v > 0)",
    "max(struct({t}.w, {t}.g))",
)
_KEYS: Final = ("{t}.g", "{t}.k", "{t}.k % 2", "coalesce({t}.g, 'none')")
_WHERE: Final = (
    "",
    "",
    " WHERE {t}.v > 0",
    " WHERE {t}.g IS NOT NULL OR {t}.k = 1",
    " WHERE {t}.k IN (1, 2) AND {t}.g = 'x'",
    " WHERE {t}.v BETWEEN 1 AND 3 AND ({t}.k < 3)",
)
_SHORT_SUBQUERIES: Final = (
    " WHERE EXISTS (SELECT 1 FROM u AS e WHERE e.k = {t}.k AND e.f > 0)",
    " WHERE NOT EXISTS (SELECT 1 FROM t AS e WHERE {t}.k = e.v AND e.g = {t}.g) AND {t}.v > 0",
    " WHERE {t}.v > 1 OR EXISTS (SELECT f FROM u WHERE u.k = {t}.v)",
    " WHERE {t}.v <= (SELECT MAX(e.v) FROM t AS e WHERE e.k = {t}.k)",
    " WHERE coalesce((SELECT SUM(e.f) FROM u e WHERE e.k = {t}.k AND e.g IS NOT NULL), 0) < 5",
    " WHERE {t}.k IN (SELECT e.k FROM u AS e)",
    " WHERE {t}.v IN (SELECT e.k FROM t AS e GROUP BY e.k, e.g HAVING COUNT(*) > 1) AND {t}.g IS NOT NULL",
    " WHERE {t}.k NOT IN (SELECT e.k FROM u AS e WHERE e.f = 1)",
    " WHERE {t}.v > (SELECT COUNT(*) FROM u)",
    " WHERE {t}.k IN (SELECT e.k FROM u AS e WHERE e.f = 1)",
    " WHERE EXISTS (SELECT COUNT(*) FROM u AS e WHERE e.k = {t}.k AND e.f > 1) AND {t}.v > 0",
    " WHERE EXISTS (SELECT * FROM u AS e WHERE e.k = {t}.v AND e.g = 'x' AND e.f <= 2)",
    " WHERE {t}.v IN (SELECT MAX(e.f) FROM t AS d JOIN u AS e ON d.k = e.k WHERE d.v = {t}.k AND e.f > 0)",
)
_SUBQUERIES: Final = (
    *_SHORT_SUBQUERIES,
    " WHERE EXISTS (SELECT 1 FROM u AS e JOIN t AS d ON d.k = e.f WHERE e.k = {t}.k AND d.v > 0)",
    " WHERE {t}.k IN (SELECT DISTINCT e.k FROM t AS e LEFT JOIN u AS d ON d.k = e.v WHERE coalesce(d.f, 0) < 3)",
    " WHERE {t}.v IN (SELECT e.k FROM u AS e WHERE e.f IN (SELECT d.v FROM t AS d WHERE d.g IS NOT NULL)"
    " AND e.f > (SELECT MIN(c.k) FROM t AS c WHERE c.v = e.f))",
    " WHERE NOT EXISTS (SELECT 1 FROM u AS e, t AS d WHERE d.k = e.k AND {t}.v = d.v"
    " AND EXISTS (SELECT 1 FROM u AS c WHERE c.k = e.f AND c.f = e.k))",
    " WHERE {t}.v NOT IN (SELECT e.v FROM t AS e WHERE e.k = {t}.k)",
    " WHERE {t}.k IN (SELECT e.k FROM t AS e WHERE e.v IN (SELECT d.k FROM u AS d WHERE d.f > 1)"
    " AND e.v >= (SELECT MIN(c.f) FROM u AS c WHERE c.k = e.v AND c.g = 'x'))",
    " WHERE {t}.k IN (SELECT e.k FROM t AS e, u AS d WHERE e.v = d.k AND d.f IN (1, 3) AND EXISTS"
    " (SELECT 1 FROM u AS c, t AS b WHERE c.k = e.k AND b.k = c.f AND b.v < 3))",
    " WHERE {t}.k NOT IN (SELECT e.k FROM u AS e JOIN t AS d ON e.f = d.k AND d.v = 2 WHERE e.k IS NOT NULL)",
    " WHERE {t}.v IN (SELECT e.f + 1 FROM u AS e WHERE e.k IN (SELECT d.k FROM t AS d JOIN u AS c ON d.k = c.k))",
    " WHERE {t}.v > (SELECT COUNT(*) FROM u AS e JOIN t AS d ON e.f = d.k AND e.k = d.v WHERE d.v = {t}.k)",
    " WHERE {t}.k IN (SELECT e.k FROM t AS e RIGHT JOIN u AS d ON d.k = e.v AND d.f = e.k"
    " WHERE d.g IN (SELECT c.g FROM t AS c WHERE c.k = d.k))",
)
_HAVING: Final = ("", "", " HAVING COUNT(*) > 1", " HAVING a0 IS NOT NULL", " HAVING SUM({t}.v) > 2 OR COUNT(*) = 1")
_AROUND: Final = (
    "{block}",
    "{block}",
    "SELECT key, COUNT(*) AS n, MAX(a0) AS m FROM ({block}) AS s GROUP BY key",
    "WITH s AS ({block}) SELECT x.key, x.a0, y.a0 AS other FROM s x LEFT JOIN s y ON x.a0 = y.a0",
    "SELECT key, a0 FROM ({block}) AS s UNION ALL SELECT k, v FROM t WHERE v > 3",
)


def query_by(chance: Random, has_decimals: bool, nested: float = 0.4) -> str:
    """A query of the grammar. `nested`: how many of them have SELECTs in FROM by chance."""
    origin, names = chance.choice(_FROM)
    origin = origin.format(w=", t.w" if has_decimals else "")
    if chance.random() < nested:
        origin, names = _nested_by(chance, ", t.w" if has_decimals else "")
    aliases = [name for name in names if name != "u"]
    t = chance.choice(aliases)
    aggregates = [one.format(t=chance.choice(aliases)) for one in chance.choices(_AGGREGATES, k=chance.randint(1, 3))]
    if has_decimals:
        aggregates += [one.format(t=chance.choice(aliases)) for one in chance.choices(_OF_DECIMALS, k=chance.randint(1, 3))]
    if chance.random() < 0.25:
        aggregates.append(chance.choice(_DISTINCT).format(t=t))
    listed = ", ".join(f"{one} AS a{at}" for at, one in enumerate(aggregates))
    where = chance.choice(_WHERE if chance.random() < 0.7 else _SUBQUERIES).format(t=t)
    having = chance.choice(_HAVING).format(t=t)
    keys = [one.format(t=t) for one in chance.sample(_KEYS, k=chance.choice((0, 1, 1, 2)))]
    names = _NAMED.format(w=", t.w" if has_decimals else "") if "named" in origin else ""
    if not keys:
        return f"{names}SELECT {listed} FROM {origin}{where}{having if 'a0' not in having else ''}"
    named = ", ".join(f"{one} AS {'key' if not at else f'key{at}'}" for at, one in enumerate(keys))
    if chance.random() < 0.1:
        return f"{names}SELECT DISTINCT {named} FROM {origin}{where}"
    grouped = ", ".join(keys) if chance.random() < 0.7 else ", ".join(str(at + 1) for at in range(len(keys)))
    if has_decimals and chance.random() < 0.2:
        # SQLite does not know it.
        grouped = "ALL"
    block = f"SELECT {named}, {listed} FROM {origin}{where} GROUP BY {grouped}{having}"
    if names:
        return f"{names}{block}"
    around = chance.choice(_AROUND if not has_decimals and keys[0].startswith(f"{t}.k") else _AROUND[:4])
    return around.format(block=block)


def summarised_query_by(chance: Random, has_decimals: bool) -> str:
    """A query of which groups are kept, and of these an aggregate, or those that come first. All that it shows orders
    them: which of equal ones it shows does not matter."""
    query, items = "", list[str]()
    while not items or not query.startswith("SELECT") or " AS s" in query or "HAVING" in query.partition("GROUP BY")[0]:
        query = query_by(chance, has_decimals, nested=0.2)
        items = _ALIAS.findall(query.partition(" FROM ")[0]) if "GROUP BY" in query else []
    if chance.random() < 0.6:
        chance.shuffle(items)
        order = [f"{one}{chance.choice(('', ' DESC', ' ASC', ' NULLS LAST', ' DESC NULLS FIRST'))}" for one in items]
        return f"{query} ORDER BY {', '.join(order)} LIMIT {chance.randint(0, 3)}"
    number = chance.choice([one for one in items if not one.startswith("key")])
    key = chance.choice(items)
    listed = chance.choice(("COUNT(*) AS m", f"COUNT({number}) AS m", f"MAX({number}) AS m, COUNT(*) AS l"))
    where = chance.choice(("", "", f" WHERE {number} > 1", f" WHERE {key} IS NOT NULL"))
    if chance.random() < 0.2:
        return f"SELECT {listed} FROM ({query}) AS z{where}"
    return f"SELECT {key} AS z, {listed} FROM ({query}) AS z{where} GROUP BY {key}"


def kept_of(query: str) -> KeptAggregate:
    """What is kept of a query, which has something to keep."""
    query = with_written_keys(query, COLUMNS) or query
    block = aggregate_block(query, COLUMNS, USUAL)
    if isinstance(block, NotKept):
        query = without_names(query) or query
        block = aggregate_block(query, COLUMNS, USUAL)
    assert isinstance(block, AggregateBlock), (query, block)
    return kept_aggregate(query, block)


def groups_of(query: str) -> ChangedGroups:
    """The groups of a query that are computed anew one by one."""
    groups = grouped_blocks(query, COLUMNS, USUAL)
    assert isinstance(groups, GroupedQuery), (query, groups)
    return ChangedGroups(query, groups)


_ANY: Final = ("COUNT(DISTINCT {t}.v)", "COUNT(DISTINCT {t}.g)", "COUNT(DISTINCT {t}.k + {t}.v)", *_AGGREGATES)
_ANY_ON_SPARK: Final = (
    "percentile({t}.v, 0.5)",
    "MAX(CAST({t}.v AS DOUBLE) / 3)",
    "COUNT(DISTINCT {t}.v, {t}.g)",
    "bit_xor({t}.v)",
    "SUM(DISTINCT {t}.v)",
    "SUM(CAST({t}.v AS DOUBLE))",
)


def grouped_query_by(chance: Random, on_spark: bool) -> str:
    """A query that is one SELECT with GROUP BY, of aggregates of any kind. As doubles they add up small integers."""
    froms = [one for one in _FROM if "named" not in one[0]]
    origin, names = chance.choice(froms) if chance.random() < 0.6 else _nested_by(chance)
    origin = origin.format(w="")
    aliases = [name for name in names if name != "u"]
    t = chance.choice(aliases)
    kinds = (*_ANY, *_ANY_ON_SPARK) if on_spark else tuple(one for one in _ANY if "COUNT({t}.v, {t}.g)" not in one)
    aggregates = [one.format(t=chance.choice(aliases)) for one in chance.choices(kinds, k=chance.randint(1, 3))]
    where = chance.choice(_WHERE if chance.random() < 0.7 else _SUBQUERIES).format(t=t)
    having = chance.choice((*_HAVING[:3], _HAVING[4])).format(t=t)
    keys = [one.format(t=t) for one in chance.sample(_KEYS, k=chance.choice((1, 1, 2)))]
    names_of = [f"{one} AS {'n' if '.k' in one else 'x'}key{at}" for at, one in enumerate(keys)]
    listed = [
        *names_of,
        *(f"{one} AS {'x' if '.g)' in one and 'MAX' in one else 'n'}a{at}" for at, one in enumerate(aggregates)),
    ]
    chance.shuffle(listed)
    return f"SELECT {', '.join(listed)} FROM {origin}{where} GROUP BY {', '.join(keys)}{having.replace('a0', 'COUNT(*)')}"


_OVER: Final = (
    "RANK() OVER (PARTITION BY {keys} ORDER BY nv, xg)",
    "DENSE_RANK() OVER (PARTITION BY {keys} ORDER BY xg DESC)",
    "SUM(nv) OVER (PARTITION BY {keys} ORDER BY nv)",
    "COUNT(nv) OVER (PARTITION BY {keys})",
    "ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY {all})",
    "LAG(nv) OVER (PARTITION BY {keys} ORDER BY {all})",
    "COUNT(*) OVER (PARTITION BY {keys} ORDER BY {all} ROWS 1 PRECEDING) + MAX(nv) OVER (PARTITION BY {keys})",
)
_OVER_ON_SPARK: Final = (
    "LAST_VALUE(nv) IGNORE NULLS OVER (PARTITION BY {keys} ORDER BY {all})",
    "NTILE(2) OVER (PARTITION BY {keys} ORDER BY {all})",
    "percentile(nv, 0.5) OVER (PARTITION BY {keys})",
    "CUME_DIST() OVER (PARTITION BY {keys} ORDER BY nv)",
)


def layered_query_by(chance: Random, on_spark: bool) -> str:
    """SELECTs around each other with windows and groups, which all have nk, or all xg, among their keys. Windows whose order
    decides are ordered by all columns, so that rows that tie are the same."""
    common, other = chance.choice((("nk", "xg"), ("xg", "nk")))
    froms = [one for one in _FROM if "named" not in one[0]] if chance.random() < 0.4 else _FROM[:1]
    origin, names = chance.choice(froms) if chance.random() < 0.8 else _nested_by(chance)
    t = chance.choice([name for name in names if name != "u"])
    where = chance.choice(_WHERE if chance.random() < 0.7 else _SUBQUERIES).format(t=t)
    key = chance.choice(("{t}.k", "{t}.k", "{t}.k % 2")).format(t=t)
    query = f"SELECT {key} AS nk, {t}.g AS xg, {t}.v AS nv FROM {origin.format(w='')}{where}"
    if chance.random() < 0.2:
        query = "SELECT k AS nk, g AS xg, v AS nv FROM (SELECT * FROM t WHERE v > 0) AS a"
    if chance.random() < 0.3:
        words = ("UNION", "UNION ALL", "EXCEPT", "INTERSECT") + (("EXCEPT ALL", "INTERSECT ALL") if on_spark else ())
        # Of what is computed, types are not known before Spark.
        origin, names = chance.choice(_FROM[:9])
        side = f"SELECT {names[0]}.k AS nk, {names[0]}.g AS xg, {'v' if 't' in names else 'a.v'} AS nv FROM {origin}"
        other_side = chance.choice(("SELECT k, g, v FROM t WHERE v < 3", "(SELECT v, g, k FROM t)"))
        query = f"{side} {chance.choice(words)} {other_side if on_spark else other_side.strip('()')}"
    columns = ["nk", "xg", "nv"]
    kinds = [chance.choice(("window", "groups", "distinct"))]
    kinds += chance.choices(("window", "filter", "groups", "distinct", "columns"), k=chance.randint(0, 2))
    chance.shuffle(kinds)
    for at, kind in enumerate(kinds):
        around = f"({query}){chance.choice((' AS s', ''))}"
        keys = ", ".join(chance.choice(([common], [common], [common, other], [other, common])))
        if kind == "window":
            window = chance.choice((*_OVER, *_OVER_ON_SPARK) if on_spark else _OVER).format(
                keys=keys, all=", ".join(columns)
            )
            listed = chance.choice(("*", ", ".join(columns)))
            query, columns = f"SELECT {listed}, {window} AS nw{at} FROM {around}", [*columns, f"nw{at}"]
        elif kind == "groups":
            largest = chance.choice([one for one in columns if one != "xg"])
            listed = "nk, xg" if other in keys else f"{common}, MAX({other}) AS {other}"
            query = f"SELECT {listed}, COUNT(*) AS n{at}, MAX({largest}) AS nv FROM {around} GROUP BY {keys}"
            columns = ["nk", "xg", f"n{at}", "nv"]
        elif kind == "filter":
            number = next(one for one in reversed(columns) if one != "xg")
            query = f"SELECT * FROM {around} WHERE {number} > 1 OR nk = 1"
        else:
            columns = [*dict.fromkeys((chance.choice(columns), "nk", "xg", "nv"))]
            query = f"SELECT {'DISTINCT ' if kind == 'distinct' else ''}{', '.join(columns)} FROM {around}"
    return query


_ALIAS: Final = re.compile(r" AS (key\d?|a\d)\b")
_NAMED_BODIES: Final = (
    "SELECT * FROM {x}",
    "SELECT * FROM {x} WHERE v > 0",
    "SELECT {x}.* FROM {x} WHERE {x}.k IS NOT NULL",
    "SELECT q.* FROM {x} AS q JOIN u ON q.k = u.k",
    "SELECT k, g, v FROM {x} AS q",
    "SELECT q.g, q.k, q.v + 1 AS v FROM {x} q LEFT JOIN (SELECT * FROM u) AS u ON q.k = u.k",
)
_NAMED_ENDS: Final = (
    "SELECT g AS xg, COUNT(*) AS n0, SUM(v) AS n1 FROM {x} GROUP BY g",
    "SELECT z.k AS nk, z.g AS xg FROM {x} AS z JOIN {y} ON z.k = {y}.k",
    "SELECT k AS nk, RANK() OVER (PARTITION BY k ORDER BY v) AS n0 FROM {x}",
    "SELECT k AS nk, v AS n1 FROM (SELECT *, RANK() OVER (PARTITION BY k ORDER BY v) AS place FROM {x}) WHERE place = 1",
    "SELECT nk, n0 FROM (SELECT k AS nk, COUNT(*) AS n0, MAX(f) AS n1 FROM (SELECT * FROM u) AS w GROUP BY k) WHERE n0 > 1",
)


def query_of_names_by(chance: Random) -> str:
    """A query of names of WITH, which take all columns of each other."""
    known, bodies = ["t"], []
    for name in ("a", "b", "c")[: chance.randint(1, 3)]:
        bodies.append(f"{name} AS ({chance.choice(_NAMED_BODIES).format(x=chance.choice(known))})")
        known.append(name)
    end = chance.choice(_NAMED_ENDS).format(x=known[-1], y=chance.choice(known[:-1]))
    return f"WITH {', '.join(bodies)} {end}"


_ITEMS: Final = (
    "{t}.k AS n{at}",
    "{t}.g AS x{at}",
    "{t}.v * 2 AS n{at}",
    "CASE WHEN {t}.v > 1 THEN {t}.v ELSE {t}.k END AS n{at}",
)


_FLOATING_ITEMS: Final = (
    "{t}.v * CAST(0 AS DOUBLE) AS d{at}",
    "CAST({t}.v AS DOUBLE) / 3 AS d{at}",
    "array(CAST({t}.k AS FLOAT) * -0.0F) AS d{at}",
)


def linear_query_by(chance: Random, has_right_joins: bool, has_floats: bool = False) -> str:
    """A query without aggregate. SQLite forgets WHERE of a branch of UNION ALL that has a RIGHT JOIN, and has no FLOAT."""
    froms = [one for one in _FROM if (has_right_joins or "RIGHT" not in one[0]) and "named" not in one[0]]
    branches = []
    kinds = [chance.choice(_ITEMS) for _ in range(chance.randint(1, 3))]
    kinds += [chance.choice(_FLOATING_ITEMS)] if has_floats and chance.random() < 0.5 else []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        origin, names = chance.choice(froms) if chance.random() < 0.6 else _nested_by(chance, "", has_right_joins)
        origin = origin.format(w="")
        aliases = [name for name in names if name != "u"]
        items = ", ".join(one.format(t=chance.choice(aliases), at=at) for at, one in enumerate(kinds))
        where = chance.choice((*_WHERE, " WHERE EXISTS (SELECT 1 FROM u AS e WHERE e.k = {t}.k)")).format(t=aliases[0])
        branches.append(f"SELECT {items} FROM {origin}{where}")
    return " UNION ALL ".join(branches)


def linear_of(query: str) -> LinearRows:
    """How rows come to a query without aggregate, and go from it."""
    blocks = linear_blocks(query, COLUMNS, USUAL)
    assert not isinstance(blocks, NotKept), (query, blocks)
    return LinearRows(query, blocks)


def growing_history_by(chance: Random, steps: int) -> Iterator[Tables]:
    """Tables to which rows only come."""
    tables = {name: [_row(chance, name) for _ in range(chance.choice((0, 1, 4)))] for name in COLUMNS}
    yield {name: list(rows) for name, rows in tables.items()}
    for _ in range(steps):
        for name in chance.choice((["t"], ["u"], ["t", "u"])):
            tables[name] += [_row(chance, name) for _ in range(chance.choice((1, 2, 3)))]
        yield {name: list(rows) for name, rows in tables.items()}


def _row(chance: Random, table: str) -> Row:
    key, text = chance.choice((None, 0, 1, 1, 2, 3)), chance.choice((None, "x", "x", "y", "Y"))
    if table == "u":
        return (key, text, chance.choice((None, 0, 1, 5)))
    cents = chance.choice((None, 0, 1, -1, 33, 105, 99_999_999, -12_345, 50, 7))
    return (key, text, chance.choice((None, 0, 1, 2, 5, -3, 1_000_000)), None if cents is None else Decimal(cents) / 100)


def history_by(chance: Random, steps: int) -> Iterator[Tables]:
    """The tables before the first step, and after each. Not each step changes both of them."""
    tables = {name: [_row(chance, name) for _ in range(chance.choice((0, 1, 4, 8)))] for name in COLUMNS}
    yield {name: list(rows) for name, rows in tables.items()}
    for _ in range(steps):
        touched = chance.choice((["t"], ["t"], ["u"], ["t", "u"]))
        for name in touched:
            rows = tables[name]
            for _ in range(chance.choice((0, 1, 2, len(rows)))):
                if rows:
                    rows.pop(chance.randrange(len(rows)))
            rows += [_row(chance, name) for _ in range(chance.choice((0, 1, 3)))]
            if rows and chance.random() < 0.4:
                # A row that is there twice; one that goes and comes again has not changed.
                rows.append(chance.choice(rows))
        yield {name: list(rows) for name, rows in tables.items()}


def history_of_many_groups_by(chance: Random, steps: int) -> Iterator[Tables]:
    """The same where `t` has many values of k, of which each step changes few."""
    rows: list[Row] = [_of_a_group(chance) for _ in range(chance.randint(20, 50))]
    yield {"t": list(rows), "u": []}
    for _ in range(steps):
        for _ in range(chance.randint(0, min(6, len(rows)))):
            rows.pop(chance.randrange(len(rows)))
        rows += [_of_a_group(chance) for _ in range(chance.randint(0, 6))]
        yield {"t": list(rows), "u": []}


def _of_a_group(chance: Random) -> Row:
    return (chance.choice((None, *range(30))), *_row(chance, "t")[1:])


def first_of_many_by(chance: Random) -> str:
    """A query of which those of many groups are shown that come first; see `history_of_many_groups_by`."""
    amount = chance.choice(("SUM(v)", "COUNT(*)", "MAX(v)", "SUM(v) * 2 - COUNT(v)"))
    having = chance.choice(("", "", " HAVING COUNT(*) > 1", " HAVING amount IS NOT NULL"))
    orders = ("amount DESC, k", "amount, k DESC", "2, 1", "k + 1", "amount, t.k")
    # Behind HAVING, Spark does not know an aggregate that the select list lacks.
    order = chance.choice(orders if having else (*orders, "COUNT(*) DESC, k"))
    return f"SELECT k, {amount} AS amount FROM t GROUP BY k{having} ORDER BY {order} LIMIT {chance.randint(1, 4)}"


def changes(before: Sequence[Row], after: Sequence[Row]) -> list[Row]:
    """What changed between two multisets, with what became of each row."""
    had, has = Counter(before), Counter(after)
    came = [(*row, "insert") for row in (has - had).elements()]
    return came + [(*row, "delete") for row in (had - has).elements()]


def multiset(rows: Iterable[Row]) -> Counter[Row]:
    """The rows, however they are ordered, with the places of decimals, and the signs of zeros."""
    return Counter(tuple(_told(value) for value in row) for row in rows)


def _told(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal | float | list) else value
