"""What a plan costs: rows and bytes that are read, written and lost, and how long it may take.

It varies by itself (tables grow), so it is no part of the plan, of its digest or of plan.lock: forms show it beside the
plan. What is not known is None, never zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """What is known of a stored relation at the published step: its rows and bytes; and of the last bootstrap of a view,
    how many seconds it took to read how many rows."""

    rows: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    rows_read: int | None = None


@dataclass(frozen=True, slots=True)
class ReadImpact:
    """A stored relation that a bootstrap reads. Rows and bytes are None where they are known only once an earlier step of
    the same plan has written them."""

    relation: str
    rows: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class OutputImpact:
    """An output connector of a bootstrapped view, and what it receives in words."""

    connector: str
    receives: str


@dataclass(frozen=True, slots=True)
class ViewImpact:
    """One bootstrapped view: what it reads, the rows that it has now (None: it is new), who receives its new contents,
    and the time it may take."""

    view: str
    reads: tuple[ReadImpact, ...]
    rows: int | None
    outputs: tuple[OutputImpact, ...]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class TableImpact:
    """One table whose rows are deleted or written anew: `fate` is `cleared`, `evolved` or `dropped`."""

    table: str
    fate: str
    rows: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Impact:
    """All of a plan. Totals are over what is known; `is_complete` says whether that is everything.
    `seconds` is None when nothing was learnt yet."""

    views: tuple[ViewImpact, ...]
    tables: tuple[TableImpact, ...]
    rows_read: int
    bytes_read: int
    is_complete: bool
    rows_deleted: int
    seconds: float | None


Measures = Mapping[str, Measure]
"""By folded relation name."""
