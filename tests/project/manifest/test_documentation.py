"""docs/manifest.md shows files that hold, and names every key of the schemas; docs/errors explains every code."""

import re
from pathlib import Path

import pytest

from reconciler.base.codes import CODES
from reconciler.base.diagnostics import errors_among, render_diagnostic
from reconciler.base.schema_files import schema
from reconciler.connectors.catalogue import TRANSPORTS, check_connector
from reconciler.project.manifest.check import check_pipeline
from reconciler.project.manifest.project import read_project
from reconciler.project.manifest.yaml_text import load_yaml
from reconciler.sql.statements import read_sql

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "manifest.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```(yaml pipeline|yaml project|yaml connector|sql)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("kind", "text"), EXAMPLES)
def test_every_example_holds(kind: str, text: str) -> None:
    document = load_yaml("" if kind == "sql" else text, "manifest.md")
    match kind:
        case "yaml pipeline":
            problems = [*document.diagnostics, *check_pipeline(document.value, document)]
            for connector in document.value.get("spec", {}).get("connectors", ()):
                problems += errors_among(check_connector(connector, document))
        case "yaml project":
            problems = list(read_project(text).diagnostics)
        case "yaml connector":
            problems = [*document.diagnostics, *errors_among(check_connector(document.value, document))]
        case _:
            sql = read_sql(text, "manifest.md")
            problems = list(sql.diagnostics)
            for declaration in sql.connectors:
                problems += check_connector(declaration.settings, document)

    assert [render_diagnostic(problem) for problem in problems] == []


def test_every_code_block_is_checked() -> None:
    assert PAGE.count("```") == 2 * len(EXAMPLES)


def test_every_key_is_named() -> None:
    pipeline = schema("pipeline.schema.json")["properties"]
    keys = {
        *pipeline,
        *(f"metadata.{key}" for key in pipeline["metadata"]["properties"]),
        *(f"spec.{key}" for key in pipeline["spec"]["properties"]),
        *schema("connector.schema.json")["properties"],
        *schema("project.schema.json")["properties"]["environments"]["additionalProperties"]["properties"],
        *TRANSPORTS,
    }

    assert sorted(key for key in keys if key not in PAGE) == []


@pytest.mark.parametrize(("letter", "page"), [("M", "manifest.md"), ("C", "connectors.md")])
def test_every_code_is_explained_under_its_title(letter: str, page: str) -> None:
    headings = re.findall(r"^### (.*)$", (DOCS / "errors" / page).read_text(encoding="utf-8"), re.MULTILINE)

    assert headings == [f"{code} {title}" for code, title in sorted(CODES.items()) if code[0] == letter]
