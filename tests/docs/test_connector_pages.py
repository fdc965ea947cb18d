"""docs/connectors has a page a transport: its examples hold, and it names every setting of its own."""

import re
from pathlib import Path

import pytest

from reconciler.base.diagnostics import render_diagnostic
from reconciler.base.schema_files import schema
from reconciler.connectors.catalogue import TRANSPORTS, check_connector
from reconciler.project.manifest.yaml_text import load_yaml

PAGES = sorted((Path(__file__).parents[2] / "docs" / "connectors").glob("*.md"))
EXAMPLES = [
    (page.name, text)
    for page in PAGES
    for text in re.findall(r"^```yaml connector\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
]
OF_TRANSPORTS = pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem in TRANSPORTS], ids=lambda page: page.stem
)


@pytest.mark.parametrize(("page", "text"), EXAMPLES)
def test_every_example_holds(page: str, text: str) -> None:
    document = load_yaml(text, page)
    problems = [*document.diagnostics, *check_connector(document.value, document)]

    assert [render_diagnostic(problem) for problem in problems] == []


@OF_TRANSPORTS
def test_a_page_has_an_example_of_its_transport(page: Path) -> None:
    transports = [load_yaml(text, name).value["transport"]["name"] for name, text in EXAMPLES if name == page.name]

    assert page.stem in transports


@OF_TRANSPORTS
def test_a_page_names_every_setting(page: Path) -> None:
    config = schema(TRANSPORTS[page.stem].schema_file)["properties"]["transport"]["properties"]["config"]
    own = [name for name in config["properties"] if "." not in name or name in config.get("required", ())]

    assert [name for name in own if f"`{name}`" not in page.read_text("utf-8")] == []


@OF_TRANSPORTS
def test_the_codes_that_a_page_names_are_there(page: Path) -> None:
    from reconciler.base.codes import CODES

    assert sorted(set(re.findall(r"\bX7\d\d\b", page.read_text("utf-8"))) - set(CODES)) == []
