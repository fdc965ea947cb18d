"""What the impact of a plan is learnt from: measured by apply and by steps, kept in the head and in the history."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.apply.applying import apply_pipeline
from reconciler.base.errors import EngineError
from reconciler.delta.tables import statistics
from reconciler.environment.session import Session
from reconciler.registry.placements import Placement
from reconciler.registry.protocol import History
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.testing.crashes import Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter

PROGRAM = """\
CREATE TABLE t (id BIGINT, name VARCHAR) WITH ('materialized' = 'true');
CREATE TABLE u (id BIGINT) WITH ('materialized' = 'true');
CREATE VIEW both AS SELECT t.id FROM t JOIN u ON t.id = u.id;
CREATE MATERIALIZED VIEW first AS SELECT id FROM both;
"""
SECOND = "CREATE MATERIALIZED VIEW second AS SELECT t.id, t.name FROM t JOIN first ON t.id = first.id;\n"


def ticking(seconds: float) -> Iterator[float]:
    now = 0.0
    while True:
        yield now
        now += seconds


@pytest.fixture
def engine() -> RecordingEngine:
    return RecordingEngine(DeltaWriter())


@pytest.fixture
def shop(tmp_path: Path, engine: RecordingEngine) -> Pipeline:
    write_shop(tmp_path, PROGRAM)
    return Project.open(tmp_path, engine=engine).pipeline("shop")


def apply(shop: Pipeline, engine: RecordingEngine, seconds: float) -> None:
    clock = ticking(seconds)
    apply_pipeline(shop.target, "shop", Session(engine, clock=lambda: next(clock)))


def placements(shop: Pipeline) -> dict[str, Placement]:
    stored = shop.target.registry.head("shop")
    assert stored is not None
    assert stored.value.published is not None
    return dict(stored.value.published.relations)


def test_a_bootstrap_is_measured_by_the_clock_that_is_given(shop: Pipeline, engine: RecordingEngine, tmp_path: Path) -> None:
    apply(shop, engine, 2.5)
    assert (placements(shop)["first"].seconds, placements(shop)["first"].rows_read) == (2.5, 0)
    shop.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    shop.execute("INSERT INTO u VALUES (1)")
    write_shop(tmp_path, PROGRAM + SECOND)
    apply(shop, engine, 4.0)
    found = placements(shop)
    assert found["second"].seconds == 4.0
    assert found["second"].rows_read == 3 + 1, "three rows of t, one of first, which is stored"
    assert found["second"].bytes is not None
    assert (found["first"].seconds, found["first"].rows_read) == (2.5, 0), "it was not bootstrapped again"


def test_the_history_of_the_journal_has_the_figures(shop: Pipeline, engine: RecordingEngine) -> None:
    apply(shop, engine, 2.5)
    rows = shop.target.registry.history(History.JOURNAL, "shop")
    (result,) = [json.loads(row["result"]) for row in rows if json.loads(row["step"])["kind"] == "bootstrap_view"]
    assert (result["seconds"], result["rows_read"], result["rows"]) == (2.5, 0, 1)


def test_a_step_keeps_rows_and_bytes_of_what_it_writes(shop: Pipeline, engine: RecordingEngine, tmp_path: Path) -> None:
    apply(shop, engine, 2.5)
    assert placements(shop)["t"].bytes == 0
    shop.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    found = placements(shop)
    log = statistics(str(tmp_path / "warehouse/shop/t"), found["t"].version)
    assert log is not None
    assert (found["t"].rows, found["t"].bytes) == (2, log.bytes)
    assert log.bytes > 0
    assert found["u"].bytes == 0
    assert found["first"].seconds == 2.5


def test_who_finds_a_build_complete_learns_no_time_from_it(shop: Pipeline, engine: RecordingEngine) -> None:
    with pytest.raises(Crash):
        apply_pipeline(shop.target, "shop", Session(engine, boundary=crash_at("bootstrap_view:effected")))
    apply(shop, engine, 2.5)
    found = placements(shop)["first"]
    assert (found.rows, found.seconds, found.rows_read) == (1, None, 0)


def test_a_refused_apply_leaves_no_figures(shop: Pipeline, engine: RecordingEngine, tmp_path: Path) -> None:
    apply(shop, engine, 2.5)
    write_shop(tmp_path, PROGRAM.replace("SELECT id FROM both", "SELECT id + 1 AS id FROM both"))

    class Refusing(RecordingEngine):
        def build_view(self, build: object) -> object:  # type: ignore[override]
            raise EngineError("X731", "no")

    with pytest.raises(EngineError):
        apply_pipeline(shop.target, "shop", Session(Refusing(DeltaWriter())))
    assert placements(shop)["first"].seconds == 2.5
