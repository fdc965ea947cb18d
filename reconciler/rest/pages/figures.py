"""What is told of a pipeline: figures, logs, events, checkpoints, a bundle for who helps."""

import asyncio
import io
import json
import uuid
import zipfile
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from fastapi import APIRouter
from fastapi.responses import Response, StreamingResponse

from reconciler.base.digest import JsonObject
from reconciler.base.moments import this_moment
from reconciler.base.names import fold
from reconciler.base.secrets.redaction import masked_in_code, masked_within
from reconciler.base.version import __version__
from reconciler.environment.source import pipeline_names
from reconciler.rest.errors import Refused
from reconciler.rest.metrics import metrics_json, rows_text
from reconciler.rest.pages.operation import applied_program, connector_of, require_not_stopped
from reconciler.rest.pipeline_json import checkpoint_json
from reconciler.rest.shared import Service
from reconciler.rest.statistics import buffered_of, input_json, output_json, paused_connectors, refused_of, statistics
from reconciler.rest.tokens import token_of_steps
from reconciler.service.prometheus import prometheus_text
from reconciler.service.states import read_standing
from reconciler.service.status import read_status
from reconciler.service.status_model import PipelineStatus
from reconciler.state.applied import read_applied
from reconciler.state.checkpoints import create_checkpoint, list_checkpoints
from reconciler.state.events import LoggedEvent, read_events

_EVENTS: Final = 300
_OF_EVENTS: Final = uuid.UUID("a6f7fdb5-4d5d-4b8e-9c55-3b0f7d1f0c3a")
_POLL_SECONDS: Final = 0.5
_NO_LOG: Final = "0"
_MOST_OF_LOG: Final = 1 << 20


