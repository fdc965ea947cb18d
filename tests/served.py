"""Commands both ways: in this process, as tests run them, and through a server (`reconciler.server`), with equal results.

A transcript that has the mark `both_ways` runs once more with each command that a server takes run twice: first through a
server, from a process of its own; then, with the repository put back, in this process, as ever. Exit code, standard output
and error, and what is left in the repository must be equal, but for times and ids. What the transcript itself looks at is
what the run in this process left. What lies outside of the repository is not put back.

A transcript whose engine gives answers of its own has no such mark: the server's engine does not know them.

A server belongs to a repository. The place of a test's repository leads to the sockets of one server, which serves all
tests of this process: one with Spark, one that finds no Java, and one whose commands have the recording engine.
"""

import io
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
from deltalake import QueryBuilder

import reconciler.cli.main
from reconciler.delta.opening import open_table
from reconciler.engine.protocol import ColumnType, Engine
from reconciler.environment.source import find_root
from reconciler.server.listening import Processes, Server, Wanted, only_server
from reconciler.server.places import is_served, place_of, repository_named
from reconciler.testing.recording import RecordingEngine
from reconciler.testing.tables import Contents
from tests.engine.delta_writer import DeltaWriter
from tests.server.program import no_spark

ROOT = Path(__file__).resolve().parents[1]
CLIENT = """
import os, sys
from reconciler.server.client import run_served
code = run_served(sys.argv[1:])
if code is None:
    sys.exit("no server took it")
sys.stdout.flush()
os._exit(code)
"""
"""A command that must be served: one that is not would start a Spark of its own, and the results would be equal, too."""
BOTH_WAYS = "served"
LONG = "SELECT * FROM orders WHERE id > 0"
_SERVE = ("serve", "--no-api", "--idle", "30", "--env", "dev", "--repo")
SPARK, RECORDING, NO_ENGINE = "spark", "recording", "none"


