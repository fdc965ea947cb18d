"""Each row of a stream, with aggregates over all rows of its key up to it.

- A key is forgotten at the end of a step, when the watermark has passed its last event time by more than the expiry. Its
  aggregates begin anew.
- A row is late when its event time is earlier than the watermark before the step less the expiry, or when it has none. It is
  dropped.
- Which aggregates there are, `running_forms` says.

The state has a row for each key: the keys, `__value_<name>` for each aggregate (of an average `__sum_<name>` and
`__count_<name>`), and `__last`, the last event time of the key in microseconds.
"""

from reconciler.base.names import quoted
from reconciler.streams.model import RunningAggregate
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
    relation_alias,
    together,
    within,
)
from reconciler.streams.queries.rows_by_key import LAST
from reconciler.streams.queries.running_forms import kept_values, results_of, running_form


def running_queries(transformation: RunningAggregate, source: Input, state: str | None, moment: Moment) -> StreamQueries:
    """The queries of a step."""
    keys, columns, expiry = keys_in(source, transformation.keys), names_of(source), transformation.expiry
    forms = [(name, running_form(expression, source.columns)) for name, expression in transformation.aggregates]
    kept = kept_values(forms)
    values = [column for column, _ in kept]
    of_rows = [f"{one.of_row} AS {column}" for column, one in kept]
    known = [one if one in keys else f"NULL AS {one}" for one in columns]
    rows = together(
        state and f"SELECT {listed([*known, *values])}, FALSE AS {NEW}, {LAST} AS {TIME}\nFROM {quoted(state)}",
        f"SELECT {listed([*columns, *of_rows])}, TRUE AS {NEW}, {micros(source)} AS {TIME}\n"
        f"FROM {quoted(source.name)} AS {relation_alias(transformation.input)}\n"
        f"WHERE {within(micros(source), moment, expiry)}",
    )
    order = listed([NEW, TIME, *order_of(source)])
    over = f"OVER ({partition(keys)} ORDER BY {order} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    combined = [f"{one.combine(column, over)} AS {column}" for column, one in kept]
    counted = [
        f"ROW_NUMBER() OVER ({partition(keys)} ORDER BY {order}) AS `__place`",
        f"COUNT(*) OVER ({partition(keys)}) AS `__total`",
        f"MAX({TIME}) OVER ({partition(keys)}) AS {LAST}",
    ]
    parts = [
        ("__rows", rows),
        ("__running", f"SELECT {listed([*columns, NEW, *combined, *counted])}\nFROM `__rows`"),
    ]
    names = (quoted(name) for name, _ in forms)
    results = [f"{result} AS {name}" for result, name in zip(results_of(forms), names, strict=True)]
    return StreamQueries(
        query(parts, f"SELECT {listed([*columns, *results])}\nFROM `__running`\nWHERE {NEW}"),
        query(
            parts,
            f"SELECT {listed([*keys, *values, LAST])}\nFROM `__running`\n"
            f"WHERE `__place` = `__total` AND {LAST} + {expiry} >= {after(moment)}",
        ),
        late_beyond(source, moment, expiry),
        source.event_time,
        Memory((*keys, *values, LAST), *of_keys(source.name, keys), f"{LAST} + {expiry}"),
    )
