"""docs/threat-model.md: every row names what shows it, and what it names exists."""

import re
from pathlib import Path

from tests.cells import is_slow, names_of_tests
from tests.consent.places import PLACES
from tests.consent.things import THINGS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/threat-model.md").read_text("utf-8")
NAMED = re.compile(r"(`+)(tests/.+?)\1(?!`)")


def rows() -> list[str]:
    """The rows of the tables of threats."""
    found, of_threats = [], False
    for line in PAGE.splitlines():
        if line.startswith("| threat "):
            of_threats = True
        elif not line.startswith("|"):
            of_threats = False
        elif of_threats and not line.startswith("|---"):
            found.append(line)
    return found


def problem(name: str) -> str | None:
    """What is wrong with what a row names: a test, one of its cases, or a folder of a case."""
    path, _, test = name.partition("::")
    if not test:
        return None if (ROOT / path).exists() else f"there is no {path}"
    function, _, case = test.partition("[")
    file = ROOT / path
    if not file.is_file() or not re.search(rf"^def {re.escape(function)}\(", file.read_text("utf-8"), re.MULTILINE):
        return f"there is no {name}"
    return None if not case or case.removesuffix("]") in {*PLACES, *THINGS} else f"there is no cell of {case}"


def test_every_row_is_shown_by_tests_that_exist() -> None:
    assert len(rows()) >= 40
    assert [row for row in rows() if row.count(" | ") != 2] == []
    assert [row for row in rows() if not NAMED.search(row.rpartition(" | ")[2])] == []
    assert [wrong for _, name in NAMED.findall(PAGE) if name.count("/") > 1 and (wrong := problem(name)) is not None] == []


def is_in_every_run(name: str) -> bool:
    path, _, test = name.partition("[")[0].partition("::")
    if test:
        return not is_slow(ROOT / path, test)
    files = [ROOT / path] if (ROOT / path).is_file() else sorted((ROOT / path).rglob("test_*.py"))
    # A folder without tests is a case of a test elsewhere.
    return not files or any(not is_slow(file, one) for file in files for one in names_of_tests(file))


def test_every_row_is_shown_in_every_run() -> None:
    """By one of its tests at least: what else it names may be slow."""
    shown = [[name for _, name in NAMED.findall(row.rpartition(" | ")[2])] for row in rows()]
    assert [names for names in shown if not any(map(is_in_every_run, names))] == []


def test_no_threat_is_told_twice() -> None:
    threats = [row.split(" | ")[0] for row in rows()]
    assert sorted(set(threats)) == sorted(threats)


def test_every_place_that_has_no_consent_is_a_threat() -> None:
    """The tricks of the matrix stand on the page, but for what has another name there."""
    tricks = {name for name, place in PLACES.items() if not place.merged}
    told = {name.partition("[")[2].removesuffix("]") for _, name in NAMED.findall(PAGE) if "[" in name}
    others = {
        "approved by its digest, on a side branch",
        "dirty, its lock merged",
        "a side branch",
        "a link to a file elsewhere",
        "a link within the folder",
        "`..` in sql",
    }
    assert tricks - told - others == {"GIT_DIR", "GIT_COMMON_DIR"}
