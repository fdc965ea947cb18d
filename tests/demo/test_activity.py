"""The pipeline `activity`: the history of a repository as its events, and sessions that equal those computed plainly."""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reconciler.engine.protocol import Engine
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project

ROOT = Path(__file__).parents[2]
EVENTS = ROOT / "demo/activity"
COLUMNS = ["changed_at", "package", "files", "lines_added", "lines_removed"]
ODD_SETTINGS = {
    "diff.renames": "copies",
    "diff.algorithm": "patience",
    "core.quotePath": "true",
    "log.showSignature": "true",
}
LONGEST = "SELECT * FROM longest_sessions ORDER BY minutes DESC, package"
STARTED = datetime(2026, 5, 1, 22, 30, tzinfo=UTC)


def python(script: str, *words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "demo" / script), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | variables)


def configured(settings: dict[str, str]) -> dict[str, str]:
    """What tells git these settings of a user."""
    told = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        told |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return told


class History:
    """A repository whose commits are an hour apart."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hours = 0
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> None:
        second = int(STARTED.timestamp()) + 3600 * self.hours
        dates = {"GIT_AUTHOR_DATE": f"{second} +0200", "GIT_COMMITTER_DATE": f"{second + 1800} -0700"}
        names = configured({"user.name": "Ann", "user.email": "ann@example.org", "commit.gpgsign": "false"})
        subprocess.run(["git", *words], cwd=self.folder, check=True, capture_output=True, env=os.environ | dates | names)

    def commit(self, files: dict[str, bytes | None]) -> None:
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            else:
                path.write_bytes(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Work")
        self.hours += 1


@pytest.fixture
def history(tmp_path: Path) -> History:
    """From half past ten in the evening on: the third commit is of the next day."""
    found = History(tmp_path / "repository")
    found.commit({"readme": b"a\nb\n", "src/deep/down/1.py": b"1\n2\n3\n", "src/deep/2.py": b"1\n", "src/main.py": b""})
    found.commit({"src/deep/picture": b"\0\1\2", "src/größe, in\tm": b"1\n"})
    found.git("checkout", "--quiet", "-b", "aside")
    found.commit({"src/main.py": None, "docs/main.py": b"1\n2\n"})
    found.git("checkout", "--quiet", "main")
    found.commit({"readme": b"a\nc\n"})
    found.git("merge", "--quiet", "--no-ff", "--message", "Merge", "aside")
    return found


def rows(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.reader(opened))


def test_a_row_is_what_one_commit_changed_in_one_folder(history: History, tmp_path: Path) -> None:
    done = python("activity_data.py", "--repository", history.folder, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"wrote 8 changes of 2 days to {tmp_path / 'out'}\n"
    assert {file.name: rows(file) for file in (tmp_path / "out").iterdir()} == {
        "2026-05-01.csv": [
            COLUMNS,
            ["2026-05-01T22:30:00Z", ".", "1", "2", "0"],
            ["2026-05-01T22:30:00Z", "src", "1", "0", "0"],
            ["2026-05-01T22:30:00Z", "src/deep", "2", "4", "0"],
            ["2026-05-01T23:30:00Z", "src", "1", "1", "0"],
            ["2026-05-01T23:30:00Z", "src/deep", "1", "0", "0"],
        ],
        "2026-05-02.csv": [
            COLUMNS,
            ["2026-05-02T00:30:00Z", "docs", "1", "2", "0"],
            ["2026-05-02T00:30:00Z", "src", "1", "0", "0"],
            ["2026-05-02T01:30:00Z", ".", "1", "1", "1"],
        ],
    }


def test_depth_revision_and_the_last_day_can_be_chosen(history: History, tmp_path: Path) -> None:
    words = ["--repository", history.folder, "--depth", "1", "--revision", "aside", "--until", "2026-05-02"]
    assert python("activity_data.py", *words, "--out", tmp_path / "out").returncode == 0
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["2026-05-01.csv"]
    assert [row[1:] for row in rows(tmp_path / "out/2026-05-01.csv")[1:]] == [
        [".", "1", "2", "0"],
        ["src", "3", "4", "0"],
        ["src", "2", "1", "0"],
    ]


def test_the_same_history_gives_the_same_files_whatever_git_is_told(history: History, tmp_path: Path) -> None:
    for out, settings in (("plain", {}), ("odd", ODD_SETTINGS)):
        words = ["--repository", history.folder, "--out", tmp_path / out]
        assert python("activity_data.py", *words, **configured(settings)).returncode == 0
    plain, odd = ({file.name: file.read_bytes() for file in (tmp_path / out).iterdir()} for out in ("plain", "odd"))
    assert plain == odd
    assert len(plain) == 2


def test_days_are_added_and_one_that_a_pipeline_may_have_read_is_left_alone(history: History, tmp_path: Path) -> None:
    words = ["--repository", history.folder, "--out", tmp_path / "out"]
    assert python("activity_data.py", *words, "--until", "2026-05-02").stdout.startswith("wrote 5 changes of 1 days")
    assert python("activity_data.py", *words).stdout.startswith("wrote 3 changes of 1 days")
    before = {file: file.read_bytes() for file in (tmp_path / "out").iterdir()}

    history.commit({"readme": b"more\n"})
    refused = python("activity_data.py", *words)
    assert (refused.returncode, refused.stdout) == (1, "")
    changed = tmp_path / "out/2026-05-02.csv"
    assert refused.stderr == f"{changed} holds something else; remove it or name another folder\n"
    assert {file: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before


def test_what_is_no_repository_is_told_by_git(tmp_path: Path) -> None:
    words = ["--repository", tmp_path, "--out", tmp_path / "out"]
    refused = python("activity_data.py", *words, GIT_CEILING_DIRECTORIES=str(tmp_path.parent))
    assert refused.returncode != 0
    assert "not a git repository" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "out").exists()


def test_the_events_of_the_demo_are_days_in_order() -> None:
    files = sorted(EVENTS.iterdir())
    assert len(files) >= 5
    for file in files:
        header, *found = rows(file)
        assert header == COLUMNS
        assert {row[0][:10] for row in found} == {file.stem}
        assert [row[:2] for row in found] == sorted(row[:2] for row in found)
        assert all(int(count) >= 0 for row in found for count in row[2:])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The pipeline, with no events so far."""
    shutil.copytree(ROOT / "pipelines/activity", tmp_path / "pipelines/activity")
    (tmp_path / "events").mkdir()
    environment = f"{{warehouse: warehouse, variables: {{activity: {json.dumps(str(tmp_path / 'events'))}}}}}"
    (tmp_path / "reconcile.yaml").write_text(f"environments:\n  dev: {environment}\n")
    return tmp_path


