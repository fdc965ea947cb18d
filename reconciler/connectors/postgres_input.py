"""`postgres_input`: reads a table or a query of a PostgreSQL database, once, and then has ended."""

import re

from reconciler.base.diagnostics import Diagnostic, Severity
from reconciler.base.digest import JsonObject
from reconciler.base.places import Path, Places
from reconciler.connectors.references import holds_reference
from reconciler.connectors.transport import Direction, Transport, always_ends

_CONFIG: Path = ("transport", "config")
_PASSWORD = re.compile(r"^[a-z]+://[^/@:]*:(?P<password>[^@]*)@")


def _check_further(settings: JsonObject, places: Places) -> tuple[Diagnostic, ...]:
    config = settings["transport"]["config"]
    found: list[Diagnostic] = []
    if "table" in config and "query" in config:
        place = places.of_key((*_CONFIG, "query"))
        found.append(Diagnostic("C416", "table and query exclude each other", place, "keep one of them"))
    if "table" not in config and "query" not in config:
        message = "transport.config has neither table nor query"
        found.append(Diagnostic("C404", message, places.of_key(_CONFIG), "add table: the table or view to read"))
    within = _PASSWORD.match(str(config["uri"]))
    if within is not None and not holds_reference(within["password"], "secret"):
        message = "transport.config.uri holds a password in clear text"
        hint = "write ${secret:NAME}, and provide the secret where the pipeline runs"
        found.append(Diagnostic("C412", message, places.of_value((*_CONFIG, "uri")), hint, Severity.WARNING))
    return tuple(found)


TRANSPORT = Transport(
    name="postgres_input",
    direction=Direction.INPUT,
    takes_format=False,
    check_further=_check_further,
    ends=always_ends,
    address=("table", "uri"),
)
