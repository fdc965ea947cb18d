"""JSON texts as rows: messages, lines of files, or whole files. One pass, whatever is in them.

- `update_format` says what an object stands for. `raw`: a row to insert. `insert_delete`: {"insert": row} or
  {"delete": row}, with updates also {"update": row}. `debezium`: a change event, with or without its `payload`; a row that
  was updated is the row `before`, deleted, and the row `after`, inserted: both or none. `array`: a text holds an array of
  these.
- Keys are matched to columns without regard to case; a key that no column has is left out and told (UNKNOWN), one that
  stands twice is a problem of the record, in the row as in what is around it (`insert`, `payload`, `after`). So is a text
  that is no object, and whatever follows one. JSON is what RFC 8259 says: no other quotes, no bare NaN, no comments.
- A text that Spark would change as it reads it is a problem of the record, too (`json_texts`): bytes that are no UTF-8, an
  escape of half a character.
- Values are read as text and cast afterwards (`conform`). Numbers keep every digit: Spark's parser takes them through
  doubles, so a record in which that could show is parsed a second time, its numbers written as strings. Only objects and
  arrays in a column of text are not kept as they stand: they lose their spaces.
- A problem never stops the others: it is told in the row's `problem`.
- Where a record is just a row, most are read by their columns (`json_objects`), which is faster; values are the same.
- Those whose length proves them ordinary can be read alone, which is faster still (`with_proven`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.names import fold, quoted
from reconciler.engine.fields import MOST_FIELDS
from reconciler.engine.http_ranges import WITH_UPDATES
from reconciler.engine.protocol import ColumnType, TableTarget
from reconciler.engine.spark.conform import Given
from reconciler.engine.spark.ingest.incoming import ORIGIN, PROVEN, RECORD, UNKNOWN, Incoming, Proven
from reconciler.engine.spark.ingest.json_objects import (
    by_columns,
    can_be_read_by_columns,
    decimal_of,
    is_exact,
    is_ordinary,
    is_proven,
    proven_rows,
    seems_proven,
    value,
)
from reconciler.engine.spark.json_bytes import is_array
from reconciler.engine.spark.json_texts import is_unfit, marked, shown, strict, unfit_or, unmarked
from reconciler.engine.spark.locations import literal
from reconciler.engine.spark.nested import FLOATS, may_vanish
from reconciler.engine.spark.writes import ORDER
from reconciler.engine.texts import FOR_NUMBERS

_OBJECT: Final = "map<string,string>"
_CHANGE: Final = f"struct<op:string,before:{_OBJECT},after:{_OBJECT}>"
_CHANGES = "reconcile changes"
_KEYS = "reconcile values"
_OTHER_KEYS = "reconcile other values"
_DOUBLED = "reconcile doubled"
_PROBLEM = "reconcile problem"
_DELETES = "reconcile deletes"
_UPDATES = "reconcile updates"
_NAMED = "reconcile named"
_OTHER = "reconcile other "
_PARSED = "reconcile parsed"
_ORDINARY = "reconcile ordinary"
_INEXACT = "reconcile inexact "
_EXACT = "reconcile exact "
_SAFE_DIGITS = 15


@dataclass(frozen=True, slots=True)
class _Format:
    """How an object is parsed: its Spark type, and of a parsed one (`e`) an expression for its changes, an array of structs
    {deletes, updates, object, other, problem}; whether that is always one; of the text of an object (`t`) expressions for
    the texts of objects around the row, whose keys may not stand twice."""

    type: str
    changes: str
    is_one_change: bool = True
    wrappers: tuple[str, ...] = ()


def can_be_proven(config: JsonObject, target: TableTarget) -> bool:
    """Whether records of this format can be `proven_rows` of this table."""
    is_plain = config.get("update_format", "insert_delete") == "raw" and not config.get("array", False)
    return is_plain and not target.primary_key and can_be_read_by_columns(target.columns)


def with_proven(
    session: SparkSession, texts: DataFrame, config: JsonObject, target: TableTarget, example: bytes | None
) -> Incoming:
    """As `json_records`, with the rows that can be read alone. Only for what `can_be_proven`; `example` is a record."""
    incoming = json_records(texts, config, target)
    rows = proven_rows(session, texts, quoted(RECORD), target.columns, _PARSED)
    given = {}
    for column in target.columns:
        read = value(quoted(_PARSED), column)
        given[fold(column.name)] = Given("CAST(NULL AS STRING)", True, read) if is_exact(column) else Given(read, True)
    is_likely = example is not None and seems_proven(example, target.columns)
    return replace(incoming, kept=(*incoming.kept, PROVEN), proven=Proven(rows, given, is_likely))


def json_records(texts: DataFrame, config: JsonObject, target: TableTarget) -> Incoming:
    """The rows of texts: a frame with RECORD, ORIGIN and ORDER, in which nothing is blank (`is_written`). `config` is the
    format's (default: `insert_delete`)."""
    update_format, is_array = config.get("update_format", "insert_delete"), bool(config.get("array", False))
    format_ = _format(str(update_format), target)
    is_plain = update_format == "raw" and not is_array
    has_ordinary = is_plain and can_be_read_by_columns(target.columns)
    has_other = update_format == "debezium"
    if has_ordinary:
        rows = _told_apart(texts, target.columns)
    else:
        objects = _one_by_one(texts) if is_plain else _exploded(texts, format_, is_array)
        other_source = _source(format_, is_array, is_plain, "other") if has_other else None
        rows = _with_values(objects, target.columns, _source(format_, is_array, is_plain), other_source)
    given = {
        fold(c.name): Given(
            quoted(c.name),
            True,
            quoted(_EXACT + c.name) if has_ordinary and is_exact(c) else None,
            may_be_bytes=_is_binary(c),
        )
        for c in target.columns
    }
    other = {fold(c.name): Given(quoted(_OTHER + c.name), True, may_be_bytes=_is_binary(c)) for c in target.columns}
    sets = {fold(c.name): f"array_contains({quoted(_NAMED)}, {literal(fold(c.name))})" for c in target.columns}
    return Incoming(
        rows,
        given,
        quoted(ORIGIN),
        (ORDER,),
        null_is_absent=True,
        deletes=None if update_format == "raw" else quoted(_DELETES),
        record=shown(quoted(RECORD)),
        problem=quoted(_PROBLEM),
        other=other if has_other else None,
        has_other=f"{quoted(_OTHER_KEYS)} IS NOT NULL" if has_other else None,
        unknown=quoted(UNKNOWN),
        updates=f"{quoted(_NAMED)} IS NOT NULL" if update_format == WITH_UPDATES else None,
        sets=sets if update_format == WITH_UPDATES else {},
    )


