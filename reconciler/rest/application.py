"""The requests of the service put together, and what all of them have in common: who may ask, and how errors are told."""

import hmac
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from reconciler.base.errors import ReconcileError
from reconciler.base.version import __version__
from reconciler.rest.console import pages as console
from reconciler.rest.errors import Refused, Told, told_of
from reconciler.rest.pages import data, figures, general, operation, pipelines
from reconciler.rest.shared import Service

_MOST_BYTES: Final = 256 * 1024 * 1024
_OF_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


def new_application(service: Service, token: str = "") -> FastAPI:
    """The application of a service. `token`: what each request has to know, if anything."""
    application = FastAPI(
        title="reconciler",
        version=__version__,
        summary="Pipelines made, changed by consent, run and queried: the API that Feldera's Python client speaks",
        docs_url=None,
        redoc_url=None,
    )
    for pages in (general, pipelines, operation, data, figures):
        application.include_router(pages.router(service), prefix="/v0")
    application.include_router(console.router(service))
    application.mount("/static", console.static_files())
    telling = _Telling(service)
    application.add_exception_handler(Refused, telling.refused)
    application.add_exception_handler(ReconcileError, telling.failed)
    application.add_exception_handler(RequestValidationError, _invalid)
    application.add_exception_handler(HTTPException, _unknown)
    application.add_exception_handler(Exception, _unexpected)
    application.middleware("http")(_Door(token).let_in)
    return application


class _Door:
    """Lets programs of this machine in, and pages of this service; not pages of other sites that a browser here shows, by
    whatever name they reach it, and nobody who lacks the token, where there is one."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode() if token else None

    async def let_in(self, request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        told = self._refusal(request)
        return await answer(request) if told is None else _sent(told)

    def _refusal(self, request: Request) -> Told | None:
        if not _is_own(request):
            return Told(403, "Forbidden", "this service answers programs and pages of this machine alone")
        given = request.headers.get("authorization", "").encode()
        if self._expected is not None and not hmac.compare_digest(given, self._expected):
            return Told(401, "Unauthorized", "this service needs its token: Authorization: Bearer …")
        length = request.headers.get("content-length") or "0"
        if not length.isdigit() or int(length) > _MOST_BYTES:
            return Told(413, "TooLarge", f"a request has at most {_MOST_BYTES} bytes")
        return None


def _is_own(request: Request) -> bool:
    host = request.headers.get("host", "")
    name = urlsplit(f"//{host}").hostname or ""
    origin = request.headers.get("origin")
    is_foreign = request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
    return name in _OF_THIS_MACHINE and not is_foreign and (origin is None or urlsplit(origin).netloc == host)


def _sent(told: Told) -> Response:
    return JSONResponse(told.to_json(), told.status)


def _of_console(request: Request) -> bool:
    return request.url.path == "/" or request.url.path.startswith("/console/")


class _Telling:
    """Tells errors: as a page where a page was asked for."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return self._told(request, error.told)

    def failed(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, ReconcileError)
        return self._told(request, told_of(error))

    def _told(self, request: Request, told: Told) -> Response:
        return console.error_page(self._service, told.message, told.status) if _of_console(request) else _sent(told)


def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
    return _sent(Told(400, "InvalidRequest", problems))


def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _sent(Told(error.status_code, "UnknownEndpoint", f"{request.method} {request.url.path}: {error.detail}"))


def _unexpected(request: Request, error: Exception) -> Response:
    words = (str(error).splitlines() or [""])[0]
    return _sent(Told(500, "U890", f"U890: unexpected error: {type(error).__name__}: {words}"))
