"""Small random programs in all of Spark's SQL that decides what names mean: NATURAL and USING, `*` in its forms, PIVOT,
generators, LATERAL, BY NAME, structs, maps and variants, functions, recursion; and random edits of them, renames by `moved`
above all.

Names of columns are drawn from a small pool, so that a new one often is one that another relation, an alias or a parameter
has already. Nothing is mended: an edit may leave a program that is not valid. Whoever carries a plan out leaves such out.
The same seed gives the same programs.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

POOL: Final = ("a", "b", "c", "d", "e", "g")
"""Names of columns of numbers."""
OTHERS: Final = {"xs": "ARRAY<INT>", "m": "MAP<STRING, INT>", "s": "STRUCT<a: INT, b: INT>", "p": "STRING"}
"""Names of other columns, each with its type; `p` holds JSON."""
KINDS: Final = ("MATERIALIZED VIEW", "MATERIALIZED VIEW", "MATERIALIZED VIEW", "VIEW", "LOCAL VIEW")
QUOTES: Final = "spark.sql.ansi.doubleQuotedIdentifiers"
PRECEDENCE: Final = "spark.sql.legacy.setopsPrecedence.enabled"
SETTINGS: Final = (QUOTES, PRECEDENCE)
"""Under these Spark reads texts otherwise than by itself, and as SQLite does: `"a"` is a column, and set operations are
carried out from left to right."""
WORDS: Final = re.compile(r"\b[a-e]\b|\bg\b")

Columns = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WideTable:
    """A table; its columns with their types."""

    name: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class WideView:
    """A view; `columns` are those that readers may name, empty where they are not known here. `listed` are names that its
    declaration gives them."""

    name: str
    kind: str
    query: str
    columns: Columns = ()
    listed: Columns = ()

    @property
    def named(self) -> str:
        """Its name, with the list of names."""
        return f"{self.name}({', '.join(self.listed)})" if self.listed else self.name


@dataclass(frozen=True, slots=True)
class WideProgram:
    """Tables, functions (name, body), views, moves. `names_are_data`: a table that nobody reads has a map, so that letter
    case of names counts in all queries."""

    tables: tuple[WideTable, ...]
    functions: tuple[tuple[str, str], ...]
    views: tuple[WideView, ...]
    evolution: str = "evolve"
    moved: tuple[tuple[str, str], ...] = ()
    setting: str = ""
    names_are_data: bool = False

    @property
    def files(self) -> dict[str, str]:
        """The files of a pipeline."""
        moved = ", ".join(f"{{from: {old}, to: {new}}}" for old, new in self.moved)
        head = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
        runtime = f', runtime: {{spark: {{{self.setting}: "true"}}}}' if self.setting else ""
        tables = [f"CREATE TABLE {t.name} ({', '.join(f'{n} {kind}' for n, kind in t.columns)});" for t in self.tables]
        functions = [f"CREATE FUNCTION {name}(x INT) RETURNS INT AS {body};" for name, body in self.functions]
        views = [f"CREATE {one.kind} {one.named} AS {one.query};" for one in self.views]
        tables += ["CREATE TABLE maps (m MAP<STRING, INT>);"] if self.names_are_data else []
        return {
            "pipelines/shop/pipeline.yaml": f"{head}spec: {{evolution: {self.evolution}, moved: [{moved}]{runtime}}}\n",
            "pipelines/shop/program.sql": "\n".join([*tables, *functions, *views]),
        }


@dataclass(slots=True)
class _Maker:
    """Makes queries over relations whose columns are known. `plain`: only what SQLite reads as Spark does."""

    chance: random.Random
    relations: dict[str, Columns] = field(default_factory=dict)
    functions: Columns = ()
    plain: bool = False
    setting: str = ""
    about_spelling: bool = False

    def relation(self) -> str:
        known = [*self.relations]
        return known[-1] if self.about_spelling and self.chance.random() < 0.8 else self.chance.choice(known)

    def number(self, relation: str) -> str:
        """A column of numbers of a relation, or a name that may be none."""
        known = [name for name in self.relations[relation] if name not in OTHERS]
        return self.chance.choice(known or ["a"])

    def any_name(self) -> str:
        return self.chance.choice(POOL)

    def query(self) -> tuple[str, Columns]:
        makers = _PLAIN if self.plain or self.chance.random() < 0.4 else _OF_SPARK
        if self.about_spelling:
            makers = _SHOWING_NAMES if any(name.startswith("v") for name in self.relations) else _NAMING
        query, columns = self.chance.choice(makers)(self)
        if self.setting == QUOTES:
            query = WORDS.sub(lambda found: f'"{found.group()}"' if self.chance.random() < 0.5 else found.group(), query)
        return query, columns


def _union(*many: Columns) -> Columns:
    return tuple(dict.fromkeys(name for columns in many for name in columns))


def _star(one: _Maker) -> tuple[str, Columns]:
    r = one.relation()
    return f"SELECT * FROM {r}", one.relations[r]


def _natural(one: _Maker) -> tuple[str, Columns]:
    r, q = one.relation(), one.relation()
    kind = "" if one.plain else one.chance.choice(["", "", "LEFT ", "FULL OUTER "])
    return f"SELECT * FROM {r} NATURAL {kind}JOIN {q}", _union(one.relations[r], one.relations[q])


def _natural_count(one: _Maker) -> tuple[str, Columns]:
    r, q = one.relation(), one.relation()
    if one.chance.random() < 0.5:
        return f"SELECT count(*) AS n FROM {r} NATURAL JOIN {q}", ("n",)
    c = one.number(r)
    return f"SELECT {c} AS o0, count(*) AS n FROM {r} NATURAL JOIN (SELECT * FROM {q}) AS y GROUP BY {c}", ("o0", "n")


def _using(one: _Maker) -> tuple[str, Columns]:
    r, q = one.relation(), one.relation()
    c = one.number(r)
    kind = "" if one.plain else one.chance.choice(["", "LEFT ", "FULL OUTER ", "LEFT SEMI ", "LEFT ANTI "])
    if one.chance.random() < 0.4 and kind in ("", "LEFT "):
        return f"SELECT x.*, y.{one.number(q)} AS o9 FROM {r} AS x {kind}JOIN {q} AS y USING ({c})", ()
    return f"SELECT * FROM {r} {kind}JOIN {q} USING ({c})", ()


def _qualified_star(one: _Maker) -> tuple[str, Columns]:
    r, q = one.relation(), one.relation()
    if one.chance.random() < 0.5:
        return f"SELECT x.*, 1 AS o9 FROM {r} AS x", (*one.relations[r], "o9")
    c, d = one.number(r), one.number(q)
    return f"SELECT x.*, y.{d} AS o9 FROM {r} AS x JOIN {q} AS y ON x.{c} = y.{d}", (*one.relations[r], "o9")


def _union_all(one: _Maker) -> tuple[str, Columns]:
    r, q = one.relation(), one.relation()
    listed = ", ".join(one.number(q) for _ in one.relations[r])
    word = one.chance.choice(["UNION ALL", "UNION ALL", "EXCEPT", "INTERSECT"])
    return f"SELECT * FROM {r} {word} SELECT {listed} FROM {q}", one.relations[r]


def _set_operations(one: _Maker) -> tuple[str, Columns]:
    """Several in a row, which may be carried out in one order or another."""
    if one.plain and one.setting != PRECEDENCE:
        return _union_all(one)
    listed = [f"SELECT {one.number(r)} AS o0 FROM {r}" for r in (one.relation(), one.relation(), one.relation())]
    chain = f"{listed[0]} UNION ALL {listed[1]} {one.chance.choice(['INTERSECT', 'EXCEPT'])} {listed[2]}"
    if one.chance.random() < 0.7:
        return f"SELECT count(*) AS n FROM ({chain}) AS y", ("n",)
    return chain, ("o0",)


def _correlated(one: _Maker) -> tuple[str, Columns]:
    r, q = one.relation(), one.relation()
    c, d, b = one.number(r), one.number(q), one.any_name()
    shape = one.chance.randrange(4)
    if shape == 0:
        return f"SELECT {c} AS o0 FROM {r} WHERE EXISTS (SELECT 1 FROM {q} WHERE {d} = {b})", ("o0",)
    if shape == 1:
        return f"SELECT {c} AS o0, (SELECT max({d}) FROM {q} WHERE {d} >= {b}) AS o1 FROM {r}", ("o0", "o1")
    if shape == 2:
        return f"SELECT {c} AS o0 FROM {r} WHERE {c} IN (SELECT {b} FROM {q})", ("o0",)
    return f"SELECT {c} AS o0 FROM {r} AS x WHERE {c} > (SELECT count(*) FROM {q} AS y WHERE y.{d} = x.{c})", ("o0",)


def _with(one: _Maker) -> tuple[str, Columns]:
    r = one.relation()
    names = [f"k{index}" for index in range(len(one.relations[r]))]
    b = one.any_name()
    shape = one.chance.randrange(4)
    if shape == 0:
        return f"WITH q({', '.join(names)}) AS (SELECT * FROM {r}) SELECT k0 AS o0, count(*) AS n FROM q GROUP BY k0", (
            "o0",
            "n",
        )
    if shape == 1:
        return f"WITH q AS (SELECT * FROM {r}) SELECT q.{b} AS o0 FROM q", ("o0",)
    if shape == 2:
        return f"SELECT count(*) AS n FROM (SELECT * FROM {r}) AS q", ("n",)
    return f"SELECT y.* FROM (SELECT {one.number(r)} AS {b}, {one.number(r)} AS o1 FROM {r}) AS y", (b, "o1")


def _plain_items(one: _Maker) -> tuple[str, Columns]:
    r = one.relation()
    c, d = one.number(r), one.number(r)
    b = one.any_name()
    shape = one.chance.randrange(5)
    if shape == 0:
        return f"SELECT {c} AS {b}, {d} AS o1 FROM {r}", (b, "o1")
    if shape == 1:
        return f"SELECT DISTINCT {c} AS o0, {d} AS o1 FROM {r}", ("o0", "o1")
    if shape == 2:
        return f"SELECT {c} AS o0, sum({d}) AS o1, count(*) AS n FROM {r} GROUP BY {c}", ("o0", "o1", "n")
    if shape == 3:
        return f"SELECT {c} AS o0, {d} - {c} AS o1, {d} + 1 AS o2 FROM {r} WHERE {one.number(r)} > 0", ("o0", "o1", "o2")
    return f"SELECT {c} AS o0, sum({d}) OVER (PARTITION BY {c}) AS o1 FROM {r}", ("o0", "o1")


def _two(one: _Maker) -> tuple[str, Columns]:
    r, q = one.relation(), one.relation()
    c, d = one.number(r), one.number(q)
    first = one.chance.choice([f"{c} - {d} AS o0", f"x.{c} - y.{d} AS o0", f"x.{c} AS o0, {d} AS o1"])
    return f"SELECT {first} FROM {r} AS x JOIN {q} AS y ON x.{one.number(r)} = y.{one.number(q)}", ("o0",)


def _counts(one: _Maker) -> tuple[str, Columns]:
    """Counts of rows in which no column is NULL, and of all rows."""
    r = one.relation()
    c = one.number(r)
    counted = one.chance.choice(["*", f"* EXCEPT ({c})", "*, 1", f"*, {c}", f"* EXCEPT ({c}), 1"])
    shape = one.chance.randrange(4)
    if shape == 0:
        return f"SELECT count({counted}) AS n FROM {r}", ("n",)
    if shape == 1:
        return f"SELECT {c} AS o0, count({counted}) AS n FROM {r} GROUP BY {c}", ("o0", "n")
    if shape == 2:
        return f"SELECT {c} AS o0, count({counted}) OVER () AS n FROM {r}", ("o0", "n")
    return f"SELECT o0 FROM (SELECT {c} AS o0, count({counted}) AS n FROM {r} GROUP BY {c}) AS y WHERE n > 1", ("o0",)


def _recursive(one: _Maker) -> tuple[str, Columns]:
    r = one.relation()
    c = one.number(r)
    if one.chance.random() < 0.5:
        tail = "UNION ALL SELECT k - 1 FROM q WHERE k > 0) SELECT k AS o0, count(*) AS n FROM q GROUP BY k"
        return f"WITH RECURSIVE q(k) AS (SELECT {c} FROM {r} {tail}", ("o0", "n")
    rest = ", ".join(f"{name} - 1" if name == c else name for name in one.relations[r])
    return f"WITH RECURSIVE q AS (SELECT * FROM {r} UNION ALL SELECT {rest} FROM q WHERE {c} > 0) SELECT * FROM q", ()


def _except(one: _Maker) -> tuple[str, Columns]:
    r, q = one.relation(), one.relation()
    c = one.number(r)
    rest = tuple(name for name in one.relations[r] if name != c)
    if one.chance.random() < 0.5:
        return f"SELECT * EXCEPT ({c}) FROM {r}", rest
    return f"SELECT * EXCEPT ({c}) FROM {r} NATURAL JOIN {q}", ()


def _pivot(one: _Maker) -> tuple[str, Columns]:
    r, q = one.relation(), one.relation()
    c, d = one.number(r), one.number(r)
    origin = one.chance.choice([r, r, f"(SELECT * FROM {r})", f"{r} NATURAL JOIN {q}"])
    pivot = f"FROM {origin} PIVOT (sum({c}) FOR {d} IN (0 AS zero, 1 AS one))"
    if one.chance.random() < 0.3:
        return f"SELECT one AS o0, zero AS o1 {pivot}", ("o0", "o1")
    return f"SELECT * {pivot}", ()


def _unpivot(one: _Maker) -> tuple[str, Columns]:
    r = one.relation()
    return f"SELECT * FROM {r} UNPIVOT (z FOR w IN ({one.number(r)}, {one.number(r)}))", ()


def _generator(one: _Maker) -> tuple[str, Columns]:
    r = one.relation()
    c, d, b = one.number(r), one.number(r), one.any_name()
    items = "xs" if "xs" in one.relations[r] else f"array({c}, {d})"
    shape = one.chance.randrange(6)
    if shape == 0:
        return f"SELECT x.*, explode({items}) AS o9 FROM {r} AS x", (*one.relations[r], "o9")
    if shape == 1:
        return f"SELECT {c} AS o0, {b} AS o1 FROM {r} LATERAL VIEW explode({items}) l AS {b}", ("o0", "o1")
    if shape == 2:
        return f"SELECT * FROM {r} LATERAL VIEW OUTER explode({items}) l AS o9", (*one.relations[r], "o9")
    if shape == 3:
        return f"SELECT stack(2, 1, {c}, 2, {d}) AS (o0, o1) FROM {r}", ("o0", "o1")
    if shape == 4:
        return f"SELECT inline(array(struct({c}, {d} AS o1))) FROM {r}", ()
    return f"SELECT posexplode({items}) AS (o0, o1) FROM {r}", ("o0", "o1")


def _lateral(one: _Maker) -> tuple[str, Columns]:
    r, q = one.relation(), one.relation()
    d, b = one.number(q), one.any_name()
    listed = one.chance.choice(["x.*, l.o8", "*", f"x.{one.number(r)} AS o0, o8"])
    return f"SELECT {listed} FROM {r} AS x, LATERAL (SELECT max({d}) AS o8 FROM {q} WHERE {d} >= {b}) AS l", ()


def _by_name(one: _Maker) -> tuple[str, Columns]:
    r, q = one.relation(), one.relation()
    word = one.chance.choice(["UNION ALL BY NAME", "UNION BY NAME"])
    if one.chance.random() < 0.5:
        listed = ", ".join(one.relations[q])
        return f"SELECT * FROM {r} {word} SELECT {listed} FROM {q}", ()
    return f"SELECT * FROM {r} {word} SELECT * FROM {q}", ()


def _struct(one: _Maker) -> tuple[str, Columns]:
    r = one.relation()
    c, d = one.number(r), one.number(r)
    value = one.chance.choice(
        [
            *("to_json(struct(*))", "struct(*)", "struct(x.*)", "(x.*, 1)", f"to_json(struct(x.{c}, x.{d}))"),
            *(f"(x.{c}, x.{d})", f"struct(x.{c})", f"named_struct('k', x.{c})", f"to_json(named_struct('k', {c}))"),
            *(
                f"array((x.{c}, 1))",
                f"arrays_zip(array(x.{c}), array({d}))",
                f"struct({c}, {d}).col1",
                f"typeof((x.{c}, 1))",
            ),
        ]
    )
    if one.chance.random() < 0.3:
        return f"SELECT x.{c} AS o0, max((x.{c}, x.{d})) AS o9 FROM {r} AS x GROUP BY x.{c}", ("o0",)
    return f"SELECT x.{c} AS o0, {value} AS o9 FROM {r} AS x", ("o0",)


def _access(one: _Maker) -> tuple[str, Columns]:
    r = one.relation()
    c, b = one.number(r), one.any_name()
    value = one.chance.choice(
        [
            *(f"m.{b}", f"m['{b}']", f"s.{b}", f"x.s.{b}", "s", "m", f"cast(parse_json(p):{b} AS INT)", "xs[0]"),
            *(f"cast(variant_get(parse_json(p), '$.{b}') AS INT)", f"map('{b}', {c})", f"get_json_object(p, '$.{b}')"),
            *(f"transform(array({c}), {b} -> {b} + {c})", f"aggregate(array({c}, 1), 0, ({b}, y) -> {b} + y)"),
        ]
    )
    alias = one.chance.choice(["x", "x", "s", "m"])
    return f"SELECT {c} AS o0, {value} AS o9 FROM {r} AS {alias}", ("o0",)


def _alias(one: _Maker) -> tuple[str, Columns]:
    r = one.relation()
    c, d, b = one.number(r), one.number(r), one.any_name()
    shape = one.chance.randrange(5)
    if shape == 0:
        return f"SELECT {c} AS {b}, {b} + 1 AS o1 FROM {r}", (b, "o1")
    if shape == 1:
        return f"SELECT {c} AS {b}, count(*) AS n FROM {r} GROUP BY {b}", (b, "n")
    if shape == 2:
        return f"SELECT {c} AS o0, {d} AS o1, count(*) AS n FROM {r} GROUP BY ALL", ("o0", "o1", "n")
    if shape == 3:
        return f"SELECT {c} AS o0, sum({d}) AS o1 FROM {r} GROUP BY 1 HAVING {one.any_name()} > 0", ("o0", "o1")
    return f"SELECT {c} AS {b}, {d} AS o1 FROM {r} QUALIFY count(*) OVER (PARTITION BY {b}) > 1", (b, "o1")


def _function(one: _Maker) -> tuple[str, Columns]:
    r = one.relation()
    f = one.chance.choice(one.functions)
    c, d = one.number(r), one.number(r)
    shape = one.chance.randrange(5)
    if shape == 0:
        return f"SELECT {c} AS o0, {f}({d}) AS o1, {d} AS o2 FROM {r}", ("o0", "o1", "o2")
    if shape == 1:
        return f"SELECT {c} AS o0, {d} AS o1 FROM {r} WHERE {f}({d}) > 1", ("o0", "o1")
    if shape == 2:
        return f"SELECT {f}({c}) AS o0, count(*) AS n FROM {r} GROUP BY {f}({c})", ("o0", "n")
    if shape == 3:
        return f"WITH q AS (SELECT {c} AS o0, {f}({d}) AS o1 FROM {r}) SELECT o0, o1 + 1 AS o1, 7 AS o2 FROM q", (
            "o0",
            "o1",
            "o2",
        )
    joined = f"{r} AS x JOIN (SELECT {d} AS o1 FROM {r}) AS y ON x.{c} = y.o1"
    return f"SELECT x.{c} AS o0, max({f}(y.o1)) AS o1 FROM {joined} GROUP BY x.{c}", ("o0", "o1")


def _first(one: _Maker) -> tuple[str, Columns]:
    """The first rows of an order, and what hands an order on: Spark keeps that of a view or of parentheses. All columns
    decide the order, so that equal rows are all that a LIMIT can choose between."""
    r = one.relation()
    c, d, b = one.number(r), one.number(r), one.any_name()
    order = f"{one.chance.choice(['o0', 'o0 DESC', 'o1', b])}, o0, o1"
    shape = one.chance.randrange(6)
    if shape == 0:
        return f"SELECT * FROM {r} LIMIT {one.chance.choice('123')}", one.relations[r]
    if shape == 1:
        return f"SELECT {c} AS o0, {d} AS o1 FROM {r} ORDER BY {order}", ("o0", "o1")
    if shape == 2:
        return f"SELECT {c} AS o0, {d} AS o1 FROM {r} ORDER BY {order} LIMIT 2", ("o0", "o1")
    if shape == 3:
        return f"(SELECT {c} AS o0, {d} AS o1 FROM {r}) ORDER BY {order} LIMIT 2", ("o0", "o1")
    if shape == 4:
        return f"SELECT o0 FROM (SELECT {c} AS o0, {d} AS o1 FROM {r} ORDER BY {order}) AS y LIMIT 2", ("o0",)
    return f"SELECT first({c}) AS o0, collect_list({d}) AS o1 FROM (SELECT * FROM {r} ORDER BY {c}, {d}) AS y", ("o0",)


_Make = Callable[[_Maker], tuple[str, Columns]]
_PLAIN: Final[tuple[_Make, ...]] = (
    *(_star, _natural, _natural, _natural_count, _using, _qualified_star, _union_all, _correlated, _with, _plain_items),
    *(_two, _plain_items, _recursive, _function, _counts, _set_operations),
)
_OF_SPARK: Final[tuple[_Make, ...]] = (
    *(_except, _pivot, _unpivot, _generator, _generator, _lateral, _by_name, _struct, _access, _alias, _function, _function),
    *(_natural, _using, _first, _first),
)


_NAMING: Final[tuple[_Make, ...]] = (_star, _star, _plain_items, _two, _by_name)
_SHOWING_NAMES: Final[tuple[_Make, ...]] = (*((_struct,) * 5), _star, _qualified_star, _pivot)


def program(chance: random.Random, plain: bool = False, about_spelling: bool = False) -> WideProgram:
    """A program of two or three tables and two to four views. `about_spelling`: its queries show names, or hand them on."""
    tables: list[WideTable] = []
    for name in ("t", "u", "w")[: chance.choice([2, 2, 3])]:
        columns = [(one, chance.choice(["INT", "INT", "BIGINT"])) for one in chance.sample(POOL, chance.choice([2, 3, 3]))]
        if not plain and chance.random() < 0.25:
            columns += [(one, OTHERS[one]) for one in chance.sample([*OTHERS], chance.choice([1, 2]))]
        tables.append(WideTable(name, tuple(columns)))
    functions = (("f0", "x + 1"), ("f1", "f0(x) * 2"))[: chance.choice([1, 2])]
    setting = chance.choice(SETTINGS) if chance.random() < 0.25 else ""
    columns_of = {t.name: tuple(n for n, _ in t.columns) for t in tables}
    maker = _Maker(chance, columns_of, tuple(n for n, _ in functions), plain, setting, about_spelling)
    views: list[WideView] = []
    for number in range(chance.choice([1, 2, 2, 3])):
        query, columns = maker.query()
        share = 0.8 if about_spelling and not number else 0.35
        is_listed = len(columns) <= len(POOL) and chance.random() < share
        listed = tuple(chance.sample(POOL, len(columns))) if is_listed else ()
        columns = listed or columns
        views.append(WideView(f"v{number}", chance.choice(KINDS), query, columns, listed))
        if columns:
            maker.relations[f"v{number}"] = columns
    evolution = chance.choice(["evolve", "evolve", "evolve", "clear"])
    return WideProgram(tuple(tables), functions, tuple(views), evolution, setting=setting)


_EDITS: Final = (
    *(*("rename column",) * 8, "trade columns"),
    *("add column", "add column", "drop column", "drop column", "turn columns", "widen"),
    *("rename relation", "function", "function", "word", "word", "query", "literal", "letter case"),
)


def edited(
    chance: random.Random, before: WideProgram, plain: bool = False, about_spelling: bool = False
) -> tuple[WideProgram, str]:
    """The program after one or two edits, and the name of the last. `about_spelling`: only names are spelled otherwise."""
    after, edit = before, ""
    for number in range(chance.choice([1, 1, 1, 2])):
        edit = "letter case" if about_spelling else chance.choice(_EDITS)
        after = _edited(chance, before, after, edit, number, plain)
    return after, edit


def _edited(
    chance: random.Random, before: WideProgram, program: WideProgram, edit: str, number: int, plain: bool
) -> WideProgram:
    at = chance.randrange(len(program.tables))
    table = program.tables[at]
    columns, place = list(table.columns), chance.randrange(len(table.columns))
    free = [one for one in POOL if one not in dict(columns)] or ["h"]
    view_at = chance.randrange(len(program.views))
    view = program.views[view_at]
    match edit:
        case "rename column":
            if table not in before.tables:
                return program
            old, new = columns[place][0], chance.choice([*free, f"h{number}"])
            columns[place] = (new, columns[place][1])
            found = replace(program, moved=(*program.moved, (f"{table.name}.{old}", f"{table.name}.{new}")))
            if chance.random() < 0.4:
                found = _rewritten(found, old, new, None if chance.random() < 0.3 else table.name)
            return _with_table(found, at, columns)
        case "trade columns" if len(columns) > 1 and table in before.tables and not program.moved:
            (old, kind), (other, second) = columns[place], columns[place - 1]
            columns[place], columns[place - 1] = (other, kind), (old, second)
            pairs = [(old, other), (other, old)]
            found = replace(program, moved=tuple((f"{table.name}.{one}", f"{table.name}.{new}") for one, new in pairs))
            if chance.random() < 0.5:
                found = _rewritten(_rewritten(_rewritten(found, old, "zz", None), other, old, None), "zz", other, None)
            return _with_table(found, at, columns)
        case "add column":
            columns.insert(chance.choice([place, len(columns)]), (chance.choice(free), "INT"))
        case "drop column" if len(columns) > 1:
            del columns[place]
        case "turn columns":
            chance.shuffle(columns)
        case "widen" if columns[place][1] == "INT":
            columns[place] = (columns[place][0], "BIGINT")
        case "rename relation" if not program.moved:
            old, new = chance.choice([table.name, view.name]), f"z{number}"
            found = _rewritten(program, old, new, None)
            tables = tuple(replace(one, name=new) if one.name == old else one for one in found.tables)
            views = tuple(replace(one, name=new) if one.name == old else one for one in found.views)
            return replace(found, tables=tables, views=views, moved=((old, new),))
        case "function" if program.functions:
            functions = ((program.functions[0][0], chance.choice(["x + 2", "x", "coalesce(x, 0)"])), *program.functions[1:])
            return replace(program, functions=functions)
        case "word" | "letter case" if view.listed and chance.random() < 0.5:
            listed, place = list(view.listed), chance.randrange(len(view.listed))
            listed[place] = listed[place].swapcase() if edit == "letter case" else chance.choice(POOL)
            return _with_view(program, view_at, replace(view, listed=tuple(listed)))
        case "word" | "literal" | "letter case":
            pattern = re.compile(r"\b[0-9]\b") if edit == "literal" else WORDS
            places = list(pattern.finditer(view.query))
            if not places:
                return program
            one = chance.choice(places)
            other = one.group().upper() if edit == "letter case" else chance.choice(POOL if edit == "word" else "0123")
            query = view.query[: one.start()] + other + view.query[one.end() :]
            return _with_view(program, view_at, replace(view, query=query))
        case "query":
            relations = {one.name: tuple(name for name, _ in one.columns) for one in program.tables}
            relations |= {one.name: one.columns for one in program.views[:view_at] if one.columns}
            callable_names = tuple(name for name, _ in program.functions)
            query, names = _Maker(chance, relations, callable_names, plain, program.setting).query()
            return _with_view(program, view_at, replace(view, query=query, columns=names))
    return _with_table(program, at, columns)


def _with_table(program: WideProgram, at: int, columns: list[tuple[str, str]]) -> WideProgram:
    tables = list(program.tables)
    tables[at] = replace(tables[at], columns=tuple(columns))
    return replace(program, tables=tuple(tables))


def _with_view(program: WideProgram, at: int, view: WideView) -> WideProgram:
    return replace(program, views=tuple(view if index == at else one for index, one in enumerate(program.views)))


def _rewritten(program: WideProgram, old: str, new: str, only: str | None) -> WideProgram:
    """The program with a name replaced in the queries that hold the word `only` (None: in all)."""
    found = re.compile(rf"\b{old}\b")
    views = tuple(
        replace(one, query=found.sub(new, one.query)) if only is None or re.search(rf"\b{only}\b", one.query) else one
        for one in program.views
    )
    return replace(program, views=views)


_CELLS: Final = {
    "xs": ("array(1, 2)", "array(3)", "array()", "NULL"),
    "m": ("map('a', 1, 'b', 2)", "map('b', 3)", "NULL"),
    "s": ("named_struct('a', 1, 'b', 2)", "named_struct('a', 3, 'b', NULL)", "NULL"),
    "p": ("""'{"a": 1, "b": 2}'""", """'{"c": 3}'""", "NULL"),
}
_NUMBERS: Final = ("NULL", "0", "1", "1", "2", "3")


def rows_of(chance: random.Random, table: WideTable) -> tuple[tuple[str, ...], ...]:
    """Rows of a table, each cell as SQL writes it."""
    count = chance.choice([4, 5, 7])
    return tuple(tuple(chance.choice(_CELLS.get(name, _NUMBERS)) for name, _ in table.columns) for _ in range(count))
