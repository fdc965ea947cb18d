"""Rows as a transport delivers them, before they are made to fit their table."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from reconciler.engine.spark.conform import Given


@dataclass(frozen=True, slots=True)
class Incoming:
    """`given` says where each column's value comes from (keyed by folded name), `origin` is an expression that says where
    a row comes from, `kept` names columns to keep beside the table's (`writes.ORDER`). `null_is_absent`: what a record
    lacks can't be told from what is NULL in it. `deletes` is an expression that is true where the record deletes its row."""

    rows: DataFrame
    given: Mapping[str, Given]
    origin: str | None = None
    kept: tuple[str, ...] = ()
    null_is_absent: bool = False
    deletes: str | None = None
