"""Real kills: the command is killed with SIGKILL at a boundary, in a process of its own, and applied again.

One in every run; the whole matrix, for every step kind and point and for steps of a running pipeline, in the slow suite.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from reconciler.registry.model import Lease
from tests.acceptance.shop import contents, copy_of, open_shop, state, stored_rows
from tests.acceptance.test_crashes import APPLY_BOUNDARIES, INSERT, STEP_BOUNDARIES

pytestmark = pytest.mark.spark

QUICK = ("bootstrap_view:effected#2",)


def reconcile(root: Path, *arguments: str, crash_at: str = "") -> subprocess.CompletedProcess[str]:
    """The command, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from reconciler.cli.main import main; main()", *arguments, "--repo", str(root)],
        env={**os.environ, "RECONCILE_CRASH_AT": crash_at},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def _killed_apply_ends_the_same(
    boundary: str, baseline: Path, undisturbed: dict[str, Any], tmp_path: Path, engine: Engine
) -> None:
    root = copy_of(baseline, tmp_path / "shop")
    killed = reconcile(root, "apply", "shop", crash_at=boundary)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    lease = open_shop(root, engine).target.registry.document("shop", Lease)
    assert lease is not None
    assert not lease.value.released

    open_shop(root, engine).apply()

    assert state(root, engine) == undisturbed["state"]
    assert contents(root) == undisturbed["contents"]
    assert open_shop(root, engine).apply().did_nothing


# Without Spark an apply is killed in every run by tests/acceptance/test_versions_killed.py, a run on Spark by
# test_run_crashes_on_spark.
@pytest.mark.slow
@pytest.mark.parametrize("boundary", QUICK)
def test_an_apply_that_was_killed_is_finished_by_the_next(
    boundary: str, baseline: Path, undisturbed: dict[str, Any], tmp_path: Path, spark_engine: Engine
) -> None:
    _killed_apply_ends_the_same(boundary, baseline, undisturbed, tmp_path, spark_engine)


@pytest.mark.slow
@pytest.mark.parametrize("boundary", [name for name in APPLY_BOUNDARIES if name not in QUICK])
def test_an_apply_killed_anywhere_is_finished_by_the_next(
    boundary: str, baseline: Path, undisturbed: dict[str, Any], tmp_path: Path, spark_engine: Engine
) -> None:
    _killed_apply_ends_the_same(boundary, baseline, undisturbed, tmp_path, spark_engine)


@pytest.mark.slow
@pytest.mark.parametrize("boundary", STEP_BOUNDARIES)
def test_a_statement_killed_anywhere_happens_once_or_not_at_all(
    boundary: str, baseline: Path, tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(baseline, tmp_path / "shop")
    killed = reconcile(root, "execute", "shop", INSERT, crash_at=boundary)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    open_shop(root, spark_engine).run_once()
    rows = 3 if boundary == "intent:before" else 5
    assert len(stored_rows(root, "kept") or []) == rows
    assert len(stored_rows(root, "same") or []) == rows


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [2.0, 5.0, 8.0, 9.0, 10.0, 11.0, 12.0, 14.0])
def test_an_apply_killed_at_any_moment_is_finished_by_the_next(
    seconds: float, baseline: Path, undisturbed: dict[str, Any], tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(baseline, tmp_path / "shop")
    process = subprocess.Popen(
        [sys.executable, "-c", "from reconciler.cli.main import main; main()", "apply", "shop", "--repo", str(root)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(seconds)
    process.kill()
    process.wait()
    open_shop(root, spark_engine).apply()
    assert state(root, spark_engine) == undisturbed["state"]
    assert contents(root) == undisturbed["contents"]
