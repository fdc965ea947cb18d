"""How the files of a repository relate to git: the commit that they are of, who wrote it, and whether it was merged.

Rules:
- A lock counts as merged only if the pipeline's files and the lock are exactly those of a commit (`uncommitted`), and, if
  the environment names a branch, that branch itself stood at the commit (`why_no_state_of`): it is on the chain of first
  parents from the branch's tip. A commit that a merge brought in was never its state, nor was it reviewed as one.
- What is recorded of an apply names the commit that the pipeline's files are of. Files that are of none, as they were read,
  stand on one: its id with a `+` (`commit_of`). Nobody is known to have written these, and no lock approves them.
- Files are compared as they were read, with what the objects of git hold (`repository`): what a filter would make of them
  does not count. The ends of lines are LF wherever they are read, however they stand here or there.
"""

import os
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from reconciler.environment.repository import PLAIN_FILES, Entry, Repository, blob_id, open_repository
from reconciler.environment.source import is_of_a_pipeline, pipeline_folder

NOT_COMMITTED: Final = "+"
"""Stands after the id of the commit on which files stood that were not those of it."""


_caller = ""


def act_for(name: str) -> None:
    """From now on it is somebody else who is at work in this process: whoever asked a service for it. Empty: nobody is known
    to have."""
    global _caller
    _caller = name


def who_is_at_work(root: Path) -> str:
    """Who asked this process for its work; else the user whom git names."""
    if _caller:
        return _caller
    user = os.environ.get("USER", "")
    repository = open_repository(root)
    if repository is None:
        return user
    with repository:
        name = os.environ.get("GIT_COMMITTER_NAME") or os.environ.get("GIT_AUTHOR_NAME")
        return name or repository.setting("user.name") or user


def commit_of(root: Path, pipeline: str, files: Mapping[str, str] | None) -> str:
    """The commit of the working tree, with a `+` where a pipeline's files (`source.files_of`) are not those of it. Empty
    outside of git, and where nothing was ever committed."""
    repository = open_repository(root)
    if repository is None:
        return ""
    with repository:
        if repository.head is None:
            return ""
        are_its = not _differing(repository, repository.head, root, pipeline, files or {})
        return repository.head if are_its else repository.head + NOT_COMMITTED


def short_commit(commit: str) -> str:
    """A commit as people are shown it: twelve digits, and the `+`."""
    return commit[:12] + (NOT_COMMITTED if commit.endswith(NOT_COMMITTED) else "")


def author_of(root: Path, commit: str) -> str:
    """Who wrote a commit, as git tells it; empty where the repository does not have it, or it does not have the files."""
    repository = open_repository(root) if commit and not commit.endswith(NOT_COMMITTED) else None
    if repository is None:
        return ""
    with repository:
        return repository.log("-1", "--format=%an", commit, "--") or ""


def uncommitted(
    root: Path, pipeline: str, files: Mapping[str, str], others: Mapping[str, str | None]
) -> tuple[str, ...] | None:
    """Of a pipeline's files as they were read, and of `others`, those that the commit has otherwise, or only one of both
    has; sorted, relative to the root. `others` are by path, too; None: there is no such file. None outside of git."""
    repository = open_repository(root)
    if repository is None:
        return None
    with repository:
        if repository.head is None:
            return tuple(sorted({*files, *(path for path, text in others.items() if text is not None)}))
        found = _differing(repository, repository.head, root, pipeline, files)
        above = _above(repository, root)
        for path, text in others.items():
            entry = repository.entry(repository.head, above + path)
            if (entry is None) != (text is None) or (entry is not None and not _holds(repository, entry, text or "")):
                found.add(path)
        return tuple(sorted(found))


def _differing(repository: Repository, commit: str, root: Path, pipeline: str, files: Mapping[str, str]) -> set[str]:
    """The files of a pipeline that a commit has otherwise, or that only one of both has."""
    folder = pipeline_folder(pipeline)
    committed = {
        f"{folder}/{path}" if path else folder: entry
        for path, entry in repository.entries_below(commit, _above(repository, root) + folder)
        if not path or is_of_a_pipeline(path.rpartition("/")[2], path[: path.rfind("/") + 1])
    }
    both = committed.keys() & files.keys()
    return {*(committed.keys() ^ files.keys())} | {
        path for path in both if not _holds(repository, committed[path], files[path])
    }


def _holds(repository: Repository, entry: Entry, text: str) -> bool:
    """Whether an object of git is a file of this text."""
    if entry.mode not in PLAIN_FILES:
        return False
    content = text.encode()
    if blob_id(content, entry.id) == entry.id:
        return True
    kept = repository.content(entry)
    return kept is not None and kept.replace(b"\r\n", b"\n") == content


