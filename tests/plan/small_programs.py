"""Small random programs over tables of integers, with rows and random edits, that SQLite and Spark read alike.

A program is tables and views, each view over what stands before it. An edited program is mended where an edit took away what
a view reads: that view gets another query. So every pair of programs is valid, and most views of a pair are the same.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as some

from reconciler.base.diagnostics import errors_among
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot

Row = tuple[int | None, ...]
Environment = Mapping[str, tuple[str, ...]]
"""Relation → its columns."""

TYPES = ("SMALLINT", "INT", "BIGINT")
KINDS = ("VIEW", "LOCAL VIEW", "MATERIALIZED VIEW", "MATERIALIZED VIEW", "MATERIALIZED VIEW")


@dataclass(frozen=True, slots=True)
class Select:
    """A query in parts. `star`: all columns of `x` come first."""

    items: tuple[tuple[str, str], ...]
    origin: str
    star: bool = False
    distinct: bool = False
    where: str = ""
    group: tuple[str, ...] = ()
    having: str = ""
    grouped: bool = False
    limited: bool = False
    word: str = ""
    other: "Select | None" = None

    @property
    def text(self) -> str:
        items = [*(["x.*"] if self.star else []), *(f"{value} AS {name}" for value, name in self.items)]
        text = f"SELECT {'DISTINCT ' if self.distinct else ''}{', '.join(items)} FROM {self.origin}"
        text += f" WHERE {self.where}" if self.where else ""
        text += f" GROUP BY {', '.join(self.group)}" if self.group else ""
        text += f" HAVING {self.having}" if self.having else ""
        if self.limited:
            # All columns order it, so that ties are equal.
            text += f" ORDER BY {', '.join(name for _, name in self.items)} LIMIT 2"
        return f"{text} {self.word} {self.other.text}" if self.other else text


@dataclass(frozen=True, slots=True)
class SmallTable:
    """A table: columns with their types, and what may stand behind them."""

    name: str
    columns: tuple[tuple[str, str], ...]
    clauses: Mapping[str, str]
    properties: str = ""

    @property
    def text(self) -> str:
        columns = ", ".join(f"{name} {kind} {self.clauses.get(name, '')}".strip() for name, kind in self.columns)
        return f"CREATE TABLE {self.name} ({columns}){self.properties};"


@dataclass(frozen=True, slots=True)
class SmallView:
    """A view; `names` is the list behind its name, often empty."""

    name: str
    kind: str
    query: str
    names: tuple[str, ...] = ()
    parts: Select | None = None

    @property
    def text(self) -> str:
        names = f" ({', '.join(self.names)})" if self.names else ""
        return f"CREATE {self.kind} {self.name}{names} AS {self.query};"


@dataclass(frozen=True, slots=True)
class SmallProgram:
    """Tables, views in an order in which each comes after what it reads, and the pipeline's settings."""

    tables: tuple[SmallTable, ...]
    views: tuple[SmallView, ...]
    evolution: str = "evolve"
    spark: tuple[tuple[str, str], ...] = ()
    moved: tuple[tuple[str, str], ...] = ()

    @property
    def sql(self) -> str:
        return "\n".join(one.text for one in (*self.tables, *self.views))

    @property
    def yaml(self) -> str:
        spark = ", ".join(f"{name}: '{value}'" for name, value in self.spark)
        moved = ", ".join(f"{{from: {old}, to: {new}}}" for old, new in self.moved)
        spec = f"{{evolution: {self.evolution}, runtime: {{spark: {{{spark}}}}}, moved: [{moved}]}}"
        return f"apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {{name: shop}}\nspec: {spec}\n"

    @property
    def files(self) -> dict[str, str]:
        return {"pipelines/shop/pipeline.yaml": self.yaml, "pipelines/shop/program.sql": self.sql}


@dataclass(frozen=True, slots=True)
class Edited:
    """A program with the rows of its tables, and the same program edited."""

    applied: SmallProgram
    desired: SmallProgram
    rows: Mapping[str, tuple[Row, ...]]
    edits: tuple[str, ...]


def snapshot_of(files: Mapping[str, str]) -> Snapshot:
    """The snapshot of a small program's files, which must be right."""
    read = read_manifest("pipelines/shop", files, {})
    assert read.manifest is not None, read.diagnostics
    compiled = compile_program(read.manifest, complete=read.complete)
    assert errors_among((*read.diagnostics, *compiled.diagnostics)) == ()
    return take_snapshot(compiled.program)