def router(service: Service) -> APIRouter:
    """The requests."""
    pages = APIRouter(tags=["figures"])
    seen: dict[str, PipelineStatus] = {}

    def status_now(name: str) -> PipelineStatus:
        seen[name] = found = read_status(service.target, name, seen.get(name))
        return found

    def is_applied(name: str) -> bool:
        return read_applied(service.target, name).snapshot is not None

    def figures(name: str, *, tells_errors: bool = False) -> JsonObject:
        found = service.lookup.see(name)
        program = found.compiled.program
        if is_applied(name) or program is None or not service.deployments.is_worked_on(name):
            # While a pipeline is applied for the first time, only its files say what it is.
            program = applied_program(service, name)
        status = status_now(name)
        return statistics(service.target, program, status, found, tells_errors)

    @pages.get("/pipelines/{name}/stats")
    def stats(name: str, include_connector_errors: bool = False) -> JsonObject:
        """Figures of the pipeline and its connectors, unless it is stopped; with the last errors of these, if they are asked
        for."""
        service.lookup.require(name)
        require_not_stopped(service, name)
        return figures(name, tells_errors=include_connector_errors)

    @pages.get("/pipelines/{name}/metrics")
    def metrics(name: str, format: Literal["prometheus", "json"] = "prometheus") -> Response:
        """The same for Prometheus, or as JSON: a list of metrics with their values."""
        service.lookup.require(name)
        text = prometheus_text([status_now(name)])
        if read_standing(service.target, name).is_applied:
            text += rows_text(name, figures(name)["global_metrics"])
        return Response(json.dumps(metrics_json(text)), media_type="application/json") if format == "json" else _plain(text)

    @pages.get("/pipelines/{name}/{relations}/{relation}/connectors/{connector}/stats")
    def connector_stats(name: str, relations: Literal["tables", "views"], relation: str, connector: str) -> JsonObject:
        """Figures of one connector."""
        found = connector_of(service, name, relations, relation, connector)
        told = next(one for one in status_now(name).connectors if fold(one.name) == fold(found.qualified_name))
        program, standing = applied_program(service, name), read_standing(service.target, name)
        is_paused = fold(found.qualified_name) in paused_connectors(program, standing)
        if relations == "tables":
            refused = refused_of(service.target, name, found)
            return input_json(
                found, told, is_paused, buffered_of(service.target, program, told, standing), refused, tells_errors=True
            )
        return output_json(found, told, is_paused, status_now(name).step or 0, tells_errors=True)

    @pages.get("/pipelines/{name}/logs")
    def logs(name: str, cursor: str | None = None) -> Response:
        """What the processes of the pipeline say; from a cursor on, if one is given. The stream goes on until the
        pipeline is deleted."""
        service.lookup.require(name)
        path = service.deployments.log_of(name)
        epoch = _epoch(service, name)
        first = _after(cursor, epoch)
        headers = {
            "content-type": "text/plain",
            "feldera-logs-epoch": epoch,
            "feldera-logs-seq": str(first),
            "feldera-logs-gap": "0",
        }

        def lives() -> bool:
            return epoch in (_NO_LOG, _epoch(service, name)) and name in pipeline_names(service.target.root)

        begin = f"pipeline {name} has no log yet: it was not started\n" if epoch == _NO_LOG else ""
        return StreamingResponse(_lines(path, first, begin.encode(), lives), headers=headers)

    @pages.get("/pipelines/{name}/events")
    def events(name: str, selector: Literal["all", "status"] = "status") -> list[JsonObject]:
        """What happened to the pipeline, the newest first."""
        service.lookup.require(name)
        return listed_events(name, selector, _EVENTS)

    def listed_events(name: str, selector: str, limit: int | None) -> list[JsonObject]:
        found = read_events(service.target.registry, name, limit)
        return [_event(name, one, selector) for one in reversed(found)]

    @pages.get("/pipelines/{name}/events/{event}")
    def event(name: str, event: str, selector: Literal["all", "status"] = "status") -> JsonObject:
        """One thing that happened: by its id, or `latest`."""
        service.lookup.require(name)
        for one in listed_events(name, selector, 1 if event == "latest" else None):
            if event in ("latest", one["event_id"]):
                return one
        raise Refused(404, "UnknownPipelineEvent", f"pipeline {name} has no event {event!r}")

    @pages.post("/pipelines/{name}/checkpoint")
    def checkpoint(name: str) -> JsonObject:
        """Write a checkpoint of the last published step. It is there when this is answered."""
        service.lookup.require(name)
        written = create_checkpoint(service.target, name, None, service.boundary)
        return {"checkpoint_sequence_number": written.step, "incarnation_uuid": _incarnation(service, name)}

    @pages.get("/pipelines/{name}/checkpoint_status")
    def checkpoint_status(name: str, incarnation_uuid: str | None = None) -> JsonObject:
        """The step of the last checkpoint."""
        service.lookup.require(name)
        found = list_checkpoints(service.target, name)
        return {"success": found[-1].step if found else None, "failure": None}

    @pages.get("/pipelines/{name}/checkpoints")
    def checkpoints(name: str) -> list[JsonObject]:
        """The checkpoints, oldest first."""
        service.lookup.require(name)
        return [checkpoint_json(name, one) for one in list_checkpoints(service.target, name)]

    @pages.get("/pipelines/{name}/tables/{table}/connectors/{connector}/completion_token")
    def completion_token(name: str, table: str, connector: str) -> JsonObject:
        """A token for what a connector has read until now: complete when it was processed."""
        connector_of(service, name, "tables", table, connector)
        return {"token": token_of_steps(service, name)}

    @pages.get("/pipelines/{name}/support_bundle")
    def support_bundle(
        name: str,
        collect: bool = True,
        metrics: bool = True,
        logs: bool = True,
        stats: bool = True,
        pipeline_config: bool = True,
        system_config: bool = True,
        pipeline_events: bool = True,
    ) -> Response:
        """A ZIP of what helps to find out what is wrong: no rows, and no secrets that can be told from other texts, since it
        is made for people elsewhere. What was collected stands in a folder that is
        named by the moment, beside what the ZIP says of itself. Nothing of it is kept: without `collect` that is all."""
        found = service.lookup.to_json(service.lookup.see(name), "all")
        system = {"reconciler": __version__, "environment": service.target.environment.name}
        parts: dict[str, str] = {}
        if collect and pipeline_config:
            parts["pipeline_config.json"] = _json(masked_within(found))
        if collect and system_config:
            parts["system_config.json"] = _json(system)
        if collect and pipeline_events:
            parts["events.json"] = _json(masked_within(listed_events(name, "all", _EVENTS)))
        if collect and stats and is_applied(name):
            parts["stats.json"] = _json(masked_within(figures(name)))
        if collect and metrics and is_applied(name):
            parts["metrics.txt"] = prometheus_text([status_now(name)])
        if collect and logs:
            log = service.deployments.log_of(name)
            parts["logs.txt"] = masked_in_code(_end_of(log))[0]
        return Response(_bundled(name, parts, system), media_type="application/zip")

    return pages


