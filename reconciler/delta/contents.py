"""Whether a Delta table holds the same at two of its versions, told from its log alone, and whether it can still be read
as it was.

Rules:
- A table holds the same where the columns and the set of data files are the same, or where only commits lie between that
  put files together (OPTIMIZE) or name none. Commits that leave marks (a writer that was taken over) and settings do not
  count.
- Whatever can't be told is a difference: a log that was cleaned up, files with deletion vectors, very many commits.
"""

import os
from typing import TYPE_CHECKING, Final

from reconciler.base.errors import RegistryError
from reconciler.delta.opening import is_local, join_location, local_path, open_table

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MOST_COMMITS: Final = 100
_SAME_ROWS: Final = "OPTIMIZE"


def same_contents(location: str, before: int, after: int) -> bool:
    """Whether the table surely holds the same rows and columns at both versions."""
    from deltalake.exceptions import DeltaError

    if before == after:
        return True
    first, last = sorted((before, after))
    try:
        if _same_files(location, first, last):
            return True
        return last - first <= _MOST_COMMITS and _only_rewritten(location, first, last)
    except (RegistryError, DeltaError, OSError):
        return False


def is_readable(location: str, version: int) -> bool:
    """Whether the log and all data files of a version are still there."""
    from deltalake.exceptions import DeltaError

    try:
        table = open_table(location, version)
        return table is not None and not has_missing_files(table, location)
    except (RegistryError, DeltaError, OSError):
        return False


def has_missing_files(table: "DeltaTable", location: str) -> bool:
    """Whether data files that a table names at its version are gone. A listing of its place tells, so that an object store
    need not be asked for each."""
    if is_local(location):
        return not all(os.path.exists(local_path(join_location(location, path))) for path in _paths(table))
    return bool(table.repair(dry_run=True)["files_removed"])


def _only_rewritten(location: str, first: int, last: int) -> bool:
    table = open_table(location, last)
    if table is None:
        return False
    operations = {one.get("version"): one.get("operation") for one in table.history(last - first)}

    def is_same(version: int) -> bool:
        if operations.get(version) == _SAME_ROWS:
            return _same_columns(location, version)
        return _same_files(location, version - 1, version)

    return all(is_same(version) for version in range(first + 1, last + 1))


def _same_columns(location: str, version: int) -> bool:
    before, after = open_table(location, version - 1), open_table(location, version)
    return before is not None and after is not None and before.schema().to_json() == after.schema().to_json()


def _same_files(location: str, first: int, last: int) -> bool:
    before, after = open_table(location, first), open_table(location, last)
    if before is None or after is None or _may_lack_rows(before) or _may_lack_rows(after):
        return False
    return before.schema().to_json() == after.schema().to_json() and _paths(before) == _paths(after)


def _may_lack_rows(table: "DeltaTable") -> bool:
    """Whether its files may be read in part only: then their names do not say what is in the table."""
    return "deletionVectors" in (table.protocol().reader_features or ())


def _paths(table: "DeltaTable") -> frozenset[str]:
    actions = table.get_add_actions(flatten=True)
    return frozenset(actions["path"].to_pylist() if actions.num_rows else ())