def columns_of(query: str, names: tuple[str, ...], environment: Environment) -> tuple[str, ...] | None:
    """The columns of a query, or None where it is not valid over these relations."""
    connection = sqlite3.connect(":memory:")
    try:
        for name, columns in environment.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        found = tuple(part[0] for part in connection.execute(query).description)
    except sqlite3.OperationalError:
        return None
    finally:
        connection.close()
    if names and len(names) != len(found):
        return None
    return None if len(set(names or found)) < len(found) else names or found


@some.composite
def values(draw: some.DrawFn, columns: Sequence[str], environment: Environment, depth: int = 1) -> str:
    column, other = draw(some.sampled_from(columns)), draw(some.sampled_from(columns))
    shapes = [column, column, f"{column} + 1", f"coalesce({column}, {other})", f"{column} * {other}"]
    shapes.append(f"CASE WHEN {column} > 1 THEN {other} ELSE 0 END")
    if depth and draw(some.integers(0, 3)) == 0:
        relation = draw(some.sampled_from(sorted(environment)))
        one, two = (draw(some.sampled_from(environment[relation])) for _ in range(2))
        shapes = [
            f"(SELECT max(i.{one}) FROM {relation} AS i WHERE i.{two} = {column})",
            f"(SELECT count(*) FROM {relation} AS i WHERE i.{one} > {column})",
            f"(SELECT sum(i.{one}) FROM {relation} AS i)",
        ]
    return draw(some.sampled_from(shapes))


@some.composite
def conditions(draw: some.DrawFn, columns: Sequence[str], environment: Environment) -> str:
    value, other = draw(values(columns, environment, 0)), draw(some.sampled_from(columns))
    relation = draw(some.sampled_from(sorted(environment)))
    one, two = (draw(some.sampled_from(environment[relation])) for _ in range(2))
    shapes = [f"{value} > 0", f"{value} = {other}", f"{other} IS NULL", f"NOT {value} < {other}"]
    shapes.append(f"{other} IN (SELECT i.{one} FROM {relation} AS i WHERE i.{two} > 0)")
    shapes.append(f"EXISTS (SELECT * FROM {relation} AS i WHERE i.{one} = {other})")
    return draw(some.sampled_from(shapes))


AGGREGATES = (
    "sum({})",
    "count({})",
    "max({})",
    "min({})",
    "count(DISTINCT {})",
    "count(*)",
    "sum({}) FILTER (WHERE {} > 0)",
)
WINDOWS = ("sum({})", "count({})", "rank()", "dense_rank()")


@some.composite
def aggregates(draw: some.DrawFn, columns: Sequence[str]) -> str:
    one, other = draw(some.sampled_from(columns)), draw(some.sampled_from(columns))
    return draw(some.sampled_from(AGGREGATES)).format(one, other)


@some.composite
def windows(draw: some.DrawFn, columns: Sequence[str]) -> str:
    one, other, third = (draw(some.sampled_from(columns)) for _ in range(3))
    return f"{draw(some.sampled_from(WINDOWS)).format(one)} OVER (PARTITION BY {other} ORDER BY {third})"


@some.composite
def selects(draw: some.DrawFn, environment: Environment, nested: bool = True) -> Select:
    """Any query over these relations; the last ones are likelier."""
    names = sorted(environment)
    left = draw(some.sampled_from([*environment, *[*environment][-2:] * 3]))
    origin, columns = f"{left} AS x", [f"x.{name}" for name in environment[left]]
    if nested and draw(some.integers(0, 5)) == 0:
        inner = draw(selects(environment, False))
        found = columns_of(inner.text, (), environment)
        assert found is not None
        origin, columns = f"({inner.text}) AS x", [f"x.{name}" for name in found]
    visible = list(columns)
    join = draw(some.sampled_from(["", "", "", "JOIN", "LEFT JOIN", ","]))
    if join:
        right = draw(some.sampled_from(names))
        visible += [f"y.{name}" for name in environment[right]]
        origin += f" {join} {right} AS y" if join != "," else f", {right} AS y"
        origin += f" ON {draw(conditions(visible, environment))}" if join != "," else ""
    where = draw(conditions(visible, environment)) if draw(some.booleans()) else ""
    if draw(some.integers(0, 4)) == 0:
        keys = draw(some.lists(values(visible, environment, 0), max_size=2, unique=True))
        listed = [*keys, *(draw(aggregates(visible)) for _ in range(draw(some.integers(1, 2))))]
        having = f"{draw(aggregates(visible))} IN (1, 2)" if keys and draw(some.booleans()) else ""
        return Select(_named(listed, ()), origin, where=where, group=tuple(keys), having=having, grouped=True)
    star = draw(some.integers(0, 3)) == 0
    count = draw(some.integers(0 if star else 1, 2 if star else 4))
    listed = [draw(values(visible, environment) | values(visible, environment) | windows(visible)) for _ in range(count)]
    items = _named(listed, [one.removeprefix("x.") for one in columns] if star else ())
    made = Select(items, origin, star, draw(some.integers(0, 7)) == 0, where)
    if star:
        return made
    if draw(some.integers(0, 9)) == 0:
        return replace(made, limited=True)
    if nested and draw(some.integers(0, 5)) == 0:
        other = draw(selects(environment, False))
        if not other.star and not other.limited and len(other.items) == len(items):
            word = draw(some.sampled_from(["UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT"]))
            return replace(made, word=word, other=other)
    return made


