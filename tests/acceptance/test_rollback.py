"""Rollbacks by the command line over real Delta tables, with the recording engine: what they bring, how long they stay, what
ends them, and that killed anywhere they end the same."""

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from reconciler import Project
from reconciler.apply.rolling_back import plan_rollback
from reconciler.base.errors import ReconcileError
from reconciler.engine.protocol import Emission, ViewBuild
from reconciler.plan.lock import render_section
from reconciler.plan.markdown_form import render_markdown
from reconciler.registry.codec import head_from_json, head_to_json
from reconciler.testing.crashes import POINTS, Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from reconciler.versions.looking import versioned_name
from reconciler.versions.rollbacks import rollback_of
from tests.acceptance.shop import stored_columns, stored_rows, write_shop
from tests.acceptance.versioned_shop import VersionedShop, held_by_a_run
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter

pytestmark = pytest.mark.both_ways

BASE = """\
CREATE TABLE orders (id BIGINT, price INT);
CREATE FUNCTION f(x INT) RETURNS INT AS x + 1;
CREATE LOCAL VIEW l AS SELECT id, price FROM orders;
"""
PER_DAY = "CREATE MATERIALIZED VIEW per_day AS SELECT total FROM total;\n"
VIEWS = [
    f"CREATE MATERIALIZED VIEW total AS\nSELECT {query} FROM l;\n"
    for query in ("SUM(f(price)) AS total", "SUM(price) * 2 AS total", "COUNT(*) AS total, MAX(id) AS last")
]
PROGRAMS = [BASE + view + PER_DAY for view in VIEWS]
LAST = PROGRAMS[2]


