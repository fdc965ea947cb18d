"""Rows of a range, read for sure: plain values (`values`) in the order of their table's columns, and what came beside them.

What a record says under a name, a column takes as `engine.spark.conform` says it: without regard to letter case. Of a JSON
object a null is as good as absent; of a line of CSV only what the header lacks is absent, and so with the columns of a
table. What is absent is the column's
default, where that is a literal of one word or a short text, else NULL.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.engine.arrow.ingest.values import NotSure, plain
from reconciler.engine.fields import MOST_FIELDS, missing_fields
from reconciler.engine.protocol import ColumnType, TableTarget

Row = tuple[Any, ...]

_MOST_FIELD_SETS: Final = 100
"""Of more sets of unknown fields Spark counts the most frequent ones alone."""
_PLAIN_DEFAULT: Final = re.compile(r"(?i)-?[0-9]{1,18}(?:\.[0-9]{1,18})?|true|false|null|'[^'\\]{0,100}'|DATE '[0-9-]{10}'")
_WITH_DEFAULT: Final = ("tinyint", "smallint", "int", "bigint", "decimal", "boolean", "string", "varchar", "date")
_TEXT: Final = ("string", "varchar", "char")


@dataclass(frozen=True, slots=True)
class Change:
    """A row to insert, or to delete. Of one that deletes from a table with a key, only the columns of the key count. `sets`:
    an update of the row with this key, which sets the columns at these places."""

    row: Row
    deletes: bool = False
    sets: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Incoming:
    """The changes of a range in reading order; whether its records say of each whether it deletes; in how many rows fields
    came that no column takes; which fields columns take that a header lacks; whether one record can be two changes; whether
    rows have an order: else deletes stand before inserts, and of those of one key any may count."""

    changes: tuple[Change, ...]
    tells_deletes: bool
    unknown: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    has_pairs: bool = False
    is_ordered: bool = True


class TableRows:
    """Makes a table's rows. `target` bears the names of the source. Raises NotSure where its columns have no plain values,
    or a name is not told for sure."""

    def __init__(self, target: TableTarget) -> None:
        if not all(column.name.isascii() for column in target.columns):
            raise NotSure("a name")
        self._target = target
        self._columns = tuple(_Column(column, target) for column in target.columns)
        self._places = {fold(column.name): place for place, column in enumerate(target.columns)}
        if len(self._places) < len(target.columns):
            raise NotSure("one name for two columns")
        self._field_sets: Counter[tuple[str, ...]] = Counter()

    @property
    def has_key(self) -> bool:
        """Whether the table has a key."""
        return bool(self._target.primary_key)

    def change(self, fields: Mapping[str, Any], deletes: bool = False) -> Change:
        """What a JSON object inserts or deletes."""
        if deletes and self._target.append_only:
            raise NotSure("a delete from what is append-only")
        given: list[Any] = [None] * len(self._columns)
        for name, place in self._taken(fields):
            given[place] = fields[name]
        needs_key_only = deletes and self.has_key
        pairs = zip(self._columns, given, strict=True)
        return Change(tuple(column.of_json(value, needs_key_only) for column, value in pairs), deletes)

    def update(self, fields: Mapping[str, Any]) -> Change:
        """What a JSON object sets in the row of its key. A null is a NULL there: nothing is absent that has a name."""
        if not self.has_key or self._target.append_only:
            raise NotSure("an update")
        taken = {place: fields[name] for name, place in self._taken(fields)}
        if not all(place in taken for place, column in enumerate(self._columns) if column.in_key):
            raise NotSure("an update without a key")
        row = tuple(column.of_update(taken[place]) if place in taken else None for place, column in enumerate(self._columns))
        return Change(row, sets=frozenset(taken))

    def of_line(self, names: Sequence[str], values: Sequence[str | None]) -> Change:
        """The row of a line of CSV, under the names of its header. The empty text is one between quotes."""
        given = dict(zip(names, values, strict=True))
        taken = {place: given[name] for name, place in self._taken(given)}
        return Change(
            tuple(
                column.of_csv(taken[place]) if place in taken else column.absent()
                for place, column in enumerate(self._columns)
            )
        )

    def stored(self, values: Mapping[int, Sequence[Any]], count: int, deletes: bool = False) -> list[Change]:
        """So many rows that hold these values, which fit, in the columns at these places; in others they are absent."""
        if deletes and count and self._target.append_only:
            raise NotSure("a delete from what is append-only")
        columns = [
            column.of_stored(values.get(place), count, needs_key_only=deletes and self.has_key)
            for place, column in enumerate(self._columns)
        ]
        return [Change(row, deletes) for row in zip(*columns, strict=True)]

    def missing(self, names: Sequence[str]) -> tuple[str, ...]:
        """The fields that columns take and a header lacks."""
        return missing_fields(names, self._target)

    def unknown(self) -> Mapping[str, int]:
        """In how many rows each field came that no column takes."""
        if len(self._field_sets) > _MOST_FIELD_SETS:
            raise NotSure("very many sets of fields")
        counts: Counter[str] = Counter()
        for names, count in self._field_sets.items():
            for name in names:
                counts[name] += count
        return dict(sorted(counts.items()))

    def _taken(self, names: Mapping[str, Any]) -> list[tuple[str, int]]:
        """The names that columns take, with their places. Counts the others."""
        taken, unknown = [], []
        for name in names:
            place = self._places.get(name)
            if place is None:
                if not name.isascii():
                    raise NotSure(name)
                place = self._places.get(name.lower())
            if place is None:
                unknown.append(name)
            else:
                taken.append((name, place))
        if len({place for _, place in taken}) < len(taken) or len({name.lower() for name in unknown}) < len(unknown):
            raise NotSure("a name twice")
        if unknown:
            self._field_sets[tuple(sorted(unknown)[:MOST_FIELDS])] += 1
        return taken


class _Column:
    """A column, and what makes its values."""

    def __init__(self, column: ColumnType, target: TableTarget) -> None:
        self._plain = plain(column)
        self._nullable = column.nullable
        self.in_key = fold(column.name) in {fold(name) for name in target.primary_key}
        self._default = target.defaults.get(fold(column.name))
        self._kind = column.type.strip().lower()

    def of_json(self, given: Any, needs_key_only: bool) -> Any:
        if given is not None:
            return self._plain(given)
        return None if needs_key_only and not self.in_key else self._there(self._given_for_it())

    def of_update(self, given: Any) -> Any:
        return self._there(None) if given is None else self._plain(given)

    def of_csv(self, given: str | None) -> Any:
        if given is None or (given == "" and not self._kind.startswith(_TEXT)):
            return self._there(None)
        return self._plain(given)

    def of_stored(self, given: Sequence[Any] | None, count: int, needs_key_only: bool) -> Sequence[Any]:
        if needs_key_only and not self.in_key:
            return [None] * count
        return [self.absent()] * count if given is None else [self._there(value) for value in given]

    def absent(self) -> Any:
        return self._there(self._given_for_it())

    def _there(self, value: Any) -> Any:
        if value is None and not self._nullable:
            raise NotSure("NULL")
        return value

    def _given_for_it(self) -> Any:
        default = self._default
        if default is None:
            return None
        if not self._kind.startswith(_WITH_DEFAULT) or _PLAIN_DEFAULT.fullmatch(default) is None:
            raise NotSure(default)
        if default.lower() == "null":
            return None
        # A number or a truth for a text, or a text for a number, is nobody's default.
        is_text = default.endswith("'")
        if is_text != self._kind.startswith(("string", "varchar", "date")):
            raise NotSure(default)
        return self._plain(default.partition("'")[2][:-1] if is_text else default.lower())
