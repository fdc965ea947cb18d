"""A live run prunes by itself, beside its steps: what it lets go, what it keeps, dying amid it, and two at once."""

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.boundaries import Boundary, no_boundary
from reconciler.base.errors import EngineError
from reconciler.environment.session import Session
from reconciler.retention.live_pruning import LivePruning
from reconciler.retention.pruning import PruneRun
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.state.events import Event
from reconciler.testing.crashes import Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from tests.cells import mostly_slow
from tests.retention.pruning.shop import FIRST, READS, SECOND, SHORT, THIRD, Shop, files_at
from tests.retention.pruning.test_crashes import BOUNDARIES, Stubborn
from tests.waiting import wait_until


def events(shop: Shop, event: Event) -> list[dict[str, Any]]:
    return [dict(one.details) for one in shop.pipeline.events() if one.event == event]


def live(
    shop: Shop,
    until: Callable[[], bool] = lambda: False,
    days: float = 2,
    boundary: Boundary = no_boundary,
    seconds: float = 30,
) -> list[str]:
    """A run that goes on until something is so, or it has pruned; what it told."""
    told: list[str] = []
    now = datetime.now(UTC) + timedelta(days=days)
    before, limit = len(events(shop, Event.PRUNED)), time.monotonic() + seconds
    upkeep = LivePruning(
        shop.target, "shop", PruneRun(shop.engine, "Ada", told.append, boundary, lambda: now), first_seconds=0.0
    )

    def stop() -> bool:
        return until() or len(events(shop, Event.PRUNED)) > before or time.monotonic() > limit

    session = Session(shop.engine, tell=told.append)
    run_pipeline(shop.target, "shop", session, Pace(once=False, interval_seconds=0.05, stop=stop, upkeep=upkeep))
    return told


def test_a_run_prunes_by_itself_what_a_prune_would(shop: Shop) -> None:
    now = shop.rows("total")
    would = shop.prune(dry_run=True)
    told = live(shop)
    assert shop.states() == {0: "pruned", 1: "pruned", 2: "active"}
    placement = shop.head.published.relations["total"] if shop.head.published else None
    assert placement is not None
    assert shop.files() == set(files_at(shop, placement.version))
    assert shop.rows("total") == now
    (event,) = events(shop, Event.PRUNED)
    files = sum(len(folder.files) for folder in would.folders)
    assert (event["files"], event["by"]) == (files, "Ada")
    assert event["versions"] == ["dear@v0", "total@v0", "total@v1"]
    assert any(line.startswith(f"pruned 3 versions, {files} files") for line in told)
    assert events(shop, Event.HANDED_OVER) == []
    assert shop.prune().is_empty
    shop.insert(4)
    assert len(shop.rows("orders")) == 4


def test_steps_go_on_while_it_looks_and_removes(shop: Shop) -> None:
    files = shop.root / "files"
    files.mkdir()
    transport = f"{{name: file_input, config: {{path: {files}}}}}"
    connector = f"  connectors: [{{name: c, table: orders, transport: {transport}, format: {{name: json}}}}]\n"
    shop.apply(THIRD, SHORT + connector)
    before = len(shop.rows("orders"))
    done: list[int] = []

    def beside(name: str) -> None:
        # In the thread that removes, which waits for a step here: so no step waits for it.
        if name == "vacuum:before":
            number = before + len(done) + 1
            (files / f"{number}.json").write_text(f'{{"id": {number}, "price": 1}}\n')
            wait_until(lambda: len(shop.rows("orders")) == number)
            done.append(number)

    live(shop, boundary=beside)
    assert done
    assert len(shop.rows("orders")) == before + len(done)
    assert shop.read("total@v0") == "X735"


def test_where_nothing_is_declared_a_run_removes_nothing(shop: Shop) -> None:
    shop.apply(THIRD, READS)
    shop.insert(4)
    before, began = shop.files(), time.monotonic()
    live(shop, until=lambda: time.monotonic() > began + 1.5, days=30)
    assert shop.files() == before
    assert not shop.prune(days=30, dry_run=True).is_empty


def test_what_somebody_comes_to_need_while_it_looks_stays(shop: Shop) -> None:
    rows = shop.rows("total@v0")

    def before(name: str) -> None:
        if name == "prune:before":
            shop.pipeline.put_alias("total@stable", "v0")

    live(shop, boundary=before)
    assert shop.rows("total@v0") == rows
    assert shop.read("total@v1") == "X735"
    (event,) = events(shop, Event.PRUNED)
    assert event["versions"] == ["dear@v0", "total@v1"]


def test_who_let_go_of_the_pipeline_looks_again(shop: Shop) -> None:
    handed: list[str] = []

    def before(name: str) -> None:
        if name.startswith("prune"):
            handed.append(name)

    class Elsewhere(RecordingEngine):
        """Lets an insert in while it gets ready to remove, in the thread that looks."""

        def vacuum(self, vacuum: Any) -> None:
            if not vacuum.files and not handed:
                handed.append("insert")
                Shop(shop.root).insert(4)
            super().vacuum(vacuum)

    shop.engine = Elsewhere(shop.engine.writer)
    live(shop, boundary=before)
    assert handed[:2] == ["insert", "prune:before"]
    assert len(events(shop, Event.HANDED_OVER)) == 1
    assert len(shop.rows("orders")) == 4
    assert shop.read("total@v1") == "X735"


