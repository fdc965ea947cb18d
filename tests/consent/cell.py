"""One cell of the consent matrix: a git repository whose two pipelines are applied, copied from one that was made once.

Environment `prod` names `branch: main`; its warehouse stands beside the repository, so that clones and worktrees share it.
Pipeline `shop` awaits approval, `free` allows. Tables and plain views only: nothing is computed, so no engine is needed.
"""

# ruff: noqa: E501 (a connector in one line)

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from reconciler import __version__
from reconciler.environment.source import lock_path, write_text
from reconciler.plan.lock import with_section
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter

PROJECT = """\
default: prod
environments:
  prod: {warehouse: ../warehouse, branch: main, variables: {folder: in}}
  dev: {warehouse: ../dev, variables: {folder: in}}
"""
SHOP = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop, description: What we sell}
spec:
  bootstrap_policy: await_approval
  retention: {versions: 5}
  runtime: {workers: 1}
  tables: {orders: {protect: true, used_by: [tax office]}}
  connectors:
    - {name: history, table: orders, paused: false, transport: {name: file_input, config: {path: "${var:folder}"}}, format: {name: json}}
"""
FREE = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: free}
spec: {bootstrap_policy: allow}
"""
PROGRAM = """\
CREATE TABLE orders (id BIGINT, amount DECIMAL(10,2));
CREATE TABLE other (id BIGINT);
CREATE FUNCTION twice(x DECIMAL(10,2)) RETURNS DECIMAL(11,2) AS x + x;
CREATE VIEW totals AS SELECT SUM(amount) AS total FROM orders;
CREATE VIEW doubled AS SELECT twice(amount) AS amount FROM orders;
"""

# Git as it is on a machine where nobody set anything.
GIT: Mapping[str, str] = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
}


class Cell:
    """See the module. `root` is where apply is run: a place may move it. `environment` is the one that is asked for."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = home / "repository"
        self.environment = "prod"
        self.variables: dict[str, str] = {}

    def git(self, *words: str, at: Path | None = None, said: str | None = None) -> str:
        done = subprocess.run(
            ["git", "-c", "gc.auto=0", *words],
            cwd=at or self.root,
            env=GIT,
            capture_output=True,
            text=True,
            check=False,
            input=said,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout.strip()

    def commit(self, message: str = "commit", at: Path | None = None) -> str:
        self.git("add", "-A", at=at)
        self.git("commit", "-q", "--allow-empty", "-m", message, at=at)
        return self.git("rev-parse", "HEAD", at=at)

    def project(self) -> Project:
        return Project.open(self.root, self.environment, engine=RecordingEngine(DeltaWriter()))

    def lock(self, pipeline: str) -> None:
        """Write the lock of the plan of what the working tree says, if it needs one."""
        plan = self.project().pipeline(pipeline).plan()
        path = lock_path(self.root, pipeline)
        before = path.read_text() if path.exists() else None
        write_text(
            path, with_section(before, plan if plan.needs_approval else None, __version__, pipeline, plan.environment)
        )

    def merge(self, branch: str, *how: str) -> None:
        """Have a branch in main, and main checked out."""
        self.git("checkout", "-q", "main")
        self.git("merge", "-q", *(how or ("--no-ff", "--no-edit")), branch)

    def warehouse(self) -> dict[str, str]:
        """Every byte of what is applied."""
        folder = self.home / "warehouse"
        return {
            str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }


def make_base(home: Path) -> None:
    """The repository and warehouse that every cell begins with."""
    root = home / "repository"
    for name, yaml in (("shop", SHOP), ("free", FREE)):
        folder = root / "pipelines" / name
        folder.mkdir(parents=True)
        (folder / "pipeline.yaml").write_text(yaml)
        (folder / "program.sql").write_text(PROGRAM)
    (root / "reconcile.yaml").write_text(PROJECT)
    cell = Cell(home)
    cell.git("init", "-q", "-b", "main")
    shutil.rmtree(root / ".git" / "hooks")
    cell.commit("base")
    for name in ("shop", "free"):
        cell.project().pipeline(name).apply()
    cell.commit("so that there is an older commit")


def copy_base(base: Path, home: Path) -> Cell:
    shutil.copytree(base, home, symlinks=True)
    return Cell(home)


Edit = Callable[[Path], None]
