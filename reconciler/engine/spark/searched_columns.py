"""Columns of data files, held in this process from search to search: a file never changes, and to read a column again takes
longer than to look for keys in it.

- A column is held in one piece, and small: a decimal of at most 18 digits as a whole number, a text once however many rows
  have it. What is held is bounded by the machine's memory; what was used longest ago goes first. A column that is large by
  itself is read each time.
- Where a column has one of a few values is looked for once: several views of a step ask for the rows of the same changed
  keys, and each asks more than once.
- A column of numbers or days that was looked through often is sorted: from then on few values are found by bisection
  (`column_orders`).
- How many rows one value had, where a column was looked through, says by which of several columns few rows are found.
- Columns that are not held are read one by one: several of a large file would take more memory than is allowed at once.
  None, where one is not surely read as Spark reads it (`delta.arrow_rows`).
"""

from collections.abc import Sequence
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.recently_used import RecentlyUsed
from reconciler.delta.arrow_rows import PlainTable, StoredFile, arrow_schema, rows_with_texts_once
from reconciler.engine.spark.column_orders import WORTH_SORTING, ColumnOrder, can_be_sorted, order_of, pays
from reconciler.engine.spark.machine_memory import machine_memory

if TYPE_CHECKING:
    import pyarrow as pa

MOST_HELD: Final = 4 << 30
_SHARE: Final = 8
"""Of the machine's memory so much is held at most."""

_LARGE: Final = 4
"""A column that would take this part of all that is held is not."""

_DIGITS: Final = 18
"""A decimal of so many fits 64 bits."""
_DIGITS_OF_64_BITS: Final = 19

_MOST_VALUES: Final = 4_000
"""Of so many values it is remembered where they are."""

_MOST_COUNTED: Final = 10_000
"""Columns of which it is counted how often they were looked through."""

_MOST_PLACES: Final = 16 << 20
"""Bytes of places that are remembered."""

_OF_AN_ANSWER: Final = 1_000
"""Bytes that an answer takes besides."""

_Key: TypeAlias = tuple[str, str, str]
_Asked: TypeAlias = tuple[_Key, bytes]
"""A column, and a digest of the values that are looked for."""


