"""Whether a value fits a nested type, part by part: expressions of SQL, since a cast that tries makes NULL of what does not
fit, one that does not try stops the query, and none looks at the length of a text. And the fields of structures taken by
name, since a cast takes them by position.

NULL fits everywhere. An object fits STRUCT and MAP, an array ARRAY, a scalar what it can be cast to. A number in the place
of a text is that text, as it was written.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from reconciler.base.names import fold, quoted
from reconciler.engine.fields import no_common_field
from reconciler.engine.spark.failures import refusal
from reconciler.engine.spark.json_texts import marked, unmarked
from reconciler.engine.spark.locations import literal
from reconciler.engine.texts import FOR_NUMBERS
from reconciler.sql.structures import Elements, Entries, Leaf, Shape, Structure, without_common_field

_DAY: Final = r"\s*[+-]?[0-9]{4,7}-[0-9]{1,2}-[0-9]{1,2}"
_CLOCK: Final = r"[0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}(\.[0-9]*)?)?"
_TOO_FINE: Final = r"\.[0-9]{6}[0-9]*[1-9]"
_FINE_CLOCK: Final = r"[0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}(\.[0-9]{0,6}0*)?)?"
_MIDNIGHT: Final = r"0{1,2}:0{1,2}(:0{1,2}(\.0*)?)?"
_FORMS_OF_TIMES: Final = {
    "date": rf"^{_DAY}([T ]({_MIDNIGHT})?)?\s*$",
    "timestamp": rf"^{_DAY}([T ](?!.*{_TOO_FINE})|\s*$)",
    "timestamp_ntz": rf"^{_DAY}([T ]({_FINE_CLOCK})?)?\s*$",
}
TIMES: Final = frozenset(_FORMS_OF_TIMES)
"""The types of days and moments, in small letters."""
FLOATS: Final = frozenset({"double", "float"})
"""The types whose numbers are near to what was written, in small letters."""
_ZONED: Final = rf"^{_DAY}[T ]{_CLOCK}\s*[^\s0-9:.]"
_INFINITE: Final = "double('Infinity')"
_INFINITE_TEXT: Final = r"(?i)^\s*[+-]?inf"
_NOT_ZERO: Final = r"^[^eE]*[1-9]"
# An exponent of three digits or more that ends as numbers end: of UUIDs, too, groups end in e, and others follow.
_MAY_VANISH: Final = r"[0-9.][eE]-[0-9]{3,}+(?![-0-9A-Za-z])|0{100}"


def misfit(variant: str, type_: str) -> str:
    """An expression that is true where the variant has a part that does not fit the type (as SQL writes it)."""
    return f"coalesce({_misfit(variant, _read(type_), 0)}, false)"


def shape(kind: DataType) -> Shape:
    """The names within a type of Spark."""
    match kind:
        case StructType():
            return Structure(tuple((field.name, shape(field.dataType)) for field in kind.fields))
        case ArrayType():
            return Elements(shape(kind.elementType))
        case MapType():
            return Entries(shape(kind.keyType), shape(kind.valueType))
        case _:
            return Leaf(kind.simpleString())


def cast_by_name(value: str, source: DataType, type_: str, column: str) -> str:
    """The value, of the source's type, as the type that SQL writes so; fields of structures are taken by name, without
    regard to case, and those that the source lacks are NULL. `column` is what messages call the value.

    Raises an exception as `refusal` makes it where a structure has no field of the type's, where keys of a map would have to
    be made anew, and where a moment would have to become a day or a time without a zone.
    """
    target = _read(type_)
    nowhere = without_common_field(shape(source), shape(target), column)
    if nowhere is not None:
        raise refusal("X712", no_common_field(nowhere, type_, source.simpleString()))
    return f"CAST({_by_name(value, source, target, column, 0)} AS {type_})"


def _read(type_: str) -> DataType:
    parsed = StructType.fromDDL(f"value {type_}")
    assert isinstance(parsed, StructType)
    return parsed.fields[0].dataType


def _by_name(value: str, source: DataType, target: DataType, path: str, depth: int) -> str:
    """The value with the target's fields in the target's order, none of them cast: itself, where they are so already."""
    part = f"part{depth}"
    match source, target:
        case StructType(), StructType():
            return _fields_by_name(value, source, target, path, depth)
        case ArrayType(), ArrayType():
            inner = _by_name(part, source.elementType, target.elementType, path, depth + 1)
            return value if inner == part else f"transform({value}, {part} -> {inner})"
        case MapType(), MapType():
            if _by_name(part, source.keyType, target.keyType, f"the keys of {path}", depth + 1) != part:
                told = (
                    f"the keys of {path} have other fields, or another order of fields, than {target.keyType.simpleString()}"
                )
                raise refusal("X712", f"{told}: they are of type {source.keyType.simpleString()}")
            inner = _by_name(part, source.valueType, target.valueType, path, depth + 1)
            return value if inner == part else f"transform_values({value}, (key{depth}, {part}) -> {inner})"
        case TimestampType(), (DateType() | TimestampNTZType()):
            raise refusal("X712", moments_for(path, target.simpleString().upper()))
        case _:
            return value


def moments_for(column: str, type_: str) -> str:
    """Why a column of the source, a TIMESTAMP, fits no column of the type, which has no zone."""
    told = f"the values for column {column} do not fit {type_}: they are of type timestamp"
    return f"{told}, which have no day or time without a zone (declare TIMESTAMP, and cast it in a view)"


def _fields_by_name(value: str, source: StructType, target: StructType, path: str, depth: int) -> str:
    known = {fold(field.name): field for field in source.fields}
    parts, is_so_already = [], len(source.fields) == len(target.fields)
    for place, field in enumerate(target.fields):
        own = known.get(fold(field.name))
        if own is None:
            parts.append((field.name, f"CAST(NULL AS {field.dataType.simpleString()})"))
            is_so_already = False
            continue
        taken = f"{value}.{quoted(own.name)}"
        made = _by_name(taken, own.dataType, field.dataType, f"{path}.{field.name}", depth)
        parts.append((field.name, made))
        is_so_already &= made == taken and known[fold(field.name)] is source.fields[place]
    if is_so_already:
        return value
    named = ", ".join(f"{made} AS {quoted(name)}" for name, made in parts)
    return f"CASE WHEN {value} IS NOT NULL THEN struct({named}) END"


def too_long(value: str, type_: str) -> str | None:
    """An expression that is true where a text somewhere within a value is longer than the type (as SQL writes it) says; None
    where the type says nothing of lengths. The value has the type already, but for lengths."""
    condition = _too_long(value, _read(type_), 0)
    return None if condition is None else f"coalesce({condition}, false)"


def _too_long(value: str, kind: DataType, depth: int) -> str | None:
    part = f"part{depth}"
    match kind:
        case VarcharType() | CharType():
            return f"length({value}) > {kind.length}"
        case ArrayType():
            inner = _too_long(part, kind.elementType, depth + 1)
            return None if inner is None else f"exists({value}, {part} -> coalesce({inner}, false))"
        case MapType():
            sides = (("map_keys", kind.keyType), ("map_values", kind.valueType))
            found = [(side, _too_long(part, inner, depth + 1)) for side, inner in sides]
            return _any_of(f"exists({side}({value}), {part} -> coalesce({one}, false))" for side, one in found if one)
        case StructType():
            parts = (_too_long(f"{value}.{quoted(field.name)}", field.dataType, depth) for field in kind.fields)
            return _any_of(f"coalesce({one}, false)" for one in parts if one)
    return None


def truncated(value: str, source: DataType, type_: str) -> str | None:
    """An expression that is true where a cast of the value, of the source's type, to the type that SQL writes so would make
    another value without a word: the whole part of a number, infinity or 0 for what is neither, a day of what has a time of
    day, a moment of today for a time without a day. None where it can't."""
    condition = _truncated(value, source, _read(type_), 0)
    return None if condition is None else f"coalesce({condition}, false)"


