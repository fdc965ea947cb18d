"""Texts with JSON: the quick ways of reading and writing give what the `json` module gives."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.base.digest import canonical_json, read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_written_is_canonical_and_read_as_it_was(value: Any) -> None:
    text = canonical_json(value)
    assert text == json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    assert read_json(text) == json.loads(text) == value


@pytest.mark.parametrize("text", ["", " 1", "1 ", "1 2", "{", '{"a": 1', '"a', "nothing", "﻿1", "[1,]", "{}{}"])
def test_what_is_no_value_or_more_than_one_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"line 1 column"):
        read_json(text)


@pytest.mark.parametrize("value", [float("nan"), [float("inf")]])
def test_what_is_no_number_has_no_text(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(value)
