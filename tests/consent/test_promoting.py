"""What was staged is put in force by what the environment asks for then, whatever it asked for when it was staged.

Each way in which things change between staging and promotion, by `promote` and by an `apply` of the very files.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.base.errors import ReconcileError
from tests.consent.cell import Cell

Between = Callable[[Cell], None]


def stage(cell: Cell) -> None:
    """Another query of a view of pipeline `free`, staged of the commit that is checked out."""
    sql = cell.root / "pipelines/free/program.sql"
    sql.write_text(sql.read_text().replace("SELECT id FROM orders;", "SELECT id + 1 AS id FROM orders;"))
    cell.commit("another query")
    assert not cell.project().pipeline("free").stage().did_nothing


def with_branch(root: Path, branch: str) -> None:
    project = root / "reconcile.yaml"
    project.write_text(project.read_text().replace("branch: main", branch))


def nothing(cell: Cell) -> None:
    """Nothing changes."""


def the_branch_goes_on(cell: Cell) -> None:
    """Something else is committed, and nobody looks at it."""
    cell.commit("something else")


def another_branch(cell: Cell) -> None:
    """The environment takes its files from another branch, which never had what was staged."""
    cell.git("branch", "release", "HEAD~1")
    with_branch(cell.root, "branch: release")
    cell.commit("from release on")
    with_project = (cell.root / "reconcile.yaml").read_text()
    cell.git("checkout", "-q", "release")
    (cell.root / "reconcile.yaml").write_text(with_project)
    cell.commit("from release on")


def another_branch_that_has_it(cell: Cell) -> None:
    """The environment takes its files from another branch, which has what was staged."""
    with_branch(cell.root, "branch: release")
    cell.commit("from release on")
    cell.git("checkout", "-q", "-b", "release")


def thrown_away(cell: Cell) -> None:
    """The branch is set back to before what was staged."""
    cell.git("reset", "-q", "--hard", "HEAD~1")


def thrown_away_and_checked_out(cell: Cell) -> None:
    """The same, and what was staged is checked out beside the branch."""
    staged = cell.git("rev-parse", "HEAD")
    cell.git("reset", "-q", "--hard", "HEAD~1")
    cell.git("checkout", "-q", "--detach", staged)


def brought_in_by_a_merge(cell: Cell) -> None:
    """The branch is set back, and a merge brings in what was staged: the branch itself never stood at it."""
    staged = cell.git("rev-parse", "HEAD")
    cell.git("reset", "-q", "--hard", "HEAD~1")
    cell.git("merge", "-q", "--no-ff", "--no-edit", staged)


FREE_TO_GO = {
    "nothing": nothing,
    "the branch goes on": the_branch_goes_on,
    "a branch that has it": another_branch_that_has_it,
}
REFUSED = {
    "another branch": another_branch,
    "thrown away": thrown_away,
    "thrown away and checked out": thrown_away_and_checked_out,
}


@pytest.fixture
def ready(cell: Cell) -> Cell:
    """Pipeline `free` has a view with rows of its own."""
    sql = cell.root / "pipelines/free/program.sql"
    sql.write_text(sql.read_text() + "CREATE MATERIALIZED VIEW stored AS SELECT id FROM orders;\n")
    cell.commit("a view")
    cell.project().pipeline("free").apply()
    return cell


def has_staged(cell: Cell) -> bool:
    head = cell.project().target.registry.head("free")
    return head is not None and head.value.staged is not None


@pytest.mark.parametrize("between", sorted(FREE_TO_GO))
def test_what_the_branch_has_is_promoted(ready: Cell, between: str) -> None:
    stage(ready)
    FREE_TO_GO[between](ready)
    assert not ready.project().pipeline("free").promote().did_nothing
    assert not has_staged(ready)


@pytest.mark.parametrize("between", sorted(REFUSED))
def test_what_the_branch_does_not_have_is_not_promoted(ready: Cell, between: str) -> None:
    stage(ready)
    REFUSED[between](ready)
    before = ready.warehouse()
    with pytest.raises(ReconcileError, match="not promoted") as refusal:
        ready.project().pipeline("free").promote()
    assert refusal.value.code == "A580"
    assert ready.warehouse() == before


def test_what_a_merge_brought_in_is_promoted_by_an_apply_of_the_merge_alone(ready: Cell) -> None:
    stage(ready)
    brought_in_by_a_merge(ready)
    with pytest.raises(ReconcileError, match="came into branch main by a merge"):
        ready.project().pipeline("free").promote()
    assert not ready.project().pipeline("free").apply().did_nothing
    assert not has_staged(ready)


def test_the_very_files_are_not_applied_where_the_branch_does_not_have_them(ready: Cell) -> None:
    stage(ready)
    thrown_away_and_checked_out(ready)
    before = ready.warehouse()
    with pytest.raises(ReconcileError, match="not merged") as refusal:
        ready.project().pipeline("free").apply()
    assert refusal.value.code == "A580"
    assert ready.warehouse() == before


@pytest.mark.parametrize("what", ["promote", "apply"])
@pytest.mark.parametrize("dirty", [False, True], ids=["on a side branch", "not committed"])
def test_what_was_staged_when_no_branch_was_asked_for_is_not_promoted_since(ready: Cell, what: str, dirty: bool) -> None:
    ready.environment = "dev"
    ready.project().pipeline("free").apply()
    ready.git("checkout", "-q", "-b", "side")
    if dirty:
        sql = ready.root / "pipelines/free/program.sql"
        sql.write_text(sql.read_text().replace("SELECT id FROM orders;", "SELECT id + 1 AS id FROM orders;"))
        ready.project().pipeline("free").stage()
        ready.git("stash", "-q")
    else:
        stage(ready)
    ready.git("checkout", "-q", "main")
    project = ready.root / "reconcile.yaml"
    project.write_text(project.read_text().replace("dev: {warehouse: ../dev,", "dev: {warehouse: ../dev, branch: main,"))
    ready.commit("dev is asked for main")
    if dirty:
        ready.git("stash", "pop", "-q")
    else:
        ready.git("checkout", "-q", "side")
    pipeline = ready.project().pipeline("free")
    with pytest.raises(ReconcileError) as refusal:
        getattr(pipeline, what)()
    assert refusal.value.code == "A580"
    assert has_staged(ready)
