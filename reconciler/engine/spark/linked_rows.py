"""The rows of stored relations that can have to do with few changed rows, looked for by their keys in this process: Spark is
given these few, and reads no table for them.

A build says of each of its terms what it reads, and by which equal columns one read leads to the next (`LinkedSource`). A
search begins with the changed rows, where these are few, and reads of each table the columns that are used. What a source
gives are the rows that any term found there.

- It is no more than a look at which rows may be left out: the query still says what they are joined by.
- A source of which a term may need any row is given whole, as without this; so is one in which many rows were found, that is
  not surely read as Spark reads it (`delta.arrow_rows`), stands elsewhere than on a disk, or is large (`MOST_SEARCHED`).
- Of each file the columns of keys are read first, and others only where a key was found. Columns that were read are held for
  the next search (`searched_columns`).
- Columns that the query does not use are NULL: nobody looks at them.
- Of a log in segments where a later row stands for an earlier one, each segment is searched: whatever a row stands for has
  the same keys, and is found with it.
- Of one source the rows that were not found may be rows of the result as they are (`rest_of`): they are given apart.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeGuard, assert_never

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import RowsNotFound
from reconciler.base.names import fold
from reconciler.delta.arrow_rows import PlainTable, StoredFile, arrow_schema, fitted, plain_table
from reconciler.delta.key_ranges import files_between
from reconciler.delta.opening import is_local
from reconciler.engine.protocol import ViewBuild
from reconciler.engine.sources import MOST_SEARCHED, LinkedSource, LogSource, Source, StoredSource
from reconciler.engine.spark.held_rows import MOST_KEPT, Held
from reconciler.engine.spark.latest_rows import latest_rows
from reconciler.engine.spark.met_conditions import meeting
from reconciler.engine.spark.pinned_files import Few
from reconciler.engine.spark.searched_columns import SearchedColumns, equal_places, is_compared

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS: Final = MOST_KEPT
"""That are found of a table."""


@dataclass(frozen=True, slots=True)
class LinkedRows:
    """The rows of sources that terms need. `rest`: those of the source whose rest is part of the result, which no term needs
    (None: that source is given whole)."""

    found: Mapping[StoredSource | LogSource, Held]
    rest: "pa.Table | None" = None


def linked_rows(wanted: ViewBuild, few: Few, columns: SearchedColumns) -> LinkedRows:
    """For sources of a build the rows that its terms need; `few` gives those of a source that has few, `columns` those of
    files."""
    if not wanted.terms:
        return LinkedRows({})
    search = _Search(wanted, few, columns)
    for term in wanted.terms:
        search.follow(term)
    found = search.found()
    if wanted.must_find:
        _require_found(wanted, found, few)
    of_rest = next((one for one in found if fold(one.name) == fold(wanted.rest_of or "")), None)
    rest = search.rest(of_rest.name) if of_rest is not None else None
    if of_rest is not None and rest is None:
        del found[of_rest]
    return LinkedRows(found, rest)


def _require_found(wanted: ViewBuild, found: Mapping[StoredSource | LogSource, Held], few: Few) -> None:
    """Raises RowsNotFound (X700) where rows to which terms lead were not found, and are not few."""
    led_to = {fold(one.source) for term in wanted.terms for one in term if one.via is not None}
    led_to -= {fold(one.source) for term in wanted.terms for one in term[1:] if one.via is None or one.is_whole}
    led_to -= {fold(wanted.rest_of or "")}
    for source in wanted.sources:
        if not _can_be_searched(source) or fold(source.name) not in led_to:
            continue
        if source not in found and few(source) is None:
            raise RowsNotFound("X700", f"too many rows of {source.name} have to do with what changed for {wanted.shown}")


class _Search:
    """See the module: what was read, and what was found, over all terms."""

    def __init__(self, wanted: ViewBuild, few: Few, columns: SearchedColumns) -> None:
        self._sources = {fold(one.name): one for one in wanted.sources if _can_be_searched(one)}
        self._few = few
        self._columns = columns
        self._tables: dict[str, _Table | None] = {}
        self._whole: set[str] = set()
        self._not_found: set[str] = set()

    def follow(self, term: Sequence[LinkedSource]) -> None:
        """Find what a term needs."""
        rows: list[_Rows | None] = []
        leading: list[_Rows | None] = []
        for at, one in enumerate(term):
            name = fold(one.source)
            before = None if one.via is None else (rows if one.with_null else leading)[one.via]
            found = self._changed(name) if at == 0 else self._linked(name, before, one) if before is not None else None
            rows.append(found)
            leading.append(None if found is None else _Rows(meeting(found.rows, one.conditions)))
            if at and (one.is_whole or found is None):
                self._whole.add(name)
            if one.narrows and one.via is not None:
                leading[one.via] = _narrowed(leading[one.via], leading[at], one.pairs)

    def found(self) -> dict[StoredSource | LogSource, Held]:
        """The rows of the sources that are not needed whole."""
        given: dict[StoredSource | LogSource, Held] = {}
        for name, table in self._tables.items():
            if table is not None and name not in self._whole:
                held = table.found()
                if held is not None:
                    given[self._sources[name]] = held
        return given

    def rest(self, source: str) -> "pa.Table | None":
        """The rows that were not found of a source of which some were; None where it is not small."""
        table = self._tables[fold(source)]
        return table.rest() if table is not None else None

    def _changed(self, name: str) -> "_Rows | None":
        source = self._sources.get(name)
        held = self._few(source) if source is not None else None
        return None if held is None else _Rows(held.rows)

    def _linked(self, name: str, before: "_Rows", link: LinkedSource) -> "_Rows | None":
        """The rows of a source that are equal, in the second columns of a link, to those before in the first ones."""
        import pyarrow as pa

        if name not in self._tables:
            self._tables[name] = self._opened(name)
        table = self._tables[name]
        rows = None
        if table is not None and name not in self._not_found:
            try:
                rows = table.equal([(own, before.column(theirs)) for theirs, own in link.pairs], with_null=link.with_null)
            except (KeyError, pa.ArrowException):
                rows = None
        if rows is None:
            self._not_found.add(name)
        return None if rows is None else _Rows(rows)

    def _opened(self, name: str) -> "_Table | None":
        source = self._sources.get(name)
        match source:
            case None:
                return None
            case StoredSource():
                return self._table(source)
            case LogSource():
                segments = [self._table(one) for one in source.segments]
                known = [one for one in segments if one is not None]
                parts = tuple(part for one in known for part in one.parts)
                return _Table(known[0].schema, parts, source.latest) if len(known) == len(segments) else None
            case _:
                assert_never(source)

    def _table(self, source: StoredSource) -> "_Table | None":
        if source.ranges is not None:
            return None
        held = self._few(source)
        if held is not None:
            return _Table(held.schema, (_HeldPart(held.rows),))
        table = plain_table(source.location, source.version) if is_local(source.location) else None
        if table is None or (source.used is None and not source.is_kept):
            return None
        files = files_between(table, source.needed)
        used = {fold(one) for one in source.used or ()}
        fields = [field for field in table.schema["fields"] if source.used is None or fold(field["name"]) in used]
        if not fields or sum(file.bytes for file in files) > MOST_SEARCHED:
            return None
        narrow = PlainTable(table.location, table.version, {**table.schema, "fields": fields}, table.files)
        return _Table(table.schema, tuple(_FilePart(narrow, file, self._columns) for file in files))


def _can_be_searched(source: Source) -> TypeGuard[StoredSource | LogSource]:
    """Whether a source has rows that may be looked for by their keys."""
    return isinstance(source, StoredSource) or (isinstance(source, LogSource) and bool(source.latest))


class _Rows:
    """Rows, by names of columns in any letter case."""

    def __init__(self, rows: "pa.Table") -> None:
        self.rows = rows
        self._names = {fold(name): name for name in rows.column_names}

    def column(self, name: str) -> Any:
        """Raises KeyError."""
        return self.rows.column(self._names[fold(name)])


def _narrowed(rows: _Rows | None, partners: _Rows | None, pairs: Sequence[tuple[str, str]]) -> _Rows | None:
    """The rows that have, in each first column of the pairs, a value that partners have in the second one."""
    from pyarrow import compute

    if rows is None or partners is None:
        return rows
    left = rows.rows
    for start, end in pairs:
        column = _Rows(left).column(start)
        wanted = compute.unique(partners.column(end).drop_null())
        places = equal_places(column, wanted) if is_compared(column.type) and column.type == wanted.type else None
        left = left if places is None else left.take(places)
    return _Rows(left)


class _Part(Protocol):
    """Rows of a source that are searched."""

    def equal(self, name: str, values: Any, among: Any) -> Any:
        """Of these places (None: of all) those where a column, in any letter case, has one of these values. None where it
        is not surely read right. Raises KeyError."""

    def expected(self, name: str, values: int) -> float:
        """In how many rows a column has one of so many values, as far as is known."""

    def at(self, places: Any) -> "pa.Table | None":
        """The rows at these places, in the columns that are used."""


class _HeldPart:
    """The rows of a small table."""

    def __init__(self, rows: "pa.Table") -> None:
        self._rows = _Rows(rows)

    @property
    def count(self) -> int:
        """How many rows it has."""
        return int(self._rows.rows.num_rows)

    def equal(self, name: str, values: Any, among: Any) -> Any:
        return equal_places(self._rows.column(name), values, among)

    def expected(self, name: str, values: int) -> float:
        return values

    def at(self, places: Any) -> "pa.Table | None":
        return self._rows.rows.take(places)


class _FilePart:
    """The rows of a file. `table` has the columns that are used."""

    def __init__(self, table: PlainTable, file: StoredFile, columns: SearchedColumns) -> None:
        self._table = table
        self._file = file
        self._columns = columns
        self._fields = {fold(field["name"]): field for field in table.schema["fields"]}

    def equal(self, name: str, values: Any, among: Any) -> Any:
        return self._columns.equal(self._table, self._file, self._fields[fold(name)], values, among)

    def expected(self, name: str, values: int) -> float:
        return self._columns.expected(self._table, self._file, self._fields[fold(name)], values)

    def at(self, places: Any) -> "pa.Table | None":
        import pyarrow as pa

        columns = self._columns.of(self._table, self._file, self._table.schema["fields"])
        schema = arrow_schema(self._table.schema)
        return None if columns is None else pa.table([one.at(places) for one in columns], schema)


class _Table:
    """A source that is searched, in parts, and what was found in each; `schema` has all columns. Of rows that are equal in
    the columns `latest`, that of the last part counts (empty: all rows count)."""

    def __init__(self, schema: Mapping[str, Any], parts: Sequence[_Part], latest: Sequence[str] = ()) -> None:
        self.schema = dict(schema)
        self.parts = parts
        self._latest = latest
        self._places: list[list[Any]] = [[] for _ in parts]

    def equal(self, keys: Sequence[tuple[str, Any]], *, with_null: bool) -> "pa.Table | None":
        """The rows that have, in each of these columns, one of its values; `with_null`: NULL may be one. None where they are
        many, or can't be read. Raises KeyError and Arrow's exceptions."""
        import pyarrow as pa
        from pyarrow import compute

        # By fewer columns no row is missed.
        compared = [(name, values if with_null else values.drop_null()) for name, values in keys if is_compared(values.type)]
        wanted = [(name, compute.unique(values).sort()) for name, values in compared]
        if not wanted:
            return None
        found, count = [arrow_schema(self.schema).empty_table()], 0
        for part, known in zip(self.parts, self._places, strict=True):
            places: Any = None
            # By the column that leaves fewest rows first: of these the others are looked at.
            for name, values in sorted(wanted, key=lambda one: part.expected(one[0], len(one[1]))):
                places = part.equal(name, values, places)
                if places is None:
                    return None
            if len(places) == 0:
                continue
            count += len(places)
            rows = part.at(places) if count <= MOST_ROWS else None
            if rows is None:
                return None
            known.append(places)
            found.append(rows)
        return pa.concat_tables(found[1:] or found)

    def rest(self) -> "pa.Table | None":
        """The rows of a small table that were not found."""
        import pyarrow as pa
        from pyarrow import compute

        (part,), (known,) = self.parts, self._places
        if not isinstance(part, _HeldPart):
            return None
        found = pa.concat_arrays([pa.array([], pa.uint64()), *(one.cast(pa.uint64()) for one in known)])
        places = pa.array(range(part.count), pa.uint64())
        return part.at(places.filter(compute.invert(compute.is_in(places, value_set=found))))

    def found(self) -> Held | None:
        """All rows that were found, each once, in all columns. None where they are many."""
        import pyarrow as pa
        from pyarrow import compute

        parts, count = [arrow_schema(self.schema).empty_table()], 0
        for part, known in zip(self.parts, self._places, strict=True):
            if known:
                # In their order: a view whose rows tie is not decided anew by the order of a search.
                places = compute.unique(pa.concat_arrays([one.cast(pa.uint64()) for one in known])).sort()
                count += len(places)
                rows = part.at(places) if count <= MOST_ROWS else None
                if rows is None:
                    return None
                parts.append(fitted(rows, self.schema))
        return Held(self.schema, latest_rows(parts, self._latest) if self._latest else pa.concat_tables(parts))
