"""Patterns mean the same on every Python from 3.11.0 on. Before 3.11.5 a group that is repeated for good (`(?:…)*+`) went on
from where its last round had come to before it failed (gh-100061): secrets were shown. Each such group ends with `|(?!)`, or
has nothing that could fail behind a first character.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, TypeAlias

import pytest

import reconciler
from reconciler.base.patterns import lazy_pattern

Items: TypeAlias = list[tuple[Any, Any]]

_CHARACTERS = {constants.LITERAL, constants.NOT_LITERAL, constants.IN, constants.ANY, constants.CATEGORY}
_NEVER = (constants.ASSERT_NOT, (1, []))


def _within(operation: Any, value: Any) -> list[Items]:
    if operation in (constants.POSSESSIVE_REPEAT, constants.MAX_REPEAT, constants.MIN_REPEAT):
        return [list(value[2])]
    if operation is constants.SUBPATTERN:
        return [list(value[3])]
    if operation is constants.BRANCH:
        return [list(choice) for choice in value[1]]
    if operation in (constants.ASSERT, constants.ASSERT_NOT):
        return [list(value[1])]
    if operation is constants.ATOMIC_GROUP:
        return [list(value)]
    if operation is constants.GROUPREF_EXISTS:
        return [list(choice) for choice in value[1:] if choice is not None]
    return []


def _begins_anew(body: Items) -> bool:
    if len(body) == 1:
        operation, value = body[0]
        if operation is constants.SUBPATTERN:
            return _begins_anew(list(value[3]))
        if operation is constants.BRANCH:
            choices = _within(operation, value)
            last = [(operation, (value[0], list(value[1]))) for operation, value in choices[-1] if operation is _NEVER[0]]
            return last == [_NEVER] or all(_begins_anew(choice) for choice in choices)
    if body and body[-1][0] in (constants.POSSESSIVE_REPEAT, constants.MAX_REPEAT):
        least, _, repeated = body[-1][1]
        if least == 0 and len(repeated) == 1 and repeated[0][0] in _CHARACTERS:
            body = body[:-1]
    return all(operation in _CHARACTERS for operation, _ in body)


def _wrong_in_early_pythons(items: Items) -> Iterator[Items]:
    for operation, value in items:
        parts = _within(operation, value)
        if operation is constants.POSSESSIVE_REPEAT and not _begins_anew(parts[0]):
            yield parts[0]
        for part in parts:
            yield from _wrong_in_early_pythons(part)


def _wrong(text: str) -> list[Items]:
    return list(_wrong_in_early_pythons(list(parser.parse(text))))


def test_every_pattern_of_the_package_means_the_same_on_every_python() -> None:
    seen, wrong = 0, []
    for module in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
        for name, value in vars(importlib.import_module(module.name)).items():
            is_pattern = isinstance(value, re.Pattern) or type(value) is type(lazy_pattern(""))
            text = value.pattern if is_pattern else None
            if isinstance(text, str):
                seen += 1
                wrong += [f"{module.name}.{name}"] if _wrong(text) else []
    assert seen > 200
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    [
        r"(?:(?!ab).)*+",
        r"(?:a|b(?!c))++x",
        r"x(?:ab?c)*+",
        r"(?:\w+\.){1,9}+",
        r"a(?:b(?:cd*e){2}+|(?!))*+",
        r"(?=(?:a*?b)++)",
    ],
)
def test_a_pattern_that_early_pythons_get_wrong_is_seen(text: str) -> None:
    assert _wrong(text)


@pytest.mark.parametrize(
    "text",
    [r"[ab]*+", r"(?:ab)*+", r"(?:a|bc)++", r"(?:\)\s*+)*+", r"(?:(?!ab).|(?!))*+", r"(?:\w+\.|(?!))++", r"(?:ab?c)*"],
)
def test_a_pattern_that_early_pythons_read_well_passes(text: str) -> None:
    assert _wrong(text) == []


def test_a_choice_that_never_fits_changes_nothing() -> None:
    for text in ("ab", "aab", "abc", "cab", "a", "", "aaabcab"):
        found = re.findall(r"(?:(?!ab).|(?!))*+", text)
        assert found == re.findall(r"(?:(?!ab).)*", text)
