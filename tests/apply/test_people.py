"""One person is one person, however he is named."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from reconciler.apply.people import names_of, people_of

ADA = (
    *("Ada Lovelace", "ada lovelace", " ADA  LOVELACE ", "Lovelace, Ada", "lovelace ada", "Ada\u200b Lovelace"),
    *("Ada Lovelace <ada.l@corp.example>", '"Lovelace, Ada" <ada.l@corp.example>', "ada.l@corp.example (Ada Lovelace)"),
    *("ada.lovelace@corp.example", "Ada.Lovelace", "ada_lovelace", "\uff21da Lovelace"),
)
BY_ADDRESS = ("ada.l@corp.example", "<ada.l@corp.example>", " Ada.L@elsewhere.example", "ada.l", "<ADA.L@corp.example>")
BOTH = "Ada Lovelace <ada.l@corp.example>"


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(ADA, 2)])
def test_spellings_of_a_name_name_one_person(one: str, other: str) -> None:
    assert names_of(one) & names_of(other)
    assert len(people_of([one, other])) == 1


@pytest.mark.parametrize("text", BY_ADDRESS)
def test_an_address_names_whom_git_names_by_it(text: str) -> None:
    assert names_of(text) & names_of(BOTH)


@given(some.permutations([*ADA, *BY_ADDRESS]))
def test_who_is_known_by_name_and_address_is_one_person_in_any_order(texts: list[str]) -> None:
    [person] = people_of(texts)
    assert person.named == texts[0]


@pytest.mark.parametrize("text", ["", " ", "@ann", "\u200b", "<>", "<@ann>", "()", "@"])
def test_some_texts_name_nobody(text: str) -> None:
    assert names_of(text) == frozenset()
    assert people_of([text]) == ()


@settings(max_examples=30, deadline=None)
@given(some.lists(some.text(max_size=20), max_size=6))
def test_nobody_is_two_people(texts: list[str]) -> None:
    nobody_is_two(texts)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(some.lists(some.text(max_size=20), max_size=6))
def test_nobody_is_two_people_in_many_more_cases(texts: list[str]) -> None:
    nobody_is_two(texts)


def nobody_is_two(texts: list[str]) -> None:
    people = people_of(texts)
    assert all(not one.names & other.names for one, other in itertools.combinations(people, 2))
    assert frozenset().union(*(one.names for one in people)) == frozenset().union(*map(names_of, texts))


def test_people_stay_apart() -> None:
    named = ["Ann Lee", "Bob", "ann@example.org", "\u674e\u5a1c", "\U0001f98a", "Ann Leigh <a.leigh@example.org>"]
    assert [one.named for one in people_of(named)] == named
