"""Runs, as others see them: history and live in order, pauses, seeks, stops (asked and by force), and one process at a time.
Over real Delta tables and the recording engine; live runs are processes of their own. What fails: test_run_failures. What
is told of it: test_run_status."""

import getpass
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reconciler.base.errors import LeaseHeld, ReconcileError
from reconciler.cli.main import run
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.registry.model import Lease, Wish
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.state.controls import ask_to_stop, pause, read_controls, resume, take_away_stop
from reconciler.state.stopping import live_run, stop_run
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.shops.lineitem import YAML, connector, events, happened, live, make, opened, put
from tests.shops.runs import COMMAND, Reconcile, rows, state, status
from tests.waiting import wait_until


def hold_elsewhere(target: Target, seconds: float) -> None:
    """The lease of a run on a host that nobody can look at."""
    now = datetime.now(UTC)
    expires = (now + timedelta(seconds=seconds)).isoformat()
    lease = Lease("somebody", "run", "elsewhere", "1:1", 1, now.isoformat(), expires)
    held = target.registry.document("shop", Lease)
    target.registry.replace_document("shop", held.token if held else None, lease, "elsewhere")


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
    registry = opened(root).target.registry
    engine, looks = RecordingEngine(DeltaWriter()), 0
    tokens = []

    def stop() -> bool:
        nonlocal looks
        looks += 1
        tokens.append(registry.head("shop"))
        return looks > 40

    target = opened(root, engine).target
    run_pipeline(target, "shop", Session(engine), Pace(once=False, interval_seconds=0.05, stop=stop))
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


