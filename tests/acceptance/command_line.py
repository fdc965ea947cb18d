"""The command line on a repository, over the recording engine and real Delta tables: what a user reads, and exit codes."""

from pathlib import Path

import pytest

from reconciler.engine.protocol import Engine
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.served import run


class CommandLine:
    """Called with the words of a command, it gives stdout and stderr together. `engine`: another than the recording one."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str], engine: Engine | None = None) -> None:
        self.root, self._capsys = root, capsys
        self._engine = engine or RecordingEngine(DeltaWriter())

    def __call__(self, *words: str, code: int = 0) -> str:
        self._capsys.readouterr()
        found = run([*words, "--repo", str(self.root)], self._engine)
        printed = self._capsys.readouterr()
        assert found == code, printed.err
        return printed.out + printed.err
