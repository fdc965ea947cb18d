"""Input connectors: one module per transport, each with what there is to read (`discover`) and how to read it (`read`).

Readers get the table under the names of their source (`engine.fields`). The rows are made to fit the table and written
here, alike for all transports.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.engine.fields import under_source_names
from reconciler.engine.protocol import Available, Ingestion, Written
from reconciler.engine.secrets import concealed, resolved, revealed
from reconciler.engine.spark import writes
from reconciler.engine.spark.commit_log import latest_version
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.ingest import datagen, delta_table, files, http, in_parts, kafka, postgres, rejects
from reconciler.engine.spark.ingest.changes import fitting
from reconciler.engine.spark.ingest.in_parts import Mixed
from reconciler.engine.spark.ingest.incoming import Incoming, for_columns
from reconciler.engine.spark.locations import Sessions, folder
from reconciler.engine.spark.views import isolated


class _Discover(Protocol):
    def __call__(self, sessions: Sessions, settings: JsonObject, position: JsonObject | None) -> Available | None: ...


class _Read(Protocol):
    """None: the range is empty (it only fixed where to begin), and nothing is written."""

    def __call__(self, session: Any, ingestion: Ingestion, settings: JsonObject) -> Incoming | None: ...


class _RecordsInParts(Protocol):
    """How many records a range has that is read in parts (`in_parts`); None: it is not. By what never changes of it."""

    def __call__(self, ingestion: Ingestion) -> int | None: ...


@dataclass(frozen=True, slots=True)
class _Transport:
    discover: _Discover
    read: _Read
    records_in_parts: _RecordsInParts = lambda ingestion: None


_TRANSPORTS = {
    "datagen": _Transport(datagen.discover, datagen.read),
    "delta_table_input": _Transport(delta_table.discover, delta_table.read),
    "file_input": _Transport(files.discover, files.read),
    "http_input": _Transport(http.discover, http.read),
    "kafka_input": _Transport(kafka.discover, kafka.read, kafka.records_in_parts),
    "postgres_input": _Transport(postgres.discover, postgres.read),
}


def discover(sessions: Sessions, connector: str, settings: JsonObject, position: JsonObject | None) -> Available | None:
    """What a connector has beyond a position; None: nothing new."""
    doing = f"connector {connector}"
    with translated(doing, of_connector=True), _named(doing):
        known = None if position is None else revealed(position)
        found = _transport(settings).discover(sessions, resolved(settings), known)
        if found is None:
            return None
        return replace(found, range=concealed(found.range, settings), position=concealed(found.position, settings))


def ingest(sessions: Sessions, ingestion: Ingestion, mixed: Mixed) -> Written:
    """Write one range of a connector to its table, once."""
    done = writes.already_written(sessions, ingestion.target, ingestion.transaction)
    if done is not None:
        rejected = rejects.already_written(sessions, ingestion)
        if rejected is not None:
            return replace(done, rejected=rejected)
    doing = f"connector {ingestion.connector} into {ingestion.target.name}"
    with translated(doing, of_connector=True), _named(doing):
        transport = _transport(ingestion.settings)
        records = transport.records_in_parts(ingestion)
        first = None if records is None else in_parts.first_part(sessions, ingestion)
        if records is not None and first is not None and first.rows >= records:
            return first
        settings = resolved(ingestion.settings)
        session = isolated(sessions, {})
        as_read = under_source_names(ingestion.target, settings)
        wanted = revealed(ingestion.range)
        incoming = transport.read(session, replace(ingestion, target=as_read, range=wanted), settings)
        if incoming is None:
            return Written(latest_version(folder(ingestion.target.location, sessions)) or 0, 0)
        incoming = for_columns(incoming, ingestion.target, as_read)
        if done is None:
            return in_parts.write(session, ingestion, incoming, records or 0, first, mixed)
        # The writer died between the table and its dead letters.
        rows = fitting(ingestion, incoming)
        return replace(done, rejected=rejects.write(session, ingestion, rows, numbered=incoming.numbered))


@contextmanager
def _named(connector: str) -> Iterator[None]:
    """Puts the connector in front of the message of errors that do not know it."""
    try:
        yield
    except EngineError as error:
        raise EngineError(error.code, f"{connector}: {error.message}", error.hint) from error


def _transport(settings: JsonObject) -> _Transport:
    name = str(settings["transport"]["name"])
    if name not in _TRANSPORTS:
        raise EngineError("X716", f"the engine has no input transport {name!r}")
    return _TRANSPORTS[name]
