"""`delta_table_output` in this process: small changes of a view brought to a small table (`engine.spark.emit.delta_table`
says what is promised, and does it for all others).

- What is written is what Spark would write: one commit with the emission's transaction and id, or none where nothing
  changed. A row that goes is taken out of the files that hold it; what the table lacks is passed over.
- Left to Spark: tables that are large or not surely understood (`delta.arrow_rows`, `arrow_writes`), on anything but a disk
  of this machine, reached with options of the connector; whatever is refused (X752, X753); writes that others came before.
"""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import RegistryError
from reconciler.base.names import fold
from reconciler.delta.arrow_rows import OpenedTable, arrow_schema, plain_table, rows_by_file, rows_of
from reconciler.delta.arrow_writes import (
    Taken,
    all_nullable,
    append,
    create,
    is_writable,
    needs_features,
    overwrite,
    rewrite,
)
from reconciler.delta.commits import said_with
from reconciler.engine.arrow.emit.changes import Changes, changes, is_small, shape
from reconciler.engine.arrow.emit.places import plain_place
from reconciler.engine.arrow.equal_rows import row_ids
from reconciler.engine.protocol import Check, Emission, Emitted
from reconciler.engine.repeats import another_emission, is_repeated, what_is_kept
from reconciler.engine.secrets import resolved
from reconciler.engine.sink_places import require_outside_of_warehouses

if TYPE_CHECKING:
    import pyarrow as pa

_OPTIONS: Final = frozenset({"uri", "mode"})


def emit(emission: Emission, check: Check) -> Emitted | None:
    """Bring the sink to what the view holds, once; None: nothing was written, and it is for Spark to do."""
    config = resolved(emission.settings)["transport"]["config"]
    location = plain_place(config, "uri", _OPTIONS)
    if location is None:
        return None
    require_outside_of_warehouses(emission, location)
    sink = plain_table(location)
    if sink is None:
        if os.path.lexists(location) and (not os.path.isdir(location) or os.listdir(location)):
            # Something that a new table might stand in the way of.
            return None
        last = -1
    else:
        found = sink.opened.transaction_version(emission.transaction.application)
        last = -1 if found is None else int(found)
        if last >= emission.transaction.version:
            _require_a_repeat(emission, sink, last)
            return Emitted(0, 0, reused=True, without_spark=True)
        if not is_writable(sink):
            return None
    is_first = last < 0
    mode = str(config.get("mode", "append")) if is_first and sink is not None else "append"
    if mode not in ("append", "truncate"):
        return None
    changed = changes(emission)
    if changed is None:
        return None
    write = _write(emission, location, changed, _Sink(sink, is_first, emission.replaces or mode == "truncate"))
    if write is None:
        return None
    require_outside_of_warehouses(emission, location)
    check()
    try:
        version = write()
    except RegistryError:
        # Somebody wrote meanwhile, or the system refused: Spark looks at what is there, and says what is wrong.
        return None
    if version is not None:
        _require_to_be_this(emission, location, version)
    return Emitted(changed.inserted, changed.deleted, without_spark=True)


@dataclass(frozen=True, slots=True)
class _Sink:
    """The table, if there is one; whether this is the connector's first emission to it; whether it is emptied."""

    table: OpenedTable | None
    is_first: bool
    is_emptied: bool


def _require_a_repeat(emission: Emission, sink: OpenedTable, last: int) -> None:
    """Raises AnotherEmission unless what the sink has of this number is this emission, as far as that can be looked up."""
    if not emission.id:
        return
    said = said_with(sink.location, sink.version, emission.transaction)
    if said is None:
        # With nothing later, its commit is only too long ago to be read.
        if last == emission.transaction.version:
            return
    elif is_repeated(emission, said):
        return
    raise another_emission(emission, sink.location, last)


def _require_to_be_this(emission: Emission, location: str, version: int) -> None:
    """Raises AnotherEmission where what came in under its number meanwhile is another's."""
    said = said_with(location, version, emission.transaction) if emission.id else None
    if said is not None and not is_repeated(emission, said):
        raise another_emission(emission, location, emission.transaction.version)


def _write(emission: Emission, location: str, changed: Changes, sink: _Sink) -> Callable[[], int | None] | None:
    """What writes the changes, with all that it needs read; None where that is not small, or not surely right."""
    commit: JsonObject = {**emission.commit, **what_is_kept(emission)}
    table, schema = sink.table, all_nullable(changed.after.schema)
    if table is None or sink.is_emptied or _is_other(table, changed):
        if table is not None and not sink.is_emptied and sink.is_first:
            return None
        rows = _all_rows(changed) if table is not None and not sink.is_emptied else _rows_that_come(changed)
        if rows is None or (needs_features(schema) and (table is None or not needs_features(table.schema))):
            return None
        if table is None:
            return lambda: create(location, schema, rows, emission.transaction, commit)
        return lambda: overwrite(table, schema, rows, emission.transaction, commit)
    coming = _in_columns_of(table, changed.coming)
    if changed.deleted:
        staying = _staying(table, _in_columns_of(table, changed.going), changed.copies)
        if staying is None:
            return None
        return lambda: rewrite(table, Taken(staying), coming, emission.transaction, commit)
    if changed.inserted:
        return lambda: append(table, coming, emission.transaction, commit)
    return lambda: None


def _is_other(sink: OpenedTable, changed: Changes) -> bool:
    """Whether the sink has, or had to have, other columns than the view has now; their order does not count."""
    return changed.columns_differ or dict(shape(sink)) != dict(shape(changed.after))


def _rows_that_come(changed: Changes) -> "pa.Table":
    return changed.coming if changed.whole is None else changed.whole


def _all_rows(changed: Changes) -> "pa.Table | None":
    """All that the view holds."""
    if changed.whole is not None:
        return changed.whole
    return rows_of(changed.after) if is_small(changed.after.files) else None


def _in_columns_of(sink: OpenedTable, rows: "pa.Table") -> "pa.Table":
    wanted = arrow_schema(sink.schema)
    by_name = dict(zip(map(fold, rows.column_names), rows.columns, strict=True))
    return type(rows).from_arrays([by_name[fold(name)] for name in wanted.names], schema=wanted)


def _staying(sink: OpenedTable, going: "pa.Table", copies: Sequence[int]) -> "dict[str, pa.Table] | None":
    """Of each of the sink's files that holds rows that go, by its path, those that stay. Of a row that it has fewer times
    than go, none stays. None where it is not small."""
    import pyarrow as pa
    from pyarrow import compute

    if not is_small(sink.files):
        return None
    held = rows_by_file(sink, sink.files)
    if held is None:
        return None
    ids, *of_files = row_ids([going, *held])
    left = dict(zip(ids.to_pylist(), copies, strict=True))
    staying = {}
    for file, rows, here in zip(sink.files, held, of_files, strict=True):
        taken = set()
        for index in compute.indices_nonzero(compute.is_in(here, value_set=ids)).to_pylist():
            if left[here[index].as_py()] > 0:
                left[here[index].as_py()] -= 1
                taken.add(index)
        if taken:
            staying[file.path] = rows.take(pa.array([at for at in range(rows.num_rows) if at not in taken], pa.int64()))
    return staying
