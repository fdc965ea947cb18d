"""Words of a text: looking for few of them gives those that all of them hold."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.sql.lexer import words_among, words_in

WANTED = frozenset({"limit", "rand", "now", "first_value"})
PIECES = st.sampled_from(
    ["limit", "LIMIT", "lımıt", "rand", "brand", "now", "known", "first", "_value", " ", "'", ".", "(", "ß"]
)


@given(st.lists(PIECES).map("".join))
def test_those_that_are_looked_for_are_those_that_are_there(text: str) -> None:
    assert words_among(text, WANTED) == words_in(text) & WANTED


@given(st.one_of(st.text(), st.text(st.characters(max_codepoint=127))))
def test_a_word_is_a_run_of_letters_digits_and_underscores(text: str) -> None:
    assert words_in(text) == frozenset(re.findall(r"\w+", text.upper().lower()))


@pytest.mark.parametrize(("text", "found"), [("SELECT brand LIMIT 3", {"limit"}), ("SELECT lımıt", {"limit"}), ("x", set())])
def test_a_word_within_another_is_none(text: str, found: set[str]) -> None:
    assert words_among(text, WANTED) == found
