"""Versions that are kept up to date together with whatever else there is: pins, rollbacks, checkpoints, removals, tables
that evolve, functions, plain views, a live run; by the command line over real Delta tables, with the recording engine."""

import json
import shutil
import threading
from pathlib import Path

import pytest

from reconciler import Project
from reconciler.environment.session import Session
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.maintaining_shop import FIRST, MAINTAINED, READER, SECOND, Shop, apply_first, apply_second, program
from tests.acceptance.shop import stored_rows
from tests.acceptance.versioned_shop import READS
from tests.engine.delta_writer import DeltaWriter
from tests.waiting import wait_until

pytestmark = pytest.mark.both_ways

THIRD = program("MAX(price)")


def maintain(*numbers: int, pin: str = "") -> str:
    versions = ", ".join(f"v{number}: {{maintain: true}}" for number in numbers)
    return f"{READS}  views:\n    total: {{versions: {{{versions}}}{pin and f', version: {pin}'}}}\n"


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("applied")
    apply_first(root)
    return root


@pytest.fixture
def shop(applied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    shutil.copytree(applied, tmp_path / "shop")
    return Shop(tmp_path / "shop", capsys)


@pytest.fixture(scope="module")
def applied_twice(applied: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The second program, with version 0 of `total` kept up to date. Copy it; don't change it."""
    root = Path(shutil.copytree(applied, tmp_path_factory.mktemp("applied-twice") / "shop"))
    apply_second(root)
    return root


@pytest.fixture
def maintained(applied_twice: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    return Shop(Path(shutil.copytree(applied_twice, tmp_path / "shop")), capsys)


def is_settled(shop: Shop) -> None:
    assert "no changes" in shop("plan", "shop")
    assert "nothing to do" in shop("apply", "shop")


def test_a_pin_makes_it_active_and_goes_on_keeping_it(maintained: Shop) -> None:
    maintained.write(SECOND, maintain(0, 1, pin="v0"))
    plan = maintained("plan", "shop")
    assert "+ view total@v1: bootstrapped" in plan
    assert "total@v0:" not in plan
    maintained("apply", "shop")
    assert maintained.states() == {"v1": "maintained", "v0": "active, maintained"}
    maintained("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    assert stored_rows(maintained.root, "total") == stored_rows(maintained.root, "total-v0")
    assert stored_rows(maintained.root, "total-v1") != stored_rows(maintained.root, "total")
    is_settled(maintained)
    maintained.write(SECOND, maintain(0, 1))
    maintained("apply", "shop")
    assert maintained.states() == {"v1": "active, maintained", "v0": "maintained"}
    assert stored_rows(maintained.root, "total") == stored_rows(maintained.root, "total-v1")
    is_settled(maintained)


def test_a_pin_and_another_definition_are_a_conflict_with_it_as_without(maintained: Shop) -> None:
    maintained.write(THIRD, maintain(0, pin="v0"))
    assert "A525" in maintained("plan", "shop", code=1)


def test_the_active_version_may_be_kept_before_it_is_replaced(shop: Shop) -> None:
    shop.write(FIRST)
    shop("apply", "shop")
    assert shop.states() == {"v0": "active, maintained"}
    assert stored_rows(shop.root, "total") == stored_rows(shop.root, "total-v0")
    is_settled(shop)
    shop.built()
    shop.write(SECOND)
    shop("apply", "shop")
    # It goes on as it was.
    assert shop.built() == ["total"]
    assert shop.states() == {"v1": "active", "v0": "maintained"}
    is_settled(shop)


def test_it_goes_with_its_view_and_is_there_again_with_it(maintained: Shop) -> None:
    orders = FIRST.partition("CREATE MATERIALIZED")[0]
    maintained.write(orders, MAINTAINED)
    assert "total" in maintained("plan", "shop", code=1)
    maintained.write(orders, READS)
    plan = maintained("plan", "shop")
    assert "- view total@v0: dropped" in plan
    assert "- view total: dropped" in plan
    maintained("apply", "shop")
    assert stored_rows(maintained.root, "total-v0") is None
    is_settled(maintained)
    maintained.write(SECOND)
    maintained("apply", "shop")
    assert maintained.states() == {"v1": "active", "v0": "maintained"}
    is_settled(maintained)


def test_a_pipeline_goes_with_it_and_comes_back_with_it(maintained: Shop) -> None:
    folder = maintained.root / "pipelines/shop"
    shutil.rmtree(folder)
    maintained("apply", "shop")
    assert stored_rows(maintained.root, "total-v0") is None
    maintained.write(SECOND)
    maintained("apply", "shop")
    assert maintained.states() == {"v1": "active", "v0": "maintained"}
    is_settled(maintained)


def test_a_checkpoint_brings_back_what_was_kept_then_and_nothing_else(shop: Shop) -> None:
    shop.write(SECOND, READS)
    shop("apply", "shop")
    shop("checkpoint", "create", "shop", "--name", "before")
    shop.write(SECOND)
    shop("apply", "shop")
    shop("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    held = stored_rows(shop.root, "total-v0")
    shop("checkpoint", "create", "shop", "--name", "with")
    shop.write(SECOND, READS)
    shop("checkpoint", "restore", "shop", "before")
    assert shop.states() == {"v1": "active", "v0": ""}
    assert "total@v0 as of step 1" in shop("query", "shop", "SELECT * FROM total@v0")
    is_settled(shop)
    shop.write(SECOND)
    assert "+ view total@v0: bootstrapped" in shop("plan", "shop")
    shop("checkpoint", "restore", "shop", "with")
    assert stored_rows(shop.root, "total-v0") == held
    assert shop.states() == {"v1": "active", "v0": "maintained"}
    is_settled(shop)
    shop("execute", "shop", "INSERT INTO orders VALUES (4, 40)")
    assert stored_rows(shop.root, "total-v0") != held


def test_a_pipeline_that_is_rolled_back_goes_on_keeping_it(maintained: Shop) -> None:
    maintained("rollback", "--pipeline", "shop", "--to", "1")
    assert maintained.states() == {"v1": "", "v0": "active (rolled back), maintained"}
    assert stored_rows(maintained.root, "total") == stored_rows(maintained.root, "total-v0")
    is_settled(maintained)
    maintained("rollback", "--end", "--pipeline", "shop")
    assert maintained.states() == {"v1": "active", "v0": "maintained"}
    # To where it was kept, from where it is no more: settings are not part of a rollback.
    maintained.write(THIRD, READS)
    maintained("apply", "shop")
    maintained("rollback", "--pipeline", "shop", "--to", "2")
    assert maintained.states() == {"v2": "", "v1": "active (rolled back)", "v0": ""}
    is_settled(maintained)


def test_it_can_t_be_rolled_back_itself(maintained: Shop) -> None:
    """`total@v0` names the version of `total` that becomes active."""
    maintained("rollback", "total@v0")
    assert maintained.states() == {"v1": "", "v0": "active (rolled back), maintained"}


def test_a_version_of_a_plain_view_is_computed_in_place(shop: Shop) -> None:
    plain = FIRST.replace("MATERIALIZED ", "")
    shop.write(plain, READS)
    shop("apply", "shop")
    shop.write(SECOND, maintain(1))
    shop("apply", "shop")
    assert shop.states() == {"v2": "active", "v1": "maintained", "v0": ""}
    is_settled(shop)
    shop("execute", "shop", "INSERT INTO orders VALUES (3, 30)")
    said = shop("query", "shop", "SELECT * FROM total@v1")
    assert "as of step" not in said


def test_a_table_below_may_evolve_where_the_version_means_the_same(maintained: Shop) -> None:
    wider = SECOND.replace("price INT)", "price INT, note STRING)")
    maintained.write(wider, MAINTAINED + "  evolution: evolve\n")
    maintained("apply", "shop")
    assert "total@v0" not in maintained.built()
    maintained("execute", "shop", "INSERT INTO orders VALUES (3, 30, 'x')")
    assert "total@v0" in maintained.built()
    is_settled(maintained)
    moved = "  evolution: evolve\n  moved: [{from: orders.price, to: orders.cost}]\n"
    maintained.write(wider.replace("price INT", "cost INT").replace("(price)", "(cost)"), MAINTAINED + moved)
    said = maintained("plan", "shop", code=1)
    assert "A527" in said
    assert "remove `maintain`" in said


def test_it_is_explained_and_has_a_status_as_any_view(maintained: Shop) -> None:
    said = maintained("explain", "shop", "total@v0")
    assert "orders" in said
    assert "total@v0" in maintained("explain", "shop")
    assert "total@v0" in maintained("status", "shop")
    found = json.loads(maintained("status", "shop", "--format", "json"))["pipelines"][0]
    assert "total@v0" in json.dumps(found)
    assert "total@v0" in maintained("history", "shop", "--at", "2999-01-01")


def test_keeping_one_may_be_all_that_is_staged(shop: Shop) -> None:
    shop.write(SECOND, READS)
    shop("apply", "shop")
    shop.built()
    shop.write(SECOND)
    said = shop("apply", "shop", "--no-promote")
    assert "total@v0" in said
    assert shop.built() == ["total@v0"]
    assert stored_rows(shop.root, "total-v0") is None
    assert "total@v0" in shop("status", "shop")
    shop("promote", "--pipeline", "shop")
    assert shop.built() == []
    assert shop.states() == {"v1": "active", "v0": "maintained"}
    is_settled(shop)


def test_what_is_pruned_meanwhile_says_so_once_it_is_kept_no_more(maintained: Shop) -> None:
    maintained.write(SECOND, READS + "  retention: {versions: 0, steps: 0s}\n")
    maintained("apply", "shop")
    maintained("prune", "shop")
    assert "X735" in maintained("query", "shop", "SELECT * FROM total@v0", code=1)
    maintained.write(SECOND, MAINTAINED + "  retention: {versions: 0, steps: 0s}\n")
    maintained("apply", "shop")
    assert "as of step" not in maintained("query", "shop", "SELECT * FROM total@v0")
    maintained("prune", "shop")
    maintained.write(SECOND + READER, MAINTAINED)
    maintained("apply", "shop")
    is_settled(maintained)
    maintained.write(SECOND + READER, READS)
    said = maintained("apply", "shop", code=1)
    assert "X735" in said
    assert maintained.states()["v0"] == "pruned, maintained"


def test_no_connector_is_of_it(maintained: Shop) -> None:
    output = "  connectors: [{name: out, view: total@v0, transport: {name: delta_table_output, config: {uri: out}}}]\n"
    maintained.write(SECOND, MAINTAINED + output)
    said = maintained("validate", "shop", code=1)
    assert "pipeline.yaml:" in said


@pytest.mark.beside_a_run
def test_a_live_run_keeps_it_up_to_date(shop: Shop) -> None:
    transport = "{name: file_input, config: {path: source}}"
    source = f"  connectors: [{{name: c, table: orders, transport: {transport}, format: {{name: json}}}}]\n"
    (shop.root / "source").mkdir()
    shop.write(SECOND, READS + source)
    shop("apply", "shop")
    stopping = threading.Event()
    target = Project.open(shop.root).target
    running = Session(RecordingEngine(DeltaWriter()))
    going = threading.Thread(
        target=lambda: run_pipeline(target, "shop", running, Pace(once=False, interval_seconds=0.1, stop=stopping.is_set))
    )
    going.start()
    try:
        (shop.root / "source/1.json").write_text('{"id": 3, "price": 30}\n')
        wait_until(lambda: len(stored_rows(shop.root, "orders") or []) == 3)
        shop.write(SECOND, MAINTAINED + source)
        shop("apply", "shop")
        held = stored_rows(shop.root, "total-v0")
        assert held is not None
        (shop.root / "source/2.json").write_text('{"id": 4, "price": 40}\n')
        wait_until(lambda: stored_rows(shop.root, "total-v0") != held)
        shop.write(SECOND, READS + source)
        shop("apply", "shop")
        (shop.root / "source/3.json").write_text('{"id": 5, "price": 50}\n')
        wait_until(lambda: len(stored_rows(shop.root, "orders") or []) == 5)
        assert stored_rows(shop.root, "total-v0") is None
    finally:
        stopping.set()
        going.join(60)
    assert not going.is_alive()
    is_settled(shop)
