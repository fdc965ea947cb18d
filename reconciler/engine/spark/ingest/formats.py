"""JSON, CSV and Parquet files as rows.

- JSON and CSV values are read as text and cast afterwards (see `conform`), so that nothing is lost on the way: a decimal
  never passes through a double, and a value that does not fit is reported with its file. Keys and headers are matched
  without regard to case; a field that no column takes is left out, and told (`Incoming.unknown`).
- JSON: one object a line, or `array: true`: one array of objects a file (see `json_records`).
- CSV: `header` (default true) gives names; without it columns are matched by position. `delimiter` (default `,`),
  `null_value` (default: the empty unquoted field; in columns that hold no text, a quoted one, too), `multi_line` (default
  false: a field holds no line breaks, and large files are read in parts). Quotes inside of quotes are doubled. A line whose
  quotes do not match is no record, since it may be a piece of a field with a line break. Nor is one whose bytes are no
  UTF-8, or that holds NUL, which Spark's parser may drop. Files may have other headers: each is read by its own.
- A column that a file lacks gets its default; Parquet files are told apart in that one by one, and in JSON a null is as good
  as absent.
- A moment of Parquet's type INT96 that is finer than microseconds is a problem of its row (`int96`).
- A record that is not what the format says is a problem of its row; a Parquet file that can't be read, or two columns of
  one name, stop the ingestion with an error that names the file.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as f

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.names import fold, quoted
from reconciler.engine.fields import missing_fields, unknown_fields
from reconciler.engine.protocol import ColumnType, TableTarget
from reconciler.engine.quotes import OTHER_WIDTH, UNMATCHED_QUOTES, quoted_field_of
from reconciler.engine.spark.conform import TEXT, Given, by_name
from reconciler.engine.spark.failures import marked
from reconciler.engine.spark.ingest.incoming import ORIGIN, RECORD, UNKNOWN, Incoming, Numbered, unknown_literal, with_fields
from reconciler.engine.spark.ingest.int96 import FINER, with_finer
from reconciler.engine.spark.ingest.json_records import is_written, json_records
from reconciler.engine.spark.json_texts import shown
from reconciler.engine.spark.locations import literal, spark_location
from reconciler.engine.spark.writes import ORDER
from reconciler.engine.texts import FOR_NOTHING, HOLDS_NUL, NONCHARACTER, NOT_UTF_8
from reconciler.sql.types import storage_type

_CORRUPT = "reconcile corrupt"
_WRONG = "reconcile wrong"
_LINE = "reconcile line"
_FIELDS = "reconcile fields"
_QUOTED_NOTHING = f"{FOR_NOTHING}reconcile quoted nothing"
"""Stands for a field of quotes with nothing between them; no line that holds its first character is read."""
_MOST_FIELDS = str(1_000_000)
# Lines are read byte by byte, so neither stands in one: it is one field, whatever is in it.
_NO_QUOTE, _NO_DELIMITER = "\ufdd1", "\ufdd2"
_BYTEWISE = "ISO-8859-1"
"""In which each byte is a character, so that nothing is lost before it is known to be UTF-8."""
_BYTE_ORDER_MARK = "\ufeff"


def read(
    session: SparkSession,
    paths: Sequence[str],
    format_: JsonObject,
    target: TableTarget,
    options: Mapping[str, str],
) -> Incoming:
    """The rows of these files. `options` are those of the file system that holds them."""
    locations = [_escaped(spark_location(path)) for path in paths]
    config = format_.get("config") or {}
    match format_.get("name"):
        case "json":
            settings = {"update_format": "raw", **config}
            texts = _texts(session, locations, config, options)
            read = json_records(texts.where(is_written(quoted(RECORD))), settings, target)
            if config.get("array"):
                return read
            place = quoted(ORDER) if settings["update_format"] == "raw" else f"{quoted(ORDER)}.at"
            return replace(read, numbered=Numbered(texts, place, "line"))
        case "csv":
            return _csv(session, locations, config, target, options)
        case "parquet":
            return _parquet(session, locations, options, target)
        case name:
            raise EngineError("X716", f"the engine can't read the format {name!r}: it reads json, csv and parquet")


def _escaped(location: str) -> str:
    """A path as the pattern that matches only itself: Spark reads every path as a pattern."""
    return "".join(f"\\{letter}" if letter in "*?[]{}\\" else letter for letter in location)


def _texts(session: SparkSession, locations: list[str], config: JsonObject, options: Mapping[str, str]) -> DataFrame:
    """Each line, or with `array` each file, with where it stands."""
    texts = session.read.options(**options).text(locations, wholetext=bool(config.get("array", False)))
    without_mark = f"if(startswith(value, '{_BYTE_ORDER_MARK}'), substring(value, 2), value)"
    return texts.selectExpr(f"{without_mark} AS {quoted(RECORD)}", *_place())


def _csv(
    session: SparkSession, locations: list[str], config: JsonObject, target: TableTarget, options: Mapping[str, str]
) -> Incoming:
    # With pruning Spark does not see that a line has too many or too few fields.
    session.conf.set("spark.sql.csv.parser.columnPruning.enabled", "false")
    header, delimiter = bool(config.get("header", True)), str(config.get("delimiter", ","))
    groups: dict[tuple[str, ...], list[str]] = {}
    for location in locations:
        names = _header(session, options, location, delimiter) if header else [column.name for column in target.columns]
        if names:
            _check_names(names, f"the file {_told(location)} has")
            groups.setdefault(tuple(names), []).append(location)
    parts = [_csv_rows(session, names, group, config, target, options) for names, group in groups.items()]
    if not parts:
        parts = [_csv_rows(session, ("reconcile none",), locations, config, target, options)]
    rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    other_width = f"if({quoted(_CORRUPT)} IS NULL, NULL, {literal(OTHER_WIDTH)})"
    problem = f"concat('X714: ', coalesce({quoted(_WRONG)}, {other_width}))"
    given = by_name(rows, (ORIGIN, ORDER, UNKNOWN, _CORRUPT, _WRONG))
    return Incoming(
        rows,
        given,
        quoted(ORIGIN),
        (ORDER,),
        record=_line(given, quoted(_CORRUPT)),
        problem=problem,
        unknown=f"if({quoted(_CORRUPT)} IS NULL, {quoted(UNKNOWN)}, NULL)",
        missing=tuple(sorted({name for names in groups for name in missing_fields(names, target)})),
        numbered=Numbered(rows, quoted(ORDER), "record"),
    )


def _csv_rows(
    session: SparkSession,
    names: Sequence[str],
    locations: list[str],
    config: JsonObject,
    target: TableTarget,
    options: Mapping[str, str],
) -> DataFrame:
    """The rows of files with one header, and what was no line of theirs. A column that they lack has its default."""
    delimiter = str(config.get("delimiter", ","))
    parsing = {
        "sep": delimiter,
        "quote": '"',
        "escape": '"',
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": _CORRUPT,
        # Else Spark takes the empty text for NULL, quotes or not.
        "emptyValue": _QUOTED_NOTHING,
        # A line with more fields than the parser has room for would stop the connector, in place of being rejected.
        "maxColumns": _MOST_FIELDS,
    }
    if config.get("null_value") is not None:
        parsing["nullValue"] = str(config["null_value"])
    header = {"header": str(bool(config.get("header", True))).lower(), "enforceSchema": "true"}
    reader = session.read.options(**options).options(**header)
    schema = ", ".join(f"{quoted(name)} STRING" for name in (*names, _CORRUPT))
    unknown = unknown_literal(unknown_fields(names, target)) or "CAST(NULL AS STRING)"
    texts = {fold(column.name) for column in target.columns if column.type.lower().startswith(TEXT)}
    values = [_with_nothing(name, "''" if fold(name) in texts else "NULL") for name in names]
    if config.get("multi_line"):
        wrong = _wrong_in_fields(names, _not_utf_8(session, locations, options))
        read = reader.options(**parsing, multiLine="true").schema(schema).csv(locations)
        read = read.selectExpr("*", f"{wrong} AS {quoted(_WRONG)}", *_place())
    else:
        read = _by_line(reader, locations, schema, parsing, delimiter)
    kept = map(quoted, (_CORRUPT, _WRONG, ORIGIN, ORDER))
    rows = read.selectExpr(*values, *kept, f"{unknown} AS {quoted(UNKNOWN)}")
    known = {fold(name) for name in names}
    for column in target.columns:
        if fold(column.name) not in known and fold(column.name) in target.defaults:
            default = f"CAST({target.defaults[fold(column.name)]} AS STRING)"
            rows = rows.withColumn(column.name, f.expr(default))
        elif fold(column.name) not in known and not column.nullable:
            rows = rows.withColumn(column.name, f.expr(_lacking(column, "STRING")))
    return rows


def _by_line(
    reader: DataFrameReader, locations: list[str], schema: str, parsing: Mapping[str, str], delimiter: str
) -> DataFrame:
    """The fields of each line but headers, and what is wrong with it: the parser takes a line whatever its quotes are, and
    tells nothing of them, nor of bytes that are no text."""
    whole = {"sep": _NO_DELIMITER, "quote": _NO_QUOTE, "escape": _NO_QUOTE, "columnNameOfCorruptRecord": _CORRUPT}
    bytewise = reader.options(**whole, encoding=_BYTEWISE)
    read = bytewise.schema(f"{quoted(_LINE)} STRING, {quoted(_CORRUPT)} STRING").csv(locations)
    line = f"CAST(encode(coalesce({quoted(_CORRUPT)}, {quoted(_LINE)}), '{_BYTEWISE}') AS STRING)"
    lines = read.selectExpr(f"{line} AS {quoted(_LINE)}", *_place())
    options = ", ".join(f"{literal(name)}, {literal(value)}" for name, value in parsing.items())
    cases = (
        (f"NOT is_valid_utf8({quoted(_LINE)})", NOT_UTF_8),
        *_characters(quoted(_LINE)),
        (_unmatched(quoted(_LINE), delimiter), UNMATCHED_QUOTES),
    )
    fields = lines.selectExpr(
        f"from_csv({quoted(_LINE)}, {literal(schema)}, map({options})) AS {quoted(_FIELDS)}",
        f"{_first_of(cases)} AS {quoted(_WRONG)}",
        *map(quoted, (_LINE, ORIGIN, ORDER)),
    )
    flat = fields.selectExpr(f"{quoted(_FIELDS)}.*", *map(quoted, (_LINE, _WRONG, ORIGIN, ORDER)))
    return flat.withColumn(_CORRUPT, f.expr(f"if({quoted(_WRONG)} IS NULL, {quoted(_CORRUPT)}, {shown(quoted(_LINE))})"))


def _not_utf_8(session: SparkSession, locations: list[str], options: Mapping[str, str]) -> list[str]:
    """The files with bytes that are no UTF-8, as Spark names them. A line break is no part of any character.

    A look of its own, since fields with line breaks can't be read bytewise as `_by_line` reads lines: then Spark's parser
    would take a byte order mark for a part of the first field, and a quote behind it for none.
    """
    lines = session.read.options(**options).text(locations)
    found = lines.where("NOT is_valid_utf8(value)").select("_metadata.file_path").distinct().collect()
    return sorted(row[0] for row in found)


def _wrong_in_fields(names: Sequence[str], not_utf_8: Sequence[str]) -> str:
    """What is wrong with the fields of a record whose text is not known. In a file that is not UTF-8, U+FFFD stands for what
    could not be read."""
    values = f"concat_ws('', {', '.join(quoted(name) for name in (*names, _CORRUPT))})"
    fields = f"replace({values}, {literal(_QUOTED_NOTHING)}, '')"
    files = ", ".join(map(literal, not_utf_8))
    unreadable = [(f"_metadata.file_path IN ({files}) AND contains({fields}, '\ufffd')", NOT_UTF_8)] if files else []
    return _first_of((*unreadable, *_characters(fields)))


def _characters(text: str) -> Iterator[tuple[str, str]]:
    yield f"contains({text}, char(0))", HOLDS_NUL
    yield f"contains({text}, '{FOR_NOTHING}')", NONCHARACTER


def _first_of(cases: Iterable[tuple[str, str]]) -> str:
    """The first message whose condition is true, else NULL."""
    return f"CASE {' '.join(f'WHEN {condition} THEN {literal(message)}' for condition, message in cases)} END"


def _unmatched(line: str, delimiter: str) -> str:
    """Whether a quote is left when the doubled ones and all quoted fields are taken away. See `engine.quotes`."""
    quoted_field = literal(quoted_field_of(delimiter))
    left = f"regexp_replace(replace({line}, '\"\"', ''), {quoted_field}, '$1')"
    return f"(contains({line}, '\"') AND contains({left}, '\"'))"


def _lacking(column: ColumnType, type_: str) -> str:
    """Stops at the first row of a file that lacks a column which has to be there, and names the file."""
    missing = literal(marked("X713", f"the NOT NULL column {column.name} is not among the columns of the file "))
    return f"CAST(raise_error(concat({missing}, get_json_object({quoted(ORIGIN)}, '$.file'))) AS {type_})"


def _with_nothing(name: str, nothing: str) -> str:
    """A field, with what stands for quotes with nothing between them: the empty text, or NULL where no text is wanted."""
    return f"if({quoted(name)} = {literal(_QUOTED_NOTHING)}, {nothing}, {quoted(name)}) AS {quoted(name)}"


def _header(session: SparkSession, options: Mapping[str, str], location: str, delimiter: str) -> list[str]:
    """The names in a file's first line; none, where it holds nothing."""
    line = session.read.options(**options).text(location).where("trim(value) <> ''").first()
    return [] if line is None else next(csv.reader([line[0].removeprefix(_BYTE_ORDER_MARK)], delimiter=delimiter))


