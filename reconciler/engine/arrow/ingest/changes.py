"""What was read for sure, into its table: one commit on the newest version, or none.

- Without a key, rows are appended; where some are deleted, the table is a multiset (`multisets`).
- With a key, of each key the last change in reading order counts, against the table as it was: its row replaces or removes
  the one of equal key, or is added. Counted is what `engine.spark.ingest.changes` counts: a delete is unmatched where the
  table has no row of its key, unless the same range inserted one just before.
  Updates set columns of the row that the changes before them left; where these left none, they do nothing. An update is
  unmatched where neither the table has a row of its key nor another change of the range is of that key.
  Of rows without an order Spark takes any, so two that insert one key are left to it.
- Late rows are left out and counted. A record that becomes two rows, and late ones that are to be kept, are Spark's work.
- The commit says of itself what Spark's says: `operationMetrics` by the names that `engine.spark.writes` reads.

Which tables are written says `target_table`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.delta.arrow_rows import OpenedTable, rows_by_file
from reconciler.delta.arrow_writes import Taken, append, rewrite
from reconciler.engine.arrow.ingest import multisets
from reconciler.engine.arrow.ingest.incoming import Change, Incoming, Row
from reconciler.engine.arrow.ingest.stored_values import as_numbers, values_of
from reconciler.engine.arrow.ingest.target_table import as_arrow, files_to_search, is_small, key_places
from reconciler.engine.arrow.ingest.values import NotSure
from reconciler.engine.protocol import Ingestion, TableTarget, Written
from reconciler.project.program.lateness import Number

if TYPE_CHECKING:
    import pyarrow

_MOST_FILES_WITH_KEY: Final = 16
"""Each range looks through all of them."""


def write(table: OpenedTable, ingestion: Ingestion, incoming: Incoming) -> Written:
    """Write the changes."""
    target = ingestion.target
    on_time = _without_late(ingestion, incoming)
    if not on_time.changes:
        raise NotSure("nothing")
    written = _by_key(table, ingestion, on_time) if target.primary_key else _appended(table, ingestion, on_time)
    return replace(written, late=len(incoming.changes) - len(on_time.changes))


def _without_late(ingestion: Ingestion, incoming: Incoming) -> Incoming:
    """What was read, without late rows."""
    first, target = ingestion.first_on_time, ingestion.target
    if not first:
        return incoming
    keys = key_places(target)
    looked_at = [
        (place, place in keys or not keys, first[fold(column.name)])
        for place, column in enumerate(target.columns)
        if fold(column.name) in first
    ]
    on_time = tuple(change for change in incoming.changes if not _is_late(change, looked_at))
    keeps_late = ingestion.dead_letters is not None and ingestion.dead_letters.keeps_late
    if len(on_time) < len(incoming.changes) and (keeps_late or incoming.has_pairs):
        raise NotSure("a late row")
    return replace(incoming, changes=on_time)


def _is_late(change: Change, looked_at: Sequence[tuple[int, bool, Number]]) -> bool:
    return any(
        change.row[place] is not None and change.row[place] < first
        for place, counts_in_deletes, first in looked_at
        if counts_in_deletes or not change.deletes
    )


def _appended(table: OpenedTable, ingestion: Ingestion, incoming: Incoming) -> Written:
    if any(change.deletes for change in incoming.changes):
        applied = multisets.apply(table, ingestion, incoming.changes)
        return replace(_written(applied.version, applied.rows, incoming), unmatched=applied.unmatched)
    rows = as_arrow([change.row for change in incoming.changes], table)
    version = append(table, rows, ingestion.transaction, ingestion.commit)
    return _written(version, len(incoming.changes), incoming)


def _by_key(table: OpenedTable, ingestion: Ingestion, incoming: Incoming) -> Written:
    target = ingestion.target
    every = _last_of_each_key(incoming, target)
    found = _find(table, target, every)
    replaces = len(target.primary_key) < len(target.columns)
    lost = {key for key, one in every.items() if one.sets is not None and key not in found.keys}
    last = {key: one for key, one in every.items() if key not in lost}
    deleted = [key for key, one in last.items() if one.deletes and key in found.keys]
    kept = {key for key, one in last.items() if not one.deletes and key in found.keys and not replaces}
    coming = [_whole(one, found.updated.get(key)) for key, one in last.items() if not one.deletes and key not in kept]
    inserted = sum(not one.deletes and key not in found.keys for key, one in last.items())
    updated = len(coming) - inserted
    searched = found if replaces else _find(table, target, {key: last[key] for key in deleted})
    metrics = {
        "numSourceRows": len(every),
        "numTargetRowsDeleted": len(deleted),
        "numTargetRowsUpdated": updated,
        "numTargetRowsInserted": inserted,
    }
    rows = as_arrow(coming, table)
    version = rewrite(table, _taken(searched, rows), rows, ingestion.transaction, ingestion.commit, metrics)
    unmatched = sum(one.deletes and key not in found.keys and not one.came for key, one in last.items())
    unmatched += len(lost) if replaces else 0
    changed = len(deleted) + updated + inserted if incoming.tells_deletes else len(last)
    return replace(_written(version, changed, incoming), unmatched=unmatched)


def _written(version: int, rows: int, incoming: Incoming) -> Written:
    return Written(version, rows, unknown=incoming.unknown, missing=incoming.missing, without_spark=True)


@dataclass(slots=True)
class _Last:
    """What the changes of a key come to: the last one, with what updates after it set; whether it deletes what came just
    before it. `sets`: there are updates alone, which set the columns at these places."""

    row: Row
    deletes: bool
    came: bool
    sets: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """The keys among those looked for that a table has; of those that are updated, their rows; of each file with any of
    them, by its path, the rows of others; and their own rows, in parts."""

    keys: frozenset[Row] = frozenset()
    updated: Mapping[Row, Row] = field(default_factory=dict)
    staying: "Mapping[str, pyarrow.Table]" = field(default_factory=dict)
    going: "Sequence[pyarrow.Table]" = ()


def _last_of_each_key(incoming: Incoming, target: TableTarget) -> dict[Row, _Last]:
    places = key_places(target)
    last: dict[Row, _Last] = {}
    for change in incoming.changes:
        key = tuple(change.row[place] for place in places)
        before = last.pop(key, None)
        if change.sets is not None:
            last[key] = _after_update(before, change.row, change.sets)
            continue
        if before is not None and not (incoming.is_ordered or before.deletes):
            raise NotSure("two rows of one key")
        came = change.deletes and before is not None and not before.deletes and before.sets is None
        last[key] = _Last(change.row, change.deletes, came)
    return last


def _after_update(before: _Last | None, row: Row, sets: frozenset[int]) -> _Last:
    if before is None:
        return _Last(row, deletes=False, came=False, sets=sets)
    if before.deletes:
        return before
    both = tuple(new if place in sets else old for place, (old, new) in enumerate(zip(before.row, row, strict=True)))
    return replace(before, row=both, sets=None if before.sets is None else before.sets | sets)


def _whole(one: _Last, held: Row | None) -> Row:
    """The row that a change leaves, of a table that had this one where it is updated."""
    sets = one.sets
    if sets is None or held is None:
        return one.row
    return tuple(new if place in sets else old for place, (old, new) in enumerate(zip(held, one.row, strict=True)))


def _find(table: OpenedTable, target: TableTarget, keys: Mapping[Row, _Last]) -> _Found:
    """Look for these keys in a table. Where it is small and has many files, all are written anew. Raises NotSure where it
    has one of the keys twice, or can't be read."""
    import pyarrow
    from pyarrow import compute

    wanted = frozenset(keys)
    names = [table.schema["fields"][place]["name"] for place in key_places(target)]
    there: set[Row] = set()
    updated: dict[Row, Row] = {}
    staying: dict[str, pyarrow.Table] = {}
    going: list[pyarrow.Table] = []
    files = files_to_search(table, as_arrow(wanted, table, names)) if wanted else ()
    puts_together = is_small(table) and len(table.files) > _MOST_FILES_WITH_KEY
    held = rows_by_file(table, files)
    if held is None:
        raise NotSure("the rows of the table")
    for file, rows in zip(files, held, strict=True):
        columns = [as_numbers(rows.column(name)) for name in names]
        firsts = pyarrow.array(sorted({key[0] for key in wanted}), columns[0].type)
        likely = compute.indices_nonzero(compute.is_in(columns[0], value_set=firsts))
        parts = zip(*(values_of(column.take(likely)) for column in columns), strict=True)
        found = {place: key for place, key in zip(likely.to_pylist(), parts, strict=True) if key in wanted}
        if not found and not puts_together:
            continue
        if len(set(found.values())) < len(found) or there & set(found.values()):
            raise NotSure("a key twice")
        there |= set(found.values())
        updated |= _rows_at(rows, {place: key for place, key in found.items() if keys[key].sets is not None})
        mask = pyarrow.array([place not in found for place in range(rows.num_rows)], pyarrow.bool_())
        staying[file.path] = rows.filter(mask)
        going.append(rows.filter(compute.invert(mask)))
    return _Found(frozenset(there), updated, staying, going)


def _taken(found: _Found, coming: "pyarrow.Table") -> Taken:
    """The rows of the keys that were found, which go."""
    import pyarrow

    return Taken(found.staying, pyarrow.concat_tables([coming.slice(0, 0), *found.going]))


def _rows_at(rows: "pyarrow.Table", places: Mapping[int, Row]) -> dict[Row, Row]:
    """The rows at these places, by their keys."""
    import pyarrow

    at = pyarrow.array(list(places), pyarrow.int64())
    return dict(zip(places.values(), zip(*(values_of(one.take(at)) for one in rows.columns), strict=True), strict=True))
