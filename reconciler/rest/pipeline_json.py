"""A pipeline as the client knows it: the object of `GET /pipelines/{name}`.

Every key that an accessor of the client reads is there, also where there is nothing to say: it looks them up without asking.
"""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import ReconcileError
from reconciler.base.version import __version__
from reconciler.environment.source import pipeline_names
from reconciler.environment.target import Target
from reconciler.registry.model import Controls, Deployment
from reconciler.rest.compilation import Compiled, Compiler, program_info
from reconciler.rest.configuration import whole_program, whole_runtime
from reconciler.rest.deployments import Deployments
from reconciler.rest.descriptions import Description, folder_of_requests, read_description
from reconciler.rest.errors import may_pass, no_such_pipeline, told_of
from reconciler.rest.refused_rows import read_refused
from reconciler.rest.same_starts import PAUSED, RUNNING, STOPPED
from reconciler.service.states import Standing, read_standing
from reconciler.state.checkpoints import Checkpoint, list_checkpoints
from reconciler.state.lifecycle import Evidence
from reconciler.workspace.pipelines import known_pipelines

_WISHES: Final[Mapping[str, str]] = {STOPPED: "Stopped", RUNNING: "Running", PAUSED: "Paused"}
_OF_GIT: Final = uuid.UUID("6f0d3c8a-5b52-4b0e-9d0f-2f1c7f6a9b11")
_OF_CHECKPOINTS: Final = uuid.UUID("0b1f43a4-6a4b-4f35-8f0a-5f8f2f4f5e21")
_DOWN: Final = ("Stopped", "Stopping")
_NO_RUST: Final = "functions in Rust don't run on Spark: write them in Python, in the pipeline's udf/ folder, or as SQL"
_NEVER: Final = "1970-01-01T00:00:00+00:00"
_NO_RUNTIME: Final = "Unavailable"


@dataclass(frozen=True, slots=True)
class Seen:
    """All that is known of a pipeline at a moment. `description`: what the API knows of it; None of one that is git's."""

    name: str
    description: Description | None
    compiled: Compiled
    wish: Deployment
    standing: Standing
    status: str

    @property
    def program_status(self) -> str:
        """Whether the program compiles, as the client knows it."""
        return "RustError" if self.compiled.status == "Success" and self._has_rust else self.compiled.status

    @property
    def program_error(self) -> JsonObject:
        """What is wrong with the program."""
        found = self.compiled.error_json()
        if self.program_status == "RustError":
            return {**found, "rust_compilation": {"exit_code": 1, "stdout": "", "stderr": _NO_RUST}}
        return found

    @property
    def _has_rust(self) -> bool:
        known = self.description
        return known is not None and bool(known.udf_rust.strip() or known.udf_toml.strip())


class Lookup:
    """Looks pipelines up. `nests` the diff that waits for an approval, as clients from 0.322 on read it."""

    def __init__(self, target: Target, compiler: Compiler, deployments: Deployments, *, nests: bool = True) -> None:
        self.target, self._compiler, self._deployments, self._nests = target, compiler, deployments, nests

    def names(self) -> tuple[str, ...]:
        """All pipelines, sorted."""
        return known_pipelines(self.target)

    def require(self, name: str) -> None:
        """Raises Refused where there is no such pipeline."""
        # All those that the registry knows are only looked for where files don't tell: that reads a table.
        if name not in pipeline_names(self.target.root) and name not in self.names():
            raise no_such_pipeline(name)

    def see(self, name: str) -> Seen:
        """A pipeline. Raises Refused."""
        self.require(name)
        return self.see_known(name)

    def see_known(self, name: str, committed: frozenset[str] | None = None) -> Seen:
        """A pipeline that is among `names`; `committed` as for `read_description`."""
        wish, standing = self._deployments.wish(name), read_standing(self.target, name)
        status = self._deployments.status(name, wish, standing)
        try:
            description = read_description(self.target, name, committed)
        except ReconcileError:
            # One that is damaged hides no other; whoever wants to change it is told.
            description = None
        return Seen(name, description, self._compiler.compile(name), wish, standing, status)

    def see_in_list(self, name: str) -> Seen:
        """A pipeline that is among `names`, for a list of all: one of which something is damaged is stopped, has the error,
        and hides no other. Raises ReconcileError where the registry can't be reached for a moment."""
        try:
            return self.see_known(name)
        except ReconcileError as error:
            if may_pass(error):
                raise
            wish = Deployment(error=told_of(error).to_json())
            nothing = Standing(Evidence(), None, None, Controls(), {}, None)
            return Seen(name, None, self._compiler.compile(name), wish, nothing, "Stopped")

    def to_json(self, seen: Seen, selector: str) -> JsonObject:
        """The object, whole (`all`) or as far as it tells how the pipeline stands (`status`)."""
        found = {**_described(seen), **self._deployed(seen)}
        match selector:
            case "all":
                return {**found, **_program(seen), "deployment_resources_status_details": None}
            case "status_with_connectors":
                is_up = seen.status not in _DOWN
                return {**found, "connectors": {"num_errors": self._errors(seen)} if is_up else None}
            case _:
                return found

    def _deployed(self, seen: Seen) -> JsonObject:
        wish, status = seen.wish, seen.status
        since = _since(seen)
        desired, is_up = _WISHES[wish.desired], status not in _DOWN
        details = self._details(seen) if is_up else None
        resources = {"Stopped": "Stopped", "Stopping": "Stopping"}.get(status, "Provisioned")
        clearing = self._deployments.is_clearing(seen.name)
        return {
            "storage_status": "Clearing" if clearing else "InUse" if seen.standing.is_applied else "Cleared",
            "storage_status_details": self._storage(seen),
            "deployment_id": (wish.incarnation or None) if is_up else None,
            "deployment_initial": _WISHES[wish.initial or wish.desired] if is_up else None,
            "deployment_status": status,
            "deployment_status_since": since,
            "deployment_desired_status": desired,
            "deployment_desired_status_since": wish.since or _NEVER,
            "deployment_error": wish.error,
            "deployment_resources_status": resources,
            "deployment_resources_status_since": since,
            "deployment_resources_desired_status": "Stopped" if wish.desired == STOPPED else "Provisioned",
            "deployment_resources_desired_status_since": wish.since or _NEVER,
            # The client reads these two as names, also of a pipeline that is stopped.
            "deployment_runtime_status": status if is_up else _NO_RUNTIME,
            "deployment_runtime_status_since": since if is_up else None,
            "deployment_runtime_status_details": details,
            "deployment_runtime_desired_status": desired if wish.desired != STOPPED else _NO_RUNTIME,
            "deployment_runtime_desired_status_since": wish.since or None,
            "deployment_config": {"environment": self.target.environment.name, "pipeline": seen.name},
            "deployment_location": "",
            "bootstrap_policy": (wish.policy or None) if status != "Stopped" else None,
            "silent_bootstrap": False if is_up else None,
            "concurrent_bootstrap": False if is_up else None,
        }

    def _details(self, seen: Seen) -> Any:
        """What the client is told of a pipeline that is up: the diff that awaits approval, or how many errors there were."""
        diff = self._deployments.awaited_diff(seen.name, seen.wish)
        if diff is None:
            return {"connector_stats": {"num_errors": self._errors(seen)}}
        return {"approval_diff": diff} if self._nests else diff

    def _errors(self, seen: Seen) -> int:
        """The errors of all connectors, as their figures count them."""
        program = seen.compiled.program
        tables = program.tables if program is not None else {}
        told = (seen.standing.report.get("connectors") or {}).values()
        refused = sum(read_refused(folder_of_requests(self.target, seen.name, key)).count for key in tables)
        return refused + sum(int(one.get("rejected", 0)) + (one.get("last_error") is not None) for one in told)

    def _storage(self, seen: Seen) -> JsonObject | None:
        """The checkpoints, of a pipeline of which something is stored."""
        if not seen.standing.is_applied:
            return None
        return {"checkpoints": [checkpoint_json(seen.name, one) for one in list_checkpoints(self.target, seen.name)]}