class SearchedColumns:
    """See the module. For any thread."""

    def __init__(self, most_held: int | None = None) -> None:
        self._most = min(MOST_HELD, machine_memory() // _SHARE) if most_held is None else most_held
        of_orders = self._most // _LARGE
        self._held: RecentlyUsed[_Key, SearchedColumn] = RecentlyUsed(self._most - of_orders, lambda column: column.bytes)
        self._places: RecentlyUsed[_Asked, Any] = RecentlyUsed(_MOST_PLACES, lambda one: int(one.nbytes) + _OF_AN_ANSWER)
        self._orders: RecentlyUsed[_Key, ColumnOrder] = RecentlyUsed(of_orders, lambda order: order.bytes)
        self._searches: RecentlyUsed[_Key, int] = RecentlyUsed(_MOST_COUNTED)
        self._rows_of_a_value: RecentlyUsed[_Key, float] = RecentlyUsed(_MOST_COUNTED)
        self._lock = Lock()

    @property
    def bytes(self) -> int:
        """How much is held."""
        return self._held.size + self._orders.size

    @property
    def answers(self) -> int:
        """Of how many searches it is remembered what they found."""
        return len(self._places)

    def of(self, table: PlainTable, file: StoredFile, fields: Sequence[JsonObject]) -> "list[SearchedColumn] | None":
        """The columns of a file of a table with these fields of its schema."""
        keys = [(table.location, file.path, canonical_json(field)) for field in fields]
        with self._lock:
            found = {key: column for key in keys if (column := self._held.get(key)) is not None}
        for key, field in zip(keys, fields, strict=True):
            if key not in found:
                column = _read(table, file, field)
                if column is None:
                    return None
                found[key] = column
                if column.bytes <= self._most // _LARGE:
                    with self._lock:
                        self._held.put(key, column)
        return [found[key] for key in keys]

    def equal(self, table: PlainTable, file: StoredFile, field: JsonObject, values: Any, among: Any = None) -> Any:
        """Of these places (None: of all) those where a column of a file has one of `values`, which are sorted. None as for
        `of` and `equal_places`."""
        asked = None
        if among is None and len(values) <= _MOST_VALUES:
            asked = (table.location, file.path, canonical_json(field)), _digest(values)
            with self._lock:
                known = self._places.get(asked)
            if known is not None:
                return known
        columns = self.of(table, file, [field])
        if columns is None:
            return None
        key = table.location, file.path, canonical_json(field)
        order = self._order(key, columns[0], values) if among is None else None
        places = equal_places(columns[0].values, values, among) if order is None else order.equal(values)
        if among is None and places is not None and len(values):
            with self._lock:
                self._rows_of_a_value.put(key, len(places) / len(values))
                if asked is not None:
                    self._places.put(asked, places)
        return places

    def expected(self, table: PlainTable, file: StoredFile, field: JsonObject, values: int) -> float:
        """In how many rows a column of a file has one of so many values, as far as is known: none, where it was never looked
        through."""
        with self._lock:
            return values * (self._rows_of_a_value.get((table.location, file.path, canonical_json(field))) or 0)

    def _order(self, key: _Key, column: "SearchedColumn", values: Any) -> ColumnOrder | None:
        """The order of a column, where it was looked through often enough, and these values are few. None: there is none."""
        rows = len(column.values)
        is_alike = values.type == column.values.type and not values.null_count
        if not (is_alike and pays(len(values), rows) and can_be_sorted(values.type, rows, self._most // _LARGE)):
            return None
        with self._lock:
            order, searches = self._orders.get(key), (self._searches.get(key) or 0) + 1
            self._searches.put(key, searches)
        if order is None and searches > WORTH_SORTING:
            order = order_of(column.values)
            with self._lock:
                self._orders.put(key, order)
                self._searches.put(key, 0)
        return order


def _digest(values: Any) -> bytes:
    """Of the bytes of an array: Python has no value for each day, nor for each text."""
    import pyarrow as pa

    written = pa.record_batch([values], names=["values"]).serialize()
    return blake2b(written, digest_size=20, person=str(values.type).encode()[:16]).digest()


def is_compared(kind: "pa.DataType") -> bool:
    """Whether values of a type are looked for: equal ones are the same, and a column holds them as they are."""
    from pyarrow import types

    return any(is_one(kind) for is_one in (types.is_integer, types.is_date, types.is_string))


def equal_places(column: Any, values: Any, among: Any = None) -> Any:
    """Of these places (None: of all) those where a column has one of these values, of which NULL may be one. None where
    equal values may differ."""
    import pyarrow as pa
    from pyarrow import compute, types

    looked_at = column if among is None else column.take(among)
    if types.is_dictionary(looked_at.type):
        texts = compute.indices_nonzero(compute.is_in(looked_at.dictionary, value_set=values)).cast(pa.int64())
        looked_at, values = looked_at.indices, pa.concat_arrays([texts, pa.nulls(min(1, values.null_count), pa.int64())])
    if not is_compared(values.type):
        return None
    places = compute.indices_nonzero(compute.is_in(looked_at, value_set=values.cast(looked_at.type)))
    return places if among is None else among.take(places)


@dataclass(frozen=True, slots=True)
class SearchedColumn:
    """A column of a file, as it is held, and the type that its values have."""

    values: Any
    kind: "pa.DataType"

    @property
    def bytes(self) -> int:
        """How much it takes."""
        return int(self.values.nbytes)

    def at(self, places: Any) -> Any:
        """The values at these places, as an array of its type."""
        taken = self.values.take(places)
        if _is_short_decimal(self.kind) and taken.type != self.kind:
            return _as_decimals(taken, self.kind)
        return taken if taken.type == self.kind else taken.cast(self.kind)


def _read(table: PlainTable, file: StoredFile, field: JsonObject) -> SearchedColumn | None:
    import pyarrow as pa

    narrow = PlainTable(table.location, table.version, {**table.schema, "fields": [field]}, table.files)
    rows, kind = rows_with_texts_once(narrow, file), arrow_schema(narrow.schema).field(0).type
    if rows is None:
        return None
    if not rows.column_names:
        return SearchedColumn(pa.nulls(rows.num_rows, kind), kind)
    values = rows.column(0).unify_dictionaries().combine_chunks()
    return SearchedColumn(_as_numbers(values) if _is_short_decimal(kind) else values, kind)


def _is_short_decimal(kind: "pa.DataType") -> bool:
    from pyarrow import types

    return bool(types.is_decimal128(kind)) and kind.precision <= _DIGITS


def _as_numbers(decimals: Any) -> Any:
    """The digits of decimals as whole numbers of 64 bits."""
    import pyarrow as pa

    return _read_as(decimals, pa.decimal128(decimals.type.precision, 0)).cast(pa.int64())


def _as_decimals(digits: Any, kind: "pa.DataType") -> Any:
    import pyarrow as pa

    return _read_as(digits.cast(pa.decimal128(_DIGITS_OF_64_BITS, 0)), kind)


def _read_as(values: Any, kind: "pa.DataType") -> Any:
    """The same bits as values of a type."""
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(values), values.buffers(), offset=values.offset)
