"""Mallory writes a file, and Ann puts it where a pipeline is: Mallory has made the change, however Ann puts it there."""

from collections.abc import Callable

import pytest

from reconciler.base.errors import ReconcileError
from reconciler.environment.commit_authors import authors_since
from tests.consent.cell import PROGRAM, Cell
from tests.consent.test_homes import by

DRAFT = PROGRAM.replace("CREATE VIEW doubled AS SELECT twice(amount) AS amount FROM orders;\n", "")
TINY = "CREATE TABLE orders (id INT);\n"
SHOP = "pipelines/shop"


def over(cell: Cell) -> None:
    """Over the program that is there."""
    cell.git("mv", "-f", "drafts/p.sql", f"{SHOP}/program.sql")


def to_a_new_name(cell: Cell) -> None:
    cell.git("rm", "-q", f"{SHOP}/program.sql")
    cell.git("mv", "drafts/p.sql", f"{SHOP}/n.sql")


def beside(cell: Cell) -> None:
    cell.git("mv", "drafts/p.sql", f"{SHOP}/n.sql")


def over_in_two_moves(cell: Cell) -> None:
    cell.git("mv", "drafts/p.sql", "q.sql")
    cell.commit("once")
    cell.git("mv", "-f", "q.sql", f"{SHOP}/program.sql")


def over_something_over(cell: Cell) -> None:
    (cell.root / "x.sql").write_text("SELECT 1;\n")
    cell.commit("something of Ann's")
    cell.git("mv", "-f", "drafts/p.sql", "x.sql")
    cell.commit("over it")
    cell.git("mv", "-f", "x.sql", f"{SHOP}/program.sql")


def copied_over(cell: Cell) -> None:
    (cell.root / SHOP / "program.sql").write_bytes((cell.root / "drafts/p.sql").read_bytes())


def removed_first(cell: Cell) -> None:
    cell.git("rm", "-q", f"{SHOP}/program.sql")
    cell.commit("removed")
    cell.git("mv", "drafts/p.sql", f"{SHOP}/program.sql")


WAYS = (over, to_a_new_name, beside, over_in_two_moves, over_something_over, copied_over, removed_first)


def as_it_is(text: str) -> str:
    return text


def with_a_comment(text: str) -> str:
    return text + "-- moved\n"


def laid_out_anew(text: str) -> str:
    return "".join(f"  {line}\n\n" for line in text.splitlines())


def among_other_lines(text: str) -> str:
    return "".join(f"CREATE TABLE t{number} (id INT);\n" for number in range(50)) + text


EDITS = (as_it_is, with_a_comment, laid_out_anew, among_other_lines)


def pairs(ways: tuple[Callable[[Cell], None], ...], edits: tuple[Callable[[str], str], ...]) -> list[tuple[object, object]]:
    """Lines that are copied out of a file that stays say nothing of who wrote them."""
    return [(way, one) for way in ways for one in edits if way is not copied_over or one is as_it_is]


def edit(cell: Cell, change: Callable[[str], str]) -> None:
    """What Ann changes of it while she puts it there."""
    for name in ("n.sql", "program.sql"):
        path = cell.root / SHOP / name
        if path.exists() and (name == "n.sql" or not (cell.root / SHOP / "n.sql").exists()):
            path.write_text(change(path.read_text()))


def a_draft_of_mallorys(cell: Cell, text: str) -> str:
    """The commit that is applied, before the draft."""
    since = cell.git("rev-parse", "HEAD")
    (cell.root / "drafts").mkdir()
    (cell.root / "drafts/p.sql").write_text(text)
    by(cell, "Mallory", "a draft")
    return since


def authors(cell: Cell, since: str) -> frozenset[str]:
    found = authors_since(cell.root, since, (cell.root / SHOP,))
    assert found is not None
    return found


@pytest.mark.parametrize("text", [DRAFT, TINY], ids=["a long draft", "a short draft"])
@pytest.mark.parametrize(("way", "change"), pairs(WAYS, EDITS))
def test_who_wrote_what_is_put_there_made_the_change(
    way: Callable[[Cell], None], change: Callable[[str], str], text: str, cell: Cell
) -> None:
    since = a_draft_of_mallorys(cell, text)
    # The draft is older than what is applied, too: only by being put there it changes anything.
    for applied in (since, cell.git("rev-parse", "HEAD")):
        if cell.git("rev-parse", "HEAD") == applied or applied == since:
            before = cell.git("rev-parse", "HEAD")
            way(cell)
            edit(cell, change)
            cell.commit("put there")
        assert {"Ann", "Mallory"} <= authors(cell, applied)
        cell.git("reset", "-q", "--hard", before)


@pytest.mark.parametrize(("way", "change"), pairs((over, to_a_new_name, copied_over), (as_it_is, with_a_comment)))
def test_so_it_is_where_a_merge_puts_it_there(way: Callable[[Cell], None], change: Callable[[str], str], cell: Cell) -> None:
    since = cell.git("rev-parse", "HEAD")
    cell.git("switch", "-q", "-c", "side")
    a_draft_of_mallorys(cell, DRAFT)
    cell.git("switch", "-q", "main")
    (cell.root / "README").write_text("ours\n")
    cell.commit("main goes on")
    cell.git("merge", "-q", "--no-ff", "--no-commit", "side")
    way(cell)
    edit(cell, change)
    cell.commit("merged")
    assert {"Ann", "Mallory"} <= authors(cell, since)


def test_whose_files_are_moved_or_removed_elsewhere_has_made_nothing_here(cell: Cell) -> None:
    since = a_draft_of_mallorys(cell, "SELECT 'a note of nothing here';\n")
    (cell.root / SHOP / "program.sql").write_text(DRAFT)
    cell.git("rm", "-q", "drafts/p.sql")
    cell.commit("a change, and a draft less")
    assert authors(cell, since) == {"Ann", "ann@example.org"}


def test_who_wrote_another_empty_file_has_made_nothing_here(cell: Cell) -> None:
    since = a_draft_of_mallorys(cell, "")
    (cell.root / SHOP / "empty.sql").write_text("")
    (cell.root / SHOP / "program.sql").write_text(DRAFT)
    cell.commit("a change, and an empty file")
    assert authors(cell, since) == {"Ann", "ann@example.org"}


def test_who_wrote_the_program_long_ago_has_not_renamed_it(cell: Cell) -> None:
    (cell.root / SHOP / "program.sql").write_text(DRAFT)
    by(cell, "Zoe", "long ago")
    since = cell.git("rev-parse", "HEAD")
    cell.git("mv", f"{SHOP}/program.sql", f"{SHOP}/other.sql")
    (cell.root / SHOP / "other.sql").write_text(TINY)
    cell.commit("renamed, and written anew")
    assert "Zoe" not in authors(cell, since)


def test_who_wrote_it_does_not_approve_it(cell: Cell) -> None:
    (cell.root / "policy.yaml").write_text(
        'apiVersion: reconciler/v1\nkind: Policy\nrules: [{hazard: "*", verdict: approve}]\n'
    )
    cell.commit("a policy")
    a_draft_of_mallorys(cell, DRAFT)
    cell.git("mv", "-f", "drafts/p.sql", "pipelines/free/program.sql")
    cell.commit("put there")
    plan = cell.project().pipeline("free").plan()
    assert plan.extra_approvals
    for who in ("Mallory", "Ann"):
        with pytest.raises(ReconcileError) as refusal:
            cell.project().pipeline("free").approve(plan.digest, who)
        assert refusal.value.code == "A582"
    cell.project().pipeline("free").approve(plan.digest, "Zoe")
