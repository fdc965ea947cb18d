"""Programs for benchmarks: 20 base tables and any number of views, as a pipeline and as the same models for dbt and SQLMesh.

Rules:
- The same size gives the same bytes, on every machine and in every version of Python.
- A third of the views filter and project one relation, a third join two, a third aggregate one. Each is a file of about
  ten lines.
- The first view is `core`, over one base table. 13 of every 20 views descend from it, so that a change of the literal in
  its WHERE changes what 65 % of the views contain.
- No view stands deeper than `DEEPEST` views above the tables, however many there are.
- All three forms hold the same SELECTs; what differs is how a relation is named in FROM.

Not here: whether anything is applied, and measuring.
"""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

PIPELINE: Final = "big"
CORE: Final = "core"
DEEPEST: Final = 20
_SEED: Final = 20
_THRESHOLD: Final = "10.00"
_CHANGED_THRESHOLD: Final = "12.50"

_TABLES: Final = (
    *("orders", "customers", "products", "stores", "suppliers", "shipments", "payments", "refunds", "invoices", "employees"),
    *("regions", "visits", "campaigns", "prices", "stocks", "parcels", "contracts", "tickets", "accounts", "devices"),
)
_TYPES: Final[Mapping[str, str]] = {
    "key": "BIGINT",
    "label": "STRING",
    "amount": "DECIMAL(12, 2)",
    "rate": "DOUBLE",
    "day": "DATE",
    "number": "INT",
}
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "label": ("status", "segment", "channel", "brand", "category", "priority", "origin", "currency"),
    "amount": ("amount", "revenue", "cost", "tax", "discount", "balance", "fee", "margin"),
    "rate": ("ratio", "weight", "score", "share", "factor"),
    "day": ("created_on", "due_on", "shipped_on", "closed_on", "seen_on"),
    "number": ("quantity", "attempts", "lines", "visits_made", "parts"),
}

Column: TypeAlias = tuple[str, str]
"""A column's name and its kind, a key of `_TYPES`."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view. Every relation has columns of the kinds key, label, amount and day."""

    name: str
    columns: tuple[Column, ...]

    def pick(self, kind: str, number: int = 0) -> str:
        """The name of a column of that kind."""
        names = [name for name, found in self.columns if found == kind]
        return names[number % len(names)]


@dataclass(frozen=True, slots=True)
class View:
    """A view. `template` is its query, with `{name}` for each relation that it reads (`reads`, sorted)."""

    relation: Relation
    template: str
    reads: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.relation.name

    def query(self, spell: Callable[[str], str]) -> str:
        """The query with its relations spelled."""
        return self.template.format_map({name: spell(name) for name in self.reads})


@dataclass(frozen=True, slots=True)
class Program:
    """Tables, and views in an order in which each comes after what it reads."""

    tables: tuple[Relation, ...]
    views: tuple[View, ...]

    def descendants(self, name: str) -> frozenset[str]:
        """The views that read a relation, directly or through others."""
        found: set[str] = set()
        for view in self.views:
            if any(read == name or read in found for read in view.reads):
                found.add(view.name)
        return frozenset(found)


def make_program(views: int, changed: bool = False) -> Program:
    """The program of that many views. `changed`: with another literal in the WHERE of `core`."""
    tables = tuple(_table(number, name) for number, name in enumerate(_TABLES))
    made = [_core(tables[0], _CHANGED_THRESHOLD if changed else _THRESHOLD)]
    depths = {CORE: 1}
    below, beside = [made[0].relation], list(tables)
    numbers = random.Random(_SEED)
    for number in range(1, views):
        is_below = number * 7 % 20 < 13
        first = _one_of(below if is_below else beside, numbers, depths)
        second = _one_of(beside, numbers, depths)
        view = _view(number, first, second, numbers)
        depths[view.name] = 1 + max(depths.get(read, 0) for read in view.reads)
        made.append(view)
        (below if is_below else beside).append(view.relation)
    return Program(tables, tuple(made))


def column_types(program: Program) -> dict[str, dict[str, str]]:
    """Relation → column → type, as Spark would about have it."""
    relations = (*program.tables, *(view.relation for view in program.views))
    return {one.name: {name: _TYPES[kind].lower().replace(" ", "") for name, kind in one.columns} for one in relations}


