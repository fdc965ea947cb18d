"""Rows that come over HTTP: a request becomes a file of changes that the pipeline's next step reads (`http_input`).

- A request is acknowledged when its file is on the disk: whoever is killed then loses nothing of it. One that can't be read
  is refused as a whole, and leaves nothing.
- The token of a request is its number: complete when a published step has read it, and every output has that step.
- Rows come as JSON (`raw`, `insert_delete`, `debezium`) or CSV (columns in the order of the table, an empty field is
  NULL). In the flavour `pandas` dates and times are milliseconds since 1970.
"""

import base64
import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from reconciler.base.digest import JsonObject
from reconciler.base.names import fold
from reconciler.engine.http_requests import remove_read, store
from reconciler.environment.target import Target
from reconciler.project.program.model import Program, Table
from reconciler.registry.model import Head, OutputState
from reconciler.rest.answers import json_text
from reconciler.rest.descriptions import HTTP_CONNECTOR, folder_of_requests
from reconciler.rest.errors import Refused
from reconciler.rest.shared import Service

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STEPS: Final = ""
"""Stands in a token for a table, where its number is that of a step."""
_TIMES: Final = ("TIMESTAMP", "TIMESTAMP_NTZ")
_TEXTS: Final = ("STRING", "VARCHAR", "CHAR")


@dataclass(frozen=True, slots=True)
class Ingress:
    """How rows are written in a request."""

    form: str
    update_format: str
    array: bool
    flavor: str
    force: bool


def store_rows(service: Service, pipeline: str, program: Program, name: str, body: bytes, how: Ingress) -> tuple[str, int]:
    """Take the rows of a request: the table's key, and the number of its file. Raises Refused."""
    table = _table(pipeline, program, name)
    content = "".join(f"{line}\n" for line in _changes(table, body, how)).encode()
    return fold(table.name), _stored(service, pipeline, table, content)


def store_lines(service: Service, pipeline: str, program: Program, name: str, content: bytes) -> None:
    """Take rows that are lines of a request already. Raises Refused."""
    _stored(service, pipeline, _table(pipeline, program, name), content)


def _table(pipeline: str, program: Program, name: str) -> Table:
    table = program.tables.get(fold(name.strip('"')))
    if table is None:
        raise Refused(404, "UnknownInputStream", f"pipeline {pipeline} has no table {name!r}")
    if f"{fold(table.name)}.{HTTP_CONNECTOR}" not in program.connectors:
        message = f"table {table.name} takes no rows over HTTP: its pipeline is git's, and declares no http_input for it"
        raise Refused(400, "NoHttpInput", message)
    return table


def _stored(service: Service, pipeline: str, table: Table, content: bytes) -> int:
    """The number of a request that is stored; 0 of one without rows."""
    if not content:
        return 0
    key = fold(table.name)
    return store(folder_of_requests(service.target, pipeline, key), content, _next(service.target, pipeline, key))


def token_of(table: str, number: int) -> str:
    """The token of a request."""
    return base64.urlsafe_b64encode(json.dumps([table, number]).encode()).decode()


def token_of_steps(target: Target, pipeline: str) -> str:
    """The token of all that connectors have read by now: complete when the last step that was begun is published."""
    stored = target.registry.head(pipeline)
    return token_of(_STEPS, stored.value.last_step if stored is not None else 0)


def completion(target: Target, pipeline: str, token: str) -> JsonObject:
    """Whether a token's rows were processed. Raises Refused for what is no token."""
    try:
        table, number = json.loads(base64.urlsafe_b64decode(token))
        number = int(number)
    except (ValueError, TypeError) as error:
        raise Refused(400, "InvalidToken", f"{token!r} is no completion token") from error
    stored = target.registry.head(pipeline)
    if stored is None or stored.value.published is None:
        return {"status": "inprogress", "step": None}
    head, step = stored.value, stored.value.published.step
    reached = step + 1 if table == _STEPS else position_of(head, str(table))
    if number >= reached:
        return {"status": "inprogress", "step": None}
    is_complete = outputs_have_all(head, target.registry.report(pipeline) or {})
    return {"status": "complete" if is_complete else "inprogress", "step": step}


def remove_read_requests(service: Service) -> None:
    """Remove the files of requests that published steps have read."""
    registry = service.target.registry
    for pipeline in service.lookup.names():
        stored = registry.head(pipeline)
        for key in stored.value.positions if stored is not None else ():
            table, _, connector = key.partition(".")
            if stored is not None and connector == HTTP_CONNECTOR:
                remove_read(folder_of_requests(service.target, pipeline, table), position_of(stored.value, table))


def outputs_have_all(head: Head, report: JsonObject) -> bool:
    """Whether every output was sent what is published. What the head does not know yet, the run tells in its report."""
    told = report.get("connectors") or {}

    def has_all(key: str, state: OutputState) -> bool:
        return state.sending is None or (told.get(key, {}).get("sent_step") or -1) >= state.sending.step

    return all(has_all(key, state) for key, state in head.outputs.items())


