"""What a stream names is looked at: its inputs, their columns and their types. `streams` says by which rules.

Whatever is not as it should be is told where its setting is written.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import FunctionDeclaration, SqlBody, TableDeclaration, ViewDeclaration, ViewKind
from reconciler.base.diagnostics import Diagnostic, Location
from reconciler.base.names import did_you_mean, fold
from reconciler.project.program.model import Stream
from reconciler.sql.types import canonical_type, element_type, struct_fields
from reconciler.streams.columns import EVENT_TIME, TIMESTAMP, Columns, output_columns
from reconciler.streams.model import CHANGE, AssignWatermarks, Custom, OuterCachingJoin, Previous, RunningAggregate, Stateful
from reconciler.streams.queries import Input
from reconciler.streams.queries.running_forms import running_problem

_WITHOUT_EQUALITY: Final = re.compile(r"\b(MAP|VARIANT)\b")
_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class Known:
    """A stream that others may read: what it does, and the rows that it gives."""

    stream: Stream
    rows: Input


@dataclass(frozen=True, slots=True)
class Relations:
    tables: Mapping[str, TableDeclaration]
    views: Mapping[str, ViewDeclaration]
    functions: Mapping[str, FunctionDeclaration]
    known: dict[str, Known]


@dataclass(frozen=True, slots=True)
class About:
    """The stream that is looked at, and where what is wrong with it is told."""

    declaration: ViewDeclaration
    places: Mapping[str, Location]
    into: list[Diagnostic]

    @property
    def name(self) -> str:
        return self.declaration.name

    def refuse(self, code: str, message: str, hint: str | None, setting: str = "") -> None:
        """Say what is wrong, where the setting is written (a part of its path; else where the stream is)."""
        place = next((self.places[path] for path in sorted(self.places) if setting and path.endswith(f".{setting}")), None)
        self.into.append(Diagnostic(code, message, place or self.declaration.location, hint))

    def refuse_input(self, name: str, relations: Relations, wanted: str, setting: str) -> None:
        """Say that an input is not what it should be."""
        key = fold(name)
        if key in relations.views:
            kind = "a stream" if relations.views[key].kind is ViewKind.STREAM else "a view"
            hint = "a stream reads rows that are only added: those of an append-only table, or of another stream"
            self.refuse("P380", f"stream {self.name!r} reads {name!r}, which is {kind} and not {wanted}", hint, setting)
            return
        names = [*(one.name for one in relations.tables.values()), *(one.name for one in relations.views.values())]
        meant = did_you_mean(name, names)
        self.refuse("P380", f"stream {self.name!r} reads {name!r}, which is not declared", meant, setting)

    def has_column(self, name: str, setting: str, given: Input) -> bool:
        """Whether an input has a column."""
        if fold(name) in {fold(column) for column, _ in given.columns}:
            return True
        names = [column for column, _ in given.columns]
        hint = did_you_mean(name, names) or (f"it has: {', '.join(names)}" if len(names) <= _LISTED else None)
        self.refuse("P383", f"{given.name!r}, which stream {self.name!r} reads, has no column {name!r}", hint, setting)
        return False

    def can_be_key(self, name: str, setting: str, given: Input) -> bool:
        """Whether Spark can tell equal values of a column."""
        kind = {fold(column): of for column, of in given.columns}[fold(name)] or ""
        if _WITHOUT_EQUALITY.search(kind.upper()) is None:
            return True
        so = "it can't be a key" if setting.startswith("keys") else "none can have a watermark of its own"
        message = f"{name!r} is a {kind}: Spark can't tell which of its values are equal, so {so}"
        self.refuse("P386", message, "choose a column of another type, or one of its parts", setting)
        return False

    def has_different_columns(self, columns: Columns) -> bool:
        """Whether the columns that a stream gives have different names."""
        names = [fold(name) for name, _ in columns]
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if twice is None:
            return True
        message = f"stream {self.name!r} would give two columns {twice!r}"
        self.refuse("P383", message, "call one of them otherwise", f"aggregates.{twice}")
        return False


def has_values(about: About, transformation: AssignWatermarks, given: Input) -> bool:
    """Whether the columns are there whose values have a watermark each, and Spark can tell which values are equal."""
    named = [(name, f"per[{place}]") for place, name in enumerate(transformation.per or ())]
    return all(about.has_column(name, place, given) and about.can_be_key(name, place, given) for name, place in named)


def has_comparable_rows(about: About, table: str, columns: Columns) -> bool:
    """Whether the changes of a table can be told, and what each is."""
    for name, kind in columns:
        if fold(name) == CHANGE:
            message = f"table {table!r} has a column {name!r}, which is what changes are called"
            about.refuse("P383", message, "call the column of the table otherwise", "read")
            return False
        if _WITHOUT_EQUALITY.search((kind or "").upper()) is not None:
            message = f"the changes of table {table!r} can't be told: Spark can't compare column {name!r}, a {kind}"
            about.refuse("P386", message, "leave read: changes, or give the column another type", "read")
            return False
    return True


def has_columns(about: About, transformation: Stateful, rows: tuple[Input, ...]) -> bool:
    """Whether the columns that a transformation names are there, and those that it gives have different names."""
    found = [(key, f"keys[{place}]", one) for one in rows for place, key in enumerate(transformation.keys)]
    if isinstance(transformation, Previous):
        found += [(column, f"columns.{name}", rows[0]) for name, column in transformation.columns]
    are_there = not [1 for name, setting, one in found if not about.has_column(name, setting, one)]
    for name, setting, one in found if are_there else ():
        if setting.startswith("keys") and not about.can_be_key(name, setting, one):
            are_there = False
    if isinstance(transformation, OuterCachingJoin) and are_there:
        different = [one for one in enumerate(transformation.keys) if not _has_keys_alike(about, *one, rows)]
        are_there = not different
    if isinstance(transformation, RunningAggregate):
        for name, text in transformation.aggregates:
            problem = running_problem(text, rows[0].columns)
            if problem is not None:
                about.refuse("P385", f"aggregate {name!r} of stream {about.name!r}: {problem}", None, f"aggregates.{name}")
                are_there = False
    return are_there and about.has_different_columns(output_columns(transformation, rows))


def _has_keys_alike(about: About, place: int, key: str, sides: tuple[Input, ...]) -> bool:
    """Whether a key is of one type on both sides of a join, as far as types are known. Else Spark would compare values of
    a third type: numbers that differ become one, and a text that is no number fails."""
    kinds = [kind for side in sides for name, kind in side.columns if fold(name) == fold(key)]
    if None in kinds or len(set(kinds)) < 2:
        return True
    ones = " and ".join(f"{kind} in {side.name!r}" for kind, side in zip(kinds, sides, strict=True))
    hint = "give the column one type in both tables; or join on another column"
    about.refuse("P389", f"key {key!r} of stream {about.name!r} is {ones}", hint, f"keys[{place}]")
    return False


def custom_of(about: About, given: Custom, source: Input, functions: Mapping[str, FunctionDeclaration]) -> Custom | None:
    """A custom transformation with what its function's declaration says."""
    own = dict(about.declaration.functions)
    function = functions.get(own.get(fold(given.function), fold(given.function)))
    if function is None:
        meant = did_you_mean(given.function, [one.name for one in functions.values()])
        about.refuse("P387", f"stream {about.name!r} calls {given.function!r}, which is no function", meant, "function")
        return None
    types = [canonical_type(one.type) or "" for one in function.parameters]
    returns = dict(struct_fields(canonical_type(function.returns) or "") or ())
    takes = struct_fields(element_type(types[1]) or "") if len(types) == 2 else None
    gives = struct_fields(element_type(returns.get("rows", "")) or "")
    wrong = None
    if takes is None or gives is None or list(returns) != ["state", "rows"]:
        wrong = "is not of the form that is called"
    elif types[0] != returns["state"]:
        wrong = f"takes a state of type {types[0]}, and gives one of type {returns['state']}"
    elif dict(gives).get(EVENT_TIME) != TIMESTAMP:
        wrong = f"gives rows without {EVENT_TIME} TIMESTAMP"
    else:
        columns = {fold(name) for name, _ in source.columns}
        lacking = [name for name, _ in takes if fold(name) not in columns]
        if lacking:
            wrong = f"takes rows with {', '.join(lacking)}, which {source.name!r} does not have"
    if wrong is not None or takes is None or gives is None:
        about.refuse("P387", f"stream {about.name!r} calls {function.name!r}, which {wrong}", _CUSTOM_FORM, "function")
        return None
    if not function.deterministic and not isinstance(function.body, SqlBody):
        message = f"stream {about.name!r} calls {function.name!r}, which is not declared deterministic"
        hint = f"if it gives the same for the same, write spec.functions.{function.name}: {{deterministic: true}}"
        about.refuse("P388", message, hint, "function")
        return None
    return replace(given, state=types[0], takes=takes, gives=gives)


_CUSTOM_FORM: Final = (
    "declare it as (state STRUCT<…>, rows ARRAY<STRUCT<…>>) "
    "RETURNS STRUCT<state STRUCT<…>, rows ARRAY<STRUCT<event_time TIMESTAMP, …>>>"
)
