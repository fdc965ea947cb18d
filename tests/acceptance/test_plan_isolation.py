"""`plan` is safe on a stranger's pull request: it needs no Java, starts no process but git, writes nothing, imports no
engine, and gives the same bytes everywhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.environment.source import write_text
from tests.acceptance.shop import AFTER, BEFORE, write_shop

WATCH = """
import json, sys
started, opened = [], []
def hook(event, arguments):
    if event == "subprocess.Popen":
        executable, words = arguments[0], arguments[1]
        started.append(str(words[0] if isinstance(words, (list, tuple)) and words else executable))
    elif event in ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile"):
        started.append(event)
    elif event == "open" and isinstance(arguments[0], int):
        pass  # a pipe, to git; whatever has a name was told when that was opened
    elif event == "open" and isinstance(arguments[1], str) and any(c in arguments[1] for c in "wax+"):
        opened.append(str(arguments[0]))
sys.addaudithook(hook)
from reconciler.cli.main import run
code = run(sys.argv[1:])
modules = sorted({name.partition(".")[0] for name in sys.modules})
print(json.dumps({"code": code, "started": started, "opened": opened, "modules": modules}), file=sys.stderr)
"""


def plan_watched(root: Path, *arguments: str, hash_seed: str = "0") -> tuple[str, dict[str, object]]:
    """Run plan in a process whose PATH holds git and nothing else; its output, and what it was seen to do."""
    git = shutil.which("git")
    assert git is not None
    tools = root.parent / "tools"
    tools.mkdir(exist_ok=True)
    if not (tools / "git").exists():
        (tools / "git").symlink_to(git)
    environment = {
        "PATH": str(tools),
        "HOME": str(root.parent),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONHASHSEED": hash_seed,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", WATCH, "plan", "shop", "--repo", str(root), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stderr.strip(), done
    seen = json.loads(done.stderr.strip().splitlines()[-1])
    assert seen["code"] == 0, done.stderr
    return done.stdout, seen


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    write_shop(root, BEFORE)
    return root


def test_plan_needs_no_java_and_starts_nothing_but_git(repository: Path) -> None:
    text, seen = plan_watched(repository)
    assert "Plan:" in text
    started = seen["started"]
    assert isinstance(started, list)
    assert {Path(name).name for name in started} <= {"git"}
    assert not {"pyspark", "py4j", "delta"} & set(seen["modules"])  # type: ignore[call-overload]


def test_plan_writes_no_file(repository: Path) -> None:
    _, seen = plan_watched(repository)
    opened = seen["opened"]
    assert isinstance(opened, list)
    assert [name for name in opened if name != os.devnull] == []
    assert not (repository / "warehouse").exists()


def test_the_same_inputs_give_the_same_bytes(repository: Path) -> None:
    first = {form: plan_watched(repository, "--format", form, hash_seed="1")[0] for form in ("text", "json", "markdown")}
    again = {form: plan_watched(repository, "--format", form, hash_seed="77")[0] for form in ("text", "json", "markdown")}
    assert first == again


def test_the_order_of_files_and_statements_does_not_change_the_bytes(repository: Path) -> None:
    first = plan_watched(repository, "--format", "json")[0]
    folder = repository / "pipelines" / "shop"
    statements = [statement.strip() + ";\n" for statement in BEFORE.split(";") if statement.strip()]
    (folder / "program.sql").unlink()
    for number, statement in enumerate(reversed(statements)):
        (folder / f"{number:02d}.sql").write_text(statement)
    assert plan_watched(repository, "--format", "json")[0] == first


def test_plan_follows_no_link_out_of_the_pipelines_folder(repository: Path, tmp_path: Path) -> None:
    from reconciler.cli.main import run

    outside = tmp_path / "outside"
    (repository / "pipelines" / "shop").rename(outside)
    (repository / "pipelines" / "shop").symlink_to(outside)
    assert run(["plan", "shop", "--repo", str(repository)]) == 1
    (repository / "pipelines" / "shop").unlink()
    outside.rename(repository / "pipelines" / "shop")
    (tmp_path / "secret.sql").write_text("CREATE VIEW secret AS SELECT 1 AS x;")
    (repository / "pipelines" / "shop" / "more.sql").symlink_to(tmp_path / "secret.sql")
    assert run(["plan", "shop", "--repo", str(repository)]) == 1


def test_a_lock_is_written_through_no_link(repository: Path, tmp_path: Path) -> None:
    """What a lock is written into before it is moved into place has a name that a repository may have given to a link."""
    keys = tmp_path / "keys"
    keys.write_text("mine")
    lock = repository / "pipelines/shop/plan.lock"
    lock.with_name(".plan.lock.tmp").symlink_to(keys)
    lock.symlink_to("program.sql")

    write_text(lock, "a lock")

    assert keys.read_text() == "mine"
    assert lock.read_text() == "a lock"
    assert not lock.is_symlink()
    assert not os.path.lexists(lock.with_name(".plan.lock.tmp"))


def test_plan_executes_nothing_from_the_repository(repository: Path) -> None:
    folder = repository / "pipelines" / "shop"
    (folder / "program.sql").write_text(AFTER + "CREATE VIEW t AS SELECT '{{ 1 + 1 }}' AS x, '$(touch pwned)' AS y;\n")
    for name in ("conftest.py", "sitecustomize.py", "reconciler.py", "yaml.py"):
        (folder / name).write_text("open('pwned', 'w')\n")
        (repository / name).write_text("open('pwned', 'w')\n")
    plan_watched(repository)
    assert not list(repository.rglob("pwned"))
