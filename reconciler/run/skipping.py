"""Files that an input of files is to go on without.

- Whoever names a file means one that the input lists, or has read: by its name there, or by another path that leads to it
  (links, `..`, `file://`). Anything else is an error: passing over what is never read would change nothing, and look done.
- In a store nothing is listed here. There a file has to lie where the input reads.
- A step that a dead process left open with such a file in it is put back, and not finished: it would bring the very rows.
"""

import os
from pathlib import Path
from typing import Final

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError, ReconcileError
from reconciler.base.names import first_of, fold
from reconciler.connectors.file_input import is_pattern
from reconciler.delta.opening import path_of
from reconciler.engine.files import files_read, local_listing
from reconciler.environment.locations import told_path, with_absolute_location
from reconciler.project.program.model import Connector
from reconciler.registry.model import Head
from reconciler.registry.protocol import Registry
from reconciler.state.controls import read_controls

WITHOUT: Final = "without"
"""The only key of a place that is the present one of a `file_input`, without the files that it lists."""
_NAMED: Final = 3


def file_meant(connector: Connector, root: Path, position: JsonObject | None, named: str) -> str:
    """The file that somebody names, as the input lists it. Raises ReconcileError (A512) where the input reads no such
    file."""
    written = str(with_absolute_location(connector.settings, root)["transport"]["config"]["path"])
    place = path_of(written)
    if place is None:
        return _in_a_store(connector, written, named)
    path = path_of(named)
    known = [*_listed(place), *files_read(position)]
    if path is not None:
        path = path if path.is_absolute() else root / path
        same = (one for one in known if one == str(path))
        leads_there = (one for one in known if os.path.realpath(one) == os.path.realpath(path))
        found = next(same, None) or next(leads_there, None)
        if found is not None:
            return found
    shown = first_of([told_path(os.path.relpath(one, root) if one.startswith(f"{root}/") else one) for one in known], _NAMED)
    raise _refused(connector, named, f"it reads: {shown}" if known else f"there are no files in {written} yet")


def _listed(place: Path) -> tuple[str, ...]:
    try:
        return tuple(file.path for file in local_listing(place).files)
    except EngineError:
        # There may be nothing yet; what was read is known all the same.
        return ()


def _in_a_store(connector: Connector, written: str, named: str) -> str:
    file, folder = _as_listed(named), _as_listed(written)
    while is_pattern(folder):
        folder = folder.rpartition("/")[0]
    if file != folder and not file.startswith(f"{folder.rstrip('/')}/"):
        raise _refused(connector, named, f"it reads {written}: write the file's name as the connector's message does")
    return file


def _as_listed(address: str) -> str:
    """Spark knows S3 under this scheme, and lists files so."""
    return f"s3a://{address.removeprefix('s3://')}" if address.startswith("s3://") else address


def _refused(connector: Connector, named: str, hint: str) -> ReconcileError:
    return ReconcileError("A512", f"{connector.qualified_name} reads no file {named}", hint)


def file_to_skip(registry: Registry, head: Head) -> str | None:
    """A file of the step that is open in a head, if somebody wants its input to go on without it."""
    ingests = head.intent.ingests if head.intent is not None else ()
    read = {fold(one.connector): one.files for one in ingests}
    if not any(read.values()):
        return None
    for key, seek in sorted(read_controls(registry, head.pipeline).seeks.items()):
        unwanted = seek.to.get(WITHOUT, ()) if isinstance(seek.to, dict) else ()
        found = next((file for file in read.get(key, ()) if file in unwanted), None)
        if found is not None:
            return found
    return None
