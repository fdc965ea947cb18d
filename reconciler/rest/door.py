"""The door of the service: who is let in, and as whom.

- Programs, and the service's own pages. Pages of other sites that a browser shows are kept out: by `Origin`, by
  `Sec-Fetch-Site`, and, where the service listens on this machine alone, by the name that it is asked under.
- Where there are tokens, whoever has one: programs send it (`Authorization: Bearer …`), browsers have it in a cookie that
  pages of other sites can't use, after their user gave it once (`/login`).
- Who is let in may do what his role says (`access`). A request has at most so many bytes.
"""

import asyncio
from collections.abc import Callable
from typing import Final
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from fastapi import Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from reconciler.rest.access import Caller, Callers, Role, asking, needed, role_of_asking
from reconciler.rest.errors import Told

_MOST_BYTES: Final = 256 * 1024 * 1024
_OF_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_COOKIE: Final = "reconcile_token"
_NOBODY: Final = Caller("", Role.VIEWER)
_LOGIN: Final = "/login"
_MOST_BYTES_OF_LOGIN: Final = 8 * 1024
"""Whoever sends it is not known yet."""
_SECONDS_OF_LOGIN: Final = 10.0
_PLACE: Final = 2_000


class Door:
    """See the module. `inside` is what answers those who are let in, `login` makes the page that asks for a token, and
    `refused` the answer to a caller whose role does not suffice; `is_local`: only this machine reaches the service.

    It hands on what is sent as it is. A middleware that makes a response of it (starlette's `BaseHTTPMiddleware`) ends an
    answer that fails on its way as if it were whole."""

    def __init__(
        self,
        inside: ASGIApp,
        *,
        callers: Callers,
        login: Callable[[str, str], Response],
        refused: Callable[[Request, Told], Response],
        is_local: bool,
    ) -> None:
        self._inside, self._callers, self._login, self._refused, self._is_local = inside, callers, login, refused, is_local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or say why not."""
        if scope["type"] != "http":
            await self._inside(scope, receive, send)
            return
        request = Request(scope, receive)
        let_in = await self._let_in(request)
        if isinstance(let_in, Response):
            await let_in(scope, receive, send)
            return
        name, role = asking.set(let_in.name), role_of_asking.set(let_in.role)
        try:
            await self._inside(scope, receive, send)
        finally:
            asking.reset(name)
            role_of_asking.reset(role)

    async def _let_in(self, request: Request) -> Response | Caller:
        """What is answered to whoever is not let in; else who is, by the name that stands in records."""
        told = self._unfit(request)
        if told is not None:
            return sent(told)
        path = request.url.path
        if self._callers.by_digest and path == _LOGIN:
            return await self._logged_in(request)
        if path.startswith("/static/"):
            return _NOBODY
        caller = self._callers.known(_token(request))
        if caller is None:
            return self._unknown(request)
        role = needed(request.method, path, request.query_params)
        if caller.role < role:
            message = f"{caller.name} is {caller.role.name.lower()}, and this needs {role.name.lower()}"
            return self._refused(request, Told(403, "RoleRequired", message))
        return caller if self._callers.by_digest else Caller("", caller.role)

    def _unfit(self, request: Request) -> Told | None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        is_foreign = request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        is_own = not self._is_local or _parts(f"//{host}").hostname in _OF_THIS_MACHINE
        if is_foreign or not is_own or (origin is not None and _parts(origin).netloc != host):
            # A link from elsewhere may lead to a page; it may do nothing.
            return Told(403, "Forbidden", "this service answers programs and its own pages alone")
        length = request.headers.get("content-length") or "0"
        most = _MOST_BYTES_OF_LOGIN if request.url.path == _LOGIN else _MOST_BYTES
        if not length.isdecimal() or int(length) > most:
            return Told(413, "TooLarge", f"a request has at most {most} bytes")
        if "transfer-encoding" in request.headers:
            # Its end is not known before it is in memory.
            return Told(411, "LengthRequired", "a request says how long it is (Content-Length): it does not come in chunks")
        return None

    def _unknown(self, request: Request) -> Response:
        if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
            place = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"{_LOGIN}?to={quote(place[:_PLACE], safe='')}", 303)
        return sent(Told(401, "Unauthorized", "this service needs a token: Authorization: Bearer …"))

    async def _logged_in(self, request: Request) -> Response:
        """Ask for a token, or take it and lead to the page that was wanted."""
        if request.method != "POST":
            return self._login(_own_place(request.query_params.get("to", "/")), "")
        try:
            body = await asyncio.wait_for(request.body(), _SECONDS_OF_LOGIN)
        except TimeoutError:
            # Nobody without a token keeps a connection for longer.
            told = Told(408, "RequestTimeout", f"the token did not come within {_SECONDS_OF_LOGIN:g} seconds")
            return JSONResponse(told.to_json(), told.status, {"Connection": "close"})
        except ClientDisconnect:
            return Response(status_code=400)
        form = {key: found[0] for key, found in parse_qs(body.decode("utf-8", "replace")).items()}
        token, place = form.get("token", "").strip(), _own_place(form.get("to", "/"))
        if self._callers.known(token) is None:
            return self._login(place, "nobody has this token")
        led = RedirectResponse(place, 303)
        is_secure = request.url.scheme == "https"
        led.set_cookie(_COOKIE, token, httponly=True, samesite="strict", secure=is_secure, path="/")
        return led


def sent(told: Told) -> Response:
    """An error as it is sent."""
    return JSONResponse(told.to_json(), told.status, dict(told.headers))


def _token(request: Request) -> str | None:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else request.cookies.get(_COOKIE)


def _parts(address: str) -> SplitResult:
    """What an address is made of; nothing, where it is none."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _own_place(text: str) -> str:
    """A page of this service: never one elsewhere."""
    return text if text.startswith("/") and not text.startswith(("//", "/\\")) else "/"