class Shop(VersionedShop):
    """See VersionedShop."""

    def plan(self) -> str:
        return self("plan", "shop")


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three versions of a view were applied one after the other; there are rows since the first."""
    root = tmp_path_factory.mktemp("applied")
    for program in PROGRAMS:
        write_shop(root, program)
        pipeline = Project.open(root, engine=RecordingEngine(DeltaWriter())).pipeline("shop")
        pipeline.apply()
        if program == PROGRAMS[0]:
            pipeline.execute("INSERT INTO orders VALUES (1, 10), (2, 20)")
    return root


@pytest.fixture
def shop(applied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    shutil.copytree(applied, tmp_path / "shop")
    return Shop(tmp_path / "shop", capsys)


def is_unchanged(said: str) -> bool:
    return "no changes\n" in said


def test_a_view_goes_back_to_the_version_before_at_once_and_stays_there(shop: Shop) -> None:
    columns = stored_columns(shop.root, "total")
    said = shop("rollback", "total")
    assert "rollback of total: none → v1" in said
    assert "v1's rows are kept and current; nothing was computed" in said
    assert shop.built() == []
    assert stored_columns(shop.root, "total") == ["digest"] == columns
    assert shop.active() == "v1 active (rolled back)"
    said = shop.plan()
    assert is_unchanged(said)
    assert "rolled back: view total to v1" in said
    assert "nothing to do" in shop("apply", "shop")
    assert "  rolled back: view total to v1\n" in shop("status", "shop")
    shop("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    assert shop.active() == "v1 active (rolled back)"
    last = shop("history", "shop").splitlines()[-1]
    assert "rollback: view total to v1 (" in last
    assert last.startswith("4 ")


def test_a_plan_alone_changes_nothing(shop: Shop) -> None:
    for flag in ("--plan", "--dry-run"):
        assert "Plan: 2 to bootstrap" in shop("rollback", "shop.total@v0", flag)
        found = json.loads(shop("rollback", "total@v0", flag, "--format", "json"))
        assert (found["form"], found["outcome"]) == ("reconciler/rollback/v1", "planned")
        assert found["plan"]["rollback"] == "view total to v0"
        assert found["plan"]["rolled_back"] == [{"kind": "view", "name": "total", "version": "v0"}]
    assert shop.active() == "v2 active"
    assert len(shop("history", "shop").splitlines()) == 2 + 3


def test_what_the_files_say_otherwise_ends_it_and_the_plan_says_so(shop: Shop) -> None:
    shop("rollback", "total")
    shop.write(LAST.replace("CREATE MATERIALIZED VIEW total AS\n", "-- the total\nCREATE MATERIALIZED VIEW total AS "))
    assert "H930" not in shop.plan()
    shop("apply", "shop")
    assert shop.active() == "v1 active (rolled back)"
    shop.write(LAST.replace("COUNT(*)", "COUNT(id)"))
    said = shop.plan()
    assert (
        "H930 view total was rolled back to v1; the files now define it otherwise, and this plan ends the rollback" in said
    )
    assert "rollback of total: v1 → none" in said
    shop("apply", "shop")
    assert shop.active() == "v3 active"
    assert is_unchanged(shop.plan())


def test_what_else_the_files_say_is_applied_as_ever(shop: Shop) -> None:
    shop("rollback", "total@v0")
    shop.write(LAST + "CREATE MATERIALIZED VIEW more AS SELECT id FROM orders;\n")
    assert "+ view more" in shop.plan()
    shop("apply", "shop")
    assert shop.active() == "v0 active (rolled back)"
    assert shop.active("more") == "v0 active"


def test_what_waits_in_the_files_waits_on(shop: Shop) -> None:
    waiting = LAST + "CREATE MATERIALIZED VIEW more AS SELECT id FROM orders;\n"
    shop.write(waiting)
    assert "more" not in shop("rollback", "total@v0")
    said = shop.plan()
    assert "+ view more" in said
    assert "total: bootstrapped" not in said


@pytest.mark.parametrize("words", [("total@v2",), ("--end", "total"), ("--end", "--pipeline", "shop")])
def test_forth_again_the_files_hold(shop: Shop, words: tuple[str, ...]) -> None:
    shop("rollback", "total@v0")
    said = shop("rollback", *words)
    assert "kept and current" in said
    assert "H930" not in said
    assert shop.active() == "v2 active"
    assert "rolled back" not in shop.plan()
    assert shop.built() == []
    assert "A545" in shop("rollback", *(words if "--end" in words else ("--end", "total")), code=1)


def test_from_one_earlier_version_to_another(shop: Shop) -> None:
    shop("rollback", "total@v0")
    shop("rollback", "total@v1")
    assert shop.active() == "v1 active (rolled back)"
    shop("rollback", "--end", "total")
    assert shop.active() == "v2 active"


def test_a_repeat_of_a_command_whose_answer_was_lost_goes_nowhere_else(shop: Shop) -> None:
    shop("rollback", "total")
    assert "already rolled back" in shop("rollback", "total", code=1)
    assert "A542" in shop("rollback", "total@v1", code=1)
    assert shop.active() == "v1 active (rolled back)"


def test_rows_that_are_stale_are_computed(shop: Shop) -> None:
    shop("execute", "shop", "INSERT INTO orders VALUES (4, 40)")
    shop.built()
    assert "kept" not in shop("rollback", "total").split("shop: ")[1]
    assert shop.built() == ["total", "per_day"]


def test_a_function_goes_back_and_its_views_with_it(shop: Shop) -> None:
    shop("rollback", "total@v0")
    shop.write(LAST.replace("AS x + 1", "AS x + 2"))
    shop("apply", "shop")
    shop.built()
    said = shop("rollback", "f", "--kind", "function")
    assert "function f" in said
    assert shop.active("f") == "v0 active (rolled back)"
    assert shop.built() == []
    assert is_unchanged(shop.plan())
    assert shop.active() == "v0 active (rolled back)"
    shop.write(LAST.replace("AS x + 1", "AS x + 3"))
    assert "H930 function f" in shop.plan()


def test_a_local_view_goes_back(shop: Shop) -> None:
    shop.write(LAST.replace("price FROM orders;", "price FROM orders WHERE id > 0;"))
    shop("apply", "shop")
    shop.built()
    shop("rollback", "l")
    assert shop.built() == []
    assert is_unchanged(shop.plan())


def test_a_table_goes_back_where_its_rows_outlive_that_and_nowhere_else(shop: Shop) -> None:
    wider = LAST.replace("(id BIGINT, price INT)", "(id BIGINT, price INT, note STRING)")
    shop.write(wider, "  evolution: evolve\n")
    shop("apply", "shop")
    before = stored_rows(shop.root, "orders")
    said = shop("rollback", "orders")
    assert "H913" in said
    assert stored_columns(shop.root, "orders") == ["id", "price"]
    assert len(stored_rows(shop.root, "orders") or []) == len(before or [])
    assert shop.active("orders") == "v0 active (rolled back)"
    assert is_unchanged(shop.plan())
    shop("rollback", "--end", "orders")
    shop.write(wider, "  evolution: clear\n")
    shop("apply", "shop")
    assert "A544" in shop("rollback", "orders", code=1)
    assert shop.active("orders") == "v1 active"


def test_a_pin_says_which_version_and_a_rollback_may_not_say_otherwise(shop: Shop) -> None:
    pinned = "  views: {total: {version: v1}}\n"
    shop.write(LAST, pinned)
    shop("apply", "shop")
    assert "A543" in shop("rollback", "total@v0", code=1)
    assert shop.active() == "v1 active"


def test_a_pin_ends_a_rollback(shop: Shop) -> None:
    shop("rollback", "total@v0")
    shop.write(LAST, "  views: {total: {version: v1}}\n")
    said = shop.plan()
    assert "H930" in said
    assert "version of total: latest → v1" in said
    shop("apply", "shop")
    assert shop.active() == "v1 active"
    assert is_unchanged(shop.plan())
    shop.write(LAST)
    shop("apply", "shop")
    assert shop.active() == "v2 active"


def test_a_pin_of_what_it_was_rolled_back_to_changes_no_meaning(shop: Shop) -> None:
    shop("rollback", "total@v0")
    shop.write(LAST, "  views: {total: {version: v0}}\n")
    assert "results do not change" in shop.plan()
    shop("apply", "shop")
    assert shop.active() == "v0 active"
    assert is_unchanged(shop.plan())


def test_a_rename_takes_it_along(shop: Shop) -> None:
    shop("rollback", "total@v0")
    renamed = LAST.replace("VIEW total AS", "VIEW sums AS").replace("FROM total", "FROM sums")
    moved = "  moved: [{from: total, to: sums}]\n"
    shop.write(renamed, moved)
    assert "H930" not in shop.plan()
    shop("apply", "shop")
    assert shop.active("sums") == "v0 active (rolled back)"
    assert "rolled back: view sums to v0" in shop.plan()
    shop.write(renamed)
    assert is_unchanged(shop.plan())


def test_what_the_files_have_no_more_is_not_held(shop: Shop) -> None:
    shop("rollback", "total@v0")
    shop.write(BASE)
    assert "H930" in shop.plan()
    shop("apply", "shop")
    assert is_unchanged(shop.plan())


def test_files_that_what_is_held_does_not_fit_are_an_error_that_says_the_way_out(shop: Shop) -> None:
    shop("rollback", "total@v1")
    files = LAST.replace("SELECT id, price FROM orders", "SELECT id FROM orders").replace("FROM l;", "FROM l;")
    shop.write(files)
    said = shop("plan", "shop", code=1)
    assert "A540" in said
    assert "reconcile rollback --end shop.total" in said
    shop("rollback", "--end", "shop.total")
    shop("apply", "shop")
    assert is_unchanged(shop.plan())


def test_a_version_that_reads_what_is_gone_is_an_error(shop: Shop) -> None:
    shop.write(LAST.replace("SELECT id, price FROM orders", "SELECT id FROM orders"))
    shop("apply", "shop")
    assert "A541" in shop("rollback", "total@v1", code=1)
    shop("rollback", "--pipeline", "shop", "--to", "2")
    assert shop.active() == "v1 active (rolled back)"
    assert shop.active("l") == "v0 active (rolled back)"
    assert is_unchanged(shop.plan())


def test_the_head_says_what_is_held_back_and_one_that_an_older_version_wrote_says_nothing(shop: Shop) -> None:
    shop("rollback", "total@v0")
    head = shop.head()
    assert head.held == {"view:total": 0}
    value = head_to_json(head)
    assert head_from_json(value, "a test") == head
    del value["held"]
    assert head_from_json(value, "a test") == replace(head, held={})
    shop("rollback", "--end", "total")
    assert shop.head().held == {}
    assert "held" not in head_to_json(shop.head())


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("total@v7",), "A522"),
        (("total@v2",), "A542"),
        (("orders",), "A542"),
        (("nothing",), "A520"),
        (("--end", "total"), "A545"),
        (("--end", "--pipeline", "shop"), "A545"),
        (("--pipeline", "shop"), "U830"),
        (("--pipeline", "shop", "--to", "9"), "A546"),
        (("--pipeline", "shop", "--to", "3"), "A542"),
        (("--pipeline", "shop", "--to", "2020-01-01"), "A546"),
        (("--pipeline", "shop", "--to", "yesterday"), "U819"),
        (("--pipeline", "none", "--to", "1"), "A506"),
        (("total", "--pipeline", "shop"), "U830"),
        (("total", "--to", "1"), "U830"),
        (("total@v1", "--end"), "U830"),
        ((), "U830"),
    ],
)
def test_what_is_no_rollback(shop: Shop, words: tuple[str, ...], code: str) -> None:
    assert code in shop("rollback", *words, code=1)
    assert shop.active() == "v2 active"


def test_a_pipeline_goes_back_to_a_registry_version(shop: Shop) -> None:
    before = {name: stored_rows(shop.root, name) for name in ("total", "per_day")}
    changed = LAST.replace("COUNT(*)", "COUNT(id)").replace(
        "CREATE MATERIALIZED VIEW per_day AS SELECT total FROM total;\n", ""
    )
    more = "CREATE TABLE added (id BIGINT);\nCREATE MATERIALIZED VIEW last AS SELECT last FROM total;\n"
    shop.write(changed + more)
    shop("apply", "shop")
    time = json.loads(shop("history", "shop", "--format", "json"))["applies"][2]["at"]
    said = shop("rollback", "--pipeline", "shop", "--to", "3", "--plan")
    assert said == shop("rollback", "--pipeline", "shop", "--to", time, "--plan")
    shop("rollback", "--pipeline", "shop", "--to", time)
    assert shop.active() == "v2 active (rolled back)"
    assert shop.active("per_day") == "v0 active (rolled back)"
    assert "is rolled back to before it existed" in shop("versions", "list", "last")
    assert {name: stored_rows(shop.root, name) for name in before} == before
    assert stored_rows(shop.root, "last") is None
    assert stored_rows(shop.root, "added") == []
    said = shop.plan()
    assert is_unchanged(said)
    assert "rolled back: view last to before it existed" in said
    shop("rollback", "--end", "last")
    assert shop.active("last") == "v0 active"
    shop("rollback", "--end", "--pipeline", "shop")
    assert "rolled back" not in shop.plan()
    assert is_unchanged(shop.plan())
    assert stored_rows(shop.root, "per_day") is None


def test_a_pipeline_does_not_go_back_to_tables_whose_rows_are_gone(shop: Shop) -> None:
    shop.write(LAST.replace("FROM orders", "FROM sold").replace("TABLE orders", "TABLE sold"))
    shop("apply", "shop")
    assert "A544" in shop("rollback", "--pipeline", "shop", "--to", "3", code=1)


def test_a_checkpoint_brings_back_what_was_rolled_back_then(shop: Shop) -> None:
    shop("rollback", "total@v0")
    shop("checkpoint", "create", "shop", "--name", "held")
    shop("rollback", "--end", "total")
    shop("checkpoint", "create", "shop", "--name", "free")
    shop("checkpoint", "restore", "shop", "held")
    assert shop.active() == "v0 active (rolled back)"
    assert is_unchanged(shop.plan())
    shop("checkpoint", "restore", "shop", "free")
    assert shop.active() == "v2 active"
    assert is_unchanged(shop.plan())


def test_a_pipeline_that_was_removed_is_not_rolled_back_when_it_comes_back(shop: Shop) -> None:
    shop("rollback", "total@v0")
    folder = shop.root / "pipelines" / "shop"
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    shop("apply", "shop")
    assert "A506" in shop("rollback", "total", code=1)
    shop.write(LAST)
    shop("apply", "shop")
    assert shop.active() == "v2 active"


def test_it_waits_for_its_own_approval_which_serves_for_nothing_else(shop: Shop) -> None:
    shop.write(LAST, policy="await_approval")
    shop("apply", "shop")
    said = shop("rollback", "total", code=2)
    assert "needs a recorded approval; plan.lock can't approve it" in said
    digest = said.split("reconcile approve shop ")[1][:12]
    assert shop.active() == "v2 active"
    # The same definition in the files is another plan.
    shop.write(PROGRAMS[1], policy="await_approval")
    assert digest not in shop("plan", "shop")
    shop.write(LAST, policy="await_approval")
    assert "A504" in shop("approve", "shop", "0" * 12, code=1)
    assert f"approved plan {digest} of shop" in shop("approve", "shop", digest, "--by", "Ann")
    shop.write(PROGRAMS[1], policy="await_approval")
    shop("apply", "shop", code=2)
    shop.write(LAST, policy="await_approval")
    assert shop("rollback", "total@v0", code=2)
    shop("rollback", "total")
    assert shop.active() == "v1 active (rolled back)"
    row = shop("history", "shop").splitlines()[-1]
    assert "recorded" in row
    assert shop("rollback", "--end", "total", code=2)
    shop("rollback", "total@v0", code=2)
    # What was approved once serves once.
    assert "A542" in shop("rollback", "total@v1", code=1)


def test_one_that_waits_can_be_rejected(shop: Shop) -> None:
    shop.write(LAST, policy="await_approval")
    shop("apply", "shop")
    digest = shop("rollback", "total", code=2).split("reconcile approve shop ")[1][:12]
    shop("reject", "shop", digest, "--by", "Ann", "--reason", "v2 is right")
    assert "Rejected: Ann rejected this plan: v2 is right" in shop("rollback", "total", "--plan")
    assert "A585" in shop("rollback", "total", "--approve", code=2)
    shop("approve", "shop", digest, "--by", "Bob", "--override-rejection")
    shop("rollback", "total")
    assert shop.active() == "v1 active (rolled back)"


def test_it_can_be_approved_and_carried_out_in_one_go(shop: Shop) -> None:
    shop.write(LAST, policy="await_approval")
    shop("apply", "shop")
    shown = shop("rollback", "total", "--plan")
    digest = shown.split("Digest: ")[1][:12]
    # Nobody asked for it yet, and the message says how that is done.
    assert "add --approve" in shop("approve", "shop", digest, code=1)
    shop("rollback", "total", "--approve")
    assert shop.active() == "v1 active (rolled back)"
    assert "recorded" in shop("history", "shop").splitlines()[-1]
    # It approved that rollback, and nothing else.
    shop("rollback", "--end", "total", code=2)
    shop("rollback", "--end", "total", "--approve")
    assert shop.active() == "v2 active"


def test_a_lock_is_judged_against_what_the_files_say_with_what_is_rolled_back(shop: Shop) -> None:
    shop("rollback", "total@v0")
    shop.write(LAST + "CREATE MATERIALIZED VIEW more AS SELECT id FROM orders;\n", policy="await_approval")
    shop("plan", "shop", "--write-lock")
    lock = (shop.root / "pipelines/shop/plan.lock").read_text()
    assert "rolled back: view total to v0" in lock
    assert "view more" in lock
    assert "view total: " not in lock
    shop("plan", "shop", "--check-lock")
    shop("rollback", "--end", "total", "--plan")


def test_where_nothing_may_be_modified_nothing_goes_back(shop: Shop) -> None:
    shop.write(LAST, policy="reject")
    shop("apply", "shop")
    assert "A502" in shop("rollback", "total", code=1)
    assert shop.active() == "v2 active"


def test_it_can_be_approved_while_the_files_are_broken(shop: Shop) -> None:
    shop.write(LAST, policy="await_approval")
    shop("apply", "shop")
    shop.write("CREATE NONSENSE", policy="await_approval")
    digest = shop("rollback", "total", code=2).split("reconcile approve shop ")[1][:12]
    shop("approve", "shop", digest)
    shop("rollback", "total")
    assert shop.active() == "v1 active (rolled back)"
    shop("plan", "shop", code=1)


def test_what_was_applied_meanwhile_is_not_rolled_back_unseen(shop: Shop) -> None:
    target = Project.open(shop.root).target
    rollback = rollback_of(target, versioned_name("total"))
    shop.write(LAST.replace("COUNT(*)", "COUNT(id)"))
    shop("apply", "shop")
    with pytest.raises(ReconcileError) as refused:
        plan_rollback(target, rollback)
    assert refused.value.code == "A547"
    assert shop.active() == "v3 active"


@pytest.mark.beside_a_run
def test_beside_a_live_run_it_is_at_once_as_well(shop: Shop) -> None:
    with held_by_a_run(Project.open(shop.root).target.registry):
        shop("rollback", "total")
    assert shop.built() == []
    assert shop.active() == "v1 active (rolled back)"


@pytest.mark.parametrize("on_bootstrap", mostly_slow(["changes", "full", "truncate", "silent"], "changes", "silent"))
def test_outputs_get_what_a_bootstrap_of_the_same_rows_would_give_them(shop: Shop, on_bootstrap: str) -> None:
    output = f"""  connectors:
    - name: out
      view: total
      on_bootstrap: {on_bootstrap}
      transport: {{name: delta_table_output, config: {{uri: sink, mode: append}}}}
