"""A checkpoint that is restored where it was never in force is asked for what a first apply is."""

from pathlib import Path

import pytest

from reconciler.base.errors import ApprovalRequired
from tests.consent.cell import Cell, copy_base
from tests.consent.things import FREE, replaced


@pytest.fixture(scope="module")
def with_checkpoints(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("restores") / "base"
    cell = copy_base(base, home)
    for name in ("shop", "free"):
        cell.project().pipeline(name).checkpoint("good")
    return home


@pytest.fixture
def cell(with_checkpoints: Path, tmp_path: Path) -> Cell:
    return copy_base(with_checkpoints, tmp_path / "cell")


def with_files(cell: Cell, name: str = "fresh", of: str = "free") -> None:
    """Another pipeline with the same files."""
    folder = cell.root / "pipelines" / name
    folder.mkdir()
    for file in ("pipeline.yaml", "program.sql"):
        (folder / file).write_text((cell.root / "pipelines" / of / file).read_text().replace(f"name: {of}", f"name: {name}"))


def is_applied(cell: Cell, pipeline: str) -> bool:
    head = cell.project().target.registry.head(pipeline)
    return head is not None and head.value.applied is not None and head.value.applied.record is not None


def refused(cell: Cell, pipeline: str, source: str, *, replaces: bool = False) -> str:
    with pytest.raises(ApprovalRequired) as refusal:
        cell.project().new_pipeline(pipeline).restore("good", source, replaces=replaces)
    return f"{refusal.value.code}: {refusal.value.message}"


def test_a_new_pipeline_has_to_be_merged(cell: Cell) -> None:
    assert "fresh has no files" in refused(cell, "fresh", "free")
    with_files(cell)
    assert "not committed" in refused(cell, "fresh", "free")
    cell.git("checkout", "-q", "-b", "side")
    cell.commit("side")
    assert "A580" in refused(cell, "fresh", "free")
    assert not is_applied(cell, "fresh")
    cell.merge("side")
    cell.project().new_pipeline("fresh").restore("good", "free")
    assert is_applied(cell, "fresh")
    assert cell.project().pipeline("fresh").plan().changes_nothing


def test_nothing_older_than_the_commit_of_a_first_restore_is_applied_after_it(cell: Cell) -> None:
    with_files(cell)
    program = cell.root / "pipelines/fresh/program.sql"
    good = program.read_text()
    program.write_text(good + "CREATE MATERIALIZED VIEW undone AS SELECT 1 AS one;\n")
    undone = cell.commit("bad")
    program.write_text(good)
    cell.commit("mended")
    cell.project().new_pipeline("fresh").restore("good", "free")

    cell.git("checkout", "-q", undone)
    with pytest.raises(ApprovalRequired, match="older") as refusal:
        cell.project().pipeline("fresh").apply()
    assert refusal.value.code == "A580"


def test_its_merged_files_have_to_say_what_is_restored(cell: Cell) -> None:
    with_files(cell)
    replaced("pipelines/fresh/program.sql", "SUM(", "MAX(")(cell.root)
    cell.commit("another program")
    assert "define another program than the checkpoint" in refused(cell, "fresh", "free")
    assert not is_applied(cell, "fresh")


def test_it_is_approved_where_first_applies_are(cell: Cell) -> None:
    project = cell.root / "reconcile.yaml"
    project.write_text(project.read_text().replace("branch: main,", "branch: main, first_apply: await_approval,"))
    with_files(cell)
    cell.commit("a new one")
    assert refused(cell, "fresh", "free").startswith("A501")
    assert not is_applied(cell, "fresh")
    cell.project().new_pipeline("fresh").restore("good", "free", approve_as="Bob")
    assert is_applied(cell, "fresh")


def test_a_pipeline_that_allows_is_not_replaced_by_what_the_branch_does_not_say(cell: Cell) -> None:
    with_files(cell, "other", "free")
    replaced("pipelines/other/program.sql", "SUM(", "MAX(")(cell.root)
    cell.commit("another one that allows")
    cell.project().pipeline("other").apply()
    cell.project().pipeline("other").checkpoint("good")
    before = cell.project().target.registry.head("free")
    assert "define another program than the checkpoint" in refused(cell, "free", "other", replaces=True)
    assert cell.project().target.registry.head("free") == before
    replaced(FREE, "SUM(", "MAX(")(cell.root)
    cell.commit("the same")
    cell.project().pipeline("free").restore("good", "other", replaces=True)
    assert cell.project().pipeline("free").plan().changes_nothing


def test_a_pipeline_that_was_removed_comes_back_only_as_the_branch_says(cell: Cell) -> None:
    replaced(FREE, "CREATE TABLE", "-- gone\nCREATE TABLE")(cell.root)
    (cell.root / FREE).unlink()
    (cell.root / "pipelines/free/pipeline.yaml").unlink()
    cell.commit("removed")
    cell.project().pipeline("free").apply()
    assert not is_applied(cell, "free")
    assert "free has no files" in refused(cell, "free", "shop")


def test_rows_of_its_own_go_back_from_anywhere(cell: Cell) -> None:
    cell.git("checkout", "-q", "-b", "side")
    cell.project().pipeline("shop").restore("good")


def test_nothing_older_than_what_was_applied_comes_back_after_a_restore(cell: Cell) -> None:
    """A restore comes from no commit, and takes none away."""
    old = cell.git("rev-parse", "HEAD")
    replaced(FREE, "SUM(", "MAX(")(cell.root)
    cell.commit("another query")
    cell.project().pipeline("free").apply()
    cell.project().pipeline("free").checkpoint("later")
    replaced(FREE, "MAX(", "MIN(")(cell.root)
    newest = cell.commit("yet another")
    cell.project().pipeline("free").apply()
    cell.project().pipeline("free").restore("later")
    head = cell.project().target.registry.head("free")
    assert head is not None
    assert head.value.applied is not None
    assert head.value.applied.commit == newest
    cell.git("checkout", "-q", "--detach", old)
    with pytest.raises(ApprovalRequired, match="older"):
        cell.project().pipeline("free").apply()


@pytest.mark.parametrize("policy", ["allow", "await_approval", "reject"])
@pytest.mark.parametrize(
    "sql", ["CREATE TABLE t (id BIGINT);\n", "CREATE FUNCTION f(x INT) RETURNS INT AS x + 1;\n", "-- nothing yet\n"]
)
def test_a_first_apply_is_approved_whatever_the_new_pipeline_says(policy: str, sql: str, cell: Cell) -> None:
    """What it says of itself would hold for all that comes after."""
    project = cell.root / "reconcile.yaml"
    project.write_text(project.read_text().replace("branch: main,", "branch: main, first_apply: await_approval,"))
    with_files(cell)
    yaml = cell.root / "pipelines/fresh/pipeline.yaml"
    yaml.write_text(yaml.read_text().replace("allow", policy))
    (cell.root / "pipelines/fresh/program.sql").write_text(sql)
    cell.commit("a new one")
    plan = cell.project().pipeline("fresh").plan()
    assert plan.needs_approval
    with pytest.raises(ApprovalRequired) as refusal:
        cell.project().pipeline("fresh").apply()
    assert refusal.value.code == "A501"
    cell.lock("fresh")
    cell.commit("its lock")
    cell.project().pipeline("fresh").apply()
    assert is_applied(cell, "fresh")


def test_an_empty_pipeline_is_applied_once_and_removed_as_any(cell: Cell) -> None:
    with_files(cell)
    (cell.root / "pipelines/fresh/program.sql").write_text("-- nothing yet\n")
    cell.commit("an empty one")
    assert not cell.project().pipeline("fresh").apply().did_nothing
    assert is_applied(cell, "fresh")
    assert cell.project().pipeline("fresh").apply().did_nothing
