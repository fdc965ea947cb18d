"""Modules that tests run as programs, in processes of their own, without waiting for their imports.

A process of tests has one beside it that has imported them and their hundreds of modules once, and forks: multiprocessing's
fork server. A program that begins so takes 50 ms, where `python -m` takes more than a second of a processor.
"""

import contextlib
import multiprocessing
import os
import runpy
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from threading import Timer
from typing import TextIO

import psutil

REPOSITORY = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Program:
    """A process that runs a module, with the methods of `subprocess.Popen`; what it says is read here. It lives no longer
    than the process of the test."""

    process: ForkServerProcess
    stdout: TextIO
    stderr: TextIO

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    @property
    def returncode(self) -> int | None:
        """None while it lives; the negative number of a signal that ended it."""
        return self.process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        """Its exit code, when it has ended."""
        self.process.join(timeout)
        assert self.returncode is not None, f"process {self.pid} has not ended after {timeout} s"
        return self.returncode

    def wait_until_stopped(self) -> None:
        """Wait until it has stopped itself."""
        until = time.monotonic() + 60
        while psutil.Process(self.pid).status() != psutil.STATUS_STOPPED:
            assert self.returncode is None, f"it ended with {self.returncode}"
            assert time.monotonic() < until, "it did not stop"
            time.sleep(0.01)

    def send_signal(self, number: signal.Signals) -> None:
        # It may have ended just now.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it, also when it was stopped."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = 60) -> tuple[str, str]:
        """What else it says on both, until it has ended; it is killed when that takes too long. More than a pipe holds on
        standard error would keep it waiting."""
        late = Timer(timeout, self.kill)
        late.start()
        told = _rest(self.stdout), _rest(self.stderr)
        late.cancel()
        self.wait()
        return told


def _rest(pipe: TextIO) -> str:
    """What else comes; nothing, where that was read before."""
    if pipe.closed:
        return ""
    with pipe:
        return pipe.read()


def begin(
    module: str,
    *words: str,
    variables: Mapping[str, str] | None = None,
    out: Path | None = None,
    error: Path | None = None,
) -> Program:
    """Run a module as `python -m` does, in the folder of this repository, with the variables of this process and those that
    are given. What it says on standard output and error is added to a file, where one is given."""
    server = _fork_server()
    read_out, write_out = server.Pipe(duplex=False)
    read_error, write_error = server.Pipe(duplex=False)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), **(variables or {})}
    given = (module, words, environment, (write_out, out), (write_error, error))
    process = server.Process(target=_run, args=given, daemon=True)
    process.start()
    write_out.close()
    write_error.close()
    return Program(process, _text(read_out), _text(read_error))


@cache
def _fork_server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    return context


def _text(connection: Connection) -> TextIO:
    """A text to read of a pipe, which is closed with it."""
    with connection:
        return open(os.dup(connection.fileno()), encoding="utf-8")


def _run(
    module: str,
    words: Sequence[str],
    environment: Mapping[str, str],
    out: tuple[Connection, Path | None],
    error: tuple[Connection, Path | None],
) -> None:
    """In the new process."""
    sys.stdout = _standard(1, *out)
    sys.stderr = _standard(2, *error)
    os.chdir(REPOSITORY)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _standard(number: int, pipe: Connection, file: Path | None) -> TextIO:
    """Standard output or error leads into a pipe or a file."""
    with pipe:
        if file is None:
            os.dup2(pipe.fileno(), number)
        else:
            with file.open("a") as opened:
                os.dup2(opened.fileno(), number)
    return open(number, "w", encoding="utf-8", buffering=1, closefd=False)