def is_written(text: str) -> str:
    """A condition: a text (an expression) is neither NULL nor blank.

    Spark may compute in a filter what the rows are made of, once more: a text that is dear is asked before it is made.
    """
    return f"trim({text}) <> ''"


def _format(update_format: str, target: TableTarget) -> _Format:
    match update_format:
        case "raw":
            return _Format(_OBJECT, _change("false", "e", problem="if(e IS NULL, 'an element is not a JSON object', NULL)"))
        case "insert_delete":
            neither = """'a record is not {"insert": {…}} or {"delete": {…}}'"""
            one = "(e.insert IS NULL) <> (e.delete IS NULL)"
            change = _change("e.insert IS NULL", "coalesce(e.insert, e.delete)", problem=f"if({one}, NULL, {neither})")
            return _Format(f"struct<insert:{_OBJECT},delete:{_OBJECT}>", change, wrappers=("t",))
        case "insert_delete_update":
            none = """'a record is not {"insert": {…}}, {"delete": {…}} or {"update": {…}}'"""
            one = "size(array_compact(array(e.insert, e.delete, e.update))) = 1"
            change = _change(
                "e.delete IS NOT NULL AND e.insert IS NULL",
                "coalesce(e.insert, e.delete, e.update)",
                problem=f"if({one}, NULL, {none})",
                updates="e.update IS NOT NULL",
            )
            return _Format(f"struct<insert:{_OBJECT},delete:{_OBJECT},update:{_OBJECT}>", change, wrappers=("t",))
        case "debezium":
            type_, wrappers = f"struct<payload:{_CHANGE},{_CHANGE[7:]}", ("t", "get_json_object(t, '$.payload')")
            return _Format(type_, _debezium(bool(target.primary_key)), False, wrappers)
        case other:
            raise EngineError("X716", f"the engine knows no update_format {other!r}: raw, insert_delete or debezium")