def _named(listed: Sequence[str], taken: Sequence[str]) -> tuple[tuple[str, str], ...]:
    free = (name for number in range(99) if (name := f"o{number}") not in taken)
    return tuple(zip(listed, free, strict=False))


@some.composite
def views(draw: some.DrawFn, name: str, environment: Environment) -> SmallView:
    parts = draw(selects(environment))
    return SmallView(name, draw(some.sampled_from(KINDS)), parts.text, parts=parts)


TABLES = {"t": ("a", "b", "c"), "u": ("a", "d", "e"), "w": ("b", "g")}


@some.composite
def programs(draw: some.DrawFn) -> SmallProgram:
    """A program of two or three tables and two to six views."""
    tables = tuple(
        SmallTable(name, tuple((column, draw(some.sampled_from(TYPES[:2]))) for column in TABLES[name]), {})
        for name in list(TABLES)[: draw(some.integers(2, 3))]
    )
    drafts = [SmallView(f"v{number}", "", "") for number in range(draw(some.sampled_from([2, 3, 4, 4, 5, 5, 6, 6])))]
    spark = (("spark.sql.ansi.enabled", "true"),) if draw(some.integers(0, 5)) == 0 else ()
    evolution = draw(some.sampled_from(["evolve", "evolve", "clear"]))
    return draw(mended(SmallProgram(tables, tuple(drafts), evolution, spark)))


@some.composite
def mended(draw: some.DrawFn, program: SmallProgram) -> SmallProgram:
    """The program with other queries where what they read is not there."""
    environment = {table.name: tuple(name for name, _ in table.columns) for table in program.tables}
    good: list[SmallView] = []
    for view in program.views:
        columns = columns_of(view.query, view.names, environment) if view.query else None
        if columns is None:
            made = draw(views(view.name, environment))
            view = replace(made, kind=view.kind or made.kind)
            columns = columns_of(view.query, (), environment)
            assert columns is not None, view.text
        environment[view.name] = columns
        good.append(view)
    known = {*environment, *(f"{table.name}.{name}" for table in program.tables for name, _ in table.columns)}
    moved = tuple(move for move in program.moved if move[1] in known)
    return replace(program, views=tuple(good), moved=moved)


@some.composite
def edited(draw: some.DrawFn) -> Edited:
    """A program, rows, and one to three edits of it."""
    applied = draw(programs())
    desired, edits = applied, []
    for number in range(draw(some.sampled_from([1, 1, 1, 2, 3]))):
        edit = draw(some.sampled_from(_EDITS))
        edits.append(edit)
        desired = draw(_one_edit(desired, applied, edit, number))
    desired = draw(mended(desired))
    rows = {}
    for table in applied.tables:
        one = some.tuples(*[some.none() | some.integers(0, 3)] * len(table.columns))
        rows[table.name] = tuple(draw(some.lists(one, min_size=1, max_size=5)))
    return Edited(applied, desired, rows, tuple(edits))


