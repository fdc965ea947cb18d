"""docs/operating.md: the unit and the Deployment call what there is, and runs do what supervisors are told that they do."""

import configparser
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.pages import blocks
from tests.docs.test_examples import ROOT, problems_of

PAGE = (ROOT / "docs/operating.md").read_text("utf-8")
RECONCILE = Path(sys.executable).with_name("reconcile")


def deployment() -> dict[str, Any]:
    (found,) = (text for block in blocks(PAGE) if "kind: Deployment" in (text := block.text))
    made: dict[str, Any] = yaml.safe_load(found)
    return made


def container() -> dict[str, Any]:
    (found,) = deployment()["spec"]["template"]["spec"]["containers"]
    made: dict[str, Any] = found
    return made


def unit() -> configparser.ConfigParser:
    (found,) = (block.text for block in blocks(PAGE) if block.language == "ini")
    read = configparser.ConfigParser(interpolation=None)
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read_string(found)
    return read


def test_the_unit_and_the_deployment_run_one_process_and_leave_it_time_to_end() -> None:
    service = unit()["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert Path(program).name == "reconcile"
    assert problems_of(["reconcile", *words]) == []
    assert (service["KillMode"], service["Restart"]) == ("mixed", "on-failure")
    assert service["TimeoutStopSec"] == "15min"
    spec = deployment()["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] == 15 * 60
    assert container()["command"] == ["reconcile", *words]
    assert problems_of(container()["command"]) == []


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository whose pipeline is applied, and whose run is idle: it needs no Java."""
    folder = tmp_path / "pipelines" / "shop"
    folder.mkdir(parents=True)
    (tmp_path / "reconcile.yaml").write_text("environments: {prod: {warehouse: warehouse}}\n")
    (folder / "pipeline.yaml").write_text("apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n")
    (folder / "program.sql").write_text("CREATE TABLE t (a INT) WITH ('materialized' = 'true');\n")
    done = called(tmp_path, "apply", "shop", "--env", "prod")
    assert done.returncode == 0, done.stderr
    return tmp_path


def environment() -> dict[str, str]:
    path = f"{RECONCILE.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "JAVA_HOME": "/nowhere"}


def called(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [RECONCILE, *words], cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=120
    )


def probe(folder: Path) -> int:
    """What the Deployment's readiness probe says: 0 where somebody runs the pipeline."""
    command = container()["readinessProbe"]["exec"]["command"]
    return subprocess.run(command, cwd=folder, env=environment(), check=False, timeout=120).returncode


def test_the_probe_tells_of_a_live_run_and_signals_end_it_with_the_exit_codes_of_the_page(shop: Path) -> None:
    assert probe(shop) == 1
    with subprocess.Popen(container()["command"], cwd=shop, env=environment()) as live:
        try:
            until = time.monotonic() + 60
            while probe(shop) != 0:
                assert live.poll() is None
                assert time.monotonic() < until
            second = called(shop, "run", "shop", "--env", "prod")
            assert second.returncode == 1
            assert "A503" in second.stderr
            live.send_signal(signal.SIGTERM)
            assert live.wait(60) == 0
        finally:
            live.kill()
    assert probe(shop) == 1
    # What was let go is free at once.
    assert called(shop, "run", "shop", "--env", "prod", "--once").returncode == 0


def test_a_run_of_a_pipeline_that_is_not_applied_or_was_removed_ends_with_an_error(shop: Path) -> None:
    assert called(shop, "run", "nothing", "--env", "prod").returncode == 1
    for file in (shop / "pipelines" / "shop").iterdir():
        file.unlink()
    (shop / "pipelines" / "shop").rmdir()
    planned = called(shop, "plan", "shop", "--env", "prod", "--format", "json")
    digest = yaml.safe_load(planned.stdout)["plans"][0]["digest"]
    assert called(shop, "approve", "shop", digest, "--env", "prod").returncode == 0
    assert called(shop, "apply", "--env", "prod").returncode == 0
    ended = called(shop, "run", "shop", "--env", "prod")
    assert ended.returncode == 1
    assert "U812" in ended.stderr
    # Its folder is empty, and what is known of it stays.
    assert list((shop / "warehouse" / "shop").rglob("*")) == []
    assert (shop / "warehouse" / "_registry" / "shop").is_dir()
    assert called(shop, "prune", "--env", "prod").returncode == 0
