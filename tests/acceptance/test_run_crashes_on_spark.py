"""A run on Spark with a real Kafka broker that crashes, or is killed, and is started again ends as if nothing had happened:
what `test_run_crashes` shows at every place without Spark, and what `test_run_kills` shows at thirty moments.

All of it is in the slow suite: one kill, after which it ends with what the changes say; an undisturbed run, and crashes at a
selection of places, and at the first and the last of each. All start from the same river, which is why they stand together.
"""

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from tests.acceptance.faults import Fault, Style
from tests.acceptance.river import (
    OnSpark,
    assert_settled,
    contents,
    exact_state,
    files_written,
    netted_lines,
    netted_messages,
    positions,
    spoil,
)
from tests.acceptance.test_run_crashes import BOUNDARIES, CALLS, River, Undisturbed, plain_name, some_faults
from tests.acceptance.test_run_kills import ended_by_itself

pytestmark = pytest.mark.spark

IN_HALVES = pytest.mark.parametrize("half", range(2))
"""On Spark each part begins with an undisturbed run of its own."""


class SparkRiver(River):
    """The same on Spark. The topic that is written is that of all copies: what others wrote meanwhile is not of this one."""

    def __init__(self, start: "OnSpark", root: Path) -> None:
        super().__init__(start.root, root)
        self._start = start
        self._begin = len(start.messages())

    def engine(self) -> Engine:
        return self._start.engine

    def told(self) -> dict[str, Any]:
        own = [*self._start.earlier, *self._start.messages()[self._begin :]]
        return {"totals.told": netted_messages(own), "visited.files": files_written(self.root)}


@pytest.fixture(scope="module")
def half_way(river_half_way: OnSpark, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed_on_spark(river_half_way, tmp_path_factory.mktemp("undisturbed-half-way") / "river")


def undisturbed_on_spark(start: OnSpark, root: Path) -> Undisturbed:
    one = SparkRiver(start, root)
    return left_by(one, one.run().reached)


def left_by(one: SparkRiver, reached: list[tuple[str, int]]) -> Undisturbed:
    assert_settled(one.root)
    return Undisturbed(
        contents(one.root), positions(one.root), exact_state(one.root), one.told(), one.compactions(), reached
    )


def is_what_the_changes_say(found: Undisturbed) -> None:
    """Each change counted once, each step of each output written once, and nothing left to read."""
    assert found.exact["step"] == 4
    assert [(row[0], row[1], str(row[2])) for row in found.contents["orders"]] == [
        (1, "ann", "10.00"),
        (2, "bob", "3.50"),
        (5, "bob", "1.20"),
        (6, "dan", "99.99"),
    ]
    anns = [("ann", "/"), ("ann", "/"), ("ann", "/b"), ("ann", "/new")]
    assert found.contents["clicks"] == [*anns, ("bob", "/a"), ("bob", "/new"), ("dan", "/a")]
    totals = [("ann", 1, "10.00"), ("bob", 2, "4.70"), ("dan", 1, "99.99")]
    assert [(row[0], row[1], str(row[2])) for row in found.contents["totals"]] == totals
    assert found.contents["lake"] == found.contents["totals"]
    assert len(found.contents["visited"]) == 4 + 2 * 2 + 1
    assert len(found.contents["dead letters"]) == 5
    rows = [json.dumps({"customer": name, "orders": n, "amount": float(sum)}, sort_keys=True) for name, n, sum in totals]
    assert found.sinks["totals.told"] == Counter(rows)
    netted = netted_lines(line for lines in found.sinks["visited.files"].values() for line in lines)
    assert sum(netted.values()) == len(found.contents["visited"])


@pytest.mark.slow
def test_on_spark_it_ends_with_what_the_changes_say(half_way: Undisturbed) -> None:
    assert {name for name, _ in half_way.reached} >= BOUNDARIES
    is_what_the_changes_say(half_way)


def on_spark_it_ends_the_same(fault: Fault, start: OnSpark, undisturbed: Undisturbed, tmp_path: Path) -> None:
    one = SparkRiver(start, tmp_path / plain_name(fault))
    one.run_through(fault)
    one.run()
    assert_settled(one.root)
    assert contents(one.root) == undisturbed.contents
    assert positions(one.root) == undisturbed.positions
    assert one.told()["totals.told"] == undisturbed.sinks["totals.told"]
    if fault.style is Style.LOST:
        assert netted_files(one.told()) == netted_files(undisturbed.sinks)
    else:
        # And nothing was done twice: each commit, each folder is there once.
        assert one.told() == undisturbed.sinks
        assert exact_state(one.root) == undisturbed.exact
    shutil.rmtree(one.root)


def netted_files(told: dict[str, Any]) -> Counter[str]:
    return netted_lines(line for lines in told["visited.files"].values() for line in lines)


def quick_faults(reached: Sequence[tuple[str, int]]) -> list[Fault]:
    """Those that Spark, Kafka and its transactions have most to do with."""
    count = Counter(name for name, _ in reached)
    # The outputs of a step are to a Delta table, to Kafka and to files, in this order.
    return [Fault("emit:effected", count["emit:effected"] - 1, Style.BEFORE)]


@pytest.mark.slow
def test_on_spark_a_run_ends_the_same_where_it_crashes(
    river_half_way: OnSpark, half_way: Undisturbed, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for fault in quick_faults(half_way.reached):
        with subtests.test(str(fault)):
            on_spark_it_ends_the_same(fault, river_half_way, half_way, tmp_path)


@pytest.mark.slow
@IN_HALVES
def test_on_spark_a_run_ends_the_same_wherever_it_crashes(
    half: int, river_half_way: OnSpark, half_way: Undisturbed, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for fault in some_faults(half_way.reached)[half::2]:
        with subtests.test(str(fault)):
            on_spark_it_ends_the_same(fault, river_half_way, half_way, tmp_path)


@pytest.mark.slow
@IN_HALVES
def test_on_spark_a_first_run_ends_the_same_at_whatever_boundary_it_crashes(
    half: int, river_on_spark: OnSpark, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    undisturbed = undisturbed_on_spark(river_on_spark, tmp_path / "undisturbed")
    for fault in some_faults([place for place in undisturbed.reached if place[0] not in CALLS])[half::2]:
        with subtests.test(str(fault)):
            on_spark_it_ends_the_same(fault, river_on_spark, undisturbed, tmp_path)


@pytest.mark.slow
def test_on_spark_a_step_that_is_refused_is_put_back_though_that_crashes(
    river_half_way: OnSpark, half_way: Undisturbed, tmp_path: Path
) -> None:
    one = SparkRiver(river_half_way, tmp_path / "river")
    spoil(one.root)
    one.run_through(Fault("withdrawal:intended", 1, Style.BEFORE))
    (one.root / "source/spoiled/one.json").unlink()
    one.run()
    assert_settled(one.root)
    assert one.withdrawn_steps() == 1
    assert contents(one.root) == half_way.contents
    assert positions(one.root) == half_way.positions
    assert one.told()["totals.told"] == half_way.sinks["totals.told"]
    assert netted_files(one.told()) == netted_files(half_way.sinks)


def test_a_run_that_is_killed_ends_with_what_the_changes_say(river_half_way: OnSpark, tmp_path: Path) -> None:
    """The process that is killed has a JVM of its own, and has just written something. Who goes on is this process."""
    one = SparkRiver(river_half_way, tmp_path / "river")
    assert not ended_by_itself(one.root, 2.0)
    is_what_the_changes_say(left_by(one, one.run().reached))
    # Nothing is left to read.
    assert "step:intended" not in {name for name, _ in one.run().reached}
