"""Pruning: dying amid it, being taken over, and what goes on beside it."""

import os
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from reconciler.base.errors import EngineError, LeaseHeld, ReconcileError, RegistryConflict
from reconciler.engine.protocol import Vacuum
from reconciler.environment.session import Session
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.state.lease import hold_lease, this_process
from reconciler.testing.crashes import Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import write_shop
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter
from tests.retention.pruning.shop import FIRST, SECOND, SHORT, THIRD, Shop, files_at, pruned, remaining
from tests.waiting import wait_until

BOUNDARIES = (
    "prune:before",
    "prune:intended",
    "prune:told",
    "prune:recorded",
    "vacuum:before",
    "vacuum:effected",
    "vacuum:before#2",
    "vacuum:effected#2",
    "prune:effected",
)


@pytest.mark.parametrize(
    "name", mostly_slow(BOUNDARIES, "prune:intended", "prune:recorded", "vacuum:effected", "prune:effected")
)
def test_whoever_dies_leaves_what_is_readable_or_said_to_be_pruned(shop: Shop, name: str) -> None:
    shop.apply(THIRD.replace("price INT)", "price INT, more INT)"))
    now = shop.rows("total")
    boundary, _, occurrence = name.partition("#")
    with pytest.raises(Crash):
        shop.prune(boundary=crash_at(boundary, int(occurrence or 1)))

    recorded = name not in ("prune:before", "prune:intended")
    for version in ("total@v0", "total@v1", "dear@v0", "orders@v0"):
        assert shop.read(version) == ("X735" if recorded else "read")
    for step in range(5):
        assert shop.read("total", step) in ({"read", "X736"} if recorded else {"read"})
    assert shop.rows("total") == now
    shop.prune()
    shop.prune()
    assert shop.states() == {0: "pruned", 1: "pruned", 2: "active"}
    assert {shop.read(version) for version in ("total@v0", "total@v1", "dear@v0", "orders@v0")} == {"X735"}
    placement = shop.head.published.relations["total"] if shop.head.published else None
    assert placement is not None
    assert shop.files() == set(files_at(shop, placement.version))
    assert shop.rows("total") == now


def removed(shop: Shop) -> list[str]:
    return [one for call in shop.engine.calls if isinstance(call, Vacuum) for one in call.files]


def test_who_lost_the_pipeline_after_it_recorded_removes_nothing(shop: Shop) -> None:
    def taken_over(name: str) -> None:
        if name == "prune:told":
            stored = shop.target.registry.head("shop")
            assert stored is not None
            shop.target.registry.replace_head(stored.token, stored.value, str(uuid.uuid4()))

    with pytest.raises(RegistryConflict):
        shop.prune(boundary=taken_over)
    assert removed(shop) == []


def test_a_step_while_files_go_is_not_disturbed(shop: Shop) -> None:
    done: list[str] = []

    def beside(name: str) -> None:
        if name == "vacuum:before" and not done:
            done.append(name)
            Shop(shop.root).insert(4)

    shop.prune(boundary=beside)
    assert done
    assert len(shop.rows("orders")) == 4
    assert shop.read("total@v0") == "X735"


def test_a_live_run_lets_a_prune_in_and_goes_on(shop: Shop) -> None:
    files = shop.root / "files"
    files.mkdir()
    transport = f"{{name: file_input, config: {{path: {files}}}}}"
    connector = f"  connectors: [{{name: c, table: orders, transport: {transport}, format: {{name: json}}}}]\n"
    shop.apply(THIRD, SHORT + connector)
    stopping = threading.Event()
    running = Session(Shop(shop.root).engine)
    going = threading.Thread(
        target=lambda: run_pipeline(
            shop.target, "shop", running, Pace(once=False, interval_seconds=0.1, stop=stopping.is_set)
        )
    )
    going.start()
    try:
        (files / "1.json").write_text('{"id": 4, "price": 40}\n')
        wait_until(lambda: len(shop.rows("orders")) == 4)
        assert pruned(shop.prune()) == ["dear@v0", "total@v0", "total@v1"]
        (files / "2.json").write_text('{"id": 5, "price": 50}\n')
        wait_until(lambda: len(shop.rows("orders")) == 5)
    finally:
        stopping.set()
        going.join(60)
    assert not going.is_alive()
    assert shop.read("total@v1") == "X735"


def test_what_was_recorded_is_not_restored_though_its_files_are_there(shop: Shop) -> None:
    shop.apply(THIRD, SHORT.replace("steps: 1h", "steps: 1h, checkpoints: 1d"))
    shop.pipeline.checkpoint("old")
    shop.insert(4)
    shop.pipeline.checkpoint("last")
    with pytest.raises(Crash):
        shop.prune(boundary=crash_at("prune:recorded"))
    with pytest.raises(EngineError) as caught:
        shop.pipeline.restore("old")
    assert "pruned on" in caught.value.message


def test_rows_that_were_recorded_are_not_taken_back_though_their_files_are_there(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.apply(FIRST)
    shop.insert(1)
    shop.apply(SECOND)
    with pytest.raises(Crash):
        shop.prune(boundary=crash_at("prune:recorded"))
    assert remaining(shop, 1)
    shop.apply(FIRST)
    assert shop.states() == {0: "active", 1: ""}
    now = shop.rows("total")
    # What a process that was stopped removes when it goes on.
    old = shop.folder() / files_at(shop, 1)[0]
    old.unlink()
    assert shop.rows("total") == now


def test_nothing_is_pruned_while_an_apply_is_open_and_its_staging_stays(shop: Shop) -> None:
    write_shop(shop.root, SECOND, more=SHORT)
    with pytest.raises(Crash):
        shop.pipeline.observed(boundary=crash_at("publish_view:before")).apply()
    staged = [path for path in shop.files() if path.startswith("v-")]
    for path in shop.folder().rglob("*"):
        os.utime(path, (0, 0))
    would = shop.prune(dry_run=True)
    assert would.is_open
    with pytest.raises(ReconcileError) as caught:
        shop.prune()
    assert caught.value.code == "A550"
    with hold_lease(shop.target.registry, "shop", this_process("apply")), pytest.raises(LeaseHeld) as held:
        shop.prune()
    assert held.value.code == "A503", "somebody is at it, and nothing was left"
    going = {file.path for folder in would.folders for file in folder.files}
    shop.pipeline.apply()
    assert staged
    assert len(shop.rows("total")) == 1
    placement = shop.head.published.relations["total"] if shop.head.published else None
    assert placement is not None
    assert not going & set(files_at(shop, placement.version))


class Stubborn(DeltaWriter):
    """Lets go of nothing, and says nothing."""

    def vacuum(self, location: str, files: Sequence[str]) -> None:
        return


def test_files_that_can_not_be_removed_are_an_error_and_go_next_time(shop: Shop) -> None:
    able, before = shop.engine, shop.files()
    shop.engine = RecordingEngine(Stubborn())
    with pytest.raises(ReconcileError, match="could not be deleted") as caught:
        shop.prune()
    assert (caught.value.code, shop.files()) == ("A552", before)
    assert shop.read("total@v0") == "X735"
    shop.engine = able
    shop.prune()
    assert shop.files() != before
    assert shop.prune().is_empty
