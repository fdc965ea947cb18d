"""No file of a megabyte keeps a plan busy, or makes it large: each ends within seconds, with a plan or with a message."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.acceptance.bombs import bombs
from tests.acceptance.growing_bombs import growing_bombs

SECONDS = 5
MEGABYTES = 500
BOMBS = {**bombs(), **growing_bombs()}
# One of each front end; the slow suite has all.
SOME = (
    "query: as many names as are taken",
    "query: more joins than are taken",
    "program: columns of a table",
    "yaml: settings",
    "python: one expression",
    "program grows: columns doubled 40 times",
    "program grows: misspelt columns",
    "yaml grows: a variable put in many times",
)


def write(root: Path, name: str) -> None:
    for path, text in BOMBS[name]().items():
        file = root / "pipelines" / "shop" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


@pytest.mark.parametrize("name", SOME)
def test_a_plan_of_a_large_file_ends_soon(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, name)
    began = time.process_time()
    run(["plan", "--repo", str(tmp_path)])
    assert time.process_time() - began < SECONDS
    printed = capsys.readouterr()
    assert "U890" not in printed.err
    assert len(printed.out) + len(printed.err) < 3_000_000


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(BOMBS))
def test_every_large_file_ends_soon_in_little_memory(name: str, tmp_path: Path) -> None:
    write(tmp_path, name)
    with (tmp_path / "out").open("wb") as out:
        variables = {**os.environ, "RECONCILE_CACHE": "off"}
        command = [str(Path(sys.executable).with_name("reconcile")), "plan", "--repo", str(tmp_path)]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=variables)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 1, 2)
    assert b"U890" not in (tmp_path / "out").read_bytes()
    assert used.ru_utime + used.ru_stime < SECONDS
    assert used.ru_maxrss / 1024 < MEGABYTES
