"""Whether a value fits a nested type, part by part: expressions of SQL, since a cast that tries makes NULL of what does not
fit, one that does not try stops the query, and none looks at the length of a text. And the fields of structures taken by
name, since a cast takes them by position.

NULL fits everywhere. An object fits STRUCT and MAP, an array ARRAY, a scalar what it can be cast to.
"""

from collections.abc import Iterable, Iterator

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

from reconciler.engine.fields import no_common_field
from reconciler.engine.spark.failures import refusal
from reconciler.engine.spark.locations import literal, quoted
from reconciler.names import fold
from reconciler.sql.structures import Elements, Entries, Shape, Structure, without_common_field


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
            return None


def cast_by_name(value: str, source: DataType, type_: str, column: str) -> str:
    """The value, of the source's type, as the type that SQL writes so; fields of structures are taken by name, without
    regard to case, and those that the source lacks are NULL. `column` is what messages call the value.

    Raises an exception as `refusal` makes it where a structure has no field of the type's, and where keys of a map would
    have to be made anew.
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
                told = f"the keys of {path} have other fields, or in another order, than {target.keyType.simpleString()}"
                raise refusal("X712", f"{told}: they are of type {source.keyType.simpleString()}")
            inner = _by_name(part, source.valueType, target.valueType, path, depth + 1)
            return value if inner == part else f"transform_values({value}, (key{depth}, {part}) -> {inner})"
        case _:
            return value


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
    """An expression that is true where a cast of the value, of the source's type, to the type that SQL writes so would take
    the whole part of a number, or a time of day for that of today; None where it can't."""
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
        case StringType(), (TimestampType() | TimestampNTZType()):
            return is_time_of_day(value)
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
    of a number, a truth for a number, a number for a moment, a time of day for that of today."""
    made_of = f"schema_of_variant({variant})"
    match kind:
        case ByteType() | ShortType() | IntegerType() | LongType():
            yield f"{made_of} = 'BOOLEAN'"
            yield f"try_cast({variant} AS DECIMAL(38,18)) <> try_cast({variant} AS {kind.simpleString()})"
        case DecimalType() | FloatType() | DoubleType():
            yield f"{made_of} = 'BOOLEAN'"
        case BooleanType():
            yield f"{made_of} NOT IN ('BOOLEAN', 'STRING') AND try_cast({variant} AS DOUBLE) NOT IN (0, 1)"
        case DateType() | TimestampType() | TimestampNTZType():
            yield f"{made_of} <> 'STRING'"
            yield is_time_of_day(f"try_cast({variant} AS STRING)")
        case _:
            pass


def is_time_of_day(text: str) -> str:
    """An expression that is true where a text has a time without a day: Spark takes it for that of today, and so for another
    value each day."""
    pattern = literal(r"^\s*[tT]?[0-9]{1,2}:")
    return f"coalesce({text} RLIKE {pattern}, false)"


def _either(variant: str, shape: str, inner: str) -> str:
    return (
        f"({variant} IS NOT NULL AND NOT is_variant_null({variant}) AND (try_cast({variant} AS {shape}) IS NULL OR {inner}))"
    )


def from_variant(variant: str, type_: str) -> str:
    """A variant that fits as the type that SQL writes so. Keys are fields without regard to case, as they are columns; a
    cast would take those alone that are spelled so."""
    kind = _read(type_)
    return f"CAST({_from_variant(variant, kind, 0)} AS {type_})" if _has_fields(kind) else f"CAST({variant} AS {type_})"


def _from_variant(variant: str, kind: DataType, depth: int) -> str:
    part = f"part{depth}"
    match kind:
        case StructType():
            given = f"object{depth}"
            values = (
                _with(part, _field(given, one.name), _from_variant(part, one.dataType, depth + 1)) for one in kind.fields
            )
            named = ", ".join(f"{value} AS {quoted(one.name)}" for value, one in zip(values, kind.fields, strict=True))
            made = f"CASE WHEN {given} IS NOT NULL THEN struct({named}) END"
            return _with(given, f"CAST({variant} AS map<string,variant>)", made)
        case ArrayType() if _has_fields(kind):
            return (
                f"transform(CAST({variant} AS array<variant>), {part} -> {_from_variant(part, kind.elementType, depth + 1)})"
            )
        case MapType() if _has_fields(kind):
            inner = _from_variant(part, kind.valueType, depth + 1)
            return f"transform_values(CAST({variant} AS map<string,variant>), (key{depth}, {part}) -> {inner})"
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
