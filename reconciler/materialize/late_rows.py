"""Which rows are late for the tables of a step (`program.lateness` has the rules), and what later steps judge by.

The greatest values that a table's columns had stand with its placement (`Placement.greatest`), as of the step that is
published. Where they do not (the LATENESS is new, or the table was made anew or changed by an apply), they are those that
the table has there. What a write added is read from its files; where that is not surely read here, the engine is asked for
the greatest of all rows, which is the same, since no write takes a greatest value back.
"""

from collections.abc import Mapping
from typing import Any

from reconciler.base.names import fold
from reconciler.delta.greatest_values import greatest_values
from reconciler.engine.protocol import Engine, Selection
from reconciler.engine.sources import StoredSource
from reconciler.project.program.lateness import Number, columns_with_lateness, number_of_text, number_to_text
from reconciler.project.program.model import Table
from reconciler.registry.placements import Placement


def greatest_of_table(engine: Engine, table: Table, location: str, published: Placement) -> dict[str, Number]:
    """The greatest value of each column with LATENESS, by folded name, at a published step."""
    columns = {fold(column.name): column for column in columns_with_lateness(table)}
    known = {key: number_of_text(columns[key], text) for key, text in published.greatest.items() if key in columns and text}
    lacking = [key for key in columns if key not in published.greatest]
    return {**known, **_read(engine, table, lacking, location, None, published.version)}


def greatest_after(
    engine: Engine, table: Table, location: str, before: Mapping[str, Number], versions: tuple[int, int]
) -> dict[str, Number]:
    """The greatest values after a write that led from one Delta version to another."""
    keys = [fold(column.name) for column in columns_with_lateness(table)]
    added = _read(engine, table, keys, location, *versions)
    return {**before, **{key: max(before.get(key, value), value) for key, value in added.items()}}


def as_stored(table: Table, greatest: Mapping[str, Number]) -> dict[str, str]:
    """The greatest values as a placement holds them: also of a column that has none yet."""
    keys = [fold(column.name) for column in columns_with_lateness(table)]
    return {key: number_to_text(greatest[key]) if key in greatest else "" for key in sorted(keys)}


def _read(
    engine: Engine, table: Table, keys: list[str], location: str, before: int | None, after: int
) -> Mapping[str, Number]:
    if not keys:
        return {}
    found = greatest_values(location, keys, before, after)
    return _asked(engine, table, keys, location, after) if found is None else found


def _asked(engine: Engine, table: Table, keys: list[str], location: str, version: int) -> dict[str, Number]:
    columns = [column for column in table.columns if fold(column.name) in keys]
    parts = ", ".join(f"{_as_number(column.name, column.type)} AS `{column.name}`" for column in columns)
    source = StoredSource(table.name, location, version)
    rows: Any = engine.select(Selection(f"SELECT {parts} FROM `{table.name}`", (source,), {})).rows
    return {fold(column.name): value for column, value in zip(columns, rows[0], strict=True) if value is not None}


def _as_number(name: str, kind: str) -> str:
    """The greatest value as a number, in Spark's SQL."""
    match kind:
        case "DATE":
            return f"unix_date(max(`{name}`))"
        case "TIMESTAMP":
            return f"unix_micros(max(`{name}`))"
        case "TIMESTAMP_NTZ":
            return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', max(`{name}`))"
        case "FLOAT" | "DOUBLE":
            value = f"CAST(`{name}` AS DOUBLE)"
            return f"max(CASE WHEN NOT isnan({value}) AND abs({value}) < double('Infinity') THEN {value} END)"
        case _:
            return f"max(`{name}`)"
