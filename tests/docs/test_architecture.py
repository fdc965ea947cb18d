"""ARCHITECTURE.md: what it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
_NAMED = re.compile(r"`([\w./<>-]+\.(?:py|txt|java|json))`")


def _missing(text: str) -> list[str]:
    """Files that a text names and that are not there. A name without a folder stands beside the one named last."""
    missing, folders = [], [ROOT / "reconciler"]
    for name in _NAMED.findall(text):
        if "<" in name or name in ("conftest.py", "__init__.py"):
            continue
        found = [
            place for place in (ROOT / "reconciler" / name, ROOT / name, *(one / name for one in folders)) if place.is_file()
        ]
        if not found:
            missing.append(name)
        elif "/" in name:
            folders = [found[0].parent]
    return missing


def test_every_file_that_the_map_names_is_there() -> None:
    paragraphs = [line for part in PAGE.split("\n\n") for line in (part.splitlines() if part.startswith("|") else [part])]
    assert len(_NAMED.findall(PAGE)) > 100
    assert [name for text in paragraphs for name in _missing(text)] == []


def test_the_map_has_every_package() -> None:
    packages = {path.name for path in (ROOT / "reconciler").iterdir() if (path / "__init__.py").is_file()}
    assert packages - set(re.findall(r"^\| `(\w+)/` \|", PAGE, re.MULTILINE)) == set()
