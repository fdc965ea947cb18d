"""Pipelines that read each other's views, one behind the other: what a change of the first is to the last, and how long it
takes to tell."""

import time

import pytest

from reconciler.apply.planning import plan_pipeline
from reconciler.plan.model import Origin
from tests.pace import at_usual_pace
from tests.shops.two_pipelines import Pair, two_pipelines

VIEWS = range(12)
SECONDS = 4.0
"""Of CPU. It takes half a second on a machine that does nothing else; half a minute with a comparison for each view."""


def first(added: int) -> str:
    views = (f"CREATE MATERIALIZED VIEW v{one} AS SELECT id, x + {added} AS x FROM t;\n" for one in VIEWS)
    return "".join(("CREATE TABLE t (id BIGINT, x INT);\n", *views))


def reader(read: str) -> str:
    return "".join(f"CREATE MATERIALIZED VIEW v{one} AS SELECT id, x FROM {read}.v{one};\n" for one in VIEWS)


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Pair, dict[str, str | None]]:
    """Four pipelines, applied: `a`, which is read by `b`, and so on; with what is applied of each. Tests write `a` anew."""
    pair = two_pipelines(tmp_path_factory.mktemp("chain"))
    pair.write("a", first(1))
    for read, name in (("a", "b"), ("b", "c"), ("c", "d")):
        pair.write(name, reader(read))
    pair.apply("a", "b", "c", "d")
    applied = {name: pair.head(name).applied for name in "abc"}
    return pair, {name: one.record if one is not None else None for name, one in applied.items()}


def test_each_pipeline_on_the_way_is_compared_once(chain: tuple[Pair, dict[str, str | None]]) -> None:
    pair, records = chain
    pair.write("a", first(2))
    began = time.process_time()
    plan = plan_pipeline(pair.project.target, "d")
    assert at_usual_pace(time.process_time() - began) < SECONDS
    assert [one.name for one in plan.diff.relations] == sorted(f"v{one}" for one in VIEWS)
    assert plan.origins == tuple(Origin(name, record or "") for name, record in sorted(records.items()))


def test_one_of_many_views_is_told_by_its_own_way(chain: tuple[Pair, dict[str, str | None]]) -> None:
    pair, _ = chain
    pair.write("a", first(1).replace("x + 1 AS x FROM t;", "x + 2 AS x FROM t;", 1))
    plan = plan_pipeline(pair.project.target, "d")
    assert [one.name for one in plan.diff.relations] == ["v0"]
