"""What `Repository` reads of git is what GitPython reads, on histories of every shape: GitPython is the referee.

The product does not read by GitPython, since that asks git with the caller's variables and the repository's settings.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import git
import pytest

from reconciler.environment.repository import Entry, Repository, open_repository


def run(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


def commit(root: Path, path: str, content: bytes) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    run(root, "add", "--all")
    run(root, "commit", "--quiet", "--message", f"write {path}")


@pytest.fixture(params=["loose", "packed", "packed references"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    run(root, "init", "--quiet", "--initial-branch=main")
    commit(root, "pipelines/shop/program.sql", b"SELECT 1\n")
    commit(root, "pipelines/shop/a b/\xc3\xbc.sql".encode("latin-1").decode(), b"\x00\xff binary \r\n" * 50)
    (root / "run").write_bytes(b"#!/bin/sh\n")
    (root / "run").chmod(0o755)
    (root / "link").symlink_to("pipelines")
    commit(root, "empty", b"")
    run(root, "checkout", "--quiet", "-b", "side/branch")
    commit(root, "pipelines/shop/program.sql", b"SELECT 2\n")
    run(root, "checkout", "--quiet", "main")
    commit(root, "other", b"x" * 100_000)
    run(root, "merge", "--quiet", "--no-ff", "-m", "merge", "side/branch")
    run(root, "tag", "--annotate", "main", "-m", "a tag that is called like the branch")
    if request.param == "packed":
        run(root, "gc", "--quiet", "--aggressive")
    elif request.param == "packed references":
        run(root, "pack-refs", "--all")
    return root


@pytest.fixture
def repository(root: Path) -> Iterator[Repository]:
    opened = open_repository(root)
    assert opened is not None
    with opened as repository:
        yield repository


def test_both_read_the_same(root: Path, repository: Repository) -> None:
    referee = git.Repo(root)
    assert repository.head == referee.head.commit.hexsha
    assert dict(repository.branches) == {f"refs/heads/{head.name}": head.commit.hexsha for head in referee.heads}
    commits = list(referee.iter_commits("--all"))
    for one, other in zip(commits, [*commits[1:], commits[0]], strict=True):
        assert repository.is_ancestor(one.hexsha, other.hexsha) == referee.is_ancestor(one, other)
        assert repository.is_ancestor(other.hexsha, one.hexsha) == referee.is_ancestor(other, one)
        blobs = {os.fspath(item.path): item for item in one.tree.traverse() if isinstance(item, git.Blob)}
        found = {f"pipelines/{path}" for path, _ in repository.entries_below(one.hexsha, "pipelines")}
        assert found == {path for path in blobs if path.startswith("pipelines/")}
        for path, blob in blobs.items():
            entry = repository.entry(one.hexsha, path)
            assert entry == Entry(f"{blob.mode:o}", blob.hexsha)
            assert repository.content(entry) == blob.data_stream.read()
