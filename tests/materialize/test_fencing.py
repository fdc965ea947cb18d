"""A driver that was stopped, taken over, and comes back: real processes, SIGSTOP and SIGCONT, over real Delta tables.

Whatever it was about to do, nothing of it lands, and what its successor made stays as it was.
"""

import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import arro3.core
import pytest
from deltalake import CommitProperties, Transaction, write_deltalake
from deltalake.exceptions import DeltaError

from reconciler.base.errors import EngineError, ReconcileError
from reconciler.delta.opening import open_table
from reconciler.delta.tables import create_table
from reconciler.delta.transactions import has_transaction
from reconciler.engine.dead_letters import DEAD_LETTER_COLUMNS
from reconciler.engine.protocol import Ingestion, Written
from reconciler.engine.stored import Transaction as Ours
from reconciler.materialize.withdrawing import ingest_transaction
from reconciler.registry.intents import Writer
from reconciler.registry.model import Lease
from reconciler.service.project import Project
from reconciler.state.lease import Holder, hold_lease
from reconciler.testing.recording import RecordingEngine
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter
from tests.programs import Program, begin
from tests.shops.late_driver import LEASE_SECONDS
from tests.shops.recorded import everything, feed, head_of, open_project, steps_recorded, write_project

POINTS = (
    "step:intended",
    "table:before",
    "table:effected",
    "table:before#2",
    "table:effected#2",
    "view:before",
    "view:intended",
    "view:effected",
    "view:before#3",
    "view:effected#3",
    "step:before",
    "history:recorded",
)
INSIDE = ("inside:ingest", "inside:build_view")


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Applied, with one step done and input for the next."""
    root = tmp_path_factory.mktemp("baseline")
    write_project(root)
    open_project(root).apply()
    open_project(root).execute("INSERT INTO b VALUES (1, 'by hand')")
    feed(root, "left", "one", {"id": 1}, {"id": 2})
    feed(root, "right", "one", {"id": 2, "note": "read"})
    return root


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, baseline: Path) -> dict[str, Any]:
    """What is stored after the step, and after one more, with nothing in the way."""
    root = tmp_path_factory.mktemp("undisturbed") / "shop"
    shutil.copytree(baseline, root)
    open_project(root).run_once()
    after_one = everything(root)
    feed(root, "left", "two", {"id": 3})
    open_project(root).run_once()
    return {"one": after_one, "two": everything(root)}


@pytest.fixture
def root(baseline: Path, tmp_path: Path) -> Path:
    """A copy of the baseline."""
    return Path(shutil.copytree(baseline, tmp_path / "shop"))


@contextmanager
def stopped(root: Path, point: str, guarded: str) -> Iterator[Program]:
    """A driver that has stopped itself at that point."""
    driver = begin("tests.shops.late_driver", str(root), point, guarded)
    try:
        driver.wait_until_stopped()
        yield driver
    finally:
        driver.kill()
        driver.communicate()


def ends_with(driver: Program) -> str:
    """What a driver that may go on ends with."""
    driver.send_signal(signal.SIGCONT)
    return driver.communicate(timeout=60)[0].strip()


def take_over(root: Path) -> None:
    """Run once as soon as the lease has run out."""
    time.sleep(LEASE_SECONDS + 0.1)
    open_project(root).run_once()


def goes_on_as_if_nothing_had_happened(root: Path, undisturbed: dict[str, Any]) -> None:
    assert everything(root) == undisturbed["one"]
    assert head_of(root).intent is None
    feed(root, "left", "two", {"id": 3})
    open_project(root).run_once()
    assert everything(root) == undisturbed["two"]


# Who looks at the lease is stopped by it wherever that is; who does not has more to tell, below.
@pytest.mark.parametrize("point", mostly_slow([*POINTS, *INSIDE], "inside:build_view", "history:recorded"))
def test_a_driver_that_comes_back_notices_and_nothing_of_it_lands(
    point: str, root: Path, undisturbed: dict[str, Any]
) -> None:
    with stopped(root, point, "guarded") as driver:
        take_over(root)
        assert everything(root) == undisturbed["one"]
        assert ends_with(driver) == "A503"
    goes_on_as_if_nothing_had_happened(root, undisturbed)
    kinds = dict(steps_recorded(root))
    assert kinds[3] == "ingest", "its successor's step"
    assert (2, "withdrawn") in steps_recorded(root)
    assert head_of(root).epoch > 0


@pytest.mark.parametrize(
    "point",
    mostly_slow(
        ["intent:before", *POINTS, *INSIDE],
        *("step:intended", "inside:ingest", "view:intended", "history:recorded"),
    ),
)
def test_a_driver_that_does_not_look_is_stopped_by_what_it_finds_on_the_tables(
    point: str, root: Path, undisturbed: dict[str, Any]
) -> None:
    with stopped(root, point, "unguarded") as driver:
        take_over(root)
        before = everything(root)
        assert before == undisturbed["one"]
        assert ends_with(driver).startswith("G60")
    goes_on_as_if_nothing_had_happened(root, undisturbed)


def test_a_driver_that_comes_back_much_later_is_stopped_too(root: Path, undisturbed: dict[str, Any]) -> None:
    with stopped(root, "table:before", "unguarded") as driver:
        take_over(root)
        feed(root, "left", "two", {"id": 3})
        open_project(root).run_once()
        assert ends_with(driver).startswith("G60")
    assert everything(root) == undisturbed["two"]


def test_a_step_that_was_published_before_its_driver_stopped_stays(root: Path, undisturbed: dict[str, Any]) -> None:
    with stopped(root, "step:recorded", "guarded") as driver:
        take_over(root)
        assert ends_with(driver) == "done"
    goes_on_as_if_nothing_had_happened(root, undisturbed)
    assert (2, "ingest") in steps_recorded(root)


def test_a_driver_that_was_stopped_and_not_taken_over_goes_on(root: Path, undisturbed: dict[str, Any]) -> None:
    with stopped(root, "view:before", "guarded") as driver:
        time.sleep(LEASE_SECONDS + 0.3)
        assert ends_with(driver) == "done"
    goes_on_as_if_nothing_had_happened(root, undisturbed)


def test_the_step_of_a_driver_that_is_dead_for_sure_is_finished_and_not_withdrawn(
    root: Path, undisturbed: dict[str, Any]
) -> None:
    with stopped(root, "view:before", "guarded") as driver:
        driver.kill()
        driver.wait()
        open_project(root).run_once()
    goes_on_as_if_nothing_had_happened(root, undisturbed)
    assert (2, "ingest") in steps_recorded(root)


class Refusing(RecordingEngine):
    """An engine that brings nothing in."""

    def ingest(self, ingestion: Ingestion) -> Written:
        raise EngineError("X714", "refused")


def test_a_dead_drivers_step_that_is_refused_is_barred_as_its_jvm_may_live_a_moment_longer(
    root: Path, undisturbed: dict[str, Any]
) -> None:
    with stopped(root, "table:before", "guarded") as driver:
        driver.kill()
        driver.wait()
        with pytest.raises(EngineError):
            open_project(root, Refusing(DeltaWriter())).run_once()
    assert (2, "withdrawn") in steps_recorded(root)
    table = open_table(str(root / "warehouse/shop/a"))
    assert table is not None
    assert has_transaction(table, ingest_transaction("a.left", 2))
    open_project(root).run_once()
    goes_on_as_if_nothing_had_happened(root, undisturbed)


def test_who_dies_while_taking_over_does_not_vouch_for_the_one_before(root: Path, undisturbed: dict[str, Any]) -> None:
    registry = Project.open(root).target.registry
    with stopped(root, "table:before", "unguarded") as driver:
        found = registry.document("shop", Lease)
        assert found is not None
        # It took the lease, and was gone before it wrote the head.
        gone = replace(found.value, holder="gone", process="999999999:1", epoch=found.value.epoch + 1)
        registry.replace_document("shop", found.token, gone, "gone")
        open_project(root).run_once()
        assert everything(root) == undisturbed["one"]
        assert ends_with(driver).startswith("G60")
    goes_on_as_if_nothing_had_happened(root, undisturbed)


def test_a_statement_of_a_driver_that_was_taken_over_has_not_happened(root: Path) -> None:
    registry = Project.open(root).target.registry
    before = everything(root)
    elsewhere = Holder("elsewhere", "execute", "another-host", "1:1")

    class Gone(BaseException):
        pass

    def leave(name: str) -> None:
        if name == "table:effected":
            raise Gone

    with pytest.raises(Gone):
        open_project(root).observed(boundary=leave).execute("INSERT INTO a VALUES (99)")
    head = registry.head("shop")
    assert head is not None
    assert head.value.intent is not None
    intent = replace(head.value.intent, writer=Writer(elsewhere.host, elsewhere.process))
    registry.replace_head(head.token, replace(head.value, intent=intent), "elsewhere")
    lease = registry.document("shop", Lease)
    assert lease is not None
    expired = replace(lease.value, released=False, expires="2026-01-01T00:00:00+00:00", host=elsewhere.host)
    registry.replace_document("shop", lease.token, expired, "expired")
    told: list[str] = []
    open_project(root).observed(tell=told.append).execute("INSERT INTO b VALUES (5, 'after')")
    assert any("another process took it over" in message for message in told)
    assert [row for row in everything(root)["a"] if row[0] == 99] == []
    assert len(everything(root)["b"]) == len(before["b"]) + 1


def test_dead_letters_of_a_withdrawn_step_go_and_its_late_writer_is_barred(root: Path) -> None:
    location = str(root / "warehouse/shop/dead-letters")
    create_table(location, DEAD_LETTER_COLUMNS, Ours("reconcile/test", 0))

    def write(step: int, table: Any = None) -> None:
        names = [column.name for column in DEAD_LETTER_COLUMNS]
        data = {
            name: arro3.core.Array([step] if name == "step" else ["x"], type=kind)
            for name, kind in zip(names, [arro3.core.DataType.int64(), *[arro3.core.DataType.utf8()] * 5], strict=True)
        }
        mark = Transaction("reconcile/step/a.left/dead-letters", step)
        properties = CommitProperties(app_transactions=[mark])
        write_deltalake(table or location, arro3.core.Table.from_pydict(data), mode="append", commit_properties=properties)

    write(1)
    with stopped(root, "table:effected", "guarded") as driver:
        late = open_table(location)
        write(2)
        take_over(root)
        with pytest.raises(DeltaError):
            write(2, late)
        assert ends_with(driver) == "A503"
    rows = DeltaWriter().read(location, DeltaWriter().latest(location) or 0).rows
    assert [row[0] for row in rows] == [1]


def test_the_first_part_of_a_large_range_is_barred_too(root: Path) -> None:
    """A large range is written in two commits, and a JVM whose driver was taken over may be at either."""
    placed = head_of(root).published
    assert placed is not None
    location = str(root / "warehouse" / placed.relations["a"].location)
    with stopped(root, "table:before", "guarded") as driver:
        late = open_table(location)
        assert late is not None
        intent = head_of(root).intent
        assert intent is not None
        properties = CommitProperties(app_transactions=[Transaction("reconcile/step/a.left/proven", intent.step)])
        take_over(root)
        before = everything(root)["a"]
        rows = arro3.core.Table.from_pydict({"id": arro3.core.Array([99], type=arro3.core.DataType.int64())})
        with pytest.raises(DeltaError):
            write_deltalake(late, rows, mode="append", commit_properties=properties)
        assert ends_with(driver) == "A503"
    assert everything(root)["a"] == before


def test_a_lease_that_is_late_is_renewed_when_nobody_took_it(tmp_path: Path) -> None:
    write_project(tmp_path)
    registry = Project.open(tmp_path).target.registry
    with hold_lease(registry, "shop", Holder("mine", "run", "here", "1:1"), seconds=0.2) as held:
        held._stop.set()
        time.sleep(0.3)
        held.check()
        found = registry.document("shop", Lease)
        assert found is not None
        registry.replace_document("shop", found.token, replace(found.value, holder="other"), "w")
        held.check()
        time.sleep(0.3)
        with pytest.raises(ReconcileError) as caught:
            held.check()
        assert caught.value.code == "A503"
