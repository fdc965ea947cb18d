"""From nothing to rows with what `reconcile init` wrote, command by command. docs/getting-started.md does it on
Spark."""

import os
import subprocess
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.acceptance.command_line import CommandLine


@pytest.mark.parametrize("in_git", [False, True], ids=["without git", "in git"])
def test_what_was_begun_runs_at_once(
    in_git: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in [variable for variable in os.environ if variable.startswith("GIT_")]:
        monkeypatch.delenv(variable)
    root = tmp_path / "shop"
    root.mkdir()
    monkeypatch.chdir(root)
    if in_git:
        subprocess.run(["git", "init", "--quiet"], check=True)
    assert run(["init"]) == 0
    reconcile = CommandLine(root, capsys)

    assert "1 pipeline(s): 0 error(s), 0 warning(s)" in reconcile("validate")
    assert "Approval: not needed" in reconcile("plan", "shop")
    assert "shop: applied" in reconcile("apply", "shop")
    assert "shop: 1 step(s), 3 row(s) ingested" in reconcile("run", "shop", "--once")
    rows = reconcile("query", "shop", "SELECT * FROM orders", "--format", "csv")
    assert "2,ben,20.00,2026-01-06" in rows
    assert "no changes" in reconcile("plan", "shop", "--detailed-exitcode")
    assert run(["init"]) == 0
    assert capsys.readouterr().out == "nothing to write: everything is there\n"
    if in_git:
        # The warehouse is left out; nothing of the run lies about.
        shown = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
        assert [line[3:] for line in shown.splitlines()] == [
            ".gitignore",
            "data/",
            "pipelines/",
            "reconcile.yaml",
            "schemas/",
        ]


def test_a_second_pipeline_is_one_beside_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reconcile = CommandLine(tmp_path, capsys)
    assert run(["init", "--name", "shop"]) == 0
    reconcile("apply")
    assert run(["init", "--name", "tax"]) == 0

    assert "tax: applied" in reconcile("apply")
    assert "tax: 1 step(s), 3 row(s) ingested" in reconcile("run", "tax", "--once")
    assert "no changes" in reconcile("plan", "shop", "tax", "--detailed-exitcode")
