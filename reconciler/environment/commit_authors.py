"""Who wrote what a pipeline's files say: authors and co-authors of commits, as git has them.

Whoever moves or copies a file has not written it. So who wrote a file counts as well, wherever it stood before

- its text is put to a place that counts: to a new file (git follows these), or over a file that is there, in an ordinary
  commit or in a merge;
- a commit removes it and changes a file there that has some of its lines then: it was moved and edited.

A file whose lines are copied while it stays says nothing of who wrote them.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from reconciler.environment.commits import NOT_COMMITTED
from reconciler.environment.repository import PLAIN_FILES, Entry, Repository, blob_id, open_repository


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
            told = _told(repository, revisions, places, set())
            if told is None:
                return None
            lines = [line.partition("\0") for line in told]
            if any(written in repository.cut_commits for written, _, _ in lines):
                return None
            if lines:
                return frozenset(name for _, _, line in lines for name in _names(line) if name)
        return None if repository.cut_commits and of_the_last else frozenset()


def _told(
    repository: Repository, revisions: tuple[str, ...], places: Sequence[str], seen: set[tuple[str, str]]
) -> list[str] | None:
    """A line as `_AUTHORS` has it for each commit that wrote what stands at these places (none: anywhere); None where git
    does not know the commits. `seen` are files (commit, path) that are asked about already."""
    said = [repository.log(_AUTHORS, *walk, *revisions, "--", *places) for walk in _WALKS]
    for file in _added(repository, revisions, places):
        said.append(repository.log(_AUTHORS, "--follow", *revisions, "--", file))
    lines = []
    for one in said:
        if one is None:
            return None
        lines += [line for line in one.split("\n") if line]
    for commit, path in _brought(repository, revisions, places):
        if (commit, path) not in seen:
            seen.add((commit, path))
            more = _told(repository, (commit,), [path], seen)
            if more is None:
                return None
            lines += more
    return lines


def _added(repository: Repository, revisions: tuple[str, ...], places: Sequence[str]) -> list[str]:
    """The files that commits made anew at some places; they may have come from elsewhere. Not those made empty, which git
    would follow to any other empty file."""
    if not places:
        return []
    raw = ("--format=", "--raw", "--no-abbrev", "-z", "--no-renames", "--diff-filter=A")
    said = repository.log(*raw, *revisions, "--", *places) or ""
    made = ((one["id"], one["path"]) for one in _MADE.finditer(said))
    return sorted({path for new, path in made if new != blob_id(b"", new)})


def _brought(repository: Repository, revisions: tuple[str, ...], places: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The files elsewhere, each by a commit that has it, whose text commits put at these places: see the module."""
    if not places:
        return
    for commit in (repository.log("--format=%H", "--full-history", *revisions, "--", *places) or "").split():
        for parent in repository.parents(commit):
            put: list[Entry] = []
            removed: list[tuple[str, Entry]] = []
            for path, before, after in repository.differences(parent, commit):
                if _is_below(path, places):
                    if after is not None and after.mode in PLAIN_FILES:
                        put.append(after)
                elif after is None and before is not None:
                    removed.append((path, before))
            if put:
                # An empty file was copied from nobody.
                ids = {entry.id for entry in put if _lines(repository, entry)}
                copied = (path for path, entry in repository.entries_below(parent, "") if entry.id in ids)
                moved = _with_lines_of(repository, put, removed)
                yield from ((parent, path) for path in (*copied, *moved) if not _is_below(path, places))


def _is_below(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _with_lines_of(repository: Repository, put: Sequence[Entry], removed: Sequence[tuple[str, Entry]]) -> list[str]:
    """Those of the removed files that have a line of what was put somewhere. Not of its new lines alone: a draft over a
    program may only lack some."""
    if not removed:
        return []
    lines = set[bytes]().union(*(_lines(repository, entry) for entry in put))
    return [path for path, entry in removed if not lines.isdisjoint(_lines(repository, entry))]


def _lines(repository: Repository, entry: Entry) -> set[bytes]:
    """The lines of a file that say something."""
    if entry.mode not in PLAIN_FILES:
        return set()
    lines: Collection[bytes] = (repository.content(entry) or b"").splitlines()
    return {line.strip() for line in lines if any(map(str.isalnum, line.decode("utf-8", "replace")))}


_MADE = re.compile(r":[0-7]{6} [0-7]{6} [0-9a-f]+ (?P<id>[0-9a-f]+) A\0(?P<path>[^\0]+)(?=\0|\Z)")
_WALKS = ((), ("--full-history", "--no-merges"))
"""Of two branches that made one change, git shows one, unless it is asked for all; then it shows each merge as well."""

_AUTHORS = "--format=%H%x00%an%x00%ae%x00%(trailers:key=Co-authored-by,valueonly,unfold,separator=%x00)"


def _names(line: str) -> tuple[str, ...]:
    """`name NUL address NUL co-author <address> NUL …` as names and addresses."""
    author, address, *others = line.split("\0")
    return (author, address, *(part.strip(" >") for other in others for part in other.split("<")))
