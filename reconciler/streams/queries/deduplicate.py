"""The first row of each key, until the key is forgotten.

- A key is forgotten at the end of a step, when the watermark has passed its last event time by more than the expiry. Rows
  that are not given count for that, too.
- A row is late when its event time is earlier than the watermark before the step less the expiry, or when it has none. It is
  dropped.

The state has the keys, with `__last`, the last event time of the key in microseconds.
"""

from reconciler.base.names import quoted
from reconciler.streams.model import Deduplicate
from reconciler.streams.queries import Holds, Input, Memory, Moment, StreamQueries
from reconciler.streams.queries.parts import (
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
    together,
    within,
)
from reconciler.streams.queries.rows_by_key import LAST


def deduplicate_queries(transformation: Deduplicate, source: Input, state: str | None, moment: Moment) -> StreamQueries:
    """The queries of a step."""
    keys, columns, expiry = keys_in(source, transformation.keys), names_of(source), transformation.expiry
    in_time = within(micros(source), moment, expiry)
    rows = f"SELECT {listed(columns)}\nFROM {quoted(source.name)} AS `__row`"
    if state:
        # NULL is a key like others.
        same = (f"`__row`.{key} <=> `__known`.{key}" for key in keys)
        rows += f"\nLEFT ANTI JOIN {quoted(state)} AS `__known` ON {' AND '.join(same)}"
    order = listed([micros(source), *order_of(source)])
    place = f"ROW_NUMBER() OVER ({partition(keys)} ORDER BY {order}) AS `__place`"
    parts = [
        ("__rows", f"{rows}\nWHERE {in_time}"),
        ("__placed", f"SELECT {listed([*columns, place])}\nFROM `__rows`"),
    ]
    times = together(
        state and f"SELECT {listed([*keys, LAST])}\nFROM {quoted(state)}",
        f"SELECT {listed(keys)}, {micros(source)} AS {LAST}\nFROM {quoted(source.name)}\nWHERE {in_time}",
    )
    lasts = f"SELECT {listed(keys)}, MAX({LAST}) AS {LAST}\nFROM `__times`\nGROUP BY {listed(keys)}"
    kept = f"SELECT {listed([*keys, LAST])}\nFROM `__keys`\nWHERE {LAST} + {expiry} >= {after(moment)}"
    return StreamQueries(
        query(parts, f"SELECT {listed(columns)}\nFROM `__placed`\nWHERE `__place` = 1"),
        query([("__times", times), ("__keys", lasts)], kept),
        late_beyond(source, moment, expiry),
        source.event_time,
        Memory((*keys, LAST), *of_keys(source.name, keys), f"{LAST} + {expiry}", holds=Holds.GREATEST),
    )
