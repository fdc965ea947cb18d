"""What of a function is its meaning."""

from dataclasses import replace
from typing import Any

import pytest

from reconciler.base.declarations import FunctionDeclaration, ParameterDeclaration, PythonBody, Settings, SqlBody
from reconciler.project.program.model import Function, Program
from reconciler.project.snapshot.codec import encode_program
from reconciler.project.snapshot.fingerprint import function_content
from reconciler.project.snapshot.model import take_snapshot

TEXT = 'def tax(x):\n    """The tax."""\n    return x * 2\n'
PYTHON = PythonBody("taxes", {"taxes.py": TEXT, "rates.py": "RATE = 1\n"}, ("numpy==2.1.0",), "3.12")
TAX = FunctionDeclaration("tax", (ParameterDeclaration("x", "INT"),), "INT", PYTHON, False, "CREATE FUNCTION …")
TWICE = FunctionDeclaration("twice", (ParameterDeclaration("x", "INT"),), "INT", SqlBody("x * 2"), False, "…")


def content(function: FunctionDeclaration, **changes: Any) -> object:
    return function_content(Function(replace(function, **changes)))


def test_what_is_written_otherwise_means_the_same() -> None:
    commented = {**PYTHON.sources, "taxes.py": "# new\ndef tax( x ):\n    '''Other.'''\n\n    return (x*2)  # twice\n"}

    assert content(TAX, sql="…", description="…", body=replace(PYTHON, sources=commented)) == content(TAX)
    assert content(TWICE, name="TWICE", body=SqlBody("X*2 /* twice */"), sql="x") == content(TWICE)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "Tax"},
        {"parameters": (ParameterDeclaration("x", "BIGINT"),)},
        {"parameters": (ParameterDeclaration("x", "INT", False),)},
        {"returns": "BIGINT"},
        {"returns_nullable": False},
        {"deterministic": True},
        {"body": SqlBody("x * 2")},
        {"body": replace(PYTHON, module="rates")},
        {"body": replace(PYTHON, python="3.13")},
        {"body": replace(PYTHON, requirements=("numpy==2.2.0",))},
        {"body": replace(PYTHON, sources={**PYTHON.sources, "rates.py": "RATE = 2\n"})},
    ],
)
def test_what_changes_a_function(changes: dict[str, Any]) -> None:
    assert content(TAX, **changes) != content(TAX)


def test_a_snapshot_has_a_fingerprint_of_each_function() -> None:
    program = Program(Settings("shop"), {}, {}, {}, functions={"tax": Function(TAX)})
    other = Program(Settings("shop"), {}, {}, {}, functions={"tax": Function(replace(TAX, deterministic=True))})

    first, second = take_snapshot(program), take_snapshot(other)

    assert list(first.fingerprints) == ["function:tax"]
    assert first.digest != second.digest
    assert [one["kind"] for one in encode_program(program)] == ["function", "settings"]
