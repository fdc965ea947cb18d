"""docs/streams.md: its examples hold, and it names every transformation, setting and value that there is."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.diagnostics import render_diagnostic
from reconciler.base.schema_files import schema
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.streams.reading import KINDS
from tests.docs.pages import blocks

PAGE = (Path(__file__).parents[2] / "docs" / "streams.md").read_text("utf-8")
STREAMS = re.findall(r"^```yaml stream\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
PARTS = dict(re.findall(r"^## ([\w ]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
HEAD = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: sensors}\nspec:\n  streams:\n"
TABLES = """
CREATE TABLE sensor_readings (id BIGINT, device STRING, day STRING, temperature INT, read_at TIMESTAMP)
  WITH ('append_only' = 'true');
CREATE TABLE orders (order_id BIGINT, state STRING, ordered STRING) WITH ('append_only' = 'true');
CREATE TABLE customer_orders (id BIGINT PRIMARY KEY, customer STRING, amount INT, placed_at TIMESTAMP);
CREATE TABLE site_readings (site STRING, temperature INT, read_at TIMESTAMP) WITH ('append_only' = 'true');
CREATE TABLE payments (order_id BIGINT, state STRING, paid_at TIMESTAMP) WITH ('append_only' = 'true');
"""
READINGS = "- {name: readings, assign_timestamps_and_watermarks: {input: sensor_readings, event_time: read_at, delay: 5m}}\n"


EXAMPLES = {"sensors": {"program.sql", "pipeline.yaml"}, "alarms": {"program.sql", "pipeline.yaml", "udf/alarm.py"}}


def files_of(pipeline: str) -> dict[str, str]:
    below = f"pipelines/{pipeline}/"
    named = [(block.file, block.text) for block in blocks(PAGE) if block.file is not None]
    return {file.removeprefix(below): text for file, text in named if file.startswith(below)}


def problems(files: Mapping[str, str], name: str = "sensors") -> list[str]:
    read = read_manifest(f"pipelines/{name}", {f"pipelines/{name}/{file}": text for file, text in files.items()}, {})
    found = list(read.diagnostics)
    if read.manifest is not None:
        found += compile_program(read.manifest, complete=read.complete).diagnostics
    return [render_diagnostic(one) for one in found]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_pipelines_of_the_examples_hold(name: str) -> None:
    files = files_of(name)
    assert set(files) == EXAMPLES[name]
    assert problems(files, name) == []


def test_the_streams_of_the_page_hold_together() -> None:
    listed = "".join(f"    {line}\n" for line in (READINGS + "".join(STREAMS)).splitlines())
    assert problems({"program.sql": TABLES, "pipeline.yaml": HEAD + listed}) == []


def test_every_block_is_checked() -> None:
    assert PAGE.count("```") == 2 * (len(STREAMS) + sum(map(len, EXAMPLES.values())))


@pytest.mark.parametrize("kind", KINDS)
def test_each_transformation_has_a_part_with_all_its_settings_and_an_example(kind: str) -> None:
    settings = schema("pipeline.schema.json")["$defs"]["stream"]["properties"][kind]
    missing = [name for name in names_in(settings) if not re.search(rf"\b{name}\b", PARTS[kind].partition("```")[0])]
    assert missing == []
    examples = [*STREAMS, PARTS[kind]]
    assert any(re.search(rf"^ +{kind}:", example, re.MULTILINE) for example in examples)


def test_what_is_said_of_any_stream_is_named() -> None:
    stream = schema("pipeline.schema.json")["$defs"]["stream"]["properties"]
    assert [name for name in set(stream) - set(KINDS) if f"`{name}`" not in PARTS["Settings of every stream"]] == []


def names_in(part: Any) -> Iterator[str]:
    """The settings, and the values of those that take one of a few."""
    if isinstance(part, Mapping):
        properties = part.get("properties", {})
        yield from properties
        yield from part.get("enum", ())
        for below in (*properties.values(), *part.get("oneOf", ())):
            yield from names_in(below)