def _debezium(has_key: bool) -> str:
    """Not `coalesce(e.payload, e)`: the two differ in type."""
    event = "coalesce(e.payload, named_struct('op', e.op, 'before', e.before, 'after', e.after))"
    inserts = _change("false", "v.after")
    deletes = _change("true", "v.before")
    both = (
        "array(named_struct('deletes', true, 'updates', false, 'object', v.before, 'other', v.after, 'problem', "
        "CAST(NULL AS STRING)), named_struct('deletes', false, 'updates', false, 'object', v.after, 'other', v.before, "
        "'problem', CAST(NULL AS STRING)))"
    )
    wrong = "concat('a change event with op ', coalesce(v.op, 'NULL'), ' lacks before or after, or has another op')"
    unknown = _change("false", f"CAST(NULL AS {_OBJECT})", problem=wrong)
    alone = f"WHEN v.op = 'u' AND v.after IS NOT NULL THEN {inserts} " if has_key else ""
    chosen = (
        f"CASE WHEN v.op IN ('c', 'r') AND v.after IS NOT NULL THEN {inserts} "
        f"WHEN v.op = 'd' AND v.before IS NOT NULL THEN {deletes} "
        f"WHEN v.op = 'u' AND v.before IS NOT NULL AND v.after IS NOT NULL THEN {both} {alone}"
        f"ELSE {unknown} END"
    )
    return f"flatten(transform(array({event}), v -> {chosen}))"


def _change(deletes: str, values: str, problem: str = "CAST(NULL AS STRING)", updates: str = "false") -> str:
    kinds, other = f"'deletes', {deletes}, 'updates', {updates}", f"CAST(NULL AS {_OBJECT})"
    return f"array(named_struct({kinds}, 'object', {values}, 'other', {other}, 'problem', {problem}))"


def _parsed(text: str, element: str) -> str:
    """Within an array of two, so that what follows the value can't be passed over."""
    closed = f"concat('[', {text}, ',{'[]' if element.startswith('array') else '{}'}]')"
    return f"from_json({closed}, 'array<{element}>', {strict()})"


def _parsed_record(element: str) -> str:
    """The record, parsed; NULL where it is unfit."""
    return f"if({is_unfit(quoted(RECORD))}, NULL, {_parsed(quoted(RECORD), element)})"


def _told_apart(texts: DataFrame, columns: Sequence[ColumnType]) -> DataFrame:
    """Ordinary records read by their columns, the others as `_with_values` does it, in one expression: a step of its own for
    each part would copy every row, and most need none of it."""
    record, parsed = quoted(RECORD), quoted(_PARSED)
    read = texts.selectExpr("*", f"{by_columns(record, columns)} AS {parsed}")
    kept = [quoted(name) for name in texts.columns]
    ordinary = is_ordinary(record, parsed, columns)
    numbers = _by_folded_key(f"{_parsed(marked(record), _OBJECT)}[0]", columns)
    problem = f"coalesce(if(found IS NULL, concat('X714: ', {_problem()}), NULL), {_twice('found')})"
    parts = f"'inexact', lossy, 'problem', {problem}, 'unknown', {_unknown('found', columns)}"
    whole = f"named_struct('values', if(lossy, {numbers}, known), {parts})"
    whole = _with("lossy", _is_inexact(lambda column: f"known[{literal(fold(column.name))}]", columns), whole)
    whole = _with("found", "if(size(read) = 2, read[0], NULL)", _with("known", _by_folded_key("found", columns), whole))
    exact = f"CASE WHEN NOT ({ordinary}) THEN {_with('read', _parsed_record(_OBJECT), whole)} END"
    # What is ordinary is written twice, and computed once: Spark finds it in one step, and copies rows between steps.
    others = read.selectExpr(*kept, parsed, f"{ordinary} AS {quoted(_ORDINARY)}", f"{exact} AS {quoted(_KEYS)}")
    return others.selectExpr(
        *kept,
        f"{is_proven(parsed, columns)} AS {quoted(PROVEN)}",
        f"{quoted(_KEYS)}.problem AS {quoted(_PROBLEM)}",
        f"{quoted(_KEYS)}.unknown AS {quoted(UNKNOWN)}",
        *(value for column in columns for value in _either_way(column)),
    )


