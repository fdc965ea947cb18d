"""The one transition of the head: what a step, an apply or a restore did becomes what readers see.

Everything before it stands beside what is published. Histories are written first, each row under an id of its own, so that a
repeat writes none twice and nothing that is published lacks its row. Then one commit of the head changes program, versions,
places and positions together, pins what outputs are to send, and closes what was open. Who dies before that commit leaves an
intent or a journal; whoever finishes it comes here again.
"""

import uuid
from collections.abc import Mapping
from dataclasses import replace

from reconciler.base.boundaries import RECORDED, Boundary, no_boundary
from reconciler.project.program.model import Program
from reconciler.registry.model import Applied, Head, ObjectVersions, Stored
from reconciler.registry.protocol import History, Registry
from reconciler.run.emitting import pin_emissions
from reconciler.state.refreshed import refreshed_after
from reconciler.state.step_history import ToldOfStep, record_step
from reconciler.workspace.held_objects import held_numbers


def with_program(head: Head, applied: Applied, program: Program | None, versions: Mapping[str, ObjectVersions]) -> Head:
    """The head with another program in force; `program` None: the pipeline is removed. What was staged was to follow the
    program that was in force, and is staged no more: its folders go when old files go."""
    return replace(
        head,
        applied=applied,
        versions=versions,
        held=held_numbers(program) if program is not None else {},
        refreshed=refreshed_after(head.refreshed, versions) if program is not None else {},
        staged=None,
    )


def record_applied(registry: Registry, pipeline: str, applied: Applied, commit: str, summary: str) -> None:
    """The row that tells of a program that comes in force; `commit` is empty where it comes from none."""
    row = {
        "apply_id": applied.apply_id,
        "digest": applied.digest or "",
        "record": applied.record or "",
        "plan_digest": applied.plan_digest,
        "at": applied.at,
        "by": applied.by,
        "commit": commit,
        "approval": applied.approval.kind,
        "reconciler": applied.reconciler,
        "summary": summary,
    }
    registry.record(History.APPLIES, pipeline, [row], f"apply:{applied.apply_id}")


def publish_head(
    registry: Registry,
    stored: Stored[Head],
    after: Head,
    program: Program,
    told: ToldOfStep,
    boundary: Boundary = no_boundary,
) -> Stored[Head]:
    """Publish a step: its row, then the head. Raises RegistryConflict when this process lost the pipeline."""
    record_step(registry, stored.value, after, told)
    boundary(f"history:{RECORDED}")
    return registry.replace_head(stored.token, pin_emissions(after, program), str(uuid.uuid4()))