def _truncated(value: str, source: DataType, target: DataType, depth: int) -> str | None:
    part = f"part{depth}"
    match source, target:
        case StructType(), StructType():
            known = {fold(field.name): field for field in target.fields}
            parts = (
                _truncated(f"{value}.{quoted(field.name)}", field.dataType, known[fold(field.name)].dataType, depth)
                for field in source.fields
                if fold(field.name) in known
            )
            return _any_of(f"coalesce({one}, false)" for one in parts if one)
        case ArrayType(), ArrayType():
            inner = _truncated(part, source.elementType, target.elementType, depth + 1)
            return None if inner is None else f"exists({value}, {part} -> coalesce({inner}, false))"
        case MapType(), MapType():
            sides = (("map_keys", source.keyType, target.keyType), ("map_values", source.valueType, target.valueType))
            found = [(side, _truncated(part, one, other, depth + 1)) for side, one, other in sides]
            return _any_of(f"exists({side}({value}), {part} -> coalesce({one}, false))" for side, one in found if one)
        case ((FloatType() | DoubleType() | DecimalType()), (ByteType() | ShortType() | IntegerType() | LongType())):
            return f"{value} <> floor({value})"
        case ((DoubleType() | DecimalType()), FloatType()):
            narrow = f"abs(CAST({value} AS FLOAT))"
            return f"abs({value}) <> {_INFINITE} AND {narrow} = {_INFINITE} OR {value} <> 0 AND {narrow} = 0"
        case TimestampNTZType(), DateType():
            return f"{value} <> date_trunc('DAY', {value})"
        case StringType(), (DateType() | TimestampType() | TimestampNTZType()):
            return is_no_time(value, target.simpleString())
        case StringType(), (FloatType() | DoubleType()):
            return is_another_number(f"CAST({value} AS {target.simpleString()})", value)
        case _:
            return None


