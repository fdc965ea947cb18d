"""Columns as they are stored."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column as stored: its name, its Spark type in SQL (`decimal(9,6)`, `string`), whether NULL may stand in it."""

    name: str
    type: str
    nullable: bool = True
