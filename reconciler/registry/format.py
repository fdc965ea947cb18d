"""The format of the registry's documents, and the little of a head that can be told without decoding all of it.

A document states its format. A newer one than this version knows is an error (G606), never a guess; one that does not have
the shape it should is damaged (G602).
"""

from typing import Final

from reconciler.base.digest import JsonObject
from reconciler.base.errors import RegistryError
from reconciler.base.json_objects import from_json
from reconciler.base.names import is_version
from reconciler.registry.home import Home
from reconciler.registry.protocol import Glance

FORMAT: Final = 1


def check_format(value: JsonObject, where: str) -> None:
    """Raises RegistryError (G602, G606) for a document that this version can't read."""
    found = value.get("format")
    if not isinstance(found, int):
        raise RegistryError("G602", f"{where} has no format number")
    if found > FORMAT:
        raise RegistryError(
            "G606",
            f"{where} has registry format {found}; this version of reconciler knows formats up to {FORMAT}",
            "install the version of reconciler that wrote it, or a newer one",
        )


def glance_from_json(value: JsonObject, where: str) -> Glance:
    """A glance at the head of a JSON object. Raises RegistryError (G602, G606)."""
    check_format(value, where)
    try:
        applied = value["applied"]
        is_open = value["journal"] is not None
        if applied is None:
            return Glance(None, None, is_open)
        published = value["published"] or {}
        reads = sorted(name for name in published.get("foreign", ()) if not is_version(name))
        home = from_json(Home, applied["home"]) if applied.get("home") is not None else None
        has_staged = value.get("staged") is not None
        places = published.get("relations", {}).values()
        stands = tuple((place["location"], place["version"], place.get("id")) for place in places)
        return Glance(
            applied["record"], applied["follows"], is_open, tuple(reads), home, applied["commit"], has_staged, stands
        )
    except (KeyError, TypeError) as error:
        raise RegistryError("G602", f"the head in {where} is damaged: {error!r}") from error
