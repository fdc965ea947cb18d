"""What fails in a run holds up nobody who has no part in it: an input, an output, the registry, a view. Over real Delta
tables and the recording engine."""

import shutil
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError, RegistryError
from reconciler.engine.protocol import Available, Check, Emission, Emitted, unchecked
from reconciler.environment.session import Session
from reconciler.registry.model import Controls, Stored, Value
from reconciler.registry.protocol import Registry
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.run.step_words import describe_step_result
from reconciler.run.stepping import StepResult
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.shops.lineitem import YAML, connector, events, happened, live, make, opened, put
from tests.shops.runs import Reconcile, rows, state, status
from tests.small_disk import small_disk
from tests.waiting import wait_until


def test_a_connector_that_fails_holds_up_no_other_and_recovers_by_itself(root: Path, reconcile: Reconcile) -> None:
    shutil.move(root / "source/lineitem", root / "elsewhere")
    put(root, "log", "1.json", {"line": "hello"})
    with live(root):
        wait_until(lambda: len(rows(root, "log")) == 1)
        wait_until(lambda: connector(root, "lineitem.history").activity == "failing")
        failing = connector(root, "lineitem.history")
        assert "X710" in failing.reason
        assert failing.last_error is not None
        assert failing.last_error["code"] == "X710"
        assert failing.retry_at is not None
        assert connector(root, "lineitem.live").activity == "waiting"
        put(root, "log", "2.json", {"line": "again"})
        wait_until(lambda: len(rows(root, "log")) == 2)
        assert state(root) == "Running"
        printed = reconcile("status", "shop")
        assert "lineitem.history is failing, last at" in printed
        shutil.move(root / "elsewhere", root / "source/lineitem")
        wait_until(lambda: len(rows(root)) == 2)
        wait_until(lambda: connector(root, "lineitem.history").activity == "ended")
        reconcile("stop", "shop")
    about_it = [line for line in happened(root) if line.endswith("lineitem.history")]
    assert about_it == [
        "connector started lineitem.history",
        "connector failing lineitem.history",
        "connector recovered lineitem.history",
        "connector reached its end lineitem.history",
    ]
    # It stays known that it failed, and when; and since when it works again.
    error = connector(root, "lineitem.history").last_error
    assert error is not None
    assert f"; it recovered at {error['recovered_at']}\n" in reconcile("status", "shop")


def test_with_once_everything_else_is_done_then_the_failure_is_raised(tmp_path: Path) -> None:
    root = make(tmp_path / "shop", YAML.replace("      start_after", "      max_rejected: 0\n      start_after"))
    put(root, "log", "1.json", {"line": "hello"})
    put(root, "live", "1.json", {"id": 4, "part": "d"})
    put(root, "live", "bad.json", {"id": "no number", "part": "d"})
    with pytest.raises(EngineError) as caught:
        opened(root).run_once()
    assert caught.value.code == "X724"
    assert len(rows(root)) == 2
    assert len(rows(root, "log")) == 1
    found = status(root)
    assert found.state.value == "Failed"
    assert caught.value.code in found.detail
    assert happened(root)[-1] == "run failed"
    (root / "source/live/bad.json").unlink()
    opened(root).run_once()
    assert state(root) == "Stopped"
    assert len(rows(root)) == 3


class Unreachable:
    """A registry that can't be reached a few times, when it is asked for `fails` (controls, or a method)."""

    def __init__(self, registry: Registry, times: int, fails: str = "controls") -> None:
        self._registry = registry
        self._fails = fails
        self.times = times

    def __getattr__(self, name: str) -> Any:
        if name == self._fails:
            self._fail()
        return getattr(self._registry, name)

    def document(self, pipeline: str, kind: type[Value]) -> Stored[Value] | None:
        if kind is Controls and self._fails == "controls":
            self._fail()
        return self._registry.document(pipeline, kind)

    def _fail(self) -> None:
        if self.times > 0:
            self.times -= 1
            raise RegistryError("G602", "the registry can't be reached")


def test_a_registry_that_can_not_be_reached_holds_a_live_run_up_and_does_not_end_it(root: Path) -> None:
    engine = RecordingEngine(DeltaWriter())
    target = opened(root, engine).target
    registry, looks = Unreachable(target.registry, 0), 0
    told: list[str] = []

    def stop() -> bool:
        nonlocal looks
        looks += 1
        if looks == 3:
            registry.times = 1
        return len(rows(root, "log")) == 1

    put(root, "log", "1.json", {"line": "hello"})
    (root / "source/log/1.json").rename(root / "later")
    threading.Timer(2.0, lambda: (root / "later").rename(root / "source/log/1.json")).start()
    flaky = replace(target, registry=cast(Registry, registry))
    run_pipeline(flaky, "shop", Session(engine, tell=told.append), Pace(once=False, interval_seconds=0.1, stop=stop))
    assert any("can't be reached; trying again" in message for message in told)
    assert len(rows(root)) == 2
    assert len(rows(root, "log")) == 1
    assert state(root) == "Stopped"
    found = status(root).run
    assert found is not None
    assert found.error is None


