"""Figures of a pipeline and its connectors, in the client's form (`/stats`).

Counts are those of the pipeline's life, as its runs tell them (`run.reporting`); rows of INSERT and DELETE are not among
them. What waits is counted as it is now. What nobody measures here is null.
"""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from reconciler.base.digest import JsonObject
from reconciler.base.names import fold
from reconciler.connectors.catalogue import shown_settings
from reconciler.connectors.transport import Direction
from reconciler.engine.http_requests import waiting
from reconciler.environment.target import Target
from reconciler.project.program.model import Connector, Program
from reconciler.rest.descriptions import HTTP_CONNECTOR, folder_of_requests
from reconciler.rest.pipeline_json import Seen
from reconciler.rest.refused_rows import RefusedRows, read_refused
from reconciler.rest.requests import outputs_have_all
from reconciler.rest.transactions import Phase, TransactionNow, transaction_now
from reconciler.run.orchestration import Activity, decide
from reconciler.service.states import Standing
from reconciler.service.status_model import ConnectorStatus, PipelineStatus

_BEFORE_INPUT: Final = frozenset({"Initializing", "Bootstrapping", "Replaying", "AwaitingApproval"})
"""In these states nobody knows whether there will be more input: connectors may be new."""
_NOBODY: Final = str(uuid.UUID(int=0))


def statistics(target: Target, program: Program, status: PipelineStatus, seen: Seen, tells_errors: bool) -> JsonObject:
    """All figures of a pipeline. The last errors of connectors are long, and told where they are asked for."""
    standing, wish, state = seen.standing, seen.wish, seen.status

    def input_(one: ConnectorStatus) -> JsonObject:
        connector = program.connectors[fold(one.name)]
        refused = refused_of(target, program.name, connector)
        return input_json(connector, one, fold(one.name) in paused, buffered[one.name], refused, tells_errors=tells_errors)

    def output(one: ConnectorStatus) -> JsonObject:
        key = fold(one.name)
        return output_json(program.connectors[key], one, key in paused, published, tells_errors=tells_errors)

    inputs = [one for one in status.connectors if one.direction == Direction.INPUT.value]
    outputs = [one for one in status.connectors if one.direction == Direction.OUTPUT.value]
    buffered = {one.name: buffered_of(target, program, one, standing) for one in inputs}
    paused = paused_connectors(program, standing)
    rows, waits = sum(one.rows for one in inputs), sum(buffered.values())
    started = wish.since or (status.run.started_at if status.run is not None else "") or datetime.now(UTC).isoformat()
    begun = datetime.fromisoformat(started)
    uptime = max(0.0, (datetime.now(UTC) - begun).total_seconds() * 1000)
    declared = [one for one in inputs if not one.name.endswith(f".{HTTP_CONNECTOR}")]
    is_up = state not in _BEFORE_INPUT
    has_sent = standing.head is not None and outputs_have_all(standing.head, standing.report)
    published = status.step or 0
    return {
        "global_metrics": {
            "state": state,
            "incarnation_uuid": wish.incarnation or _NOBODY,
            "start_time": int(begun.timestamp()),
            "initial_start_time": int(begun.timestamp()),
            "uptime_msecs": int(uptime),
            "runtime_elapsed_msecs": int(uptime),
            "bootstrap_in_progress": state == "Bootstrapping",
            **_transaction(transaction_now(target, program.name)),
            "total_input_records": rows + waits,
            "buffered_input_records": waits,
            "total_input_bytes": None,
            "buffered_input_bytes": None if waits else 0,
            "total_processed_records": rows,
            "total_processed_bytes": None,
            "total_completed_records": rows,
            "total_initiated_steps": standing.head.last_step if standing.head is not None else published,
            "total_completed_steps": published,
            "pipeline_complete": is_up and all(one.complete for one in declared) and not waits and has_sent,
            "output_stall_msecs": 0,
            "rss_bytes": None,
            "cpu_msecs": None,
            "storage_bytes": _stored_bytes(standing),
            "storage_mb_secs": None,
        },
        "suspend_error": None,
        "checkpoint_activity": {"status": "idle"},
        "permanent_checkpoint_errors": None,
        "inputs": [found for one in inputs if _is_used(found := input_(one))],
        "outputs": [output(one) for one in outputs],
    }


