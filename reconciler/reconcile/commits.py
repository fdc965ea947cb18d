"""How the files of a repository relate to git: the commit that they are of, who wrote it, and whether it was merged.

Rules:
- A lock counts as merged only if the pipeline's files and the lock are exactly those of a commit (`uncommitted`), and, if
  the environment names a branch, that commit is on it (`is_on_branch`).
Git is asked only by reading.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.reconcile.source import FUNCTIONS_FOLDER, LOCK_FILE, MANIFEST_FILE

if TYPE_CHECKING:
    from git import Repo


@dataclass(frozen=True, slots=True)
class Commit:
    """The commit that the working tree stands on, and who is at work. Empty texts outside of git."""

    id: str
    author: str


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


def read_commit(root: Path) -> Commit:
    """The commit of the working tree and the user whom git names."""
    repository = open_repository(root)
    if repository is None:
        return Commit("", os.environ.get("USER", ""))
    with repository:
        configured = repository.config_reader().get_value("user", "name", default=os.environ.get("USER", ""))
        author = os.environ.get("GIT_COMMITTER_NAME") or os.environ.get("GIT_AUTHOR_NAME") or str(configured)
        return Commit(repository.head.commit.hexsha if repository.head.is_valid() else "", author)


def author_of(root: Path, commit: str) -> str:
    """Who wrote a commit, as git tells it; empty where the repository does not have it."""
    from git import GitCommandError

    repository = open_repository(root) if commit else None
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
    """Names and addresses of the authors, co-authors among them, of what changed at these paths since a commit; where
    that commit is not known or nothing changed since, of the last change there. Empty outside of git."""
    from git import GitCommandError

    repository = open_repository(root)
    if repository is None:
        return frozenset()
    with repository:
        if not repository.head.is_valid():
            return frozenset()
        top = Path(str(repository.working_tree_dir)).resolve()
        places = [_below(path, top) for path in paths]
        for revisions in ((f"{commit}..HEAD",) if commit else (), ("-n", "1", "HEAD")):
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