def _any_of(conditions: Iterable[str]) -> str | None:
    return " OR ".join(f"({one})" for one in conditions) or None


def _misfit(variant: str, kind: DataType, depth: int) -> str:
    part = f"part{depth}"
    if isinstance(kind, ArrayType):
        inner = _misfit(part, kind.elementType, depth + 1)
        return _either(variant, "array<variant>", f"exists(try_cast({variant} AS array<variant>), {part} -> {inner})")
    if isinstance(kind, MapType):
        inner = _misfit(part, kind.valueType, depth + 1)
        values = f"map_values(try_cast({variant} AS map<string,variant>))"
        return _either(variant, "map<string,variant>", f"exists({values}, {part} -> {inner})")
    if isinstance(kind, StructType):
        given = f"object{depth}"
        fields = [_with(part, _field(given, one.name), _misfit(part, one.dataType, depth + 1)) for one in kind.fields]
        twice = f"size(array_distinct(transform(map_keys({given}), key -> lower(key)))) < size({given})"
        inner = " OR ".join(f"coalesce({one}, false)" for one in (twice, *fields))
        shape = "map<string,variant>"
        return _either(variant, shape, _with(given, f"try_cast({variant} AS {shape})", inner))
    wrong = " OR ".join(
        f"({one})" for one in (f"try_cast({variant} AS {kind.simpleString()}) IS NULL", *_altered(variant, kind))
    )
    return f"{variant} IS NOT NULL AND NOT is_variant_null({variant}) AND ({wrong})"


