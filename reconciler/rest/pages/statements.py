"""Statements: an INSERT or DELETE that somebody waits for.

- It is carried out as a step, in its turn (`turns.Gate`); of a pipeline that is paused, when that is resumed. It is asked
  once more when its turn has come: the pipeline may have been paused meanwhile. Who waits for that has no place among those
  who work, and holds neither a thread nor a process: those who resume the pipeline need them.
- Within a transaction it becomes rows of that (`transactions`), also while the pipeline is paused.
- It is meant for the pipeline as it was asked of. Where that is stopped, started anew or cleared while the statement waits,
  the statement is refused, and nothing of it is done.
- Who has gone waits no more: he may send it again, and it would come as often as he did. What is being carried out goes on.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from reconciler.engine.statement import read_statement
from reconciler.rest.errors import Refused
from reconciler.rest.pages.operation import applied_program
from reconciler.rest.processes import MustWait, answer_in_parts, answer_of
from reconciler.rest.requests import store_lines, table_that_takes_rows
from reconciler.rest.same_starts import STOPPED
from reconciler.rest.shared import Service
from reconciler.rest.statement_rows import aim_of
from reconciler.rest.transactions import Phase, transaction_now
from reconciler.state.controls import read_controls
from reconciler.state.stopping import live_run

_POLL_SECONDS: Final = 0.2


async def carried_out(service: Service, request: Request, pipeline: str, sql: str, form: str) -> Iterator[bytes]:
    """Carry a statement out: its answer. Raises Refused."""
    with service.gate.statement(pipeline):
        # `is_disconnected` of a request looks, and does not wait.
        leaving = asyncio.create_task(_left(request))
        try:
            statement = await run_in_threadpool(_Statement, service, pipeline, sql, leaving)
            while True:
                if await run_in_threadpool(statement.must_wait):
                    await asyncio.sleep(_POLL_SECONDS)
                    continue
                try:
                    return await run_in_threadpool(statement.answer, form)
                except MustWait:
                    continue
        finally:
            leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class _Statement:
    """One statement, from when it came."""

    def __init__(self, service: Service, pipeline: str, sql: str, leaving: "asyncio.Task[None]") -> None:
        self._service, self._pipeline, self._sql, self._leaving = service, pipeline, sql, leaving
        self._came = service.deployments.wish(pipeline)

    def must_wait(self) -> bool:
        """Whether a live run of the pipeline is paused. Raises Refused where nobody waits, or for something that is gone."""
        if self._leaving.done():
            raise Refused(408, "ClientGone", "whoever sent the statement has gone: nothing of it was done")
        self._require_same_life()
        registry = self._service.target.registry
        is_held = read_controls(registry, self._pipeline).paused and live_run(registry, self._pipeline) is not None
        return is_held and not self._is_in_transaction()

    def answer(self, form: str) -> Iterator[bytes]:
        """Its answer. Raises Refused, and MustWait."""
        service, pipeline, sql = self._service, self._pipeline, self._sql
        if not self._is_in_transaction():
            return answer_in_parts(service, pipeline, "query", self._may_work, sql=sql, format=form)
        table = table_that_takes_rows(service.target, applied_program(service, pipeline), read_statement(sql).table)
        store_lines(service, pipeline, table, answer_of(service, pipeline, "rows", sql=sql, aim=asdict(aim_of(table))))
        return iter(())

    def _may_work(self) -> bool:
        return not self.must_wait() and not self._is_in_transaction()

    def _is_in_transaction(self) -> bool:
        return transaction_now(self._service.target, self._pipeline).phase is Phase.OPEN

    def _require_same_life(self) -> None:
        self._service.lookup.require(self._pipeline)
        now, came = self._service.deployments.wish(self._pipeline), self._came
        is_another = now.desired == STOPPED or now.incarnation != came.incarnation
        if (came.desired != STOPPED and is_another) or (came.life and now.life != came.life):
            message = f"pipeline {self._pipeline} was stopped while the statement waited: nothing of it was done"
            raise Refused(400, "PipelineInteractionNotDeployed", message)
