"""What a run tells of itself: counts, the report, `status` for Prometheus and again and again, and the event log. Over real
Delta tables and the recording engine."""

import json
import re
import shutil
import signal
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.service.prometheus import METRICS
from reconciler.testing.crashes import Crash
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.faults import Fault, Faults, Style, run_with
from tests.engine.delta_writer import DeltaWriter
from tests.shops.lineitem import YAML, connector, events, live, make, opened, put
from tests.shops.runs import COMMAND, Reconcile, status
from tests.waiting import wait_until


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
    assert (lines.rows, lines.activity) == (3, "stopped")
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
    assert samples["reconcile_connector_activity", of | {("activity", "stopped")}] == 1


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
    from reconciler.service.prometheus import _labels

    assert _labels({"reason": 'a "quoted"\n\\ thing'}) == r'{reason="a \"quoted\"\n\\ thing"}'


def test_watch_shows_it_again_and_again_in_a_pipe(root: Path) -> None:
    opened(root).run_once()
    watching = subprocess.Popen(
        [*COMMAND, "status", "shop", "--watch", "--repo", str(root)],
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
        rest, errors = watching.communicate(timeout=120)
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


def test_what_would_run_is_stopped_while_nobody_runs_the_pipeline(root: Path, reconcile: Reconcile) -> None:
    assert connector(root, "log.lines").activity == "stopped"
    with live(root):
        wait_until(lambda: connector(root, "log.lines").activity == "running")
        wait_until(lambda: connector(root, "lineitem.live").activity == "running")
        reconcile("stop", "shop")
    assert connector(root, "log.lines").activity == "stopped"
    assert connector(root, "lineitem.history").activity == "ended"


def test_an_error_and_a_replayed_step_are_told_once(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(root, "log", "1.json", {"line": "one"})
    faults = Faults(Fault("table:effected", 1, Style.BEFORE))
    with pytest.raises(Crash):
        run_with(root, "shop", RecordingEngine(DeltaWriter()), faults)
    shutil.rmtree(root / "source/log")
    capsys.readouterr()
    engine = RecordingEngine(DeltaWriter())
    assert run(["run", "shop", "--once", "--repo", str(root)], engine) == 1
    told = capsys.readouterr().err
    replayed = [line for line in told.splitlines() if re.search(r"shop step \d+: ", line)]
    assert len(replayed) == len(set(replayed)) > 0, told
    assert told.count("X710") == 1, told


def test_a_long_step_says_what_it_is_doing(root: Path) -> None:
    put(root, "log", "1.json", {"line": "one"})
    with live(root):
        wait_until(lambda: connector(root, "log.lines").rows == 1)
        (root / "hold").touch()
        put(root, "log", "2.json", {"line": "two"})

        def doing() -> str:
            return status(root).detail

        wait_until(lambda: "read log.lines" in doing())
        assert re.search(r"; step \d+, 1 of 1: read log\.lines since 20", doing())
        (root / "hold").unlink()
        put(root, "log", "3.json", {"line": "three"})
        wait_until(lambda: connector(root, "log.lines").rows == 3)
        wait_until(lambda: "read log.lines" not in doing())


def test_a_long_apply_says_what_it_is_doing(root: Path) -> None:
    program = root / "pipelines/shop/program.sql"
    program.write_text(program.read_text() + "CREATE MATERIALIZED VIEW more AS SELECT id FROM lineitem;\n")
    seen: list[str] = []

    def look(name: str) -> None:
        if name == "bootstrap_view:intended":
            seen.append(status(root).detail)

    opened(root).observed(boundary=look).apply()
    assert len(seen) == 1
    assert re.search(r"; 1 of \d+: .*more", seen[0]), seen


def test_a_statement_on_what_waits_says_that_a_plan_waits(root: Path, reconcile: Reconcile) -> None:
    program = root / "pipelines/shop/program.sql"
    program.write_text(program.read_text() + "CREATE TABLE fresh (id BIGINT);\n")
    for words in (("execute", "shop", "INSERT INTO fresh VALUES (1)"), ("query", "shop", "SELECT * FROM fresh")):
        told = reconcile(*words, code=1)
        assert "X722" in told
        assert "but are not applied yet: reconcile plan shop" in told
    assert "reconcile plan" not in reconcile("execute", "shop", "INSERT INTO nothing VALUES (1)", code=1)