def refresh_version(description: Description, *, is_compiled: bool = True) -> int:
    """A number that rises with each change of a pipeline, and twice when its program is compiled: so a client that looks at
    it sees whether it has to look again."""
    return description.version + 2 * (description.program_version - (not is_compiled))


def checkpoint_json(pipeline: str, one: Checkpoint) -> JsonObject:
    """A checkpoint as the client knows it."""
    return {
        "uuid": str(uuid.uuid5(_OF_CHECKPOINTS, f"{pipeline}:{one.name}:{one.step}")),
        "size": sum(at.bytes or 0 for at in one.relations.values()),
        "steps": one.step,
        "processed_records": sum(at.rows or 0 for at in one.relations.values()),
        "fingerprint": int(one.record[-15:], 16) if one.record else 0,
        "identifier": one.name,
    }


def _since(seen: Seen) -> str:
    """Since when the pipeline has its status: what its last run told, or what was wished since; else it was made so."""
    told = [str(one) for one in (seen.standing.report.get("since"), seen.wish.since) if one]
    return max(told, key=datetime.fromisoformat, default=(seen.description or _of_git(seen)).created_at)


def _described(seen: Seen) -> JsonObject:
    description = seen.description or _of_git(seen)
    return {
        "id": description.id,
        "name": seen.name,
        "description": description.description,
        "tags": list(description.tags),
        "created_at": description.created_at,
        "version": description.version,
        "refresh_version": refresh_version(description),
        "program_version": description.program_version,
        "program_status": seen.program_status,
        "program_status_since": description.program_status_since,
        "platform_version": __version__,
        "owner": "api" if seen.description is not None else "git",
    }


def _of_git(seen: Seen) -> Description:
    """A pipeline of git in the same form. What changes it is git, so its version stays 1."""
    program = seen.compiled.program
    applied = seen.standing.head.applied if seen.standing.head is not None else None
    return Description(
        name=seen.name,
        id=str(uuid.uuid5(_OF_GIT, seen.name)),
        description=(program.settings.description or "") if program is not None else "",
        tags=program.settings.tags if program is not None else (),
        program_code="\n".join(text for path, text in seen.compiled.texts.items() if path.endswith(".sql")),
        created_at=applied.at if applied is not None else _NEVER,
        program_status_since=applied.at if applied is not None else _NEVER,
    )


def _program(seen: Seen) -> JsonObject:
    description, compiled = seen.description or _of_git(seen), seen.compiled
    published = seen.standing.head.published if seen.standing.head is not None else None
    placements = published.relations if published is not None else {}
    info = None
    if compiled.program is not None and seen.program_status == "Success":
        info = program_info(compiled.program, placements)
    return {
        "program_code": description.program_code,
        "udf_rust": description.udf_rust,
        "udf_toml": description.udf_toml,
        "program_config": whole_program(description.program_config),
        "runtime_config": whole_runtime(description.runtime_config),
        "program_info": info,
        "program_error": seen.program_error,
    }
