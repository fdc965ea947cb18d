"""Each sentence of a document that defines this project and demands something, with what became of it.

A file a document: a sentence as it is quoted stands in a line; below it, indented, stand

- the test that shows it (`tests/file.py::test_name`, or a whole file),
- `later: what: why`, for what does not exist yet, or
- `differs: docs/page.md: how`, where the page says what is here instead.

The document on modifying a pipeline has its rules in tests/golden/seed_rules.txt, where plans quote them.
"""

import re
from pathlib import Path

import pytest

from tests.cells import is_slow

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = sorted(HERE.glob("*.txt"))


def rules(page: Path) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("    "):
            found[-1][1].append(line.strip())
        else:
            found.append((line, []))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_sentence_is_shown_or_says_why_not(page: Path) -> None:
    found = rules(page)
    assert len({sentence for sentence, _ in found}) == len(found)
    for sentence, answers in found:
        assert answers, sentence
        for answer in answers:
            match re.split(r": |::", answer):
                case ["later", what, why]:
                    assert what, why
                case ["differs", place, *how]:
                    assert (ROOT / place).is_file(), answer
                    assert how, answer
                case [file]:
                    assert (ROOT / file).is_file(), answer
                case [file, name]:
                    assert re.search(rf"^ *def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE), answer
                case _:
                    raise AssertionError(answer)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_sentence_is_shown_in_every_run(page: Path) -> None:
    """By one of its tests at least: what else it names may be slow."""
    for sentence, answers in rules(page):
        tests = [answer.split("::") for answer in answers if answer.startswith("tests/")]
        assert not tests or not all(len(one) == 2 and is_slow(ROOT / one[0], one[1]) for one in tests), sentence