@some.composite
def chained(draw: some.DrawFn) -> Edited:
    """A chain of views over one table, of whose first view one or two columns are edited: who is reached is a matter of
    columns alone."""
    tables = (SmallTable("t", tuple((name, "INT") for name in TABLES["t"]), {}),)
    first = Select((("x.a", "o0"), ("x.b", "o1"), ("x.c", "o2")), "t AS x")
    environment: dict[str, tuple[str, ...]] = {"v0": ("o0", "o1", "o2")}
    found = [SmallView("v0", KINDS[2], first.text, parts=first)]
    for number in range(1, draw(some.integers(2, 5))):
        left, right = f"v{number - 1}", draw(some.sampled_from([*environment]))
        shape = draw(some.sampled_from(["", "", "", "distinct", "group", "join", "left join", "in", "window", "union"]))
        columns = [f"x.{name}" for name in environment[left]]
        if shape.endswith("join"):
            columns += [f"y.{name}" for name in environment[right]]
        one, other = (draw(some.sampled_from(columns)) for _ in range(2))
        beyond = draw(some.sampled_from(environment[right]))
        origin, where = f"{left} AS x", f"{one} > {draw(some.integers(0, 2))}" if draw(some.booleans()) else ""
        if shape.endswith("join"):
            key = draw(some.sampled_from(environment[right]))
            origin += f" {shape.upper()} {right} AS y ON x.{draw(some.sampled_from(environment[left]))} = y.{key}"
        if shape == "in":
            where = f"{other} IN (SELECT i.{beyond} FROM {right} AS i)"
        listed = [f"{draw(some.sampled_from(columns))}{draw(some.sampled_from(['', '', ' + 1']))}" for _ in range(2)]
        if shape == "group":
            made = Select(_named([one, f"sum({other})", "count(*)"], ()), origin, where=where, group=(one,), grouped=True)
        else:
            listed += [f"sum({one}) OVER (ORDER BY {other})"] if shape == "window" else []
            made = Select(_named(listed, ()), origin, distinct=shape == "distinct", where=where)
        if shape == "union":
            second = Select(_named([f"z.{beyond}", f"z.{environment[right][0]}"], ()), f"{right} AS z")
            made = replace(made, word=draw(some.sampled_from(["UNION ALL", "EXCEPT", "UNION"])), other=second)
        environment[f"v{number}"] = tuple(name for _, name in made.items)
        found.append(SmallView(f"v{number}", draw(some.sampled_from(KINDS)), made.text, parts=made))
    items = list(first.items)
    for place in draw(some.sampled_from([(0,), (1,), (2,), (0, 1), (1, 2)])):
        items[place] = (draw(some.sampled_from(["x.a + 2", "x.c", "x.b * 2", "3 - x.c", "NULL + x.a"])), f"o{place}")
    edited_first = replace(first, items=tuple(items))
    applied = SmallProgram(tables, tuple(found))
    desired = replace(applied, views=(replace(found[0], query=edited_first.text, parts=edited_first), *found[1:]))
    rows = tuple(draw(some.lists(some.tuples(*[some.none() | some.integers(0, 3)] * 3), min_size=2, max_size=6)))
    return Edited(applied, desired, {"t": rows}, ("chain",))


_EDITS = (
    *("add column", "drop column", "retype", "reorder", "rename column", "rename table", "default", "property", "evolution"),
    *("item", "item", "item", "item", "item", "item", "add item", "drop item", "turn items", "order of items"),
    *("where", "distinct", "query", "setting", "swap names"),
    *("add table", "remove table", "table to view", "add view", "remove view", "rename view", "kind", "kind", "names"),
)


