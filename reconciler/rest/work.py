"""What the processes do that the server forks for the service: each one thing, and then it ends.

A process is given the name of what it does and a JSON object, which also says in whose name it acts. Its standard output is
what it was asked for; an error is the last line of its standard error, as JSON. Exit code 0: done; 1: refused or failed.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn, TypeAlias, assert_never

from reconciler.base.boundaries import Boundary, boundary_from_environment
from reconciler.base.errors import ReconcileError
from reconciler.base.names import fold
from reconciler.engine.protocol import Engine, Rows
from reconciler.engine.statement import Delete, Insert, read_statement
from reconciler.engine.stored import ColumnType
from reconciler.environment.commits import act_for
from reconciler.environment.observer import SILENT, Observer
from reconciler.environment.progress import Progress
from reconciler.plan.words import summarise
from reconciler.rest.answers import write_answer
from reconciler.rest.descriptions import HTTP_CONNECTOR, remove_requests, remove_requests_of_others
from reconciler.rest.errors import Refused, Told, told_of_any
from reconciler.rest.fitting import Kind
from reconciler.rest.read_requests import remove_read_of
from reconciler.rest.statement_rows import Aim, line_of
from reconciler.rest.turns import wait_for_turn
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.sql.lexer import Dialect, tokens_of
from reconciler.state.applied import read_applied
from reconciler.state.controls import forget
from reconciler.state.stopping import end_this_process

WORK: Final = "--work-of-the-service"
"""The first word of a command line that is work of the service."""
_INTERVAL_SECONDS: Final = 0.2
Asked: TypeAlias = Mapping[str, Any]


def carry_out(arguments: list[str], engine: Engine | None = None, boundary: Boundary | None = None) -> int:
    """Do what the words after WORK say, on an engine (None: on Spark), with a boundary (None: the one of a command)."""
    name, text = arguments[1:]
    asked = json.loads(text)
    act_for(asked["caller"])
    try:
        with _open(asked, engine, boundary or boundary_from_environment(os.environ)) as project:
            _WORK[name](project.pipeline(asked["pipeline"]), asked)
    except Exception as error:
        if os.environ.get("RECONCILE_TRACEBACK") and not isinstance(error, Refused | ReconcileError):
            raise
        return _fail(told_of_any(error))
    return 0


def is_change(sql: str) -> bool:
    """Whether a text is an INSERT or DELETE, and no query."""
    first = next(iter(tokens_of(sql, Dialect.QUERY)), None)
    return first is not None and (first.is_word("INSERT") or first.is_word("DELETE"))


def told_in(line: str) -> Told | None:
    """The error that a process told as its last line."""
    try:
        found = json.loads(line)
        return Told(**found)
    except (ValueError, TypeError):
        return None


def _fail(told: Told) -> int:
    print(json.dumps(asdict(told)), file=sys.stderr, flush=True)
    return 1


def _open(asked: Asked, engine: Engine | None, boundary: Boundary) -> Project:
    def tell(message: str) -> None:
        print(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {message}", flush=True)

    def report(progress: Progress) -> None:
        done = f": done ({progress.detail})" if progress.detail else ": done"
        tell(f"{progress.number}/{progress.total} {progress.step}{done if progress.done else ''}")

    observer = Observer(report, tell, boundary) if asked.get("tells") else replace(SILENT, boundary=boundary)
    return Project.open(asked["root"], asked["environment"], engine, observer)


def _deploy(pipeline: Pipeline, asked: Asked) -> None:
    """Apply what the files say, and run the pipeline until this process is told to end. Starts take turns."""
    is_to_end = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal is_to_end
        is_to_end = True

    signal.signal(signal.SIGTERM, end)
    turn = wait_for_turn(Path(asked["turns"]), lambda: is_to_end)
    if turn is None:
        return
    # Also before: who applied last may have been a command, or killed.
    _remove_requests_of_dropped(pipeline)
    # A table that is made anew reads what stands there once more: that would be those of the last moments alone.
    remove_read_of(pipeline.target, pipeline.name)
    pipeline.apply()
    _remove_requests_of_dropped(pipeline)
    if not is_to_end:
        pipeline.run(interval_seconds=_INTERVAL_SECONDS, stop=lambda: is_to_end, abandon=_abandon, warmed=turn.end)


def _remove_requests_of_dropped(pipeline: Pipeline) -> None:
    snapshot = read_applied(pipeline.target, pipeline.name).snapshot
    if snapshot is not None:
        connectors = snapshot.program.connectors.values()
        tables = {fold(one.relation) for one in connectors if one.name == HTTP_CONNECTOR}
        remove_requests_of_others(pipeline.target, pipeline.name, tables)


def _abandon(why: str) -> NoReturn:
    print(why, flush=True)
    end_this_process(0)


def _query(pipeline: Pipeline, asked: Asked) -> None:
    """Answer a SELECT, or carry out an INSERT or DELETE."""
    sql = asked["sql"]
    if not is_change(sql):
        write_answer(pipeline.select(sql), asked["format"], sys.stdout.buffer)
        return
    count = sum(pipeline.execute(sql).rows.values())
    write_answer(Rows((ColumnType("count", "bigint"),), [(count,)]), asked["format"], sys.stdout.buffer)


def _rows(pipeline: Pipeline, asked: Asked) -> None:
    """The rows that an INSERT or DELETE would bring or take, as lines of a request."""
    statement = read_statement(asked["sql"])
    kind: Kind
    match statement:
        case Insert(columns=columns, query=query):
            named = f" AS rows_of_it ({', '.join(map(_quoted, columns))})" if columns else ""
            found, kind = pipeline.select(f"SELECT * FROM ({query}){named}"), "insert"
            names = list(columns) or list(pipeline.readable()[_spelled(pipeline, statement.table)])
        case Delete(alias=alias, condition=condition):
            where = f" WHERE {condition}" if condition is not None else ""
            found, kind = pipeline.select(f"SELECT * FROM {_quoted(statement.table)} AS {_quoted(alias)}{where}"), "delete"
            names = [column.name for column in found.columns]
        case _:
            assert_never(statement)
    if len(found.columns) != len(names):
        message = f"the INSERT into {statement.table} has {len(found.columns)} values in a row, for {len(names)} columns"
        raise Refused(400, "X722", message)
    aim = Aim(**asked["aim"])
    # All of it, or nothing.
    sys.stdout.write("".join(f"{line_of(kind, names, row, aim)}\n" for row in found.rows))
    sys.stdout.flush()


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _spelled(pipeline: Pipeline, table: str) -> str:
    for name in pipeline.readable():
        if fold(name) == fold(table):
            return name
    raise Refused(400, "X722", f"table {table!r} is unknown")


def _rollback(pipeline: Pipeline, asked: Asked) -> None:
    """Give an object an earlier version, or let the files hold again for it, by the plan that was shown and by no other; who
    asks for that agrees to it. What was done, in words."""
    name, digest = asked["version"], asked["digest"]
    rollback = pipeline.end_of_rollback(name) if asked["end"] else pipeline.rollback_of(name)
    change = pipeline.rolling_back(rollback, only=digest)
    is_asked_for = change.plan.needs_approval or change.plan.extra_approvals or change.rejections()
    if is_asked_for and change.plan.digest == digest:
        change.approve(asked["by"], "asked for in the console", overrides=frozenset(asked["overrides"]))
    change.carry_out()
    print(f"{name}: {summarise(change.plan)}")


def _clear(pipeline: Pipeline, asked: Asked) -> None:
    """Remove all that is stored of a pipeline, as an apply whose files are gone. Who asks for that agrees to it. Rows that
    came over HTTP and were not read are part of it, and so are figures, and what was asked of connectors."""
    remove_requests(pipeline.target, pipeline.name)
    pipeline.close_apply()
    removal = pipeline.removal()
    if removal is not None:
        if removal.plan.needs_approval:
            removal.approve(asked["by"], "clear_storage")
        removal.carry_out()
    forget(pipeline.target.registry, pipeline.name)
    # Figures go on over runs, and begin anew with what is stored.
    pipeline.target.registry.replace_report(pipeline.name, {})


_WORK: Final[Mapping[str, Callable[[Pipeline, Asked], None]]] = {
    "deploy": _deploy,
    "query": _query,
    "rows": _rows,
    "clear": _clear,
    "rollback": _rollback,
}
