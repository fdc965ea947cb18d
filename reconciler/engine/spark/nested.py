"""Whether a variant fits a nested type, part by part: an expression of SQL, since a cast that tries makes NULL of what does
not fit, and one that does not try stops the query.

NULL fits everywhere. An object fits STRUCT and MAP, an array ARRAY, a scalar what it can be cast to.
"""

from pyspark.sql.types import ArrayType, DataType, MapType, StructType


def misfit(variant: str, type_: str) -> str:
    """An expression that is true where the variant has a part that does not fit the type (as SQL writes it)."""
    parsed = StructType.fromDDL(f"value {type_}")
    assert isinstance(parsed, StructType)
    kind = parsed.fields[0].dataType
    return f"coalesce({_misfit(variant, kind, 0)}, false)"


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