"""
    shop.write(LAST, output)
    shop("apply", "shop")
    writer, location = DeltaWriter(), str(shop.root / "warehouse/shop/total")

    def emitted(rollback: tuple[str, ...]) -> list[Any]:
        shop("run", "shop", "--once")
        shop.engine.calls.clear()
        shop("rollback", *rollback)
        shop("run", "shop", "--once")
        calls = [call for call in shop.engine.calls if isinstance(call, Emission)]

        def rows(source: Any) -> Any:
            return None if source is None else writer.read(location, source.version).rows

        return [(rows(call.before), rows(call.after), call.replaces) for call in calls]

    kept = emitted(("total@v1",))
    assert not [call for call in shop.engine.calls if isinstance(call, ViewBuild)]
    shop("rollback", "--end", "total")
    shop("run", "shop", "--once")
    _vacuum(location)
    built = emitted(("total@v1",))
    assert next(call.view for call in shop.engine.calls if isinstance(call, ViewBuild)) == "total"
    assert kept == built
    assert len(kept) == (0 if on_bootstrap == "silent" else 1)


def _vacuum(location: str) -> None:
    from deltalake import DeltaTable

    DeltaTable(location).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)


KINDS = ("bootstrap_view", "publish_view", "commit_snapshot")
BOUNDARIES = ["open:before", "open:recorded", *(f"{kind}:{point}" for kind in KINDS for point in POINTS)]


def _places() -> list[Any]:
    """Each place with either that may come next; in every run once a journal is open, and after effects."""
    places = [*BOUNDARIES, "bootstrap_view:effected#2", "publish_view:effected#2"]
    return mostly_slow(
        [(then, place) for place in places for then in ("rollback", "apply")],
        ("rollback", "open:recorded"),
        ("apply", "bootstrap_view:effected"),
        ("rollback", "publish_view:effected"),
        ("apply", "publish_view:effected#2"),
        ("rollback", "commit_snapshot:effected"),
    )


@pytest.mark.parametrize(("then", "boundary"), _places())
def test_killed_anywhere_it_ends_the_same(shop: Shop, boundary: str, then: str) -> None:
    name, _, occurrence = boundary.partition("#")
    with pytest.raises(Crash):
        Project.open(shop.root, engine=shop.engine).pipeline("shop").observed(
            boundary=crash_at(name, int(occurrence or "1"))
        ).rollback("total@v0")
    has_begun = boundary != "open:before"
    is_done = boundary in ("commit_snapshot:effected", "commit_snapshot:recorded")
    if then == "apply":
        assert ("nothing to do" in shop("apply", "shop")) is (is_done or not has_begun)
    if is_done or (then == "apply" and has_begun):
        assert "A542" in shop("rollback", "total@v0", code=1)
    else:
        shop("rollback", "total@v0")
    assert shop.active() == "v0 active (rolled back)"
    assert shop.built() == []
    assert is_unchanged(shop.plan())
    assert "nothing to do" in shop("apply", "shop")
    shop("rollback", "--end", "total")
    assert shop.active() == "v2 active"


def test_the_python_interface(shop: Shop) -> None:
    pipeline: Any = Project.open(shop.root, engine=shop.engine).pipeline("shop")
    assert pipeline.plan_rollback("total").rollback == "view total to v1"
    assert not pipeline.rollback("total@v0").did_nothing
    assert shop.active() == "v0 active (rolled back)"
    pipeline.end_rollback("total")
    assert shop.active() == "v2 active"
    pipeline.rollback_to(1)
    assert shop.active() == "v0 active (rolled back)"
    pipeline.end_rollback()
    assert shop.active() == "v2 active"


BILLS = """\
CREATE TABLE trips (id BIGINT, km DECIMAL(8,2));
CREATE FUNCTION fee(km DECIMAL(8,2)) RETURNS DECIMAL({}) AS {};
CREATE FUNCTION doubled(km DECIMAL(8,2)) RETURNS DECIMAL(14,2) AS fee(km) * 2;
CREATE MATERIALIZED VIEW bills AS SELECT id, fee(km) AS fee FROM trips;
CREATE MATERIALIZED VIEW twice AS SELECT id, doubled(km) AS fee FROM trips;
CREATE MATERIALIZED VIEW kilometres AS SELECT km FROM trips;
"""
TO_FILES = """\
  connectors:
    - name: to_files
      view: bills
      transport: {name: file_output, config: {path: sink}}
      format: {name: json, config: {update_format: insert_delete}}
