"""An apply that was stopped, taken over, and goes on when all is done: whatever it still does, nothing changes. Real Delta
tables, without Spark."""

import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError, LeaseHeld, ReconcileError, RegistryConflict
from reconciler.engine.protocol import Built, ViewBuild
from reconciler.materialize.apply_effects import Builder, Effects, builds_of
from reconciler.materialize.taking_back import take_back
from reconciler.registry.entries import EntryState, JournalEntry
from reconciler.registry.model import Head, Journal, Lease, Stored
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.state.applied import read_snapshot
from reconciler.state.journal import OpenJournal
from reconciler.testing.crashes import Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import AFTER, BEFORE, EVOLVE, INSERTS, contents, stored_rows, write_shop
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter

# Of AFTER, the rows of `kept` are written anew, too.
EVOLVING = AFTER.replace("kept (id BIGINT, price", "kept (more STRING, id BIGINT, price")
KINDS = ("evolve_table", "bootstrap_view", "clear_table", "publish_table", "publish_view", "extend_table", "drop_relation")


class Waiting(RecordingEngine):
    """Stops at the first build until it is let go."""

    def __init__(self) -> None:
        super().__init__(DeltaWriter())
        self.stopped, self.go_on = threading.Event(), threading.Event()
        self.staged: list[str] = []

    def build_view(self, build: ViewBuild) -> Built:
        if not self.stopped.is_set():
            self.stopped.set()
            assert self.go_on.wait(60)
        self.staged.append(build.staging)
        return super().build_view(build)


def opened(root: Path, engine: RecordingEngine | None = None) -> Pipeline:
    return Project.open(root, engine=engine or RecordingEngine(DeltaWriter())).pipeline("shop")


def stored_head(root: Path) -> Stored[Head]:
    stored = opened(root).target.registry.head("shop")
    assert stored is not None
    return stored


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("baseline")
    write_shop(root, BEFORE)
    pipeline = opened(root)
    pipeline.apply()
    for statement in INSERTS:
        pipeline.execute(statement)
    return root


@pytest.fixture
def shop(baseline: Path, tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(baseline, root)
    write_shop(root, EVOLVING, more=EVOLVE)
    return root


def late_effects(root: Path, journal: Journal, head: Head) -> Effects:
    target = opened(root).target
    assert journal.record is not None
    assert head.published is not None
    program = read_snapshot(target, "shop", journal.record).program
    builder = Builder("late", lambda: 0.0, {})
    engine = RecordingEngine(DeltaWriter())
    return Effects(engine, target.warehouse, journal, builds_of(journal, program, head.published.relations, {}), builder)


def took_over_and_went_on(root: Path, engine: RecordingEngine | None = None) -> dict[str, Any]:
    """Another process finishes the apply; then everything is changed back, and rows come."""
    opened(root, engine).apply()
    write_shop(root, BEFORE, more=EVOLVE)
    opened(root).apply()
    opened(root).execute("INSERT INTO gone VALUES (8), (9)")
    opened(root).execute("INSERT INTO kept VALUES (4, 4.00)")
    found = contents(root)
    assert found["gone"] == [(8,), (9,)]
    return found


def intended_of(journal: Journal, kind: str) -> JournalEntry:
    return next(e for e in journal.entries if kind == e.step.KIND and e.state is EntryState.INTENDED)


@pytest.mark.parametrize("kind", mostly_slow(KINDS, "publish_view", "drop_relation"))
def test_an_effect_that_comes_late_changes_nothing(kind: str, shop: Path) -> None:
    if kind == "clear_table":
        write_shop(shop, AFTER)
    assert kind in {step.KIND for step in opened(shop).plan().steps}
    with pytest.raises(Crash):
        opened(shop).observed(boundary=crash_at(f"{kind}:intended")).apply()
    head = stored_head(shop).value
    assert head.journal is not None
    effects, entry = late_effects(shop, head.journal, head), intended_of(head.journal, kind)

    found = took_over_and_went_on(shop)
    now = stored_head(shop)
    with suppress(RegistryConflict, EngineError):
        assert entry.intent is not None
        effects.run(entry.step, entry.intent)

    assert contents(shop) == found
    assert stored_head(shop) == now
    assert opened(shop).plan().changes_nothing
    opened(shop).execute("INSERT INTO gone VALUES (10)")
    assert stored_rows(shop, "dropped") is not None


def test_taking_back_that_comes_late_removes_nothing(shop: Path) -> None:
    class Refusing(RecordingEngine):
        def build_view(self, build: ViewBuild) -> Built:
            raise EngineError("X731", "no")

    before = contents(shop)
    dies: Callable[[str], None] = crash_at("bootstrap_view:intended")
    with pytest.raises(Crash):
        opened(shop).observed(boundary=dies).apply()
    late = stored_head(shop)
    with pytest.raises(EngineError):
        opened(shop, Refusing(DeltaWriter())).apply()
    assert contents(shop) == before
    # `fresh` and `added` come again, at the same paths.
    opened(shop).apply()
    opened(shop).execute("INSERT INTO fresh VALUES (1)")
    found = contents(shop)

    target = opened(shop).target
    assert late.value.journal is not None
    aborting = replace(late.value, journal=replace(late.value.journal, aborting=True))
    work = OpenJournal(target.registry, replace(late, value=aborting), lambda name: None)
    with pytest.raises(RegistryConflict):
        take_back(target, work, RecordingEngine(DeltaWriter()))
    assert contents(shop) == found
    assert found["fresh"] == [(1,)]


def test_a_build_that_comes_late_writes_into_a_folder_that_nobody_else_uses(shop: Path) -> None:
    """As SIGSTOP, takeover, SIGCONT: the build of the first process ends after the second one has published."""
    engine = Waiting()
    ended: list[BaseException] = []

    def late() -> None:
        try:
            opened(shop, engine).apply()
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=late)
    thread.start()
    assert engine.stopped.wait(60)
    expire_lease(shop)
    second = RecordingEngine(DeltaWriter())
    found = took_over_and_went_on(shop, second)
    now = stored_head(shop)
    engine.go_on.set()
    thread.join(60)
    assert engine.writer.latest(engine.staged[0]) == 0, "it was written by the first process only, and late"
    assert not set(engine.staged) & {call.staging for call in second.calls if isinstance(call, ViewBuild)}

    assert [type(one) for one in ended] in ([LeaseHeld], [RegistryConflict])
    assert isinstance(ended[0], ReconcileError)
    assert contents(shop) == found
    assert stored_head(shop) == now
    assert opened(shop).plan().changes_nothing


def expire_lease(root: Path) -> None:
    registry = opened(root).target.registry
    lease = registry.document("shop", Lease)
    assert lease is not None
    past = (datetime.now(UTC) - timedelta(seconds=5)).isoformat(timespec="milliseconds")
    registry.replace_document("shop", lease.token, replace(lease.value, expires=past), "expired")
