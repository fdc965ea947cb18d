"""How the files of a repository relate to git: the commit that they are of, who wrote it, and whether it was merged.

Rules:
- A lock counts as merged only if the pipeline's files and the lock are exactly those of a commit (`uncommitted`), and, if
  the environment names a branch, that commit is on it (`is_on_branch`).
- What is recorded of an apply names the commit that the pipeline's files are of. Files that are of none, as they were read,
  stand on one: its id with a `+` (`commit_of`). Nobody is known to have written these, and no lock approves them.
Git is asked only by reading.
"""

import os
import tempfile
from collections.abc import Mapping
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reconciler.reconcile.source import (
    FUNCTIONS_FOLDER,
    LOCK_FILE,
    MANIFEST_FILE,
    is_of_a_pipeline,
    pipeline_folder,
)

if TYPE_CHECKING:
    from git import Repo


NOT_COMMITTED: Final = "+"
"""Stands after the id of the commit on which files stood that were not those of it."""


def open_repository(root: Path) -> "Repo | None":
    """The git repository that a folder is in; None outside of git."""
    if "GIT_DIR" not in os.environ and not any(
        (folder / ".git").exists() for folder in (root.resolve(), *root.resolve().parents)
    ):
        # Outside of git, nothing need be imported to know it.
        return None
    from git import InvalidGitRepositoryError, NoSuchPathError, Repo

    try:
        return Repo(root, search_parent_directories=True)
    except (InvalidGitRepositoryError, NoSuchPathError):
        return None


def who_is_at_work(root: Path) -> str:
    """The user whom git names."""
    repository = open_repository(root)
    if repository is None:
        return os.environ.get("USER", "")
    with repository:
        configured = repository.config_reader().get_value("user", "name", default=os.environ.get("USER", ""))
        return os.environ.get("GIT_COMMITTER_NAME") or os.environ.get("GIT_AUTHOR_NAME") or str(configured)


def commit_of(root: Path, pipeline: str, files: Mapping[str, str] | None) -> str:
    """The commit of the working tree, with a `+` where a pipeline's files (`source.files_of`) are not those of it. Empty
    outside of git, and where nothing was ever committed."""
    from git import GitCommandError

    repository = open_repository(root)
    if repository is None:
        return ""
    with repository:
        if not repository.head.is_valid():
            return ""
        commit = repository.head.commit.hexsha
        try:
            are_its = _are_of(repository, commit, root.resolve(), pipeline, files or {})
        except GitCommandError:
            # What git can't tell is not claimed.
            are_its = False
        return commit if are_its else commit + NOT_COMMITTED


def _are_of(repository: "Repo", commit: str, root: Path, pipeline: str, files: Mapping[str, str]) -> bool:
    """Whether a commit has these files of a pipeline, and no others."""
    top = Path(str(repository.working_tree_dir)).resolve()
    if not root.is_relative_to(top):
        return False
    above = "" if root == top else f"{root.relative_to(top).as_posix()}/"
    folder = f"{above}{pipeline_folder(pipeline)}/"
    listing = repository.git.ls_tree("-r", "-z", commit, "--", folder)
    committed: dict[str, str] = {}
    for words, _, name in (entry.partition("\t") for entry in listing.split("\0") if entry):
        below, _, last = name.removeprefix(folder).rpartition("/")
        if is_of_a_pipeline(last, f"{below}/" if below else ""):
            committed[name] = words.split()[2]
    read = {f"{above}{path}": text.encode() for path, text in files.items()}
    return committed.keys() == read.keys() and all(
        # Git may keep a file otherwise than it stands in the working tree, with other ends of lines for one.
        _object_id(content) == committed[name] or _stored_as(repository, name, content) == committed[name]
        for name, content in read.items()
    )


def _object_id(content: bytes) -> str:
    """The id of a file that git keeps as it stands there."""
    return sha1(b"blob %d\0%s" % (len(content), content), usedforsecurity=False).hexdigest()


def _stored_as(repository: "Repo", name: str, content: bytes) -> str:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        return str(repository.git.hash_object("--stdin", "--path", name, istream=file))


def short_commit(commit: str) -> str:
    """A commit as people are shown it: twelve digits, and the `+`."""
    return commit[:12] + (NOT_COMMITTED if commit.endswith(NOT_COMMITTED) else "")