"""


@pytest.fixture
def bills(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    """Two versions of a view that calls a function: of the function another type, and another rate."""
    bills = Shop(tmp_path, capsys)
    for body in (("10,2", "km * 2"), ("12,2", "km * 3")):
        bills.write(BILLS.format(*body), TO_FILES)
        bills("apply", "shop")
    return bills


def test_columns_that_get_another_type_are_told_whatever_goes_back(bills: Shop) -> None:
    retyped, broken = (
        "H907 view bills has other column types: fee was",
        "this may break bills.to_files and readers of its Delta table",
    )
    every = (
        "bills.to_files: sends the difference (view bills is modified; only the difference between old and new contents, "
    )
    every += "deletes included; that is every row, because fee has another type)"
    for words in (("fee", "--kind", "function"), ("bills",)):
        said = " ".join(bills("rollback", *words, "--plan").split())
        assert f"{retyped} DECIMAL(12,2) and is DECIMAL(10,2); {broken}" in said, words
        assert every in said, words
    bills("rollback", "bills")
    said = " ".join(bills("rollback", "--end", "bills", "--plan").split())
    assert f"{retyped} DECIMAL(10,2) and is DECIMAL(12,2); {broken}" in said
    assert every in said


def test_a_changed_function_says_what_goes_on_calling_an_old_version(bills: Shop) -> None:
    for view in ("bills", "twice"):
        bills("rollback", view)
    bills.write(BILLS.format("12,2", "km * 4"), TO_FILES)
    said = bills.plan()
    assert "  view bills is rolled back to v0 and still calls fee@v0: the change of fee does not reach it\n" in said
    assert "  view twice is rolled back to v0 and still calls fee@v0: the change of fee does not reach it\n" in said
    assert "view kilometres" not in said
    plan = Project.open(bills.root).pipeline("shop").plan()
    assert [asdict(one)["functions"] for one in plan.bound_calls] == [("fee@v0",), ("fee@v0",)]
    assert "still calls fee@v0" in render_section(plan, "0")
    assert "still calls fee@v0" in render_markdown(plan)
    bills("rollback", "--end", "bills")
    bills("rollback", "--end", "twice")
    assert "still calls" not in bills.plan()


def test_a_pinned_view_goes_on_calling_an_old_version_too(bills: Shop) -> None:
    bills.write(BILLS.format("12,2", "km * 4"), TO_FILES + "  views: {bills: {version: v0}}\n")
    assert "view bills is pinned at v0 and still calls fee@v0: the change of fee does not reach it" in bills.plan()
