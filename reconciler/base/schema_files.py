"""The JSON Schemas under schemas/, loaded when first asked for, and never from a network.

An installed package holds them as `reconciler/schemas`; in a checkout they stand in the folder `schemas` at the root.
References between them are resolved among themselves by `$id`. jsonschema is imported here only, inside functions:
what needs no schema does not pay for it.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from reconciler.base.digest import JsonObject, canonical_json

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

BASE: Final = "https://reconciler.dev/schemas/v1/"
_OF_FILES: Final = ("pipeline.schema.json", "policy.schema.json", "project.schema.json")
_REFERENCE: Final = re.compile(r'"\$ref": "([a-z_]+\.schema\.json)')


def _folder() -> Traversable:
    packaged = resources.files("reconciler") / "schemas"
    if packaged.is_dir():
        return packaged
    return Path(__file__).resolve().parents[2] / "schemas"


@cache
def schema_names() -> tuple[str, ...]:
    """The file names of all schemas, sorted."""
    return tuple(sorted(entry.name for entry in _folder().iterdir() if entry.name.endswith(".schema.json")))


def schema_text(name: str) -> str:
    """The text of the file `name`."""
    return (_folder() / name).read_text(encoding="utf-8")


@cache
def schema(name: str) -> JsonObject:
    """The schema in the file `name`."""
    loaded: JsonObject = json.loads(schema_text(name))
    return loaded


def schemas_of_files() -> tuple[str, ...]:
    """The schemas of what people write, by which editors check it, and all that these refer to; sorted."""
    found: set[str] = set()
    left = list(_OF_FILES)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += _REFERENCE.findall(schema_text(name))
    return tuple(sorted(found))


@cache
def validator(name: str) -> "Validator":
    """A Draft 2020-12 validator of the schema in the file `name`."""
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend
    from referencing import Registry, Resource
    from referencing.exceptions import NoSuchResource

    def retrieve(uri: str) -> "Resource[Any]":
        file = uri.removeprefix(BASE)
        if uri == BASE + file and file in schema_names():
            return Resource.from_contents(schema(file))
        raise NoSuchResource(uri)

    def unique(_: Any, wanted: bool, value: Any, __: Any) -> Iterator[ValidationError]:
        # The validator's own compares each entry with every other, which takes minutes for a long list of mappings.
        if wanted and isinstance(value, list) and len({canonical_json(entry) for entry in value}) < len(value):
            yield ValidationError("entries repeat")

    registry: Registry[Any] = Registry(retrieve=retrieve)  # type: ignore[call-arg]
    linear: Any = extend(Draft202012Validator, {"uniqueItems": unique})  # type: ignore[no-untyped-call]
    return cast("Validator", linear(schema(name), registry=registry))
