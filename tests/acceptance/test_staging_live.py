"""Staging and promoting beside a live run, by the command line over real Delta tables, with the recording engine: the run
goes on with what is in force, hands over for a moment, and goes on with what was promoted."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reconciler import Project
from reconciler.engine.protocol import ViewBuild
from reconciler.environment.session import Session
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import stored_rows
from tests.acceptance.versioned_shop import READS, VersionedShop, once_at
from tests.engine.delta_writer import DeltaWriter
from tests.waiting import wait_until

INPUT = """\
  connectors:
    - name: c
      table: orders
      transport: {name: file_input, config: {path: source}}
      format: {name: json}
"""


def program(query: str) -> str:
    total = f"CREATE MATERIALIZED VIEW total AS SELECT {query} AS total FROM orders;\n"
    return "CREATE TABLE orders (id BIGINT, price INT);\nCREATE TABLE apart (id BIGINT);\n" + total


FIRST, SECOND = program("SUM(price)"), program("MAX(price)")


class Shop(VersionedShop):
    """See VersionedShop; it reads files from a folder."""

    settings = READS + INPUT

    def put(self, number: int) -> None:
        path = self.root / "source" / f"{number}.json"
        path.with_suffix(".tmp").write_text(f'{{"id": {number}, "price": {number * 10}}}\n')
        path.with_suffix(".tmp").rename(path)

    def orders(self) -> int:
        return len(stored_rows(self.root, "orders") or [])

    def step(self) -> int:
        published = self.head().published
        assert published is not None
        return published.step

    @contextmanager
    def running(self) -> Iterator[list[str]]:
        """A live run, in a thread and with an engine of its own; what it tells."""
        stopping, told = threading.Event(), list[str]()
        target = Project.open(self.root).target
        running = Session(RecordingEngine(DeltaWriter()), tell=told.append)
        going = threading.Thread(
            target=lambda: run_pipeline(
                target, "shop", running, Pace(once=False, interval_seconds=0.1, stop=stopping.is_set)
            )
        )
        going.start()
        try:
            yield told
            assert going.is_alive(), told
        finally:
            stopping.set()
            going.join(60)
        assert not going.is_alive()


@pytest.fixture
def shop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    """The first program, applied, with a row to read."""
    shop = Shop(tmp_path, capsys)
    (tmp_path / "source").mkdir()
    shop.write(FIRST)
    shop("apply", "shop")
    shop.put(1)
    shop.built()
    return shop


def ingested(shop: Shop, number: int) -> None:
    """A further row is in the table, and published."""
    before = shop.step()
    shop.put(number)
    wait_until(lambda: shop.orders() == number and shop.step() > before)


def test_a_run_goes_on_with_what_is_in_force_until_the_other_is_promoted(shop: Shop) -> None:
    with shop.running():
        wait_until(lambda: shop.step() == 1)
        shop.write(SECOND)
        said = shop("apply", "shop", "--no-promote")
        assert "staged: total@v1" in said
        assert sorted(shop.built()) == ["total"]
        serving = stored_rows(shop.root, "total")
        ingested(shop, 2)
        # What serves moves, what is staged does not.
        assert stored_rows(shop.root, "total") != serving
        staged = shop.head().staged
        assert staged is not None
        assert f"total@v1 as of step {staged.step}" in shop("query", "shop", "SELECT * FROM total@v1")
        assert shop.states() == {"v1": "staged", "v0": "active"}
        # Its rows were read since then, and so it is computed again, beside the run.
        said = shop("promote", "total@v1")
        assert "recomputed" in said
        assert shop.states() == {"v1": "active", "v0": ""}
        ingested(shop, 3)
        assert shop.states() == {"v1": "active", "v0": ""}
    assert "MAX(price)" in shop("versions", "show", "total")
    assert shop.head().staged is None
    assert "no changes" in shop("plan", "shop")
    # As if it had been computed from nothing.
    after = stored_rows(shop.root, "total")
    shop("rollback", "total@v0")
    shop("rollback", "--end", "total")
    assert stored_rows(shop.root, "total") == after


def test_where_nothing_moves_a_promotion_beside_a_run_computes_nothing(shop: Shop) -> None:
    with shop.running():
        wait_until(lambda: shop.step() == 1)
        shop.write(SECOND)
        shop("apply", "shop", "--no-promote")
        shop.built()
        said = shop("promote", "total@v1")
        assert "as staged at step" in said
        assert "nothing computed" in said
        assert shop.built() == []
        ingested(shop, 2)
    assert shop.states() == {"v1": "active", "v0": ""}


def test_a_plain_apply_beside_a_run_promotes_as_well(shop: Shop) -> None:
    with shop.running():
        wait_until(lambda: shop.step() == 1)
        shop.write(SECOND)
        shop("apply", "shop", "--no-promote")
        shop.built()
        assert "nothing computed" in shop("apply", "shop")
        assert shop.built() == []
        ingested(shop, 2)
    assert shop.states() == {"v1": "active", "v0": ""}


def test_dropping_it_beside_a_run_leaves_the_run_as_it_was(shop: Shop) -> None:
    with shop.running():
        wait_until(lambda: shop.step() == 1)
        shop.write(SECOND)
        shop("apply", "shop", "--no-promote")
        assert "dropped: total@v1" in shop("unstage", "total@v1")
        ingested(shop, 2)
        assert shop.states() == {"v1": "", "v0": "active"}
    assert shop.head().staged is None


class Slow(RecordingEngine):
    """The recording engine, whose views are computed only once it is told to go on."""

    def __init__(self) -> None:
        super().__init__(DeltaWriter())
        self.begun, self.go_on = threading.Event(), threading.Event()

    def build_view(self, build: ViewBuild) -> Any:
        self.begun.set()
        assert self.go_on.wait(60)
        return super().build_view(build)


def test_steps_go_on_while_a_version_is_built_and_it_is_of_the_step_at_which_that_began(shop: Shop) -> None:
    with shop.running():
        wait_until(lambda: shop.step() == 1)
        shop.write(SECOND)
        began, slow = shop.step(), Slow()
        staging = threading.Thread(target=lambda: Project.open(shop.root, engine=slow).pipeline("shop").stage())
        staging.start()
        assert slow.begun.wait(60)
        ingested(shop, 2)
        ingested(shop, 3)
        slow.go_on.set()
        staging.join(60)
        assert not staging.is_alive()
        staged = shop.head().staged
        assert staged is not None
        assert staged.step == began
        ingested(shop, 4)
    assert shop.states() == {"v1": "staged", "v0": "active"}


@pytest.mark.parametrize("point", ["stage:intended", "stage:recorded"])
def test_who_dies_while_staging_leaves_the_run_going(shop: Shop, point: str) -> None:
    from reconciler.testing.crashes import Crash, crash_at

    with shop.running():
        wait_until(lambda: shop.step() == 1)
        shop.write(SECOND)
        with pytest.raises(Crash):
            Project.open(shop.root, engine=RecordingEngine(DeltaWriter())).pipeline("shop").observed(
                boundary=crash_at(point)
            ).stage()
        ingested(shop, 2)
        shop("apply", "shop", "--no-promote")
        assert shop.states() == {"v1": "staged", "v0": "active"}
        shop("promote", "total@v1")
        ingested(shop, 3)
    assert shop.states() == {"v1": "active", "v0": ""}


@pytest.mark.parametrize("point", ["open:before", "bootstrap_view:effected", "publish_view:before"])
def test_a_step_between_promoting_s_parts_is_part_of_what_is_promoted(shop: Shop, point: str) -> None:
    """A run that is live takes no step while an apply has the pipeline; whatever is put meanwhile is read after it."""
    with shop.running():
        wait_until(lambda: shop.step() == 1)
        shop.write(SECOND)
        shop("apply", "shop", "--no-promote")
        boundary = once_at(point, lambda: shop.put(2))
        Project.open(shop.root, engine=RecordingEngine(DeltaWriter())).pipeline("shop").observed(boundary=boundary).promote()
        wait_until(lambda: shop.orders() == 2)
        ingested(shop, 3)
    assert shop.states() == {"v1": "active", "v0": ""}
    after = stored_rows(shop.root, "total")
    shop("rollback", "total@v0")
    shop("rollback", "--end", "total")
    assert stored_rows(shop.root, "total") == after
