"""Whether two addresses are one place, however they are written.

A place is known by several texts; two addresses are one place if they share any of these.

- On S3: the bucket and key (`manifest.warehouses`).
- On a disk: each path that the address may mean, without `.`, `..`, doubled slashes and slashes at the end. Disks may take
  no notice of letter case, so it makes no difference here. `on_this_disk` also follows links, and asks the disk which folder
  it is.
- Elsewhere: scheme and authority in small letters, and the path as above.

The texts are for comparing, not for people. What stands in a secret is not known: two references to one secret are the same
text, and references to two secrets are two texts.
"""

import os
import posixpath
import re
from typing import Final
from urllib.parse import unquote

from reconciler.delta.warehouse_places import folder_identity, local_readings
from reconciler.project.manifest.warehouses import canonical_warehouse, is_meant_for_s3

_REFERENCE: Final = re.compile(r"\$\{([^{}]*)\}")


def as_written(address: str) -> frozenset[str]:
    """What a place is known by, of its address alone: the same on every machine. A relative path stays one."""
    address = _with_plain_references(address)
    if is_meant_for_s3(address):
        return frozenset({canonical_warehouse(address) or address})
    if not os.path.isabs(address) and "://" not in address and not _is_of_file_scheme(address):
        return frozenset({_path_text(address)})
    paths = local_readings(address)
    if paths:
        return frozenset(f"disk:{_path_text(path)}" for path in paths)
    scheme, _, rest = address.partition("://")
    authority, _, path = rest.partition("/")
    return frozenset({f"{scheme.lower()}://{authority.lower()}{posixpath.normpath(f'/{unquote(path)}')}"})


def on_this_disk(address: str) -> frozenset[str]:
    """What a place is known by here and now: `as_written`, and where links lead. The address is absolute."""
    found = set(as_written(address))
    address = _with_plain_references(address)
    if is_meant_for_s3(address):
        return frozenset(found)
    for path in local_readings(address):
        for reading in dict.fromkeys((path, unquote(path))):
            if "\0" in reading:
                continue
            place = os.path.realpath(reading)
            found.add(f"disk:{place.casefold()}")
            identity = folder_identity(place)
            if identity is not None:
                found.add(f"folder:{identity}")
    return frozenset(found)


def _with_plain_references(address: str) -> str:
    """References are told apart by letter case, and hold signs that mean something in addresses."""
    return _REFERENCE.sub(lambda match: match[1].encode("utf-8", "surrogatepass").hex(), address)


def _is_of_file_scheme(address: str) -> bool:
    return address[:5].lower() == "file:"


def _path_text(path: str) -> str:
    # Two slashes at the beginning mean something of their own to POSIX, and nothing to anybody else.
    text = posixpath.normpath(unquote(path)).casefold()
    return f"/{text.lstrip('/')}" if text.startswith("/") else text
