"""Promoting: what is staged (`staging`) becomes active, or is dropped.

- To promote is to apply the staged snapshot (`apply --no-promote` and `apply` of the same files are the same plan). Its
  journal finds the folders by their names (`building`): where all that a view reads stands as it stood, nothing is computed;
  else it is computed again. The approval given for staging serves, since it is of this very plan.
- It is promoted as a whole: views that were staged together may read each other.
- After that nothing is staged any more. Who promotes again what somebody else has promoted meanwhile has nothing to do.
"""

import uuid
from dataclasses import replace

from reconciler.apply.applying import ApplyResult, apply_pipeline
from reconciler.apply.planning import Planned, planned_between
from reconciler.apply.staging import HANDOVER_WAIT_SECONDS, audit, remove_folders, require_closed
from reconciler.apply.wanted import Desired, Wanted
from reconciler.base.boundaries import BEFORE, RECORDED
from reconciler.base.errors import NotFound
from reconciler.base.names import fold
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.project.snapshot.model import Snapshot
from reconciler.project.snapshot.objects import object_key
from reconciler.registry.model import Head, Staged
from reconciler.state.applied import AppliedState, read_applied, read_snapshot
from reconciler.state.lease import hold_lease, this_process
from reconciler.state.staged import staged_names
from reconciler.versions.looking import VersionedName, find_object, number_of
from reconciler.versions.numbering import active_versions
from reconciler.versions.staged_history import record_staged


def drop_staged(target: Target, pipeline: str, session: Session) -> Staged:
    """Have nothing staged any more; what was. Raises NotFound (A571), ReconcileError (A572), LeaseHeld."""
    registry = target.registry
    with hold_lease(registry, pipeline, this_process("apply"), wait_seconds=HANDOVER_WAIT_SECONDS) as lease:
        stored = registry.head(pipeline)
        if stored is None or stored.value.staged is None:
            raise _nothing_staged(pipeline)
        require_closed(stored.value)
        head, staged = stored.value, stored.value.staged
        record_staged(target, head)
        session.boundary(f"unstage:{BEFORE}")
        lease.check()
        registry.replace_head(stored.token, replace(head, staged=None), str(uuid.uuid4()))
        session.boundary(f"unstage:{RECORDED}")
        audit(target, pipeline, "staged version dropped", staged)
    remove_folders(target, session, [one.folder for one in staged.views.values()])
    return staged


def find_staged(target: Target, name: VersionedName) -> tuple[str, Staged]:
    """The pipeline whose staged version that is, and all that is staged there. Raises NotFound (A520, A571), ReconcileError
    (A521)."""
    found = find_object(target, name)
    staged = found.head.staged
    number = staged.numbers.get(object_key(found.kind, found.name)) if staged is not None else None
    sought = number_of(target, found, name.version) if name.version is not None else None
    words = f"{found.pipeline}.{found.name}{'' if name.version is None else f'@{name.version}'}"
    if staged is not None and sought is not None and fold(f"{found.name}@v{sought}") in staged.views:
        # It is to be kept up to date, be it active or not.
        return found.pipeline, staged
    if name.version is not None and found.versions.active is not None and sought == found.versions.active:
        raise NotFound("A571", f"{words} is already active")
    if staged is None:
        raise _nothing_staged(found.pipeline, words)
    if number is None or (name.version is not None and sought != number):
        raise NotFound("A571", f"{words} is not staged", f"staged: {staged_names(staged)}")
    return found.pipeline, staged


def all_staged(target: Target, pipeline: str) -> Staged:
    """What is staged of a pipeline. Raises NotFound (A571)."""
    stored = target.registry.head(pipeline)
    if stored is None or stored.value.staged is None:
        raise _nothing_staged(pipeline)
    return stored.value.staged


def plan_promotion(target: Target, pipeline: str, staged: Staged) -> Planned:
    """The plan that makes active what is staged, with what it was made from."""
    applied = read_applied(target, pipeline)
    return planned_between(target, pipeline, applied, _promoted(target, pipeline, staged, applied))


def promote(target: Target, pipeline: str, staged: Staged, session: Session) -> ApplyResult:
    """Make active what is staged, as an apply of its plan. Raises as `apply_pipeline` does, and NotFound (A571) where
    something else became of it meanwhile."""

    def desired(applied: AppliedState) -> Desired:
        return Desired(_promoted(target, pipeline, staged, applied), lambda: staged.commit)

    wanted = Wanted(desired, promotes=staged_names(staged))
    return apply_pipeline(target, pipeline, session, wanted)


def _promoted(target: Target, pipeline: str, staged: Staged, applied: AppliedState) -> Snapshot | None:
    head = applied.head.value if applied.head is not None else None
    if head is not None and head.staged is not None and head.staged.id == staged.id:
        return read_snapshot(target, pipeline, staged.record)
    if head is not None and _is_promoted(target, staged, head):
        # Somebody else has promoted it, or this very apply has finished the one that did.
        return applied.snapshot
    raise _nothing_staged(pipeline, f"{staged_names(staged)} of {pipeline}")


def _is_promoted(target: Target, staged: Staged, head: Head) -> bool:
    if staged.numbers:
        return staged.numbers.items() <= active_versions(target.registry, head).items()
    return head.applied is not None and head.applied.digest == staged.digest


def _nothing_staged(pipeline: str, what: str = "") -> NotFound:
    message = f"pipeline {pipeline} has nothing staged" if not what else f"{what} is not staged"
    return NotFound("A571", message, f"to stage the change in the files: reconcile apply --no-promote {pipeline}")