def _above(repository: Repository, root: Path) -> str:
    """The path from git's top to the root; empty, or it ends in `/`."""
    below = root.resolve().relative_to(repository.top).as_posix()
    return "" if below == "." else f"{below}/"


def checked_out(root: Path) -> str | None:
    """The commit of the working tree; None outside of git, and where nothing was committed."""
    repository = open_repository(root)
    if repository is None:
        return None
    with repository:
        return repository.head


def why_no_state_of(root: Path, branch: str, commit: str | None = None) -> str | None:
    """Why the branch never stood at a commit (None: the working tree's), or None where it did. The branch is origin's, if
    there is an origin, else the one here."""
    repository = open_repository(root)
    if repository is None:
        return f"this is not a git repository, so it has no branch {branch}"
    with repository:
        tip, asked = repository.branch(branch), commit or repository.head
        if tip is None or asked is None:
            return f"branch {branch} does not exist here, or it has no commit"
        if repository.is_on_first_parents(asked, tip):
            return None
        what = "this commit" if commit is None else f"commit {short_commit(commit)}"
        if not repository.has_commit(asked):
            return (
                f"this clone of the repository does not have {what}, so it can't tell whether branch {branch} contains "
                "it: fetch it"
            )
        if repository.is_ancestor(asked, tip):
            return f"{what} came into branch {branch} by a merge; the branch itself never pointed to it"
        cut = ", as far as this clone knows: it is shallow" if repository.cut_commits else ""
        return f"{what} is not on branch {branch}{cut}"


def is_before_checked_out(root: Path, commit: str) -> bool:
    """Whether the commit of the working tree is this one, or comes from it. False where that can't be told."""
    repository = open_repository(root)
    if repository is None:
        return False
    with repository:
        head = repository.head
        return head is not None and repository.has_commit(commit) and repository.is_ancestor(commit, head)


def pipelines_checked_out(root: Path, pipelines: Iterable[str]) -> frozenset[str]:
    """Those of these pipelines that have files in the commit of the working tree; none outside of git."""
    repository = open_repository(root)
    if repository is None:
        return frozenset()
    with repository:
        commit = repository.head
        if commit is None:
            return frozenset()
        above = _above(repository, root)
        return frozenset(name for name in pipelines if repository.entry(commit, above + pipeline_folder(name)) is not None)


def has_pipeline_at(root: Path, commit: str, pipeline: str) -> bool:
    """Whether a commit (with a `+` or not) has files of a pipeline where the working tree has its project. False outside of
    git, and where this copy does not have the commit."""
    repository, known = open_repository(root), commit.removesuffix(NOT_COMMITTED)
    if repository is None or not known:
        return False
    with repository:
        folder = _above(repository, root) + pipeline_folder(pipeline)
        return repository.has_commit(known) and repository.entry(known, folder) is not None


def is_cut(root: Path) -> bool:
    """Whether this copy of the repository leaves out a part of its history."""
    repository = open_repository(root)
    if repository is None:
        return False
    with repository:
        return bool(repository.cut_commits)


def is_tip_of_whole_copy(root: Path, branch: str) -> bool:
    """Whether the working tree's commit is the last of the branch, in a copy that leaves out no history."""
    repository = open_repository(root)
    if repository is None:
        return False
    with repository:
        return not repository.cut_commits and repository.head is not None and repository.head == repository.branch(branch)


def differs_at(root: Path, commit: str, pipeline: str, files: Mapping[str, str]) -> bool:
    """Whether a commit has other files of a pipeline than these."""
    repository = open_repository(root)
    if repository is None:
        return False
    with repository:
        return bool(_differing(repository, commit, root, pipeline, files))


class Age(StrEnum):
    """How a commit stands to another one."""

    OLDER = "older"
    NOT_OLDER = "not older"
    UNKNOWN = "unknown"


def age_beside(root: Path, commit: str, other: str) -> Age:
    """Whether a commit is older than another one that came out of it, as far as this copy tells."""
    if commit == other:
        return Age.NOT_OLDER
    repository = open_repository(root)
    if repository is None:
        return Age.UNKNOWN
    with repository:
        if not (repository.has_commit(commit) and repository.has_commit(other)):
            return Age.UNKNOWN
        if repository.is_ancestor(commit, other):
            return Age.OLDER
        # Two that nothing connects may be connected by what a shallow copy leaves out.
        is_known = not repository.cut_commits or repository.is_ancestor(other, commit)
        return Age.NOT_OLDER if is_known else Age.UNKNOWN
