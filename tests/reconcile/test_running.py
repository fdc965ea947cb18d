"""Runs, as others see them: history and live in order, pauses, stops (asked and by force), failures that hold up nobody, the
event log and the report. Over real Delta tables and the recording engine; live runs are processes of their own."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from reconciler.cli.main import run
from reconciler.cli.prometheus import METRICS
from reconciler.engine.recording import RecordingEngine
from reconciler.errors import EngineError, LeaseHeld, RegistryError
from reconciler.reconcile.running import Running, run_pipeline
from reconciler.reconcile.status import PipelineStatus
from reconciler.reconcile.stopping import live_run, stop_run
from reconciler.registry.model import Wish
from reconciler.registry.protocol import Registry
from tests.acceptance.shop import stored_rows
from tests.engine.delta_writer import DeltaWriter
from tests.reconcile.lineitem import YAML, connector, events, happened, live, make, opened, put, wait_until

Reconcile = Callable[..., str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path / "shop")


@pytest.fixture
def reconcile(root: Path, capsys: pytest.CaptureFixture[str]) -> Reconcile:
    """A command on the repository; what it printed. Fails when the command does."""

    def call(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        assert run([*arguments, "--repo", str(root)]) == code, capsys.readouterr().err
        printed = capsys.readouterr()
        return printed.out + printed.err if code else printed.out

    return call


def status(root: Path) -> PipelineStatus:
    return opened(root).status()


def state(root: Path) -> str:
    return status(root).state.value


def rows(root: Path, relation: str = "lineitem") -> list[tuple[object, ...]]:
    return stored_rows(root, relation) or []


# The order of things.


def test_history_first_then_live_and_the_event_log_shows_it(root: Path) -> None:
    put(root, "live", "1.json", {"id": 2, "part": "newer"}, {"id": 3, "part": "c"})
    put(root, "log", "1.json", {"line": "hello"})
    opened(root).run_once()
    assert rows(root) == [(1, "a"), (2, "newer"), (3, "c")]
    assert happened(root) == [
        "apply switched",
        "run started",
        "connector started lineitem.history",
        "connector started log.lines",
        "step published",
        "connector reached its end lineitem.history",
        "connector started lineitem.live",
        "step published",
        "checkpoint",
        "run stopped",
    ]
    published = [event.details["rows"] for event in events(root) if event.event == "step published"]
    assert published == [{"lineitem.history": 2, "log.lines": 1}, {"lineitem.live": 2}]
    times = [event.at for event in events(root)]
    assert times == sorted(set(times))


def test_an_input_that_has_ended_is_not_looked_at_again(root: Path) -> None:
    opened(root).run_once()
    engine = RecordingEngine(DeltaWriter())
    put(root, "live", "1.json", {"id": 3, "part": "c"})
    opened(root, engine).run_once()
    asked = {call[1] for call in engine.calls if isinstance(call, tuple) and call[0] == "discover"}
    assert asked == {"lineitem.live", "log.lines"}
    history = connector(root, "lineitem.history")
    assert (history.activity, history.complete) == ("ended", True)


def test_an_idle_run_writes_nothing_and_asks_the_engine_for_nothing_but_what_is_new(root: Path) -> None:
    opened(root).run_once()
    registry = opened(root)._project.target.registry
    engine, looks = RecordingEngine(DeltaWriter()), 0
    tokens = []

    def stop() -> bool:
        nonlocal looks
        looks += 1
        tokens.append(registry.head("shop"))
        return looks > 40

    target = opened(root, engine)._project.target
    run_pipeline(target, "shop", Running(engine), once=False, interval_seconds=0.05, stop=stop)
    assert {call[0] for call in engine.calls if isinstance(call, tuple)} == {"discover"}
    assert len({stored.token for stored in tokens if stored}) == 1


def test_checkpoints_are_written_at_intervals_and_when_a_run_stops_but_only_after_a_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make(tmp_path / "shop", YAML + "  runtime: {checkpoint_interval: 1s}\n")
    causes = lambda: [event.details["cause"] for event in events(root) if event.event == "checkpoint"]  # noqa: E731
    with live(root):
        wait_until(lambda: causes() == ["periodic"])
        time.sleep(1.5)
        assert causes() == ["periodic"]
        put(root, "log", "1.json", {"line": "hello"})
        wait_until(lambda: len(rows(root, "log")) == 1)
        assert run(["stop", "shop", "--repo", str(root)]) == 0
    assert causes() in (["periodic", "stop"], ["periodic", "periodic"])
    assert "shop is stopped" in capsys.readouterr().out


# What people want.


def test_pause_and_resume_of_a_connector_hold_over_restarts(root: Path, reconcile: Reconcile) -> None:
    put(root, "live", "1.json", {"id": 3, "part": "c"})
    assert "lineitem.live is paused" in reconcile("connector", "pause", "shop", "live")
    for _ in range(2):
        opened(root).run_once()
        # Its label was reached, and it is paused all the same.
        assert connector(root, "lineitem.history").complete
        assert connector(root, "lineitem.live").activity == "paused"
        assert len(rows(root)) == 2
    reconcile("connector", "resume", "shop", "LINEITEM.LIVE")
    opened(root).run_once()
    assert len(rows(root)) == 3
    assert [line for line in happened(root) if line.endswith("lineitem.live")] == [
        "connector paused lineitem.live",
        "connector resumed lineitem.live",
    ]


def test_a_connector_that_nobody_knows_is_an_error_with_a_suggestion(root: Path, reconcile: Reconcile) -> None:
    said = reconcile("connector", "pause", "shop", "lineitem.liv", code=1)
    assert "A511" in said
    assert "did you mean 'lineitem.live'?" in said


def test_seek_reads_again_and_is_in_the_event_log(root: Path, reconcile: Reconcile) -> None:
    put(root, "log", "1.json", {"line": "hello"})
    opened(root).run_once()
    assert len(rows(root, "log")) == 1
    assert "reads on from earliest, now" in reconcile("connector", "seek", "shop", "lines", "--to", "earliest")
    assert connector(root, "log.lines").position is None
    opened(root).run_once()
    assert len(rows(root, "log")) == 2
    sought = next(event for event in events(root) if event.event == "connector put at a position")
    assert sought.subject == "log.lines"
    assert sought.details["to"] == "earliest"
    assert sought.details["by"]
    assert sought.details["from"]["files"]
    assert "A512" in reconcile("connector", "seek", "shop", "lines", "--to", "latest", code=1)


def test_a_live_run_seeks_between_two_steps(root: Path, reconcile: Reconcile) -> None:
    put(root, "log", "1.json", {"line": "hello"})
    with live(root):
        wait_until(lambda: len(rows(root, "log")) == 1)
        assert "live run" in reconcile("connector", "seek", "shop", "lines", "--to", "earliest")
        wait_until(lambda: len(rows(root, "log")) == 2)
        reconcile("stop", "shop")
    assert "connector put at a position log.lines" in happened(root)


def test_a_paused_pipeline_takes_no_input_until_it_is_resumed_over_restarts(root: Path, reconcile: Reconcile) -> None:
    assert "will start paused" in reconcile("pause", "shop")
    assert "paused" in status(root).detail
    with live(root):
        wait_until(lambda: state(root) == "Paused")
        assert rows(root) == []
        assert "goes on" in reconcile("resume", "shop")
        wait_until(lambda: len(rows(root)) == 2)
        assert state(root) == "Running"
        assert "pauses after the step" in reconcile("pause", "shop")
        wait_until(lambda: state(root) == "Paused")
        put(root, "log", "1.json", {"line": "hello"})
        assert "shop is stopped" in reconcile("stop", "shop")
    assert rows(root, "log") == []
    assert status(root).wish == Wish.RUN.value
    assert [line for line in happened(root) if line in ("paused", "resumed")] == ["resumed", "paused"]
    assert "is not paused" in reconcile("resume", "shop")


def test_stop_waits_until_the_step_is_done_and_the_next_run_starts_as_usual(root: Path, reconcile: Reconcile) -> None:
    assert "nothing to stop" in reconcile("stop", "shop")
    with live(root) as process:
        wait_until(lambda: len(rows(root)) == 2)
        (root / "hold").touch()
        (root / "reading").unlink()
        put(root, "live", "1.json", {"id": 3, "part": "c"})
        wait_until((root / "reading").exists)
        asked = subprocess.Popen([sys.executable, "-c", _MAIN, "stop", "shop", "--repo", str(root)])
        try:
            wait_until(lambda: state(root) == "Stopping")
            time.sleep(0.5)
            assert asked.poll() is None
            (root / "hold").unlink()
            assert asked.wait(30) == 0
        finally:
            asked.kill()
            asked.wait()
        assert process.wait(30) == 0
    assert len(rows(root)) == 3
    assert state(root) == "Stopped"
    assert happened(root)[-1] == "run stopped"
    with live(root):
        wait_until(lambda: state(root) == "Running")
        reconcile("stop", "shop")


_MAIN = "from reconciler.cli.main import main; main()"


@pytest.mark.parametrize("suspended", [False, True])
def test_stop_by_force_drops_the_step_and_the_next_run_replays_it(root: Path, reconcile: Reconcile, suspended: bool) -> None:
    (root / "hold").touch()
    with live(root) as process:
        wait_until((root / "reading").exists)
        assert state(root) == "Running"
        if suspended:
            # It can't hear: it is killed.
            process.send_signal(signal.SIGSTOP)
            assert stop_run(opened(root)._project.target, "shop", "somebody", force=True, patience_seconds=0.5)
        else:
            assert "shop is stopped" in reconcile("stop", "shop", "--force")
        assert process.wait(30) != 0
    (root / "hold").unlink()
    assert rows(root) == []
    found = status(root)
    assert found.state.value == "Stopped"
    assert "the next run replays it" in found.detail
    assert events(root)[-1].details["forced"] is True
    head = opened(root)._project.target.registry.head("shop")
    assert head is not None
    assert head.value.intent is not None
    opened(root).run_once()
    assert len(rows(root)) == 2
    assert "step replayed" in happened(root)


def test_a_signal_stops_a_run_after_its_step(root: Path) -> None:
    with live(root) as process:
        wait_until(lambda: state(root) == "Running" and len(rows(root)) == 2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert state(root) == "Stopped"


def test_one_process_at_a_time_runs_a_pipeline_and_a_dead_one_is_told(root: Path) -> None:
    with live(root) as process:
        wait_until(lambda: status(root).step == 1)
        with pytest.raises(LeaseHeld) as caught:
            opened(root).run_once()
        assert caught.value.code == "A503"
        # The second one told nothing of itself.
        assert state(root) == "Running"
        process.kill()
        process.wait()
        found = status(root)
        assert found.state.value == "Failed"
        assert "without saying so" in found.detail
    opened(root).run_once()
    assert state(root) == "Stopped"
    assert live_run(opened(root)._project.target.registry, "shop") is None


def test_a_live_run_waits_for_an_apply_that_died_and_goes_on_when_it_is_finished(root: Path, reconcile: Reconcile) -> None:
    with live(root) as process:
        wait_until(lambda: len(rows(root)) == 2)
        sql = root / "pipelines/shop/program.sql"
        sql.write_text(sql.read_text() + "CREATE MATERIALIZED VIEW ids AS SELECT id FROM lineitem;\n")
        died = subprocess.run(
            [sys.executable, "-c", _APPLY, str(root)],
            env={**os.environ, "RECONCILE_CRASH_AT": "publish_view:intended"},
            check=False,
        )
        assert died.returncode == -signal.SIGKILL
        wait_until(lambda: "waits for an apply" in status(root).detail)
        assert process.poll() is None
        opened(root).apply()
        put(root, "live", "1.json", {"id": 3, "part": "c"})
        wait_until(lambda: len(rows(root)) == 3)
        assert "ids" in {relation.name for relation in status(root).relations}
        reconcile("stop", "shop")
    assert "handed over" in happened(root)


_APPLY = """
import os, sys
from pathlib import Path
from reconciler.reconcile.boundaries import boundary_from_environment
from tests.reconcile.lineitem import opened
opened(Path(sys.argv[1])).apply(boundary=boundary_from_environment(os.environ))
"""


# What fails.


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
    # It stays known that it failed, and when.
    assert connector(root, "lineitem.history").last_error is not None


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
    """A registry that can't be reached a few times, whatever is asked of it."""

    def __init__(self, registry: Registry, times: int) -> None:
        self._registry = registry
        self.times = times

    def __getattr__(self, name: str) -> Any:
        if name == "controls" and self.times > 0:
            self.times -= 1
            raise RegistryError("G602", "the registry can't be reached")
        return getattr(self._registry, name)


