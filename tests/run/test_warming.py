"""A live run asks for its views once before it takes the pipeline, over the recording engine; what it asks warms Spark."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError, LeaseHeld
from reconciler.engine.protocol import Rows, Selection
from reconciler.run import warming
from reconciler.service.pipeline import Pipeline
from reconciler.state.lease import hold_lease, this_process
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.shops.lineitem import make, opened, put
from tests.shops.runs import rows
from tests.waiting import wait_until

VIEWS = """\
CREATE TABLE lineitem (id BIGINT NOT NULL PRIMARY KEY, part VARCHAR);
CREATE TABLE log (line VARCHAR);
CREATE MATERIALIZED VIEW parts AS SELECT part FROM lineitem;
CREATE VIEW short AS SELECT part FROM parts;
CREATE MATERIALIZED VIEW shorter AS SELECT part FROM short;
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make(tmp_path, program=VIEWS)


@contextmanager
def running(pipeline: Pipeline) -> Iterator[None]:
    stopping = threading.Event()
    thread = threading.Thread(target=lambda: pipeline.run(interval_seconds=0.05, stop=stopping.is_set))
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(60)


def asked(engine: RecordingEngine) -> list[str]:
    return [one.sql for one in engine.calls if isinstance(one, Selection)]


def live(root: Path, engine: RecordingEngine) -> list[str]:
    """What a live run asks that reads its input and stops."""
    with running(opened(root, engine)):
        wait_until(lambda: len(rows(root)) == 2)
    return asked(engine)


def test_each_stored_view_is_asked_for_once_before_the_first_step(shop: Path) -> None:
    engine = RecordingEngine(DeltaWriter())
    assert [sql.split() for sql in live(shop, engine)] == [
        ["SELECT", "*", "FROM", "(", "SELECT", "part", "FROM", "lineitem", ")", "LIMIT", "100"],
        ["SELECT", "*", "FROM", "(", "SELECT", "part", "FROM", "short", ")", "LIMIT", "100"],
    ]
    first_write = next(at for at, call in enumerate(engine.calls) if not isinstance(call, (Selection, tuple)))
    assert all(at < first_write for at, call in enumerate(engine.calls) if isinstance(call, Selection))


def test_a_run_that_ends_by_itself_asks_for_nothing(shop: Path) -> None:
    engine = RecordingEngine(DeltaWriter())
    opened(shop, engine).run_once()
    assert asked(engine) == []


def test_views_over_much_are_left_cold(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(shop).run_once()
    monkeypatch.setattr(warming, "MOST_BYTES", 1)
    assert live(shop, RecordingEngine(DeltaWriter())) == []


def test_no_more_is_asked_than_there_is_time_for(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "_MOST_SECONDS", 0.0)
    assert len(live(shop, RecordingEngine(DeltaWriter()))) == 1


def test_a_paused_pipeline_stays_cold(shop: Path) -> None:
    pipeline, engine = opened(shop), RecordingEngine(DeltaWriter())
    pipeline.pause()
    with running(opened(shop, engine)):
        wait_until(pipeline.is_live)
    assert asked(engine) == []


def test_while_somebody_else_has_the_pipeline_nothing_is_asked(shop: Path) -> None:
    pipeline, engine = opened(shop), RecordingEngine(DeltaWriter())
    holder = replace(this_process("apply"), id="another")
    with hold_lease(pipeline.target.registry, "shop", holder), pytest.raises(LeaseHeld):
        opened(shop, engine).run()
    assert asked(engine) == []


def test_what_the_engine_refuses_keeps_no_run_from_its_work(shop: Path) -> None:
    class Refusing(RecordingEngine):
        def select(self, selection: Selection) -> Rows:
            super().select(selection)
            raise EngineError("X712", "division by zero")

    engine: Any = Refusing(DeltaWriter())
    put(shop, "log", "1.json", {"line": "x"})
    assert len(live(shop, engine)) == 2
