"""Rows that come over HTTP: a request becomes a file of changes that the pipeline's next step reads (`http_input`).

- A request is acknowledged when its file is on the disk: whoever is killed then loses nothing of it.
- Records that can't be read, or surely are no rows of the table, are counted (`refused_rows`), and the request is refused.
  The others are taken all the same; of an array none is.
- The token of a request has its number (`tokens`).
- Rows come as JSON (`raw`, `insert_delete`, also with updates, and `debezium`; objects, or arrays of all values in the order
  of the columns) or CSV (columns in the order of the table, an empty field is NULL). In the flavour `pandas` dates and times
  are milliseconds since 1970.
"""

import csv
import io
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import ReconcileError
from reconciler.base.names import fold
from reconciler.engine.http_requests import next_number, store
from reconciler.engine.http_transactions import read_transaction
from reconciler.environment.target import Target
from reconciler.project.program.model import Program, Table
from reconciler.registry.model import Head, OutputState
from reconciler.rest.addresses import key_in
from reconciler.rest.answers import json_text, word_of
from reconciler.rest.descriptions import HTTP_CONNECTOR, are_requests_read, folder_of_requests
from reconciler.rest.errors import Refused
from reconciler.rest.fitting import Kind, require_fits, row_of, shown, with_plain_bytes
from reconciler.rest.json_texts import decimal_of, failing, items_of, value_of, values_of
from reconciler.rest.read_requests import position_of, remove_read_of
from reconciler.rest.refused_rows import MOST_TOLD, tell_refused
from reconciler.rest.shared import Service
from reconciler.state.controls import read_controls

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES: Final = ("TIMESTAMP", "TIMESTAMP_NTZ")
_TEXTS: Final = ("STRING", "VARCHAR", "CHAR")
_READ_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.05
_TOLD: Final = 20
_KINDS: Final[tuple[Kind, ...]] = ("insert", "delete", "update")
_Reader: TypeAlias = Callable[[], list[str]]
# A field may be as long as a request.
csv.field_size_limit(1 << 30)


@dataclass(frozen=True, slots=True)
class Ingress:
    """How rows are written in a request."""

    form: str
    update_format: str
    array: bool
    flavor: str
    force: bool


@dataclass(slots=True)
class _Wrong:
    """What is wrong with records: with how many, and what with the first and the last ones."""

    count: int = 0
    first: list[str] = field(default_factory=list)
    last: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_TOLD))

    def add(self, text: str) -> None:
        self.count += 1
        if len(self.first) < _TOLD:
            self.first.append(text)
        self.last.append(text)


def store_rows(service: Service, pipeline: str, program: Program, name: str, body: bytes, how: Ingress) -> tuple[str, int]:
    """Take the rows of a request: the table's key, and the number of its file. Raises Refused."""
    table = table_that_takes_rows(service.target, program, name)
    key = fold(table.name)
    folder = folder_of_requests(service.target, pipeline, key)
    lines, wrong = _lines(table, body, how)
    number = 0
    if lines and not (wrong.count and how.array):
        number = _stored(service, pipeline, table, b"".join(lines))
    if wrong.count:
        tell_refused(folder, wrong.count, [*wrong.last])
        raise _refused(table, wrong)
    return key, number


def store_lines(service: Service, pipeline: str, table: Table, content: bytes) -> None:
    """Take rows that are lines of a request already."""
    _stored(service, pipeline, table, content)


def table_that_takes_rows(target: Target, program: Program, name: str) -> Table:
    """The table of that name, of which the pipeline reads what is stored here. Raises Refused."""
    table = program.tables.get(key_in(program, name) or "")
    if table is None:
        raise Refused(404, "UnknownInputStream", f"pipeline {program.name} has no table {name!r}")
    _require_connector(target, program, table)
    return table


def _require_connector(target: Target, program: Program, table: Table) -> None:
    """Whether the table's `http_input` reads the folder in which the service stores requests. One that reads another folder
    would never read them. Raises Refused."""
    key = fold(table.name)
    if are_requests_read(target, program, key):
        return
    folder = folder_of_requests(target, program.name, key)
    connector = program.connectors.get(f"{key}.{HTTP_CONNECTOR}")
    if connector is None:
        why = f"no connector {HTTP_CONNECTOR} is applied for it"
    elif connector.transport != "http_input":
        why = f"its connector {HTTP_CONNECTOR} is no http_input"
    else:
        read = connector.settings["transport"]["config"]["path"]
        why = f"its connector {HTTP_CONNECTOR} reads {read}, and this service stores requests in {folder}"
    needed = f"{{table: {table.name}, name: {HTTP_CONNECTOR}, transport: {{name: http_input, config: {{path: {folder}}}}}}}"
    message = f"table {table.name} takes no rows over HTTP: {why}. Declare and apply the connector {needed}"
    raise Refused(400, "NoHttpInput", message)


def _stored(service: Service, pipeline: str, table: Table, content: bytes) -> int:
    """The number of a request that is stored; 0 of one without rows."""
    if not content:
        return 0
    key = fold(table.name)
    return store(folder_of_requests(service.target, pipeline, key), content, _next(service.target, pipeline, key))


