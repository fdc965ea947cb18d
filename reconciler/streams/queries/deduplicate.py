"""The first row of each key, until the key is forgotten.

- A key is forgotten at the end of a step, when the watermark has passed its last event time by more than the expiry. Rows
  that are not given count for that, too.
- A row is late when its event time is earlier than the watermark before the step less the expiry, or when it has none. It is
  dropped.

The state has the keys, with `__last`, the last event time of the key in microseconds.
"""

from reconciler.streams.model import Deduplicate
from reconciler.streams.queries import Input, Memory, Moment, StreamQueries
from reconciler.streams.queries.parts import (
    NEW,
    TIME,
    after,
    keys_in,
    late_beyond,
    listed,
    micros,
    names_of,
    of_keys,
    order_of,
    partition,
    query,
    quoted,
    together,
    within,
)
from reconciler.streams.queries.rows_by_key import LAST


def deduplicate_queries(transformation: Deduplicate, source: Input, state: str | None, moment: Moment) -> StreamQueries:
    """The queries of a step."""
    keys, columns, expiry = keys_in(source, transformation.keys), names_of(source), transformation.expiry
    in_time = f"FROM {quoted(source.name)}\nWHERE {within(micros(source), moment, expiry)}"
    # A remembered key stands before all rows of it.
    known = [one if one in keys else f"NULL AS {one}" for one in columns]
    rows = together(
        state and f"SELECT {listed(known)}, FALSE AS {NEW}, {LAST} AS {TIME}\nFROM {quoted(state)}",
        f"SELECT {listed(columns)}, TRUE AS {NEW}, {micros(source)} AS {TIME}\n{in_time}",
    )
    order = listed([NEW, TIME, *order_of(source)])
    place = f"ROW_NUMBER() OVER ({partition(keys)} ORDER BY {order}) AS `__place`"
    first = f"SELECT {listed([*columns, NEW, place])}\nFROM `__rows`"
    output = query(
        [("__rows", rows), ("__placed", first)], f"SELECT {listed(columns)}\nFROM `__placed`\nWHERE `__place` = 1 AND {NEW}"
    )
    times = together(
        state and f"SELECT {listed([*keys, LAST])}\nFROM {quoted(state)}",
        f"SELECT {listed(keys)}, {micros(source)} AS {LAST}\n{in_time}",
    )
    lasts = f"SELECT {listed(keys)}, MAX({LAST}) AS {LAST}\nFROM `__times`\nGROUP BY {listed(keys)}"
    kept = f"SELECT {listed([*keys, LAST])}\nFROM `__keys`\nWHERE {LAST} + {expiry} >= {after(moment)}"
    return StreamQueries(
        output,
        query([("__times", times), ("__keys", lasts)], kept),
        late_beyond(source, moment, expiry),
        source.event_time,
        Memory((*keys, LAST), *of_keys(source.name, keys), f"{LAST} + {expiry}"),
    )