def test_a_registry_that_can_not_be_reached_holds_a_live_run_up_and_does_not_end_it(root: Path) -> None:
    engine = RecordingEngine(DeltaWriter())
    target = opened(root, engine)._project.target
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
    run_pipeline(flaky, "shop", Running(engine, told.append), once=False, interval_seconds=0.1, stop=stop)
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
                raise EngineError("X706", "the view divides by zero")
        return super().build_view(build)


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
    assert connector(root, "lineitem.live").activity == "running"


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
        target = opened(root, engine)._project.target
        run_pipeline(target, "shop", Running(engine), once=False, interval_seconds=0.1, stop=stopping.is_set)

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


# What is seen.


def test_rejected_records_are_counted_by_connector_over_restarts(root: Path, reconcile: Reconcile) -> None:
    for number in (1, 2):
        put(root, "live", f"{number}.json", {"id": number, "part": "new"}, {"id": "no number"})
        opened(root).run_once()
    assert (connector(root, "lineitem.live").rows, connector(root, "lineitem.live").rejected) == (2, 2)
    published = [event.details for event in events(root) if event.event == "step published"]
    assert published[-1]["rejected"] == {"lineitem.live": 1}
    assert "REJECTED" in reconcile("status", "shop")


def test_counts_go_on_over_restarts_and_the_report_says_how_steps_spend_their_time(root: Path) -> None:
    put(root, "log", "1.json", {"line": "one"}, {"line": "two"})
    opened(root).run_once()
    put(root, "log", "2.json", {"line": "three"})
    opened(root).run_once()
    lines = connector(root, "log.lines")
    assert (lines.rows, lines.activity) == (3, "running")
    found = status(root).run
    assert found is not None
    assert (found.steps, found.alive) == (1, False)
    assert set(found.phases["last"]) >= {"ingest", "views"}
    assert found.started_at <= found.updated_at