def test_the_pipeline_is_valid_and_warns_of_nothing(repository: Path) -> None:
    pipeline = Project.open(repository).pipeline("activity")
    assert pipeline.validate().diagnostics == ()
    assert pipeline.plan().hazards == ()


def expected(repository: Path, gap: int) -> list[list[str]]:
    computed = python("activity_sessions.py", "--gap", str(gap), repository / "events")
    assert computed.returncode == 0, computed.stderr
    return [line.split(" ") for line in computed.stdout.splitlines()]


def given(pipeline: Pipeline) -> Iterator[list[str]]:
    for row in pipeline.query(LONGEST):
        yield [value.isoformat() if isinstance(value, datetime) else str(value) for value in row.values()]


@pytest.mark.spark
def test_sessions_equal_those_computed_plainly_before_and_after_another_gap(repository: Path, spark_engine: Engine) -> None:
    first, *others = sorted(EVENTS.iterdir())
    pipeline = Project.open(repository, engine=spark_engine).pipeline("activity")
    pipeline.apply()
    shutil.copy(first, repository / "events")
    assert len(pipeline.run_once().steps) == 1
    assert list(given(pipeline)) == expected(repository, 30)

    manifest = repository / "pipelines/activity/pipeline.yaml"
    manifest.write_text(manifest.read_text("utf-8").replace("session: 30m", "session: 90m"), "utf-8")
    plan = pipeline.plan()
    pipeline.approve(plan.digest, by="ann")
    pipeline.apply()
    assert list(given(pipeline)) == expected(repository, 90) != expected(repository, 30)

    for file in others:
        shutil.copy(file, repository / "events")
    steps = pipeline.run_once().steps
    assert len(steps) == len(others)
    assert list(given(pipeline)) == expected(repository, 90)
    counts = {one.name: one.rows for one in pipeline.status().relations}
    assert counts["changes"] == sum(len(rows(file)) - 1 for file in EVENTS.iterdir())