def _bundled(pipeline: str, parts: Mapping[str, str], system: JsonObject) -> bytes:
    """A ZIP of these files, with what it says of itself."""
    moment = this_moment()
    about = {"pipeline": pipeline, "collected_at": moment, **system, "files": sorted(parts)}
    words = [f"Support bundle of pipeline {pipeline}, collected at {moment}", *sorted(parts)]
    file, folder = io.BytesIO(), moment.replace(":", "-")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("metadata.json", _json(about))
        bundle.writestr("metadata.txt", "\n".join([*words, ""]))
        for name, text in parts.items():
            bundle.writestr(f"{folder}/{name}", text)
    return file.getvalue()


def _end_of(log: Path) -> str:
    """The last lines of a log, which may be long: it has those of all runs."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _MOST_OF_LOG))
        return file.read(_MOST_OF_LOG).decode("utf-8", "replace")


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, default=str)


def _plain(text: str) -> Response:
    # The client compares the whole header.
    return Response(text.encode(), headers={"content-type": "text/plain"})


def _incarnation(service: Service, name: str) -> str:
    return service.deployments.wish(name).incarnation or str(uuid.UUID(int=0))


def _event(pipeline: str, one: LoggedEvent, selector: str) -> JsonObject:
    id_ = str(uuid.uuid5(_OF_EVENTS, f"{pipeline}:{one.at}"))
    found = {"event_id": id_, "recorded_at": one.at, "event": one.event, "subject": one.subject, "step": one.step}
    return {**found, "details": one.details} if selector == "all" else found


def _epoch(service: Service, name: str) -> str:
    """Names the life of a pipeline's log, which begins anew when the file does."""
    path = service.deployments.log_of(name)
    return str(path.stat().st_ino) if path.exists() else _NO_LOG


def _after(cursor: str | None, epoch: str) -> int:
    known, _, number = (cursor or "").rpartition(":")
    return int(number) if known == epoch and number.isdecimal() else 0


async def _lines(path: Path, first: int, begin: bytes, lives: Callable[[], bool]) -> AsyncIterator[bytes]:
    """What the log begins with, its lines after the first so many, and those that come, for as long as it lives."""
    if begin:
        yield begin
    number, left, place = 0, b"", 0
    while True:
        text = await asyncio.to_thread(_read_from, path, place)
        place += len(text)
        *whole, left = (left + text).split(b"\n")
        found = [line for count, line in enumerate(whole, start=number) if count >= first]
        number += len(whole)
        if found:
            yield b"".join(line + b"\n" for line in found)
        if not text and not await asyncio.to_thread(lives):
            return
        await asyncio.sleep(_POLL_SECONDS if not text else 0)


def _read_from(path: Path, place: int) -> bytes:
    if not path.exists():
        return b""
    with path.open("rb") as file:
        file.seek(place)
        return file.read(1 << 20)
