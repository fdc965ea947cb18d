"""Who made a change: the authors of the commits that a plan comes from. They don't count among those who approve it.

- Of the pipeline's own files, and of reconcile.yaml: who changed them since the commit that is applied.
- Where what is read of other pipelines means something else now (`Plan.origins`), who changed that, too: a reader's plan can
  come of nothing else. Such a pipeline was read as the files of the reader's commit had it, if they had it; else as it was
  applied, and what counts is what came after the commit that this was applied from. What was rolled back or restored there
  is of no commit: whoever did that is an author.
- policy.yaml is no part of it: the base branch's is in force, whoever wrote it.
- Where git can't tell, nobody is known not to have made it (A583): files that are not committed, a copy that lacks a part of
  the history, a pipeline that was applied from another repository.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from reconciler.base.errors import ReconcileError
from reconciler.base.printing import printable
from reconciler.environment.bases import is_at_home
from reconciler.environment.commit_authors import authors_since
from reconciler.environment.commits import NOT_COMMITTED, checked_out, has_pipeline_at, is_before_checked_out, short_commit
from reconciler.environment.merged import not_committed
from reconciler.environment.source import PIPELINES_FOLDER, PROJECT_FILE, is_pipeline_folder
from reconciler.environment.target import Target
from reconciler.plan.model import Origin, Plan
from reconciler.registry.protocol import History
from reconciler.state.past_applies import brought_back_by

COMMIT_FIRST: Final = "commit the change so that git records its author (the plan and its digest stay the same); then "

_Authors = Callable[[bool], frozenset[str]]
"""Names and addresses of those who changed something; True: where nobody has, of the last who did."""


def authors_of_change(target: Target, plan: Plan, files: Mapping[str, str] | None = None) -> frozenset[str]:
    """Names and addresses of those whose commits made the change. Raises ReconcileError (A583) where git can't tell. `files`
    are the pipeline's that the plan was made of (None: as they stand)."""
    _require_committed(plan.pipeline, files_of_nobody(target, plan, files), "")
    since = _commit_of_what_is_applied(target, plan.pipeline)
    own = _of_places(target, plan.pipeline, since, _places(target, plan.pipeline, since, plan.pipeline), "")
    others = [] if plan.rollback else list(_of_others(target, plan, since))
    if not others:
        return own(True)
    # Who wrote the reader long ago has not made what changes what it reads.
    found = own(since.endswith(NOT_COMMITTED)).union(*(authors(False) for authors in others))
    found = found.union(*(brought_back_by(target.registry, one.pipeline, one.record) for one in plan.origins))
    return found or own(True).union(*(authors(True) for authors in others))


def files_of_nobody(target: Target, plan: Plan, files: Mapping[str, str] | None) -> tuple[str, ...]:
    """The files of the change that git knows nobody of, since they are not committed. In a rollback files have no part."""
    return () if plan.rollback else not_committed(target, plan.pipeline, files=files) or ()


def _require_committed(pipeline: str, unknown: tuple[str, ...], where: str) -> None:
    if unknown:
        raise ReconcileError(
            "A583",
            f"{pipeline}: the approver must not be an author of the change{where}, but git does not know its authors: not "
            f"committed: {', '.join(map(printable, unknown))}",
            f"{COMMIT_FIRST}ask another person to approve it",
        )


def _of_places(target: Target, pipeline: str, since: str, places: tuple[Path, ...] | None, where: str) -> _Authors:
    def authors(of_the_last: bool) -> frozenset[str]:
        found = authors_since(target.root, since, places, of_the_last=of_the_last)
        if found is None:
            history = f"the history since the applied commit {short_commit(since)}" if since else "the whole history"
            raise ReconcileError(
                "A583",
                f"{pipeline}: the approver must not be an author of the change{where}, but git does not know its authors: "
                f"this clone of the repository lacks {history}",
                "fetch the whole history: git fetch --unshallow",
            )
        return found

    return authors


def _of_others(target: Target, plan: Plan, since: str) -> Iterator[_Authors]:
    """See the module; `since` is the commit that the reader is applied from."""
    for origin in plan.origins:
        name = origin.pipeline
        where = f" of the upstream pipeline {name}"
        if is_pipeline_folder(target.root / PIPELINES_FOLDER / name):
            _require_committed(plan.pipeline, not_committed(target, name) or (), where)
            if not since or has_pipeline_at(target.root, since, name):
                yield _of_places(target, plan.pipeline, since, _places(target, plan.pipeline, since, name), where)
                continue
        elif checked_out(target.root) is not None:
            _require_of_this_history(target, plan.pipeline, name)
        yield _of_places(target, plan.pipeline, _commit_of_record(target, origin), None, where)


def _require_of_this_history(target: Target, pipeline: str, read: str) -> None:
    glance = target.registry.glance(read)
    commit = glance.commit if glance is not None else ""
    if not commit or commit.endswith(NOT_COMMITTED) or not is_before_checked_out(target.root, commit):
        how = (
            f"from commit {short_commit(commit)}, which is not an ancestor of this commit" if commit else "without a commit"
        )
        raise ReconcileError(
            "A583",
            f"{pipeline}: the approver must not be an author of the change of the upstream pipeline {read}, but git does "
            f"not know its authors: {read} has no files here, and was applied {how}",
            "approve it in a clone that has that commit; or change policy.yaml to require no approval here, "
            "merge that, and apply",
        )


def _places(target: Target, applied: str, since: str, pipeline: str) -> tuple[Path, ...] | None:
    """Where a change of a pipeline may have been made since the commit of what is `applied`; None where it may have been
    anywhere, since the project was moved."""
    folder, project = target.root / PIPELINES_FOLDER / pipeline, target.root / PROJECT_FILE
    if not since:
        # Of what was never applied all is the change; but not all that was ever set for environments.
        return (folder,)
    return (folder, project) if is_at_home(target, applied) else None


def _commit_of_what_is_applied(target: Target, pipeline: str) -> str:
    """The commit from which on a change was made; empty where nothing was applied from any."""
    stored = target.registry.head(pipeline)
    applied = stored.value.applied if stored is not None else None
    if applied is None or applied.approval.kind != "restored" or applied.record is None:
        return applied.commit if applied is not None else ""
    # What was restored is of the commit that it was applied from, not of the one that it took the place of.
    return _commit_of_record(target, Origin(pipeline, applied.record))


def _commit_of_record(target: Target, origin: Origin) -> str:
    """The commit that these definitions of a pipeline were applied from last; empty where none is known."""
    rows = target.registry.history(History.APPLIES, origin.pipeline, record=origin.record) if origin.record else ()
    return next((row["commit"] for row in reversed(rows) if row["commit"]), "")
