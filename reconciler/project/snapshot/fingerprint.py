"""What of a definition is its meaning: the content that fingerprints are taken of.

- table: name, columns in order (name, type, nullability, and where there are: default, lateness), primary key,
  materialized, append_only; of a default that is a moment without a zone also the session's, where that is not UTC.
- view: name, kind, names of output columns, canonical query, the Spark settings that change results, which recorded
  versions of functions it calls instead of today's. Of a stream also what its query does not say.
- function: name, parameters, what it returns, its body: the canonical expression, or the module with all that it imports
  from the pipeline's folder as Python understands it, or as it is written (`python_meaning`), requirements, Python's minor
  version, whether it is deterministic and whether it gives NULL where it fails.
- connector: relation, name, transport and format with their configuration, defaults filled in.

Letter case of names of columns is hashed only where names can be data (`Program.names_are_data`), and where an output
writes them.
Not hashed: comments, layout, letter case of keywords, descriptions, owners, tags; of connectors also what cannot change
which rows are read or written (labels, start_after, paused, batch limits: the table is in `connectors.catalogue`).
Types inferred without Spark never enter. The rules are the seed's ("A table is considered modified if …", "A view is
considered modified if …"); a change upstream is not hashed in but propagated by `diff`, which can say why.
"""

import json
from dataclasses import astuple, fields
from functools import lru_cache
from typing import Any, Final, assert_never

from reconciler.base.declarations import ColumnDeclaration, FunctionBody, PythonBody, Settings, SqlBody
from reconciler.base.digest import canonical_json, digest_json, digest_text
from reconciler.base.names import fold, without_version
from reconciler.connectors.catalogue import canonical_settings
from reconciler.project.program.defaults import ZONE, zone_of_default
from reconciler.project.program.model import Connector, Function, Program, Stream, Table, View
from reconciler.project.program.settings import DEFAULTS, decisive_settings
from reconciler.project.program.written_names import spelled_content
from reconciler.project.snapshot.python_meaning import python_meaning
from reconciler.sql.calls import canonical_expression
from reconciler.sql.canonicalise import canonical_text
from reconciler.sql.spelling import Spelling


def _spelled(name: str, spelling: Spelling) -> str:
    return name if spelling else fold(name)


def table_content(table: Table, settings: Settings, spelling: Spelling = Spelling.EVENED_OUT) -> dict[str, Any]:
    """The meaning of a table."""
    return {
        "name": fold(table.name),
        "columns": [_column_content(column, settings, spelling) for column in table.columns],
        "primary_key": [fold(column) for column in table.primary_key],
        "materialized": table.declaration.materialized,
        "append_only": table.declaration.append_only,
    }


def _column_content(column: ColumnDeclaration, settings: Settings, spelling: Spelling) -> list[Any]:
    # What is absent is left out, so that tables without it mean what they always meant.
    zone = zone_of_default(column, settings)
    optional = {"default": column.default, "lateness": column.lateness, "zone": None if zone == DEFAULTS[ZONE] else zone}
    given = {key: text for key, text in optional.items() if text is not None}
    return [_spelled(column.name, spelling), column.type, column.nullable, *([given] if given else [])]


def canonical_under(view: View, program: Program, spelling: Spelling) -> str:
    """The canonical text of a view of a program, where what `spelling` says of its texts is meaning."""
    return view.canonical if program.spelling is spelling else canonical_text(view.query, spelling)


def view_content(view: View, settings: Settings, spelling: Spelling = Spelling.EVENED_OUT) -> dict[str, Any]:
    """The meaning of a view, but for what it reads."""
    return {
        "name": fold(view.name),
        "kind": view.kind.value,
        "column_names": [_spelled(name, spelling) for name in view.declaration.column_names],
        "query": _query(view),
        "settings": dict(sorted(decisive_settings(settings).items())),
        **_besides(view, spelling),
    }


def _query(view: View) -> str:
    """The canonical query of a view. Of a stream nobody wrote it: its definition is its meaning."""
    return view.canonical if view.stream is None else ""


def _besides(view: View, spelling: Spelling) -> dict[str, Any]:
    """What few views have: functions that are bound to a version, and names that an output writes, or what decides them,
    where they are spelled otherwise than they are looked up."""
    functions = [list(one) for one in view.declaration.functions]
    names = list(view.column_names) if view.has_output else []
    bound = {**({"functions": functions} if functions else {}), **spelled_content(view)}
    bound |= {"stream": stream_content(view.stream, spelling)} if view.stream is not None else {}
    return {**bound, "written_as": names} if names != [fold(name) for name in names] else bound


_NAMES: Final = frozenset({"input", "left", "right", "keys", "columns", "column"})
_EXPRESSIONS: Final = frozenset({"event_time", "aggregates"})


