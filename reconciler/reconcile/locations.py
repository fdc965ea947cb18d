"""Where connectors point: a relative path in a connector is relative to the repository's root, whoever runs it."""

from pathlib import Path

from reconciler.digest import JsonObject

_LOCATION_SETTINGS = {"delta_table_input": "uri", "file_input": "path", "delta_table_output": "uri", "file_output": "path"}


def with_absolute_location(settings: JsonObject, root: Path) -> JsonObject:
    """The settings with the transport's location made absolute; URIs and absolute paths stay as they are."""
    transport = settings["transport"]
    name = _LOCATION_SETTINGS.get(transport["name"])
    value = transport["config"].get(name) if name else None
    if not isinstance(value, str) or "://" in value or value.startswith("/"):
        return settings
    config = {**transport["config"], name: str(root / value)}
    return {**settings, "transport": {**transport, "config": config}}