@some.composite
def _one_edit(draw: some.DrawFn, program: SmallProgram, applied: SmallProgram, edit: str, number: int) -> SmallProgram:
    table = draw(some.sampled_from(program.tables))
    view = draw(some.sampled_from(program.views)) if program.views else None
    place = draw(some.integers(0, len(table.columns) - 1))
    match edit:
        case "evolution":
            return replace(program, evolution="clear" if program.evolution == "evolve" else "evolve")
        case "setting":
            zone = (("spark.sql.session.timeZone", "UTC"),)
            return replace(program, spark=() if program.spark else zone)
        case "rename column" if table in applied.tables:
            old, new = table.columns[place][0], f"h{number}"
            columns = tuple((new if name == old else name, kind) for name, kind in table.columns)
            changed = _with_table(program, replace(table, columns=columns))
            changed = replace(changed, moved=(*program.moved, (f"{table.name}.{old}", f"{table.name}.{new}")))
            return _rewritten(changed, old, new) if draw(some.booleans()) else changed
        case "rename table" if table in applied.tables and not program.moved:
            new = f"k{number}"
            tables = tuple(replace(one, name=new) if one is table else one for one in program.tables)
            changed = replace(program, tables=tables, moved=(*program.moved, (table.name, new)))
            return _rewritten(changed, table.name, new)
        case "table to view" if len(program.tables) > 2:
            tables = tuple(one for one in program.tables if one is not table)
            first = SmallView(table.name, "MATERIALIZED VIEW", f"SELECT x.a AS a, x.a + 1 AS b FROM {tables[0].name} AS x")
            return replace(program, tables=tables, views=(first, *program.views))
        case "add table":
            new_table = SmallTable(f"s{number}", (("a", "INT"), ("b", "INT")), {})
            return replace(program, tables=(*program.tables, new_table))
        case "remove table" if len(program.tables) > 1:
            return replace(program, tables=tuple(one for one in program.tables if one is not table))
        case "add column" | "drop column" | "retype" | "reorder" | "default" | "property" | "swap names":
            return _with_table(program, draw(_edited_table(table, edit, place, number)))
        case "add view":
            at = draw(some.integers(0, len(program.views)))
            new_view = SmallView(f"n{number}", "", "")
            return replace(program, views=(*program.views[:at], new_view, *program.views[at:]))
    if view is None:
        return program
    match edit:
        case "remove view":
            return replace(program, views=tuple(one for one in program.views if one is not view))
        case "rename view" if view in applied.views:
            new = f"m{number}"
            found = tuple(replace(one, name=new) if one is view else one for one in program.views)
            return _rewritten(replace(program, views=found, moved=(*program.moved, (view.name, new))), view.name, new)
        case "kind":
            return _with_view(program, view, replace(view, kind=draw(some.sampled_from(KINDS[:3]))))
        case "names":
            wide = len(view.parts.items) if view.parts and not view.parts.star else 1
            names = draw(some.permutations([f"o{index}" for index in range(wide)]))
            return _with_view(program, view, replace(view, names=() if view.names else tuple(names)))
        case "query":
            return _with_view(program, view, replace(view, query="", names=()))
    if view.parts is None:
        return program
    before = {one.name: tuple(name for name, _ in one.columns) for one in program.tables}
    parts = draw(_edited_query(view.parts, edit, before))
    return _with_view(program, view, replace(view, query=parts.text, parts=parts))


@some.composite
def _edited_table(draw: some.DrawFn, table: SmallTable, edit: str, place: int, number: int) -> SmallTable:
    columns, (name, kind) = list(table.columns), table.columns[place]
    match edit:
        case "add column":
            columns.insert(draw(some.sampled_from([place, len(columns)])), (f"f{number}", "INT"))
        case "drop column" if len(columns) > 1:
            del columns[place]
        case "retype":
            columns[place] = (name, draw(some.sampled_from([one for one in TYPES if one != kind])))
        case "reorder":
            columns = draw(some.permutations(columns))
        case "swap names" if len(columns) > 1:
            columns[place], columns[place - 1] = (columns[place - 1][0], kind), (name, columns[place - 1][1])
        case "default":
            return replace(table, clauses={name: "DEFAULT 7"})
        case "property":
            return replace(table, properties="" if table.properties else " WITH ('materialized' = 'true')")
    return replace(table, columns=tuple(columns))


@some.composite
def _edited_query(draw: some.DrawFn, parts: Select, edit: str, environment: Environment) -> Select:
    items = list(parts.items)
    visible = sorted(set(re.findall(r"\b[xy]\.\w+", parts.text)))
    place = draw(some.integers(0, max(len(items) - 1, 0)))
    match edit:
        case "item" | "add item" if visible:
            value = draw(aggregates(visible)) if parts.grouped else draw(values(visible, environment) | windows(visible))
            if edit == "item" and items:
                items[place] = (value, items[place][1])
            elif edit == "add item":
                items.append((value, f"z{len(items)}"))
        case "drop item" if len(items) > 1:
            del items[place]
        case "turn items" if len(items) > 1:
            items[place], items[place - 1] = (items[place - 1][0], items[place][1]), (items[place][0], items[place - 1][1])
        case "order of items":
            items = draw(some.permutations(items))
        case "where" if visible:
            return replace(parts, where="" if parts.where else draw(conditions(visible, environment)))
        case "distinct":
            return replace(parts, distinct=not parts.distinct)
    return replace(parts, items=tuple(items))


def _with_table(program: SmallProgram, table: SmallTable) -> SmallProgram:
    return replace(program, tables=tuple(table if one.name == table.name else one for one in program.tables))


def _with_view(program: SmallProgram, old: SmallView, new: SmallView) -> SmallProgram:
    return replace(program, views=tuple(new if one is old else one for one in program.views))


def _rewritten(program: SmallProgram, old: str, new: str) -> SmallProgram:
    """The program with a name replaced in all queries."""
    found = re.compile(rf"\b{old}\b")
    return replace(program, views=tuple(replace(one, query=found.sub(new, one.query), parts=None) for one in program.views))
