"""The command line in a process of its own, over the recording engine and real Delta tables: to be killed with SIGKILL at a
boundary. It costs a second, where one with Spark costs ten."""

import signal
import subprocess
from pathlib import Path

from reconciler.cli.main import main
from tests.programs import begin
from tests.served import recording_engine


def reconcile(root: Path, *words: str, crash_at: str = "") -> subprocess.CompletedProcess[str]:
    """A command; `crash_at` names the boundary at which it is killed."""
    program = begin("tests.acceptance.killed", *words, "--repo", str(root), variables={"RECONCILE_CRASH_AT": crash_at})
    out, error = program.communicate(300)
    return subprocess.CompletedProcess(words, program.wait(), out, error)


def kill(root: Path, boundary: str, *words: str) -> None:
    """A command that is killed there."""
    done = reconcile(root, *words, crash_at=boundary)
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr


if __name__ == "__main__":
    main(engine=recording_engine())
