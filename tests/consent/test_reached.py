"""How far along its branch a pipeline has come is remembered, and nothing older is applied or promoted after that."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from reconciler.base.errors import ApprovalRequired
from reconciler.environment.commits import Age, age_beside
from reconciler.environment.merged import reach
from reconciler.registry.delta import DeltaRegistry
from reconciler.registry.model import Reached, Stored, Value
from reconciler.service.project import Project
from reconciler.testing.crashes import Crash
from reconciler.testing.recording import RecordingEngine
from tests.consent.cell import Cell
from tests.consent.places import on_side
from tests.consent.things import THINGS
from tests.engine.delta_writer import DeltaWriter


def reached(cell: Cell, pipeline: str = "shop") -> str | None:
    found = cell.project().target.registry.document(pipeline, Reached)
    return found.value.commit if found is not None else None


def test_an_apply_with_nothing_to_do_remembers_its_commit_once(cell: Cell) -> None:
    assert cell.project().pipeline("shop").apply().did_nothing
    assert reached(cell) == cell.git("rev-parse", "HEAD")
    before = cell.warehouse()
    assert cell.project().pipeline("shop").apply().did_nothing
    assert cell.warehouse() == before


def test_it_remembers_no_files_that_are_not_merged(cell: Cell) -> None:
    cell.git("checkout", "-q", "-b", "side")
    cell.commit("of a side branch")
    assert cell.project().pipeline("shop").apply().did_nothing
    cell.git("checkout", "-q", "main")
    (cell.root / "reconcile.yaml").write_text((cell.root / "reconcile.yaml").read_text() + "# more\n")
    assert cell.project().pipeline("shop").apply().did_nothing
    assert reached(cell) is None


def test_an_older_commit_with_nothing_to_do_takes_nothing_back(cell: Cell) -> None:
    newest = cell.commit("newest")
    assert cell.project().pipeline("shop").apply().did_nothing
    cell.git("checkout", "-q", "--detach", "HEAD~")
    assert cell.project().pipeline("shop").apply().did_nothing
    assert reached(cell) == newest


def test_without_a_branch_nothing_is_remembered(cell: Cell) -> None:
    project = cell.root / "reconcile.yaml"
    project.write_text(project.read_text().replace("branch: main, ", ""))
    cell.commit("no branch")
    before = cell.warehouse()
    assert cell.project().pipeline("shop").apply().did_nothing
    assert cell.warehouse() == before


def test_an_apply_that_is_refused_remembers_nothing(cell: Cell) -> None:
    """What was merged before it may still be applied."""
    on_side(cell, THINGS["a description"])
    cell.merge("side", "--ff-only")
    cell.git("checkout", "-q", "-b", "other")
    THINGS["a view's query"].edit(cell.root)
    cell.commit("without a lock")
    cell.merge("other", "--ff-only")
    with pytest.raises(ApprovalRequired):
        cell.project().pipeline("shop").apply()
    cell.git("checkout", "-q", "--detach", "HEAD~")
    assert not cell.project().pipeline("shop").apply().did_nothing


def undone_elsewhere(cell: Cell, pipeline: str) -> tuple[Project, Project]:
    """Projects of two clones: of a commit that changes a table, and of one that reverts it."""
    sql = cell.root / f"pipelines/{pipeline}/program.sql"
    sql.write_text(sql.read_text().replace("other (id BIGINT)", "other (id BIGINT, more STRING)"))
    cell.lock(pipeline)
    cell.commit("another column")
    cell.git("revert", "--no-edit", "HEAD")
    cell.git("clone", "-q", str(cell.root), str(cell.home / "older"), at=cell.home)
    cell.git("checkout", "-q", "--detach", "HEAD~", at=cell.home / "older")
    engine = RecordingEngine(DeltaWriter())
    older = Project.open(cell.home / "older", "prod", engine=engine)
    return older, cell.project()


class At:
    """Does something once, at a boundary; and dies at another one."""

    def __init__(self, point: str, act: Callable[[], object], crash: str = "") -> None:
        self.point, self.act, self.crash, self.done = point, act, crash, False

    def __call__(self, point: str) -> None:
        if point == self.point and not self.done:
            self.done = True
            self.act()
        if point == self.crash:
            raise Crash(point)


@pytest.mark.parametrize("pipeline", ["shop", "free"])
@pytest.mark.parametrize("look", ["apply", "stage"])
def test_what_was_undone_while_it_was_about_to_be_applied_is_not(cell: Cell, pipeline: str, look: str) -> None:
    older, newer = undone_elsewhere(cell, pipeline)

    def nothing_to_do() -> None:
        assert getattr(newer.pipeline(pipeline), look)().did_nothing

    applied = newer.target.registry.head(pipeline)
    with pytest.raises(ApprovalRequired, match="older") as refusal:
        older.pipeline(pipeline).observed(boundary=At("open:before", nothing_to_do)).apply()
    assert refusal.value.code == "A580"
    now = newer.target.registry.head(pipeline)
    assert applied is not None
    assert now is not None
    assert now.value == applied.value
    assert newer.pipeline(pipeline).plan().changes_nothing


@pytest.mark.parametrize("pipeline", ["shop", "free"])
def test_who_opened_a_journal_of_it_and_died_is_not_finished(cell: Cell, pipeline: str) -> None:
    older, newer = undone_elsewhere(cell, pipeline)

    def nothing_to_do() -> None:
        assert newer.pipeline(pipeline).apply().did_nothing

    with pytest.raises(Crash):
        older.pipeline(pipeline).observed(boundary=At("open:before", nothing_to_do, crash="open:recorded")).apply()
    said: list[str] = []
    assert newer.pipeline(pipeline).observed(tell=said.append).apply().steps == ()
    assert "does not start" in " ".join(said)
    assert newer.pipeline(pipeline).plan().changes_nothing
    assert newer.pipeline(pipeline).apply().did_nothing


def test_nothing_to_do_is_not_said_beside_a_journal_that_was_opened_meanwhile(cell: Cell) -> None:
    """Who looks second sees what the first one wrote, whoever of both it is."""
    older, newer = undone_elsewhere(cell, "free")

    class Late(DeltaRegistry):
        """The other one opens its journal, and dies, before a commit is noted."""

        def replace_document(self, pipeline: str, token: int | None, document: Value, write_id: str) -> Stored[Value]:
            if not isinstance(document, Reached):
                return super().replace_document(pipeline, token, document, write_id)
            with pytest.raises(Crash):
                older.pipeline(pipeline).observed(boundary=At("", lambda: None, crash="commit_snapshot:intended")).apply()
            return super().replace_document(pipeline, token, document, write_id)

    target: Any = newer.target
    object.__setattr__(target, "registry", Late(target.warehouse))
    result = newer.pipeline("free").apply()
    assert result.finished
    assert not result.did_nothing
    assert newer.pipeline("free").plan().changes_nothing


def test_what_is_recorded_as_applied_is_the_commit_that_was_judged(cell: Cell) -> None:
    """Somebody checks another branch out, on which the pipeline has the same files, before the journal is opened."""
    on_side(cell, THINGS["a description"])
    cell.merge("side", "--ff-only")
    judged = cell.git("rev-parse", "HEAD")
    cell.git("checkout", "-q", "side")
    cell.commit("beside main")
    cell.git("checkout", "-q", "main")
    project = cell.project()

    class Judged(DeltaRegistry):
        """The program is written down once it may be applied."""

        def write_snapshot(self, pipeline: str, record: str, objects: Sequence[Mapping[str, Any]]) -> None:
            cell.git("checkout", "-q", "side")
            super().write_snapshot(pipeline, record, objects)

    target: Any = project.target
    object.__setattr__(target, "registry", Judged(target.warehouse))
    assert not project.pipeline("shop").apply().did_nothing
    head = project.target.registry.head("shop")
    assert head is not None
    assert head.value.applied is not None
    assert head.value.applied.commit == judged


class Slow(DeltaRegistry):
    """Before it notes a commit, another apply notes a newer one."""

    def __init__(self, warehouse: str, newer: str) -> None:
        super().__init__(warehouse)
        self.newer: str | None = newer

    def replace_document(self, pipeline: str, token: int | None, document: Value, write_id: str) -> Stored[Value]:
        if self.newer is not None and isinstance(document, Reached):
            super().replace_document(pipeline, token, Reached(self.newer, "now"), "another")
            self.newer = None
        return super().replace_document(pipeline, token, document, write_id)


def test_of_two_at_once_the_newer_one_stays(cell: Cell) -> None:
    older = cell.git("rev-parse", "HEAD")
    newer = cell.commit("newer")
    target: Any = cell.project().target
    object.__setattr__(target, "registry", Slow(target.warehouse, newer))
    reach(target, "shop", older)
    assert reached(cell) == newer


def staged_of_free(cell: Cell) -> Cell:
    """A version of a view of pipeline `free` is staged, of a commit of main."""
    sql = cell.root / "pipelines/free/program.sql"
    sql.write_text(sql.read_text() + "CREATE MATERIALIZED VIEW stored AS SELECT id FROM orders;\n")
    cell.commit("a view")
    cell.project().pipeline("free").apply()
    sql.write_text(sql.read_text().replace("SELECT id FROM orders;", "SELECT id + 1 AS id FROM orders;"))
    cell.commit("another query")
    assert not cell.project().pipeline("free").stage().did_nothing
    return cell


def test_what_was_staged_is_promoted(cell: Cell) -> None:
    assert not staged_of_free(cell).project().pipeline("free").promote().did_nothing


def test_what_was_undone_after_it_was_staged_is_not_promoted(cell: Cell) -> None:
    staged_of_free(cell)
    staged = cell.git("rev-parse", "HEAD")
    cell.git("revert", "--no-edit", "HEAD")
    assert cell.project().pipeline("free").apply().did_nothing
    before = cell.warehouse()
    with pytest.raises(ApprovalRequired, match="not promoted") as refusal:
        cell.project().pipeline("free").promote()
    assert refusal.value.code == "A580"
    cell.git("checkout", "-q", "--detach", staged)
    with pytest.raises(ApprovalRequired, match="older"):
        cell.project().pipeline("free").apply()
    assert cell.warehouse() == before
    cell.git("checkout", "-q", "main")
    cell.git("revert", "--no-edit", "HEAD")
    assert not cell.project().pipeline("free").stage().did_nothing
    assert not cell.project().pipeline("free").promote().did_nothing


def test_ages_as_far_as_a_copy_tells(cell: Cell) -> None:
    first, second = cell.git("rev-parse", "HEAD"), cell.commit("second")
    assert age_beside(cell.root, first, second) is Age.OLDER
    assert age_beside(cell.root, second, first) is Age.NOT_OLDER
    assert age_beside(cell.root, first, first) is Age.NOT_OLDER
    assert age_beside(cell.root, first, "1" * 40) is Age.UNKNOWN
    assert age_beside(cell.home / "warehouse", first, second) is Age.UNKNOWN
    cell.git("clone", "-q", "--depth", "1", f"file://{cell.root}", str(cell.home / "clone"))
    assert age_beside(cell.home / "clone", first, second) is Age.UNKNOWN
    cell.git("checkout", "-q", "--orphan", "apart")
    apart = cell.commit("apart")
    assert age_beside(cell.root, second, apart) is Age.NOT_OLDER
    cell.git("fetch", "-q", "--depth", "1", f"file://{cell.root}", "apart", at=cell.home / "clone")
    assert age_beside(cell.home / "clone", second, apart) is Age.UNKNOWN
