"""Another version of reconciler: a copy of the sources that writes every canonical text otherwise."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
_COMMAND = """
import sys
from reconciler.cli.main import run
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
sys.exit(run(sys.argv[1:], RecordingEngine(DeltaWriter())))
"""


def write_another_version(folder: Path) -> Path:
    """The other version, in a folder that is made."""
    shutil.copytree(REPOSITORY / "reconciler", folder / "reconciler", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(REPOSITORY / "schemas", folder / "reconciler" / "schemas", dirs_exist_ok=True)
    file = folder / "reconciler" / "sql" / "canonicalise.py"
    before = file.read_text()
    after = before.replace('return " ".join(without_redundant(', 'return "version 2 " + " ".join(without_redundant(')
    assert after != before
    file.write_text(after)
    return folder


def run_version(version: Path, *words: str, cache: str = "off") -> str:
    """What a command of the version in a folder says, on the recording engine."""
    sources = os.pathsep.join(dict.fromkeys((str(version), str(REPOSITORY))))
    environment = {**os.environ, "RECONCILE_CACHE": cache, "PYTHONPATH": sources}
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND, *words], capture_output=True, text=True, env=environment, cwd=version
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
