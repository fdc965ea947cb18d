"""Aggregates over the most recent rows of a key.

The rows of a key are counted since the key was first seen, or was forgotten. The trigger fires with each so-many-th one. A
firing gives the most recent rows up to that row, as many as the window has; a discarding one only those of them that came
since the last firing.
- A key is forgotten at the end of a step, when the watermark has passed its last event time by more than the expiry.
- A row is late when its event time is earlier than the watermark before the step less the expiry, or when it has none. It is
  dropped.
- `event_time` is that of the row with which the window fired.

The state has of each key the most recent rows, one less than the window (but one at least), in all their columns, with
`__count`, the row's count, and `__last`, the last event time of the key in microseconds.
"""

from reconciler.base.names import quoted
from reconciler.streams.model import Accumulation, AggregateOverWindow, Count, CountTrigger
from reconciler.streams.queries import Input, Memory, Moment, StepInput, StreamQueries
from reconciler.streams.queries.parts import (
    EVENT_TIME,
    after,
    greatest_multiple,
    keys_in,
    late_beyond,
    least_multiple,
    listed,
    names_of,
    of_keys,
    query,
    relation_alias,
    written,
)
from reconciler.streams.queries.rows_by_key import COUNT, KNOWN, LAST, TOTAL, Columns, counted_rows

_FIRING = "`__firing`"


def count_window_queries(
    transformation: AggregateOverWindow, window: Count, source: Input, state: str | None, moment: Moment
) -> StreamQueries:
    """The queries of a step."""
    keys, columns = keys_in(source, transformation.keys), names_of(source)
    expiry = transformation.expiry or 0
    assert isinstance(transformation.trigger, CountTrigger)
    every = transformation.trigger.rows
    discarding = transformation.accumulation is Accumulation.DISCARDING
    size = min(window.rows, every) if discarding else window.rows
    parts = counted_rows(
        StepInput(source, state, moment), transformation.input, keys, Columns(columns, columns, columns), expiry
    )
    first = f"GREATEST({least_multiple(COUNT, every)}, {greatest_multiple(KNOWN, every)} + {every})"
    last = f"LEAST({TOTAL}, {COUNT} + {size - 1})"
    numbers = f"CASE WHEN {first} <= {last} THEN sequence({first}, {last}, CAST({every} AS BIGINT)) ELSE array() END"
    firings = f"LATERAL VIEW explode({numbers}) `__firings` AS {_FIRING}"
    fired = f"SELECT {listed([*columns, COUNT, _FIRING])}\nFROM `__counted`\n{firings}"
    given = [
        *keys,
        *(f"{written(expression)} AS {quoted(name)}" for name, expression in transformation.aggregates),
        "'count' AS `firing`",
        f"MAX(CASE WHEN {COUNT} = {_FIRING} THEN {quoted(source.event_time)} END) AS {quoted(EVENT_TIME)}",
    ]
    fired_rows = f"`__fired` AS {relation_alias(transformation.input)}"
    output = f"SELECT {listed(given)}\nFROM {fired_rows}\nGROUP BY {listed([*keys, _FIRING])}"
    kept = (
        f"SELECT {listed([*columns, COUNT, LAST])}\nFROM `__counted`\n"
        f"WHERE {COUNT} > {TOTAL} - {max(window.rows - 1, 1)} AND {LAST} + {expiry} >= {after(moment)}"
    )
    return StreamQueries(
        query([*parts, ("__fired", fired)], output),
        query(parts, kept),
        late_beyond(source, moment, expiry),
        EVENT_TIME,
        Memory((*columns, COUNT, LAST), *of_keys(source.name, keys), f"{LAST} + {expiry}"),
    )
