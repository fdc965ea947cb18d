"""What is wrong with a value of YAML is told by its place: the value may be a secret that was written without quotes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from reconciler.base.diagnostics import render_diagnostic
from reconciler.project.manifest.yaml_text import load_yaml

_SECRET = "Zq7hunTer2Xk"
_WRITTEN = (
    "!{}",
    "!!{}",
    "!<{}>",
    "!{0} {0}",
    "!{0}!{0} x",
    "!<tag:{}> x",
    "*{}",
    "&{0} *{0}",
    "%{}",
    "@{}",
    "`{}",
    "'{}",
    '"{}',
    '"\\{}"',
    "[{}",
    "{{{}",
    "{}: {}",
    "? {}",
    "- {}",
    "|{}",
    ">{}",
    "|\n {}",
    "!!int {}",
    "!!float '{}'",
    "!!bool {}",
    "!!null {}",
    "!!binary {}",
    "<<: {}",
    "{}\x07",
    "{}\n--- {}",
    "{}\n\tx: {}",
)


@pytest.mark.parametrize("written", _WRITTEN)
@pytest.mark.parametrize("around", ["password: {}", "a:\n  - password: {}\n    b: 1", "a: {{password: {}, b: 1}}"])
def test_no_value_is_quoted(written: str, around: str) -> None:
    value = written.format(_SECRET, _SECRET)
    for problem in load_yaml(around.format(value), "f.yaml").diagnostics:
        assert _SECRET.lower() not in render_diagnostic(problem).lower(), value


_REFUSED_NUMBERS = (
    r"[+-]?0[0-9]{8,40}",
    r"[+-]?[1-9][0-9]{19,60}",
    r"[+-]?[1-9][0-9]{7}e[1-9][0-9]{3}",
    r"0x[1-9a-f][0-9a-f]{16,40}",
)


@settings(max_examples=30, deadline=None)
@given(some.one_of(some.from_regex(form, fullmatch=True) for form in _REFUSED_NUMBERS))
def test_no_number_is_quoted(number: str) -> None:
    quotes_no_number(number)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(some.one_of(some.from_regex(form, fullmatch=True) for form in _REFUSED_NUMBERS))
def test_no_number_is_quoted_in_many_more_cases(number: str) -> None:
    quotes_no_number(number)


def quotes_no_number(number: str) -> None:
    problems = load_yaml(f"password: {number}", "f.yaml").diagnostics
    assert problems
    for problem in problems:
        shown = render_diagnostic(problem)
        assert all(number[start : start + 5] not in shown for start in range(len(number) - 4)), shown


@given(some.text(max_size=30), some.sampled_from(["password: {}", "a: [{}", "a: {{b: {}"]))
def test_nothing_of_any_value_is_quoted(text: str, around: str) -> None:
    value = f"{text}{_SECRET}{text}"
    for problem in load_yaml(around.format(value), "f.yaml").diagnostics:
        # A key that is given twice is a name.
        assert problem.code == "M102" or _SECRET not in render_diagnostic(problem)