def _with(name: str, value: str, expression: str) -> str:
    """An expression in which a name stands for a value that is computed once."""
    return f"transform(array({value}), {name} -> {expression})[0]"


def _either_way(column: ColumnType) -> list[str]:
    """A column's text, and where ordinary records hold it in its own type, that value."""
    text = _text(f"{quoted(_KEYS)}.values[{literal(fold(column.name))}]", f"{quoted(_KEYS)}.inexact")
    name, is_ordinary_ = quoted(column.name), quoted(_ORDINARY)
    by_column = value(quoted(_PARSED), column)
    if not is_exact(column):
        return [f"CASE WHEN {is_ordinary_} THEN {by_column} ELSE {text} END AS {name}"]
    exact = f"CASE WHEN {is_ordinary_} THEN {by_column} END AS {quoted(_EXACT + column.name)}"
    return [f"CASE WHEN NOT {is_ordinary_} THEN {text} END AS {name}", exact]


def _one_by_one(texts: DataFrame) -> DataFrame:
    """Records that are one object and one row each: nothing to explode."""
    both = texts.selectExpr("*", f"{_parsed_record(_OBJECT)} AS {quoted(_CHANGES)}")
    whole = f"if(size({quoted(_CHANGES)}) = 2, {quoted(_CHANGES)}[0], NULL)"
    objects = both.selectExpr(*map(quoted, (RECORD, ORIGIN, ORDER)), f"{whole} AS {quoted(_KEYS)}")
    problem = f"if({quoted(_KEYS)} IS NULL, concat('X714: ', {_problem()}), NULL)"
    return objects.selectExpr("*", "0 AS place", f"{problem} AS {quoted(_PROBLEM)}")


def _exploded(texts: DataFrame, format_: _Format, is_array: bool) -> DataFrame:
    element = f"array<{format_.type}>" if is_array else format_.type
    both = texts.selectExpr(
        "*",
        f"{_parsed_record(element)} AS {quoted(_CHANGES)}",
        f"{_doubled(quoted(RECORD), format_, is_array)} AS {quoted(_DOUBLED)}",
    )
    problem = _problem("the text is not an array of JSON objects") if is_array else _problem()
    nothing = (
        f"array(named_struct('deletes', false, 'updates', false, 'object', CAST(NULL AS {_OBJECT}), "
        f"'other', CAST(NULL AS {_OBJECT}), 'problem', {problem}))"
    )
    # As many as without the problem: the numbers in them are looked up by their place.
    problem = f"if(get({quoted(_DOUBLED)}, element), 'a record has a key twice', c.problem)"
    kinds = "'deletes', c.deletes, 'updates', c.updates"
    twice = f"named_struct({kinds}, 'object', c.object, 'other', c.other, 'problem', {problem})"
    told = f"transform({format_.changes}, c -> {twice})"
    changes = _changes_of(quoted(_CHANGES), told if format_.wrappers else format_.changes, is_array)
    is_whole = f"size({quoted(_CHANGES)}) = 2 AND {quoted(_CHANGES)}[0] IS NOT NULL"
    named = f"CASE WHEN {is_whole} THEN {changes} ELSE {nothing} END"
    kept = [*map(quoted, (RECORD, ORIGIN, ORDER)), f"{is_whole} AS whole"]
    exploded = both.selectExpr(*kept, f"posexplode({named}) AS (place, change)")
    origin = quoted(ORIGIN)
    if is_array and format_.is_one_change:
        origin = f"""if(whole, concat(left({origin}, length({origin}) - 1), ',"element":', place + 1, '}}'), {origin})"""
    return exploded.selectExpr(
        quoted(RECORD),
        f"{origin} AS {quoted(ORIGIN)}",
        f"struct({quoted(ORDER)} AS at, place) AS {quoted(ORDER)}",
        "place",
        f"change.deletes AS {quoted(_DELETES)}",
        f"change.updates AS {quoted(_UPDATES)}",
        f"change.object AS {quoted(_KEYS)}",
        f"change.other AS {quoted(_OTHER_KEYS)}",
        f"if(change.problem IS NOT NULL, concat('X714: ', change.problem), NULL) AS {quoted(_PROBLEM)}",
    )


