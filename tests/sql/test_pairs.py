"""Each file under pairs/ holds two queries divided by a line `-- ~`; its name is the claim, its folder says which."""

from pathlib import Path

import pytest

from reconciler.sql.canonicalise import canonical_query

PAIRS = Path(__file__).parent / "pairs"
EQUAL = sorted((PAIRS / "equal").glob("*.sql"))
DIFFERENT = sorted((PAIRS / "different").glob("*.sql"))


def read_pair(path: Path) -> tuple[str, str]:
    first, second = path.read_bytes().decode("utf-8").split("\n-- ~\n")
    return first, second


@pytest.mark.parametrize("path", EQUAL, ids=lambda path: path.stem)
def test_equal(path: Path) -> None:
    first, second = read_pair(path)
    assert first != second
    assert canonical_query(first) == canonical_query(second)


@pytest.mark.parametrize("path", DIFFERENT, ids=lambda path: path.stem)
def test_different(path: Path) -> None:
    first, second = read_pair(path)
    for names_are_data in (False, True):
        assert canonical_query(first, names_are_data) != canonical_query(second, names_are_data)


@pytest.mark.parametrize("path", [*EQUAL, *DIFFERENT], ids=lambda path: path.stem)
def test_canonical_text_is_its_own_canonical_text(path: Path) -> None:
    for query in read_pair(path):
        for names_are_data in (False, True):
            canonical = canonical_query(query, names_are_data)
            assert canonical_query(canonical, names_are_data) == canonical


def test_there_are_enough_pairs() -> None:
    assert len(EQUAL) >= 105
    assert len(DIFFERENT) >= 130
