"""Whether files are merged to the environment's branch, and are the newest that an apply knows of.

- Merged is what is of a commit at which the branch itself stood: its tip, and what comes before it by first parents. What a
  merge brought in was no state of the branch, be it as it may; nor was what a merge left out.
- Files older than those of a commit that was applied, or looked at and found applied already, bring back nothing, whatever
  approves them. What was only looked at is remembered beside the head (`Reached`), by compare-and-set and without the lease:
  a live run is not disturbed. An apply that is refused remembers nothing, so that what came before it may still come.
- Of two applies at once, one that opens its journal and one that finds nothing to do, each writes first and then looks at
  what the other writes: so one of them sees the other (`applying`).
- A first apply has nothing of its own to be older than. It is held against what is known of other pipelines: it is not done
  from a commit that one of them has passed, where the files are others there.
- What can't be told, because this copy lacks a commit, is no consent. There is one exception: the tip of the branch is
  applied from a copy that is not shallow, or a history that was written anew could never be applied.
- Where the environment names no branch, there is no order of commits, and none of this is asked.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from reconciler.base.moments import this_moment
from reconciler.environment.bases import required_branches
from reconciler.environment.commits import (
    NOT_COMMITTED,
    Age,
    age_beside,
    checked_out,
    differs_at,
    is_cut,
    is_tip_of_whole_copy,
    short_commit,
    uncommitted,
    why_no_state_of,
)
from reconciler.environment.source import PROJECT_FILE, files_of, read_optional
from reconciler.environment.target import Target
from reconciler.registry.changing import change_document
from reconciler.registry.model import Reached


def unmerged(
    target: Target, pipeline: str, more: tuple[Path, ...] = (), files: Mapping[str, str] | None = None
) -> str | None:
    """Why what the files of the pipeline say (and reconcile.yaml, and `more`) can't have been merged, or None. `files` are
    the pipeline's as they were read (None: as they stand)."""
    changed = not_committed(target, pipeline, more, files)
    if changed is None:
        return "this is not a git repository, so its files can't be merged"
    if changed:
        return f"not committed: {', '.join(changed)}"
    reasons = (why_no_state_of(target.root, branch) for branch in required_branches(target, pipeline))
    return next((f"not merged: {reason}" for reason in reasons if reason is not None), None)


def staged_unmerged(target: Target, pipeline: str, commit: str) -> str | None:
    """Why what was staged of a commit can't have been merged, by what the environment asks for now; or None."""
    branches = required_branches(target, pipeline)
    if branches and (not commit or commit.endswith(NOT_COMMITTED)):
        return "it was staged from files that were not committed"
    reasons = (why_no_state_of(target.root, branch, commit) for branch in branches)
    found = next((reason for reason in reasons if reason is not None), None)
    return f"it was staged from commit {short_commit(commit)}; not merged: {found}" if found is not None else None


def not_committed(
    target: Target, pipeline: str, more: tuple[Path, ...] = (), files: Mapping[str, str] | None = None
) -> tuple[str, ...] | None:
    """Of the pipeline's files, reconcile.yaml and `more` those that are not as the commit has them; None outside of git."""
    others = {path.relative_to(target.root).as_posix(): read_optional(path, target.root) for path in more}
    others[PROJECT_FILE] = read_optional(target.root / PROJECT_FILE, target.root)
    return uncommitted(target.root, pipeline, _read(target, pipeline, files), others)


def outdated(target: Target, pipeline: str, files: Mapping[str, str] | None = None) -> str | None:
    """Why the working tree's commit is older than what was applied or looked at, or None."""
    commit, branches = checked_out(target.root), required_branches(target, pipeline)
    if commit is None or not branches:
        return None
    for known, what in _known(target, pipeline):
        age = age_beside(target.root, commit, known)
        if age is Age.OLDER:
            return f"this commit is older than commit {short_commit(known)}, which {what}"
        if age is Age.UNKNOWN and not all(is_tip_of_whole_copy(target.root, branch) for branch in branches):
            return _untold(known, what)
    if target.registry.head(pipeline) is None:
        return _passed_by_another(target, pipeline, commit, _read(target, pipeline, files))
    return None


def _passed_by_another(target: Target, pipeline: str, commit: str, files: Mapping[str, str]) -> str | None:
    for other in target.registry.pipelines():
        for known, what in _known(target, other):
            age = age_beside(target.root, commit, known)
            if age is Age.OLDER and differs_at(target.root, known, pipeline, files):
                return (
                    f"this commit is older than commit {short_commit(known)}, which {what} for {other}, and {pipeline} "
                    "has other files there"
                )
            # In a whole copy a commit that is not here is another repository's.
            if age is Age.UNKNOWN and is_cut(target.root):
                return _untold(known, f"{what} for {other}")
    return None


def _untold(known: str, what: str) -> str:
    return (
        f"this clone of the repository can't tell whether this commit is older than commit {short_commit(known)}, which "
        f"{what}: fetch the whole history (git fetch --unshallow)"
    )


def _known(target: Target, pipeline: str) -> Iterator[tuple[str, str]]:
    """The commits that a pipeline has come to, and in which way."""
    stored = target.registry.head(pipeline)
    if stored is not None and stored.value.applied is not None and stored.value.applied.commit:
        yield stored.value.applied.commit.removesuffix(NOT_COMMITTED), "is applied"
    reached = target.registry.document(pipeline, Reached)
    if reached is not None:
        yield reached.value.commit, "was checked last"


def remember(target: Target, pipeline: str, files: Mapping[str, str]) -> None:
    """Remember that the files, as they were read, are what is applied: nothing older than their commit is wanted now."""
    if not required_branches(target, pipeline):
        return
    commit = checked_out(target.root)
    if commit is None or any(known == commit for known, _ in _known(target, pipeline)):
        return
    if unmerged(target, pipeline, files=files) is None and outdated(target, pipeline, files) is None:
        reach(target, pipeline, commit)


def reach(target: Target, pipeline: str, commit: str) -> None:
    """Note that a pipeline has come to a commit of the branch, unless somebody has come further meanwhile."""

    def reached(now: Reached | None) -> Reached | None:
        if now is not None and (now.commit == commit or age_beside(target.root, commit, now.commit) is Age.OLDER):
            return None
        return Reached(commit, this_moment())

    change_document(target.registry, pipeline, Reached, reached)


def passed(target: Target, pipeline: str, commit: str) -> str | None:
    """The commit that was looked at after this one was staged, or None. What is staged notes its own commit (`reach`), so
    any other was looked at since: nobody's git need be asked."""
    reached = target.registry.document(pipeline, Reached) if required_branches(target, pipeline) else None
    return reached.value.commit if reached is not None and reached.value.commit != commit else None


def overtaken(target: Target, pipeline: str, commit: str) -> str | None:
    """The commit that was looked at last, where it came out of `commit`, or this copy can't tell; None where it did not."""
    reached = target.registry.document(pipeline, Reached) if required_branches(target, pipeline) else None
    if reached is None or age_beside(target.root, commit.removesuffix(NOT_COMMITTED), reached.value.commit) is Age.NOT_OLDER:
        return None
    return reached.value.commit


def _read(target: Target, pipeline: str, files: Mapping[str, str] | None) -> Mapping[str, str]:
    return files if files is not None else files_of(target.root, pipeline) or {}
