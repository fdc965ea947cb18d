"""Removing tables, such that who comes late removes nothing else.

A process may be stopped between deciding to remove a table and doing it; meanwhile others may finish its work, and a table
of the same name may come back at the same path. So a removal names the table that it means by Delta's own id, which no
later table at that path has.

Rules:
- On a local file system the folder is first moved aside, which is one act; then it is looked at again, and put back if
  it is another table. A reader finds either the whole table or none, never a table whose files are going.
- The folder aside is named by its caller, the same for a repeat, and by nobody else; what is left there is removed, too.
- A folder that has no table that can be read (id None) is removed if that is still so.
- On an object store nothing can be moved aside. What was listed is removed, the log first. Who has an engine leaves it to
  that, which removes the marks of folders, too.
"""

import os
import shutil

from reconciler.base.errors import RegistryConflict, RegistryError
from reconciler.delta.nested_warehouses import require_no_warehouse
from reconciler.delta.objects import remove_objects, stored_objects
from reconciler.delta.opening import is_local, local_path, open_table
from reconciler.delta.tables import remove_local
from reconciler.engine.stored import Transaction


def table_identity(location: str) -> str | None:
    """The id of the table there, which it keeps for good; None when there is none, or none that can be read."""
    try:
        table = open_table(location)
        return None if table is None else str(table.metadata().id)
    except RegistryError:
        return None


def identity_if_written_by(location: str, transaction: Transaction) -> str | None:
    """The id of the table there, if its last writer under that application used this transaction; else None."""
    table = open_table(location)
    if table is None or table.transaction_version(transaction.application) != transaction.version:
        return None
    return str(table.metadata().id)


def remove_table(location: str, identity: str | None, aside: str) -> bool:
    """Remove a local table's folder, if the table there is the one meant; False when the location is not local (then the
    engine has to). Raises RegistryConflict when another table was moved by it and can't be put back, RegistryError (G620)
    when the system refuses."""
    if not is_local(location):
        return False
    path, beside = local_path(location), local_path(aside)
    require_no_warehouse(location)
    if os.path.isdir(path) and table_identity(location) == identity:
        shutil.rmtree(beside, ignore_errors=True)
        try:
            os.rename(path, beside)
        except FileNotFoundError:
            return True  # somebody else removed it meanwhile
        except OSError as error:
            raise RegistryError("G620", f"the table at {path} can't be removed: {error.strerror}") from error
        if table_identity(aside) != identity:
            _put_back(path, beside)
            return True
    shutil.rmtree(beside, ignore_errors=True)
    return True


def remove_folder(location: str) -> None:
    """Remove all below a location. The log goes first: killed half-way, this leaves rubbish, never a table that names files
    that are gone. Raises RegistryError (G602, G620) when a store is out of reach."""
    if remove_local(location):
        return
    paths = [one.path for one in stored_objects(location)]
    log = [path for path in paths if path.startswith("_delta_log/")]
    remove_objects(location, log)
    remove_objects(location, sorted(set(paths) - set(log)))


def remove_written(location: str, transaction: Transaction) -> None:
    """Remove what a writer that is barred by now made where nothing was. On an object store only a table that it wrote by
    this transaction: nothing told there before whether anything else lay in the folder."""
    if not remove_local(location) and identity_if_written_by(location, transaction) is not None:
        remove_folder(location)


def remove_if_empty(location: str) -> None:
    """Remove a local folder that has nothing in it; anything else is left alone."""
    if is_local(location):
        for path in (os.path.join(local_path(location), "_delta_log"), local_path(location)):
            try:
                os.rmdir(path)
            except OSError:
                continue


def _put_back(path: str, beside: str) -> None:
    try:
        os.rename(beside, path)
    except OSError as error:
        raise RegistryConflict(
            "G605", f"the table of {path} was moved to {beside} and can't be moved back: {error}"
        ) from error
