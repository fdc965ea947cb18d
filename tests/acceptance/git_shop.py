"""A git repository with a small pipeline, for tests of approval through the command line.

The pipeline has tables and plain views only, so that no step needs an engine: git, registry and Delta are real.
"""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from tests.served import run

ONE = """\
CREATE TABLE orders (id BIGINT, amount DECIMAL(10,2)) WITH ('materialized' = 'true');
CREATE VIEW totals AS SELECT SUM(amount) AS total FROM orders;
"""
TWO = ONE.replace("SUM(amount)", "MAX(amount)")
THREE = ONE.replace("SUM(amount)", "MIN(amount)")
CONNECTOR = """\
  connectors:
    - name: history
      table: orders
      transport: {name: delta_table_input, config: {uri: somewhere, mode: snapshot}}
"""


class Shop:
    """A git repository with one pipeline, driven through the command line. Its folder is made if it is missing."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.folder = root / "pipelines" / "shop"
        self.lock = self.folder / "plan.lock"
        self._capsys = capsys
        root.mkdir(exist_ok=True)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ann")
        self.git("config", "user.email", "ann@example.org")
        (root / ".gitignore").write_text(".reconcile/\n")
        self.write(ONE)
        self.commit("first")

    def git(self, *arguments: str, ok: bool = True) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) is ok, done.stdout + done.stderr
        return done.stdout

    def write(self, program: str, spec: str = "", policy: str = "await_approval") -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "program.sql").write_text(program)
        (self.folder / "pipeline.yaml").write_text(
            "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
            f"spec:\n  bootstrap_policy: {policy}\n{spec}"
        )

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def reconcile(self, *arguments: str, expect: int = 0) -> str:
        self._capsys.readouterr()
        code = run([*arguments, "--repo", str(self.root)])
        captured = self._capsys.readouterr()
        text = captured.out + captured.err
        assert code == expect, f"exit {code}\n{text}"
        return text

    def lock_and_commit(self, message: str = "change and lock") -> None:
        """Have the working tree, with the lock of its plan, in a commit."""
        self.reconcile("plan", "shop", "--write-lock")
        self.commit(message)

    def plan(self) -> dict[str, object]:
        text = self.reconcile("plan", "shop", "--format", "json")
        plan: dict[str, object] = json.loads(text)["plans"][0]
        return plan

    def fingerprint(self) -> dict[str, str]:
        """Every byte under the warehouse."""
        folder = self.root / ".reconcile"
        return {
            str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }


def applied_shop(folder: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    """The repository below this folder, with its first version applied."""
    shop = Shop(folder / "repository", capsys)
    shop.reconcile("apply", "shop")
    return shop


def refused(shop: Shop, reason: str, code: str = "A501") -> None:
    """Apply refuses with exit 2 and this reason, and leaves every byte as it was."""
    before = shop.fingerprint()
    text = shop.reconcile("apply", "shop", expect=2)
    assert code in text, text
    assert reason in text, text
    after = shop.fingerprint()
    assert after == before, sorted(name for name, _ in before.items() ^ after.items())


def make_pipeline(root: Path, name: str) -> None:
    """Another pipeline beside it, of the same program as `ONE`."""
    folder = root / "pipelines" / name
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(f"apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {{name: {name}}}\n")
    (folder / "program.sql").write_text(ONE)