class OneViewFails(RecordingEngine):
    """An engine whose view fails over a log with a bad line."""

    def build_view(self, build):  # type: ignore[no-untyped-def]
        for source in build.sources:
            if source.name == "log" and any(row[0] == "bad" for row in self._contents(source).rows):
                raise EngineError("X700", "the view divides by zero")
        return super().build_view(build)


class Answers(RecordingEngine):
    """Finds no file of one connector, for one reason after another; then all is well."""

    problems: ClassVar[list[EngineError]] = []

    def discover(self, connector: str, settings: JsonObject, position: JsonObject | None) -> Available | None:
        if connector == "log.lines" and self.problems:
            raise self.problems.pop(0)
        return super().discover(connector, settings, position)


def test_a_run_says_when_a_connector_fails_for_another_reason(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reconciler.run.failures.FIRST_WAIT_SECONDS", 0.01)
    engine, told = Answers(DeltaWriter()), list[str]()
    reasons = [("X714", "a.csv"), ("X714", "a.csv"), ("X714", "b.csv"), ("X713", "b.csv")]
    engine.problems = [EngineError(code, message) for code, message in reasons]
    target = opened(root, engine).target
    deadline = time.monotonic() + 30
    stop = lambda: (not engine.problems and "log.lines" in str(told[-1:])) or time.monotonic() > deadline  # noqa: E731
    put(root, "log", "1.json", {"line": "hello"})
    run_pipeline(target, "shop", Session(engine, tell=told.append), Pace(once=False, interval_seconds=0.05, stop=stop))
    assert [line for line in told if line.startswith("X7")] == ["X714: a.csv", "X714: b.csv", "X713: b.csv"]
    failing = [event.details["code"] for event in events(root) if event.event == "connector failing"]
    assert failing == ["X714", "X713"]


def test_a_connector_that_works_in_a_later_run_is_told_to_have_recovered(root: Path) -> None:
    engine = Answers(DeltaWriter())
    engine.problems = [EngineError("X714", "a.csv")]
    put(root, "log", "1.json", {"line": "hello"})
    with pytest.raises(EngineError):
        opened(root, engine).run_once()
    error = connector(root, "log.lines").last_error
    assert error is not None
    assert "recovered_at" not in error
    opened(root).run_once()
    error = connector(root, "log.lines").last_error
    assert error is not None
    assert error["recovered_at"] > error["at"]


def test_a_view_that_fails_finds_the_input_that_it_fails_over(tmp_path: Path) -> None:
    root = make(tmp_path / "shop", program=_WITH_LINES)
    put(root, "log", "1.json", {"line": "bad"})
    put(root, "live", "1.json", {"id": 3, "part": "c"})
    with pytest.raises(EngineError):
        opened(root, OneViewFails(DeltaWriter())).run_once()
    # The first step had both inputs in it.
    assert rows(root) == [(1, "a"), (2, "b"), (3, "c")]
    assert rows(root, "log") == []
    assert connector(root, "log.lines").activity == "failing"
    assert "reconcile connector skip shop log.lines --file source/log/1.json" in str(connector(root, "log.lines").last_error)
    assert connector(root, "lineitem.live").activity == "stopped"


_WITH_LINES = """\
CREATE TABLE lineitem (id BIGINT NOT NULL PRIMARY KEY, part VARCHAR);
CREATE TABLE log (line VARCHAR);
CREATE MATERIALIZED VIEW parts AS SELECT part FROM lineitem;
CREATE MATERIALIZED VIEW shouted AS SELECT line FROM log;
"""


WITH_OUTPUT = (
    YAML
    + """\
    - name: out
      view: parts
      transport: {name: file_output, config: {path: out}}
      format: {name: json}
"""
)


def test_an_output_that_fails_lags_and_catches_up_and_inputs_go_on(tmp_path: Path) -> None:
    root = make(tmp_path / "shop", WITH_OUTPUT)
    engine = RecordingEngine(DeltaWriter())
    engine.sinks.failing.add("parts.out")
    stopping = threading.Event()

    def go() -> None:
        target = opened(root, engine).target
        run_pipeline(target, "shop", Session(engine), Pace(once=False, interval_seconds=0.1, stop=stopping.is_set))

    going = threading.Thread(target=go)
    going.start()
    try:
        wait_until(lambda: connector(root, "parts.out").activity == "failing")
        put(root, "live", "1.json", {"id": 3, "part": "c"})
        wait_until(lambda: len(rows(root)) == 3)
        assert engine.sinks.messages == {}
        engine.sinks.failing.clear()
        wait_until(lambda: connector(root, "parts.out").activity == "running")
        put(root, "live", "2.json", {"id": 4, "part": "d"})
        wait_until(lambda: len(rows(root)) == 4)
    finally:
        stopping.set()
        going.join(60)
    assert not going.is_alive()
    # What the view holds is a digest of all that it reads: each version replaces the one before.
    sent = [row for message in engine.sinks.messages["parts.out"] for row in message.inserted]
    gone = [row for message in engine.sinks.messages["parts.out"] for row in message.deleted]
    assert set(sent) - set(gone) == set(rows(root, "parts"))
    about_it = [line for line in happened(root) if line.endswith("parts.out")]
    assert about_it[:3] == ["connector failing parts.out", "connector recovered parts.out", "emission parts.out"]
    found = connector(root, "parts.out")
    assert (found.inserted, found.deleted) == (len(sent), len(gone))


class AfterAnEmission(RecordingEngine):
    """After its first emission, the registry takes nothing once."""

    registry: Unreachable | None = None

    def emit(self, emission: Emission, check: Check = unchecked) -> Emitted:
        if self.registry is not None and not self.sinks.messages:
            self.registry.times = 1
        return super().emit(emission, check)


def test_what_was_sent_before_the_registry_was_lost_is_neither_sent_nor_counted_again(tmp_path: Path) -> None:
    """That it was sent is written with the next commit; until then only the run knows."""
    root = make(tmp_path / "shop", WITH_OUTPUT)
    engine, told = AfterAnEmission(DeltaWriter()), list[str]()
    target = opened(root, engine).target
    engine.registry = Unreachable(target.registry, 0, "replace_head")
    flaky = replace(target, registry=cast(Registry, engine.registry))
    deadline = time.monotonic() + 60

    def stop() -> bool:
        went_on = any("trying again" in line for line in told) and connector(root, "lineitem.history").complete
        return went_on or time.monotonic() > deadline

    run_pipeline(flaky, "shop", Session(engine, told.append), Pace(once=False, interval_seconds=0.1, stop=stop))

    assert any("can't be reached; trying again" in line for line in told)
    assert time.monotonic() < deadline
    messages = engine.sinks.messages["parts.out"]
    assert len({message.serial for message in messages}) == len(messages)
    found = connector(root, "parts.out")
    assert (found.inserted, found.deleted) == (
        sum(len(message.inserted) for message in messages),
        sum(len(message.deleted) for message in messages),
    )
    assert found.position == {"pending": False, "sent_version": 1}


def test_a_paused_output_lags_and_catches_up(tmp_path: Path) -> None:
    root = make(tmp_path / "shop", WITH_OUTPUT)
    engine = RecordingEngine(DeltaWriter())
    opened(root).pause_connector("out")
    opened(root, engine).run_once()
    assert engine.sinks.messages == {}
    found = connector(root, "parts.out")
    assert (found.activity, found.position) == ("paused", {"pending": True, "sent_version": None})
    opened(root).resume_connector("parts.out")
    opened(root, engine).run_once()
    # What was pinned when it was paused, then all that came since as one.
    assert len(engine.sinks.messages["parts.out"]) == 2
    assert connector(root, "parts.out").position == {"pending": False, "sent_version": 1}


def test_a_run_on_a_full_disk_waits_for_longer_than_its_lease_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says is what the system said, and nothing of what libraries panic over."""
    monkeypatch.setenv("RECONCILE_LEASE_SECONDS", "2")
    with small_disk(tmp_path / "disk", "8m") as disk:
        root = make(disk.root / "shop")
        (tmp_path / "1.json").write_text('{"line": "a"}\n')
        with live(root) as process:
            wait_until(lambda: connector(root, "lineitem.history").complete)
            disk.fill()
            # There, a file takes no room.
            (root / "source/log/1.json").symlink_to(tmp_path / "1.json")
            told = ""
            assert process.stderr is not None
            while "trying again" not in told:
                line = process.stderr.readline()
                assert line, told
                told += line
            time.sleep(4)
            assert "G603" in told
            assert "No space left on device" in told
            assert "G604" not in told
            assert "panicked" not in told
            assert process.poll() is None
            assert rows(root, "log") == []
            disk.make_room()
            wait_until(lambda: len(rows(root, "log")) == 1)
            process.send_signal(signal.SIGTERM)
            _, rest = process.communicate(timeout=60)
            assert "panicked" not in rest
            assert process.returncode == 0, rest
        assert state(root) == "Stopped"


def test_a_run_that_is_told_to_stop_on_a_full_disk_ends(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "8m") as disk:
        root = make(disk.root / "shop")
        with live(root) as process:
            wait_until(lambda: connector(root, "lineitem.history").complete)
            disk.fill()
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=60)
            assert "panicked" not in told
            assert "can't take" not in told
        disk.make_room()
        opened(root).run_once()
        assert state(root) == "Stopped"


@pytest.mark.parametrize(("count", "told"), [(1, "1 delete that found no row"), (2, "2 deletes that found no row")])
def test_deletes_are_counted_in_words_that_fit(count: int, told: str) -> None:
    result = StepResult(3, {"t.live": 4}, (), unmatched={"t.live": count})
    assert f"4 rows ({told})" in describe_step_result("shop", result)
