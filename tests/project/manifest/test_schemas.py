"""The published schemas: sound, complete in themselves, described, with examples that hold."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from reconciler.base.diagnostics import errors_among, render_diagnostic
from reconciler.base.places import OnePlace
from reconciler.base.schema_files import BASE, schema, schema_names, validator
from reconciler.connectors.catalogue import check_connector


def _parts(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every part of a schema that is a mapping, examples left out."""
    yield path, value
    entries = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        if key not in ("examples", "default", "const", "enum"):
            yield from _parts(inner, f"{path}/{key}")


def _objects(name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path, part in _parts(schema(name)):
        if isinstance(part, Mapping) and isinstance(part.get("properties"), Mapping):
            yield path, part


def _is_a_condition(path: str) -> bool:
    return "/if" in path or "/then" in path


@pytest.mark.parametrize("name", schema_names())
def test_a_schema_is_sound_and_published(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema(name)["$id"] == BASE + name
    assert schema(name)["title"]
    assert schema(name)["description"]


@pytest.mark.parametrize("name", schema_names())
def test_every_example_holds(name: str) -> None:
    assert schema(name)["examples"]
    for example in schema(name)["examples"]:
        assert [error.message for error in validator(name).iter_errors(example)] == []


@pytest.mark.parametrize("name", schema_names())
def test_every_property_is_described(name: str) -> None:
    missing = [
        f"{path}/{key}"
        for path, part in _objects(name)
        if not _is_a_condition(path)
        for key, described in {**part["properties"], **part.get("patternProperties", {})}.items()
        if not described.get("description")
    ]

    assert missing == []


@pytest.mark.parametrize("name", schema_names())
def test_every_default_fits(name: str) -> None:
    for _, part in _objects(name):
        for key, described in part["properties"].items():
            if "default" in described and "$ref" not in described and key != "config":
                assert Draft202012Validator(described).is_valid(described["default"]), key


@pytest.mark.parametrize("name", schema_names())
def test_every_reference_leads_to_a_schema_of_ours(name: str) -> None:
    for path, part in _parts(schema(name)):
        if isinstance(part, Mapping) and "$ref" in part:
            file, _, pointer = part["$ref"].partition("#")
            target: Any = schema(file or name)
            for step in pointer.split("/")[1:]:
                target = target[step]
            assert target, path


def test_every_transport_of_the_connector_schema_has_a_branch_of_its_own() -> None:
    connector = schema("connector.schema.json")
    names = connector["properties"]["transport"]["properties"]["name"]["enum"]
    branches = [
        (branch["if"]["properties"]["transport"]["properties"]["name"]["const"], branch["then"]["$ref"])
        for branch in connector["allOf"]
    ]

    assert branches == [(name, f"{name}.schema.json") for name in names]
    assert names == sorted(names)


def test_the_examples_of_transports_are_sound_connectors() -> None:
    names = schema("connector.schema.json")["properties"]["transport"]["properties"]["name"]["enum"]
    for name in names:
        for example in schema(f"{name}.schema.json")["examples"]:
            problems = errors_among(check_connector(example, OnePlace(None)))
            assert [render_diagnostic(problem) for problem in problems] == []
