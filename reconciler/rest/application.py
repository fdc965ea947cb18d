"""The requests of the service put together, and how errors are told. Who may ask: `door`."""

from functools import partial

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from reconciler.base.errors import ReconcileError
from reconciler.base.version import __version__
from reconciler.rest.access import Callers
from reconciler.rest.console import pages as console
from reconciler.rest.door import Door, sent
from reconciler.rest.errors import Refused, Told, told_of, told_of_any
from reconciler.rest.pages import data, figures, general, operation, pipelines
from reconciler.rest.shared import Service


def new_application(service: Service, callers: Callers, *, is_local: bool = True) -> FastAPI:
    """The application of a service, for these callers; `is_local`: on this machine alone."""
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
    application.add_exception_handler(ClientDisconnect, _gone)
    application.add_exception_handler(Exception, _unexpected)
    login = partial(console.login_page, service)
    application.add_middleware(Door, callers=callers, login=login, refused=telling.told, is_local=is_local)
    return application


def _gone(request: Request, error: Exception) -> Response:
    """Whoever asked went away before all of it was said: nobody hears this, and there is nothing to tell of it."""
    return Response(status_code=400)


def _of_console(request: Request) -> bool:
    return request.url.path == "/" or request.url.path.startswith("/console/")


class _Telling:
    """Tells errors: as a page where a page was asked for."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return self.told(request, error.told)

    def failed(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, ReconcileError)
        return self.told(request, told_of(error))

    def told(self, request: Request, told: Told) -> Response:
        """An error, to whoever sent the request."""
        return console.error_page(self._service, told.message, told.status) if _of_console(request) else sent(told)


def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
    return sent(Told(400, "InvalidRequest", problems))


def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return sent(Told(error.status_code, "UnknownEndpoint", f"{request.method} {request.url.path}: {error.detail}"))


def _unexpected(request: Request, error: Exception) -> Response:
    return sent(told_of_any(error))
