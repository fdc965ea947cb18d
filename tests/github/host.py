"""GitHub as the tests of workflows need it: the files that it reads, and a machine of its that runs their scripts."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github/actions/reconcile/action.yml"
WORKFLOW = ROOT / ".github/workflows/reconcile.yml"


def read(file: Path) -> dict[str, Any]:
    found = yaml.safe_load(file.read_text("utf-8"))
    assert isinstance(found, dict)
    # YAML 1.1 reads the key `on` as true.
    return {"on" if key is True else key: value for key, value in found.items()}


def steps(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from document.get("runs", {}).get("steps", [])
    for job in document.get("jobs", {}).values():
        yield from job.get("steps", [])


def step(file: Path, name: str) -> dict[str, Any]:
    found = [one for one in steps(read(file)) if one.get("name") == name]
    assert len(found) == 1, f"{file.name} has {len(found)} steps named {name!r}"
    return found[0]


class Runner:
    """A stand-in for the host's machine: folders, files that scripts write to, programs that they call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "temp"
        (self.temporary / "reconciler/bin").mkdir(parents=True)
        (folder / "bin").mkdir()

    def program(self, path: Path, script: str) -> None:
        path.write_text(f"#!/usr/bin/env bash\n{script}", "utf-8")
        path.chmod(0o755)

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
            **variables,
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(command, cwd=self.folder, env=environment, text=True, capture_output=True, check=False)

    def outputs(self) -> dict[str, str]:
        lines = (self.folder / "output").read_text("utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)
