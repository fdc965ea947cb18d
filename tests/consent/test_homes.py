"""What a warehouse remembers of projects binds who applies to it, until what is merged says otherwise."""

from pathlib import Path

import pytest

from reconciler.errors import ApprovalRequired, ReconcileError
from reconciler.reconcile.commits import authors_since
from reconciler.registry.home import Home
from tests.consent.cell import PROGRAM, Cell
from tests.consent.things import THINGS

LOOSE = THINGS["a view of who allows"]


def home_of(cell: Cell, pipeline: str) -> Home | None:
    stored = cell.project().target.registry.head(pipeline)
    assert stored is not None
    assert stored.value.applied is not None
    return stored.value.applied.home


def refused(cell: Cell, pipeline: str = "free") -> None:
    before = cell.warehouse()
    with pytest.raises(ApprovalRequired) as refusal:
        cell.project().pipeline(pipeline).apply()
    assert refusal.value.code == "A580"
    assert cell.warehouse() == before


def move(cell: Cell, folder: str) -> None:
    """Move the project within its repository; nothing is committed."""
    depth = "../" * len(Path(folder).parts)
    (cell.root / folder).mkdir(parents=True)
    for file in ("pipelines", "reconcile.yaml"):
        (cell.root / file).rename(cell.root / folder / file)
    cell.root /= folder
    project = cell.root / "reconcile.yaml"
    project.write_text(project.read_text().replace("../", f"../{depth}"))


def ask_for_nothing(cell: Cell) -> None:
    project = cell.root / "reconcile.yaml"
    project.write_text(project.read_text().replace("branch: main, ", ""))


def test_an_apply_records_where_the_project_is_merged(cell: Cell) -> None:
    assert home_of(cell, "free") == Home("", "prod", ("main",), False)
    move(cell, "team/data")
    LOOSE.edit(cell.root)
    cell.commit("moved")
    cell.project().pipeline("free").apply()
    assert home_of(cell, "free") == Home("team/data", "prod", ("main",), False)
    assert home_of(cell, "shop") == Home("", "prod", ("main",), False)


def test_what_was_asked_stands_until_something_is_applied_from_where_the_project_was_merged_to(cell: Cell) -> None:
    move(cell, "data")
    ask_for_nothing(cell)
    cell.commit("moved, and nothing is asked any more")
    cell.git("checkout", "-q", "-b", "side")
    LOOSE.edit(cell.root)
    cell.commit("side")
    refused(cell)

    cell.merge("side")
    assert not cell.project().pipeline("free").apply().did_nothing
    cell.git("checkout", "-q", "-b", "another")
    (cell.root / "pipelines/free/program.sql").write_text("CREATE TABLE orders (id BIGINT, amount DECIMAL(10,2));\n")
    cell.commit("another")
    assert not cell.project().pipeline("free").apply().did_nothing


def test_what_is_merged_is_asked_at_once(cell: Cell) -> None:
    ask_for_nothing(cell)
    cell.commit("nothing is asked any more")
    cell.git("checkout", "-q", "-b", "side")
    LOOSE.edit(cell.root)
    cell.commit("side")
    assert not cell.project().pipeline("free").apply().did_nothing


def test_what_is_applied_from_a_project_that_is_not_merged_changes_no_home(cell: Cell) -> None:
    ask_for_nothing(cell)
    cell.commit("nothing is asked any more")
    cell.git("checkout", "-q", "-b", "side")
    LOOSE.edit(cell.root)
    move(cell, "data")
    cell.commit("moved on a side branch")
    assert not cell.project().pipeline("free").apply().did_nothing
    assert home_of(cell, "free") == Home("", "prod", ("main",), False)


@pytest.mark.parametrize("outside_of_git", [True, False])
def test_a_new_pipeline_is_asked_for_what_others_are(outside_of_git: bool, cell: Cell) -> None:
    cell.git("checkout", "-q", "-b", "side")
    move(cell, "data")
    ask_for_nothing(cell)
    THINGS["a first apply"].edit(cell.root)
    cell.commit("moved on a side branch")
    if outside_of_git:
        (cell.home / "repository" / ".git").rename(cell.home / "git")
    refused(cell, "fresh")


def test_nor_after_the_project_was_moved_before_anything_is_applied_from_there(cell: Cell) -> None:
    move(cell, "data")
    cell.commit("moved")
    elsewhere = cell.home / "some" / "where" / "clone"
    cell.git("clone", "-q", str(cell.home / "repository"), str(elsewhere))
    cell.root = elsewhere / "data"
    project = cell.root / "reconcile.yaml"
    text = project.read_text().replace("prod", "mine").replace("branch: main, ", "")
    project.write_text(text.replace("../../warehouse", str(cell.home / "warehouse")))
    THINGS["a first apply"].edit(cell.root)
    cell.commit("another environment")
    cell.environment = "mine"
    refused(cell, "fresh")


def test_another_repository_of_the_warehouse_is_asked_for_what_it_says_itself(cell: Cell) -> None:
    root = cell.home / "others"
    (root / "pipelines").mkdir(parents=True)
    cell.root = root
    cell.git("init", "-q", "-b", "trunk")
    folder = root / "data" / "pipelines" / "fresh"
    folder.mkdir(parents=True)
    (root / "data" / "reconcile.yaml").write_text("environments: {live: {warehouse: ../../warehouse}}\n")
    (folder / "pipeline.yaml").write_text("apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: fresh}\n")
    (folder / "program.sql").write_text("CREATE TABLE t (id BIGINT);\n")
    cell.root = root / "data"
    cell.commit("another repository")
    cell.environment = "live"
    assert not cell.project().pipeline("fresh").apply().did_nothing


def by(cell: Cell, name: str, message: str) -> None:
    cell.git("add", "-A")
    cell.git("commit", "-q", "-m", message, "--author", f"{name} <{name.lower()}@example.org>")


def barred(cell: Cell, pipeline: str, name: str) -> None:
    digest = cell.project().pipeline(pipeline).plan().digest
    with pytest.raises(ReconcileError, match=f"{name} made the change") as refusal:
        cell.project().pipeline(pipeline).approve(digest, name)
    assert refusal.value.code == "A582"


def test_who_made_a_change_before_the_project_was_moved_made_it(cell: Cell) -> None:
    (cell.root / "policy.yaml").write_text(
        'apiVersion: reconciler/v1\nkind: Policy\nrules: [{hazard: "*", verdict: approve}]\n'
    )
    cell.commit("policy")
    THINGS["a table dropped of who allows"].edit(cell.root)
    by(cell, "Mallory", "dropped")
    move(cell, "data")
    cell.commit("moved")
    barred(cell, "free", "Mallory")


@pytest.mark.parametrize("since", ["", "HEAD"])
def test_who_made_a_file_that_was_moved_into_a_pipeline_made_what_it_says(since: str, cell: Cell) -> None:
    since = cell.git("rev-parse", "HEAD") if since else ""
    folder = cell.root / "pipelines/fresh"
    (cell.root / "drafts").mkdir()
    (cell.root / "drafts/program.sql").write_text(PROGRAM)
    by(cell, "Mallory", "a draft")
    folder.mkdir()
    (cell.root / "drafts/program.sql").rename(folder / "program.sql")
    cell.commit("moved")
    authors = authors_since(cell.root, since, (folder,))
    assert authors is not None
    assert {"Ann", "Mallory"} <= authors