def test_a_paused_pipeline_takes_no_input_until_it_is_resumed_over_restarts(
    root: Path, reconcile: Reconcile, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "will start paused" in reconcile("pause", "shop")
    assert "paused" in status(root).detail
    assert run(["run", "shop", "--once", "--repo", str(root)]) == 0
    assert "reads no input; to go on: reconcile resume shop" in capsys.readouterr().err
    with live(root):
        wait_until(lambda: state(root) == "Paused")
        assert rows(root) == []
        assert "goes on" in reconcile("resume", "shop")
        wait_until(lambda: len(rows(root)) == 2)
        assert state(root) == "Running"
        assert "pauses after the current step" in reconcile("pause", "shop")
        wait_until(lambda: state(root) == "Paused")
        put(root, "log", "1.json", {"line": "hello"})
        said = reconcile("stop", "shop")
    assert "is stopped and stays paused; to let its next run read input: reconcile resume shop" in said
    assert "starts paused" in status(root).detail
    opened(root).run_once()
    assert rows(root, "log") == []
    assert status(root).wish == Wish.PAUSE.value
    assert [line for line in happened(root) if line in ("paused", "resumed")] == ["resumed", "paused"]
    assert "is resumed" in reconcile("resume", "shop")
    assert "is not paused" in reconcile("resume", "shop")
    opened(root).run_once()
    assert rows(root, "log") != []


@pytest.mark.parametrize("how", ["stop", "stop --force", "signal", "kill"])
def test_a_pause_outlives_every_way_to_end_a_run(root: Path, reconcile: Reconcile, how: str) -> None:
    with live(root) as process:
        wait_until(lambda: len(rows(root)) == 2)
        reconcile("pause", "shop")
        wait_until(lambda: state(root) == "Paused")
        if how.startswith("stop"):
            reconcile(*how.split(), "shop")
        else:
            process.send_signal(signal.SIGTERM if how == "signal" else signal.SIGKILL)
        process.wait(30)
    put(root, "log", "1.json", {"line": "hello"})
    opened(root).run_once()
    assert rows(root, "log") == []
    assert reconcile("resume", "shop") == "shop is resumed; to run it: reconcile run shop\n"


def test_who_pauses_or_resumes_takes_back_no_stop(root: Path) -> None:
    registry = opened(root).target.registry
    ask_to_stop(registry, "shop", "ada", forced=True)
    pause(registry, "shop", "bob")
    assert (read_controls(registry, "shop").stops, read_controls(registry, "shop").forced) == (True, True)
    assert resume(registry, "shop", "bob")
    assert not resume(registry, "shop", "bob")
    assert read_controls(registry, "shop").stops
    take_away_stop(registry, "shop")
    assert read_controls(registry, "shop").wish is Wish.RUN


def test_stop_waits_until_the_step_is_done_and_the_next_run_starts_as_usual(root: Path, reconcile: Reconcile) -> None:
    assert "nothing to stop" in reconcile("stop", "shop")
    with live(root) as process:
        wait_until(lambda: len(rows(root)) == 2)
        (root / "hold").touch()
        (root / "reading").unlink()
        put(root, "live", "1.json", {"id": 3, "part": "c"})
        wait_until((root / "reading").exists)
        asked = subprocess.Popen([*COMMAND, "stop", "shop", "--repo", str(root)])
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


def test_a_second_signal_ends_a_run_at_once_and_says_so(root: Path) -> None:
    (root / "hold").touch()
    with live(root) as process:
        wait_until((root / "reading").exists)
        for _ in range(2):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
        assert process.wait(30) == 130
        said = process.stderr.read() if process.stderr else ""
    assert "shop ends at once after a second signal; the next run replays an unfinished step" in said


@pytest.mark.parametrize("suspended", [False, True])
def test_stop_by_force_drops_the_step_and_the_next_run_replays_it(root: Path, reconcile: Reconcile, suspended: bool) -> None:
    (root / "hold").touch()
    with live(root) as process:
        wait_until((root / "reading").exists)
        assert state(root) == "Running"
        if suspended:
            # It can't hear: it is killed.
            process.send_signal(signal.SIGSTOP)
            assert stop_run(opened(root).target, "shop", "somebody", force=True, patience_seconds=0.5)
        else:
            assert "shop is stopped" in reconcile("stop", "shop", "--force")
        assert process.wait(30) == (-signal.SIGKILL if suspended else 0)
        said = process.stderr.read() if process.stderr else ""
    by = "" if suspended else f"{getpass.getuser()} stopped shop by force; the next run replays an unfinished step"
    assert by in said
    (root / "hold").unlink()
    assert rows(root) == []
    found = status(root)
    assert found.state.value == "Stopped"
    assert "the next run replays it" in found.detail
    assert events(root)[-1].details["forced"] is True
    head = opened(root).target.registry.head("shop")
    assert head is not None
    assert head.value.intent is not None
    opened(root).run_once()
    assert len(rows(root)) == 2
    assert "step replayed" in happened(root)


@pytest.mark.parametrize("held_seconds", [1.0, 3600.0])
def test_a_run_on_another_host_is_known_to_have_ended_when_its_lease_ran_out(
    root: Path, held_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECONCILE_LEASE_SECONDS", "2")
    target = opened(root).target
    hold_elsewhere(target, held_seconds)
    if held_seconds < 2:
        assert stop_run(target, "shop", "somebody", force=True, patience_seconds=0.1)
        assert events(root)[-1].details["forced"] is True
        return
    with pytest.raises(ReconcileError) as raised:
        stop_run(target, "shop", "somebody", force=True, patience_seconds=0.1)
    assert raised.value.code == "A510"
    assert "end that process on elsewhere" in str(raised.value.hint)


@pytest.mark.parametrize(("told", "more"), [("Stopped", []), ("Running", ["run stopped"])])
def test_a_run_that_ended_in_good_order_while_it_was_stopped_by_force_has_told_so_itself(
    root: Path, told: str, more: list[str]
) -> None:
    target = opened(root).target
    hold_elsewhere(target, seconds=1)
    target.registry.replace_report("shop", {"process": "1:1", "host": "elsewhere", "state": told})
    before = happened(root)
    assert stop_run(target, "shop", "somebody", force=True, patience_seconds=0.1)
    assert happened(root) == [*before, *more]


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
        assert " died after " in found.detail
    opened(root).run_once()
    assert state(root) == "Stopped"
    assert live_run(opened(root).target.registry, "shop") is None


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
        wait_until(lambda: "waits until an apply is finished" in status(root).detail)
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
from reconciler.base.boundaries import boundary_from_environment
from tests.shops.lineitem import opened
opened(Path(sys.argv[1])).observed(boundary=boundary_from_environment(os.environ)).apply()
"""
