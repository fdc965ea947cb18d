"""No file of a megabyte keeps a plan busy, or makes it large: each ends within seconds, with a plan or with a message."""

import sys
import time
from pathlib import Path

import pytest

from bench.measure import measure
from reconciler.cli.main import run
from tests.acceptance.bombs import bombs
from tests.acceptance.changing_bombs import changing_bombs
from tests.acceptance.command_line import CommandLine
from tests.acceptance.growing_bombs import growing_bombs
from tests.pace import at_usual_pace

SECONDS = 5
MEGABYTES = 500
BOMBS = {**bombs(), **growing_bombs()}
CHANGES = changing_bombs()
# One of each front end; the slow suite has all.
SOME = (
    "query: as many names as are taken",
    "query: more joins than are taken",
    "program: columns of a table",
    "yaml: settings",
    "python: one expression",
    "program grows: columns doubled 40 times",
    "program grows: views of the 390 before",
    "program grows: views of the 390 before, as many as are taken",
    "program grows: columns of a pivot",
    "program grows: calls in calls of what may be a type",
    "program grows: misspelt columns",
    "yaml grows: a variable put in many times",
)


PIPELINE = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\nspec: {bootstrap_policy: allow}\n"
SOME_CHANGES = ("a chain",)


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
    assert at_usual_pace(time.process_time() - began) < SECONDS
    printed = capsys.readouterr()
    assert "U890" not in printed.err
    assert len(printed.out) + len(printed.err) < 3_000_000


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(BOMBS))
def test_every_large_file_ends_soon_in_little_memory(name: str, tmp_path: Path) -> None:
    write(tmp_path, name)
    command = [str(Path(sys.executable).with_name("reconcile")), "plan", "--repo", str(tmp_path)]
    measured = measure(command, tmp_path, {"RECONCILE_CACHE": "off"}, fine=(0, 1, 2))
    assert "U890" not in measured.output
    assert at_usual_pace(measured.cost.cpu) < SECONDS
    assert measured.cost.peak < MEGABYTES


def judge_change(name: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = root / "pipelines" / "shop"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(PIPELINE, "utf-8")
    (folder / "program.sql").write_text(CHANGES[name](1), "utf-8")
    assert (folder / "program.sql").stat().st_size < 1 << 20
    command = CommandLine(root, capsys)
    command("apply")
    (folder / "program.sql").write_text(CHANGES[name](2), "utf-8")
    for form, most in ((), 3_000_000), (("--all",), 20_000_000), (("--format", "markdown"), 3_000_000):
        began = time.process_time()
        printed = command("plan", *form)
        assert at_usual_pace(time.process_time() - began) < SECONDS
        assert "to modify" in printed
        assert len(printed) < most
    began = time.process_time()
    assert len(command("plan", "--format", "json")) < 20_000_000
    assert at_usual_pace(time.process_time() - began) < SECONDS


@pytest.mark.parametrize("name", SOME_CHANGES)
def test_a_plan_of_a_change_that_reaches_far_ends_soon(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge_change(name, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*CHANGES} - {*SOME_CHANGES}))
def test_every_plan_of_a_change_that_reaches_far_ends_soon(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge_change(name, tmp_path, capsys)
