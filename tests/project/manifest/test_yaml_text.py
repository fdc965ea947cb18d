"""YAML as people expect it, positions that are true, and no text that makes reading fail."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.base.diagnostics import Location
from reconciler.project.manifest.yaml_text import MAXIMUM_SIZE, MAXIMUM_VALUES, load_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("off", "off"),
        ("n", "n"),
        ("~", None),
        ("null", None),
        ("", None),
        ("17", 17),
        ("-17", -17),
        ("0o17", 15),
        ("0x1F", 31),
        ("0", 0),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("1_000", "1_000"),
        ("60s", "60s"),
        ("12:30", "12:30"),
        ("2025-01-31", "2025-01-31"),
        ("2025-01-31T08:00:00Z", "2025-01-31T08:00:00Z"),
        ("1.2.3", "1.2.3"),
        ("'17'", "17"),
        ('"true"', "true"),
        ("!!str 17", "17"),
        ('!!int "17"', 17),
        ("! 17", "17"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, value: Any) -> None:
    document = load_yaml(f"key: {text}\n", "f.yaml")

    assert document.diagnostics == ()
    assert document.value == {"key": value}
    assert type(document.value["key"]) is type(value)


def test_keys_are_texts_as_written() -> None:
    assert load_yaml("on: 1\n17: 2\ntrue: 3\n", "f").value == {"on": 1, "17": 2, "true": 3}


def test_every_key_and_value_has_its_place() -> None:
    document = load_yaml("a:\n  - b: [x,  y]\n    c: |\n      text\n", "f.yaml")

    places = {path: (place.key, place.value) for path, place in document.positions.items()}
    shown = {path: (str(key) if key else None, str(value)) for path, (key, value) in places.items()}
    assert shown == {
        (): (None, "f.yaml:1:1"),
        ("a",): ("f.yaml:1:1", "f.yaml:2:3"),
        ("a", 0): (None, "f.yaml:2:5"),
        ("a", 0, "b"): ("f.yaml:2:5", "f.yaml:2:8"),
        ("a", 0, "b", 0): (None, "f.yaml:2:9"),
        ("a", 0, "b", 1): (None, "f.yaml:2:13"),
        ("a", 0, "c"): ("f.yaml:3:5", "f.yaml:3:8"),
    }
    assert str(document.of_value(("a", 0, "b", 7, "z"))) == "f.yaml:2:8"
    assert str(document.of_key(("a", 0))) == "f.yaml:2:5"


def test_columns_count_characters() -> None:
    document = load_yaml("{ä: ö, 名: 前}", "f")

    assert str(document.of_key(("名",))) == "f:1:8"
    assert str(document.of_value(("名",))) == "f:1:11"


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    document = load_yaml("\ufeffa: 1", "f")

    assert document.value == {"a": 1}
    assert str(document.of_key(("a",))) == "f:1:1"


def test_what_an_alias_repeats_stands_at_its_anchor() -> None:
    document = load_yaml("a: &x {b: 1}\nc: *x\n", "f")

    assert document.value == {"a": {"b": 1}, "c": {"b": 1}}
    assert str(document.of_value(("c",))) == "f:2:4"
    assert str(document.of_value(("c", "b"))) == "f:1:11"


def test_the_first_of_two_equal_keys_stays() -> None:
    document = load_yaml("a: 1\na: 2\n", "f")

    assert document.value == {"a": 1}
    assert str(document.of_value(("a",))) == "f:1:4"
    assert [problem.code for problem in document.diagnostics] == ["M102"]


def test_a_text_beyond_the_size_limit_is_not_read() -> None:
    document = load_yaml("a: " + "x" * MAXIMUM_SIZE, "f")

    assert document.value is None
    assert [problem.code for problem in document.diagnostics] == ["M103"]


def test_values_are_counted_with_aliases_expanded() -> None:
    half = MAXIMUM_VALUES // 2
    document = load_yaml(f"a: &a [{'x,' * half}]\nb: *a\n", "f")

    assert document.value is None
    assert [problem.code for problem in document.diagnostics] == ["M103"]


def test_deep_nesting_is_refused_without_recursion() -> None:
    for opening in ("[", "{a: ", "- "):
        assert [problem.code for problem in load_yaml(opening * 100_000, "f").diagnostics] == ["M103"]


@pytest.mark.parametrize("digits", [20, 5_000])
def test_integers_beyond_64_bits_are_refused(digits: int) -> None:
    document = load_yaml("a: " + "9" * digits, "f")

    assert [problem.code for problem in document.diagnostics] == ["M108"]


_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Cn", "Cs", "Zl", "Zp"]), max_size=8)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS.filter(bool), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=30, deadline=None)
@given(_JSON.filter(lambda value: value is not None))
def test_json_is_read_as_json(value: Any) -> None:
    reads_json_as_json(value)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(_JSON.filter(lambda value: value is not None))
def test_json_is_read_as_json_in_many_more_cases(value: Any) -> None:
    reads_json_as_json(value)


def reads_json_as_json(value: Any) -> None:
    document = load_yaml(json.dumps(value, ensure_ascii=False), "f")

    assert document.diagnostics == ()
    assert document.value == value


@given(st.text(st.sampled_from("ab:-[]{}&*!#|>'\"\\ \n\t,?%@`0.~<\x00\ud800\ufeff"), max_size=60))
@settings(deadline=None)
def test_no_text_makes_reading_raise(text: str) -> None:
    document = load_yaml(text, "f")

    assert document.value is not None or document.diagnostics


@pytest.mark.parametrize("character", ["\0", "\x1b", "\x9b", "\u202e", "\u2069"])
@pytest.mark.parametrize("text", ["a: 1\nb: '{}'", "a: 1\nb:  {}", "a: 1 \n# x {}"])
def test_what_shows_nothing_is_refused(text: str, character: str) -> None:
    read = load_yaml(text.format(character), "f.yaml")
    assert read.value is None
    assert [(one.code, one.location) for one in read.diagnostics] == [("M101", Location("f.yaml", 2, 5))]
