"""Streams as views of a program: what each reads, which columns it has, and the query that says what it means.

A stream reads rows that are only added: an append-only table, or another stream. Its query is what it gives where all rows
of its table come in one step; so its meaning is compared, its columns and lineage are told, and it is bootstrapped, as of
any view. How it goes on from step to step, `streams.queries` says.

Rules:
- `assign_timestamps_and_watermarks` reads a table, and gives its rows their event time. Everything else reads streams: a
  table has no event time by itself (P381).
- The table is append-only (P382): rows that are changed or deleted can't be taken out of what a stream gave. Or the stream
  reads its changes, and says so: then each is a row.
- Inputs, keys and columns are there (P380, P383), and the event time is a TIMESTAMP (P384). Running aggregates can go on
  from what they were (P385).
- Keys are of types that Spark can group by (P386), and of one type on both sides of a join (P389).
- The function of a `custom` stream is there and takes and gives what it should (P387), and gives the same for the same
  (P388).
- Streams may not read each other in a circle (P303, P304, as of views).

A stream that can't be compiled stays in the program, with no query that means anything: nothing is planned beside errors.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, assert_never

from reconciler.base.declarations import Manifest, StreamDeclaration, ViewDeclaration, ViewKind
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.names import did_you_mean, fold, quoted
from reconciler.project.program.model import Clock, Read, Stream, View
from reconciler.project.program.order import cycles, topological
from reconciler.project.program.stream_inputs import (
    About,
    Known,
    Relations,
    custom_of,
    has_columns,
    has_comparable_rows,
    has_values,
)
from reconciler.project.program.watermarks import watermark_query
from reconciler.streams.columns import TIMESTAMP, output_columns
from reconciler.streams.model import (
    CHANGE,
    CHANGES,
    AggregateOverWindow,
    AssignWatermarks,
    Custom,
    Deduplicate,
    OuterCachingJoin,
    Previous,
    RunningAggregate,
    Sort,
    Stateful,
    Transformation,
    held_back,
    inputs_of,
)
from reconciler.streams.queries import Input, Moment
from reconciler.streams.queries.write import stream_queries
from reconciler.streams.reading import keeps_late_rows, read_transformation

NO_QUERY: Final = "SELECT * FROM explode(array(0))"
"""In place of the query of a stream that is wrong. Nobody knows its columns, so who reads it is not wrong for that."""


def compile_streams(manifest: Manifest, into: list[Diagnostic]) -> tuple[tuple[ViewDeclaration, ...], dict[str, Stream]]:
    """The views of a manifest, its streams among them, with the queries of these; and the streams by folded name."""
    unread = (
        ViewDeclaration(one.name, ViewKind.STREAM, (), NO_QUERY, NO_QUERY, one.location) for one in manifest.unread_streams
    )
    views = (*manifest.views, *map(_as_view, manifest.streams), *unread)
    declared = {fold(one.name): one for one in views if one.stream is not None}
    places = {fold(one.name): one.locations for one in manifest.streams}
    transformations = {key: read_transformation(one.stream or {}) for key, one in declared.items()}
    reads = {key: tuple(map(fold, inputs_of(one))) for key, one in transformations.items()}
    _report_circles(reads, declared, into)
    tables = {fold(one.name): one for one in manifest.tables}
    functions = {fold(one.name): one for one in manifest.functions}
    relations = Relations(tables, {fold(one.name): one for one in views}, functions, {})
    found: dict[str, str] = {}
    for key in topological(reads):
        about = About(declared[key], places.get(key, {}), into)
        known = _compiled(about, transformations[key], relations)
        if known is not None:
            relations.known[key] = known
            found[key] = _definition(known.stream)
    # The first of two relations of one name is the one that counts: the second is reported where names are.
    written = tuple(one if one.stream is None else _written(one, found.get(fold(one.name), NO_QUERY)) for one in views)
    return written, {key: known.stream for key, known in relations.known.items()}


def _report_circles(
    reads: Mapping[str, tuple[str, ...]], declared: Mapping[str, ViewDeclaration], into: list[Diagnostic]
) -> None:
    """A stream in a circle has no query: whoever looks at queries meets none."""
    for cycle in cycles(reads):
        first = declared[cycle[0]]
        if len(cycle) == 1:
            into.append(Diagnostic("P304", f"stream {first.name!r} reads itself", first.location))
            continue
        chain = " → ".join(declared[key].name for key in (*cycle, cycle[0]))
        hint = "change one of them to read another stream, or a table with assign_timestamps_and_watermarks"
        into.append(Diagnostic("P303", f"circular dependency between streams: {chain}", first.location, hint))


def _as_view(stream: StreamDeclaration) -> ViewDeclaration:
    return ViewDeclaration(stream.name, ViewKind.STREAM, (), "", "", stream.location, stream=stream.definition)


def _written(declaration: ViewDeclaration, query: str) -> ViewDeclaration:
    return replace(declaration, query=query, sql=query)


def _compiled(about: About, transformation: Transformation, relations: Relations) -> Known | None:
    """None: something is wrong with it, or with what it reads."""
    if isinstance(transformation, AssignWatermarks):
        return _assigned(about, transformation, relations)
    settings = ("left", "right") if isinstance(transformation, OuterCachingJoin) else ("input",)
    inputs = [
        _input(about, name, relations, setting) for name, setting in zip(inputs_of(transformation), settings, strict=True)
    ]
    if any(one is None for one in inputs):
        return None
    known = [one for one in inputs if one is not None]
    if isinstance(transformation, Custom):
        found = custom_of(about, transformation, known[0].rows, relations.functions)
        if found is None:
            return None
        transformation = found
    rows = tuple(one.rows for one in known)
    if not has_columns(about, transformation, rows):
        return None
    bases = tuple(key for one, name in zip(known, inputs_of(transformation), strict=True) for key in _bases(one, fold(name)))
    clocks = tuple(dict.fromkeys(clock for one in known for clock in _clocks_of_rows(one.stream)))
    if len(clocks) == 1 and clocks[0].per is None:
        # There is nobody whom it could hold up.
        clocks = (replace(clocks[0], idle_after=None),)
    event_time = stream_queries(transformation, rows, None, Moment(0)).event_time
    keeps_late = keeps_late_rows(about.declaration.stream or {})
    stream = Stream(transformation, rows, bases, clocks, event_time, True, _expressions(transformation), keeps_late)
    return Known(stream, Input(about.name, output_columns(transformation, rows), event_time))


def _clocks_of_rows(stream: Stream) -> tuple[Clock, ...]:
    """What moves the watermark of the rows that a stream gives."""
    held = held_back(stream.transformation)
    return tuple(replace(one, delay=one.delay + held) for one in stream.clocks) if held else stream.clocks


def _bases(known: Known, name: str) -> tuple[str, ...]:
    return (name,) if known.stream.remembers else known.stream.bases


def _assigned(about: About, transformation: AssignWatermarks, relations: Relations) -> Known | None:
    key = fold(transformation.input)
    table = relations.tables.get(key)
    if table is None:
        about.refuse_input(transformation.input, relations, "a table", "input")
        return None
    reads_changes = transformation.read == CHANGES
    if not reads_changes and (table.primary_key or not table.append_only):
        why = "it has a primary key" if table.primary_key else "it is not append-only"
        hint = (
            "write read: changes, to get what is inserted and deleted; or declare the table WITH ('append_only' = 'true'), "
            "and without a primary key"
        )
        about.refuse("P382", f"stream {about.name!r} reads table {table.name!r}, but {why}", hint, "input")
        return None
    columns = tuple((column.name, column.type) for column in table.columns)
    types = {fold(name): kind for name, kind in columns}
    if reads_changes and not has_comparable_rows(about, table.name, columns):
        return None
    kind = types.get(fold(transformation.event_time))
    if transformation.column is None:
        if kind is None:
            meant = did_you_mean(transformation.event_time, [name for name, _ in columns])
            hint = meant or "name a column of the table, or write `column` for what the expression gives"
            message = f"table {table.name!r} has no column {transformation.event_time!r}"
            about.refuse("P383", message, hint, "event_time")
            return None
        if kind != TIMESTAMP:
            hint = "write an expression that gives a TIMESTAMP, and `column` for its name"
            message = f"column {transformation.event_time!r} of table {table.name!r} is of type {kind}, and not a TIMESTAMP"
            about.refuse("P384", message, hint, "event_time")
            return None
    elif fold(transformation.column) in types:
        hint = "choose a name that the table does not have"
        message = f"table {table.name!r} has a column {transformation.column!r} of its own"
        about.refuse("P383", message, hint, "column")
        return None
    column = transformation.column or transformation.event_time
    given = Input(table.name, columns, column)
    if not has_values(about, transformation, given):
        return None
    clock = Clock(fold(about.name), key, column, transformation.delay, transformation.idle_after, transformation.per)
    expressions = () if transformation.column is None else (transformation.event_time,)
    stream = Stream(transformation, (given,), (key,), (clock,), column, False, expressions)
    return Known(stream, Input(about.name, output_columns(transformation, (given,)), column))


def _input(about: About, name: str, relations: Relations, setting: str) -> Known | None:
    key = fold(name)
    known = relations.known.get(key)
    if known is not None:
        return known
    if key in relations.tables:
        table = relations.tables[key].name
        message = f"stream {about.name!r} reads table {table!r}, whose rows have no event time"
        hint = f"declare a stream with assign_timestamps_and_watermarks over {table!r}, and read that one"
        about.refuse("P381", message, hint, setting)
    elif key in relations.views and relations.views[key].kind is ViewKind.STREAM:
        # What is wrong with it was told there, or is told of the circle.
        return None
    else:
        about.refuse_input(name, relations, "a stream", setting)
    return None


def _expressions(transformation: Stateful) -> tuple[str, ...]:
    match transformation:
        case AggregateOverWindow() | RunningAggregate():
            return tuple(text for _, text in transformation.aggregates)
        case OuterCachingJoin() | Previous() | Sort() | Deduplicate() | Custom():
            return ()
        case _:
            assert_never(transformation)


def written_expressions(stream: Stream) -> tuple[tuple[str, str], ...]:
    """What its author wrote of a stream as SQL: the path of each setting, and a query that is wrong where the expression is.
    An aggregate stands by itself there: a column beside it would have to be aggregated, too."""
    transformation = stream.transformation
    if isinstance(transformation, AssignWatermarks):
        written = [] if transformation.column is None else [("event_time", transformation.event_time, "")]
    elif isinstance(transformation, AggregateOverWindow | RunningAggregate):
        written = [(f"aggregates.{name}", text, ", count(*) AS `__rows`") for name, text in transformation.aggregates]
    else:
        written = []
    relation = quoted(stream.inputs[0].name)
    return tuple((path, f"SELECT {text}\nAS `__value`{beside} FROM {relation}") for path, text, beside in written)


def with_streams(views: Mapping[str, View], streams: Mapping[str, Stream]) -> dict[str, View]:
    """The views that are streams with what they do. What moves the watermark of one is among what it reads, whatever its
    query says of it: its step is due when that changes."""
    found = dict(views)
    for key, stream in streams.items():
        if key in views and views[key].kind is ViewKind.STREAM:
            reads = {fold(read.relation): read for read in views[key].reads}
            for clock in stream.clocks if stream.remembers else ():
                known = reads.get(clock.assigned)
                needed = (clock.column, *(clock.per or ()))
                columns = {fold(name): name for name in (*(known.columns if known else ()), *needed)}
                name = views[clock.assigned].name if clock.assigned in views else clock.assigned
                reads[clock.assigned] = Read(name, tuple(columns[one] for one in sorted(columns)))
            ordered = tuple(reads[name] for name in sorted(reads))
            found[key] = replace(views[key], stream=stream, reads=ordered)
    return found


def _definition(stream: Stream) -> str:
    """The query of a stream over all that its table has."""
    transformation = stream.transformation
    if isinstance(transformation, AssignWatermarks):
        return assigned_query(transformation, stream.inputs[0], "'insert'")
    return stream_queries(transformation, stream.inputs, None, Moment(0, after=watermark_query(stream))).output


def assigned_query(transformation: AssignWatermarks, source: Input, change: str) -> str:
    """The rows of a table with their event time. `change` is the expression that says what each of its changes is; of a
    table as it stands, each row is inserted."""
    columns = [quoted(name) for name, _ in source.columns]
    if transformation.column is not None:
        columns.append(f"{transformation.event_time} AS {quoted(transformation.column)}")
    if transformation.read == CHANGES:
        columns.append(f"{change} AS {quoted(CHANGE)}")
    return f"SELECT {', '.join(columns)} FROM {quoted(transformation.input)}"