def write_pipeline(program: Program, root: Path) -> None:
    """The program as a repository with one pipeline."""
    folder = root / "pipelines" / PIPELINE
    _write(root / "reconcile.yaml", "environments: {bench: {warehouse: warehouse}}\ndefault: bench\n")
    manifest = {
        "apiVersion": "reconciler/v1",
        "kind": "Pipeline",
        "metadata": {"name": PIPELINE, "description": "Views to measure planning with", "owner": "benchmarks"},
        "spec": {"bootstrap_policy": "await_approval"},
    }
    _write(folder / "pipeline.yaml", json.dumps(manifest, indent=2) + "\n")
    _write(folder / "tables.sql", "\n".join(_create_table(table) for table in program.tables))
    for view in program.views:
        write_view(view, root)


def write_view(view: View, root: Path) -> None:
    """One view's file of a repository that `write_pipeline` wrote."""
    text = f"CREATE MATERIALIZED VIEW {view.name} AS\n{view.query(lambda name: name)};\n"
    _write(root / "pipelines" / PIPELINE / f"{view.name}.sql", text)


def write_dbt(program: Program, root: Path) -> None:
    """The program as a dbt project: tables are sources, views are models."""
    _write(
        root / "dbt_project.yml",
        "name: big\nversion: '1.0'\nprofile: big\nmodel-paths: [models]\nmodels: {big: {+materialized: table}}\n",
    )
    _write(root / "profiles.yml", "big: {target: dev, outputs: {dev: {type: duckdb, path: big.duckdb}}}\n")
    tables = [{"name": table.name, "columns": [{"name": name} for name, _ in table.columns]} for table in program.tables]
    sources = {"version": 2, "sources": [{"name": "raw", "schema": "raw", "tables": tables}]}
    _write(root / "models" / "sources.yml", json.dumps(sources, indent=1) + "\n")
    for view in program.views:
        write_dbt_model(program, view, root)


def write_dbt_model(program: Program, view: View, root: Path) -> None:
    """One model's file of a project that `write_dbt` wrote."""
    tables = {table.name for table in program.tables}

    def spell(name: str) -> str:
        return f"{{{{ source('raw', '{name}') }}}}" if name in tables else f"{{{{ ref('{name}') }}}}"

    _write(root / "models" / f"{view.name}.sql", view.query(spell) + "\n")


def write_sqlmesh(program: Program, root: Path) -> None:
    """The program as a SQLMesh project: tables are external models with their types, views are FULL models.
    `tables.sql` makes the tables in DuckDB, where SQLMesh wants to find them."""
    _write(
        root / "config.yaml",
        "gateways: {local: {connection: {type: duckdb, database: big.duckdb}}}\ndefault_gateway: local\n"
        "model_defaults: {dialect: duckdb, start: '2024-01-01'}\n",
    )
    external = [
        {"name": f"raw.{table.name}", "columns": {name: _duckdb_type(kind) for name, kind in table.columns}}
        for table in program.tables
    ]
    _write(root / "external_models.yaml", json.dumps(external, indent=1) + "\n")
    created = [
        f"CREATE TABLE raw.{table.name} ({', '.join(f'{name} {_duckdb_type(kind)}' for name, kind in table.columns)});"
        for table in program.tables
    ]
    _write(root / "tables.sql", "\n".join(["CREATE SCHEMA raw;", *created, ""]))
    for view in program.views:
        write_sqlmesh_model(program, view, root)


def write_sqlmesh_model(program: Program, view: View, root: Path) -> None:
    """One model's file of a project that `write_sqlmesh` wrote."""
    tables = {table.name for table in program.tables}
    query = view.query(lambda name: f"raw.{name}" if name in tables else f"big.{name}")
    _write(root / "models" / f"{view.name}.sql", f"MODEL (name big.{view.name}, kind FULL);\n\n{query}\n")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _duckdb_type(kind: str) -> str:
    return "VARCHAR" if kind == "label" else _TYPES[kind]


def _table(number: int, name: str) -> Relation:
    one = name.removesuffix("s").removesuffix("ie")
    columns: list[Column] = [(f"{one}_id", "key"), (f"{one}_group_id", "key")]
    for kind in ("label", "label", "amount", "amount", "day", "rate", "number"):
        words = _WORDS[kind]
        taken = sum(found == kind for _, found in columns)
        columns.append((f"{one}_{words[(number + taken) % len(words)]}", kind))
    # Tables differ in width: rates and numbers are not everywhere.
    return Relation(name, tuple(columns[: len(columns) - number % 3]))


def _create_table(table: Relation) -> str:
    lines = [f"  {name} {_TYPES[kind]}" for name, kind in table.columns]
    return f"CREATE TABLE {table.name} (\n" + ",\n".join(lines) + "\n) WITH ('materialized' = 'true');\n"


