"""Who made the change does not approve the plan that it causes, in whatever pipeline that is: a matrix of changes to what a
pipeline reads, by the place of the change. `reader` reads `source`, which reads `base`; nobody reads `other`."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.base.errors import EXIT_DONE, ApprovalRequired, ReconcileError
from reconciler.cli.main import run
from reconciler.plan.model import Plan
from reconciler.testing.recording import RecordingEngine
from tests.consent.cell import Cell
from tests.engine.delta_writer import DeltaWriter

YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {{name: {name}}}
spec: {{bootstrap_policy: allow, evolution: evolve}}
"""
POLICY = """\
apiVersion: reconciler/v1
kind: Policy
rules:
  - {hazard: "*", verdict: approve}
"""
PROJECT = "default: prod\nenvironments:\n  prod: {warehouse: ../warehouse, variables: {folder: in}}\n"
PROGRAMS = {
    "base": "CREATE TABLE t (id BIGINT, x INT, y INT);\n",
    "source": (
        "CREATE TABLE t (id BIGINT, x INT, y INT);\n"
        "CREATE FUNCTION same(x INT) RETURNS INT AS x;\n"
        "CREATE MATERIALIZED VIEW called AS SELECT id, same(CAST(y AS INT)) AS x FROM t;\n"
        "CREATE MATERIALIZED VIEW through AS SELECT id, x FROM base.t;\n"
    ),
    "reader": (
        "CREATE MATERIALIZED VIEW v AS SELECT id, x, rand() AS lot FROM source.t;\n"
        "CREATE MATERIALIZED VIEW w AS SELECT id, x, rand() AS lot FROM source.called;\n"
        "CREATE MATERIALIZED VIEW z AS SELECT id, x, rand() AS lot FROM source.through;\n"
    ),
    "other": "CREATE TABLE t (id BIGINT, x INT);\n",
}


def write(root: Path, name: str, program: str) -> None:
    folder = root / "pipelines" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pipeline.yaml").write_text(YAML.format(name=name))
    (folder / "program.sql").write_text(program)


def begin(cell: Cell, root: Path, *names: str, project: str = PROJECT) -> None:
    """A repository with these pipelines, which are applied, as Zoe's."""
    root.mkdir(parents=True, exist_ok=True)
    cell.root = root
    for name in names:
        write(root, name, PROGRAMS[name])
    (root / "reconcile.yaml").write_text(project)
    if not (root / ".git").exists() and not any((one / ".git").exists() for one in root.parents):
        cell.git("init", "-q", "-b", "main")
    commit_as(cell, "Zoe")
    for name in names:
        cell.project().pipeline(name).apply()


def commit_as(cell: Cell, who: str) -> None:
    cell.git("add", "-A")
    cell.git("commit", "-q", "--allow-empty", "-m", f"by {who}", "--author", f"{who} <{who.lower()}@example.org>")


def edit(cell: Cell, name: str, before: str, after: str) -> None:
    path = cell.root / "pipelines" / name / "program.sql"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


