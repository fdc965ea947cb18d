"""A command prints, returns and leaves the same, whether a server runs it or not, however it is typed: lines of a shell,
and a terminal. The commands have the recording engine; with Spark, transcripts run both ways (tests/served.py)."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.base.errors import EXIT_ERROR
from tests.acceptance.killed import reconcile
from tests.acceptance.shop import write_shop
from tests.cells import mostly_slow
from tests.served import LONG, RECORDING, Outcome, Servers, both_ways, environment, left, put_back, run, without_ids
from tests.terminal import Terminal

PROGRAM = """\
CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer VARCHAR, price BIGINT);
CREATE TABLE notes (id BIGINT);
CREATE MATERIALIZED VIEW spent AS SELECT customer, {} AS total FROM orders GROUP BY customer;
"""
COMMAND = (sys.executable, "-m", "tests.acceptance.killed")
SHELL = f'reconcile() {{ {shlex.join(COMMAND)} "$@"; }}\n'
ORDERS = "SELECT * FROM orders"
INSERT = "INSERT INTO orders VALUES (3, 'Élodie', 7)"
ALONE = {"RECONCILE_OWN_SPARK": "1"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, servers: Servers) -> Iterator[Path]:
    """A repository of two versions, with rows and a checkpoint, and a change that is not applied yet."""
    root = tmp_path_factory.mktemp("either-way") / "repository"
    more = "  versions: {reads: true}\n"
    write_shop(root, PROGRAM.format("SUM(price)"), more=more)
    rows = ", ".join(f"({number}, 'Zoë {number}', {number})" for number in range(10, 30))
    for words in (("apply", "shop"), ("execute", "shop", f"INSERT INTO orders VALUES {rows}")):
        assert reconcile(root, *words).returncode == 0
    write_shop(root, PROGRAM.format("MAX(price)"), more=more)
    for words in (("apply", "shop"), ("checkpoint", "create", "shop", "--name", "then")):
        assert reconcile(root, *words).returncode == 0
    write_shop(root, PROGRAM.format("MIN(price)"), more=more)
    with servers.leading_from(root, RECORDING):
        yield root


def typed(root: Path, line: str, more: dict[str, str]) -> Outcome:
    """What becomes of a line of a shell."""
    done = subprocess.run(
        ["bash", "-c", SHELL + line],
        cwd=root,
        env=environment() | {"ROOT_OF_SHOP": str(root)} | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    out, err = (without_ids(text.decode("utf-8", "backslashreplace")) for text in (done.stdout, done.stderr))
    return Outcome(done.returncode, out, err, left(root))


def check(root: Path, servers: Servers, line: str) -> None:
    """Type a line both ways."""
    before = servers.served(RECORDING)
    with put_back(root):
        served = typed(root, line, {})
    between = servers.served(RECORDING)
    assert between > before, "no server took it"
    with put_back(root):
        alone = typed(root, line, ALONE)
    assert servers.served(RECORDING) == between
    served.compare(alone, line)


WORDS = [
    f'query shop "{ORDERS}" --format csv',
    f'query shop "{ORDERS}" --format json',
    f'query shop "{ORDERS}" --at-step 1',
    'query shop "SELECT * FROM spent@v0"',
    f'execute shop "{INSERT}"',
    'execute shop "DELETE FROM orders WHERE id = 10"',
    "apply shop",
    "apply shop --no-promote",
    "apply",
    "run shop --once",
    "rollback spent",
    "rollback spent --plan",
    "promote",
    "prune",
    "prune --dry-run --format json",
    "versions diff spent@v0 --data",
    "checkpoint restore shop then",
]
WRONG = [
    "query",
    "query --help",
    "apply -h",
    "run --once --help",
    "query shop x --format yaml",
    "query shop --nothing",
    "query shp 'SELECT 1'",
    "query shop 'SELEC 1'",
    "query shop 'SELECT * FROM ordes'",
    "query shop 'SELECT 1' --env nothing",
    "query shop 'SELECT 1' --repo nowhere",
    "execute shop 'DROP TABLE orders'",
    "execute shop 'INSERT INTO orders VALUES (1)'",
    "execute shop \"INSERT INTO orders VALUES ('a', 'b', 'c')\"",
    "apply nothing",
    "rollback nothing",
    "rollback",
    "checkpoint restore shop nothing",
    "versions diff spent@v7 --data",
]
LINES = [
    f"cd pipelines/shop && reconcile query shop '{ORDERS} LIMIT 1'",
    f'umask 027; reconcile execute shop "{INSERT}"',
    f"reconcile query shop '{LONG}' --format csv | head -1; echo ${{PIPESTATUS[*]}}",
    f'ulimit -f 0; reconcile execute shop "{INSERT}"; echo $?',
    f"cd .. && reconcile query shop '{ORDERS}' --repo repository",
    f"cd / && reconcile query --repo=\"$ROOT_OF_SHOP\" shop '{ORDERS}'",
    f'umask 077; reconcile execute shop "{INSERT}"',
    f"LC_ALL=C reconcile query shop '{ORDERS}'",
    f"LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 reconcile query shop '{ORDERS}'",
    f"PYTHONIOENCODING=latin-1 reconcile query shop '{ORDERS}' --format csv",
    f"PYTHONIOENCODING=ascii reconcile query shop '{ORDERS}'",
    "PYTHONUNBUFFERED=1 reconcile apply shop 2>&1",
    f"nice -n 5 {shlex.join(COMMAND)} query shop 'SELECT 1'",
    "LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 reconcile execute shop \"INSERT INTO orders VALUES (3, 'Zoë', 7)\"",
    "COLUMNS=40 reconcile apply --help",
    "NO_COLOR=1 reconcile apply nothing",
    "FORCE_COLOR=1 reconcile apply nothing",
    "TERM=dumb reconcile apply nothing",
    "TZ=Asia/Tokyo reconcile rollback spent",
    "reconcile apply shop > all 2>&1; echo $?; cat all; rm all",
    f"reconcile query shop '{LONG}' | head -1; echo ${{PIPESTATUS[*]}}",
    f"reconcile query shop '{LONG}' --format json | head -1; echo ${{PIPESTATUS[*]}}",
    f"reconcile query shop '{ORDERS}' > /dev/full; echo $?",
    f"reconcile query shop '{ORDERS}' --format csv > /dev/full; echo $?",
    "reconcile apply nothing 2> /dev/full; echo $?",
    "reconcile apply shop > /dev/full; echo $?",
    "reconcile apply shop 2> /dev/full; echo $?",
    f"printf 'SELECT 1;\\n{ORDERS} LIMIT 2;\\nSELEC;\\n' | reconcile query shop; echo $?",
    "reconcile query shop < /dev/null; echo $?",
    f"reconcile query shop '{ORDERS}' < /dev/zero | tail -1",
    'for n in 1 2 3; do reconcile execute shop "INSERT INTO notes VALUES ($n)" > /dev/null 2>&1 & done; wait; echo done',
    # The shell says which process was killed.
    '{ RECONCILE_CRASH_AT=table:effected reconcile execute shop "INSERT INTO notes VALUES (3)"; } 2> /dev/null; echo $?',
    "exec 5< pipelines/shop/program.sql; reconcile query shop 'SELECT 1'; cat <&5",
    "setsid -w " + shlex.join(COMMAND) + " query shop 'SELECT 1'",
    "USER=ann LOGNAME=ann reconcile apply shop",
    "reconcile apply shop --env dev",
]


ON_A_TERMINAL = ["apply shop", "apply nothing", f"query shop '{ORDERS}'", "query --help", "run shop --once"]


@pytest.mark.parametrize("words", mostly_slow(WORDS, "apply shop"))
def test_results(words: str, shop: Path, servers: Servers) -> None:
    check(shop, servers, f"reconcile {words}")


@pytest.mark.parametrize("words", mostly_slow(WRONG, "query shp 'SELECT 1'"))
def test_what_is_wrong(words: str, shop: Path, servers: Servers) -> None:
    check(shop, servers, f"reconcile {words}")


@pytest.mark.parametrize("line", LINES)
def test_lines_of_a_shell(line: str, shop: Path, servers: Servers) -> None:
    check(shop, servers, line)


@pytest.mark.parametrize("words", mostly_slow(ON_A_TERMINAL, "apply shop"))
def test_a_terminal(words: str, shop: Path) -> None:
    def shown(more: dict[str, str]) -> Outcome:
        command = [*COMMAND, *shlex.split(words)]
        with put_back(shop), Terminal(command, environment() | {"TERM": "xterm"} | more, shop) as terminal:
            terminal.until_ended()
            return Outcome(terminal.process.wait(20), without_ids(terminal.heard), "", left(shop))

    shown({}).compare(shown(ALONE), words)


def test_what_a_server_was_asked_for_no_command_was(
    tmp_path: Path, servers: Servers, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was started with --env."""
    write_shop(tmp_path, PROGRAM.format("SUM(price)"))
    with both_ways(servers):
        assert run(["query", "shop", "SELECT 1", "--repo", str(tmp_path)]) == EXIT_ERROR
    assert "hint: run: reconcile apply\n" in capsys.readouterr().err