def _one_of(relations: list[Relation], numbers: random.Random, depths: Mapping[str, int]) -> Relation:
    while True:
        # `random()` alone is promised to give the same numbers in every version of Python.
        found = relations[int(numbers.random() * len(relations))]
        if depths.get(found.name, 0) < DEEPEST:
            return found


def _core(table: Relation, threshold: str) -> View:
    lines = [f"  b.{name}" for name, _ in table.columns]
    query = "SELECT\n" + ",\n".join(lines) + f"\nFROM {{{table.name}}} AS b\nWHERE b.{table.pick('amount')} > {threshold}"
    return View(Relation(CORE, table.columns), query, (table.name,))


def _view(number: int, first: Relation, second: Relation, numbers: random.Random) -> View:
    literal, day = int(numbers.random() * 500), f"DATE '2024-{1 + number % 12:02d}-{1 + number % 28:02d}'"
    match number % 3:
        case 0:
            return _filtering(number, first, literal, day)
        case 1:
            return _joining(number, first, second, literal, day)
        case _:
            return _aggregating(number, first, literal, day)


def _filtering(number: int, source: Relation, literal: int, day: str) -> View:
    amount, label = source.pick("amount", number), source.pick("label", number)
    selected = [
        (f"a.{source.pick('key', number)}", _key(number), "key"),
        (f"a.{source.pick('key')}", f"parent_{number}_id", "key"),
        (f"upper(a.{label})", _word("label", number), "label"),
        (f"CASE WHEN a.{amount} > {literal + 50} THEN 'large' ELSE 'small' END", f"size_{number}", "label"),
        (f"CAST(a.{amount} * 1.{literal:03d} AS DECIMAL(12, 2))", _word("amount", number), "amount"),
        (f"a.{source.pick('day')}", _word("day", number), "day"),
    ]
    tail = f"FROM {{{source.name}}} AS a\nWHERE a.{amount} > {literal}.50\n  AND a.{source.pick('day')} >= {day}"
    return _made(f"kept_{number:05d}", selected, tail, source)


def _joining(number: int, left: Relation, right: Relation, literal: int, day: str) -> View:
    join = "LEFT JOIN" if number % 2 else "JOIN"
    selected = [
        (f"l.{left.pick('key')}", _key(number), "key"),
        (f"l.{left.pick('label')}", _word("label", number), "label"),
        (f"coalesce(r.{right.pick('label', number)}, 'none')", f"other_{_word('label', number + 1)}", "label"),
        (f"l.{left.pick('amount')} + coalesce(r.{right.pick('amount')}, 0)", _word("amount", number), "amount"),
        (f"r.{right.pick('amount', number)}", f"other_{_word('amount', number + 1)}", "amount"),
        (f"l.{left.pick('day')}", _word("day", number), "day"),
    ]
    tail = (
        f"FROM {{{left.name}}} AS l\n"
        f"{join} {{{right.name}}} AS r ON l.{left.pick('key', number)} = r.{right.pick('key', number)}\n"
        f"WHERE l.{left.pick('day')} >= {day} OR l.{left.pick('amount')} < {literal}.25"
    )
    return _made(f"joined_{number:05d}", selected, tail, left, right)


def _aggregating(number: int, source: Relation, literal: int, day: str) -> View:
    key, label, amount = source.pick("key", number), source.pick("label", number), source.pick("amount")
    selected = [
        (f"a.{key}", _key(number), "key"),
        (f"a.{label}", _word("label", number), "label"),
        ("count(*)", f"rows_{number}", "number"),
        (f"sum(a.{amount})", f"total_{_word('amount', number)}", "amount"),
        (f"avg(a.{source.pick('amount', number)})", f"mean_{_word('rate', number)}", "rate"),
        (f"max(a.{source.pick('day')})", f"last_{_word('day', number)}", "day"),
    ]
    tail = (
        f"FROM {{{source.name}}} AS a\nWHERE a.{source.pick('day')} < {day}\n"
        f"GROUP BY a.{key}, a.{label}\nHAVING count(*) > {literal % 7}"
    )
    return _made(f"totals_{number:05d}", selected, tail, source)


def _made(name: str, selected: list[tuple[str, str, str]], tail: str, *sources: Relation) -> View:
    lines = ",\n".join(f"  {expression} AS {alias}" for expression, alias, _ in selected)
    relation = Relation(name, tuple((alias, kind) for _, alias, kind in selected))
    return View(relation, f"SELECT\n{lines}\n{tail}", tuple(sorted({source.name for source in sources})))


def _key(number: int) -> str:
    return f"{_TABLES[number % len(_TABLES)].removesuffix('s')}_key"


def _word(kind: str, number: int) -> str:
    words = _WORDS[kind]
    return words[number % len(words)]