def widen(cell: Cell, name: str) -> None:
    edit(cell, name, "x INT", "x BIGINT")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The four pipelines in one project, each in force, under a policy that asks for an approval of everything."""
    home = tmp_path_factory.mktemp("authors") / "home"
    cell = Cell(home)
    begin(cell, home / "repository", *PROGRAMS)
    (cell.root / "policy.yaml").write_text(POLICY)
    commit_as(cell, "Zoe")
    return home


@pytest.fixture
def four(made: Path, tmp_path: Path) -> Cell:
    return Cell(Path(shutil.copytree(made, tmp_path / "home", symlinks=True)))


def waiting(cell: Cell, name: str = "reader") -> Plan:
    plan = cell.project().pipeline(name).plan()
    assert plan.extra_approvals, plan.hazards
    return plan


def refused(cell: Cell, who: str, name: str = "reader") -> str:
    """The code with which an approval is refused, and nothing is recorded."""
    plan, before = waiting(cell, name), cell.warehouse()
    with pytest.raises(ReconcileError) as refusal:
        cell.project().pipeline(name).approve(plan.digest, who)
    assert cell.warehouse() == before
    return refusal.value.code


def accepted(cell: Cell, who: str, name: str = "reader") -> None:
    cell.project().pipeline(name).approve(waiting(cell, name).digest, who)


def a_table(cell: Cell) -> None:
    widen(cell, "source")
    commit_as(cell, "Mallory")


def a_function(cell: Cell) -> None:
    edit(cell, "source", "RETURNS INT AS x;", "RETURNS BIGINT AS CAST(x AS BIGINT);")
    commit_as(cell, "Mallory")


def a_view(cell: Cell) -> None:
    edit(cell, "source", "SELECT id, same", "SELECT id, 1 + same")
    commit_as(cell, "Mallory")


def two_pipelines_on(cell: Cell) -> None:
    widen(cell, "base")
    commit_as(cell, "Mallory")


def in_force_there_already(cell: Cell) -> None:
    a_table(cell)
    accepted(cell, "Bob", "source")
    cell.project().pipeline("source").apply()


def before_another_commit(cell: Cell) -> None:
    a_table(cell)
    edit(cell, "source", "y INT", "y INT /* said why */")
    commit_as(cell, "Ann")


def before_the_reader_is_changed_too(cell: Cell) -> None:
    a_table(cell)
    edit(cell, "reader", "SELECT id, x, rand() AS lot FROM source.called", "SELECT id, x + 1 AS x FROM source.called")
    commit_as(cell, "Ann")


def by_a_merge(cell: Cell) -> None:
    cell.git("checkout", "-q", "-b", "side")
    a_table(cell)
    cell.git("checkout", "-q", "main")
    cell.git("merge", "-q", "--no-ff", "--no-edit", "side")


def as_co_author(cell: Cell) -> None:
    widen(cell, "source")
    cell.git(
        "commit", "-qam", "together\n\nCo-authored-by: Mallory <mallory@example.org>", "--author", "Ann <ann@example.org>"
    )


CHANGES: dict[str, Callable[[Cell], None]] = {
    "a table": a_table,
    "a function": a_function,
    "a view": a_view,
    "two pipelines on": two_pipelines_on,
    "in force there already": in_force_there_already,
    "before another commit": before_another_commit,
    "before the reader is changed too": before_the_reader_is_changed_too,
    "by a merge": by_a_merge,
    "as a co-author": as_co_author,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_who_changed_what_a_pipeline_reads_does_not_approve_its_plan(change: Callable[[Cell], None], four: Cell) -> None:
    change(four)
    assert refused(four, "Mallory") == "A582"
    assert refused(four, "mallory@example.org") == "A582"
    accepted(four, "Bob")


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_his_approval_that_stands_in_the_registry_does_not_count(change: Callable[[Cell], None], four: Cell) -> None:
    change(four)
    plan, target = waiting(four), four.project().target
    row = {
        "plan_digest": plan.digest,
        "environment": "prod",
        "by": "Mallory",
        "at": "2026-01-01",
        "comment": "",
        "lifts": "",
    }
    from reconciler.registry.protocol import History

    target.registry.record(History.APPROVALS, "reader", [row], "approval:of Mallory's")
    with pytest.raises(ApprovalRequired, match="Mallory made the change and can't approve it"):
        four.project().pipeline("reader").apply()


def test_who_changed_something_else_approves_it(four: Cell) -> None:
    """Neither who wrote the reader long ago, nor who changed what it does not read."""
    a_table(four)
    widen(four, "other")
    commit_as(four, "Ann")
    for who in ("Ann", "Zoe"):
        accepted(four, who)


def test_a_plan_that_comes_of_the_reader_alone_is_for_all_others_to_approve(four: Cell) -> None:
    edit(four, "source", "y INT", "y INT /* said why */")
    commit_as(four, "Mallory")
    edit(four, "reader", "x, rand() AS lot FROM source.t", "x + 1 AS x, rand() AS lot FROM source.t")
    commit_as(four, "Ann")
    assert refused(four, "Ann") == "A582"
    accepted(four, "Mallory")


def test_what_was_rolled_back_there_is_a_change_of_who_did_that(four: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(four, "source", "SELECT id, same", "SELECT id, 1 + same")
    commit_as(four, "Ann")
    four.project().pipeline("source").apply()
    accepted(four, "Bob")
    four.project().pipeline("reader").apply()
    for name in ("GIT_COMMITTER_NAME", "GIT_AUTHOR_NAME"):
        monkeypatch.setenv(name, "Mallory")
    four.project().pipeline("source").rollback("called@v0")
    assert refused(four, "Mallory") == "A582"
    accepted(four, "Bob")


def test_nobody_approves_what_is_read_of_files_that_are_not_committed(four: Cell) -> None:
    widen(four, "source")
    assert refused(four, "Bob") == "A583"
    assert refused(four, "Mallory") == "A583"


def test_nobody_approves_where_the_copy_lacks_what_was_done_there(four: Cell) -> None:
    a_table(four)
    commit_as(four, "Ann")
    four.git("clone", "-q", "--depth", "1", f"file://{four.root}", str(four.home / "clone"))
    four.root = four.home / "clone"
    assert refused(four, "Bob") == "A583"


def test_where_git_can_not_tell_the_status_says_so(four: Cell, capsys: pytest.CaptureFixture[str]) -> None:
    a_table(four)
    commit_as(four, "Ann")
    accepted(four, "Bob")
    four.git("clone", "-q", "--depth", "1", f"file://{four.root}", str(four.home / "clone"))
    assert run(["status", "reader", "--repo", str(four.home / "clone")], RecordingEngine(DeltaWriter())) == EXIT_DONE
    said = capsys.readouterr().out
    assert "the approver must not be an author of the change" in said
    assert "git does not know its authors" in said


WAREHOUSE = "default: prod\nenvironments:\n  prod: {{warehouse: {}, variables: {{folder: in}}}}\n"


def project_at(cell: Cell, folder: str) -> None:
    cell.root = cell.home / folder


@pytest.fixture
def apart(tmp_path: Path) -> Cell:
    """`source` and `base` are of another project of the repository than `reader`."""
    cell = Cell(tmp_path / "home")
    project = WAREHOUSE.format(cell.home / "warehouse")
    cell.root = cell.home / "repository"
    cell.root.mkdir(parents=True)
    cell.git("init", "-q", "-b", "main")
    begin(cell, cell.home / "repository/x", "base", "source", project=project)
    begin(cell, cell.home / "repository/y", "reader", project=project)
    for folder in "xy":
        (cell.home / "repository" / folder / "policy.yaml").write_text(POLICY)
    commit_as(cell, "Zoe")
    return cell


def test_a_change_in_another_project_of_the_repository_has_authors(apart: Cell) -> None:
    project_at(apart, "repository/x")
    widen(apart, "source")
    commit_as(apart, "Mallory")
    # The reader's own project goes on before that is in force.
    project_at(apart, "repository/y")
    edit(apart, "reader", "x, rand() AS lot FROM source.called", "x + 1 AS x, rand() AS lot FROM source.called")
    commit_as(apart, "Ann")
    accepted(apart, "Bob")
    apart.project().pipeline("reader").apply()
    project_at(apart, "repository/x")
    accepted(apart, "Bob", "source")
    apart.project().pipeline("source").apply()
    project_at(apart, "repository/y")
    assert refused(apart, "Mallory") == "A582"
    accepted(apart, "Bob")


def test_of_a_change_in_another_repository_nobody_can_tell(four: Cell, tmp_path: Path) -> None:
    """`source` goes to another repository; that one's history is not here."""
    shutil.copytree(four.root, four.home / "theirs", symlinks=True)
    four.git("rm", "-q", "-r", "pipelines/source")
    commit_as(four, "Ann")
    theirs = Cell(four.home)
    theirs.root = four.home / "theirs"
    shutil.rmtree(theirs.root / ".git")
    theirs.git("init", "-q", "-b", "main")
    (theirs.root / "policy.yaml").unlink()
    widen(theirs, "source")
    commit_as(theirs, "Mallory")
    theirs.project().pipeline("source").apply()
    for who in ("Mallory", "Bob"):
        assert refused(four, who) == "A583"


def test_of_what_was_applied_from_files_that_were_not_committed_nobody_can_tell(apart: Cell) -> None:
    project_at(apart, "repository/x")
    (apart.root / "policy.yaml").unlink()
    commit_as(apart, "Zoe")
    widen(apart, "source")
    apart.project().pipeline("source").apply()
    commit_as(apart, "Mallory")
    project_at(apart, "repository/y")
    assert refused(apart, "Bob") == "A583"


def test_outside_of_git_everybody_counts(four: Cell) -> None:
    shutil.rmtree(four.root / ".git")
    widen(four, "source")
    accepted(four, "Mallory")