def test_status_as_prometheus_text_parses_and_says_what_the_report_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make(tmp_path / "shop", YAML.replace("name: lines", 'name: "lines"'))
    put(root, "log", "1.json", {"line": "one"}, {"line": "two"})
    opened(root).run_once()
    assert run(["status", "shop", "--format", "prometheus", "--repo", str(root)]) == 0
    samples = parsed(capsys.readouterr().out)
    labels = frozenset({("pipeline", "shop"), ("environment", "dev")})
    assert samples["reconcile_pipeline_step", labels] == 1
    assert samples["reconcile_pipeline_state", labels | {("state", "Stopped")}] == 1
    assert samples["reconcile_pipeline_state", labels | {("state", "Running")}] == 0
    of = labels | {("connector", "log.lines"), ("direction", "input")}
    assert samples["reconcile_connector_rows_total", of] == 2
    assert samples["reconcile_connector_activity", of | {("activity", "running")}] == 1


def parsed(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Prometheus text, strictly: HELP and TYPE come once, before the samples of their metric, which stand together."""
    found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    described: list[str] = []
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("#"):
            words = re.fullmatch(r"# (HELP|TYPE) ([a-z_]+) (.+)", line)
            assert words is not None, line
            if words[1] == "HELP":
                assert words[2] not in described
                described.append(words[2])
            else:
                assert words[2] == described[-1]
                assert words[3] in ("gauge", "counter")
            continue
        sample = re.fullmatch(r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (\S+)', line)
        assert sample is not None, line
        assert sample[1] == described[-1], "samples of a metric stand together"
        labels = frozenset(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', sample[2]))
        assert (sample[1], labels) not in found, "a sample comes once"
        found[sample[1], labels] = float(sample[3])
    return found


def test_the_page_lists_the_metrics() -> None:
    page = (Path(__file__).parents[2] / "docs/running.md").read_text("utf-8")
    listed = re.findall(r"^\| `(reconcile_\w+)` \| (\w+) \| (.+?) \|$", page, re.MULTILINE)
    assert listed == [(name, metric.kind, metric.help) for name, metric in METRICS.items()]


def test_labels_are_escaped() -> None:
    from reconciler.cli.prometheus import _labels

    assert _labels({"reason": 'a "quoted"\n\\ thing'}) == r'{reason="a \"quoted\"\n\\ thing"}'


def test_watch_shows_it_again_and_again_in_a_pipe(root: Path) -> None:
    opened(root).run_once()
    watching = subprocess.Popen(
        [sys.executable, "-c", _MAIN, "status", "shop", "--watch", "--repo", str(root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert watching.stdout is not None
    lines: list[str] = []
    try:
        while sum(line.startswith("shop (dev): Stopped") for line in lines) < 3:
            line = watching.stdout.readline()
            assert line, watching.stderr.read() if watching.stderr else ""
            lines.append(line)
        watching.send_signal(signal.SIGINT)
        rest, errors = watching.communicate(timeout=30)
    finally:
        watching.kill()
        watching.communicate()
    assert watching.returncode in (0, 130)
    assert "Traceback" not in errors
    assert "\x1b" not in "".join(lines) + rest


def test_events_as_json_and_the_last_of_them(root: Path, reconcile: Reconcile) -> None:
    opened(root).run_once()
    shown = json.loads(reconcile("events", "shop", "--format", "json"))
    assert [event["event"] for event in shown["events"]] == [event.event for event in events(root)]
    assert len(json.loads(reconcile("events", "shop", "--limit", "2", "--format", "json"))["events"]) == 2
    text = reconcile("events", "shop", "--limit", "1")
    assert "run stopped" in text
    assert datetime.fromisoformat(shown["events"][0]["at"]) <= datetime.now(UTC)
