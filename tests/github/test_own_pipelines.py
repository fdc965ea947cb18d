"""This repository's pipelines go through the workflow that users get: planned on a pull request, applied after the merge.

What .github/workflows/pipelines.yml says is handed on as the host does it, from the call to the workflow's steps, and from
there to the action's; their scripts run with the real `reconcile` on a copy of pipelines/ in a repository of its own. Only
what needs the network is left out: the set-up, and GitHub's own programs.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.engine.protocol import Engine
from reconciler.service.project import Project
from tests.github.host import ACTION, ROOT, WORKFLOW, Runner, read, step

RECONCILE = Path(sys.executable).with_name("reconcile")
CALL = read(ROOT / ".github/workflows/pipelines.yml")["jobs"]["ci"]["with"]
HOST = {
    "github.repository": "owner/reconciler",
    "github.event.pull_request.number": "3",
    "github.token": "x",
    "github.event.repository.default_branch": "main",
}
INSTALLED = ("Install reconciler", "Set up Spark")
"""What `make setup` has done here."""


def filled(texts: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """Texts with their expressions' values. An expression that nothing is known of is an error."""
    return {name: re.sub(r"\$\{\{ (.+?) \}\}", lambda found: values[found[1]], text) for name, text in texts.items()}


def defaults(inputs: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {name: one.get("default", "") for name, one in inputs.items()}


class Host:
    """Runs steps of the workflow, as jobs of it would, on `repository` below the runner's folder."""

    def __init__(self, folder: Path) -> None:
        self.runner = Runner(folder)
        self.repository = folder / "repository"
        (self.runner.temporary / "reconciler/bin/reconcile").symlink_to(RECONCILE)
        self.runner.program(folder / "bin/gh", f'echo "$*" >> "{folder}/calls"\n')
        called = defaults(read(WORKFLOW)["on"]["workflow_call"]["inputs"]) | filled(CALL, {**HOST, "github.sha": "0" * 40})
        secrets = {"secrets.plan_credentials": "", "secrets.apply_credentials": ""}
        self.values = HOST | secrets | {f"inputs.{name}": value for name, value in called.items()}

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.repository, check=True, capture_output=True)

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def reconcile(self, *words: str) -> None:
        command = [str(RECONCILE), *words, "--env", "ci", "--repo", str(self.repository)]
        subprocess.run(command, check=True, capture_output=True)

    def act(self, name: str, identity: str, **changed: str) -> str:
        """A step that uses the action: what it printed."""
        given = filled(step(WORKFLOW, name)["with"], self.values) | changed
        inputs = defaults(read(ACTION)["inputs"]) | given
        values = HOST | {f"inputs.{key}": value for key, value in inputs.items()}
        (self.runner.folder / "output").unlink(missing_ok=True)
        printed = ""
        for one in read(ACTION)["runs"]["steps"]:
            if "run" not in one or one["name"] in INSTALLED:
                continue
            assert "if" not in one, "a condition that this test does not know"
            printed += self.run(one["run"], filled(one.get("env", {}), values))
        self.values |= {f"steps.{identity}.outputs.{key}": value for key, value in self.runner.outputs().items()}
        return printed

    def work(self, name: str, code: int = 0) -> str:
        """A step of the workflow that is a script."""
        one = step(WORKFLOW, name)
        return self.run(one["run"], filled(one["env"], self.values), code)

    def run(self, script: str, variables: Mapping[str, str], code: int = 0) -> str:
        machine = {name: os.environ[name] for name in ("HOME", "JAVA_HOME", "RECONCILE_CACHE") if name in os.environ}
        done = self.runner.run(script, **machine, **variables)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def plan_job(self, code: int) -> str:
        """The job of a pull request, up to its comment."""
        self.act("Plan", "plan")
        shutil.rmtree(self.runner.folder / "comment", ignore_errors=True)
        self.work("Prepare the comment")
        self.work("Is it planned, and approved by its plan.lock?", code)
        body = (self.runner.folder / "comment/body.md").read_text("utf-8")
        (self.runner.folder / "body.md").write_text(body, "utf-8")
        self.work("Write the comment, or write it anew")
        return body


@pytest.fixture
def host(tmp_path: Path) -> Host:
    found = Host(tmp_path)
    shutil.copytree(ROOT / "pipelines", found.repository / "pipelines")
    shutil.copy(ROOT / "reconcile.yaml", found.repository)
    (found.repository / ".gitignore").write_text(".reconcile/\n")
    found.git("init", "--quiet", "--initial-branch=main")
    found.git("config", "user.name", "Ann")
    found.git("config", "user.email", "ann@example.org")
    found.commit("Pipelines")
    return found


def test_every_pipeline_of_this_repository_can_be_planned(host: Host) -> None:
    body = host.plan_job(code=0)
    assert "merging this pull request approves it" in body
    for folder in sorted((ROOT / "pipelines").iterdir()):
        assert folder.name in body
    assert "--method POST repos/owner/reconciler/issues/3/comments" in (host.runner.folder / "calls").read_text("utf-8")


@pytest.mark.spark
def test_a_change_is_planned_approved_by_its_lock_and_applied_after_the_merge(host: Host, spark_engine: Engine) -> None:
    Project.open(host.repository, "ci", engine=spark_engine).pipeline("student_grades").apply()
    program = host.repository / "pipelines/student_grades/program.sql"

    host.git("checkout", "--quiet", "-b", "longer-range")
    program.write_text(program.read_text("utf-8").replace("2025-12-15", "2026-06-10"), "utf-8")
    host.commit("Extend the range of dates")
    assert "plan.lock is missing or stale" in host.plan_job(code=2)

    host.reconcile("plan", "student_grades", "--write-lock")
    host.commit("The plan")
    body = host.plan_job(code=0)
    assert "merging this pull request approves it" in body
    assert "avg_grade_enriched" in body

    host.git("checkout", "--quiet", "main")
    host.git("merge", "--quiet", "--no-ff", "--message", "Merge longer-range", "longer-range")
    applied = host.act("Apply", "apply", pipelines="student_grades")
    assert "bootstrap avg_grade_enriched from grades, students" in applied
    assert host.work("Was everything approved and applied?") == "applied\n"
    assert Project.open(host.repository, "ci").pipeline("student_grades").plan().is_empty
