"""moto's server, with four things more. Each is asked for by a PUT of JSON:

- `/set-times` {bucket, times: {key: seconds}}: what was put then, as no test waits for days.
- `/hold` {bucket, key}: the next PUT of that object waits, as that of a process that is stopped; later ones go on.
  `/held` answers 200 once it is there and waits, `/release` lets it go on.
- `/lose` {bucket, key}: the next PUT of that object is done, and answered as if it had failed.
- `/refuse` {bucket, key}: the next PUT of that object is not done, and answered as by a server that knows no conditions.
"""

import json
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import run_simple

_LONGEST_HOLD = 300


class Gate:
    """Where something happens to the next PUT of an object, and to no other."""

    def __init__(self, asked: Mapping[str, str] | None = None) -> None:
        self._path = f"/{asked['bucket']}/{asked['key']}" if asked else ""
        self._lock = threading.Lock()
        self.is_reached = threading.Event()
        self.is_open = threading.Event()

    def is_for(self, environment: Mapping[str, Any]) -> bool:
        if environment["REQUEST_METHOD"] != "PUT" or environment["PATH_INFO"] != self._path:
            return False
        with self._lock:
            is_first = not self.is_reached.is_set()
            self.is_reached.set()
        return is_first


def application() -> Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]:
    """moto's application behind the route above."""
    moto = DomainDispatcherApplication(create_backend_app)
    held, lost, refused = Gate(), Gate(), Gate()

    def answer(environment: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        nonlocal held, lost, refused
        status = "200 OK"
        match environment["PATH_INFO"]:
            case "/set-times":
                _set_times(_asked(environment))
            case "/hold":
                held = Gate(_asked(environment))
            case "/held":
                status = status if held.is_reached.wait(_LONGEST_HOLD) else "504 Gateway Timeout"
            case "/release":
                held.is_open.set()
            case "/lose":
                lost = Gate(_asked(environment))
            case "/refuse":
                refused = Gate(_asked(environment))
            case _ if refused.is_for(environment):
                environment["wsgi.input"].read(int(environment.get("CONTENT_LENGTH") or 0))
                status = "501 Not Implemented"
            case _:
                if held.is_for(environment):
                    held.is_open.wait(_LONGEST_HOLD)
                if not lost.is_for(environment):
                    return moto(environment, start_response)
                list(moto(environment, lambda *ignored: None))
                status = "500 Internal Server Error"
        start_response(status, [("Content-Length", "0")])
        return []

    return answer


def _asked(environment: Mapping[str, Any]) -> Any:
    return json.loads(environment["wsgi.input"].read(int(environment["CONTENT_LENGTH"])))


def _set_times(asked: Mapping[str, Any]) -> None:
    keys = s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets[asked["bucket"]].keys
    for key, moment in asked["times"].items():
        keys[key].last_modified = datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)


if __name__ == "__main__":
    run_simple("127.0.0.1", int(sys.argv[1]), application(), threaded=True, request_handler=MotoRequestHandler)
