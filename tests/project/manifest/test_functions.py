"""Functions in Python: found by their text, with everything that they import of the folder, and nothing is run."""

from pathlib import Path

import pytest

from reconciler.base.declarations import FunctionDeclaration, PythonBody
from reconciler.base.diagnostics import Diagnostic
from reconciler.environment.source import read_pipeline_files
from reconciler.project.manifest.functions import PYTHON
from reconciler.project.manifest.read import read_manifest

YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec:
  functions:
    TAX: {deterministic: true, description: The tax, requirements: [PyYAML==6.0, numpy==2.1.0]}
"""
SQL = "CREATE FUNCTION tax(x INT) RETURNS INT; CREATE FUNCTION twice(x INT) RETURNS INT AS x * 2;"


def read(udf: dict[str, str], sql: str = SQL) -> tuple[tuple[FunctionDeclaration, ...], tuple[Diagnostic, ...]]:
    files = {"pipelines/shop/pipeline.yaml": YAML, "pipelines/shop/program.sql": sql}
    found = read_manifest("pipelines/shop", files | {f"pipelines/shop/udf/{path}": text for path, text in udf.items()}, {})
    assert found.manifest is not None
    return found.manifest.functions, found.diagnostics


def sources(udf: dict[str, str]) -> list[str]:
    functions, diagnostics = read(udf)
    assert diagnostics == ()
    assert isinstance(functions[0].body, PythonBody)
    return list(functions[0].body.sources)


def test_a_function_has_its_definition_and_settings() -> None:
    text = "import numpy.linalg, yaml, json, os.path\nRATE = 2\n\ndef tax(x, rate=RATE, *more):\n    return x\n"
    functions, diagnostics = read({"lib/taxes.py": text, "other.py": "def other():\n    import nowhere\n"})

    assert diagnostics == ()
    tax, twice = functions
    assert tax.body == PythonBody("lib.taxes", {"lib/taxes.py": text}, ("PyYAML==6.0", "numpy==2.1.0"), PYTHON)
    assert (tax.deterministic, tax.description, twice.deterministic) == (True, "The tax", True)


def test_a_function_in_sql_is_deterministic_if_all_that_it_calls_is() -> None:
    functions, _ = read(
        {"other.py": "def other(x): ...\n", "taxes.py": "def tax(x): ...\n"},
        "CREATE FUNCTION tax(x INT) RETURNS INT; CREATE FUNCTION other(x INT) RETURNS INT;"
        "CREATE FUNCTION a(x INT) RETURNS INT AS tax(x) + 1; CREATE FUNCTION b(x INT) RETURNS INT AS a(x) + other(x);"
        "CREATE FUNCTION c(x INT) RETURNS INT AS b(x); CREATE FUNCTION d(x INT) RETURNS INT AS x + rand();",
    )

    assert [one.name for one in functions if one.deterministic] == ["tax", "a"]


TAX = "def tax(x):\n    return x\n"


@pytest.mark.parametrize(
    ("imports", "found"),
    [
        ("import rates", ["rates.py"]),
        ("from rates import RATE", ["rates.py"]),
        ("from . import rates", ["rates.py"]),
        ("from .rates import *", ["rates.py"]),
        ("import lib.rates as r", ["lib/__init__.py", "lib/rates.py"]),
        ("from lib import rates", ["lib/__init__.py", "lib/rates.py"]),
        ("from lib import VALUE", ["lib/__init__.py"]),
        ("from lib import *", ["lib/__init__.py", "lib/rates.py", "lib/upward.py", "rates.py"]),
        ("from lib.upward import RATE", ["lib/__init__.py", "lib/upward.py", "rates.py"]),
        ("from plain import rates", ["plain/rates.py"]),
        ("import plain.deep.rates", ["plain/deep/rates.py"]),
        ("import again", ["again.py"]),
        ("import json", []),
        ("import importlib; m = importlib.import_module('decimal')", []),
        ("import re; p = re.compile('x')", []),
    ],
)
def test_what_is_imported_belongs_to_the_function(imports: str, found: list[str]) -> None:
    udf = {
        "taxes.py": f"{imports}\n{TAX}",
        "rates.py": "RATE = 1\n",
        "lib/__init__.py": "VALUE = 1\n",
        "lib/rates.py": "",
        "lib/upward.py": "from ..rates import RATE\n",
        "plain/rates.py": "",
        "plain/deep/rates.py": "",
        "again.py": "import taxes\n",
        "not-a-module.py": "syntax error",
        "test_taxes.py": "import pytest\n",
    }

    assert sources(udf) == sorted([*found, "taxes.py"])


def test_a_module_of_the_folder_hides_one_of_the_library() -> None:
    assert sources({"taxes.py": f"import json\n{TAX}", "json.py": ""}) == ["json.py", "taxes.py"]


def test_the_package_around_belongs_to_it() -> None:
    assert sources({"taxes.py": TAX, "__init__.py": ""}) == ["__init__.py", "taxes.py"]


def test_files_that_are_no_python_matter_only_where_functions_are_written_in_python() -> None:
    _, diagnostics = read({"x.py": "def ("}, "CREATE FUNCTION TAX(x INT) RETURNS INT AS x;")

    assert [one.code for one in diagnostics] == ["M167"]


def test_the_nearest_definition_is_suggested() -> None:
    def hint(udf: dict[str, str]) -> str | None:
        return read(udf)[1][0].hint

    assert hint({"taxes.py": "def taxx(x): ..."}) == "did you mean 'taxx' in udf/taxes.py?"
    assert hint({"taxes.py": "def Tax(x): ..."}) == "udf/taxes.py has def Tax: letter case counts in Python"
    assert hint({}) == "write def tax(x) in udf/, or give it a body in SQL: AS expression"


def test_the_files_of_a_pipeline_hold_its_functions(tmp_path: Path) -> None:
    for path in (
        "udf/taxes.py",
        "udf/lib/rates.py",
        "udf/notes.txt",
        "tools.py",
        "program.sql",
        "udf/__pycache__/taxes.pyc",
    ):
        file = tmp_path / "pipelines" / "shop" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")

    assert sorted(read_pipeline_files(tmp_path, "shop")) == [
        f"pipelines/shop/{path}" for path in ("program.sql", "udf/lib/rates.py", "udf/taxes.py")
    ]
