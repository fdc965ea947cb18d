"""Status: what a pipeline is doing, what is applied, what is pending. Read only; needs no JVM.

States are the seed's, derived and never stored, so that they can't be stale:
- Bootstrapping: an apply holds the lease and its journal is open.
- Running: a run or a statement holds the lease.
- AwaitingApproval: the files ask for something that apply would refuse for want of an approval.
- Stopped: nobody writes. `detail` says what is left to do, if anything.
"""

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from reconciler.digest import JsonObject
from reconciler.errors import ApprovalRequired, ManifestInvalid, PlanRejected, ReconcileError
from reconciler.names import fold
from reconciler.plan.words import summarise
from reconciler.program.model import Program
from reconciler.reconcile.approving import require_approval
from reconciler.reconcile.compiling import read_desired
from reconciler.reconcile.lease import is_free, this_process
from reconciler.reconcile.pipelines import require_known
from reconciler.reconcile.planning import AppliedState, plan_between, read_applied
from reconciler.reconcile.sizes import measure_hazards
from reconciler.reconcile.target import Target
from reconciler.registry.model import Applied, EntryState, Head, Lease


class State(StrEnum):
    """See the module."""

    BOOTSTRAPPING = "Bootstrapping"
    RUNNING = "Running"
    AWAITING_APPROVAL = "AwaitingApproval"
    STOPPED = "Stopped"


@dataclass(frozen=True, slots=True)
class RelationStatus:
    """A table or view as published. `rows` is None when it is not stored or not known."""

    name: str
    kind: str
    rows: int | None
    version: int | None


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """A connector and how far it has read."""

    name: str
    direction: str
    transport: str
    position: JsonObject | None


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """See the module. `pending` is the plan's summary, or the reason why there is no plan."""

    pipeline: str
    environment: str
    state: State
    detail: str
    pending: str
    applied: Applied | None
    step: int | None
    lease: Lease | None
    relations: tuple[RelationStatus, ...] = field(default=())
    connectors: tuple[ConnectorStatus, ...] = field(default=())


def read_status(target: Target, pipeline: str) -> PipelineStatus:
    """The status of one pipeline. Raises NotFound, RegistryError."""
    require_known(target, pipeline)
    applied = read_applied(target, pipeline)
    head = applied.head.value if applied.head else None
    found = target.registry.lease(pipeline)
    lease = found.value if found and not is_free(found.value, datetime.now(UTC), this_process("status").host) else None
    pending, refusal = _pending(target, pipeline, applied)
    state, detail = _state(head, lease, refusal)
    program = applied.snapshot.program if applied.snapshot else None
    return PipelineStatus(
        pipeline=pipeline,
        environment=target.environment.name,
        state=state,
        detail=detail,
        pending=pending,
        applied=head.applied if head else None,
        step=head.published.step if head and head.published else None,
        lease=lease,
        relations=_relations(program, head) if program and head else (),
        connectors=_connectors(program, head) if program and head else (),
    )


def status_to_json(status: PipelineStatus) -> dict[str, Any]:
    """The status as a JSON object."""
    return asdict(status)


def _state(head: Head | None, lease: Lease | None, refusal: str) -> tuple[State, str]:
    if lease is not None:
        detail = f"`reconcile {lease.command}` on {lease.host} since {lease.since}"
        return (State.BOOTSTRAPPING if lease.command == "apply" else State.RUNNING), detail
    if head is not None and head.journal is not None:
        done = sum(entry.state is EntryState.DONE for entry in head.journal.entries)
        total = len(head.journal.entries)
        return State.STOPPED, f"an apply was interrupted after {done} of {total} steps; run: reconcile apply"
    if refusal:
        return State.AWAITING_APPROVAL, refusal
    if head is not None and head.intent is not None:
        return State.STOPPED, f"step {head.intent.step} was interrupted; the next run replays it"
    if head is None or head.applied is None:
        return State.STOPPED, "never applied"
    return State.STOPPED, "removed" if head.applied.record is None else ""


def _pending(target: Target, pipeline: str, applied: AppliedState) -> tuple[str, str]:
    """The plan in a line, and why it would be refused for want of an approval (empty: it would not)."""
    try:
        desired = read_desired(target, pipeline)
        if desired is None and applied.snapshot is None:
            return "no changes", ""
        plan = plan_between(target, pipeline, applied, desired)
        summary = summarise(plan)
    except ManifestInvalid as error:
        return f"the files have {len(error.diagnostics)} error(s); run: reconcile validate", ""
    except ReconcileError as error:
        return f"{error.code}: {error.message}", ""
    try:
        require_approval(target, plan, measure_hazards(target, plan, applied, desired))
    except ApprovalRequired as error:
        return summary, error.message
    except PlanRejected as error:
        return f"{summary}; {'denied by policy.yaml' if error.code == 'A508' else 'rejected by bootstrap_policy'}", ""
    return summary, ""


def _relations(program: Program, head: Head) -> tuple[RelationStatus, ...]:
    placements = head.published.relations if head.published else {}
    found = []
    for key in program.order:
        relation = program.relation(key)
        if relation is None:
            continue
        placement = placements.get(key)
        kind = "table" if key in program.tables else f"{program.views[key].kind.value} view"
        found.append(
            RelationStatus(
                relation.name,
                kind,
                placement.rows if placement else None,
                placement.version if placement else None,
            )
        )
    return tuple(found)


def _connectors(program: Program, head: Head) -> tuple[ConnectorStatus, ...]:
    return tuple(
        ConnectorStatus(
            connector.qualified_name,
            connector.direction.value,
            connector.transport,
            head.positions.get(fold(connector.qualified_name)),
        )
        for _, connector in sorted(program.connectors.items())
    )
