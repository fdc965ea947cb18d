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
    assert set(re.findall(r"^\| `(\w+)/` \|", PAGE, re.MULTILINE)) == packages


SOURCES = ROOT / "reconciler"
DOTTED = re.compile(r"`((?:[a-z_0-9]+\.)+\w+)`")
SETTING = re.compile(r"spark\..*|[a-z.]+\.[a-z]+[A-Z]\w*|\w+\.yaml")
"""Names with dots that are no modules: Spark's settings, Delta's properties, files."""


def known_modules() -> dict[str, list[Path]]:
    """By each way to write a module or package (`plan.hazards.readers`, `hazards.readers`) its file, or all of its files."""
    found: dict[str, list[Path]] = {}
    for path in SOURCES.rglob("*.py"):
        parts = path.relative_to(SOURCES.parent).with_suffix("").parts
        for end in range(1, len(parts) + 1):
            for start in range(end):
                found.setdefault(".".join(parts[start:end]), []).append(path)
    return found


def test_every_module_that_is_named_is_there() -> None:
    """In docstrings and comments as in the map: `package.module`, with or without a name that it defines."""
    modules = known_modules()
    # What was one room is named no more.
    packages = {path.parent.name for path in SOURCES.rglob("__init__.py")} | {"reconcile"}
    wrong = []
    for path in [*SOURCES.rglob("*.py"), ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]:
        for name in DOTTED.findall(path.read_text("utf-8")):
            module, _, attribute = name.rpartition(".")
            if name in modules or name.partition(".")[0] not in packages or SETTING.fullmatch(name):
                continue
            defines = re.compile(rf"^\s*(?:def |class )?{attribute}\b", re.MULTILINE)
            if not any(defines.search(file.read_text("utf-8")) for file in modules.get(module, ())):
                wrong.append(f"{path.relative_to(ROOT)}: {name}")
    assert wrong == []