@dataclass
class Servers:
    """The servers of a process of tests; each is started when it is asked for first, with its repository below `folder`."""

    folder: Path
    _running: "dict[str, subprocess.Popen[str]]" = field(default_factory=dict)

    def root(self, kind: str) -> Path:
        """The repository of a server, which is ready."""
        root = self.folder / kind
        if kind not in self._running:
            root.mkdir(parents=True)
            (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
            (root / "pipelines").mkdir()
            self._running[kind] = started(kind, root)
        return root

    @contextmanager
    def leading_from(self, root: Path, kind: str) -> Iterator[None]:
        """Commands of another repository go to a server."""
        here = place_of(root)
        here.folder.parent.mkdir(0o700, exist_ok=True)
        here.folder.mkdir(0o700)
        here.commands.symlink_to(place_of(self.root(kind)).commands)
        try:
            yield
        finally:
            shutil.rmtree(here.folder)

    def served(self, kind: str) -> int:
        """How many commands a server without Spark has taken."""
        log = self.root(kind) / "log"
        return log.read_text("ascii").splitlines().count("guard") if log.exists() else 0

    def close(self) -> None:
        """End them."""
        for kind, process in self._running.items():
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            shutil.rmtree(place_of(self.folder / kind).folder, ignore_errors=True)


def started(kind: str, root: Path) -> "subprocess.Popen[str]":
    """A server of a repository, which is ready. One that can't start Spark says so, and is as good for what needs none."""
    serving = ["-c", "from reconciler.cli.main import main; main()", *_SERVE, str(root)]
    recording = ["-m", "tests.served", str(root), str(root / "log")]
    process = subprocess.Popen(
        [sys.executable, *(recording if kind == RECORDING else serving)],
        cwd=ROOT,
        env=environment() | ({"JAVA_HOME": str(root)} if kind == NO_ENGINE else {}),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = process.stderr.readline()
    assert said.startswith("commands start a Spark of their own: U801" if kind == NO_ENGINE else "ready"), said
    return process


def environment() -> dict[str, str]:
    """Variables for processes of tests: a server must be started with those of the commands."""
    # Unbuffered, Python loses what a pipe does not take at once.
    own = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONUNBUFFERED"))}
    return own | {"PYTHONPATH": str(ROOT)}


def recording_engine() -> RecordingEngine:
    """The engine of commands in processes of their own: it has a long answer to one query."""
    columns = (ColumnType("id", "bigint"), ColumnType("name", "string"))
    rows = tuple((number, f"Zoë {number}") for number in range(20_000))
    return RecordingEngine(DeltaWriter(), {LONG: Contents(columns, rows)})


_now: Servers | None = None


@contextmanager
def both_ways(servers: Servers) -> Iterator[None]:
    """`run` runs commands both ways."""
    global _now
    _now = servers
    try:
        yield
    finally:
        _now = None


def run(words: Sequence[str], engine: Engine | None = None) -> int:
    """`reconciler.cli.main.run`, both ways where that is asked for."""
    if _now is None or not is_served(words):
        return reconciler.cli.main.run(list(words), engine)
    root = find_root(repository_named(words))
    kind = NO_ENGINE if engine is None else RECORDING if isinstance(engine, RecordingEngine) else SPARK
    with _now.leading_from(root, kind), put_back(root):
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, *words],
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        served = Outcome(done.returncode, without_ids(done.stdout), without_ids(done.stderr), left(root))
    out, err = _Heard(sys.stdout), _Heard(sys.stderr)
    with redirect_stdout(out), redirect_stderr(err):
        code = reconciler.cli.main.run(list(words), engine)
    alone = Outcome(code, without_ids(out.getvalue()), without_ids(err.getvalue()), left(root))
    served.compare(alone, " ".join(words))
    return code


@dataclass(frozen=True)
class Outcome:
    """What became of a command."""

    code: int
    out: str
    err: str
    left: dict[str, Any]

    def compare(self, alone: "Outcome", command: str) -> None:
        """Raises AssertionError, with the differences, where another command became of the same words alone."""
        pairs = [("exit code", self.code, alone.code), ("stdout", self.out, alone.out), ("stderr", self.err, alone.err)]
        pairs += [(name, self.left.get(name), alone.left.get(name)) for name in sorted({*self.left, *alone.left})]
        different = [f"{name}: {_differing(str(served), str(own))}" for name, served, own in pairs if served != own]
        if different:
            raise AssertionError("\n".join((f"through a server and alone: {command}", *different)))


def _differing(served: str, alone: str) -> str:
    """Two texts from a little before they differ."""
    start = max(0, next((at for at, pair in enumerate(zip(served, alone, strict=False)) if len(set(pair)) > 1), 0) - 100)
    return f"{served[start : start + 300]}\n    alone: {alone[start : start + 300]}"


class _Heard(io.StringIO):
    """Keeps what it hands on."""

    def __init__(self, to: TextIO) -> None:
        super().__init__()
        self._to = to

    def write(self, text: str) -> int:
        self._to.write(text)
        return super().write(text)


@contextmanager
def put_back(root: Path) -> Iterator[None]:
    """What happens to a folder's contents has not happened afterwards."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(shutil.copytree(root, Path(folder) / "kept", symlinks=True))
        yield
        for one in root.iterdir():
            shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
        shutil.copytree(kept, root, symlinks=True, dirs_exist_ok=True)
    os.chdir(here)


_IDS = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d| UTC)?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "ID"),
    (re.compile(r"\bv-[0-9a-f]{20}\b"), "FOLDER"),
    (re.compile(r'"follows":"sha256:[0-9a-f]{64}"'), "CHAIN"),
    (re.compile(r'"process":"\d+:\d+"'), "PROCESS"),
    # Which small views are written without Spark depends on what an engine remembers of their last rows (`small_views`).
    (re.compile(r'"without_spark":\[[^]]*\]'), "WITHOUT"),
    (re.compile(r'"bytes":\d+'), "BYTES"),
    (re.compile(r'"seconds":[0-9.e-]+'), "SECONDS"),
    # How old a change was, of each input or of a run; how fast rows came.
    (re.compile(r'"freshness":(\{[^{}]*\}|[0-9.e-]+)'), "FRESHNESS"),
    (re.compile(r'"rows_per_second":[0-9.e-]+'), "RATE"),
    (re.compile(r'"phases":\{[^{}]*\{[^{}]*\},[^{}]*\{[^{}]*\}\}'), "PHASES"),
)


def without_ids(text: str) -> str:
    """A text less ids and times."""
    for pattern, word in _IDS:
        text = pattern.sub(word, text)
    return text


def left(root: Path) -> dict[str, Any]:
    """What lies in a repository: of each Delta table its version and rows, of all other files the contents, and how files
    may be used. Not git's own files."""
    found: dict[str, Any] = {}
    tables = sorted(log.parent for log in root.rglob("_delta_log") if ".git" not in log.parts)
    for table in tables:
        found.setdefault(without_ids(str(table.relative_to(root))), []).append(_table(table))
    # Tables whose names are ids have no order; a lease is renewed, and a report written, as often as the time asks for.
    for name, stood in found.items():
        found[name] = sorted((None if name.endswith(("/lease", "/report")) else version, rows) for version, rows in stood)
    for file in sorted(root.rglob("*")):
        if ".git" in file.parts:
            continue
        name, mode = without_ids(str(file.relative_to(root))), oct(stat.S_IMODE(file.lstat().st_mode))
        if any(one in file.parents or one == file for one in tables):
            found.setdefault("modes in tables", set()).add((file.is_dir(), mode))
        elif file.is_file():
            found[name] = mode, sha256(file.read_bytes()).hexdigest()
        else:
            found[name] = mode
    return found


def _table(folder: Path) -> tuple[int, list[str]]:
    table = open_table(str(folder))
    assert table is not None
    try:
        rows = QueryBuilder().register("t", table).execute("select * from t").read_all()
        texts = [without_ids(str(row)) for row in pa.table(rows).to_pylist()]
    except Exception as error:
        texts = [f"{type(error).__name__}: another reader can't read it"]
    return table.version(), sorted(texts)


def serve(root: str, _: str) -> None:
    """A server without Spark, whose commands have the recording engine."""
    engine = recording_engine()

    def told(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def work(words: list[str]) -> int:
        return reconciler.cli.main.run_alone(words, engine)

    place = place_of(Path(root))
    with only_server(place):
        Server(place, Wanted({}, False, 1800.0), Processes(work, no_spark), told, lambda why: told("ready")).serve()


if __name__ == "__main__":
    serve(*sys.argv[1:])
