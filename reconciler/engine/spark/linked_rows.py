"""The rows of stored relations that can have to do with few changed rows, looked for by their keys in this process: Spark is
given these few, and reads no table for them.

A build says of each of its terms what it reads, and by which equal columns one read leads to the next (`LinkedSource`). A
search begins with the changed rows, where these are few, and reads of each table the columns that are used. What a source
gives are the rows that any term found there.

- It is no more than a look at which rows may be left out: the query still says what they are joined by.
- A source of which a term may need any row is given whole, as without this; so is one in which many rows were found, that is
  not surely read as Spark reads it (`delta.arrow_rows`), stands elsewhere than on a disk, or is large (`MOST_BYTES`).
- Columns that the query does not use are NULL: nobody looks at them.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from reconciler.base.digest import JsonObject
from reconciler.base.names import fold
from reconciler.delta.arrow_rows import OpenedTable, PlainTable, StoredFile, arrow_schema, fitted, plain_table, rows_of
from reconciler.delta.key_ranges import files_between
from reconciler.delta.opening import is_local
from reconciler.engine.protocol import LinkedSource, LogSource, StoredSource, ViewBuild
from reconciler.engine.spark.held_rows import MOST_ROWS, Held
from reconciler.engine.spark.pinned_files import Few

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES: Final = 32 << 20
"""Of the files of a table that are searched. Spark reads larger ones at about the same cost, and on all cores."""


def linked_rows(wanted: ViewBuild, few: Few) -> dict[StoredSource | LogSource, Held]:
    """For sources of a build the rows that its terms need; `few` gives those of a source that has few."""
    if not wanted.terms:
        return {}
    search = _Search(wanted, few)
    for term in wanted.terms:
        search.follow(term)
    return search.found()


class _Search:
    """See the module: what was read, and what was found, over all terms."""

    def __init__(self, wanted: ViewBuild, few: Few) -> None:
        self._sources = {fold(one.name): one for one in wanted.sources if isinstance(one, StoredSource)}
        self._few = few
        self._tables: dict[str, _Table | None] = {}
        self._parts: dict[tuple[str, str, tuple[str, ...]], Any] = {}
        self._places: dict[str, list[Any]] = {}
        self._whole: set[str] = set()

    def follow(self, term: Sequence[LinkedSource]) -> None:
        """Find what a term needs."""
        rows: list[_Rows | None] = []
        for at, one in enumerate(term):
            name = fold(one.source)
            if at == 0:
                rows.append(self._changed(name))
            elif one.via is None or (before := rows[one.via]) is None:
                self._whole.add(name)
                rows.append(None)
            else:
                rows.append(self._linked(name, before, one.pairs))

    def found(self) -> dict[StoredSource | LogSource, Held]:
        """The rows of the sources that are not needed whole."""
        given: dict[StoredSource | LogSource, Held] = {}
        for name, places in self._places.items():
            table = self._tables[name]
            if table is not None and name not in self._whole:
                held = table.at(places)
                if held is not None:
                    given[self._sources[name]] = held
        return given

    def _changed(self, name: str) -> "_Rows | None":
        source = self._sources.get(name)
        held = self._few(source) if source is not None else None
        return None if held is None else _Rows(held.rows)

    def _linked(self, name: str, before: "_Rows", pairs: Sequence[tuple[str, str]]) -> "_Rows | None":
        """The rows of a source that are equal, in the second columns of `pairs`, to those before in the first ones."""
        import pyarrow as pa
        from pyarrow import compute

        if name not in self._tables:
            self._tables[name] = self._read(name)
        table = self._tables[name]
        if table is None or name in self._whole:
            self._whole.add(name)
            return None
        mask: Any = None
        try:
            for theirs, own in pairs:
                keys, values = before.column(theirs), table.rows.column(own)
                is_equal = compute.is_in(values, value_set=compute.unique(keys.drop_null()).cast(values.type))
                mask = is_equal if mask is None else compute.and_(mask, is_equal)
        except (KeyError, pa.ArrowException):
            mask = None
        places = None if mask is None else compute.indices_nonzero(mask)
        if places is None or len(places) > MOST_ROWS:
            self._whole.add(name)
            return None
        self._places.setdefault(name, []).append(places)
        return _Rows(table.rows.rows.take(places))

    def _read(self, name: str) -> "_Table | None":
        source = self._sources.get(name)
        if source is None or source.ranges is not None:
            return None
        held = self._few(source)
        if held is not None:
            return _Table(held.schema, _Rows(held.rows))
        table = plain_table(source.location, source.version) if is_local(source.location) else None
        if table is None or source.used is None:
            return None
        files = files_between(table, source.needed)
        used = {fold(one) for one in source.used}
        fields = [field for field in table.schema["fields"] if fold(field["name"]) in used]
        if not fields or sum(file.bytes for file in files) > MOST_BYTES:
            return None
        rows = self._rows_of(table, fields, files)
        return None if rows is None else _Table(table.schema, _Rows(rows))

    def _rows_of(self, table: OpenedTable, fields: list[JsonObject], files: Sequence[StoredFile]) -> "pa.Table | None":
        """These columns of files. A table as it is and as it was have most of their files in common."""
        import pyarrow as pa

        schema = {**table.schema, "fields": fields}
        narrow = PlainTable(table.location, table.version, schema, table.files)
        names = tuple(field["name"] for field in fields)
        parts = [arrow_schema(schema).empty_table()]
        for file in files:
            key = (table.location, file.path, names)
            if key not in self._parts:
                self._parts[key] = rows_of(narrow, [file])
            part = self._parts[key]
            if part is None:
                return None
            parts.append(part)
        return pa.concat_tables(parts)


class _Rows:
    """Rows, by names of columns in any letter case."""

    def __init__(self, rows: "pa.Table") -> None:
        self.rows = rows
        self._names = {fold(name): name for name in rows.column_names}

    def column(self, name: str) -> Any:
        """Raises KeyError."""
        return self.rows.column(self._names[fold(name)])


class _Table:
    """The rows of a source that are searched, in the columns that are used; `schema` has all."""

    def __init__(self, schema: Mapping[str, Any], rows: _Rows) -> None:
        self.schema = dict(schema)
        self.rows = rows

    def at(self, places: Sequence[Any]) -> Held | None:
        """The rows at any of these places, in all columns. None where they are many."""
        import pyarrow as pa
        from pyarrow import compute

        # In their order: a view whose rows tie is not decided anew by the order of a search.
        numbers = compute.unique(pa.concat_arrays([one.cast(pa.uint64()) for one in places])).sort()
        if len(numbers) > MOST_ROWS:
            return None
        return Held(self.schema, fitted(self.rows.rows.take(numbers), self.schema))
