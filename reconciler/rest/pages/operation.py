"""What is asked of a pipeline while it lives: start, stop, pause, resume, approve, clear; connectors paused and started."""

from typing import Literal

from fastapi import APIRouter

from reconciler.base.names import fold
from reconciler.connectors.transport import Direction
from reconciler.project.program.model import Connector, Program
from reconciler.rest.addresses import key_in
from reconciler.rest.descriptions import require_own
from reconciler.rest.errors import Refused
from reconciler.rest.requests import wait_until_read
from reconciler.rest.same_starts import PAUSED, RUNNING
from reconciler.rest.shared import Service
from reconciler.service.states import read_standing
from reconciler.state.applied import read_applied
from reconciler.state.controls import say_of_connector

Policy = Literal["await_approval", "allow", "reject"]
Relations = Literal["tables", "views"]


def router(service: Service) -> APIRouter:
    """The requests."""
    pages = APIRouter(tags=["operation"])
    deployments = service.deployments

    @pages.post("/pipelines/{name}/start", status_code=202)
    def start(
        name: str,
        initial: Literal["running", "paused", "standby"] = "running",
        bootstrap_policy: Policy = "await_approval",
        dismiss_error: bool = True,
        silent_bootstrap: bool = False,
        concurrent_bootstrap: bool = False,
    ) -> None:
        """Apply the pipeline's files, if that needs no approval, and run it."""
        if initial == "standby":
            message = "a pipeline can't be started as standby: nothing is gained by it here, as all state is in Delta tables"
            raise Refused(400, "InitialStandbyNotAllowed", message)
        _require_loud(silent_bootstrap)
        seen = service.lookup.see(name)
        if seen.program_status != "Success":
            message = f"the program of pipeline {name} does not compile: see program_error"
            raise Refused(400, "CannotStartWithCompilationError", message, seen.program_error)
        to = PAUSED if initial == "paused" else RUNNING
        deployments.start(name, to, bootstrap_policy, service.by(), dismisses=dismiss_error)

    @pages.post("/pipelines/{name}/approve", status_code=202)
    def approve(name: str, silent_bootstrap: bool = False, concurrent_bootstrap: bool = False) -> None:
        """Approve the plan that the pipeline awaits approval of, and carry it out."""
        _require_loud(silent_bootstrap)
        service.lookup.require(name)
        deployments.approve(name, service.by())

    @pages.post("/pipelines/{name}/stop", status_code=202)
    def stop(name: str, force: bool = False) -> None:
        """Stop the pipeline: after its step and with a checkpoint, or at once."""
        service.lookup.require(name)
        deployments.stop(name, service.by(), force=force)

    @pages.post("/pipelines/{name}/pause", status_code=202)
    def pause(name: str) -> None:
        """Take no input until the pipeline is resumed. Rows that were taken over HTTP before are processed first."""
        service.lookup.require(name)
        if not deployments.is_stopped(name) and read_standing(service.target, name).is_applied:
            wait_until_read(service, name, applied_program(service, name))
        deployments.pause(name, service.by())

    @pages.post("/pipelines/{name}/resume", status_code=202)
    def resume(name: str) -> None:
        """Take input again."""
        service.lookup.require(name)
        deployments.resume(name, service.by())

    @pages.post("/pipelines/{name}/dismiss_error")
    def dismiss_error(name: str) -> None:
        """Take the error away that stopped the pipeline."""
        service.lookup.require(name)
        deployments.dismiss_error(name)

    @pages.post("/pipelines/{name}/clear", status_code=202)
    def clear(name: str) -> None:
        """Remove all that is stored of the pipeline. Its files stay."""
        service.lookup.require(name)
        require_own(service.target, name)
        deployments.clear(name, service.by())

    @pages.post("/pipelines/{name}/{relations}/{relation}/connectors/{connector}/{action}")
    def act_on_connector(
        name: str, relations: Literal["tables", "views"], relation: str, connector: str, action: str
    ) -> None:
        """Pause a connector, or start it again."""
        if action not in ("pause", "start"):
            raise Refused(400, "InvalidConnectorAction", f"{action!r} is none of: pause, start")
        found = connector_of(service, name, relations, relation, connector)
        require_not_stopped(service, name)
        say_of_connector(service.target.registry, name, found.qualified_name, action == "pause", service.by())

    return pages


def _require_loud(silent_bootstrap: bool) -> None:
    if silent_bootstrap:
        message = (
            "silent_bootstrap: what outputs are sent is part of the plan that is approved, so a start can't change it: "
            "say on_bootstrap: silent of each connector that is to get nothing"
        )
        raise Refused(501, "NotSupported", message)


def require_not_stopped(service: Service, name: str) -> None:
    """Raises Refused for a pipeline that is stopped, with the error that stopped it."""
    if service.deployments.is_stopped(name):
        error = service.deployments.wish(name).error
        why = f": {error['message']}" if error else ""
        raise Refused(400, "PipelineInteractionNotDeployed", f"pipeline {name} is stopped{why}")


def applied_program(service: Service, name: str) -> Program:
    """The program in force. Raises Refused where nothing is applied."""
    service.lookup.require(name)
    snapshot = read_applied(service.target, name).snapshot
    if snapshot is None:
        raise Refused(400, "PipelineInteractionNotDeployed", f"pipeline {name} was never started: nothing of it is applied")
    return snapshot.program


def connector_of(service: Service, name: str, relations: str, relation: str, connector: str) -> Connector:
    """A connector of the program in force. Raises Refused."""
    program, direction = applied_program(service, name), Direction.INPUT if relations == "tables" else Direction.OUTPUT
    known = relation.strip('"')
    found = program.connectors.get(f"{key_in(program, relation)}.{fold(connector)}")
    if found is None or found.direction is not direction or found.name != connector:
        kind = "table" if direction is Direction.INPUT else "view"
        raise Refused(404, "UnknownConnector", f"{kind} {known!r} of pipeline {name} has no connector {connector!r}")
    return found