def _altered(variant: str, kind: DataType) -> Iterator[str]:
    """Expressions that are true where a cast would make another value of a scalar, without a word: it takes the whole part
    of a number, infinity or 0 for what is neither, a truth for a number and a number for a truth, a number for a moment, a
    day for what has a time of day, a time without a day for that of today."""
    made_of = f"schema_of_variant({variant})"
    match kind:
        case ByteType() | ShortType() | IntegerType() | LongType():
            yield f"{made_of} = 'BOOLEAN'"
            yield f"try_cast({variant} AS DECIMAL(38,18)) <> try_cast({variant} AS {kind.simpleString()})"
        case DecimalType():
            yield f"{made_of} = 'BOOLEAN'"
        case FloatType() | DoubleType():
            yield f"{made_of} = 'BOOLEAN'"
            text = f"if({made_of} = 'STRING', try_cast({variant} AS STRING), '')"
            yield is_another_number(f"try_cast({variant} AS {kind.simpleString()})", text)
            if isinstance(kind, FloatType):
                yield f"try_cast({variant} AS DOUBLE) <> 0 AND try_cast({variant} AS FLOAT) = 0"
        case BooleanType():
            yield f"{made_of} NOT IN ('BOOLEAN', 'STRING') AND try_cast({variant} AS DOUBLE) NOT IN (0, 1)"
        case DateType() | TimestampType() | TimestampNTZType():
            yield f"{made_of} <> 'STRING'"
            yield is_no_time(f"try_cast({variant} AS STRING)", kind.simpleString())
        case _:
            pass


def is_no_time(text: str, type_: str) -> str:
    """An expression that is true where Spark would take something else out of a text than it says: a time without a day is
    that of today, a year or month its first day, a zone is dropped where the type has none, a date is what stands before a
    blank, and digits beyond microseconds are cut off."""
    return f"NOT coalesce({text} RLIKE {literal(_FORMS_OF_TIMES[type_.strip().lower()])}, true)"


def has_zone(text: str) -> str:
    """An expression that is true where a text is a time with a zone."""
    return f"coalesce({text} RLIKE {literal(_ZONED)}, false)"


def is_another_number(value: str, text: str) -> str:
    """An expression that is true where a number is infinite, or 0, that was read of a text which does not say so."""
    infinite = f"abs({value}) = {_INFINITE} AND NOT {text} RLIKE {literal(_INFINITE_TEXT)}"
    return f"coalesce({infinite} OR {is_vanished(value, text)}, false)"


def is_vanished(value: str, text: str) -> str:
    """An expression that is true, and may be NULL, where a number is 0 that was read of a text which says another one."""
    return f"{value} = 0 AND {text} RLIKE {literal(_NOT_ZERO)}"


def may_vanish(text: str) -> str:
    """An expression that is true where a JSON text may hold a number that is not 0, and is as a DOUBLE. Hardly any does."""
    return f"({text} RLIKE {literal(_MAY_VANISH)})"


def vanished_within(text: str, type_: str) -> str | None:
    """An expression that is true where a number within a JSON text is not 0, and is in its place in the type (as SQL writes
    it); None where the type has no such places. A variant forgets that, so numbers are looked at as they were written."""
    condition = _in_some_part(f"try_parse_json({marked(text)})", _read(type_), _vanished)
    return None if condition is None else f"coalesce({may_vanish(text)} AND {condition}, false)"


def _vanished(variant: str, kind: DataType) -> str | None:
    """The variant's numbers are strings, `marked`."""
    match kind:
        case FloatType() | DoubleType():
            number = f"substring(try_cast({variant} AS STRING), {len(FOR_NUMBERS) + 1})"
            return is_vanished(f"try_cast({number} AS {kind.simpleString()})", number)
        case _:
            return None


def _in_some_part(variant: str, kind: DataType, leaf: Callable[[str, DataType], str | None], depth: int = 0) -> str | None:
    """An expression that is true where `leaf` is so of some part of a variant that has no parts itself, given that part and
    its type; None where it can be so of no part. Never NULL."""
    part, found = f"part{depth}", None
    match kind:
        case ArrayType():
            inner = _in_some_part(part, kind.elementType, leaf, depth + 1)
            found = f"exists(try_cast({variant} AS array<variant>), {part} -> {inner})" if inner else None
        case MapType():
            inner = _in_some_part(part, kind.valueType, leaf, depth + 1)
            values = f"map_values(try_cast({variant} AS map<string,variant>))"
            found = f"exists({values}, {part} -> {inner})" if inner else None
        case StructType():
            given = f"object{depth}"
            parts = ((one, _in_some_part(part, one.dataType, leaf, depth + 1)) for one in kind.fields)
            inner = _any_of(_with(part, _field(given, one.name), condition) for one, condition in parts if condition)
            found = _with(given, f"try_cast({variant} AS map<string,variant>)", inner) if inner else None
        case _:
            found = leaf(variant, kind)
    return None if found is None else f"coalesce({found}, false)"


