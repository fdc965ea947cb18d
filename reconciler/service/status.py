"""Status: what a pipeline is doing, what is applied, what is pending. Read only; needs no JVM.

The state is derived, never stored (`lifecycle`): from who holds the lease, what the last run told in its report, what was
left open, and what awaits approval. What a run tells of itself (rows, backlog, failures, step times) is shown as it told it;
its rates count only while it lives.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Severity, render_diagnostic
from reconciler.base.digest import JsonObject
from reconciler.base.errors import ManifestInvalid, PlanRejected, ReconcileError
from reconciler.base.moments import moment_of_microseconds, seconds_between, this_moment
from reconciler.base.names import fold
from reconciler.base.printing import printable
from reconciler.diff.model import approval_diff
from reconciler.engine.files import files_read_once, skipped_files
from reconciler.environment.locations import told_path
from reconciler.environment.target import Target
from reconciler.materialize.stream_keys import describe_uneven_keys, largest_part
from reconciler.plan.model import RolledBack
from reconciler.plan.words import describe_rolled_back, summarise
from reconciler.project.program.model import Connector, Program, Relation, Stream, View
from reconciler.registry.model import Controls, Head
from reconciler.registry.placements import Placement, StreamState
from reconciler.run.orchestration import Activity, Decision, decide, has_ended
from reconciler.service.pending import read_pending
from reconciler.service.states import standing_with
from reconciler.service.status_model import ConnectorStatus, PipelineStatus, RelationStatus, RunStatus, StreamStatus
from reconciler.service.status_words import Seen, describe_state
from reconciler.state.applied import AppliedState, read_applied
from reconciler.state.rejections import Rejection
from reconciler.state.staged import staged_names
from reconciler.workspace.pipelines import require_known

_NO_TIME: Final = -(1 << 63)
"""Before every event time."""


@dataclass(frozen=True, slots=True)
class PendingPlan:
    """What a status tells of the plan that apply would carry out: the plan in a line, or why there is none; why apply would
    ask for an approval (empty: it would not); what the plan changes; the rejections that stop it; and what is wrong with the
    files, the first of it."""

    pending: str
    refusal: str = ""
    changes: JsonObject | None = None
    rejections: tuple[Rejection, ...] = ()
    fault: str = ""


def read_status(target: Target, pipeline: str, before: PipelineStatus | None = None) -> PipelineStatus:
    """The status of one pipeline. Raises NotFound, RegistryError. `before`: what is pending is taken from that status, if
    the same is applied, and not planned anew."""
    require_known(target, pipeline)
    return status_of_known(target, pipeline, before)


def status_of_known(target: Target, pipeline: str, before: PipelineStatus | None = None) -> PipelineStatus:
    """`read_status` of a pipeline that is known to be one (`known_pipelines`)."""
    applied = read_applied(target, pipeline)
    head = applied.head.value if applied.head else None
    standing = standing_with(target, pipeline, head)
    controls, report, failed, lease = standing.controls, standing.report, standing.failed, standing.lease
    if before is not None and before.applied == (head.applied if head else None):
        told = PendingPlan(before.pending, before.refusal, before.pending_diff, before.rejections, before.fault)
    else:
        told = _pending(target, pipeline, applied)
    refusal = told.refusal
    run = _run(target, report, standing.seen.told_alive) if "state" in report else None
    state = standing.state_with(bool(refusal))
    detail = describe_state(Seen(state, head, lease, run, refusal, failed, controls.paused))
    program = applied.snapshot.program if applied.snapshot else None
    return PipelineStatus(
        pipeline=pipeline,
        environment=target.environment.name,
        state=state,
        detail=target.pasteable(detail),
        pending=target.pasteable(told.pending),
        applied=head.applied if head else None,
        step=head.published.step if head and head.published else None,
        lease=lease,
        relations=_relations(program, head) if program and head else (),
        connectors=_connectors(target, program, head, controls, report, run) if program and head else (),
        wish=controls.wish.value,
        run=run,
        refusal=target.pasteable(refusal),
        staged=_staged(head),
        rolled_back=_rolled_back(head),
        failed_command=failed,
        pending_diff=told.changes,
        rejections=told.rejections,
        fault=told.fault,
    )


def _staged(head: Head | None) -> str:
    if head is None or head.staged is None:
        return ""
    return f"{staged_names(head.staged)}, as of step {head.staged.step}"


def _rolled_back(head: Head | None) -> tuple[str, ...]:
    held = sorted(head.held.items()) if head is not None else []
    keys = ((key.partition(":"), number) for key, number in held)
    return tuple(describe_rolled_back(RolledBack(kind, name, number)) for (kind, _, name), number in keys)


def _run(target: Target, report: JsonObject, alive: bool) -> RunStatus:
    return RunStatus(
        alive=alive,
        **{part: report[part] for part in ("host", "process", "started_at", "updated_at", "since", "steps", "phases")},
        error=_pasteable(target, report["error"]),
        doing=report.get("doing"),
        freshness=report.get("freshness") or {},
        without_spark=tuple(report["without_spark"]) if "without_spark" in report else None,
        ways=report.get("ways") or {},
    )


def _pending(target: Target, pipeline: str, applied: AppliedState) -> PendingPlan:
    try:
        pending = read_pending(target, pipeline, applied)
    except ManifestInvalid as error:
        count = len(error.diagnostics)
        more = f"; and {count - 1} more" if count > 1 else ""
        first = next((one for one in error.diagnostics if one.severity is Severity.ERROR), error.diagnostics[0])
        fault = f"{render_diagnostic(replace(first, hint=None))}{more}"
        return PendingPlan(f"the files have {count} error(s); run: reconcile validate", fault=fault)
    except ReconcileError as error:
        return PendingPlan(f"{error.code}: {error.message}", fault=f"{error.code}: {error.message}")
    if pending is None:
        return PendingPlan("no changes")
    summary = summarise(pending.plan)
    changes = None if pending.plan.diff.is_empty else approval_diff(pending.plan.diff)
    if isinstance(pending.refusal, PlanRejected):
        by = "denied by policy.yaml" if pending.refusal.code == "A508" else "rejected by bootstrap_policy"
        return PendingPlan(f"{summary}; {by}", "", changes, pending.rejections)
    return PendingPlan(summary, "" if pending.refusal is None else pending.refusal.message, changes, pending.rejections)


def _relations(program: Program, head: Head) -> tuple[RelationStatus, ...]:
    placements = head.published.relations if head.published else {}
    found = []
    for key in program.order:
        relation = program.relation(key)
        if relation is None:
            continue
        placement = placements.get(key)
        kind = program.relations[key].kind_words
        found.append(
            RelationStatus(
                relation.name,
                kind,
                placement.rows if placement else None,
                placement.version if placement else None,
                placement.failed_calls if placement else (),
                _stream(program, relation, placement),
            )
        )
    return tuple(found)


def _stream(program: Program, relation: Relation, placement: Placement | None) -> StreamStatus | None:
    stream = relation.stream if isinstance(relation, View) else None
    state = placement.state if placement is not None else None
    if stream is None or state is None:
        return None
    passed = state.watermark if state.watermark is not None else stream.watermark(state.greatest)
    moment = None if passed is None else moment_of_microseconds(passed)
    behind = None if passed is None else round(datetime.now(UTC).timestamp() - passed / 1_000_000, 3)
    uneven, part = (None, None) if state.keys is None else (describe_uneven_keys(state.keys), largest_part(state.keys))
    waited_for = _furthest_behind(program, stream, state)
    return StreamStatus(state.rows, state.bytes, moment, behind, state.late, state.keys, uneven, part, waited_for)


def _furthest_behind(program: Program, stream: Stream, state: StreamState) -> str | None:
    """What the watermark waits for. Of several inputs that is the one whose own watermark is the least; of the values of
    `per` likewise. None: nothing is behind."""
    # An input that comes by several ways is held back by the longest.
    clocks = {clock.assigned: clock for clock in sorted(stream.clocks, key=lambda clock: clock.delay)}
    name = None
    if len(clocks) > 1:
        marks = {key: state.greatest[key] - one.delay for key, one in clocks.items() if key in state.greatest}
        waiting = min(clocks, key=lambda key: marks.get(key, _NO_TIME))
        name = program.views[waiting].name if marks.get(waiting, _NO_TIME) < max(marks.values(), default=_NO_TIME) else None
        clocks = {waiting: clocks[waiting]} if name is not None else clocks
    value = _value_behind([state.by_value[key] for key in clocks if key in state.by_value])
    return value if name is None else f"{name} ({value})" if value is not None else name


def _value_behind(values: Sequence[Mapping[str, int]]) -> str | None:
    """The value with a watermark of its own that others wait for."""
    found = [(time, value) for one in values if len(one) > 1 for value, time in one.items()]
    least = min(found, default=None)
    if least is None or least[0] == max(found)[0]:
        return None
    # Spark leaves out what is NULL.
    columns = json.loads(least[1])
    return ", ".join(f"{name} = {printable(str(value))}" for name, value in columns.items()) or "NULL"


def _connectors(
    target: Target, program: Program, head: Head, controls: Controls, report: JsonObject, run: RunStatus | None
) -> tuple[ConnectorStatus, ...]:
    decisions = decide(program, head.positions, controls.connectors)
    told: Mapping[str, Any] = report.get("connectors") or {}
    alive = run is not None and run.alive
    return tuple(
        _connector(target, head, connector, decisions[key], told.get(key) or {}, alive)
        for key, connector in sorted(program.connectors.items())
    )


def _connector(
    target: Target, head: Head, connector: Connector, decision: Decision, told: Mapping[str, Any], alive: bool
) -> ConnectorStatus:
    key = fold(connector.qualified_name)
    # What it would do is known without a run; that it fails, only from one.
    if told.get("activity") == Activity.FAILING.value and decision.activity is Activity.RUNNING:
        decision = Decision(Activity.FAILING, told["reason"])
    elif not alive and decision.activity is Activity.RUNNING:
        decision = Decision(Activity.STOPPED)
    output = head.outputs.get(key)
    position = head.positions.get(key)
    if output is not None:
        position = output.told()
    counts = ("rows", "inserted", "deleted", "rejected", "unmatched", "late", "dropped", "batches", "without_spark")
    return ConnectorStatus(
        name=connector.qualified_name,
        direction=connector.direction.value,
        transport=connector.transport,
        position=position,
        activity=decision.activity.value,
        reason=target.pasteable(decision.reason),
        complete=has_ended(position),
        **{name: int(told.get(name) or 0) for name in counts},
        rows_per_second=float(told.get("rows_per_second") or 0.0) if alive else 0.0,
        backlog=told.get("backlog") or {},
        waiting_since=told.get("waiting_since"),
        waiting_seconds=seconds_between(told.get("waiting_since"), this_moment()),
        freshness=told.get("freshness"),
        unknown_fields=told.get("unknown_fields") or {},
        missing_fields=tuple(told.get("missing_fields") or ()),
        skipped_files=tuple(map(told_path, skipped_files(position))),
        files_read_once=tuple(map(told_path, files_read_once(position))),
        last_error=_pasteable(target, told.get("last_error")),
        retry_at=told.get("retry_at") if alive else None,
    )


def _pasteable(target: Target, error: JsonObject | None) -> JsonObject | None:
    """An error that a run told, with its commands of this environment: who made it knew none."""
    texts = ("message", "hint")
    return error and {name: target.pasteable(one) if name in texts and one else one for name, one in error.items()}