_LATER: Final = frozenset({"idle_after", "read", "per"})
"""Settings that earlier versions did not know: streams without them mean what they meant."""


def stream_content(stream: Stream, spelling: Spelling = Spelling.EVENED_OUT) -> dict[str, Any]:
    """The meaning of a stream: what it does, the columns of what it reads, by which its rows are put in order, and what
    moves its watermark."""
    return {
        **beside_the_names(stream),
        **{
            one.name: _written(one.name, getattr(stream.transformation, one.name), spelling)
            for one in fields(stream.transformation)
            if one.name in _NAMES | _EXPRESSIONS
        },
        "inputs": [
            [fold(one.name), [[_spelled(name, spelling), kind] for name, kind in one.columns], fold(one.event_time)]
            for one in stream.inputs
        ],
        "clocks": [[part for part in astuple(one) if part is not None] for one in stream.clocks],
    }


def beside_the_names(stream: Stream) -> dict[str, Any]:
    """What a stream does, but for the names and expressions that its query has: when a window fires again, how long late
    rows are waited for, how long a key is remembered, what becomes of rows that come too late."""
    settings = {
        one.name: getattr(stream.transformation, one.name)
        for one in fields(stream.transformation)
        if one.name not in _NAMES | _EXPRESSIONS
    }
    return {
        "kind": type(stream.transformation).__name__,
        "settings": {name: repr(value) for name, value in settings.items() if name not in _LATER or value is not None},
        **({"keeps_late": True} if stream.keeps_late else {}),
    }


def _written(name: str, value: Any, spelling: Spelling) -> Any:
    """A name or expression as it is compared; of several each, and of what is named both."""
    match value:
        case str() if name in _EXPRESSIONS:
            return canonical_expression(value, spelling)
        case str():
            return _spelled(value, spelling)
        case tuple() if name == "aggregates":
            return [[_spelled(given, spelling), canonical_expression(text, spelling)] for given, text in value]
        case tuple():
            return [_written(name, one, spelling) for one in value]
        case _:
            return value


def view_fingerprint(view: View, settings: str, spelling: Spelling = Spelling.EVENED_OUT) -> str:
    """The digest of `view_content`; `settings` are those that decide results, as canonical JSON."""
    names = tuple([_spelled(name, spelling) for name in view.declaration.column_names])
    besides = _besides(view, spelling)
    told = json.dumps(besides) if besides else _NOTHING_BESIDES
    return _view_fingerprint(fold(view.name), view.kind.value, names, _query(view), settings, told)


_NOTHING_BESIDES: Final = "{}"


@lru_cache(maxsize=1 << 16)
def _view_fingerprint(name: str, kind: str, column_names: tuple[str, ...], query: str, settings: str, besides: str) -> str:
    """Remembered: most views are the same on both sides of a comparison."""
    content = {"name": name, "kind": kind, "column_names": column_names, "query": query}
    if besides == _NOTHING_BESIDES:
        # `settings` is canonical already, and of the keys the last.
        return digest_text(f'{canonical_json(content)[:-1]},"settings":{settings}}}')
    return digest_json({**content, "settings": json.loads(settings), **json.loads(besides)})


def function_content(function: Function, spelling: Spelling = Spelling.EVENED_OUT) -> dict[str, Any]:
    """The meaning of a function, but for what it calls. Python tells spellings of its name apart; of a body in SQL, Spark
    knows by itself whether it is deterministic."""
    declaration, name = function.declaration, without_version(function.name)
    return {
        "name": fold(name) if isinstance(declaration.body, SqlBody) else name,
        "parameters": [[_spelled(one.name, spelling), one.type, one.nullable] for one in declaration.parameters],
        "returns": [declaration.returns, declaration.returns_nullable],
        "body": _body_content(declaration.body, declaration.deterministic, spelling),
    }


def _body_content(body: FunctionBody, deterministic: bool, spelling: Spelling) -> dict[str, Any]:
    match body:
        case SqlBody():
            return {"expression": canonical_expression(body.expression, spelling)}
        case PythonBody():
            return {
                "module": body.module,
                "sources": python_meaning(body.sources),
                "requirements": sorted(body.requirements),
                "python": body.python,
                "deterministic": deterministic,
                # What is not asked for is left out, so that other functions mean what they always meant.
                **({"gives_null_on_error": True} if body.gives_null_on_error else {}),
            }
        case _:
            assert_never(body)


def connector_content(connector: Connector) -> dict[str, Any]:
    """The meaning of a connector: what decides which rows it reads or writes."""
    return {
        "relation": fold(connector.relation),
        "name": fold(connector.name),
        "settings": canonical_settings(connector.settings),
    }
