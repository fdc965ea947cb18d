"""The order of a column's values: few of them are found by bisection, without a look at all rows.

To sort a column takes as long as to look through it some dozen times. So it is sorted once it was looked through that often.
Whether many searches follow or none, all together take little more than twice what they would take if that had been known.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from reconciler.base.dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

WORTH_SORTING: Final = 12
"""After so many searches."""

_FEWEST: Final = 100_000
"""Rows: fewer are looked through at once."""

_ROWS_OF_A_VALUE: Final = 500
"""To find a value by bisection takes as long as to look at so many rows."""

_BYTES_OF_A_ROW: Final = 12
"""A place and a value, at most, of columns with less than 2^32 rows."""


@dataclass(frozen=True, slots=True)
class ColumnOrder:
    """`places` of values from the least to the greatest, without those that are NULL; `values` are these, in that order."""

    places: Any
    values: Any

    @property
    def bytes(self) -> int:
        """How much it takes."""
        return int(self.places.nbytes + self.values.nbytes)

    def equal(self, wanted: Any) -> Any:
        """The places, in their order, where the column has one of these values, of the same type, which are sorted and not
        NULL."""
        import pyarrow as pa
        from pyarrow import compute

        values, start, found = _numbers(self.values), 0, []
        for one in _numbers(wanted):
            start = bisect_left(values, one, start)
            end = bisect_right(values, one, start)
            if end > start:
                found.append(self.places.slice(start, end - start))
            start = end
        if not found:
            return pa.array([], pa.uint64())
        places = pa.concat_arrays(found)
        return places.take(compute.sort_indices(places)).cast(pa.uint64())


def can_be_sorted(kind: "pa.DataType", rows: int, most: int) -> bool:
    """Whether the order of a column of a type, with so many rows, is of use, and takes so many bytes at most."""
    from pyarrow import types

    is_number = types.is_signed_integer(kind) or types.is_date32(kind)
    return is_number and _FEWEST <= rows < 1 << 32 and rows * _BYTES_OF_A_ROW <= most


def pays(values: int, rows: int) -> bool:
    """Whether so many values are found sooner by bisection."""
    return values * _ROWS_OF_A_VALUE <= rows


def order_of(column: Any) -> ColumnOrder:
    """The order of a column that can be sorted."""
    import pyarrow as pa
    from pyarrow import compute

    # NULLs come last.
    places = compute.sort_indices(column)
    places = places.slice(0, len(column) - column.null_count)
    return ColumnOrder(places.cast(pa.uint32()), column.take(places))


def _numbers(values: Any) -> "Sequence[int]":
    """The values of an array without NULLs, as whole numbers."""
    data = memoryview(values.buffers()[1])
    numbers: Sequence[int]
    match values.type.bit_width:
        case 8:
            numbers = data.cast("b")
        case 16:
            numbers = data.cast("h")
        case 32:
            numbers = data.cast("i")
        case _:
            numbers = data.cast("q")
    return numbers[values.offset : values.offset + len(values)]
