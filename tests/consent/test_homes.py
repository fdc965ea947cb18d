"""What a warehouse remembers of projects binds who applies to it, until what is merged says otherwise."""

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.apply.planning import plan_pipeline
from reconciler.base.errors import ApprovalRequired, ReconcileError, RegistryError
from reconciler.environment.bases import required_branches
from reconciler.environment.commit_authors import authors_since
from reconciler.environment.homes import Homes, homes_beside, homes_of
from reconciler.environment.policies import what_is_asked
from reconciler.environment.source import files_of
from reconciler.registry.home import Home
from reconciler.registry.protocol import Glance
from reconciler.testing.memory import MemoryRegistry
from reconciler.workspace.outlines import find_unchanged
from tests.consent.cell import PROGRAM, Cell
from tests.consent.places import with_origin
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


def test_what_is_unchanged_is_planned_where_only_the_warehouse_knows_the_default_branch(cell: Cell) -> None:
    with_origin(cell)
    cell.git("remote", "set-head", "origin", "main")
    LOOSE.edit(cell.root)
    cell.commit("changed")
    cell.git("push", "-q", "origin", "main")
    assert not cell.project().pipeline("free").apply().did_nothing
    cell.git("push", "-q", "origin", "main:master")
    cell.git("remote", "set-head", "origin", "-d")
    target = cell.project().target
    assert find_unchanged(target, "free", files_of(target.root, "free")) is not None
    assert plan_pipeline(target, "free").changes_nothing


DENIES = 'apiVersion: reconciler/v1\nkind: Policy\nrules: [{hazard: "*", verdict: deny}]\n'


def second_project(cell: Cell, warehouse: str = "../../warehouse") -> None:
    """Another project in the repository, with a pipeline that was never applied and a policy that denies."""
    (cell.root / "policy.yaml").write_text(DENIES.replace("deny", "allow"))
    folder = cell.root / "second" / "pipelines" / "fresh"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text("apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: fresh}\n")
    (folder / "program.sql").write_text("CREATE TABLE t (id BIGINT);\n")
    (cell.root / "second" / "reconcile.yaml").write_text(f"environments: {{prod: {{warehouse: {warehouse}}}}}\n")
    (cell.root / "second" / "policy.yaml").write_text(DENIES)


def verdict_on(cell: Cell, pipeline: str) -> str:
    target = cell.project().target
    policy, _ = what_is_asked(target, homes_of(target, pipeline))
    assert policy is not None
    return policy.rules[0].verdict.value


def test_a_new_pipeline_is_under_its_own_project_before_those_of_others(cell: Cell) -> None:
    second_project(cell)
    cell.commit("a second project of the same warehouse")
    assert verdict_on(cell, "fresh") == "allow"
    cell.root /= "second"
    assert verdict_on(cell, "fresh") == "deny"
    assert required_branches(cell.project().target, "fresh") == ("main",)


def test_a_new_pipeline_that_comes_to_another_projects_warehouse_is_under_that_project(cell: Cell) -> None:
    second_project(cell, "../../own")
    (cell.root / "policy.yaml").write_text(DENIES)
    (cell.root / "second" / "policy.yaml").write_text(DENIES.replace("deny", "allow"))
    cell.commit("a second project with a warehouse of its own")
    cell.root /= "second"
    assert verdict_on(cell, "fresh") == "allow"
    project = cell.root / "reconcile.yaml"
    project.write_text(project.read_text().replace("../../own", "../../warehouse"))
    assert verdict_on(cell, "fresh") == "deny"


class Failing(MemoryRegistry):
    """One whose heads can't be read; `is_away`: nor can anything else from then on."""

    def __init__(self, code: str, is_away: bool) -> None:
        super().__init__()
        self.code, self.is_away, self.looks = code, is_away, 0

    def pipelines(self) -> tuple[str, ...]:
        if self.is_away and self.looks:
            raise RegistryError("G602", "the store is out of reach")
        return ("shop", "free")

    def glance(self, pipeline: str) -> Glance | None:
        self.looks += 1
        raise RegistryError(self.code, "the head can't be read")


@pytest.mark.parametrize("code", ["G601", "G602"])
def test_a_damaged_head_of_another_pipeline_asks_for_nothing(code: str, cell: Cell) -> None:
    registry = Failing(code, is_away=False)
    target = replace(cell.project().target, registry=registry)
    for _ in range(3):
        assert homes_beside(target, "fresh", None) == Homes()
    assert registry.looks == 2, "each head is looked at once by a command"


@pytest.mark.parametrize(("code", "is_away"), [("G606", False), ("G602", True)])
def test_a_head_of_another_pipeline_that_can_not_be_told_is_an_error(code: str, is_away: bool, cell: Cell) -> None:
    target = replace(cell.project().target, registry=Failing(code, is_away))
    with pytest.raises(RegistryError) as refusal:
        homes_beside(target, "fresh", None)
    assert refusal.value.code == code