def _transaction(now: TransactionNow) -> JsonObject:
    began = datetime.fromisoformat(now.began_at) if now.began_at else None
    by_api = {Phase.OPEN: "Started", Phase.COMMITTING: "Committed", Phase.NONE: None}[now.phase]
    return {
        "transaction_status": now.phase.value,
        "transaction_id": now.id,
        "transaction_msecs": None if began is None else int((datetime.now(UTC) - began).total_seconds() * 1000),
        "transaction_records": None,
        "transaction_initiators": {
            "transaction_id": now.id or None,
            "initiated_by_api": by_api,
            "initiated_by_connectors": {},
        },
        "commit_progress": None,
    }


def paused_connectors(program: Program, standing: Standing) -> frozenset[str]:
    """The keys of the connectors that are paused, or wait for others. A pipeline that is paused pauses none: they go on when
    it is resumed."""
    said = standing.controls.connectors
    decisions = decide(program, standing.head.positions if standing.head is not None else {}, said)
    return frozenset(
        key for key, decision in decisions.items() if said.get(key, decision.activity in (Activity.PAUSED, Activity.WAITING))
    )


def refused_of(target: Target, pipeline: str, connector: Connector) -> RefusedRows:
    """What was refused of the rows that came over HTTP; of other connectors nothing."""
    if connector.name != HTTP_CONNECTOR:
        return RefusedRows()
    return read_refused(folder_of_requests(target, pipeline, connector.relation))


def input_json(
    connector: Connector,
    told: ConnectorStatus,
    is_paused: bool,
    buffered: int,
    refused: RefusedRows,
    *,
    tells_errors: bool,
) -> JsonObject:
    """An input connector and its figures."""
    return {
        **_endpoint(connector, told, is_paused, tells_errors=tells_errors),
        "metrics": {
            "total_bytes": None,
            "total_records": told.rows + buffered,
            "buffered_records": buffered,
            "buffered_bytes": None if buffered else 0,
            "num_transport_errors": int(told.last_error is not None),
            "num_parse_errors": told.rejected + refused.count,
            "end_of_input": told.complete,
        },
        "parse_errors": (refused.to_json() or None) if tells_errors else None,
        "barrier": False,
        "completed_frontier": None,
    }


def output_json(
    connector: Connector, told: ConnectorStatus, is_paused: bool, step: int, *, tells_errors: bool
) -> JsonObject:
    """An output connector and its figures."""
    return {
        **_endpoint(connector, told, is_paused, tells_errors=tells_errors),
        "metrics": {
            "transmitted_records": told.inserted + told.deleted,
            "transmitted_bytes": None,
            "queued_records": 0,
            "queued_batches": sum(told.backlog.values()),
            "buffered_records": 0,
            "buffered_batches": 0,
            "num_encode_errors": 0,
            "num_transport_errors": int(told.last_error is not None),
            "total_processed_input_records": told.rows,
            "total_processed_steps": step,
            "memory": 0,
        },
        "encode_errors": None,
    }


def _is_used(told: JsonObject) -> bool:
    """Whether an input is to be told: that of rows over HTTP is, when there were some."""
    metrics = told["metrics"]
    return (
        not told["endpoint_name"].endswith(f".{HTTP_CONNECTOR}") or metrics["total_records"] or metrics["num_parse_errors"]
    )


def _endpoint(connector: Connector, told: ConnectorStatus, is_paused: bool, *, tells_errors: bool) -> JsonObject:
    error = told.last_error
    is_failing = told.activity == Activity.FAILING.value
    errors = None
    if error is not None and tells_errors:
        errors = [{"timestamp": error["at"], "index": 0, "tag": error["code"], "message": error["message"]}]
    return {
        "endpoint_name": connector.qualified_name,
        "config": {"stream": connector.relation, **shown_settings(connector.settings)},
        "fatal_error": None,
        "transport_errors": errors,
        "health": {
            "status": "Unhealthy" if is_failing else "Healthy",
            "description": told.reason or (error["message"] if is_failing and error is not None else None),
        },
        "paused": is_paused,
    }


def buffered_of(target: Target, program: Program, told: ConnectorStatus, standing: Standing) -> int:
    """How much an input has that was not read yet: requests that came over HTTP, or what its source told last."""
    connector = program.connectors[fold(told.name)]
    if connector.name != HTTP_CONNECTOR:
        # What was told last may be of before the rows were read.
        if told.complete:
            return 0
        return sum(told.backlog.values())
    head = standing.head
    position: Mapping[str, Any] = head.positions.get(fold(told.name), {}) if head is not None else {}
    folder = folder_of_requests(target, program.name, connector.relation)
    return waiting(folder, int(position.get("next", 1))).requests


def _stored_bytes(standing: Standing) -> int:
    published = standing.head.published if standing.head is not None else None
    return sum(one.bytes or 0 for one in published.relations.values()) if published is not None else 0
