"""Pipelines: made, changed, listed, deleted; programs compiled and compared."""

import json
from typing import Annotated, Any, Final, Literal, Self

from fastapi import APIRouter, Body, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from reconciler.apply.planning import plan_pipeline
from reconciler.base.digest import JsonObject
from reconciler.environment.source import pipeline_names
from reconciler.rest.configuration import is_deeper, require_configuration
from reconciler.rest.descriptions import (
    Description,
    new_description,
    remove_files,
    remove_requests,
    require_may_make,
    require_own,
    require_words,
    write_description,
)
from reconciler.rest.errors import Refused
from reconciler.rest.pipeline_json import refresh_version
from reconciler.rest.previews import compiled_text, diff_with
from reconciler.rest.shared import Service
from reconciler.rest.shown_diff import shown_diff
from reconciler.service.states import read_standing

_DEEPEST: Final = 50


class _Sent(BaseModel):
    """What a client sends, and is sent back: whoever asks for all pipelines is to get all."""

    @model_validator(mode="after")
    def _can_be_sent(self) -> Self:
        whole = self.model_dump()
        try:
            json.dumps(whole, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("there is half of a character, which no text holds") from None
        if is_deeper(whole, _DEEPEST):
            raise ValueError(f"it is nested more than {_DEEPEST} deep")
        return self


class Given(_Sent):
    """What a client sends of a pipeline; what is not there, or null, stays or has its default."""

    model_config = ConfigDict(extra="ignore")
    name: str | None = Field(None, description="The pipeline's name")
    description: str | None = None
    tags: list[str] | None = None
    program_code: str | None = Field(None, description="CREATE TABLE, CREATE VIEW and CREATE FUNCTION statements")
    udf_rust: str | None = None
    udf_toml: str | None = None
    program_config: dict[str, Any] | None = None
    runtime_config: dict[str, Any] | None = None

    def changes(self) -> JsonObject:
        """The members, but for the name."""
        found = self.model_dump(exclude={"name"})
        if self.tags is not None:
            found["tags"] = tuple(self.tags)
        return found


class Program(_Sent):
    """A program that is looked at, and not kept."""

    program_code: str | None = None
    runtime_version: str | None = None
    ir: bool = False


Selector = Literal["all", "status", "status_with_connectors"]


def router(service: Service) -> APIRouter:
    """The requests."""
    pages = APIRouter(tags=["pipelines"])

    @pages.get("/pipelines")
    def list_pipelines(selector: Selector = "all") -> list[JsonObject]:
        """All pipelines: those made here, and those of git. One that is damaged in the registry has a `deployment_error`."""
        lookup = service.lookup
        return [lookup.to_json(lookup.see_in_list(name), selector) for name in lookup.names()]

    @pages.post("/pipelines", status_code=201)
    def create(given: Given) -> JsonObject:
        """Make a pipeline."""
        name = given.name or ""
        if given.program_code is None:
            raise Refused(400, "InvalidRequest", "program_code is missing: a pipeline has a program, if only an empty one")
        with service.deployments.lock(name):
            if name in pipeline_names(service.target.root):
                raise Refused(409, "DuplicateName", f"a pipeline named '{name}' already exists")
            return _write(new_description(name).with_values(given.changes()), None)

    @pages.get("/pipelines/{name}")
    def read(name: str, selector: Selector = "all") -> JsonObject:
        """One pipeline."""
        return service.lookup.to_json(service.lookup.see(name), selector)

    @pages.put("/pipelines/{name}")
    def put(name: str, given: Given, response: Response) -> JsonObject:
        """Make a pipeline, or replace all that it says of itself."""
        with service.deployments.lock(name):
            if name not in pipeline_names(service.target.root):
                response.status_code = 201
                return _write(new_description(name).with_values(given.changes()), None)
            known = require_own(service.target, name)
            service.deployments.require_stopped(name, "a change")
            nothing = Description(name, id=known.id, created_at=known.created_at)
            whole = {key: value if value is not None else getattr(nothing, key) for key, value in given.changes().items()}
            return _write(known.changed(whole), known)

    @pages.patch("/pipelines/{name}")
    def patch(name: str, given: Given) -> JsonObject:
        """Change some of what a pipeline says of itself."""
        with service.deployments.lock(name):
            service.lookup.require(name)
            known = require_own(service.target, name)
            changed = known.changed(given.changes())
            if changed.version != known.version:
                service.deployments.require_stopped(name, "a change")
            return _write(changed, known)

    @pages.delete("/pipelines/{name}")
    def delete(name: str) -> None:
        """Delete a pipeline that is stopped, and of which nothing is stored."""
        with service.deployments.lock(name):
            service.lookup.require(name)
            require_own(service.target, name)
            service.deployments.require_stopped(name, "a deletion", "DeleteRestrictedToFullyStopped")
            if read_standing(service.target, name).is_applied:
                message = f"pipeline {name} has storage: clear it first"
                raise Refused(400, "DeleteRestrictedToClearedStorage", message)
            service.deployments.forget(name)
            remove_requests(service.target, name)
            remove_files(service.target, name)

    @pages.post("/pipelines/{name}/diff")
    def diff(name: str, program: Annotated[Program | None, Body()] = None) -> JsonObject:
        """What another program would change of what is applied, or (without one) what the pipeline's own would."""
        service.lookup.require(name)
        if program is None or program.program_code is None:
            return shown_diff(plan_pipeline(service.target, name))
        return shown_diff(diff_with(service.target, name, program.program_code))

    @pages.post("/pipelines/{name}/update_runtime", status_code=202)
    def update_runtime(name: str) -> None:
        """Compile with the running version. That is always so: a plan says what another version of Spark would change."""
        service.lookup.require(name)
        service.deployments.require_stopped(name, "an update of the runtime")

    @pages.post("/validate_program")
    def validate(program: Program) -> JsonObject:
        """Compile a program that is not kept."""
        return compiled_text(service.target, program.program_code or "")

    def _write(description: Description, known: Description | None) -> JsonObject:
        if known is None:
            require_may_make(service.target, description.name)
        require_words(description.description, description.tags)
        require_configuration(description.runtime_config, description.program_config)
        write_description(service.target, description)
        found = service.lookup.to_json(service.lookup.see(description.name), "all")
        if known is None or description.program != known.program:
            # What is answered here is told as it is before the program is compiled.
            return {**found, "refresh_version": refresh_version(description, is_compiled=False)}
        return found

    return pages
