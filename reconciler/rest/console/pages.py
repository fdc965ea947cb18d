"""The requests of the console. A page is GET, an act is POST and ends with a page that says what was done."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.staticfiles import StaticFiles

from reconciler.base.digest import digest_text
from reconciler.base.errors import NotFound, ReconcileError
from reconciler.base.names import fold
from reconciler.base.printing import printable
from reconciler.base.version import __version__
from reconciler.environment.commits import short_commit
from reconciler.registry.model import Deployment
from reconciler.rest.access import asking, may_do
from reconciler.rest.console import acts, views
from reconciler.rest.console.acts import ANOTHER_PLAN
from reconciler.rest.console.graph import draw
from reconciler.rest.errors import Refused, told_of
from reconciler.rest.processes import answer_in_parts, answer_of, lines_of
from reconciler.rest.same_starts import PAUSED, RUNNING
from reconciler.rest.shared import Service
from reconciler.rest.work import is_change
from reconciler.state.applied import read_applied
from reconciler.state.controls import read_controls, say_of_connector

_HERE: Final = Path(__file__).parent
_ROWS: Final = 500
_POLL_SECONDS: Final = 0.5
_IDLE_SECONDS: Final = 15.0
_HEADERS: Final = {
    "content-security-policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    # With none at all, forms would not say that they come from here.
    "referrer-policy": "same-origin",
}
_CHANGED: Final = "the plan changed since it was shown, and nothing was carried out; this is the plan now"
_TABS: Final = ("overview", "plan", "query", "versions", "history", "dead_letters")


def static_files() -> StaticFiles:
    """The style sheet and the script."""
    return StaticFiles(directory=_HERE / "static")


def router(service: Service) -> APIRouter:
    """The pages."""
    pages = APIRouter(include_in_schema=False)
    render = _Renderer(service)

    @pages.get("/")
    def all_pipelines() -> Response:
        mark = _mark(service, "")
        return render("pipelines.html", mark=mark, listed=views.list_pipelines(service))

    @pages.get("/console/changes")
    def changes(of: str = "", since: str = "") -> Response:
        """Server-sent events: one whenever something is another than before, or than a page with that mark has it."""
        if of:
            service.lookup.require(of)
        return StreamingResponse(_changes(service, of, since), media_type="text/event-stream")

    @pages.get("/console/pipelines/{name}")
    def pipeline(name: str, at: str | None = None, said: str = "") -> Response:
        mark, found = _mark(service, name), views.overview(service, name)
        snapshot = read_applied(service.target, name).snapshot
        graph = None if snapshot is None else draw(snapshot.program, None if at is None else at)
        return render("overview.html", name=name, tab="overview", found=found, graph=graph, at=at, said=said, mark=mark)

    @pages.get("/console/pipelines/{name}/plan")
    def plan(name: str, said: str = "") -> Response:
        service.lookup.require(name)
        mark, found = _mark(service, name), views.shown_pending(service, name)
        return render("plan.html", name=name, tab="plan", plan=found, said=said, mark=mark)

    @pages.get("/console/pipelines/{name}/query")
    def query(name: str, sql: str = "") -> Response:
        service.lookup.require(name)
        columns, rows, error = _answered(service, name, sql) if sql.strip() else ([], [], "")
        return render("query.html", name=name, tab="query", sql=sql, columns=columns, rows=rows, error=error, most=_ROWS)

    @pages.get("/console/pipelines/{name}/versions")
    def versions(name: str, of: str | None = None, said: str = "") -> Response:
        service.lookup.require(name)
        snapshot = read_applied(service.target, name).snapshot
        relations = [] if snapshot is None else sorted(one.name for one in snapshot.program.relations.values())
        chosen = of or (relations[0] if relations else None)
        listed = views.versions_of(service, name, chosen) if chosen is not None else None
        return render(
            "versions.html", name=name, tab="versions", relations=relations, chosen=chosen, listed=listed, said=said
        )

    @pages.get("/console/pipelines/{name}/rollback")
    def rollback(name: str, version: str, end: str = "", said: str = "") -> Response:
        """The plan of a rollback, before it is carried out."""
        service.lookup.require(name)
        found, why = None, ""
        try:
            found = views.shown_rollback(service, name, version, ends=end == "yes")
        except NotFound:
            raise
        except ReconcileError as error:
            # Such as that it is done by now: a page that is open asks again then.
            why = told_of(error).message
        return render("rollback.html", name=name, tab="versions", plan=found, why=why, version=version, end=end, said=said)

    @pages.get("/console/pipelines/{name}/history")
    def history(name: str) -> Response:
        service.lookup.require(name)
        applies, prunes = views.applies_of(service, name), views.prunes_of(service, name)
        rejected = views.rejections_of(service, name)
        return render("history.html", name=name, tab="history", applies=applies, prunes=prunes, rejected=rejected)

    @pages.get("/console/pipelines/{name}/dead_letters")
    def dead_letters(name: str) -> Response:
        service.lookup.require(name)
        columns, rows = views.dead_letters_of(service, name)
        return render("dead_letters.html", name=name, tab="dead_letters", columns=columns, rows=rows, most=views.LETTERS)

    @pages.post("/console/pipelines/{name}/{act}")
    async def do(name: str, act: str, request: Request) -> Response:
        form = {key: found[0] for key, found in parse_qs((await request.body()).decode("utf-8", "replace")).items()}
        return await run_in_threadpool(_done, service, name, act, form)

    return pages


def login_page(service: Service, place: str, why: str) -> Response:
    """A page that asks for a token, and leads to a place then."""
    return _Renderer(service)("login.html", status_code=401 if why else 200, place=place, why=why)


def error_page(service: Service, message: str, status: int) -> Response:
    """A page that says what went wrong."""
    return _Renderer(service)("error.html", status_code=status, message=message)


class _Renderer:
    """Makes pages. What users wrote is text on a page, whatever stands in it."""

    def __init__(self, service: Service) -> None:
        self._pages = Environment(loader=FileSystemLoader(_HERE / "templates"), autoescape=True, undefined=StrictUndefined)
        self._pages.filters["path"] = lambda text: quote(str(text), safe="")
        self._pages.filters["printable"] = printable
        self._pages.filters["commit"] = short_commit
        # Acts that who looks may not do are not offered.
        self._pages.globals["may_do"] = may_do
        self._service = service

    def __call__(self, template: str, status_code: int = 200, mark: str = "", **values: Any) -> HTMLResponse:
        shown = {
            # Before the page is read: what changes meanwhile is told afterwards.
            "mark": mark,
            "environment": self._service.target.environment.name,
            "by": self._service.by(),
            "is_known": bool(asking.get()),
            "release": __version__,
            "tabs": _TABS,
            "said": "",
            **values,
        }
        return HTMLResponse(self._pages.get_template(template).render(shown), status_code, _HEADERS)


def _done(service: Service, name: str, act: str, form: Mapping[str, str]) -> Response:
    """Do what was asked for, and lead back to a page."""
    found = _ACTS.get(act)
    if found is None:
        raise Refused(404, "UnknownEndpoint", f"{act!r} is nothing that can be done here")
    service.lookup.require(name)
    tab, do = found
    try:
        said = do(service, name, form)
    except (Refused, ReconcileError) as error:
        told = error.told if isinstance(error, Refused) else told_of(error)
        if act == "rollback" and told.code == ANOTHER_PLAN:
            shown = {key: form.get(key, "") for key in ("version", "end")} | {"said": _CHANGED}
            return RedirectResponse(f"/console/pipelines/{quote(name)}/rollback?{urlencode(shown)}", 303)
        return error_page(service, told.message, told.status)
    below = f"/{tab}" if tab else ""
    return RedirectResponse(f"/console/pipelines/{quote(name)}{below}?{urlencode({'said': said})}", 303)


def _by(service: Service, form: Mapping[str, str]) -> str:
    # Who has a token is who it says.
    return asking.get() or form.get("by", "").strip() or service.by()


def _start(service: Service, name: str, form: Mapping[str, str]) -> str:
    service.deployments.start(name, RUNNING, "await_approval", _by(service, form), dismisses=True)
    return "the pipeline starts" if not service.deployments.wish(name).awaits else "the pipeline awaits approval of its plan"


def _start_paused(service: Service, name: str, form: Mapping[str, str]) -> str:
    service.deployments.start(name, PAUSED, "await_approval", _by(service, form), dismisses=True)
    return "the pipeline starts, and is paused"


def _stop(service: Service, name: str, form: Mapping[str, str]) -> str:
    service.deployments.stop(name, _by(service, form), force=form.get("force") == "yes")
    return "the pipeline stops"


def _pause(service: Service, name: str, form: Mapping[str, str]) -> str:
    service.deployments.pause(name, _by(service, form))
    return "the pipeline is paused"


def _resume(service: Service, name: str, form: Mapping[str, str]) -> str:
    service.deployments.resume(name, _by(service, form))
    return "the pipeline goes on"


def _approve(service: Service, name: str, form: Mapping[str, str]) -> str:
    overrides = frozenset(_overruled(form))
    return acts.approve(
        service, name, form.get("digest", ""), _by(service, form), form.get("comment", ""), overrides=overrides
    )


def _overruled(form: Mapping[str, str]) -> list[str]:
    """The ids of the rejections that were shown, where it was ticked that they are overruled."""
    try:
        found = json.loads(form.get("override") or "[]")
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise Refused(400, "BadRequest", "what is overruled is named by a list of the rejections that were shown")
    return found


def _reject(service: Service, name: str, form: Mapping[str, str]) -> str:
    return acts.reject(service, name, form.get("digest", ""), _by(service, form), form.get("comment", ""))


def _connector(service: Service, name: str, form: Mapping[str, str]) -> str:
    connector, is_paused = form.get("connector", ""), form.get("do") == "pause"
    snapshot = read_applied(service.target, name).snapshot
    if snapshot is None or fold(connector) not in snapshot.program.connectors:
        raise Refused(404, "UnknownConnector", f"pipeline {name} has no connector {connector!r}")
    say_of_connector(service.target.registry, name, connector, is_paused, _by(service, form))
    return f"{connector} is {'paused' if is_paused else 'started'}"


def _rollback(service: Service, name: str, form: Mapping[str, str]) -> str:
    asked = {
        "version": form.get("version", ""),
        "end": form.get("end") == "yes",
        "digest": form.get("digest", ""),
        "by": _by(service, form),
        "overrides": _overruled(form),
    }
    if not asked["digest"]:
        raise Refused(400, "BadRequest", "a rollback is confirmed with the digest of the plan that was shown")
    return answer_of(service, name, "rollback", **asked).decode().strip()


_ACTS: Final[Mapping[str, tuple[str, Callable[[Service, str, Mapping[str, str]], str]]]] = {
    "start": ("", _start),
    "start_paused": ("", _start_paused),
    "stop": ("", _stop),
    "pause": ("", _pause),
    "resume": ("", _resume),
    "connector": ("", _connector),
    "approve": ("plan", _approve),
    "reject": ("plan", _reject),
    "rollback": ("versions", _rollback),
}
"""What can be done, and the page that is shown afterwards."""


def _answered(service: Service, name: str, sql: str) -> tuple[list[str], list[list[Any]], str]:
    """The answer to a query: columns, the first rows, or what is wrong with it."""
    if is_change(sql):
        return [], [], "this page only reads: reconcile execute, or the API, changes rows"
    try:
        # Whoever asks for a whole table is shown its first rows; the others never come here.
        lines = [*islice(lines_of(answer_in_parts(service, name, "query", sql=sql, format="json")), _ROWS + 1)]
    except (Refused, ReconcileError) as error:
        return [], [], error.told.message if isinstance(error, Refused) else told_of(error).message
    found = [json.loads(line, parse_float=str, parse_int=str) for line in lines]
    columns = list(found[0]) if found else []
    return columns, [list(row.values()) for row in found[:_ROWS]], ""


async def _changes(service: Service, name: str, since: str) -> AsyncIterator[str]:
    seen, waited = await asyncio.to_thread(_mark, service, name), 0.0
    yield ": listening\n\n"
    if since and since != seen:
        yield "data: changed\n\n"
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        waited += _POLL_SECONDS
        now = await asyncio.to_thread(_mark, service, name)
        if now != seen:
            seen, waited = now, 0.0
            yield "data: changed\n\n"
        elif waited >= _IDLE_SECONDS:
            waited = 0.0
            yield ": still\n\n"


def _mark(service: Service, name: str) -> str:
    """What differs when a page would: of a pipeline, or of all."""
    registry = service.target.registry
    found: list[object] = []
    for one in [name] if name else service.lookup.names():
        head, wish = registry.head(one), registry.document(one, Deployment)
        report = registry.report(one) or {}
        found.append((one, head and head.token, wish and wish.token, report.get("updated_at"), read_controls(registry, one)))
        found.append(service.deployments.is_worked_on(one))
    return digest_text(repr(found))