def author_of(root: Path, commit: str) -> str:
    """Who wrote a commit, as git tells it; empty where the repository does not have it, or it does not have the files."""
    from git import GitCommandError

    repository = open_repository(root) if commit and not commit.endswith(NOT_COMMITTED) else None
    if repository is None:
        return ""
    with repository:
        try:
            return str(repository.git.log("-1", "--format=%an", commit, "--"))
        except GitCommandError:
            return ""


def uncommitted(root: Path, folder: Path, files: tuple[Path, ...]) -> tuple[str, ...] | None:
    """Of the files below `folder`, and of `files`, those whose content is not what the commit holds; sorted, relative to
    git's top. None outside of git.

    Contents are compared, not what git's index believes of them: a file may be marked as unchanged there.
    """
    repository = open_repository(root)
    if repository is None:
        return None
    with repository:
        top = Path(str(repository.working_tree_dir)).resolve()
        here = {_below(file, top) for file in files if file.is_file()}
        if not repository.head.is_valid():
            return tuple(sorted(here))
        places = sorted({_below(folder, top), *(_below(file, top) for file in files)})
        listing = repository.git.ls_tree("-r", "-z", "HEAD", "--", *places, with_extended_output=False)
        committed = {name: words.split()[2] for words, _, name in (e.partition("\t") for e in listing.split("\0") if e)}
        watched = {name for name in committed if name in here or _matters(name)}
        changed = {name for name in watched if not (top / name).is_file()} | (here - set(committed))
        present = sorted(name for name in here & set(committed))
        if present:
            hashes = repository.git.hash_object("--", *present).split()
            changed |= {name for name, found in zip(present, hashes, strict=True) if found != committed[name]}
        return tuple(sorted(changed))


def _matters(name: str) -> bool:
    """Whether a committed file says something of a pipeline: its absence would change what is planned."""
    in_functions = name.endswith(".py") and f"/{FUNCTIONS_FOLDER}/" in name
    return in_functions or name.endswith((".sql", f"/{MANIFEST_FILE}", f"/{LOCK_FILE}"))


def _below(path: Path, top: Path) -> str:
    return (path.parent.resolve() / path.name).relative_to(top).as_posix()


def authors_since(root: Path, commit: str, paths: tuple[Path, ...]) -> frozenset[str]:
    """Names and addresses of the authors, co-authors among them, of what changed at these paths since a commit (with a `+`
    or not); where that commit is not known or nothing changed since, of the last change there. Empty outside of git."""
    from git import GitCommandError

    repository = open_repository(root)
    if repository is None:
        return frozenset()
    with repository:
        if not repository.head.is_valid():
            return frozenset()
        top = Path(str(repository.working_tree_dir)).resolve()
        places = [_below(path, top) for path in paths]
        since = commit.removesuffix(NOT_COMMITTED)
        for revisions in ((f"{since}..HEAD",) if commit else (), ("-n", "1", "HEAD")):
            try:
                found = repository.git.log(_AUTHORS, *revisions, "--", *places) if revisions else ""
            except GitCommandError:
                # That commit was never here, or was fetched without its history.
                continue
            if found:
                return frozenset(name for line in found.split("\n") for name in _names(line) if name)
        return frozenset()


_AUTHORS = "--format=%an%x00%ae%x00%(trailers:key=Co-authored-by,valueonly,separator=%x00)"


def _names(line: str) -> tuple[str, ...]:
    """`name NUL address NUL co-author <address> NUL …` as names and addresses."""
    author, address, *others = line.split("\0")
    return (author, address, *(part.strip(" >") for other in others for part in other.split("<")))


def is_on_branch(root: Path, branch: str) -> bool:
    """Whether the working tree's commit is on the branch: origin's, if there is one, else the one here."""
    from git import BadName, GitCommandError

    repository = open_repository(root)
    if repository is None:
        return False
    with repository:
        remote, local = f"refs/remotes/origin/{branch}", f"refs/heads/{branch}"
        references = {reference.path for reference in repository.references}
        # Where there is an origin, it says what is merged: a local branch may be ahead of it.
        for reference in (remote,) if remote in references else (local,):
            try:
                return bool(repository.is_ancestor(repository.head.commit, repository.commit(reference)))
            except (GitCommandError, ValueError, BadName):
                return False
        return False