def _changes_of(parsed: str, changes: str, is_array: bool) -> str:
    elements = f"{parsed}[0]" if is_array else f"array({parsed}[0])"
    return f"flatten(transform({elements}, (e, element) -> {changes}))"


def _doubled(text: str, format_: _Format, is_array: bool) -> str:
    """Of each element whether a key stands twice in it, around the row. The parser would take the last one."""
    if not format_.wrappers:
        return "CAST(NULL AS ARRAY<BOOLEAN>)"
    # `json_object_keys` is cheap, and gives NULL where it is stricter than the parser that reads the values.
    keys = [
        f"coalesce(json_object_keys({one}), map_keys(from_json({one}, '{_OBJECT}', {strict()})))" for one in format_.wrappers
    ]
    twice = "size(array_distinct(transform(k, key -> lower(key)))) < size(k)"
    found = " OR ".join(f"coalesce({_with('k', key, twice)}, false)" for key in keys)
    elements = f"from_json({text}, 'array<string>', {strict()})" if is_array else f"array({text})"
    return f"transform({elements}, t -> {found})"


def _source(format_: _Format, is_array: bool, is_plain: bool, part: str = "object") -> str:
    """The object of a row once more, its numbers written as marked strings; or, as `part`, that of its `other` row."""
    if is_plain:
        return f"{_parsed(marked(quoted(RECORD)), _OBJECT)}[0]"
    element = f"array<{format_.type}>" if is_array else format_.type
    return f"{_changes_of(_parsed(marked(quoted(RECORD)), element), format_.changes, is_array)}[place].{part}"


def _with_values(objects: DataFrame, columns: Sequence[ColumnType], exact: str, exact_other: str | None) -> DataFrame:
    """The values of the columns as text, and the problems of keys. `exact` is the object with its numbers marked, and
    `exact_other` that of the other row, where rows may have one."""
    sources = {_KEYS: exact, **({_OTHER_KEYS: exact_other} if exact_other is not None else {})}
    others = [quoted(name) for name in sources if name != _KEYS]
    kept = [quoted(name) for name in objects.columns if name not in (_KEYS, _OTHER_KEYS, _PROBLEM)]
    has_updates = _UPDATES in objects.columns
    folded = objects.selectExpr(
        *kept,
        f"{_unknown(quoted(_KEYS), columns)} AS {quoted(UNKNOWN)}",
        *(f"{_by_folded_key(quoted(name), columns)} AS {quoted(name)}" for name in sources),
        f"coalesce({', '.join([quoted(_PROBLEM), *(_twice(quoted(name)) for name in sources)])}) AS {quoted(_PROBLEM)}",
    )
    checked = folded.selectExpr(
        "*",
        *(f"{_is_inexact(partial(_by_key, name), columns)} AS {quoted(_INEXACT + name)}" for name in sources),
    )
    again = checked.selectExpr(
        *kept,
        quoted(_PROBLEM),
        quoted(UNKNOWN),
        *(
            f"CASE WHEN {quoted(_INEXACT + name)} THEN {_by_folded_key(source, columns)} ELSE {quoted(name)} END "
            f"AS {quoted(name)}"
            for name, source in sources.items()
        ),
        *(quoted(_INEXACT + name) for name in sources),
    )
    names = {_KEYS: "", _OTHER_KEYS: _OTHER}
    return again.selectExpr(
        *kept,
        quoted(_PROBLEM),
        quoted(UNKNOWN),
        *others,
        *([f"if({quoted(_UPDATES)}, map_keys({quoted(_KEYS)}), NULL) AS {quoted(_NAMED)}"] if has_updates else []),
        *(
            f"{_text_of(column, _by_key(name, column), quoted(_INEXACT + name))} AS {quoted(names[name] + column.name)}"
            for name in sources
            for column in columns
        ),
    )