def _either(variant: str, shape: str, inner: str) -> str:
    return (
        f"({variant} IS NOT NULL AND NOT is_variant_null({variant}) AND (try_cast({variant} AS {shape}) IS NULL OR {inner}))"
    )


def from_text(text: str, parsed: str, type_: str) -> str:
    """A JSON text, and what it is parsed to, as the type that SQL writes so, where it fits. Keys are fields without regard
    to case, as they are columns; a cast would take those alone that are spelled so."""
    kind = _read(type_)
    plain = f"CAST({_from_variant(parsed, kind, 0)} AS {type_})" if _has_fields(kind) else f"CAST({parsed} AS {type_})"
    numbers = _in_some_part(parsed, kind, _number_as_text)
    if numbers is None:
        return plain
    # A variant forgets how its numbers were written, so they are looked at as strings. That is dear, and seldom needed.
    written = _from_variant(f"try_parse_json({marked(text)})", kind, 0, is_marked=True)
    return f"CASE WHEN {numbers} THEN CAST({written} AS {type_}) ELSE {plain} END"


def _number_as_text(variant: str, kind: DataType) -> str | None:
    """A number, or what may hold one, in the place of a text."""
    match kind:
        case StringType() | VarcharType() | CharType():
            return f"schema_of_variant({variant}) NOT IN ('STRING', 'BOOLEAN', 'VOID')"
        case _:
            return None


def _from_variant(variant: str, kind: DataType, depth: int, is_marked: bool = False) -> str:
    """`is_marked`: the variant's numbers are strings, `marked`."""
    part = f"part{depth}"
    match kind:
        case StructType():
            given = f"object{depth}"
            values = (
                _with(part, _field(given, one.name), _from_variant(part, one.dataType, depth + 1, is_marked))
                for one in kind.fields
            )
            named = ", ".join(f"{value} AS {quoted(one.name)}" for value, one in zip(values, kind.fields, strict=True))
            made = f"CASE WHEN {given} IS NOT NULL THEN struct({named}) END"
            return _with(given, f"CAST({variant} AS map<string,variant>)", made)
        case ArrayType() if is_marked or _has_fields(kind):
            inner = _from_variant(part, kind.elementType, depth + 1, is_marked)
            return f"transform(CAST({variant} AS array<variant>), {part} -> {inner})"
        case MapType() if is_marked or _has_fields(kind):
            inner = _from_variant(part, kind.valueType, depth + 1, is_marked)
            return f"transform_values(CAST({variant} AS map<string,variant>), (key{depth}, {part}) -> {inner})"
        case StringType() | VarcharType() | CharType() if is_marked:
            return unmarked(f"CAST({variant} AS STRING)")
        case _ if is_marked:
            text = f"try_cast({variant} AS STRING)"
            number = f"try_parse_json(substring({text}, {len(FOR_NUMBERS) + 1}))"
            return f"CAST(if(startswith({text}, '{FOR_NUMBERS}'), {number}, {variant}) AS {kind.simpleString()})"
        case _:
            return f"CAST({variant} AS {kind.simpleString()})"


def _has_fields(kind: DataType) -> bool:
    match kind:
        case StructType():
            return True
        case ArrayType():
            return _has_fields(kind.elementType)
        case MapType():
            return _has_fields(kind.valueType)
        case _:
            return False


def _field(given: str, name: str) -> str:
    """What an object has under a name, most often spelled so."""
    folded = f"map_filter({given}, (key, value) -> lower(key) = {literal(fold(name))})"
    return f"coalesce({given}[{literal(name)}], get(map_values({folded}), 0))"


def _with(name: str, value: str, expression: str) -> str:
    """An expression in which a name stands for a value that is computed once."""
    return f"transform(array({value}), {name} -> {expression})[0]"
