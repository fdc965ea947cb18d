"""Every code is declared once, explained in docs/errors/, and every code that the product issues is declared."""

import re
from pathlib import Path

from reconciler.base.codes import CODES

ROOT = Path(__file__).parents[2]
HEADING = re.compile(r"^### ([A-Z]\d{3}) (.+)$", re.MULTILINE)
ISSUED = re.compile(r'"([MSPCAGXUH]\d{3})"')


def _explained() -> dict[str, str]:
    found: dict[str, str] = {}
    for page in sorted((ROOT / "docs" / "errors").glob("*.md")):
        for code, title in HEADING.findall(page.read_text()):
            assert code not in found, f"{code} is explained twice"
            found[code] = title
    return found


def test_every_code_is_explained_under_its_title() -> None:
    assert _explained() == CODES


def test_every_code_that_is_issued_is_declared() -> None:
    issued = {
        code
        for file in (ROOT / "reconciler").rglob("*.py")
        if file.name != "codes.py"
        for code in ISSUED.findall(file.read_text())
    }
    assert issued <= set(CODES)
    assert len(issued) > 80


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "errors.md").read_text()
    for page in (ROOT / "docs" / "errors").glob("*.md"):
        assert f"(errors/{page.name})" in index