def _found(values: str, columns: Sequence[ColumnType]) -> str:
    """How many columns have their values under their folded names."""
    return " + ".join(f"CAST(map_contains_key({values}, {literal(fold(column.name))}) AS INT)" for column in columns) or "0"


def _unknown(values: str, columns: Sequence[ColumnType]) -> str:
    """What UNKNOWN holds of a record, by its values. Most have no other keys: then none is looked at."""
    taken = ", ".join(literal(fold(column.name)) for column in columns)
    others = f"filter(map_keys({values}), key -> NOT array_contains(array({taken}), lower(key)))"
    listed = f"if(size({others}) > 0, to_json(slice(array_sort({others}), 1, {MOST_FIELDS})), NULL)"
    return f"CASE WHEN {values} IS NOT NULL AND size({values}) <> {_found(values, columns)} THEN {listed} END"


def _by_folded_key(values: str, columns: Sequence[ColumnType]) -> str:
    """A record's values by folded key. Most are spelled so already, and no others: then they are taken as they are."""
    found = _found(values, columns)
    folded = f"transform(map_keys({values}), key -> lower(key))"
    other = f"if({_twice(values)} IS NULL, map_from_arrays({folded}, map_values({values})), NULL)"
    return f"CASE WHEN {values} IS NULL OR size({values}) = {found} THEN {values} ELSE {other} END"


def _twice(values: str) -> str:
    folded = f"transform(map_keys({values}), key -> lower(key))"
    return f"if(size(array_distinct({folded})) < size({values}), 'X714: a record has a key twice', NULL)"


def _is_inexact(value_of: Callable[[ColumnType], str], columns: Sequence[ColumnType]) -> str:
    """Whether a number may have lost digits in a double, or itself, or its spelling where it stands in text.

    A double holds every decimal of 15 digits. So a decimal that was read from one is right if all digits that its column
    keeps are among the first 15, and there are no others.
    """
    conditions = []
    for column in columns:
        value = value_of(column)
        decimal, kind = decimal_of(column), column.type.strip().lower()
        if decimal is not None:
            scale = decimal[1]
            point = f"instr({value}, '.')"
            fits = f"{point} <= {_SAFE_DIGITS + 1 - scale} AND length({value}) - {point} <= {scale}"
            conditions.append(f"{point} > 0 AND ({fits} AND instr({value}, 'E') = 0) IS NOT TRUE")
        elif kind.startswith(("string", "varchar", "char", "struct", "array", "map", "variant", "binary")):
            number = f"ascii({value}) BETWEEN 45 AND 57 AND instr({value}, '.') > 0"
            # A number that is too large for a double is read as a text with quotes of its own (34).
            conditions.append(f"{number} OR ascii({value}) IN (34, 91, 123)")
        elif kind in FLOATS:
            conditions.append(f"{value} IN ('0.0', '-0.0') AND {may_vanish(quoted(RECORD))}")
    return f"coalesce({' OR '.join(f'({one})' for one in conditions)}, false)" if conditions else "false"


def _by_key(keys: str, column: ColumnType) -> str:
    return f"{quoted(keys)}[{literal(fold(column.name))}]"


def _is_binary(column: ColumnType) -> bool:
    return column.type.strip().lower() == "binary"


def _text_of(column: ColumnType, value: str, inexact: str) -> str:
    """A column's text; of what may be bytes, an array keeps the marks of its numbers."""
    text = _text(value, inexact)
    return f"if({is_array(value)}, {value}, {text})" if _is_binary(column) else text


def _text(value: str, inexact: str) -> str:
    return f"CASE WHEN {inexact} AND contains({value}, '{FOR_NUMBERS}') THEN {unmarked(value)} ELSE {value} END"


def _problem(told: str = "a record is not a JSON object") -> str:
    """Why a record was not parsed, without a code: an expression. `told` is what most have."""
    return unfit_or(quoted(RECORD), literal(told))
