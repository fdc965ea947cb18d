"""`postgres_input`: the rows of a table or query of PostgreSQL, once, through its JDBC driver.

One query reads all rows, so they belong to one snapshot of the database. Looking asks the database nothing. Nobody keeps
that snapshot: a range that was not written is read anew, as the database is then. Rows have no order.

Types are the driver's, with two exceptions: a `numeric` without precision is read as text, since no decimal of Spark holds
every one, and a `timestamp` without zone is what it says, taken as UTC where the column is an instant.
"""

import json
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DecimalType

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.names import quoted
from reconciler.base.secrets.known_values import without_secrets_within
from reconciler.connectors.database_addresses import AddressParts, split_address
from reconciler.engine.protocol import Available, Ingestion
from reconciler.engine.spark.conform import by_name
from reconciler.engine.spark.ingest.incoming import Incoming, with_fields
from reconciler.engine.spark.locations import Sessions, literal

_WITHOUT_PRECISION = DecimalType(38, 18)
_UNREACHABLE = "08"
_REASONS = {
    "28": "the login was refused",
    "3D": "there is no such database",
    "42P01": "there is no such table",
    "42501": "the user has no permission to read it",
    "42": "the query was refused",
    "57P": "the database is shutting down or starting",
    "53": "the database accepts no more connections",
}


def discover(sessions: Sessions, settings: JsonObject, position: JsonObject | None) -> Available | None:
    """The table, as long as it was not read."""
    if position is not None:
        return None
    config = settings["transport"]["config"]
    range_ = {name: str(config[name]) for name in ("table", "query") if name in config}
    return Available(range_, {"complete": True}, end_of_input=True)


def read(session: SparkSession, ingestion: Ingestion, settings: JsonObject) -> Incoming:
    """The rows of the range's table or query."""
    config = settings["transport"]["config"]
    options = {
        "driver": "org.postgresql.Driver",
        "url": _address(config),
        "fetchsize": str(config.get("fetch_size", 1000)),
        "preferTimestampNTZ": "true",
        **_login(config),
    }
    if "query" in ingestion.range:
        options["query"] = str(ingestion.range["query"]).rstrip().rstrip(";")
    else:
        options["dbtable"] = str(ingestion.range["table"])
    rows = _loaded(session, options, config)
    unbound = [part.name for part in rows.schema.fields if part.dataType == _WITHOUT_PRECISION]
    if unbound:
        options["customSchema"] = ", ".join(f"{quoted(name)} STRING" for name in unbound)
        rows = _loaded(session, options, config)
    incoming = Incoming(rows, by_name(rows), literal(json.dumps(without_secrets_within(ingestion.range))))
    return with_fields(incoming, rows.columns, ingestion.target)


def _loaded(session: SparkSession, options: dict[str, str], config: JsonObject) -> DataFrame:
    """Asks the database for the columns, so what is wrong with the connection or the query shows here."""
    try:
        return session.read.format("jdbc").options(**options).load()
    except (PySparkException, Py4JJavaError) as error:
        refused = _refusal(error)
        if refused is None:
            raise
        state, message = refused
        reason = next((_REASONS[state[:n]] for n in (5, 3, 2) if state[:n] in _REASONS), "it refuses")
        if state.startswith(_UNREACHABLE):
            reason = "it can't be reached"
        where = split_address(str(config["uri"]))
        host, port = _host(where)
        place = f"{host}:{port}{where.path}"
        raise EngineError("X749", f"PostgreSQL at {place}: {reason}: {message}") from error


def _refusal(error: Exception) -> tuple[str, str] | None:
    """The state and the first line of what the database or its driver said; None when it was neither."""
    cause: Any = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    for _ in range(20):
        if cause is None:
            return None
        if str(cause.getClass().getName()) == "org.postgresql.util.PSQLException":
            lines = str(cause.getMessage()).splitlines()
            return str(cause.getSQLState() or ""), lines[0] if lines else "no message"
        cause = cause.getCause()
    return None


def _address(config: JsonObject) -> str:
    uri = split_address(str(config["uri"]))
    host, port = _host(uri)
    host = f"[{host}]" if ":" in host else host
    options = dict(parse_qsl(uri.query))
    for setting, name in (("ssl_mode", "sslmode"), ("ssl_ca_location", "sslrootcert")):
        if setting in config:
            options[name] = str(config[setting])
    asked = f"?{urlencode(options, quote_via=quote)}" if options else ""
    return f"jdbc:postgresql://{host}:{port}/{uri.path.lstrip('/')}{asked}"


def _host(uri: AddressParts) -> tuple[str, int]:
    found = uri.host()
    if found is None:
        # It quotes nothing: whatever can't be told apart may be the password.
        raise EngineError(
            "X749",
            "transport.config.uri names no host that can be told from its user and password",
            "within these, write / as %2F, ? as %3F, @ as %40 and % as %25; or give user and password by themselves",
        )
    host, port = found
    return host or "localhost", port or 5432


def _login(config: JsonObject) -> dict[str, str]:
    name, _, word = split_address(str(config["uri"])).login.partition(":")
    user, password = config.get("user") or unquote(name) or None, config.get("password") or unquote(word) or None
    return {name: str(value) for name, value in (("user", user), ("password", password)) if value is not None}
