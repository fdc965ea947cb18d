"""What a command costs as a whole process: CPU and wall seconds, peak memory.

Rules:
- CPU is user and system time of the process and of the children that it waited for; the peak is that of the largest of
  them.
- The command is started by a process that holds nothing but this module: Linux counts what a parent held against what
  it starts, so a large measuring process would be measured instead.
- A command that ends with another exit code than 0 (or those that are said to be fine) is an error that shows its words.

Run as a script it is that small process: measure.py OUT COMMAND…
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_COMPILED: Final = {"PYTHONDONTWRITEBYTECODE": ""}
"""An installed program runs from compiled modules; where writing them is switched off, compiling would be measured."""


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds, wall seconds, and the peak of resident memory in MiB."""

    cpu: float
    wall: float
    peak: float


@dataclass(frozen=True, slots=True)
class Measured:
    """What a command cost and what it wrote to stdout and stderr together."""

    cost: Cost
    output: str


class CommandFailed(Exception):
    """A command to be measured ended with an error."""


def measure(command: Sequence[str], folder: Path, environment: Mapping[str, str], fine: Sequence[int] = (0,)) -> Measured:
    """Run a command in a folder, with `environment` added to this process's own, and nothing on stdin."""
    with tempfile.TemporaryDirectory() as scratch:
        report, words = Path(scratch) / "report.json", Path(scratch) / "words"
        with words.open("wb") as file:
            subprocess.run(
                [sys.executable, "-I", "-S", __file__, str(report), *command],
                cwd=folder,
                env={**os.environ, **_COMPILED, **environment},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                check=True,
            )
        found = json.loads(report.read_text())
        output = words.read_text(errors="replace")
    if found["exit"] not in fine:
        raise CommandFailed(f"exit code {found['exit']} of {' '.join(command)}\n{output[-2000:]}")
    return Measured(Cost(found["cpu"], found["wall"], found["peak"]), output)


def _start(report: str, command: list[str]) -> None:
    started = time.monotonic()
    process = os.posix_spawnp(command[0], command, os.environ)
    _, status, used = os.wait4(process, 0)
    wall = time.monotonic() - started
    unit = 1 if sys.platform == "darwin" else 1024
    found = {
        "cpu": used.ru_utime + used.ru_stime,
        "wall": wall,
        "peak": used.ru_maxrss * unit / 2**20,
        "exit": os.waitstatus_to_exitcode(status),
    }
    Path(report).write_text(json.dumps(found))


if __name__ == "__main__":
    _start(sys.argv[1], sys.argv[2:])
