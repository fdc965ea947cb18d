"""Rows as a transport delivers them, before they are made to fit their table."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from pyspark.sql import DataFrame

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.engine.fields import missing_fields, unknown_fields
from reconciler.engine.protocol import TableTarget
from reconciler.engine.spark.conform import Given
from reconciler.engine.spark.locations import literal
from reconciler.engine.spark.nested import shape

PROVEN: Final = "reconcile proven"
"""The column that says which of the rows are among those of `Incoming.proven`."""

RECORD: Final = "reconcile record"
"""The column that `json_records` reads: a record as text, whether its bytes are one or not. NULL or blanks are nothing."""
ORIGIN: Final = "reconcile origin"
"""The column that says where a record stood, as JSON: {"file": …}, {"topic": …, "partition": …, "offset": …}."""
UNKNOWN: Final = "reconcile unknown"
"""The column that lists, as a JSON array, the fields of a row that no column takes; NULL where there are none."""


@dataclass(frozen=True, slots=True)
class Proven:
    """Rows that can be read alone, for less work: `rows` and `given` as in `Incoming`, whose column PROVEN is true for
    these. `is_likely`: all of the range seem to be such."""

    rows: DataFrame
    given: Mapping[str, Given]
    is_likely: bool


@dataclass(frozen=True, slots=True)
class Numbered:
    """How records of files are numbered: all of them, with ORDER, also those that give no row; an expression of a row's
    ORDER for {file, block, row}, where `row` rises by one from record to record of a block; what the number is called."""

    records: DataFrame
    place: str
    called: str


@dataclass(frozen=True, slots=True)
class Incoming:
    """`given` says where each column's value comes from (keyed by folded name), `origin` is an expression that says where
    a row comes from (JSON), `kept` names columns to keep beside the table's (`writes.ORDER`). `null_is_absent`: what a
    record lacks can't be told from what is NULL in it. `deletes` is an expression that is true where the record deletes its
    row. `record` is an expression that gives the text of the record, where there is one; `problem` one that says why the
    record is none (it begins with a code), else NULL. `other` holds the values of the other row that the same record gives,
    if `has_other` is true: the record becomes both rows or none. `proven`: see there. `unknown` is an expression that gives
    what UNKNOWN holds, `missing` names fields that columns take and that the source, or a part of it, lacks. `numbered`: see
    there. `updates` is an expression that is true where the record sets columns of the row with its key, and `sets` has, by
    folded name of each column, one that says whether it is among these. What an update sets to NULL is not absent."""

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
    unknown: str | None = None
    missing: tuple[str, ...] = ()
    numbered: Numbered | None = None
    updates: str | None = None
    sets: Mapping[str, str] = field(default_factory=dict)


def with_fields(incoming: Incoming, names: Iterable[str], target: TableTarget) -> Incoming:
    """The rows of a source that has these fields, the same in all rows. `target` bears the names of the source."""
    known = tuple(names)
    shapes = {name: shape(one.kind) for name, one in incoming.given.items() if one.kind is not None}
    unknown, missing = unknown_fields(known, target, shapes), missing_fields(known, target, shapes)
    return replace(incoming, unknown=unknown_literal(unknown), missing=missing)


def unknown_literal(names: Sequence[str]) -> str | None:
    """Names as UNKNOWN holds them."""
    return literal(json.dumps(list(names), ensure_ascii=False)) if names else None


def for_columns(incoming: Incoming, target: TableTarget, as_read: TableTarget) -> Incoming:
    """The rows under the columns of their table, of rows that were read under the names of their source (`as_read`)."""
    if target == as_read:
        return incoming
    names = {fold(c.name): fold(read.name) for c, read in zip(target.columns, as_read.columns, strict=True)}

    def renamed(given: Mapping[str, Given]) -> dict[str, Given]:
        return {column: given[field] for column, field in names.items() if field in given}

    proven = incoming.proven
    return replace(
        incoming,
        given=renamed(incoming.given),
        other=None if incoming.other is None else renamed(incoming.other),
        proven=None if proven is None else replace(proven, given=renamed(proven.given)),
        sets={column: incoming.sets[field_] for column, field_ in names.items() if field_ in incoming.sets},
    )
