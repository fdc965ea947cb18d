"""What is told from histories that grow with each step is told by reading few of their rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.declarations import ConnectorDeclaration
from reconciler.base.errors import NotFound
from reconciler.connectors.transport import Direction
from reconciler.environment.target import open_target
from reconciler.project.program.model import Connector
from reconciler.registry.model import Applied, Approval, Head, OutputState, Published
from reconciler.registry.placements import Placement
from reconciler.registry.protocol import History
from reconciler.run.lagging import lagging_steps
from reconciler.state.checkpoints import list_checkpoints, write_checkpoint
from reconciler.state.events import Event, EventLog, read_events
from reconciler.state.step_history import ToldOfStep, read_step, record_step, record_withdrawal, removed_since, step_at
from reconciler.testing.memory import MemoryRegistry
from tests.shops.recorded import write_project

LAST = 1500
WITHDRAWN = {3, 700, 1101, 1102, 1499}
"""700 would have held everything."""
MADE_ANEW = 1250
"""With this apply the folder of `t` was removed and made anew."""


class Counting(MemoryRegistry):
    """Knows how many rows were read of the histories of steps and events."""

    read = 0

    def last_rows(self, *arguments: Any, **equal: Any) -> tuple[Mapping[str, Any], ...]:
        found = super().last_rows(*arguments, **equal)
        self.read += len(found)
        return found

    def history(self, history: History, pipeline: str, **equal: str) -> tuple[Mapping[str, Any], ...]:
        found = super().history(history, pipeline, **equal)
        self.read += len(found)
        return found

    @contextmanager
    def reading_at_most(self, rows: int) -> Iterator[None]:
        before = self.read
        yield
        assert self.read - before <= rows


def head_at(step: int) -> Head:
    """`t` moves with each tenth step, `v` with each; `u` stands still."""
    table = step // 10 if step < MADE_ANEW else (step - MADE_ANEW) // 10
    relations = {"t": Placement("shop/t", table), "u": Placement("shop/u", 0), "v": Placement("shop/v", step)}
    moment = datetime.fromtimestamp(1_000_000 + step, UTC).isoformat(timespec="milliseconds")
    applied = Applied("d", "r", "", "", "", "", "", Approval("first"), "", "")
    return Head("shop", applied=applied, published=Published(step, moment, relations), last_step=step)


@pytest.fixture(scope="module")
def shop() -> Counting:
    registry, before = Counting(), Head("shop")
    for step in range(LAST + 1):
        record_step(registry, before, head_at(step), ToldOfStep("apply" if step in (0, 4, MADE_ANEW) else "ingest"))
        if step in WITHDRAWN:
            record_withdrawal(registry, before, step)
        else:
            before = head_at(step)
    return registry


HEAD = head_at(LAST)


@pytest.mark.parametrize("step", [0, 1, 2, 4, 5, 99, 100, 101, 699, 701, 799, 1100, 1103, 1249, 1250, 1251, 1498, 1500])
def test_a_step_is_read_from_its_surroundings(shop: Counting, step: int) -> None:
    # At most two portions, and afterwards only those that hold everything.
    with shop.reading_at_most(1000):
        state = read_step(shop, HEAD, step)
    published = head_at(step).published
    assert published is not None
    assert state.relations == published.relations
    assert state.gone == (frozenset({"t"}) if step < MADE_ANEW and state.relations["t"].version else frozenset())


def test_a_step_that_was_withdrawn_is_told(shop: Counting) -> None:
    for step in sorted(WITHDRAWN):
        with pytest.raises(NotFound, match="withdrawn"):
            read_step(shop, HEAD, step)


def test_a_folder_that_was_made_anew_is_gone_for_those_before(shop: Counting) -> None:
    with shop.reading_at_most(LAST // 100 + 10):
        places = {"t": Placement("shop/t", 3), "u": Placement("shop/u", 0), "w": Placement("shop/w", 0)}
        assert removed_since(shop, HEAD, 30, places) == {"t", "w"}
        assert removed_since(shop, HEAD, MADE_ANEW + 30, places) == {"w"}
        assert removed_since(shop, HEAD, LAST, {"u": places["u"]}) == frozenset()


@pytest.mark.parametrize("step", [0, 1, 2, 700, 1250, 1499])
def test_a_time_leads_to_its_step(shop: Counting, step: int) -> None:
    found = step_at(shop, HEAD, datetime.fromtimestamp(1_000_000.5 + step, UTC))
    assert found == (step if step not in WITHDRAWN else step - 1)


@pytest.mark.parametrize(("sent", "rows"), [(1498, 200), (1450, 200), (1390, 200), (1240, 1000), (650, 1000), (10, 1501)])
def test_a_lag_is_counted_back_to_where_it_began(shop: Counting, sent: int, rows: int) -> None:
    output = Connector(ConnectorDeclaration("v", "told", 0, {}), "told", Direction.OUTPUT)
    head = replace(HEAD, outputs={"v.told": OutputState(sent=sent)})
    with shop.reading_at_most(rows + len(WITHDRAWN)):
        assert lagging_steps(shop, head, output) == LAST - sent - len([one for one in WITHDRAWN if one > sent])


def test_a_lag_goes_on_over_another_name_and_not_over_another_folder(shop: Counting) -> None:
    published = HEAD.published
    assert published is not None
    output = Connector(ConnectorDeclaration("renamed", "told", 0, {}), "told", Direction.OUTPUT)
    for folder, lag in (("shop/v", 49), ("shop/elsewhere", None)):
        relations = {"renamed": Placement(folder, LAST + 1)}
        after = replace(HEAD, published=replace(published, relations=relations))
        head = replace(after, outputs={"renamed.told": OutputState(sent=1450)})
        with shop.reading_at_most(250):
            assert lagging_steps(shop, head, output) == lag


def test_checkpoints_of_one_name_hide_no_others(tmp_path: Path) -> None:
    write_project(tmp_path)
    target = replace(open_target(tmp_path, None), registry=Counting())
    for number in range(30):
        write_checkpoint(target, HEAD, f"early-{number}", "named")
    for _ in range(150):
        write_checkpoint(target, HEAD, "again", "named")
    assert [one.name for one in list_checkpoints(target, "shop")] == [*(f"early-{number}" for number in range(30)), "again"]


def test_the_last_events_are_read_without_the_others() -> None:
    registry = Counting()
    log = EventLog(registry, "shop")
    for step in range(300):
        log.record(next(iter(Event)), "shop", step)
    with registry.reading_at_most(20):
        assert [one.step for one in read_events(registry, "shop", 20)] == list(range(280, 300))
    assert [one.step for one in read_events(registry, "shop")] == list(range(300))
    assert read_events(registry, "another", 20) == ()
    assert len(registry.history(History.EVENTS, "shop")) == 300