def wait_until_read(service: Service, pipeline: str, program: Program) -> None:
    """Wait until a pipeline that runs has published the rows that were taken by now: whoever pauses it next finds them. Not
    those of a transaction that is open, and not for ever: a connector may fail."""
    transaction = read_transaction(folder_of_requests(service.target, pipeline))
    held = transaction.held if transaction is not None else {}
    said = read_controls(service.target.registry, pipeline).connectors
    last = {
        key: held.get(key, next_number(folder_of_requests(service.target, pipeline, key))) - 1
        for key in program.tables
        if f"{key}.{HTTP_CONNECTOR}" in program.connectors and not said.get(f"{key}.{HTTP_CONNECTOR}")
    }
    ends_by = time.monotonic() + _READ_SECONDS
    while time.monotonic() < ends_by and service.lookup.see(pipeline).status == "Running":
        stored = service.target.registry.head(pipeline)
        if stored is None or all(number < position_of(stored.value, key) for key, number in last.items()):
            return
        time.sleep(_POLL_SECONDS)


def remove_read_requests(service: Service) -> None:
    """Remove the files of requests that published steps have read."""
    for pipeline in service.lookup.names():
        # What is wrong with one keeps no other from being tidied up.
        with suppress(ReconcileError, OSError):
            remove_read_of(service.target, pipeline)


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


def _refused(table: Table, wrong: _Wrong) -> Refused:
    told = "; ".join(wrong.first) + ("; …" if wrong.count > _TOLD else "")
    message = f"Errors parsing input data ({wrong.count} errors): rows for table {table.name} can't be read: {told}"
    return Refused(400, "ParseErrors", message, {"num_errors": wrong.count, "errors": wrong.first})


def _lines(table: Table, body: bytes, how: Ingress) -> tuple[list[bytes], _Wrong]:
    """The lines of the file, and what is wrong with the records that give none."""
    lines: list[bytes] = []
    wrong = _Wrong()
    for number, read in enumerate(_readers(table, body, how), start=1):
        try:
            lines += [f"{line}\n".encode() for line in read()]
        except UnicodeEncodeError as error:
            wrong.add(f"record {number}: half of a character, which no text holds: {shown(error.object[error.start])}")
        except (ValueError, TypeError, AttributeError, ArithmeticError, LookupError) as error:
            wrong.add(f"record {number}: {error}")
        except RecursionError:
            wrong.add(f"record {number}: it is nested too deeply")
    return lines, wrong


def _readers(table: Table, body: bytes, how: Ingress) -> Iterator[_Reader]:
    """Of each record what reads it: its lines. That raises an error for one that can't be read."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        yield failing(error)
        return
    if how.form == "csv":
        try:
            for fields in csv.reader(io.StringIO(text, newline="")):
                if fields:
                    yield partial(_of_csv, table, fields)
        except csv.Error as error:
            yield failing(ValueError(str(error)))
        return
    convert = _converter(table, how.flavor)
    for read in items_of(text) if how.array else values_of(text):
        yield partial(_of_record, table, read, how.update_format, convert)


def _of_record(
    table: Table, read: Callable[[], Any], update_format: str, convert: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> list[str]:
    def line(kind: Kind, row: Any) -> str:
        converted = convert(row_of(table, row))
        require_fits(table, converted, kind)
        return json_text({kind: with_plain_bytes(table, converted)})

    match update_format, read():
        case "raw", row:
            return [line("insert", row)]
        case "insert_delete", Mapping() as record if said := [kind for kind in _KINDS if record.get(kind) is not None]:
            if len(said) > 1:
                raise ValueError(f"a record is one change, and this says {' and '.join(said)}: {shown(record)}")
            return [line(said[0], record[said[0]])]
        case "debezium", {"payload": Mapping() as change} | ({"op": _} as change):
            parts: tuple[tuple[str, Kind], ...] = (("before", "delete"), ("after", "insert"))
            return [line(kind, change[part]) for part, kind in parts if change.get(part) is not None]
        case _, record:
            raise ValueError(f"a record is not of the form {update_format}: {shown(record)}")


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


def _of_csv(table: Table, fields: Sequence[str]) -> list[str]:
    columns = table.columns
    if len(fields) != len(columns):
        raise ValueError(f"it has {len(fields)} fields, and the table {len(columns)} columns")
    row = {column.name: _of_field(column.name, text, column.type) for column, text in zip(columns, fields, strict=True)}
    require_fits(table, row, "insert")
    return [json_text({"insert": with_plain_bytes(table, row)})]


def _of_field(column: str, text: str, kind: str) -> Any:
    try:
        return _of_text(text, kind)
    except (ValueError, ArithmeticError, LookupError) as error:
        raise ValueError(f"column {column}: a value that is no {kind}: {shown(text)}") from error


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
            return value_of(text)
        case "FLOAT" | "DOUBLE":
            number = float(text)
            return number if math.isfinite(number) else word_of(number)
        case _:
            found = decimal_of(text.strip())
            return int(found) if found == found.to_integral_value() and name != "DECIMAL" else found
