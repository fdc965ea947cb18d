"""Each sentence of the document on stateful streaming, in its order, with what shows it: see seed_rules.txt.

Below a sentence, indented, stand

- a test (`tests/file.py::test_name`, or a whole file), or a pipeline that is refused (`tests/manifests/bad/<claim>`),
- `cases: word`: the files of tests/streams/cases with that word in their names, each of which is run,
- `differs: docs/page.md: how`, where the page says what is here instead, or
- `background: why`, for what demands nothing.
"""

import re
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = sorted(path.stem for path in (HERE / "cases").iterdir())


def rules() -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in (HERE / "seed_rules.txt").read_text("utf-8").splitlines():
        if line.startswith("    "):
            found[-1][1].append(line.strip())
        else:
            found.append((line, []))
    return found


def test_each_sentence_is_shown_or_says_why_not() -> None:
    assert len({sentence for sentence, _ in rules()}) == len(rules())
    assert [sentence for sentence, answers in rules() if not answers] == []
    wrong = [answer for _, answers in rules() for answer in answers if not holds(answer)]
    assert wrong == []


def holds(answer: str) -> bool:
    match re.split(r": |::", answer):
        case ["background", why]:
            return why != ""
        case ["differs", page, _]:
            return (ROOT / page).is_file()
        case ["cases", word]:
            return any(word in case for case in CASES)
        case [path]:
            return (ROOT / path).exists()
        case [file, name]:
            return re.search(rf"^def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE) is not None
        case _:
            return False