def _line(given: Mapping[str, Given], corrupt: str) -> str:
    values = ", ".join(one.expression for one in given.values())
    return f"coalesce({corrupt}, to_json(struct({values})))" if values else corrupt


def _parquet(session: SparkSession, locations: list[str], options: Mapping[str, str], target: TableTarget) -> Incoming:
    frames, missing = [], set[str]()
    for group, lacking in _alike(session, locations, options, target):
        rows = session.read.options(**options).option("mergeSchema", "true").parquet(*group)
        for location in group if _twice(rows.columns) else ():
            _check_names(session.read.options(**options).parquet(location).columns, f"the file {_told(location)} has")
        _check_names(rows.columns, "the files have")
        missing |= set(missing_fields(rows.columns, target))
        files = {location: _unescaped(location) for location in group}
        kept = (*map(quoted, rows.columns), *_place())
        named = with_finer(session, rows, kept, files, options, [fold(column.name) for column in target.columns])
        for column in lacking:
            named = named.withColumn(
                column.name, f.expr(f"CAST({target.defaults[fold(column.name)]} AS {storage_type(column.type)})")
            )
        frames.append(named)
    union = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    hidden = (ORIGIN, ORDER, FINER)
    there = [name for name in union.columns if name not in hidden]
    known = {*map(fold, there), *target.defaults}
    for column in target.columns:
        if not column.nullable and fold(column.name) not in known:
            union = union.withColumn(column.name, f.expr(_lacking(column, storage_type(column.type))))
    problem = quoted(FINER) if FINER in union.columns else None
    read = Incoming(union, by_name(union, hidden), quoted(ORIGIN), (ORDER,), problem=problem)
    incoming = with_fields(read, there, target)
    return replace(incoming, missing=tuple(sorted(missing | set(incoming.missing))))


