"""Values that Spark can't compare or hash as they are, in a form in which it can: maps and VARIANTs, at any depth.

- Values are equal as Spark groups them: NULLs are equal, so are NaNs and both zeros. Maps are compared by their entries, in
  any order.
- VARIANTs are equal if they have the same type and value at every depth; the order of an object's keys does not count. So a
  date and a text of the same letters differ, and 1 and 1.0 do. Their text (`to_json`) would make these equal.
- A VARIANT is compared by its bytes. Two encodings of one object differ in their dictionaries of keys, so Spark writes each
  anew first, as a part of an array; then the dictionary is in the order of the sorted keys. Scalars stay as they were
  written, so decimals with other trailing zeros count as different, and so do numbers that other software wrote wider than
  they need be. Whoever compares then sees a delete and an insert; both bear the bytes as they are stored.
"""

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType, VariantType

from reconciler.base.names import quoted
from reconciler.engine.spark.java_calls import bytes_by


def comparable(value: Column, kind: DataType) -> Column:
    """What is equal for equal values of this type, and only for them."""
    if is_comparable(kind):
        return value
    match kind:
        case VariantType():
            return _of_variant(value)
        case MapType():
            return f.array_sort(f.transform(f.map_entries(value), lambda entry: _of_entry(entry, kind)))
        case ArrayType():
            return f.transform(value, lambda part: comparable(part, kind.elementType))
        case StructType():
            parts = [comparable(value.getField(part.name), part.dataType).alias(part.name) for part in kind.fields]
            return f.when(value.isNotNull(), f.struct(*parts))
        case _:
            return value


def is_comparable(kind: DataType) -> bool:
    """Whether Spark compares and hashes values of this type as they are."""
    match kind:
        case MapType() | VariantType():
            return False
        case ArrayType():
            return is_comparable(kind.elementType)
        case StructType():
            return all(is_comparable(part.dataType) for part in kind.fields)
        case _:
            return True


def comparables(rows: DataFrame, names: Iterable[str]) -> list[Column]:
    """These columns of a frame, in a form that tells its rows apart."""
    kinds = {part.name: part.dataType for part in rows.schema.fields}
    return [comparable(f.col(quoted(name)), kinds[name]) for name in names]


def equal(one: str, other: str, fields: Iterable[StructField]) -> Column:
    """A condition: in these columns the rows of two aliases are equal."""
    condition = f.lit(True)
    for part in fields:
        sides = [comparable(f.col(f"{alias}.{quoted(part.name)}"), part.dataType) for alias in (one, other)]
        condition = condition & sides[0].eqNullSafe(sides[1])
    return condition


def _of_entry(entry: Column, kind: MapType) -> Column:
    key, value = comparable(entry.getField("key"), kind.keyType), comparable(entry.getField("value"), kind.valueType)
    return f.struct(key.alias("k"), value.alias("v"))


def _of_variant(value: Column) -> Column:
    anew = f.array(value).cast(VariantType())
    parts = f.struct(bytes_by(anew, "getValue").alias("value"), bytes_by(anew, "getMetadata").alias("metadata"))
    return f.when(value.isNotNull(), parts)
