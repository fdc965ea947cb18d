"""What a schema of connectors says beside what is allowed: `default` values, which values are secret (`x-secret`), and
which may be shown (`x-plain`).

Walks the parts of a schema that apply to a value: `$ref`, `allOf`, and `if`/`then` on constants, which is all that the
schemas of transports use. It does not validate; values are expected to fit.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from reconciler.base.digest import JsonObject
from reconciler.base.places import Path
from reconciler.base.schema_files import schema
from reconciler.base.secrets.redaction import Plain


def with_defaults(schema_file: str, value: JsonObject) -> dict[str, Any]:
    """`value` with every default that its schema gives for a key it lacks. The original stays as it is."""
    filled: dict[str, Any] = _filled(schema_file, schema(schema_file), value)
    return filled


def is_secret(schema_file: str, value: JsonObject, path: Path) -> bool:
    """Whether the schema marks what stands at `path` as secret."""
    *_, last = _layers_along(schema_file, value, path)
    return any(layer.get("x-secret") is True for layer in last)


def plainness(schema_file: str, value: JsonObject, path: Path) -> Plain | None:
    """How the schema lets what stands at `path` be shown; None where it says nothing, so that it may be secret.

    A mark counts for all that stands below it. `x-secret` there wins over any mark.
    """
    along = list(_layers_along(schema_file, value, path))
    if any(layer.get("x-secret") is True for layers in along for layer in layers):
        return None
    marks = [Plain(layer["x-plain"]) for layers in along for layer in layers if "x-plain" in layer]
    return marks[-1] if marks else None


def _layers_along(schema_file: str, value: JsonObject, path: Path) -> Iterator[list[JsonObject]]:
    """What applies to the value itself, then to each part on the way to `path`."""
    layers = [(schema_file, schema(schema_file))]
    part: Any = value
    for key in path:
        applicable = [found for file, outer in layers for found in _applicable(file, outer, part)]
        yield [layer for _, layer in applicable]
        layers = [(file, below) for file, layer in applicable for below in _below(layer, key)]
        part = part[key]
    yield [layer for file, outer in layers for _, layer in _applicable(file, outer, part)]


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
