"""Outputs write nothing into a registry of reconciler: who approved what stands there.

Judged is the address as written: no part of its path may be the registry's folder, in any letter case and however encoded.
Where it leads, and whether that lies in a warehouse, is judged where files and links are at hand (`delta.warehouse_places`).
"""

from typing import Final
from urllib.parse import unquote

from reconciler.base.diagnostics import Diagnostic
from reconciler.base.digest import JsonObject
from reconciler.base.places import Places

REGISTRY_FOLDER: Final = "_registry"
_HINT: Final = "choose a folder outside every warehouse"


def registry_problems(settings: JsonObject, places: Places) -> tuple[Diagnostic, ...]:
    """C418 for an output whose address leads into a registry."""
    config = settings["transport"].get("config", {})
    found = []
    for name in ("uri", "path"):
        address = config.get(name)
        if isinstance(address, str) and REGISTRY_FOLDER in unquote(address).casefold().replace("\\", "/").split("/"):
            message = (
                f"{settings['transport']['name']} can't write into {REGISTRY_FOLDER}, which is the registry of a warehouse"
            )
            found.append(Diagnostic("C418", message, places.of_key(("transport", "config", name)), _HINT))
    return tuple(found)
