"""moto's server, with one thing more: the time of an object can be set, as no test waits for days.

`PUT /set-times` takes JSON: a bucket, and the time (seconds) of each of some keys.
"""

import json
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import run_simple

SET_TIMES = "/set-times"


def application() -> Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]:
    """moto's application behind the route above."""
    moto = DomainDispatcherApplication(create_backend_app)

    def answer(environment: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environment["PATH_INFO"] != SET_TIMES:
            return moto(environment, start_response)
        asked = json.loads(environment["wsgi.input"].read(int(environment["CONTENT_LENGTH"])))
        keys = s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets[asked["bucket"]].keys
        for key, moment in asked["times"].items():
            keys[key].last_modified = datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)
        start_response("200 OK", [("Content-Length", "0")])
        return []

    return answer


if __name__ == "__main__":
    run_simple("127.0.0.1", int(sys.argv[1]), application(), threaded=True, request_handler=MotoRequestHandler)
