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
from reconciler.registry.model import Controls, Deployment
from reconciler.rest.descriptions import HTTP_CONNECTOR, folder_of_requests
from reconciler.rest.requests import outputs_have_all
from reconciler.rest.transactions import Phase, TransactionNow, transaction_now
from reconciler.run.orchestration import Activity
from reconciler.service.states import Standing
from reconciler.service.status_model import ConnectorStatus, PipelineStatus

_BEFORE_INPUT: Final = frozenset({"Initializing", "Bootstrapping", "Replaying", "AwaitingApproval"})
"""In these states nobody knows whether there will be more input: connectors may be new."""
_NOBODY: Final = str(uuid.UUID(int=0))


def statistics(
    target: Target, program: Program, status: PipelineStatus, standing: Standing, wish: Deployment, state: str
) -> JsonObject:
    """All figures of a pipeline. `state` is its `deployment_status`."""
    inputs = [one for one in status.connectors if one.direction == Direction.INPUT.value]
    outputs = [one for one in status.connectors if one.direction == Direction.OUTPUT.value]
    buffered = {one.name: buffered_records(target, program, one, standing) for one in inputs}
    controls = standing.controls
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
            "buffered_input_bytes": None,
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
        "inputs": [input_json(program.connectors[fold(one.name)], one, controls, buffered[one.name]) for one in inputs],
        "outputs": [output_json(program.connectors[fold(one.name)], one, controls, published) for one in outputs],
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


def input_json(connector: Connector, told: ConnectorStatus, controls: Controls, buffered: int) -> JsonObject:
    """An input connector and its figures."""
    return {
        **_endpoint(connector, told, controls),
        "metrics": {
            "total_bytes": None,
            "total_records": told.rows + buffered,
            "buffered_records": buffered,
            "buffered_bytes": None,
            "num_transport_errors": int(told.last_error is not None),
            "num_parse_errors": told.rejected,
            "end_of_input": told.complete,
        },
        "parse_errors": None,
        "barrier": False,
        "completed_frontier": None,
    }


def output_json(connector: Connector, told: ConnectorStatus, controls: Controls, step: int) -> JsonObject:
    """An output connector and its figures."""
    return {
        **_endpoint(connector, told, controls),
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


def _endpoint(connector: Connector, told: ConnectorStatus, controls: Controls) -> JsonObject:
    error, said = told.last_error, controls.connectors.get(fold(connector.qualified_name))
    is_idle = told.activity in (Activity.PAUSED.value, Activity.WAITING.value)
    is_failing = told.activity == Activity.FAILING.value
    errors = None
    if error is not None:
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
        "paused": is_idle if said is None else said,
    }


def buffered_records(target: Target, program: Program, told: ConnectorStatus, standing: Standing) -> int:
    """How much an input has that was not read yet: requests that came over HTTP, or what its source told last."""
    connector = program.connectors[fold(told.name)]
    if connector.name != HTTP_CONNECTOR:
        return sum(told.backlog.values())
    head = standing.head
    position: Mapping[str, Any] = head.positions.get(fold(told.name), {}) if head is not None else {}
    folder = folder_of_requests(target, program.name, connector.relation)
    return waiting(folder, int(position.get("next", 1))).requests


def _stored_bytes(standing: Standing) -> int:
    published = standing.head.published if standing.head is not None else None
    return sum(one.bytes or 0 for one in published.relations.values()) if published is not None else 0
