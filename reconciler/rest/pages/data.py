"""Data: queries and statements, rows that come, rows that changed."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse

from reconciler.base.digest import JsonObject
from reconciler.rest.answers import MEDIA_TYPES
from reconciler.rest.changes import follow
from reconciler.rest.errors import Refused
from reconciler.rest.pages.operation import applied_program, require_not_stopped
from reconciler.rest.pages.statements import carried_out
from reconciler.rest.processes import answer_in_parts
from reconciler.rest.requests import Ingress, require_takes_rows, store_rows
from reconciler.rest.shared import Service
from reconciler.rest.tokens import completion, token_of
from reconciler.rest.transactions import begin, commit
from reconciler.rest.work import is_change

Form = Literal["json", "text", "arrow_ipc", "parquet", "hash"]


def router(service: Service) -> APIRouter:
    """The requests."""
    pages = APIRouter(tags=["data"])

    @pages.get("/pipelines/{name}/query")
    async def query(
        request: Request, name: str, sql: str, form: Annotated[Form, Query(alias="format")] = "text"
    ) -> Response:
        """Answer a SELECT at the last published step, or carry out an INSERT or DELETE as a step: of a pipeline that is
        paused, when it is resumed."""

        def answer() -> Response:
            return StreamingResponse(answer_in_parts(service, name, "query", sql=sql, format=form), headers=headers)

        headers = {"content-type": MEDIA_TYPES[form]}
        await run_in_threadpool(service.lookup.require, name)
        if not sql.strip():
            raise Refused(400, "EmptyQuery", "the query is empty")
        if not is_change(sql):
            return await run_in_threadpool(answer)
        return StreamingResponse(await carried_out(service, request, name, sql, form), headers=headers)

    @pages.post("/pipelines/{name}/ingress/{table}")
    async def ingress(
        name: str,
        table: str,
        request: Request,
        form: Annotated[Literal["json", "csv"] | None, Query(alias="format")] = None,
        update_format: Literal["raw", "insert_delete", "debezium"] = "insert_delete",
        array: bool = False,
        json_flavor: str = "default",
        force: bool = False,
    ) -> JsonObject:
        """Take rows for a table: CSV, unless `format` or the header says JSON. The answer's token says when they were
        processed (`completion_status`)."""
        body = await request.body()
        is_json = request.headers.get("content-type", "").partition(";")[0].strip() == "application/json"
        how = Ingress(form or ("json" if is_json else "csv"), update_format, array, json_flavor, force)

        def take() -> str:
            require_takes_rows(service, name, force=force)
            return token_of(service, name, *store_rows(service, name, applied_program(service, name), table, body, how))

        return {"token": await run_in_threadpool(take)}

    @pages.get("/pipelines/{name}/completion_status")
    def completion_status(name: str, token: str) -> JsonObject:
        """Whether the rows that a token stands for were processed, and handed to every output."""
        service.lookup.require(name)
        found = completion(service, name, token)
        if found["status"] != "complete":
            # Whoever waits for a pipeline that is stopped would wait for ever.
            require_not_stopped(service, name)
        return found

    @pages.post("/pipelines/{name}/start_transaction")
    def start_transaction(name: str) -> JsonObject:
        """Have all rows that come from now on, over HTTP or by statements, read in one step: after the commit."""
        program = applied_program(service, name)
        with service.deployments.lock(name):
            require_takes_rows(service, name, force=True)
            return {"transaction_id": begin(service.target, name, program)}

    @pages.post("/pipelines/{name}/commit_transaction", status_code=202)
    def commit_transaction(name: str) -> JsonObject:
        """Have the rows of the transaction read. It is over when `stats` tell no transaction any more."""
        service.lookup.require(name)
        require_takes_rows(service, name, force=True)
        # It may wait long for the lease: whoever pauses or stops the pipeline does not.
        return {"transaction_id": commit(service.target, name)}

    @pages.post("/pipelines/{name}/egress/{relation}")
    def egress(
        name: str,
        relation: str,
        form: Annotated[Literal["json"], Query(alias="format")] = "json",
        send_snapshot: bool = False,
    ) -> Response:
        """The changes of a table or materialized view, step by step, for as long as the pipeline runs."""
        program = applied_program(service, name)
        chunks = follow(service, name, program, relation, with_snapshot=send_snapshot)
        return StreamingResponse(chunks, media_type="application/json")

    return pages
