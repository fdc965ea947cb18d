"""JSON values one after the other: where each ends, wherever the parser is shown a part of the text only."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.rest.json_texts import Read, items_of, values_of
from tests.pace import at_usual_pace

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def read(found: Read) -> Any:
    try:
        return found()
    except (ValueError, RecursionError) as error:
        return f"wrong: {error}"


@settings(max_examples=30, deadline=None)
@given(values=st.lists(VALUES, max_size=5), between=st.sampled_from(["\n", " ", "\r\n\n"]), long=st.integers(4_000, 4_200))
def test_each_value_is_read_where_it_stands(values: list[Any], between: str, long: int) -> None:
    reads_each_value_where_it_stands(values, between, long)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(values=st.lists(VALUES, max_size=5), between=st.sampled_from(["\n", " ", "\r\n\n"]), long=st.integers(4_000, 4_200))
def test_each_value_is_read_where_it_stands_in_many_more_cases(values: list[Any], between: str, long: int) -> None:
    reads_each_value_where_it_stands(values, between, long)


def reads_each_value_where_it_stands(values: list[Any], between: str, long: int) -> None:
    # What is long makes what follows begin and end at any place around the end of a part.
    whole = ["a" * long, *values, int("9" * 4_200), -1.5, *values, True]
    text = between.join(json.dumps(one) for one in whole)
    assert [
        float(found) if not isinstance(found, bool) and hasattr(found, "adjusted") else found
        for found in map(read, values_of(text))
    ] == whole
    assert [read(one) for one in items_of(json.dumps(values) + between + json.dumps(values))] == [*values, *values]


@pytest.mark.parametrize("length", range(4_070, 4_110))
@pytest.mark.parametrize("last", ["true", "12345678901234567890", "1.5e10", '"\\ud83d\\ude00"', '{"a": [null]}'])
def test_what_a_part_cuts_is_read_whole(length: int, last: str) -> None:
    (found,) = map(read, values_of("[" + " " * length + last + "]"))
    (expected,) = json.loads(f"[{last}]")
    assert [float(one) if hasattr(one, "adjusted") else one for one in found] == [expected]
    assert [*map(str, map(read, values_of(last + " " * length)))] == [*map(str, map(read, values_of(last)))]


def test_what_is_none_ends_with_its_line() -> None:
    found = [read(one) for one in values_of('1\nnone\n{"a":\n2}\n[3\n4 5')]
    assert [one for one in found if not isinstance(one, str)] == [1, {"a": 2}, 4, 5]
    assert sum(isinstance(one, str) and one.startswith("wrong") for one in found) == 2
    assert [read(one) for one in items_of("[1] {} null [2")][:2] == [1, "wrong: this is no array: {}"]


def test_many_lines_that_are_none_cost_as_much_as_they_are_long() -> None:
    text = "1,abcdefghij\n" * 200_000
    before = time.process_time()
    assert sum(1 for _ in values_of(text)) == 400_000
    # The parser alone, which counts the lines before each, takes minutes.
    assert at_usual_pace(time.process_time() - before) < 20


def test_what_is_nested_too_deeply_is_told_and_no_error_of_the_service() -> None:
    deep = '{"a":' * 600 + "1" + "}" * 600
    (found,) = items_of(deep)
    with pytest.raises((ValueError, RecursionError)):
        found()
