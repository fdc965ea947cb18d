"""Each row of a stream, with values of the row of its key that came so many rows before it.

- A row that has no such row before it gets NULL.
- A key is forgotten at the end of a step, when the watermark has passed its last event time by more than the expiry.
- A row is late when its event time is earlier than the watermark before the step less the expiry, or when it has none. It is
  dropped.

The state has of each key the most recent rows, as many as are looked back over: the keys, `__value_<name>` for each value
that is given, `__count`, the row's count since the key was first seen, and `__last`, the last event time of the key in
microseconds.
"""

from reconciler.base.names import quoted
from reconciler.streams.model import Previous
from reconciler.streams.queries import Input, Memory, Moment, StepInput, StreamQueries
from reconciler.streams.queries.parts import (
    NEW,
    after,
    keys_in,
    late_beyond,
    listed,
    names_of,
    of_keys,
    partition,
    query,
    written,
)
from reconciler.streams.queries.rows_by_key import COUNT, LAST, TOTAL, Columns, counted_rows


def previous_queries(transformation: Previous, source: Input, state: str | None, moment: Moment) -> StreamQueries:
    """The queries of a step."""
    keys, columns = keys_in(source, transformation.keys), names_of(source)
    offset, expiry = transformation.offset, transformation.expiry
    values = {name: quoted(f"__value_{name}") for name, _ in transformation.columns}
    taken = [f"{written(expression)} AS {values[name]}" for name, expression in transformation.columns]

    def counted(columns: list[str]) -> list[tuple[str, str]]:
        known = [one if one in keys else f"NULL AS {one}" for one in columns]
        counted = Columns([*columns, *values.values()], [*columns, *taken], [*known, *values.values()])
        return counted_rows(StepInput(source, state, moment), transformation.input, keys, counted, expiry)

    window = f"{partition(keys)} ORDER BY {COUNT}"
    before = [f"LAG({value}, {offset}) OVER ({window}) AS {quoted(name)}" for name, value in values.items()]
    looked_back = f"SELECT {listed([*columns, NEW, *before])}\nFROM `__counted`"
    given = f"SELECT {listed([*columns, *map(quoted, values)])}\nFROM `__looked_back`\nWHERE {NEW}"
    remembered = [*keys, *values.values(), COUNT, LAST]
    kept = (
        f"SELECT {listed(remembered)}\nFROM `__counted`\n"
        f"WHERE {COUNT} > {TOTAL} - {offset} AND {LAST} + {expiry} >= {after(moment)}"
    )
    return StreamQueries(
        query([*counted(columns), ("__looked_back", looked_back)], given),
        query(counted(keys), kept),
        late_beyond(source, moment, expiry),
        source.event_time,
        Memory(tuple(remembered), *of_keys(source.name, keys), f"{LAST} + {expiry}"),
    )
