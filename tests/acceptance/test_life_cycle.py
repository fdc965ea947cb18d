"""The life cycle through the command line: a live run on Spark in a process of its own, paused, resumed, stopped by force
and started again. What the same does in all its cases is in tests/run/test_running.py, without Spark."""

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.engine.protocol import Engine
from tests.acceptance.shop import open_shop, stored_rows, write_shop
from tests.waiting import wait_until

pytestmark = pytest.mark.spark

PROGRAM = "CREATE TABLE log (id BIGINT, line VARCHAR);\nCREATE MATERIALIZED VIEW n AS SELECT COUNT(*) AS n FROM log;\n"
CONNECTORS = """\
  connectors:
    - name: lines
      table: log
      transport: {name: file_input, config: {path: source}}
      format: {name: json}
"""
MAIN = "from reconciler.cli.main import main; main()"


def reconcile(root: Path, *arguments: str) -> str:
    """A command, in this process; what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert run([*arguments, "--repo", str(root)]) == 0
    return printed.getvalue()


def state(root: Path) -> str:
    shown = json.loads(reconcile(root, "status", "shop", "--format", "json"))
    return str(shown["pipelines"][0]["state"])


@pytest.mark.slow
def test_run_pause_resume_and_stop_by_force_of_a_real_run(tmp_path: Path, spark_engine: Engine) -> None:
    write_shop(tmp_path, PROGRAM, more=CONNECTORS)
    source = tmp_path / "source"
    source.mkdir()
    (source / "1.json").write_text('{"id": 1, "line": "a"}\n')
    open_shop(tmp_path, spark_engine).apply()
    log = tmp_path / "run.log"
    with log.open("w") as told:
        process = subprocess.Popen(
            [sys.executable, "-c", MAIN, "run", "shop", "--repo", str(tmp_path)], stdout=told, stderr=told
        )
        try:
            wait_until(lambda: stored_rows(tmp_path, "n") == [(1,)])
            reconcile(tmp_path, "pause", "shop")
            wait_until(lambda: state(tmp_path) == "Paused")
            (source / "2.json").write_text('{"id": 2, "line": "b"}\n')
            reconcile(tmp_path, "resume", "shop")
            wait_until(lambda: stored_rows(tmp_path, "n") == [(2,)])
            assert "reconcile_connector_rows_total{" in reconcile(tmp_path, "status", "shop", "--format", "prometheus")
            assert "is stopped" in reconcile(tmp_path, "stop", "shop", "--force")
            # It ends itself: at once, or in good order where it heard of it between two steps. It is not killed.
            assert process.wait(60) in (0, 1)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    assert "Traceback" not in log.read_text()
    assert state(tmp_path) == "Stopped"
    (source / "3.json").write_text('{"id": 3, "line": "c"}\n')
    open_shop(tmp_path, spark_engine).run_once()
    assert stored_rows(tmp_path, "n") == [(3,)]
    happened = json.loads(reconcile(tmp_path, "events", "shop", "--format", "json"))["events"]
    assert [one["event"] for one in happened if one["event"].startswith("run ")] == [
        "run started",
        "run stopped",
        "run started",
        "run stopped",
    ]
