"""A served command is the command: its folder, environment, streams, signals and end. Without Spark (`program`)."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.server.client import own_code, request
from reconciler.server.listening import stop_server
from reconciler.server.messages import MOST_BYTES, receive, send
from reconciler.server.places import is_served, place_of, repository_named

ROOT = Path(__file__).resolve().parents[2]
_CLIENT = """
import os, sys
from reconciler.base.errors import ReconcileError
from reconciler.server.client import run_served
try:
    code = run_served(sys.argv[1:])
except ReconcileError as died:
    print(died, file=sys.stderr)
    os._exit(77)
if code is None:
    print("not served")
    sys.exit(99)
sys.stdout.flush()
os._exit(code)
"""


@dataclass
class _Running:
    process: "subprocess.Popen[str]"
    folder: Path
    log: Path
    environment: dict[str, str]

    def command(self, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-c", _CLIENT, "query", *words],
            cwd=self.folder,
            env=self.environment | more,
            input="given\n",
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def begun(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", _CLIENT, "query", *words],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    def waiting(self, name: str) -> tuple["subprocess.Popen[str]", int]:
        """A command that waits, and the process that does its work."""
        file = self.folder / name
        command = self.begun("wait", str(file))
        return command, int(_read(file))

    def until_ended(self) -> list[str]:
        """What was asked of the process in place of Spark. It may end before it hears that a guard is gone."""
        while "ended" not in (lines := self.logged(0)):
            assert self.process.poll() in (None, 0, -signal.SIGKILL)
            time.sleep(0.02)
        return [line for line in lines if line != "gone"]

    def logged(self, count: int) -> list[str]:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            lines = self.log.read_text("ascii").splitlines() if self.log.exists() else []
            if len(lines) >= count:
                return lines
            time.sleep(0.02)
        raise AssertionError(f"nobody wrote that: {self.log.read_text('ascii')}")

    def end(self, number: int = signal.SIGTERM) -> str:
        self.process.send_signal(number)
        assert self.process.stdout is not None
        return self.process.stdout.read()


def _read(file: Path) -> str:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if file.exists() and file.read_text("ascii"):
            return file.read_text("ascii")
        time.sleep(0.02)
    raise AssertionError(f"{file} was not written")


def _is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _gone(pid: int) -> bool:
    until = time.monotonic() + 20
    while _is_there(pid):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def _started(tmp_path: Path, *words: str) -> _Running:
    folder = tmp_path / "repository"
    folder.mkdir(exist_ok=True)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": os.environ.get("TMPDIR") or "/tmp"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.server.program", str(folder), str(tmp_path / "log"), *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    return _Running(process, folder, tmp_path / "log", environment)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Running]:
    """One server for the tests that leave it as it was."""
    yield from _serving(tmp_path_factory.mktemp("lasting"))


@pytest.fixture
def server(lasting: _Running) -> _Running:
    while (lines := lasting.logged(0)).count("guard") != lines.count("gone"):
        time.sleep(0.02)
    lasting.log.write_text("", "ascii")
    for file in lasting.folder.iterdir():
        file.unlink()
    return lasting


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[_Running]:
    """A server that the test may end."""
    yield from _serving(tmp_path)


def _serving(folder: Path) -> Iterator[_Running]:
    running = _started(folder)
    assert running.process.stdout is not None
    assert running.process.stdout.readline() == "ready \n"
    yield running
    running.process.kill()
    running.process.wait()
    running.process.stdout.close()


def test_a_command_has_the_folder_environment_and_streams_of_who_asks(server: _Running) -> None:
    done = server.command("show", SHOWN="é", TZ="Asia/Tokyo", PYTHONUTF8="1")

    assert done.stdout.splitlines() == [
        f"{server.folder} ['query', 'show'] é {oct(_mask())} Asia/Tokyo JST",
        "given",
    ]
    assert done.stderr == "told\n"
    assert server.command("encoding", PYTHONIOENCODING="latin-1:replace").stdout == "iso8859-1 replace False\n"


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("end", "0"), 0, ""),
        (("end", "2"), 2, ""),
        (("exit", "3"), 3, ""),
        (("exit", "plainly"), 0, ""),
        (("exit", "because"), 1, "because"),
        (("raise",), 1, "ValueError: an error of the command"),
        (("die",), -signal.SIGKILL, ""),
    ],
    ids=["done", "pending", "exit", "plainly", "words", "error", "killed"],
)
def test_a_command_ends_as_it_would(server: _Running, words: tuple[str, ...], code: int, told: str) -> None:
    done = server.command(*words)
    assert (done.returncode, done.stderr.rpartition("\n")[0].rpartition("\n")[2]) == (code, told)
    # Its guard let go of what there is of it in Spark.
    assert server.logged(3) == ["guard", "close", "gone"]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_a_signal_that_its_caller_ignores_does_not_reach_a_command(server: _Running, number: int) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        command, worker = server.waiting("one")
    finally:
        signal.signal(number, before)
    command.send_signal(number)
    time.sleep(0.5)
    assert (command.poll(), _is_there(worker)) == (None, True)
    command.kill()
    command.wait()


def test_signals_are_handed_on(server: _Running) -> None:
    command, worker = server.waiting("one")
    command.send_signal(signal.SIGINT)
    assert command.communicate(timeout=20)[0] == "interrupted\n"
    assert command.returncode == 130
    assert _gone(worker)

    command, worker = server.waiting("two")
    command.send_signal(signal.SIGTERM)
    assert command.wait(20) == -signal.SIGTERM
    assert _gone(worker)


def test_a_stopped_command_stops_and_goes_on(server: _Running) -> None:
    command, worker = server.waiting("one")
    command.send_signal(signal.SIGTSTP)
    _until_state(worker, "T")
    _until_state(command.pid, "T")
    command.send_signal(signal.SIGCONT)
    _until_state(worker, "S")
    command.send_signal(signal.SIGTERM)
    assert command.wait(20) == -signal.SIGTERM


def _until_state(pid: int, state: str) -> None:
    until = time.monotonic() + 20
    while Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != state:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_command_dies_with_who_asked(server: _Running) -> None:
    command, worker = server.waiting("one")
    command.kill()
    command.wait()

    assert _gone(worker)
    assert server.logged(3) == ["guard", "close", "gone"]


def test_the_writer_of_a_command_is_its_guard(server: _Running) -> None:
    writer, worker, guard = server.command("alive").stdout.split()

    assert writer == guard != worker


def test_a_guard_that_is_killed_takes_the_command_along_and_closes_nothing(server: _Running) -> None:
    command, worker = server.waiting("one")
    guard = int(Path(f"/proc/{worker}/stat").read_text("ascii").rpartition(")")[2].split()[1])
    os.kill(guard, signal.SIGKILL)

    assert command.wait(20) == 77
    assert _gone(worker)
    # Spark's process sees that nobody closed what the command has of it.
    assert server.logged(2) == ["guard", "gone"]


def test_commands_run_side_by_side(server: _Running) -> None:
    command, _ = server.waiting("one")
    assert server.command("end", "5").returncode == 5
    command.kill()
    command.wait()


def test_a_server_ends_after_what_it_is_doing(own_server: _Running) -> None:
    command, _ = own_server.waiting("one")
    own_server.process.send_signal(signal.SIGTERM)
    assert own_server.process.stdout is not None
    assert own_server.process.stdout.readline() == "ending after 1 command(s)\n"
    assert own_server.command("end", "5").returncode == 99
    assert own_server.process.poll() is None
    command.send_signal(signal.SIGINT)

    assert command.wait(20) == 130
    assert own_server.process.wait(20) == 0
    # The process of Spark was needed until the end.
    assert own_server.until_ended() == ["guard", "close", "ended"]
    assert not place_of(own_server.folder).commands.exists()


def test_ctrl_c_at_the_servers_terminal_does_not_reach_commands(own_server: _Running) -> None:
    command, _ = own_server.waiting("one")
    # A terminal sends it to all processes of its group.
    os.killpg(own_server.process.pid, signal.SIGINT)
    assert own_server.process.stdout is not None
    assert own_server.process.stdout.readline() == "ending after 1 command(s)\n"
    assert command.poll() is None
    command.send_signal(signal.SIGINT)

    assert command.wait(20) == 130
    assert own_server.process.wait(20) == 0
    assert own_server.until_ended() == ["guard", "close", "ended"]


def test_a_second_signal_does_not_wait(own_server: _Running) -> None:
    command, _ = own_server.waiting("one")
    own_server.process.send_signal(signal.SIGTERM)
    assert own_server.process.stdout is not None
    own_server.process.stdout.readline()
    own_server.process.send_signal(signal.SIGTERM)

    assert own_server.process.wait(20) == 0
    # The command goes on, and so does what it needs.
    assert command.poll() is None
    assert "ended" not in own_server.log.read_text("ascii")
    command.kill()
    command.wait()
    assert own_server.until_ended() == ["guard", "close", "ended"]


def test_a_killed_server_leaves_commands_their_spark(own_server: _Running) -> None:
    command, _ = own_server.waiting("one")
    own_server.process.kill()
    own_server.process.wait()
    command.send_signal(signal.SIGINT)

    assert command.wait(20) == 130
    assert own_server.until_ended() == ["guard", "close", "ended"]
    # What it left of its sockets keeps nobody from serving, nor a command from running by itself.
    assert own_server.command("end", "5").returncode == 99
    again = _started(own_server.folder.parent)
    assert again.process.stdout is not None
    assert again.process.stdout.readline() == "ready \n"
    assert own_server.command("end", "5").returncode == 5
    again.end()
    again.process.wait()


def test_a_repository_has_one_server(server: _Running) -> None:
    other = _started(server.folder.parent)
    assert other.process.stdout is not None
    assert other.process.stdout.read() == f"U861: process {server.process.pid} serves this repository already\n"
    assert other.process.wait(20) == 1
    assert server.command("end", "5").returncode == 5


def test_stop_waits_until_the_server_has_ended(own_server: _Running) -> None:
    assert stop_server(place_of(own_server.folder)) == str(own_server.process.pid)
    assert own_server.until_ended() == ["ended"]
    assert stop_server(place_of(own_server.folder)) is None


def test_an_idle_server_ends(tmp_path: Path) -> None:
    running = _started(tmp_path, "0.3")
    assert running.process.stdout is not None
    assert running.process.stdout.read() == "ready \nending\n"
    assert running.process.wait(20) == 0


@pytest.mark.parametrize(("how", "why"), [("fails", "U801: no Java"), ("dies", "its process ended without a message")])
def test_a_spark_that_can_not_start_keeps_nobody_waiting(how: str, why: str, tmp_path: Path) -> None:
    running = _started(tmp_path, how)
    assert running.process.stdout is not None
    assert running.process.stdout.readline() == f"ready {why}\n"
    for _ in range(2):
        done = running.command("ask")
        assert (done.returncode, done.stdout) == (0, "None\n")
    running.end()
    assert running.process.wait(20) == 0


def test_other_code_is_not_served(server: _Running) -> None:
    with _connected(server) as connection:
        send(connection, request(["query", "show"]) | {"code": [own_code()[0], "/elsewhere"]}, [0, 1, 2])
        assert receive(connection) == {"refused": "another reconciler"}
    with _connected(server) as connection:
        send(connection, request(["query", "show"]), [0, 1])
        assert receive(connection) == {"refused": "another reconciler"}


@pytest.mark.parametrize("sent", [b"", b"\0\0", b"\0\0\0\2[]", b"\0\0\0\2{", (MOST_BYTES + 1).to_bytes(4, "big")])
def test_what_is_no_command_harms_nobody(server: _Running, sent: bytes) -> None:
    with _connected(server) as silent, _connected(server) as connection:
        connection.sendall(sent)
        assert server.command("end", "5").returncode == 5
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
        silent.close()


def test_a_folder_of_others_is_not_believed(server: _Running) -> None:
    place = place_of(server.folder)
    place.folder.chmod(0o755)
    assert server.command("end", "5").returncode == 99
    other = _started(server.folder.parent)
    assert other.process.stdout is not None
    assert other.process.stdout.read().startswith("U860: others may use ")
    assert other.process.wait(20) == 1
    place.folder.chmod(0o700)
    assert server.command("end", "5").returncode == 5


def _connected(server: _Running) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(20)
    connection.connect(str(place_of(server.folder).commands))
    return connection


@pytest.mark.parametrize(
    ("words", "served"),
    [
        (["query", "p", "SELECT 1"], True),
        (["run", "p", "--once"], True),
        (["run", "p"], False),
        (["versions", "diff", "v@v1", "v@v2"], False),
        (["versions", "diff", "v@v1", "v@v2", "--data"], True),
        (["versions", "refresh", "v@v1"], True),
        (["checkpoint", "list", "p"], False),
        (["checkpoint", "restore", "p", "1"], True),
        (["plan"], False),
        ([], False),
    ],
)
def test_commands_that_may_need_spark_are_served(monkeypatch: pytest.MonkeyPatch, words: list[str], served: bool) -> None:
    assert is_served(words) == served
    monkeypatch.setenv("RECONCILE_OWN_SPARK", "1")
    assert not is_served(words)


def test_the_repository_is_the_one_that_is_named() -> None:
    assert repository_named(["query", "--repo", "a", "p"]) == Path("a")
    assert repository_named(["query", "--repo=a/b", "p"]) == Path("a/b")
    assert repository_named(["query", "p", "--repo"]) == Path(".")


def test_what_commands_need_starts_no_threads() -> None:
    program = (
        "import os, threading\n"
        "from reconciler.cli.serve import load_commands\n"
        "load_commands()\n"
        "print(threading.active_count(), *{open(f'/proc/self/task/{one}/comm').read().strip() for one in "
        "os.listdir('/proc/self/task')} - {'jemalloc_bg_thd'}, sep='|')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    threads, *names = done.stdout.strip().split("|")

    assert threads == "1"
    assert len(names) == 1
