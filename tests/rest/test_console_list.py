"""The console's list of pipelines: it is of now, and asks git and the registry's index once, however many there are."""

import subprocess
from dataclasses import replace
from pathlib import Path
from shutil import which

import pytest

from reconciler import Project
from reconciler.apply.planning import plan_pipeline
from reconciler.apply.rejecting import reject_plan
from reconciler.environment.target import open_target
from reconciler.registry.delta import DeltaRegistry
from reconciler.rest.console.views import Listed, list_pipelines
from reconciler.rest.pipeline_json import Lookup
from reconciler.rest.shared import new_service
from reconciler.server.places import place_of
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.rest.conftest import new_repository

PROGRAM = "CREATE TABLE items (id BIGINT);\nCREATE VIEW counted AS SELECT COUNT(*) AS n FROM items;\n"
CHANGED = PROGRAM.replace("COUNT(*)", "COUNT(id)")


class Repository:
    """A git repository with pipelines that are applied, and the service of it."""

    def __init__(self, root: Path, count: int) -> None:
        self.root, self.names = new_repository(root), [f"p{number}" for number in range(count)]
        (root / ".gitignore").write_text(".reconcile/\n")
        for name in self.names:
            self.write(name, PROGRAM)
        for words in (
            ["init", "-q", "-b", "main"],
            ["config", "user.name", "Ann"],
            ["config", "user.email", "ann@example.org"],
        ):
            self.git(*words)
        self.commit()
        for name in self.names:
            self.apply(name)
        target = open_target(root, None)
        self.service = new_service(target, place_of(root), lambda: "ann")

    def write(self, name: str, program: str, policy: str = "await_approval") -> None:
        folder = self.root / "pipelines" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pipeline.yaml").write_text(
            f"apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {{name: {name}}}\nspec: {{bootstrap_policy: {policy}}}\n"
        )
        (folder / "program.sql").write_text(program)

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.root, check=True)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")

    def apply(self, name: str) -> None:
        """As another process does it."""
        with Project.open(self.root, engine=RecordingEngine(DeltaWriter())) as project:
            pipeline = project.pipeline(name)
            plan = pipeline.plan()
            if plan.needs_approval:
                pipeline.approve(plan.digest, by="ann")
            pipeline.apply()

    def listed(self) -> dict[str, Listed]:
        return {one.name: one for one in list_pipelines(self.service)}


def test_the_list_is_of_now(tmp_path: Path) -> None:
    repository = Repository(tmp_path, 2)
    listed = repository.listed
    assert [(one.pending, one.needs_approval) for one in listed().values()] == [("no changes", False)] * 2
    repository.write("p0", CHANGED)
    assert "1 to modify" in listed()["p0"].pending
    assert listed()["p0"].needs_approval
    assert listed()["p1"].pending == "no changes"
    repository.write("p0", PROGRAM)
    assert listed()["p0"].pending == "no changes"
    repository.write("p0", CHANGED)
    repository.apply("p0")
    assert listed()["p0"].pending == "no changes"
    repository.write("p2", PROGRAM)
    assert "2 to add" in listed()["p2"].pending
    repository.apply("p2")
    (repository.root / "pipelines" / "p2" / "program.sql").unlink()
    (repository.root / "pipelines" / "p2" / "pipeline.yaml").unlink()
    assert "2 to remove" in listed()["p2"].pending
    (repository.root / "policy.yaml").write_text("rules: nonsense\n")
    assert listed()["p1"].pending == "no changes", "the policy in force is that of the base branch"
    repository.commit()
    assert "error(s)" in listed()["p1"].pending


def test_a_rejection_is_seen_at_once(tmp_path: Path) -> None:
    repository = Repository(tmp_path, 1)
    repository.write("p0", CHANGED, policy="allow")
    repository.apply("p0")
    repository.write("p0", PROGRAM, policy="allow")
    assert not repository.listed()["p0"].needs_approval
    target = open_target(repository.root, None)
    reject_plan(target, "p0", plan_pipeline(target, "p0").digest, "bob", "not now")
    assert repository.listed()["p0"].needs_approval


@pytest.mark.parametrize("program", [PROGRAM, CHANGED], ids=["nothing changed", "all changed"])
def test_what_is_the_same_for_all_is_asked_once(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[tuple[int, int]] = []
    for count in (2, 5):
        repository = Repository(tmp_path / str(count), count)
        for name in repository.names:
            repository.write(name, program)
        # A git that tells how often it is started.
        told, shim = tmp_path / f"started{count}", tmp_path / f"shim{count}"
        shim.mkdir()
        (shim / "git").write_text(f'#!/bin/sh\necho >> {told}\nexec {which("git")} "$@"\n')
        (shim / "git").chmod(0o755)
        registry = Counting(repository.service.target.warehouse)
        service = replace(repository.service, target=replace(repository.service.target, registry=registry))
        service = replace(service, lookup=Lookup(service.target, service.compiler, service.deployments))
        with monkeypatch.context() as patch:
            patch.setenv("PATH", str(shim), prepend=":")
            assert len(list_pipelines(service)) == count
        found.append((registry.asked, len(told.read_text().splitlines())))
    assert found[0] == found[1]


class Counting(DeltaRegistry):
    """Counts how often somebody asks for all pipelines."""

    asked = 0

    def pipelines(self) -> tuple[str, ...]:
        self.asked += 1
        return super().pipelines()
