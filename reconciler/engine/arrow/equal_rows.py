"""Which rows are equal, as Spark groups them: NULLs are equal, so are NaNs and both zeros; maps are equal by their entries,
in any order, at any depth (`engine.spark.comparable` says the same for Spark).

Rows are told apart by numbers: equal ones have the same. Values of lists, structs and maps go through Python, as numbers
and bytes, never as dates or moments, which lack years there.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

_NOT_A_NUMBER: Final = "NaN"
"""No double is equal to a text."""


def row_ids(tables: "Sequence[pa.Table]", *, to_the_sign: bool = False) -> "list[pa.Array]":
    """Of each table the number of each row. Their columns are matched by position, and have the same types. `to_the_sign`:
    zeros with other signs are two values."""
    import pyarrow as pa
    from pyarrow import compute

    names = tables[0].column_names
    rows = pa.concat_tables([table.rename_columns(names) for table in tables])
    ids = pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows)
    for column in rows.columns:
        codes = _codes(column.combine_chunks() if column.num_chunks != 1 else column.chunk(0), to_the_sign)
        several = compute.add(compute.multiply(ids, rows.num_rows), codes)
        ids = compute.dictionary_encode(several).indices.cast(pa.int64())
    found, start = [], 0
    for table in tables:
        found.append(ids.slice(start, table.num_rows))
        start += table.num_rows
    return found


def as_grouped(values: Any) -> Any:
    """Values as they come out of Spark's grouping: of both zeros it makes the one without a sign. A column with a map it
    leaves as it is."""
    import pyarrow as pa
    from pyarrow import compute, types

    kind = values.type
    if _has_map(kind):
        return values
    if types.is_floating(kind):
        return compute.add(values, pa.scalar(0.0, kind))
    if types.is_list(kind):
        parts = as_grouped(values.values)
        return pa.ListArray.from_arrays(values.offsets, parts, type=kind, mask=values.is_null())
    if types.is_struct(kind):
        parts = [as_grouped(values.field(index)) for index in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=values.is_null())
    return values


def _codes(values: Any, to_the_sign: bool) -> Any:
    """Numbers below the count of values, equal for equal ones."""
    import pyarrow as pa
    from pyarrow import compute, types

    kind = values.type
    if types.is_nested(kind):
        known: dict[Hashable, int] = {}
        told = _teller(kind, to_the_sign)
        plain = values.cast(plain_type(kind))
        return pa.array([known.setdefault(told(one), len(known)) for one in plain.to_pylist()], pa.int64())
    if types.is_floating(kind):
        zeros = values if to_the_sign else as_grouped(values)
        same = compute.if_else(compute.is_nan(values), pa.scalar(float("nan"), kind), zeros)
        values = same.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    return compute.dictionary_encode(values, null_encoding="encode").indices.cast(pa.int64())


def plain_type(kind: "pa.DataType", with_texts: bool = False) -> "pa.DataType":
    """The type with moments and days as numbers, and texts as bytes, unless `with_texts`."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_timestamp(kind):
        return pa.int64()
    if types.is_date(kind):
        return pa.int32()
    if types.is_string(kind) and not with_texts:
        return pa.binary()
    if types.is_list(kind):
        return pa.list_(kind.value_field.with_type(plain_type(kind.value_type, with_texts)))
    if types.is_map(kind):
        return pa.map_(plain_type(kind.key_type, with_texts), plain_type(kind.item_type, with_texts))
    if types.is_struct(kind):
        return pa.struct([field.with_type(plain_type(field.type, with_texts)) for field in kind])
    return kind


def _teller(kind: "pa.DataType", to_the_sign: bool) -> Callable[[Any], Hashable]:
    """What makes of a value of a nested type something that is equal for equal ones."""
    from pyarrow import types

    if types.is_floating(kind):
        return _number_to_the_sign if to_the_sign else _number
    if types.is_list(kind):
        of_part = _teller(kind.value_type, to_the_sign)
        return lambda value: None if value is None else tuple(of_part(one) for one in value)
    if types.is_map(kind):
        of_key, of_item = _teller(kind.key_type, to_the_sign), _teller(kind.item_type, to_the_sign)

        def of_map(value: Any) -> Hashable:
            if value is None:
                return None
            return frozenset(Counter((of_key(key), of_item(item)) for key, item in value).items())

        return of_map
    if types.is_struct(kind):
        parts = [(field.name, _teller(field.type, to_the_sign)) for field in kind]
        return lambda value: None if value is None else tuple(told(value[name]) for name, told in parts)
    return _as_it_is


def _number(value: Any) -> Hashable:
    return _NOT_A_NUMBER if value is not None and value != value else _as_it_is(value)


def _number_to_the_sign(value: Any) -> Hashable:
    return repr(value) if value == 0 else _number(value)


def _as_it_is(value: Any) -> Hashable:
    found: Hashable = value
    return found


def _has_map(kind: "pa.DataType") -> bool:
    from pyarrow import types

    return types.is_map(kind) or any(_has_map(kind.field(index).type) for index in range(kind.num_fields))
