"""What is recorded of files that are not those of the commit on which they stand: the commit with a `+`, and no author."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.environment.commit_authors import authors_since
from reconciler.environment.commits import commit_of
from reconciler.environment.source import files_of
from tests.acceptance.command_line import CommandLine
from tests.acceptance.shop import write_shop

pytestmark = pytest.mark.both_ways

PROGRAM = "CREATE TABLE t (id BIGINT);\nCREATE MATERIALIZED VIEW v AS SELECT id FROM t;\n"
SECOND = PROGRAM.replace("SELECT id", "SELECT id + 1 AS id")
THIRD = PROGRAM.replace("SELECT id", "SELECT id + 2 AS id")
READS = "  versions: {reads: true}\n"


class Repository(CommandLine):
    """A git repository and its command line."""

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", "-C", str(self.root), *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self) -> str:
        self.git("add", "--all")
        self.git("commit", "-qm", "one")
        return self.git("rev-parse", "HEAD")

    def write(self, program: str, policy: str = "allow") -> None:
        write_shop(self.root, program, policy, READS)

    def applied(self) -> list[str]:
        """The commits of what was applied, oldest first."""
        return [one["commit"] for one in json.loads(self("history", "shop", "--format", "json"))["applies"]]

    def recorded(self) -> dict[str, tuple[str, str]]:
        """Of each version of `v`, commit and author."""
        found = json.loads(self("versions", "list", "v", "--format", "json"))["versions"]
        return {one["version"]: (one["commit"], one["author"]) for one in found}


@pytest.fixture
def repository(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository with one commit."""
    for role, name in (("AUTHOR", "Ann"), ("COMMITTER", "Bea")):
        monkeypatch.setenv(f"GIT_{role}_NAME", name)
        monkeypatch.setenv(f"GIT_{role}_EMAIL", f"{name}@example.com")
    repository = Repository(tmp_path, capsys)
    repository.git("init", "-q")
    repository.write(PROGRAM)
    (tmp_path / ".gitignore").write_text("warehouse\n")
    repository.commit()
    return repository


def test_it_does_not_claim_the_commit(repository: Repository) -> None:
    repository("apply", "shop")
    first = repository.git("rev-parse", "HEAD")
    repository.write(SECOND)
    repository("apply", "shop")
    assert repository.applied() == [first, f"{first}+"]
    assert repository.recorded() == {"v0": (first, "Ann"), "v1": (f"{first}+", "")}
    shown = f"{first[:12]}+"
    assert [line.split()[4] for line in repository("history", "shop").splitlines()[2:]] == [first[:12], shown]
    newest, oldest = repository("versions", "list", "v").splitlines()[2:4]
    assert newest.split()[2:4] == ["Bea", shown]
    assert oldest.split()[2:4] == ["Ann", first[:12]]
    assert f"commit:      {first}+\n" in repository("versions", "show", "v")
    assert f", commit {shown}\n" in repository("status", "shop")
    assert f" from {shown}\n" in repository("history", "shop", "--at", "2100-01-01")
    # Committed, it is what is applied; what was recorded stays as it was.
    second = repository.commit()
    assert "no changes" in repository("plan", "shop")
    assert "nothing to do" in repository("apply", "shop")
    repository.write(THIRD)
    third = repository.commit()
    repository("apply", "shop")
    assert repository.applied() == [first, f"{first}+", third]
    assert second != third


def _edit(path: str, text: str) -> Callable[[Path], object]:
    def edit(folder: Path) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)

    return edit