def _alike(
    session: SparkSession, locations: list[str], options: Mapping[str, str], target: TableTarget
) -> list[tuple[list[str], tuple[ColumnType, ...]]]:
    """Files grouped by the columns with a default that they lack: read together, the one that lacks a column would have
    NULL there as soon as another has it."""
    defaulted = [column for column in target.columns if fold(column.name) in target.defaults]
    if not defaulted or len(locations) == 1:
        return [(locations, ())]
    groups: dict[tuple[ColumnType, ...], list[str]] = {}
    for location in locations:
        known = {fold(name) for name in session.read.options(**options).parquet(location).columns}
        groups.setdefault(tuple(c for c in defaulted if fold(c.name) not in known), []).append(location)
    return [(group, lacking) for lacking, group in groups.items()]


def _place() -> tuple[str, str]:
    """Where a row stands, and in which order it is read: files by path, in each its rows."""
    file = "_metadata.file_path"
    local = f"url_decode(replace(regexp_replace({file}, '^file:(//)?', ''), '+', '%2B'))"
    path = f"if(startswith({file}, 'file:'), {local}, {file})"
    order = f"struct({file} AS file, _metadata.file_block_start AS block, monotonically_increasing_id() AS row)"
    return f"to_json(named_struct('file', {path})) AS {quoted(ORIGIN)}", f"{order} AS {quoted(ORDER)}"


def _check_names(names: Sequence[str], whose: str) -> None:
    twice = _twice(names)
    if twice:
        raise EngineError("X714", f"{whose} more than one column named {', '.join(twice)}")


def _twice(names: Sequence[str]) -> list[str]:
    folded = [fold(name) for name in names]
    return sorted({name for name in folded if folded.count(name) > 1})


def _told(location: str) -> str:
    """A file as its user knows it, of what `_escaped` made of it."""
    return _unescaped(location).removeprefix("file://")


def _unescaped(location: str) -> str:
    return re.sub(r"\\(.)", r"\1", location)
