"""What a query that an engine computes reads and calls: sources, each by the name that the query has for it, and functions.
Every table is named with the Delta version to read.

What is said of a source beyond its rows (`needed`, `used`, `LinkedSource`) is leave to read less. An engine may take none of
it: the query gives the same.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.engine.stored import Between, ColumnType
from reconciler.sql.row_condition import RowCondition

CHANGE_COLUMN: Final = "__change"
"""What became of a row of a table: `insert` or `delete`."""

MOST_SEARCHED: Final = 512 << 20
"""Bytes of the files of a table in which rows are looked for by their keys. That takes seconds; Spark reads larger ones on
all cores."""


@dataclass(frozen=True, slots=True)
class StoredSource:
    """A relation read from Delta: `location` is an absolute path or URI, `version` the Delta version to read; `added` are
    columns to come, which it does not have at that version: they are NULL. `spelled` are names of columns as the program
    that reads them spells them, whatever letter case they have there.

    `ranges`: of a relation whose rows are only added, only those that came after the first Delta version of each, up to its
    second one. None: all rows. `changes`: of one whose rows are changed, too, what changed from the first to the last of
    these versions: rows that it has no more, and rows that it has since, each with `CHANGE_COLUMN`.

    `is_kept`: it is what a step keeps for the next one, which nobody else reads.

    `needed`: what reads it gives the same where rows are left out that are not within all of these. `used`: the columns that
    it looks at, in any letter case (None: not known)."""

    name: str
    location: str
    version: int
    added: tuple[ColumnType, ...] = ()
    spelled: tuple[str, ...] = ()
    ranges: tuple[tuple[int, int], ...] | None = None
    changes: bool = False
    is_kept: bool = False
    needed: tuple[Between, ...] = ()
    used: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class LinkedSource:
    """What a part of a query, a term, reads of a source. The first of a term holds few rows, that changed. Of others the
    term needs no rows but those that are equal, in the second columns of all `pairs`, to a row in the first ones that it
    needs of the read number `via` before it. None: it may need any. `is_whole`: something else in the query may need any; to
    other reads these lead on.

    Rows that do not meet all `conditions` lead nowhere. `narrows`: nor do, from now on, rows of the read `via` that are
    equal to none of these. To a read `with_null`, where NULL is equal to NULL, all rows lead."""

    source: str
    via: int | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    is_whole: bool = False
    with_null: bool = False
    conditions: tuple[RowCondition, ...] = ()
    narrows: bool = False


@dataclass(frozen=True, slots=True)
class EmptySource:
    """A table with these columns and no rows: how a cleared table looks to the views that are bootstrapped over it."""

    name: str
    columns: tuple[ColumnType, ...]


@dataclass(frozen=True, slots=True)
class InlineSource:
    """A plain or LOCAL view, computed where it is read. `column_names` renames its columns in order when not empty.
    `functions` are those that its query calls, where what reads it may mean others by their names."""

    name: str
    query: str
    column_names: tuple[str, ...] = ()
    functions: tuple["FunctionSource", ...] = ()


@dataclass(frozen=True, slots=True)
class Needed:
    """Which rows of a log a query surely needs: those with the keys of rows that came, and those that are due, with all rows
    of their keys.

    `keys` are those by which rows belong together, each by the columns of which the first that is not NULL has it. `came`
    has, by the name of a stored source of the same computation, the columns that have the keys in its rows, in their order.
    `due`: rows are due where their number in the first column is at most `to`, and that in the second is greater than
    `after` (None: than none); None: none are. With `by_row`, rows that are due do not need the others of their keys."""

    keys: tuple[tuple[str, ...], ...]
    came: tuple[tuple[str, tuple[str, ...]], ...]
    due: tuple[str, str] | None = None
    after: int | None = None
    to: int | None = None
    by_row: bool = False


@dataclass(frozen=True, slots=True)
class LogSource:
    """The rows of several Delta tables with the same columns, each as its first version has it: a log in segments, the
    oldest first. `locations` are absolute paths or URIs. `needed`: a query needs these rows, and may be given fewer others;
    None: it needs all.

    `latest`: of rows that are equal in these columns, where NULL is equal to NULL, only that of the last segment counts. No
    segment has two (empty: all rows count)."""

    name: str
    locations: tuple[str, ...]
    needed: Needed | None = None
    latest: tuple[str, ...] = ()

    @property
    def segments(self) -> tuple[StoredSource, ...]:
        """Each segment as a source."""
        is_kept = bool(self.latest)
        return tuple(StoredSource(self.name, location, 0, is_kept=is_kept) for location in self.locations)


Source: TypeAlias = StoredSource | EmptySource | InlineSource | LogSource


@dataclass(frozen=True, slots=True)
class PythonModule:
    """A function's body in Python: the module that defines it under its own name, dotted, and all that this imports of the
    pipeline's folder (path → text). `requirements` (`package==version`) must be there where it runs, in these versions.
    `gives_null_on_error`: a call that fails gives NULL, and is counted."""

    module: str
    sources: Mapping[str, str]
    requirements: tuple[str, ...] = ()
    gives_null_on_error: bool = False


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function that queries may call. `body` is an expression of Spark SQL over the parameters, or a module in Python.

    `returns` is a Spark type in SQL. A NULL for a parameter that is not nullable, or from a function that may return none,
    is X708; so is what a function in Python raises. One that is not deterministic is computed as often as it is written.
    """

    name: str
    parameters: tuple[ColumnType, ...]
    returns: str
    body: str | PythonModule
    deterministic: bool = False
    returns_nullable: bool = True