@pytest.mark.parametrize(
    ("edit", "is_marked"),
    [
        (lambda folder: None, False),
        (_edit("program.sql", f"-- changed\n{PROGRAM}"), True),
        (_edit("more.sql", "CREATE TABLE more (id BIGINT);\n"), True),
        (_edit("deeper/more.sql", "CREATE TABLE more (id BIGINT);\n"), True),
        (_edit("udf/new.py", "x = 1\n"), True),
        (lambda folder: (folder / "udf/f.py").unlink(), True),
        (_edit("udf/f.py", "x = 2\n"), True),
        (_edit("ignored.sql", "CREATE TABLE ignored (id BIGINT);\n"), True),
        # Nothing of it is read.
        (_edit("plan.lock", "{}"), False),
        (_edit("notes.txt", "remember"), False),
        (_edit("tools/new.py", "x = 1\n"), False),
        (_edit("../other/program.sql", "CREATE TABLE more (id BIGINT);\n"), False),
        (_edit("../../reconcile.yaml", "environments: {dev: {warehouse: elsewhere}}\n"), False),
    ],
)
def test_what_counts_are_the_files_that_are_read(
    repository: Repository, edit: Callable[[Path], object], is_marked: bool
) -> None:
    folder = repository.root / "pipelines" / "shop"
    _edit("udf/f.py", "x = 1\n")(folder)
    (repository.root / ".gitignore").write_text("warehouse\nignored.sql\n")
    commit = repository.commit()
    edit(folder)
    assert commit_of(repository.root, "shop", files_of(repository.root, "shop")) == commit + ("+" if is_marked else "")


def test_what_counts_is_what_was_read_and_not_what_stands_there_by_now(repository: Repository) -> None:
    before = files_of(repository.root, "shop")
    repository.write(SECOND)
    first = repository.git("rev-parse", "HEAD")
    assert commit_of(repository.root, "shop", before) == first
    second = repository.commit()
    assert commit_of(repository.root, "shop", before) == f"{second}+"


def test_what_git_keeps_otherwise_than_it_stands_there_is_the_same(repository: Repository) -> None:
    (repository.root / ".gitattributes").write_text("*.sql text eol=crlf\n")
    file = repository.root / "pipelines/shop/program.sql"
    file.write_bytes(PROGRAM.replace("\n", "\r\n").encode())
    commit = repository.commit()
    assert (
        b"\r"
        not in subprocess.run(
            ["git", "-C", str(repository.root), "show", "HEAD:pipelines/shop/program.sql"], check=True, capture_output=True
        ).stdout
    )
    assert b"\r\n" in file.read_bytes()
    assert commit_of(repository.root, "shop", files_of(repository.root, "shop")) == commit
    file.write_bytes(SECOND.replace("\n", "\r\n").encode())
    assert commit_of(repository.root, "shop", files_of(repository.root, "shop")) == f"{commit}+"


def test_a_repository_of_pipelines_may_stand_within_another_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outer = Repository(tmp_path, capsys)
    outer.git("init", "-q")
    outer.git("config", "user.name", "Ann")
    outer.git("config", "user.email", "ann@example.com")
    inner = tmp_path / "deep" / "ér"
    inner.mkdir(parents=True)
    write_shop(inner, PROGRAM)
    assert commit_of(inner, "shop", files_of(inner, "shop")) == ""
    commit = outer.commit()
    assert commit_of(inner, "shop", files_of(inner, "shop")) == commit
    write_shop(inner, SECOND)
    assert commit_of(inner, "shop", files_of(inner, "shop")) == f"{commit}+"


def test_a_pipeline_that_is_removed_before_that_is_committed(repository: Repository) -> None:
    repository("apply", "shop")
    first = repository.git("rev-parse", "HEAD")
    repository.git("rm", "-rq", "pipelines")
    repository("apply", "shop")
    assert repository.applied() == [first, f"{first}+"]


def test_what_is_staged_keeps_its_commit_when_it_is_promoted(repository: Repository) -> None:
    repository("apply", "shop")
    first = repository.git("rev-parse", "HEAD")
    repository.write(SECOND)
    repository("apply", "shop", "--no-promote")
    assert repository.recorded()["v1"] == (f"{first}+", "")
    second = repository.commit()
    repository("promote", "v@v1")
    assert repository.recorded()["v1"] == (f"{first}+", "")
    assert repository.applied() == [first, f"{first}+"]
    repository.write(THIRD)
    repository("rollback", "v")
    # The files have no part in a rollback.
    assert repository.applied()[-1] == f"{first}+"
    assert second == repository.git("rev-parse", "HEAD")


def test_who_may_approve_is_told_from_the_commit(repository: Repository) -> None:
    """Authors of what came since are barred from approving, whatever it was applied with."""
    first = repository.git("rev-parse", "HEAD")
    repository.write(SECOND)
    repository.commit()
    paths = (repository.root / "pipelines",)
    since = authors_since(repository.root, f"{first}+", paths)
    assert since == authors_since(repository.root, first, paths)
    assert since is not None
    assert "Ann" in since
