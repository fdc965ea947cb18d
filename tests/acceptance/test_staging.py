"""Staging and promoting by the command line over real Delta tables, with the recording engine: what serves meanwhile, what
is read and computed, who approves, and that killed anywhere it ends the same."""

import json
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from reconciler import Project
from reconciler.base.boundaries import Boundary, no_boundary
from reconciler.base.errors import EngineError
from reconciler.engine.protocol import ViewBuild
from reconciler.registry.codec import head_from_json, head_to_json
from reconciler.registry.protocol import History
from reconciler.testing.crashes import POINTS, Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import stored_rows, write_shop
from tests.acceptance.versioned_shop import READS, VersionedShop, once_at
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter

pytestmark = pytest.mark.both_ways

BASE = """\
CREATE TABLE orders (id BIGINT, price INT);
CREATE TABLE apart (id BIGINT);
CREATE FUNCTION f(x INT) RETURNS INT AS x + 1;
CREATE LOCAL VIEW l AS SELECT id, price FROM orders;
"""
OTHER = "CREATE MATERIALIZED VIEW other AS SELECT id FROM apart;\n"
NEW = "CREATE MATERIALIZED VIEW more AS SELECT id FROM apart;\n"


def program(query: str, more: str = "") -> str:
    total = f"CREATE MATERIALIZED VIEW total AS SELECT {query} AS total FROM l;\n"
    return BASE + total + "CREATE MATERIALIZED VIEW over AS SELECT total FROM total;\n" + OTHER + more


FIRST, SECOND, THIRD = program("SUM(price)"), program("SUM(price) * 2", NEW), program("MAX(price)")
BUILDS = 3  # total, over and more
STEP = 2  # total and over