def _next(target: Target, pipeline: str, table: str) -> int:
    """The least number that a new request may have."""
    stored = target.registry.head(pipeline)
    return max(1, position_of(stored.value, table)) if stored is not None else 1


def position_of(head: Head, table: str) -> int:
    """The number of the first request of a table that no published step has read."""
    return int(head.positions.get(f"{table}.{HTTP_CONNECTOR}", {}).get("next", 1))


def require_takes_rows(service: Service, pipeline: str, *, force: bool) -> None:
    """Raises Refused for a pipeline that does not run, or is paused, without force. One that does not run yet is told by a
    status with which the client tries again."""
    status = service.lookup.see(pipeline).status
    if status == "Paused" and not force:
        raise Refused(
            400, "PipelineInteractionPaused", f"pipeline {pipeline} is paused: add force=true to send rows all the same"
        )
    if status in ("Initializing", "Bootstrapping", "Replaying"):
        raise Refused(503, "Initializing", f"pipeline {pipeline} does not run yet: it is {status}")
    if status not in ("Running", "Paused"):
        raise Refused(400, "PipelineInteractionNotDeployed", f"pipeline {pipeline} does not run: it is {status}")


def _changes(table: Table, body: bytes, how: Ingress) -> Iterator[str]:
    """The lines of the file. Raises Refused."""
    try:
        if how.form == "csv":
            yield from _of_csv(table, body)
            return
        convert = _converter(table, how.flavor)
        for record in _records(body, how.array):
            yield from _of_record(record, how.update_format, convert)
    except (ValueError, TypeError, AttributeError) as error:
        raise Refused(400, "ParseErrors", f"the rows for table {table.name} can't be read: {error}") from error


def _records(body: bytes, array: bool) -> Iterator[Any]:
    text, place, decoder = body.decode("utf-8"), 0, json.JSONDecoder(parse_float=Decimal)
    while True:
        place += len(text[place:]) - len(text[place:].lstrip())
        if place >= len(text):
            return
        record, place = decoder.raw_decode(text, place)
        if array:
            # The client sends null for a list without rows.
            yield from record if record is not None else ()
        else:
            yield record


def _of_record(record: Any, update_format: str, convert: Callable[[Any], Any]) -> Iterator[str]:
    match update_format, record:
        case "raw", Mapping():
            yield json_text({"insert": convert(record)})
        case "insert_delete", {"insert": Mapping() as row}:
            yield json_text({"insert": convert(row)})
        case "insert_delete", {"delete": Mapping() as row}:
            yield json_text({"delete": convert(row)})
        case "debezium", {"payload": Mapping() as change} | ({"op": _} as change):
            for part, kind in (("before", "delete"), ("after", "insert")):
                if change.get(part) is not None:
                    yield json_text({kind: convert(change[part])})
        case _:
            raise ValueError(f"a record is not of the form {update_format}: {json_text(record)[:200]}")


def _converter(table: Table, flavor: str) -> Callable[[Any], Any]:
    """What makes a row as it was sent one as `http_input` reads it."""
    if flavor != "pandas":
        return lambda row: row
    types = {fold(column.name): column.type for column in table.columns}

    def convert(row: Mapping[str, Any]) -> JsonObject:
        return {name: _of_pandas(value, types.get(fold(name), "")) for name, value in row.items()}

    return convert


def _of_pandas(value: Any, kind: str) -> Any:
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        return value
    if kind == "DATE" or kind in _TIMES:
        moment = _EPOCH + timedelta(milliseconds=float(value))
        return moment.date().isoformat() if kind == "DATE" else moment.replace(tzinfo=None).isoformat(sep=" ")
    return value


def _of_csv(table: Table, body: bytes) -> Iterator[str]:
    columns = table.columns
    for number, fields in enumerate(csv.reader(io.StringIO(body.decode("utf-8"), newline="")), start=1):
        if not fields:
            continue
        if len(fields) != len(columns):
            raise ValueError(f"line {number} has {len(fields)} fields, and the table {len(columns)} columns")
        row = {column.name: _of_text(text, column.type) for column, text in zip(columns, fields, strict=True)}
        yield json_text({"insert": row})


def _of_text(text: str, kind: str) -> Any:
    """A field of CSV as JSON has it."""
    name = kind.partition("(")[0].partition("<")[0]
    if name in _TEXTS:
        return text
    if not text:
        return None
    match name:
        case "BOOLEAN":
            return {"true": True, "false": False}[text.strip().lower()]
        case "DATE" | "TIMESTAMP" | "TIMESTAMP_NTZ" | "BINARY":
            return text.strip()
        case "ARRAY" | "MAP" | "STRUCT" | "VARIANT":
            return json.loads(text, parse_float=Decimal)
        case "FLOAT" | "DOUBLE":
            return float(text)
        case _:
            found = Decimal(text.strip())
            return int(found) if found == found.to_integral_value() and name != "DECIMAL" else found
