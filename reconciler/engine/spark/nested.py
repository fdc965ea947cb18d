"""Whether a value fits a nested type, part by part: expressions of SQL, since a cast that tries makes NULL of what does not
fit, one that does not try stops the query, and none looks at the length of a text.

NULL fits everywhere. An object fits STRUCT and MAP, an array ARRAY, a scalar what it can be cast to.
"""

from collections.abc import Iterable

from pyspark.sql.types import ArrayType, CharType, DataType, MapType, StructType, VarcharType

from reconciler.engine.spark.locations import quoted


def misfit(variant: str, type_: str) -> str:
    """An expression that is true where the variant has a part that does not fit the type (as SQL writes it)."""
    parsed = StructType.fromDDL(f"value {type_}")
    assert isinstance(parsed, StructType)
    kind = parsed.fields[0].dataType
    return f"coalesce({_misfit(variant, kind, 0)}, false)"


def too_long(value: str, type_: str) -> str | None:
    """An expression that is true where a text somewhere within a value is longer than the type (as SQL writes it) says; None
    where the type says nothing of lengths. The value has the type already, but for lengths."""
    parsed = StructType.fromDDL(f"value {type_}")
    assert isinstance(parsed, StructType)
    condition = _too_long(value, parsed.fields[0].dataType, 0)
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
        fields = [
            _misfit(f"try_variant_get({variant}, {_path(field.name)}, 'variant')", field.dataType, depth)
            for field in kind.fields
        ]
        return _either(variant, "map<string,variant>", " OR ".join(f"coalesce({one}, false)" for one in fields) or "false")
    return (
        f"{variant} IS NOT NULL AND NOT is_variant_null({variant}) AND try_cast({variant} AS {kind.simpleString()}) IS NULL"
    )


def _either(variant: str, shape: str, inner: str) -> str:
    return (
        f"({variant} IS NOT NULL AND NOT is_variant_null({variant}) AND (try_cast({variant} AS {shape}) IS NULL OR {inner}))"
    )


def _path(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\\\"')
    return f"""'$["{escaped}"]'"""
