"""What a transport's schema says beside what is allowed: `default` values, and which values are secret (`x-secret`).

Walks the parts of a schema that apply to a value: `$ref`, `allOf`, and `if`/`then` on constants, which is all that the
schemas of transports use. It does not validate; values are expected to fit.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from reconciler.digest import JsonObject
from reconciler.places import Path
from reconciler.schema_files import schema


def with_defaults(schema_file: str, value: JsonObject) -> dict[str, Any]:
    """`value` with every default that its schema gives for a key it lacks. The original stays as it is."""
    filled: dict[str, Any] = _filled(schema_file, schema(schema_file), value)
    return filled


def is_secret(schema_file: str, value: JsonObject, path: Path) -> bool:
    """Whether the schema marks what stands at `path` as secret."""
    layers = [(schema_file, schema(schema_file))]
    part: Any = value
    for key in path:
        layers = [
            (file, below)
            for outer_file, outer in layers
            for file, layer in _applicable(outer_file, outer, part)
            for below in _below(layer, key)
        ]
        part = part[key]
    return any(layer.get("x-secret") is True for file, outer in layers for _, layer in _applicable(file, outer, part))


def _filled(file: str, outer: JsonObject, value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    filled = dict(value)
    # Twice, because a default may decide which branches apply.
    for _ in range(2):
        for layer_file, layer in list(_applicable(file, outer, filled)):
            for key, below in sorted(layer.get("properties", {}).items()):
                if key not in filled and "default" in below:
                    filled[key] = below["default"]
                if key in filled:
                    filled[key] = _filled(layer_file, below, filled[key])
    return filled


def _applicable(file: str, outer: JsonObject, value: Any) -> Iterator[tuple[str, JsonObject]]:
    """The schema itself and all that it brings in for this value, each with the file that its references start from."""
    yield file, outer
    if "$ref" in outer:
        target_file, _, pointer = str(outer["$ref"]).partition("#")
        target_file = target_file or file
        target: Any = schema(target_file)
        for step in pointer.split("/")[1:]:
            target = target[step]
        yield from _applicable(target_file, target, value)
    for branch in outer.get("allOf", ()):
        yield from _applicable(file, branch, value)
    if "if" in outer and _holds(outer["if"], value):
        yield from _applicable(file, outer["then"], value)


def _holds(condition: JsonObject, value: Any) -> bool:
    if "const" in condition:
        return bool(value == condition["const"])
    if not isinstance(value, Mapping):
        return False
    inner = condition.get("properties", {})
    return all(key in value for key in condition.get("required", ())) and all(
        _holds(below, value[key]) for key, below in inner.items() if key in value
    )


def _below(layer: JsonObject, key: str | int) -> Iterator[JsonObject]:
    if isinstance(key, int):
        if "items" in layer:
            yield layer["items"]
        return
    if key in layer.get("properties", {}):
        yield layer["properties"][key]
        return
    for pattern, below in sorted(layer.get("patternProperties", {}).items()):
        if re.search(pattern, key):
            yield below
