"""What a function of the pipeline makes of the rows of each key: it takes what it remembered of the key (NULL: nothing), and
the rows that came in this step, in their order; it gives what it remembers now, and rows.

- It is called once for a key in a step, for keys of which rows came in time. What it returns decides: a state of NULL is
  nothing remembered, and NULL in place of rows is none.
- A key is forgotten at the end of a step, when the watermark has passed its last event time by more than the expiry.
- A row is late when its event time is earlier than the watermark before the step less the expiry, or when it has none. It is
  dropped.

The state has the keys, `__state`, what the function remembers, and `__last`, the last event time of the key in microseconds.
"""

from reconciler.base.names import fold, quoted
from reconciler.streams.model import Custom
from reconciler.streams.queries import Input, Memory, Moment, StreamQueries
from reconciler.streams.queries.parts import (
    EVENT_TIME,
    after,
    keys_in,
    late_beyond,
    listed,
    literal,
    micros,
    of_keys,
    order_of,
    partition,
    query,
    together,
    within,
)
from reconciler.streams.queries.rows_by_key import LAST

_STATE, _ROW, _PLACE = "`__state`", "`__row`", "`__place`"


def custom_queries(transformation: Custom, source: Input, state: str | None, moment: Moment) -> StreamQueries:
    """The queries of a step."""
    keys, expiry = keys_in(source, transformation.keys), transformation.expiry
    spelled = {fold(name): name for name, _ in source.columns}
    fields = listed(
        f"{literal(name)}, CAST({quoted(spelled.get(fold(name), name))} AS {kind})" for name, kind in transformation.takes
    )
    place = f"ROW_NUMBER() OVER ({partition(keys)} ORDER BY {listed([micros(source), *order_of(source)])})"
    came = (
        f"SELECT {listed(keys)}, named_struct({fields}) AS {_ROW}, {place} AS {_PLACE}, {micros(source)} AS {LAST}\n"
        f"FROM {quoted(source.name)}\nWHERE {within(micros(source), moment, expiry)}"
    )
    # No two rows of a key have the same place, so the order in which they are collected does not matter.
    collected = f"collect_list(named_struct('place', {_PLACE}, 'row', {_ROW}))"
    in_order = f"array_sort({collected}, (l, r) -> CAST(l.place - r.place AS INT))"
    of_key = (
        f"SELECT {listed(keys)}, transform({in_order}, one -> one.row) AS `__rows`, MAX({LAST}) AS {LAST}\n"
        f"FROM `__came`\nGROUP BY {listed(keys)}"
    )
    nothing = f"CAST(NULL AS {transformation.state})"
    same = " AND ".join(f"`__k`.{key} <=> `__s`.{key}" for key in keys)
    own = listed(f"`__k`.{key}" for key in keys)
    if state is None:
        known = f"SELECT {listed(keys)}, `__rows`, {LAST}, {nothing} AS {_STATE}\nFROM `__of_key`"
    else:
        known = (
            f"SELECT {own}, `__k`.`__rows`, GREATEST(`__k`.{LAST}, `__s`.{LAST}) AS {LAST}, `__s`.{_STATE}\n"
            f"FROM `__of_key` AS `__k`\nLEFT JOIN {quoted(state)} AS `__s` ON {same}"
        )
    called = f"{quoted(transformation.function)}({_STATE}, `__rows`)"
    results = f"SELECT {listed(keys)}, {LAST}, {called} AS `__result`\nFROM `__known`"
    parts = [("__came", came), ("__of_key", of_key), ("__known", known), ("__called", results)]
    given = [*keys, *(f"`__given`.{quoted(name)}" for name, _ in transformation.gives)]
    output = f"SELECT {listed(given)}\nFROM `__called`\nLATERAL VIEW explode(`__result`.`rows`) `__rows_given` AS `__given`"
    # A key of which no row came stays as it is.
    others = state and (
        f"SELECT {listed(f'`__s`.{one}' for one in (*keys, _STATE, LAST))}\nFROM {quoted(state)} AS `__s`\n"
        f"LEFT ANTI JOIN `__of_key` AS `__k` ON {same}"
    )
    now = together(f"SELECT {listed(keys)}, `__result`.`state` AS {_STATE}, {LAST}\nFROM `__called`", others)
    kept = f"SELECT {listed([*keys, _STATE, LAST])}\nFROM `__now`\nWHERE {LAST} + {expiry} >= {after(moment)}"
    return StreamQueries(
        query(parts, output),
        query([*parts, ("__now", now)], kept),
        late_beyond(source, moment, expiry),
        EVENT_TIME,
        Memory((*keys, _STATE, LAST), *of_keys(source.name, keys), f"{LAST} + {expiry}"),
    )
