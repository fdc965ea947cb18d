"""A process of its own that is told things by lines and answers each with one, since a JVM takes the environment that it is
started with: that of a bucket. It is a group with its JVM."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.s3.server import ROOT, Bucket


class Conversation:
    """With a program in Python that reads stdin and writes stdout."""

    def __init__(self, program: str, folder: Path, bucket: Bucket, **variables: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", program],
            cwd=folder,
            env={**os.environ, **bucket.variables, "PYTHONPATH": str(ROOT), **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def ask(self, line: str) -> str:
        self.tell(line)
        return self.answer()

    def signal(self, number: signal.Signals) -> None:
        os.killpg(self._process.pid, number)

    def end(self) -> None:
        self.signal(signal.SIGKILL)
        self._process.communicate()
