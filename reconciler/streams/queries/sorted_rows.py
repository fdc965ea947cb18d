"""Each row of a stream once, when the watermark has passed its event time: all rows before it have come, but for late ones.

A row of which the event time is the watermark is not given yet: others of that event time are not late. A row that is late
(its event time is before the watermark), or has no event time, is given at once, and counted. Rows that a step gives are in
the order of event time by key; the table that they are added to has no order of its own.

The state has the rows that were not given, in all their columns.
"""

from reconciler.base.names import quoted
from reconciler.streams.model import Sort
from reconciler.streams.queries import Holds, Input, Memory, Moment, StreamQueries
from reconciler.streams.queries.parts import after, late_beyond, listed, micros, names_of, query, together


def sort_queries(transformation: Sort, source: Input, state: str | None, moment: Moment) -> StreamQueries:
    """The queries of a step."""
    columns = listed(names_of(source))
    rows = together(state and f"SELECT {columns}\nFROM {quoted(state)}", f"SELECT {columns}\nFROM {quoted(source.name)}")
    waits = f"COALESCE({micros(source)} >= {after(moment)}, FALSE)"
    return StreamQueries(
        query([("__rows", rows)], f"SELECT {columns}\nFROM `__rows`\nWHERE NOT {waits}"),
        query([("__rows", rows)], f"SELECT {columns}\nFROM `__rows`\nWHERE {waits}"),
        late_beyond(source, moment, 0),
        source.event_time,
        Memory(
            tuple(names_of(source)),
            (),
            (),
            micros(source),
            due=(f"{micros(source)} + 1", f"{micros(source)} + 1"),
            holds=Holds.ALL,
            needs_keys=False,
        ),
    )
