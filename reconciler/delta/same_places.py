"""Whether two addresses are one place, however they are written.

A place is known by several texts; two addresses are one place if they share any of these.

- On S3: the bucket and key (`manifest.warehouses`).
- On a disk, by the address alone: each path that it may mean, without `.`, `..`, doubled slashes and slashes at the end.
  Disks may take no notice of letter case, so it makes no difference here.
- On this disk (`on_this_disk`): the folder that each reading leads to, links followed, by what the disk knows it by. Of what
  is not made yet, the folder above that is there, and the rest as text: letter case and `%41` make no difference in it,
  since nobody has told these apart. Two folders that are there are two places, whatever they are called.
- Elsewhere: scheme and authority in small letters, and the path as above.

The texts are for comparing, not for people. What stands in a secret is not known: two references to one secret are the same
text, and references to two secrets are two texts.
"""

import os
import posixpath
import re
from typing import Final
from urllib.parse import unquote

from reconciler.delta.opening import is_relative
from reconciler.delta.warehouse_places import folder_identity, local_readings, real_readings, upwards
from reconciler.project.manifest.warehouses import canonical_warehouse, is_meant_for_s3

_REFERENCE: Final = re.compile(r"\$\{([^{}]*)\}")


def as_written(address: str) -> frozenset[str]:
    """What a place is known by, of its address alone: the same on every machine. A relative path stays one."""
    address = _with_plain_references(address)
    if is_meant_for_s3(address):
        return frozenset({canonical_warehouse(address) or address})
    if is_relative(address):
        return frozenset({_path_text(address)})
    paths = local_readings(address)
    if paths:
        return frozenset(f"disk:{_path_text(path)}" for path in paths)
    scheme, _, rest = address.partition("://")
    authority, _, path = rest.partition("/")
    return frozenset({f"{scheme.lower()}://{authority.lower()}{posixpath.normpath(f'/{unquote(path)}')}"})


def on_this_disk(address: str) -> frozenset[str]:
    """What a place is known by here and now. The address is absolute."""
    plain = _with_plain_references(address)
    paths = [] if is_meant_for_s3(plain) else local_readings(plain)
    found = frozenset(_found_text(place) for path in paths for place in real_readings(path))
    return found or as_written(address)


def _found_text(place: str) -> str:
    """A path without links, by the folder of it that is there."""
    # The root is always there.
    known = ((folder, folder_identity(folder)) for folder in upwards(place))
    folder, identity = next((folder, identity) for folder, identity in known if identity is not None)
    return f"folder:{identity}/{unquote(os.path.relpath(place, folder)).casefold()}"


def _with_plain_references(address: str) -> str:
    """References are told apart by letter case, and hold signs that mean something in addresses."""
    return _REFERENCE.sub(lambda match: match[1].encode("utf-8", "surrogatepass").hex(), address)


def _path_text(path: str) -> str:
    # Two slashes at the beginning mean something of their own to POSIX, and nothing to anybody else.
    text = posixpath.normpath(unquote(path)).casefold()
    return f"/{text.lstrip('/')}" if text.startswith("/") else text