@pytest.mark.parametrize(
    "name", mostly_slow(BOUNDARIES, "prune:intended", "prune:recorded", "vacuum:effected", "prune:effected")
)
def test_a_run_that_dies_leaves_what_is_readable_or_said_to_be_pruned(shop: Shop, name: str) -> None:
    shop.apply(THIRD.replace("price INT)", "price INT, more INT)"))
    now = shop.rows("total")
    boundary, _, occurrence = name.partition("#")
    with pytest.raises(Crash):
        live(shop, boundary=crash_at(boundary, int(occurrence or 1)))

    recorded = name not in ("prune:before", "prune:intended")
    for version in ("total@v0", "total@v1", "dear@v0", "orders@v0"):
        assert shop.read(version) == ("X735" if recorded else "read")
    for step in range(5):
        assert shop.read("total", step) in ({"read", "X736"} if recorded else {"read"})
    assert shop.rows("total") == now
    if not shop.prune(dry_run=True).is_empty:
        live(shop)
    assert shop.states() == {0: "pruned", 1: "pruned", 2: "active"}
    placement = shop.head.published.relations["total"] if shop.head.published else None
    assert placement is not None
    assert shop.files() == set(files_at(shop, placement.version))
    assert shop.rows("total") == now


def test_a_prune_by_hand_meanwhile_does_no_harm(shop: Shop) -> None:
    beside: list[str] = []

    def another(name: str) -> None:
        if name == "vacuum:before" and not beside:
            beside.append(name)
            Shop(shop.root).prune()

    live(shop, boundary=another)
    assert beside
    assert shop.states() == {0: "pruned", 1: "pruned", 2: "active"}
    assert len(shop.rows("total")) == 1
    assert shop.prune().is_empty


def test_what_can_not_be_removed_is_told_once_and_the_run_goes_on(shop: Shop) -> None:
    able = shop.engine
    shop.engine = RecordingEngine(Stubborn())
    told = live(shop, until=lambda: bool(events(shop, Event.PRUNE_FAILED)))
    assert [line for line in told if line.startswith("A552") and "the run goes on" in line]
    (failed,) = events(shop, Event.PRUNE_FAILED)
    assert failed["code"] == "A552"
    assert events(shop, Event.RUN_FAILED) == []
    shop.engine = able
    live(shop)
    assert shop.prune().is_empty


@pytest.mark.parametrize("seed", mostly_slow(tuple(range(12)), 1))
def test_what_is_kept_can_be_read_and_restored(tmp_path: Path, seed: int) -> None:
    """Of a past by chance: each version with an alias, each step that stays, and each checkpoint that somebody named."""
    chance = random.Random(seed)
    shop = Shop(tmp_path)
    short = READS + f"  retention: {{versions: {chance.randint(0, 1)}, steps: {chance.choice(['0s', '1h', '30d'])}}}\n"
    programs, steps = (FIRST, SECOND, THIRD), dict[int, list[tuple[Any, ...]]]()
    checkpoints, aliases = dict[str, list[tuple[Any, ...]]](), dict[str, list[tuple[Any, ...]]]()
    shop.apply(FIRST, short)
    for number in range(1, 9):
        match chance.choice(["insert", "insert", "apply", "checkpoint", "alias", "prune"]):
            case "insert":
                shop.insert(number)
            case "apply":
                shop.apply(chance.choice(programs), short)
            case "checkpoint":
                shop.pipeline.checkpoint(f"c{number}")
                checkpoints[f"c{number}"] = shop.rows("total")
            case "alias":
                version = f"v{shop.pipeline.versions('total').found.versions.active}"
                shop.pipeline.put_alias(f"total@a{number}", version)
            case "prune":
                live(shop, days=chance.choice([0, 2, 40]), seconds=1)
        published = shop.head.published
        assert published is not None
        steps[published.step] = shop.rows("total")
    names = [one for one in range(1, 9) if shop.read(f"total@a{one}") == "read"]
    aliases = {f"total@a{one}": shop.rows(f"total@a{one}") for one in names}
    days = chance.choice([0, 2, 40])
    first = shop.prune(days=days, dry_run=True).decision.first_step
    assert first is not None
    readable = {step for step in steps if shop.read("total", step) == "read"}
    live(shop, days=days, seconds=2)
    assert {name: shop.rows(name) for name in aliases} == aliases
    kept = {step: rows for step, rows in steps.items() if step >= first and step in readable}
    assert {step: shop.rows("total", step) for step in kept} == kept
    for name, rows in checkpoints.items():
        try:
            shop.pipeline.restore(name)
        except EngineError as error:
            raise AssertionError(f"{name} is kept, and can't be restored: {error.message}") from error
        assert shop.rows("total") == rows
