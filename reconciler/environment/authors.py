"""Who wrote what a pipeline's files say: authors and co-authors of commits, as git has them.

Who made a file that was moved to where it counts is one of them: by moving it, nobody writes it anew.
"""

from collections.abc import Sequence
from pathlib import Path

from reconciler.environment.commits import NOT_COMMITTED
from reconciler.environment.repository import Repository, open_repository


def authors_since(
    root: Path, commit: str, paths: tuple[Path, ...] | None, *, of_the_last: bool = True
) -> frozenset[str] | None:
    """Names and addresses of the authors, co-authors among them, of what changed at these paths (None: anywhere) since a
    commit (with a `+` or not; empty: since ever); where nothing changed since, of the last change there (`of_the_last`).
    Who made a file that was moved there, or copied, is one of them. Empty outside of git. None where that can't be told:
    this copy does not have that commit, or leaves out what came after it."""
    repository = open_repository(root)
    if repository is None:
        return frozenset()
    with repository:
        if repository.head is None:
            return frozenset()
        places = [(path.parent.resolve() / path.name).relative_to(repository.top).as_posix() for path in paths or ()]
        since = commit.removesuffix(NOT_COMMITTED)
        changed = repository.commits_in("HEAD", *([f"^{since}"] if since else []))
        # What is cut off has authors whom nobody sees, and the last commit before it looks as if it had made everything.
        if changed is None or changed & repository.cut_commits:
            return None
        last = (("-n", "1", "HEAD"),) if of_the_last else ()
        for revisions in ((f"{since}..HEAD",) if since else ("HEAD",)), *last:
            told = [repository.log(_AUTHORS, *more, *revisions, "--", *places) for more in _WALKS]
            for file in _added(repository, revisions, places):
                told.append(repository.log(_AUTHORS, "--follow", *revisions, "--", file))
            found = [one for one in told if one is not None]
            if len(found) < len(told):
                return None
            lines = [line.partition("\0") for one in found for line in one.split("\n") if line]
            if any(written in repository.cut_commits for written, _, _ in lines):
                return None
            if lines:
                return frozenset(name for _, _, line in lines for name in _names(line) if name)
        return None if repository.cut_commits and of_the_last else frozenset()


def _added(repository: Repository, revisions: tuple[str, ...], places: Sequence[str]) -> list[str]:
    """The files that commits made anew at some places; they may have come from elsewhere."""
    if not places:
        return []
    said = repository.log("--format=", "--name-only", "-z", "--no-renames", "--diff-filter=A", *revisions, "--", *places)
    return sorted({name for name in (said or "").split("\0") if name})


_WALKS = ((), ("--full-history", "--no-merges"))
"""Of two branches that made one change, git shows one, unless it is asked for all; then it shows each merge as well."""

_AUTHORS = "--format=%H%x00%an%x00%ae%x00%(trailers:key=Co-authored-by,valueonly,unfold,separator=%x00)"


def _names(line: str) -> tuple[str, ...]:
    """`name NUL address NUL co-author <address> NUL …` as names and addresses."""
    author, address, *others = line.split("\0")
    return (author, address, *(part.strip(" >") for other in others for part in other.split("<")))
