"""Rows of one table taken over by another without reading them: the files of a version are copied below the other table's
folder, and named by one commit there.

Rules:
- On the disk a copy is another name of the same file where the file system has that: Delta never changes a file. Else the
  bytes are copied. Only between local folders.
- A copy may be made again, also by two at a time: every file appears whole, and is the same whoever made it.
- Not taken over is what files alone do not say: rows that deletion vectors take out, columns that are mapped to others.
"""

import os
import shutil
from contextlib import suppress
from typing import Final
from urllib.parse import unquote
from uuid import uuid4

from reconciler.base.errors import EngineError
from reconciler.delta.contents import is_readable
from reconciler.delta.opening import is_local, join_location, local_path, open_table
from reconciler.delta.publishing import publish_version
from reconciler.delta.writing import refused_by_the_system
from reconciler.engine.stored import Transaction

_HARMLESS: Final = frozenset({"timestampNtz"})


def can_be_copied(location: str, version: int) -> bool:
    """Whether the rows of a version can be taken over as files, and are there."""
    if not is_local(location) or not is_readable(location, version):
        return False
    table = open_table(location, version)
    if table is None or table.metadata().partition_columns:
        return False
    protocol = table.protocol()
    return protocol.min_reader_version == 1 or set(protocol.reader_features or ("?",)) <= _HARMLESS


def copy_files(location: str, version: int, to: str) -> None:
    """Copy the files of a version into a folder, under the paths that they have below their own. Raises EngineError (X730)
    where one is gone, RegistryError (G607) where the system refuses a copy."""
    table = open_table(location, version)
    if table is None:
        raise EngineError("X730", f"the table at {location} no longer exists")
    actions = table.get_add_actions(flatten=True)
    for path in map(unquote, actions["path"].to_pylist() if actions.num_rows > 0 else ()):
        source, target = local_path(join_location(location, path)), local_path(join_location(to, path))
        if os.path.exists(target):
            continue
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            _copy(source, target)
        except FileNotFoundError as error:
            raise EngineError(
                "X730", f"version {version} of the table at {location} no longer exists: a vacuum deleted its files"
            ) from error
        except OSError as error:
            raise refused_by_the_system(target, error) from error


def publish_copy(
    location: str, staging: str, source: str, version: int, expected: int | None, transaction: Transaction
) -> int:
    """Make the rows of a version of another table, whose files were copied into the folder `staging` below this one, the
    whole contents of the table: one commit, like `tables.publish`. Returns the new version. Raises EngineError (X730) where
    what was copied, or the log of its source, is gone; RegistryConflict."""
    copied = open_table(source, version)
    if copied is None:
        raise EngineError("X730", f"the table at {source} no longer exists")
    actions = copied.get_add_actions(flatten=True)
    paths = map(unquote, actions["path"].to_pylist() if actions.num_rows > 0 else ())
    if not all(os.path.exists(local_path(join_location(location, staging, path))) for path in paths):
        raise EngineError("X730", f"the copy at {join_location(location, staging)} no longer exists")
    return publish_version(location, staging, copied, expected, transaction)


def _copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
        return
    except FileExistsError:
        return
    except FileNotFoundError:
        raise
    except OSError:
        pass  # another file system, or one without links
    beside = f"{target}.{uuid4().hex}"
    try:
        shutil.copyfile(source, beside)
        os.replace(beside, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(beside)