class Shop(VersionedShop):
    """See VersionedShop."""

    settings = READS

    def rows(self) -> dict[str, Any]:
        return {name: stored_rows(self.root, name) for name in ("total", "over", "other", "more")}

    def folders(self) -> list[str]:
        """The staging folders that are there, less those whose files a table has."""
        return sorted(str(one.relative_to(self.root)) for one in self.root.glob("warehouse/shop/*/v-*"))


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first program, applied, with rows."""
    root = tmp_path_factory.mktemp("applied")
    write_shop(root, FIRST, "allow", READS)
    pipeline = Project.open(root, engine=RecordingEngine(DeltaWriter())).pipeline("shop")
    pipeline.apply()
    pipeline.execute("INSERT INTO orders VALUES (1, 10), (2, 20)")
    return root


@pytest.fixture
def shop(applied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    shutil.copytree(applied, tmp_path / "shop")
    return Shop(tmp_path / "shop", capsys)


@pytest.fixture
def staged(shop: Shop) -> Shop:
    """The second program, staged."""
    shop.write(SECOND)
    shop("apply", "shop", "--no-promote")
    shop.built()
    return shop


def test_what_is_staged_serves_nobody_and_is_read_by_its_number(shop: Shop) -> None:
    before, head = shop.rows(), shop.head()
    shop.write(SECOND)
    said = shop("apply", "shop", "--no-promote")
    assert "[1/3] bootstrap more from apart (1 row, staged as of step 1)" in said
    assert "shop: staged: more@v0, total@v1 (reconcile promote shop.more@v0)" in said
    assert sorted(shop.built()) == ["more", "over", "total"]
    now = shop.head()
    assert replace(now, staged=None, versions=head.versions, epoch=head.epoch) == head
    assert shop.rows() == before
    assert shop.states("total") == {"v1": "staged", "v0": "active"}
    assert shop.states("more") == {"v0": "staged"}
    assert "more is staged, and not active yet" in shop("versions", "list", "more")
    assert json.loads(shop("versions", "list", "total", "--format", "json"))["staged"] == "v1"
    assert "SUM(price) * 2" in shop("versions", "show", "total@v1")
    shop("execute", "shop", "INSERT INTO apart VALUES (1)")
    assert "total@v1 as of step 1" in shop("query", "shop", "SELECT * FROM total@v1")
    assert "A522" in shop("query", "shop", "SELECT * FROM total@v1", "--at-step", "0", code=1)
    assert "X722" in shop("query", "shop", "SELECT * FROM more", code=1)
    assert "more@v0, total@v1, as of step 1" in shop("status", "shop")
    assert "staged" not in shop("history", "shop")


def test_a_plan_in_which_nothing_changes_says_what_is_staged(shop: Shop) -> None:
    shop.write(SECOND)
    shop("apply", "shop", "--no-promote")
    told = "staged: view total as v1, as of step 1; dropped by an apply of anything else"
    shop.write(FIRST)
    said = shop("plan", "shop")
    assert "no changes" in said
    assert told in said
    assert told in shop("plan", "shop"), "also where the files were compiled before"
    assert "Staged: view total as v1" in shop("plan", "shop", "--format", "markdown")
    shop.write(FIRST, more=READS + "  tables: {orders: {description: what was ordered}}\n")
    said = shop("plan", "shop")
    assert "other changes" in said
    assert told in said


def test_a_plan_says_what_is_staged_and_its_digest_does_not(shop: Shop) -> None:
    shop.write(SECOND)
    (before,) = json.loads(shop("plan", "shop", "--format", "json"))["plans"]
    shop("apply", "shop", "--no-promote")
    (after,) = json.loads(shop("plan", "shop", "--format", "json"))["plans"]
    assert "staged" not in before
    assert after.pop("staged") == [
        {"kind": "view", "name": "more", "version": "v0", "step": 1, "outcome": "promoted"},
        {"kind": "view", "name": "total", "version": "v1", "step": 1, "outcome": "promoted"},
    ]
    assert after == before
    words = "view total as v1, as of step 1; promoted by an apply of this plan"
    assert f"  staged: {words}\n" in shop("plan", "shop")
    assert f"Staged: {words}" in shop("plan", "shop", "--format", "markdown")
    shop.write(THIRD)
    assert "staged: view total as v1, as of step 1; dropped by an apply" in shop("plan", "shop")


@pytest.mark.parametrize(
    "words", [("promote", "total@v1"), ("promote", "--pipeline", "shop"), ("promote", "shop.more"), ("apply", "shop")]
)
def test_what_is_promoted_is_not_computed_again_and_keeps_its_number(staged: Shop, words: tuple[str, ...]) -> None:
    said = staged(*words)
    assert "bootstrap total from orders (1 row, as staged at step 1: nothing computed)" in said
    assert staged.built() == []
    assert staged.states("total") == {"v1": "active", "v0": ""}
    assert staged.states("more") == {"v0": "active"}
    assert staged.head().staged is None
    assert "no changes" in staged("plan", "shop")
    assert stored_rows(staged.root, "more") is not None
    assert "A571" in staged("promote", "total@v1", code=1)
    assert "is already active" in staged("promote", "total@v1", code=1)


def test_a_promotion_stands_in_the_history_and_can_be_looked_at(staged: Shop) -> None:
    before = staged.head()
    assert "staged: view total as v1" in staged("promote", "total", "--plan")
    found = json.loads(staged("promote", "total", "--dry-run", "--format", "json"))
    assert (found["form"], found["outcome"]) == ("reconciler/promote/v1", "planned")
    assert staged.head() == before
    staged("promote", "total", "--format", "json")
    assert "promote: more@v0, total@v1 (" in staged("history", "shop").splitlines()[-1]


def test_what_is_promoted_is_what_the_files_said_then(staged: Shop) -> None:
    staged.write(THIRD)
    staged("promote", "total@v1")
    assert staged.states("total") == {"v1": "active", "v0": ""}
    assert "~ view total" in staged("plan", "shop")


def test_rows_that_moved_on_are_computed_again(staged: Shop) -> None:
    staged("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    staged.built()
    said = staged("promote", "total@v1")
    assert "recomputed: its input changed after it was staged at step 1" in said
    assert "bootstrap more from apart (1 row, as staged at step 1: nothing computed)" in said
    assert staged.states("total") == {"v1": "active", "v0": ""}
    # The folders of what was computed again are gone; those that are there belong to tables.
    assert staged("query", "shop", "SELECT * FROM total")


def test_staging_again_builds_what_moved_and_mints_nothing(staged: Shop) -> None:
    assert "already staged: more@v0, total@v1" in staged("apply", "shop", "--no-promote")
    assert staged.built() == []
    before = staged.folders()
    staged("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    staged.built()
    said = staged("apply", "shop", "--no-promote")
    assert "shop: staged: more@v0, total@v1" in said
    assert sorted(staged.built()) == ["over", "total"]
    head = staged.head()
    assert head.staged is not None
    assert head.staged.step == 2
    assert staged.states("total") == {"v1": "staged", "v0": "active"}
    # A step writes one for each view, and those of what was staged before are gone.
    assert len(staged.folders()) == len(before) + STEP
    assert "nothing computed" in staged("apply", "shop")


def test_another_staging_replaces_it_and_its_numbers_stay_used(staged: Shop) -> None:
    first = set(staged.folders())
    staged.write(THIRD)
    assert "staged: total@v2" in staged("apply", "shop", "--no-promote")
    head = staged.head()
    assert head.staged is not None
    assert not {f"warehouse/{one.location}/{one.staging}" for one in head.staged.views.values()} & first
    assert staged.states("total") == {"v2": "staged", "v1": "", "v0": "active"}
    assert "A522" in staged("query", "shop", "SELECT * FROM total@v1", code=1)
    assert staged.states("more") == {"v0": ""}
    # A definition that comes back has its number again.
    staged.write(SECOND)
    assert "staged: more@v0, total@v1" in staged("apply", "shop", "--no-promote")
    staged("promote", "--pipeline", "shop")
    assert staged.states("total") == {"v2": "", "v1": "active", "v0": ""}


def test_an_apply_of_something_else_drops_it(staged: Shop) -> None:
    folders = {f"warehouse/{one.location}/{one.staging}" for one in staged.head().staged.views.values()}  # type: ignore[union-attr]
    assert folders <= set(staged.folders())
    staged.write(THIRD)
    staged("apply", "shop")
    assert staged.head().staged is None
    assert staged.states("total") == {"v2": "active", "v1": "", "v0": ""}
    assert not folders & set(staged.folders())
    assert "A571" in staged("promote", "total@v1", code=1)


def test_it_is_dropped_by_hand_with_its_folders(staged: Shop) -> None:
    before = staged.rows()
    assert "shop: dropped: more@v0, total@v1" in staged("unstage", "total@v1")
    assert staged.head().staged is None
    assert staged.states("total") == {"v1": "", "v0": "active"}
    assert not (staged.root / "warehouse/shop/more").exists()
    assert staged.rows() == before
    assert "A571" in staged("unstage", "--pipeline", "shop", code=1)
    assert "staged: more@v0, total@v1" in staged("apply", "shop", "--no-promote")
    found = json.loads(staged("unstage", "--pipeline", "shop", "--format", "json"))
    assert found["dropped"] == {"more": "v0", "total": "v1"}


def test_a_run_goes_on_with_what_is_in_force(staged: Shop) -> None:
    staged("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    assert sorted(staged.built()) == ["over", "total"]
    head = staged.head()
    assert head.staged is not None
    assert head.staged.step == 1
    assert "total@v1 as of step 1" in staged("query", "shop", "SELECT * FROM total@v1")


@pytest.mark.parametrize(
    ("files", "what"),
    [
        (FIRST.replace("apart (id BIGINT)", "apart (id BIGINT, more INT)"), "clear table apart"),
        (FIRST + "CREATE TABLE fresh (id BIGINT);\n", "create table fresh"),
        (FIRST.replace(OTHER, ""), "other"),
        (FIRST + "CREATE VIEW plain AS SELECT id FROM orders;\n", "the plan computes no view"),
        (FIRST.replace("CREATE FUNCTION f(x INT) RETURNS INT AS x + 1;\n", "").replace("SUM(", "MIN("), "remove function f"),
    ],
)
def test_what_can_t_be_staged_is_named(shop: Shop, files: str, what: str) -> None:
    head = shop.head()
    shop.write(files)
    said = shop("apply", "shop", "--no-promote", code=1)
    assert "A570" in said
    assert what in said
    assert shop.head() == head
    assert shop.built() == []


def test_a_table_that_can_t_be_staged_is_named_once(shop: Shop) -> None:
    pipeline = shop.root / "pipelines/shop/pipeline.yaml"
    pipeline.write_text(pipeline.read_text() + "  evolution: evolve\n")
    shop("apply", "shop")
    program = shop.root / "pipelines/shop/program.sql"
    program.write_text(program.read_text().replace("apart (id BIGINT)", "apart (id BIGINT, more INT)"))
    said = shop("apply", "shop", "--no-promote", code=1)
    assert "in the way: extend table apart by more" in said
    assert said.count("apart") == 1


def test_nothing_is_staged_beside_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop = Shop(tmp_path, capsys)
    shop.write(FIRST)
    assert "A570" in shop("apply", "shop", "--no-promote", code=1)
    shop("apply", "shop")
    assert "nothing to do" in shop("apply", "shop", "--no-promote")
    assert "U840" in shop("promote", code=1)
    assert "U840" in shop("unstage", "total", "--pipeline", "shop", code=1)
    assert "A571" in shop("promote", "total", code=1)
    assert "A520" in shop("promote", "none", code=1)


def test_functions_and_plain_views_come_along(shop: Shop) -> None:
    files = FIRST.replace("AS x + 1", "AS x + 2").replace("SUM(price)", "SUM(f(price))")
    shop.write(files + "CREATE VIEW plain AS SELECT total FROM total;\n")
    assert "f@v1, plain@v0, total@v1" in shop("apply", "shop", "--no-promote")
    shop("execute", "shop", "INSERT INTO apart VALUES (1)")
    assert "plain@v0 as of step 1" in shop("query", "shop", "SELECT * FROM plain@v0")
    shop("promote", "total")
    assert shop.states("f") == {"v1": "active", "v0": ""}


def test_one_approval_serves_for_staging_and_promoting(shop: Shop) -> None:
    shop.write(FIRST, policy="await_approval")
    shop("apply", "shop")
    shop.write(SECOND, policy="await_approval")
    said = shop("apply", "shop", "--no-promote", code=2)
    assert "A501" in said
    assert shop.head().staged is None
    assert shop.built() == []
    digest = said.split("reconcile approve shop ")[1][:12]
    shop("approve", "shop", digest, "--by", "Ann")
    shop("apply", "shop", "--no-promote")
    shop.write(THIRD, policy="await_approval")
    shop("promote", "total@v1")
    assert shop.head().applied.approval.by == "Ann"  # type: ignore[union-attr]
    assert "Ann" in shop("versions", "show", "total@v1")


def test_what_is_rejected_after_it_was_staged_is_not_made_active(shop: Shop) -> None:
    shop.write(SECOND)
    shop("apply", "shop", "--no-promote")
    digest = shop("plan", "shop").split("Digest: ")[1][:12]
    shop("reject", "shop", digest, "--by", "Ann", "--reason", "not before Friday")
    for command in (("promote", "total@v1"), ("apply", "shop"), ("apply", "shop", "--no-promote")):
        assert "A585" in shop(*command, code=2)
    assert "rejected: Ann rejected this plan: not before Friday" in shop("status", "shop")
    shop("approve", "shop", digest, "--by", "Ann")
    shop("promote", "total@v1")


def test_an_approval_that_was_taken_back_after_staging_counts_no_more(shop: Shop) -> None:
    rules = "rules: [{hazard: H912, verdict: approve, approvals: 2}]\nlimits: {large_rows: 1}\n"
    (shop.root / "policy.yaml").write_text(f"apiVersion: reconciler/v1\nkind: Policy\n{rules}")
    shop.write(SECOND)
    digest = shop("plan", "shop").split("Digest: ")[1][:12]
    for name in ("Ann", "Bob"):
        shop("approve", "shop", digest, "--by", name)
    shop("apply", "shop", "--no-promote")
    shop("reject", "shop", digest, "--by", "Ann", "--reason", "not before Friday")
    shop("approve", "shop", digest, "--by", "Bob", "--override-rejection")
    for command in (("promote", "total@v1"), ("apply", "shop")):
        said = shop(*command, code=2)
        assert "A509" in said
        assert "approved so far by Bob)" in said
    assert "approved so far by Bob)" in shop("status", "shop")
    shop("approve", "shop", digest, "--by", "Cleo")
    shop("promote", "total@v1")


def test_what_is_promoted_was_approved_by_who_overruled(shop: Shop) -> None:
    shop.write(SECOND, policy="await_approval")
    digest = shop("plan", "shop").split("Digest: ")[1][:12]
    shop("approve", "shop", digest, "--by", "Ann")
    shop("apply", "shop", "--no-promote")
    shop("reject", "shop", digest, "--by", "Ann", "--reason", "not before Friday")
    shop("approve", "shop", digest, "--by", "Bob", "--override-rejection")
    shop("promote", "total@v1")
    assert shop.head().applied.approval.by == "Bob"  # type: ignore[union-attr]


@pytest.mark.parametrize("later", [THIRD, "no SQL"], ids=["other files", "files with errors"])
def test_what_is_staged_is_decided_about_when_the_files_moved_on(later: str, shop: Shop) -> None:
    shop.write(SECOND)
    shop("apply", "shop", "--no-promote")
    digest = shop("plan", "shop").split("Digest: ")[1][:12]
    shop.write(later)
    shop("reject", "shop", digest, "--by", "Ann", "--reason", "not before Friday")
    assert "A585" in shop("promote", "total@v1", code=2)
    shop("approve", "shop", digest, "--by", "Ann")
    shop("promote", "total@v1")
    assert shop.head().staged is None


def test_a_plan_that_is_another_by_now_asks_again(shop: Shop) -> None:
    """Policy is part of the digest: made stricter, the approval for staging does not serve."""
    shop.write(SECOND)
    shop("apply", "shop", "--no-promote")
    shop.write(SECOND, policy="await_approval")
    assert "A501" in shop("apply", "shop", code=2)


def test_rows_of_what_is_staged_that_were_removed_are_computed_again(staged: Shop) -> None:
    """Somebody's VACUUM of the view's folder took them."""
    for folder in staged.folders():
        if "/total/" in folder:
            for file in (staged.root / folder).glob("*.parquet"):
                file.unlink()
    said = staged("promote", "total@v1")
    assert "bootstrap total from orders (1 row, recomputed" in said
    assert stored_rows(staged.root, "total") is not None


def test_a_restore_drops_it(staged: Shop) -> None:
    staged("checkpoint", "create", "shop", "--name", "here")
    staged("checkpoint", "restore", "shop", "here")
    assert staged.head().staged is None
    assert "A571" in staged("promote", "total", code=1)


def test_the_head_that_an_older_version_wrote_has_nothing_staged(staged: Shop) -> None:
    head = staged.head()
    value = json.loads(json.dumps(head_to_json(head)))
    assert head_from_json(value, "a test") == head
    del value["staged"]
    assert head_from_json(value, "a test") == replace(head, staged=None)
    staged("promote", "total")
    assert "staged" not in head_to_json(staged.head())


class Failing(RecordingEngine):
    def __init__(self, fails_at: str) -> None:
        super().__init__(DeltaWriter())
        self.fails_at = fails_at

    def build_view(self, build: ViewBuild) -> Any:
        if build.view == self.fails_at:
            raise EngineError("X700", "the engine is away")
        return super().build_view(build)


def test_a_failure_of_the_engine_leaves_nothing(shop: Shop) -> None:
    head, folders = shop.head(), shop.folders()
    shop.write(SECOND)
    with pytest.raises(EngineError):
        Project.open(shop.root, engine=Failing("over")).pipeline("shop").stage()
    assert shop.head() == head
    assert shop.folders() == folders


def test_a_promotion_that_is_taken_back_keeps_what_is_staged(staged: Shop) -> None:
    staged("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    folders = {f"warehouse/{one.location}/{one.staging}" for one in staged.head().staged.views.values()}  # type: ignore[union-attr]
    with pytest.raises(EngineError):
        Project.open(staged.root, engine=Failing("over")).pipeline("shop").promote()
    assert staged.head().journal is None
    assert folders <= set(staged.folders())
    assert "nothing computed" in staged("promote", "total")


STAGING = [f"stage_view:before#{BUILDS}", "stage_view:effected", f"stage_view:effected#{BUILDS}", "stage:intended"]
RECORDED = ["stage:recorded", "stage:told"]


def attempt(shop: Shop, action: str, boundary: Boundary) -> bool:
    """Whether it came to its end."""
    pipeline = Project.open(shop.root, engine=RecordingEngine(DeltaWriter())).pipeline("shop")
    try:
        getattr(pipeline.observed(boundary=boundary), action)()
    except Crash:
        return False
    return True


def is_right(shop: Shop) -> None:
    """Everything is as if nobody had died: v1 is active and known, nothing is staged, the numbers are given once."""
    assert shop.head().staged is None
    assert shop.states("total") == {"v1": "active", "v0": ""}
    assert shop.states("more") == {"v0": "active"}
    assert shop.rows() == {**shop.rows(), "total": stored_rows(shop.root, "total")}
    assert all(rows is not None for rows in shop.rows().values())
    registry = Project.open(shop.root).target.registry
    found = [(row["object"], row["number"]) for row in registry.history(History.VERSIONS, "shop")]
    assert len(found) == len(set(found))
    assert "no changes" in shop("plan", "shop")


@pytest.mark.parametrize("point", mostly_slow([*STAGING, *RECORDED], "stage_view:effected", "stage:recorded"))
def test_staging_that_dies_is_done_again_or_done(shop: Shop, point: str) -> None:
    before, head = shop.rows(), shop.head()
    shop.write(SECOND)
    name, _, occurrence = point.partition("#")
    assert not attempt(shop, "stage", crash_at(name, int(occurrence or "1")))
    assert shop.rows() == before
    assert (shop.head().staged is not None) is (point in RECORDED)
    assert shop.head().versions == head.versions or point in RECORDED
    assert shop.head().applied == head.applied
    assert attempt(shop, "stage", no_boundary)
    assert shop.states("total") == {"v1": "staged", "v0": "active"}
    said = shop("promote", "total@v1")
    assert said.count("nothing computed") == BUILDS
    is_right(shop)


@pytest.mark.parametrize("point", mostly_slow([*STAGING, *RECORDED], "stage:intended", "stage:told"))
def test_staging_that_dies_is_promoted_by_an_apply(shop: Shop, point: str) -> None:
    shop.write(SECOND)
    name, _, occurrence = point.partition("#")
    assert not attempt(shop, "stage", crash_at(name, int(occurrence or "1")))
    said = shop("apply", "shop")
    assert ("nothing computed" in said) is (point in RECORDED)
    is_right(shop)


@pytest.mark.parametrize("point", RECORDED)
def test_what_was_staged_by_one_who_died_keeps_its_number_when_it_is_replaced(shop: Shop, point: str) -> None:
    shop.write(SECOND)
    assert not attempt(shop, "stage", crash_at(point))
    shop.write(THIRD)
    assert "staged: total@v2" in shop("apply", "shop", "--no-promote")
    assert "SUM(price) * 2" in shop("versions", "show", "total@v1")
    shop.write(SECOND)
    shop("apply", "shop")
    assert shop.states("total") == {"v2": "", "v1": "active", "v0": ""}


PROMOTING = [
    "open:before",
    "open:recorded",
    *(f"{kind}:{point}" for kind in ("bootstrap_view", "publish_view", "commit_snapshot") for point in POINTS),
    "bootstrap_view:effected#3",
    "publish_view:effected#2",
    "publish_view:recorded#3",
]


@pytest.mark.parametrize(
    ("point", "again"),
    mostly_slow(
        list(product(PROMOTING, ("apply", "promote"))),
        ("open:recorded", "promote"),
        ("bootstrap_view:effected", "apply"),
        ("publish_view:effected#2", "promote"),
        ("commit_snapshot:intended", "apply"),
        ("commit_snapshot:recorded", "promote"),
    ),
)
def test_a_promotion_that_dies_is_finished(staged: Shop, point: str, again: str) -> None:
    name, _, occurrence = point.partition("#")
    assert not attempt(staged, "promote", crash_at(name, int(occurrence or "1")))
    switched = point in ("commit_snapshot:effected", "commit_snapshot:recorded")
    if not (switched and again == "promote"):
        assert attempt(staged, again, no_boundary)
    is_right(staged)
    views = [call for call in staged.engine.calls if isinstance(call, ViewBuild)]
    assert views == []


@pytest.mark.parametrize(
    ("point", "moved"),
    mostly_slow(
        list(
            product(
                ["open:recorded", "bootstrap_view:intended", "bootstrap_view:effected", "publish_view:intended"],
                [True, False],
            )
        ),
        ("open:recorded", False),
        ("bootstrap_view:effected", True),
    ),
)
def test_an_open_promotion_is_finished_before_anything_is_staged_or_dropped(staged: Shop, point: str, moved: bool) -> None:
    if moved:
        staged("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    assert not attempt(staged, "promote", crash_at(point))
    assert "A572" in staged("unstage", "--pipeline", "shop", code=1)
    staged.write(THIRD)
    assert "A572" in staged("apply", "shop", "--no-promote", code=1)
    staged.write(SECOND)
    staged("apply", "shop")
    is_right(staged)


@pytest.mark.parametrize("point", ["unstage:before", "unstage:recorded"])
def test_dropping_that_dies(staged: Shop, point: str) -> None:
    assert not attempt(staged, "unstage", crash_at(point))
    if point == "unstage:before":
        assert attempt(staged, "unstage", no_boundary)
    assert staged.head().staged is None
    assert staged.states("total") == {"v1": "", "v0": "active"}
    assert "staged: more@v0, total@v1" in staged("apply", "shop", "--no-promote")
    staged("promote", "total")
    is_right(staged)


def test_two_who_stage_at_once_leave_one_of_them(shop: Shop) -> None:
    shop.write(SECOND)
    other = Project.open(shop.root, engine=RecordingEngine(DeltaWriter())).pipeline("shop")
    boundary = once_at("stage_view:effected", other.stage)
    first = (
        Project.open(shop.root, engine=RecordingEngine(DeltaWriter())).pipeline("shop").observed(boundary=boundary).stage()
    )
    assert first.did_nothing
    assert shop.states("total") == {"v1": "staged", "v0": "active"}
    head = shop.head()
    assert head.staged is not None
    there = {f"warehouse/{one.location}/{one.staging}" for one in head.staged.views.values()}
    assert len(there) == BUILDS
    assert there <= set(shop.folders())
    assert shop("promote", "total").count("nothing computed") == BUILDS


def test_an_apply_meanwhile_is_noticed(shop: Shop) -> None:
    shop.write(SECOND)
    other = Project.open(shop.root, engine=RecordingEngine(DeltaWriter())).pipeline("shop")
    boundary = once_at("stage_view:effected", other.apply)
    result = (
        Project.open(shop.root, engine=RecordingEngine(DeltaWriter())).pipeline("shop").observed(boundary=boundary).stage()
    )
    assert result.staged is None
    is_right(shop)
