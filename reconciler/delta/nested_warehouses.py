"""Whether one warehouse stands inside another. Then the folders of the one are tables of the other: who may apply to one
would write the other's registry, and whoever drops a table would remove its rows.

Rules:
- Folders of a disk are known by what the disk says they are: links, `..` and letter case make no other place of one.
- A warehouse is known by its registry, whoever's it is, and by its name where the same repository names it, made or not.
- Looked at are all folders above, and all folders right below, where pipelines have theirs. What lies deeper is looked at
  where a table is to stand or to be removed (`registry_below`).
- On S3 names are compared. A registry above, or in a pipeline's folder, is asked for before that pipeline is applied first.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from reconciler.base.errors import RegistryError
from reconciler.connectors.registry_folder import REGISTRY_FOLDER
from reconciler.delta.objects import stored_objects
from reconciler.delta.opening import is_local, is_on_s3, join_location, local_path
from reconciler.delta.warehouse_places import REGISTRY_MARK, holds_registry, is_same_folder, places_of_registries, upwards


def warehouse_around_or_within(warehouse: str, others: Iterable[str]) -> str | None:
    """Another warehouse that this one stands in, or that stands in this one; None where none is known. No object store is
    asked."""
    if not is_local(warehouse):
        return next((other for other in others if _is_within(warehouse, other) or _is_within(other, warehouse)), None)
    place = os.path.realpath(local_path(warehouse))
    above = list(upwards(place))[1:]
    for other in (one for one in others if is_local(one)):
        path = os.path.realpath(local_path(other))
        if any(is_same_folder(folder, path) for folder in above):
            return other
        if not is_same_folder(place, path) and any(is_same_folder(place, folder) for folder in upwards(path)):
            return other
    for folder in above:
        # Within a registry nothing else stands, even where nothing tells yet that it is one.
        if os.path.basename(folder).casefold() == REGISTRY_FOLDER or holds_registry(folder):
            return folder
    if os.path.basename(place).casefold() == REGISTRY_FOLDER:
        return os.path.dirname(place)
    return next((folder for folder in _folders(place) if _is_warehouse(folder)), None)


def warehouse_in_store(warehouse: str, pipeline: str) -> str | None:
    """On S3: a warehouse that this one stands in, or that stands where this pipeline's tables would. What may not be looked
    at tells nothing."""
    if not is_on_s3(warehouse):
        return None
    above = [folder for folder, _ in places_of_registries(warehouse) if folder != warehouse]
    for folder in (*above, join_location(warehouse, pipeline)):
        with suppress(RegistryError):
            if next(iter(stored_objects(folder, "/".join((REGISTRY_FOLDER, *REGISTRY_MARK)))), None) is not None:
                return folder
    return None


def registry_below(location: str) -> str | None:
    """A warehouse that stands somewhere below a local folder, or is that folder; None for what is no local folder."""
    if not is_local(location):
        return None
    for folder, names, _ in os.walk(local_path(location)):
        if any(name.casefold() == REGISTRY_FOLDER for name in names) and _is_warehouse(folder):
            return folder
    return None


def require_no_warehouse(location: str) -> None:
    """Raises RegistryError (G620) where a warehouse stands within what is to be removed."""
    nested = registry_below(location)
    if nested is not None:
        raise RegistryError("G620", f"{location} was not deleted, because it contains the warehouse {nested}")


def _is_within(place: str, warehouse: str) -> bool:
    return place != warehouse and f"{place}/".startswith(f"{warehouse.rstrip('/')}/")


def _is_warehouse(folder: str) -> bool:
    """A relation may be called as the registry is; only a registry has these tables."""
    registry = os.path.join(folder, REGISTRY_FOLDER)
    if os.path.isdir(os.path.join(registry, *REGISTRY_MARK)):
        return True
    return any(os.path.isdir(os.path.join(one, "head", "_delta_log")) for one in _folders(registry))


def _folders(folder: str) -> Iterator[str]:
    """The folders right within one, the registry left out; none where it can't be looked into."""
    with suppress(OSError), os.scandir(folder) as found:
        for entry in found:
            if entry.name.casefold() != REGISTRY_FOLDER and entry.is_dir():
                yield entry.path
