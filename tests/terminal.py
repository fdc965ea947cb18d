"""A process on a terminal, and what is typed and shown there."""

import fcntl
import os
import pty
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self


class Terminal:
    """Start a command on a terminal of its own; `heard` is all that it has shown."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None) -> None:
        self._ours, theirs = pty.openpty()
        self.heard = ""
        self._read = 0
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env=environment,
            start_new_session=True,
            preexec_fn=_take_the_terminal,
        )
        os.close(theirs)

    def type(self, words: bytes) -> None:
        """Type, and give it a moment to be read."""
        os.write(self._ours, words)
        time.sleep(0.2)

    def until(self, text: str, seconds: float = 20) -> None:
        """Wait until a text is shown that was not waited for before."""
        until = time.monotonic() + seconds
        while text not in self.heard[self._read :]:
            assert time.monotonic() < until, self.heard
            try:
                self.heard += os.read(self._ours, 4096).decode("utf-8", "replace")
            except OSError:
                raise AssertionError(f"the process has ended: {self.heard}") from None
        self._read = self.heard.index(text, self._read) + len(text)

    def until_ended(self) -> None:
        """Hear all that the process shows until it has ended."""
        while True:
            try:
                self.heard += os.read(self._ours, 4096).decode("utf-8", "replace")
            except OSError:
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


def _take_the_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
