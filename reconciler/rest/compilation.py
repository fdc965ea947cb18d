"""What the files of a pipeline mean, in the client's form: whether they compile, what is wrong, which tables and views there
are with their columns.

Types of a view's columns are known once it was computed: until then they are told as VARIANT, which the client reads as it
comes. A program that was not changed is not compiled again.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import field
from threading import Lock
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic, Severity, errors_among
from reconciler.base.digest import JsonObject, digest_text
from reconciler.base.errors import ReconcileError
from reconciler.base.names import fold
from reconciler.connectors.catalogue import shown_settings
from reconciler.connectors.transport import Direction
from reconciler.environment.source import read_pipeline_files
from reconciler.environment.target import Target
from reconciler.project.program.model import Connector, Program, Table, View
from reconciler.query.reading import declared_columns
from reconciler.registry.placements import Placement
from reconciler.rest.column_types import field as column
from reconciler.rest.descriptions import HTTP_CONNECTOR
from reconciler.workspace.desired import validate_pipeline

_KEPT: Final = 256
_UNKNOWN_TYPE: Final = "VARIANT"


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program as compiled; None where it could not be read. `texts` are the files."""

    program: Program | None
    problems: tuple[Diagnostic, ...]
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """`Success` or `SqlError`, as the client knows them."""
        return "SqlError" if self.program is None or errors_among(self.problems) else "Success"

    def error_json(self) -> JsonObject:
        """`program_error`."""
        failed = self.status != "Success"
        messages = [_message(one, self.texts) for one in self.problems]
        return {
            "sql_compilation": {"exit_code": int(failed), "messages": messages},
            "rust_compilation": None if failed else {"exit_code": 0, "stdout": "", "stderr": ""},
            "system_error": None,
        }


class Compiler:
    """Compiles pipelines of a target; one at a time."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._lock = Lock()
        self._known: OrderedDict[str, Compiled] = OrderedDict()

    def compile(self, pipeline: str) -> Compiled:
        """A pipeline's files. Those that can't be read are a problem of them."""
        try:
            texts = read_pipeline_files(self._target.root, pipeline)
        except ReconcileError as error:
            return Compiled(None, (Diagnostic(error.code, error.message, hint=error.hint),))
        key = digest_text("\0".join((pipeline, *(part for one in texts.items() for part in one))))
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                return found
            validated = validate_pipeline(self._target, pipeline)
            found = Compiled(validated.program, validated.diagnostics, texts)
            if validated.program is None or not validated.program.foreign:
                self._known[key] = found
                if len(self._known) > _KEPT:
                    self._known.popitem(last=False)
            return found


def program_info(program: Program, placements: Mapping[str, Placement]) -> JsonObject:
    """`program_info`: the relations as the client knows them, and connectors."""
    connectors = [one for one in program.connectors.values() if one.name != HTTP_CONNECTOR]
    return {
        "schema": {
            "inputs": [_table(table) for table in program.tables.values()],
            "outputs": [_view(view, placements.get(key)) for key, view in program.views.items() if not view.is_local],
        },
        "input_connectors": _connectors(connectors, Direction.INPUT),
        "output_connectors": _connectors(connectors, Direction.OUTPUT),
        "udf_stubs": "",
    }


def _table(table: Table) -> JsonObject:
    columns = [column(one.name, one.type, one.nullable) for one in declared_columns(table)]
    named = {fold(name) for name in table.primary_key}
    return {
        "name": table.name,
        "case_sensitive": False,
        "fields": columns,
        "primary_key": [one["name"] for one in columns if fold(one["name"]) in named] or None,
        "materialized": True,
        "properties": {},
    }


def _view(view: View, placement: Placement | None) -> JsonObject:
    if placement is not None and placement.columns:
        fields = [column(one.name, one.type, one.nullable) for one in placement.columns]
    else:
        fields = [column(name, _UNKNOWN_TYPE, True) for name in view.column_names]
    return {
        "name": view.name,
        "case_sensitive": False,
        "fields": fields,
        "materialized": view.is_stored,
        "properties": {},
    }


def _connectors(connectors: list[Connector], direction: Direction) -> JsonObject:
    return {
        one.qualified_name: {"stream": one.relation, **shown_settings(one.settings)}
        for one in connectors
        if one.direction is direction
    }


def _message(problem: Diagnostic, texts: Mapping[str, str]) -> dict[str, Any]:
    place = problem.location
    lines = texts.get(place.file, "").splitlines() if place is not None else []
    line, at = (place.line, place.column) if place is not None else (0, 0)
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    snippet = f"{line:5}|{text}\n{' ' * (5 + at)}^" if text else ""
    return {
        "start_line_number": line,
        "start_column": at,
        "end_line_number": line,
        "end_column": at,
        "warning": problem.severity is not Severity.ERROR,
        "error_type": f"{problem.severity.value} {problem.code}",
        "message": problem.message + (f" ({problem.hint})" if problem.hint else ""),
        "snippet": snippet,
    }
