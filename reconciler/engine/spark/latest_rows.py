"""Of a log in segments the rows that count, where a later one stands for an earlier one with the same keys.

Few rows only: of a log whose segments are all held, or of rows that were found in them.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from reconciler.engine.arrow.equal_rows import row_ids
from reconciler.engine.sources import LogSource, StoredSource
from reconciler.engine.spark.held_rows import MOST_ROWS, Held

if TYPE_CHECKING:
    import pyarrow as pa


def latest_rows(segments: "Sequence[pa.Table]", keys: Sequence[str]) -> "pa.Table":
    """The last row of each key, `segments` being the oldest first."""
    import pyarrow as pa

    rows = pa.concat_tables(segments)
    if len(segments) < 2 or not rows.num_rows:
        return rows
    (ids,) = row_ids([rows.select(list(keys))])
    placed = pa.table({"id": ids, "place": pa.array(range(rows.num_rows), pa.int64())})
    places = placed.group_by("id").aggregate([("place", "max")]).column("place_max")
    return rows.take(places.combine_chunks().sort())


def held_latest(source: LogSource, held_of: Callable[[StoredSource], Held | None]) -> Held | None:
    """The rows of a log that count, where these are few and all segments are held."""
    held = [held_of(segment) for segment in source.segments]
    known = [one for one in held if one is not None]
    if len(known) < len(held) or sum(one.rows.num_rows for one in known) > MOST_ROWS:
        return None
    if any(one.rows.schema != known[0].rows.schema for one in known):
        return None
    return Held(known[0].schema, latest_rows([one.rows for one in known], source.latest))
