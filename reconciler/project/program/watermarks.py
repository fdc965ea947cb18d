"""The watermark of a stream after all that its tables have, in SQL: what a stream goes by that is computed as a whole.

It is what `Stream.watermark` and `Clock.least` say of the event times that came step by step, where all came in one.
"""

from reconciler.base.names import quoted
from reconciler.project.program.model import Clock, Stream
from reconciler.streams.queries.parts import listed


def watermark_query(stream: Stream) -> str:
    """The watermark of a stream after all that its tables have, as an expression of SQL."""
    found = [f"(SELECT {_greatest(one)} - {one.delay} FROM {_event_times(one)})" for one in stream.clocks]
    if any(one.idle_after is not None for one in stream.clocks) and len(found) > 1:
        # GREATEST passes over NULLs.
        furthest = f"greatest({', '.join(found)})"
        found = [
            mark if one.idle_after is None else f"greatest({mark}, {furthest} - {one.idle_after})"
            for one, mark in zip(stream.clocks, found, strict=True)
        ]
    whole = found[0]
    for another in found[1:]:
        # LEAST passes over NULLs, and an input without a watermark has the last word.
        whole = f"CASE WHEN {whole} IS NOT NULL AND {another} IS NOT NULL THEN least({whole}, {another}) END"
    return whole


def _greatest(clock: Clock) -> str:
    """How far event time has come, over the rows of `_event_times`."""
    if clock.per is None:
        return f"max(unix_micros({quoted(clock.column)}))"
    if clock.idle_after is None:
        return "min(`__greatest`)"
    return f"min(greatest(`__greatest`, `__furthest` - {clock.idle_after}))"


def _event_times(clock: Clock) -> str:
    """What stands behind FROM to read the event times of a clock. Where values have a watermark of their own, it is the
    greatest of each (`__greatest`), beside that of all (`__furthest`)."""
    rows = quoted(clock.assigned)
    if clock.per is None:
        return rows
    time, values = f"unix_micros({quoted(clock.column)})", listed(map(quoted, clock.per))
    return (
        f"(SELECT max({time}) AS `__greatest`, max(max({time})) OVER () AS `__furthest` "
        f"FROM {rows} WHERE {quoted(clock.column)} IS NOT NULL GROUP BY {values}) AS `__times`"
    )
