"""The pages of docs/ hang together: README names each, links meet headings, codes and events are those that there are."""

import re
from pathlib import Path

import pytest

from reconciler.base.codes import CODES
from reconciler.state.events import Event
from tests.docs.pages import pages

ROOT = Path(__file__).parents[2]
IN_PAGES = pytest.mark.parametrize("page", pages(ROOT), ids=lambda page: page.relative_to(ROOT).as_posix())


def text_of(page: Path) -> str:
    return re.sub(r"^(`{3,}).*?^\1", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that the host makes of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@IN_PAGES
def test_links_within_pages_meet_a_heading(page: Path) -> None:
    missed = [
        f"{link}#{anchor}"
        for link, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", text_of(page))
        if "://" not in link and anchor not in anchors(page.parent / link if link else page)
    ]
    assert missed == []


@IN_PAGES
def test_codes_that_are_named_exist(page: Path) -> None:
    named = set(re.findall(r"\b[MSPCAGXUH]\d{3}\b", text_of(page)))
    # One example is about a code that there is not.
    assert named - set(CODES) - {"H999"} == set()


def test_readme_names_every_page() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    manifest = (ROOT / "docs/manifest.md").read_text("utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in readme] == []
    assert "(docs/connectors)" in readme
    connectors = [f"(connectors/{page.name})" for page in (ROOT / "docs/connectors").glob("*.md")]
    assert [link for link in connectors if link not in manifest] == []


def test_every_event_is_explained() -> None:
    page = (ROOT / "docs/running.md").read_text("utf-8").partition("## Events")[2]
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    explained = [event for row in rows for event in row[0].split(", ")]
    assert sorted(explained) == sorted(["event", *(event.value for event in Event)])
