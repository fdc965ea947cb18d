"""Real kills of what moves versions: pinning, rolling back, staging and promoting, each killed with SIGKILL at a boundary,
in a process of its own with Spark, and asked for again.

One of each in every run of the slow suite; the recording engine dies at all of them in every run (`test_pinned_views`,
`test_rollback`, `test_staging`).
"""

import shutil
import signal
from pathlib import Path

import pytest

from reconciler import Project
from reconciler.engine.protocol import Engine
from tests.acceptance.shop import stored_rows, write_shop
from tests.acceptance.test_kills import reconcile

pytestmark = [pytest.mark.spark, pytest.mark.slow]

READS = "  versions: {reads: true}\n"
APPLY_PLACES = ("open:recorded", "publish_view:effected", "commit_snapshot:intended", "commit_snapshot:effected")


def program(query: str) -> str:
    view = f"CREATE MATERIALIZED VIEW total AS SELECT {query} AS total FROM orders;\n"
    return "CREATE TABLE orders (id BIGINT, price INT);\n" + view


SUM, LARGEST, SMALLEST = program("SUM(price)"), program("MAX(price)"), program("MIN(price)")


@pytest.fixture(scope="module")
def two_versions(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine) -> Path:
    """A view with versions v0 (the sum) and v1 (the largest), v1 active, both of the same rows."""
    root = tmp_path_factory.mktemp("two_versions")
    write_shop(root, SUM, "allow", READS)
    shop = Project.open(root, engine=spark_engine).pipeline("shop")
    shop.apply()
    shop.execute("INSERT INTO orders VALUES (1, 10), (2, 20)")
    write_shop(root, LARGEST, "allow", READS)
    shop.apply()
    return root


def copied(root: Path, folder: Path) -> Path:
    return Path(shutil.copytree(root, folder / "shop"))


def states(root: Path) -> dict[str, str]:
    """Of each version of the view, its state."""
    lines = reconcile(root, "versions", "list", "total").stdout.splitlines()
    at = lines[0].index("STATE")
    return {line.split()[0]: line[at:].strip() for line in lines[2:] if line.startswith("v")}


def kill(root: Path, boundary: str, *command: str) -> None:
    killed = reconcile(root, *command, crash_at=boundary)
    assert killed.returncode == -signal.SIGKILL, killed.stderr


def ask_again(root: Path, *command: str, done: str = "") -> None:
    """`done` is the code of the error that says that it is done already."""
    again = reconcile(root, *command)
    assert again.returncode == 0 or (done and done in again.stderr), again.stderr


def assert_settled(root: Path, rows: list[tuple[int]], expected: dict[str, str]) -> None:
    assert stored_rows(root, "total") == rows
    assert states(root) == expected
    plan = reconcile(root, "plan", "shop")
    assert (plan.returncode, "no changes" in plan.stdout) == (0, True), plan.stdout + plan.stderr


@pytest.mark.parametrize("boundary", APPLY_PLACES)
def test_a_pin(boundary: str, two_versions: Path, tmp_path: Path) -> None:
    root = copied(two_versions, tmp_path)
    write_shop(root, LARGEST, "allow", READS + "  views: {total: {version: v0}}\n")
    kill(root, boundary, "apply", "shop")
    ask_again(root, "apply", "shop")
    assert_settled(root, [(30,)], {"v1": "", "v0": "active"})


@pytest.mark.parametrize("boundary", APPLY_PLACES)
def test_a_rollback(boundary: str, two_versions: Path, tmp_path: Path) -> None:
    root = copied(two_versions, tmp_path)
    kill(root, boundary, "rollback", "total@v0")
    ask_again(root, "rollback", "total@v0", done="A542")
    assert_settled(root, [(30,)], {"v1": "", "v0": "active (rolled back)"})


@pytest.mark.parametrize("boundary", ["stage_view:effected", "stage:intended", "stage:recorded"])
def test_staging(boundary: str, two_versions: Path, tmp_path: Path) -> None:
    root = copied(two_versions, tmp_path)
    write_shop(root, SMALLEST, "allow", READS)
    kill(root, boundary, "apply", "shop", "--no-promote")
    ask_again(root, "apply", "shop", "--no-promote")
    assert stored_rows(root, "total") == [(20,)]
    assert states(root) == {"v2": "staged", "v1": "active", "v0": ""}
    ask_again(root, "promote", "total@v2")
    assert_settled(root, [(10,)], {"v2": "active", "v1": "", "v0": ""})


@pytest.mark.parametrize("boundary", APPLY_PLACES)
def test_promoting(boundary: str, two_versions: Path, tmp_path: Path) -> None:
    root = copied(two_versions, tmp_path)
    write_shop(root, SMALLEST, "allow", READS)
    ask_again(root, "apply", "shop", "--no-promote")
    kill(root, boundary, "promote", "total@v2")
    ask_again(root, "promote", "total@v2", done="A571")
    assert_settled(root, [(10,)], {"v2": "active", "v1": "", "v0": ""})
