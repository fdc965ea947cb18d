"""Rows as a transport delivers them, before they are made to fit their table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from reconciler.engine.spark.conform import Given

PROVEN: Final = "reconcile proven"
"""The column that says which of the rows are among those of `Incoming.proven`."""

RECORD: Final = "reconcile record"
"""The column that `json_records` reads: a record as text. What is NULL or blank is nothing."""
ORIGIN: Final = "reconcile origin"
"""The column that says where a record stood, as JSON: {"file": …}, {"topic": …, "partition": …, "offset": …}."""


@dataclass(frozen=True, slots=True)
class Proven:
    """Rows that can be read alone, for less work: `rows` and `given` as in `Incoming`, whose column PROVEN is true for
    these. `is_likely`: all of the range seem to be such."""

    rows: DataFrame
    given: Mapping[str, Given]
    is_likely: bool


@dataclass(frozen=True, slots=True)
class Incoming:
    """`given` says where each column's value comes from (keyed by folded name), `origin` is an expression that says where
    a row comes from (JSON), `kept` names columns to keep beside the table's (`writes.ORDER`). `null_is_absent`: what a
    record lacks can't be told from what is NULL in it. `deletes` is an expression that is true where the record deletes its
    row. `record` is an expression that gives the text of the record, where there is one; `problem` one that says why the
    record is none (it begins with a code), else NULL. `other` holds the values of the other row that the same record gives,
    if `has_other` is true: the record becomes both rows or none. `proven`: see there."""

    rows: DataFrame
    given: Mapping[str, Given]
    origin: str | None = None
    kept: tuple[str, ...] = ()
    null_is_absent: bool = False
    deletes: str | None = None
    record: str | None = None
    problem: str | None = None
    other: Mapping[str, Given] | None = None
    has_other: str | None = None
    proven: Proven | None = None
