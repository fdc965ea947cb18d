"""Commands that use the server's Spark: the same results, and nothing left of those that die. Real Spark, real processes."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.server.places import place_of
from tests.terminal import Terminal

_ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = """
CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, price BIGINT);
CREATE MATERIALIZED VIEW spent AS SELECT customer, SUM(price) AS total FROM orders GROUP BY customer;
"""
_PIPELINE = """
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec: {bootstrap_policy: allow}
"""
_SPENT = "SELECT * FROM spent ORDER BY customer"
_MANY = "(SELECT explode(sequence(1, 100000)) AS id FROM spent)"
_LONG = f"SELECT SUM(a.id % b.id) AS found FROM {_MANY} a CROSS JOIN {_MANY} b"

pytestmark = [pytest.mark.spark]


@dataclass
class _Repository:
    root: Path
    environment: dict[str, str]

    def reconcile(self, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*_PROGRAM_OF_USERS, *words],
            cwd=self.root,
            env=self.environment | more,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def query(self, **more: str) -> str:
        done = self.reconcile("query", "shop", _SPENT, "--format", "csv", **more)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def insert(self, row: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return self.reconcile("execute", "shop", f"INSERT INTO orders VALUES {row}", **more)


_PROGRAM_OF_USERS = [sys.executable, "-c", "from reconciler.cli.main import main; main()"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Repository]:
    """A repository with a server, and a pipeline that is applied and has a row."""
    root = tmp_path_factory.mktemp("served")
    folder = root / "pipelines" / "shop"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(_PIPELINE)
    (folder / "program.sql").write_text(_PROGRAM)
    environment = {name: text for name, text in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    repository = _Repository(root, environment | {"PYTHONPATH": str(_ROOT), "XDG_STATE_HOME": str(root / "state")})
    started = repository.reconcile("serve", "--background")
    assert re.fullmatch(
        r"ready: process \d+; API at http://localhost:\d+; `reconcile serve --stop` ends it\n", started.stdout
    ), started.stderr
    yield repository
    stopped = repository.reconcile("serve", "--stop")
    assert re.fullmatch(r"process \d+ has ended\n", stopped.stdout)


@pytest.fixture
def shop(served: _Repository) -> _Repository:
    """With a new warehouse: what the server's Spark knew of the tables of the last one is of no use."""
    shutil.rmtree(served.root / ".reconcile", ignore_errors=True)
    applied = served.reconcile("apply", "shop")
    assert applied.returncode == 0, applied.stderr
    assert served.insert("(1, 'ada', 5)").returncode == 0
    return served


def test_the_results_are_those_of_a_spark_of_its_own(shop: _Repository) -> None:
    done = shop.insert("(2, 'ben', 7)")
    assert (done.returncode, done.stdout) == (0, "orders: 1 row(s); brought up to date: spent\n")
    assert shop.query() == "customer,total\nada,5\nben,7\n"


@pytest.mark.slow
def test_errors_are_those_of_a_spark_of_its_own(shop: _Repository) -> None:
    refused = shop.reconcile("query", "shop", "SELECT nothing FROM spent")
    assert refused.returncode == 1
    alone = shop.reconcile("query", "shop", "SELECT nothing FROM spent", RECONCILE_OWN_SPARK="1")
    assert (alone.returncode, alone.stdout, alone.stderr) == (refused.returncode, refused.stdout, refused.stderr)


@pytest.mark.slow
def test_a_spark_of_its_own_where_the_servers_knows_another_environment(shop: _Repository) -> None:
    done = shop.reconcile("query", "shop", _SPENT, "--format", "csv", OF_A_LIBRARY="1")

    assert done.stdout == "customer,total\nada,5\n"
    assert done.stderr == "starting a Spark of its own: the server's was started with another OF_A_LIBRARY\n"


@pytest.mark.slow
@pytest.mark.parametrize("place", ["table:effected", "view:effected"])
def test_who_dies_in_a_step_leaves_what_the_next_one_finishes(shop: _Repository, place: str) -> None:
    died = shop.insert("(2, 'ben', 7)", RECONCILE_CRASH_AT=place)
    assert died.returncode == -signal.SIGKILL
    assert shop.insert("(3, 'cyd', 9)").returncode == 0

    assert shop.query() in ("customer,total\nada,5\nben,7\ncyd,9\n", "customer,total\nada,5\ncyd,9\n")
    plan = shop.reconcile("plan", "shop")
    assert "no changes" in plan.stdout


def test_what_is_interrupted_works_on_in_nobodys_name(shop: _Repository) -> None:
    asking = subprocess.Popen(
        [*_PROGRAM_OF_USERS, "query", "shop", _LONG],
        cwd=shop.root,
        env=shop.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Until Spark is at it.
    time.sleep(5)
    assert asking.poll() is None
    asking.send_signal(signal.SIGINT)
    said = asking.communicate(timeout=60)
    assert (asking.returncode, said[0], said[1].strip()) == (130, "", "interrupted")
    # Spark has its cores again.
    assert shop.query() == "customer,total\nada,5\n"


@pytest.mark.slow
def test_a_prompt_goes_on_after_a_query_that_was_interrupted(shop: _Repository) -> None:
    with Terminal([*_PROGRAM_OF_USERS, "query", "shop"], shop.environment | {"TERM": "dumb"}, shop.root) as terminal:
        terminal.until("shop> ", 60)
        terminal.type(f"{_SPENT};\n".encode())
        terminal.until("(1 row, step 1)", 60)
        terminal.until("shop> ")
        terminal.type(f"{_LONG};\n".encode())
        time.sleep(5)
        terminal.type(b"\x03")
        terminal.until("shop> ", 60)
        terminal.type(f"{_SPENT};\n".encode())
        terminal.until("(1 row, step 1)", 60)
        terminal.until("shop> ")
        terminal.type(b"\x04")
        assert terminal.process.wait(20) == 0
        assert "own" not in terminal.heard


@pytest.mark.slow
def test_a_spark_that_died_is_started_again_and_commands_do_not_wait_for_it(shop: _Repository) -> None:
    log = place_of(shop.root).log
    os.kill(_java_of(int(place_of(shop.root).lock.read_text("ascii"))), signal.SIGKILL)
    said = log.read_text("utf-8").count("ready")

    assert shop.query() == "customer,total\nada,5\n"
    until = time.monotonic() + 120
    while log.read_text("utf-8").count("ready") == said and time.monotonic() < until:
        time.sleep(0.2)
    assert shop.query() == "customer,total\nada,5\n"


def _java_of(server: int) -> int:
    """The process of Java that is a grandchild of the server."""
    for child in _children(server):
        for inner in _children(child):
            if Path(f"/proc/{inner}/cmdline").read_bytes().partition(b"\0")[0].endswith(b"java"):
                return inner
    raise AssertionError("the server has no Spark")


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text("ascii").split())
    return found
