"""Where connectors point: a relative path in a connector is relative to the repository's root, whoever runs it.

What a run writes down of such a connector (positions, ranges) names the root by a mark, so that a checkout in another
folder, or on another machine, knows what was read before.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reconciler.base.digest import JsonObject
from reconciler.delta.opening import is_relative, with_plain_scheme

_MARK = "repository:///"
_LOCATION_SETTINGS = {"delta_table_input": "uri", "file_input": "path", "delta_table_output": "uri", "file_output": "path"}


def with_absolute_location(settings: JsonObject, root: Path) -> JsonObject:
    """The settings with the transport's location made absolute; URIs and absolute paths stay as they are."""
    transport = settings["transport"]
    name = _LOCATION_SETTINGS.get(transport["name"])
    value = transport["config"].get(name) if name else None
    if not isinstance(value, str):
        return settings
    absolute = str(root / value) if is_relative(value) else with_plain_scheme(value)
    if absolute == value:
        return settings
    config = {**transport["config"], name: absolute}
    return {**settings, "transport": {**transport, "config": config}}


def written_place(settings: JsonObject, root: Path) -> str | None:
    """The folder or URI that an output writes to, absolute; None for one that writes to no storage."""
    return written_address(with_absolute_location(settings, root))


def written_address(settings: JsonObject) -> str | None:
    """The folder or URI that an output writes to, as it is written; None for one that writes to no storage."""
    transport = settings["transport"]
    if not transport["name"].endswith("_output"):
        return None
    name = _LOCATION_SETTINGS.get(transport["name"])
    return str(transport["config"][name]) if name else None


def without_root(value: Any, root: Path) -> Any:
    """A JSON value as it is written down: texts that begin with the root's path begin with a mark instead."""
    prefix = f"{root}/"
    return _replaced(value, lambda text: _MARK + text.removeprefix(prefix) if text.startswith(prefix) else text)


def told_path(text: str) -> str:
    """A path that was written down, for people: relative to the repository's root where it lies below."""
    return text.removeprefix(_MARK)


def with_root(value: Any, root: Path) -> Any:
    """A JSON value that was written down, as it is in this checkout."""
    return _replaced(value, lambda text: f"{root}/{text.removeprefix(_MARK)}" if text.startswith(_MARK) else text)


def _replaced(value: Any, replace: Callable[[str], str]) -> Any:
    match value:
        case str():
            return replace(value)
        case Mapping():
            return {key: _replaced(part, replace) for key, part in value.items()}
        case list() | tuple():
            return [_replaced(part, replace) for part in value]
        case _:
            return value
