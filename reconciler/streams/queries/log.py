"""What is remembered, as a log: each step writes down what it knows of the keys that it came upon, and reads no more.

- A row of the log has the columns of the state, and `__written`, the step that wrote it; `__until`, the last watermark with
  which it is remembered; and, where it gives something by itself, `__due` and `__due_last` (see `Memory.due`).
- What several steps wrote of a key is taken together as `Holds` says. What a step forgets is not written down: a row is
  never remembered longer than one that stands for it, as keys and sessions only gain later rows. So the earlier rows are
  past their `__until`, too.
- A step needs the keys of the rows that come, those of rows that are due, and all that is remembered of either. What is left
  out of a log before a step reads it, may be whatever is of no such key.
- A step may put segments of the log together: the last ones, so that an earlier row never comes to stand after a later one.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.names import quoted
from reconciler.streams.queries import Holds, LateQueries, Memory, Moment, StreamQueries
from reconciler.streams.queries.parts import after, after_parts, before, listed, query, together

WRITTEN: Final = "__written"
UNTIL: Final = "__until"
DUE: Final = "__due"
DUE_LAST: Final = "__due_last"
NEEDED: Final = "__needed"
"""The relation by which the queries of a transformation read what a step needs of the log."""

_NEWEST: Final = "`__newest`"


@dataclass(frozen=True, slots=True)
class Log:
    """The names of relations: `all` has the whole log, `last` the segments that are put together with what the step writes
    (None: none are). `is_rewritten`: the definition is another one than that by which the log was written; all of it is
    read, and written anew."""

    all: str
    last: str | None = None
    is_rewritten: bool = False


def first_log(queries: StreamQueries, moment: Moment) -> StreamQueries:
    """The queries of a first step, which reads no state: `state` writes the log."""
    return replace(queries, state=_written(queries.memory, queries.state, moment))


def log_queries(queries: StreamQueries, state: str, log: Log, moment: Moment) -> StreamQueries:
    """The queries of a step that read the log. Those given read `NEEDED` as their state, but for `state`, which is read
    instead of theirs: where rows are added, it reads none."""
    memory = queries.memory
    needed = [(NEEDED, _needed(memory, log, moment))]
    written = _written(memory, state, moment)
    if log.last is not None and not log.is_rewritten:
        written = _put_together(memory, written, log.last, moment)
    late = queries.late
    # Only of sessions it needs what is remembered to know which rows are late.
    if quoted(NEEDED) in late.count:
        late = LateQueries(after_parts(needed, late.count), after_parts(needed, late.rows))
    return replace(queries, output=after_parts(needed, queries.output), state=after_parts(needed, written), late=late)


def _log_columns(memory: Memory) -> list[str]:
    due = [] if memory.due is None else [DUE, DUE_LAST]
    return [*memory.columns, *map(quoted, (WRITTEN, UNTIL, *due))]


def _written(memory: Memory, state: str, moment: Moment) -> str:
    """The rows of a state as the log has them."""
    values = [f"CAST({moment.step} AS BIGINT)", memory.until, *(memory.due or ())]
    names = _log_columns(memory)[len(memory.columns) :]
    added = [f"CAST({value} AS BIGINT) AS {name}" for value, name in zip(values, names, strict=True)]
    return query([("__kept", state)], f"SELECT {listed([*memory.columns, *added])}\nFROM `__kept`")


def _needed(memory: Memory, log: Log, moment: Moment) -> str:
    read, rows = [*memory.columns, quoted(WRITTEN), quoted(UNTIL)], quoted(log.all)
    remembered = f"{quoted(UNTIL)} >= {before(moment)}"
    due = f"{quoted(DUE)} <= {after(moment)} AND {quoted(DUE_LAST)} > {before(moment)}"
    if log.is_rewritten:
        return _latest(memory, f"SELECT {listed(read)}\nFROM {rows}", remembered, memory.columns)
    if memory.holds.is_added_to:
        conditions = [] if memory.due is None else [f"({due})"]
        if memory.needs_keys:
            conditions.append(_is_one_of(memory, _keys_that_came(memory)))
        return f"SELECT {listed(memory.columns)}\nFROM {rows} AS `__log`\nWHERE {remembered} AND ({' OR '.join(conditions)})"
    keys = [*_keys_that_came(memory)]
    if memory.due is not None:
        keys.append(f"SELECT {_named_keys(_keys(memory))}\nFROM {rows}\nWHERE {remembered} AND {due}")
    found = (
        f"SELECT {listed(f'`__log`.{one}' for one in read)}\nFROM {rows} AS `__log`\n"
        f"LEFT SEMI JOIN (\n{together(*keys)}\n) AS `__keys` ON {_same_keys(memory)}"
    )
    return _latest(memory, found, remembered, memory.columns)


def _put_together(memory: Memory, written: str, last: str, moment: Moment) -> str:
    """The rows that a step writes, with those of earlier segments that are still remembered."""
    columns, remembered = _log_columns(memory), f"{quoted(UNTIL)} >= {after(moment)}"
    earlier = f"SELECT {listed(columns)}\nFROM {quoted(last)}"
    now = f"SELECT {listed(columns)}\nFROM `__now`"
    if memory.holds is Holds.ALL:
        return query([("__now", written)], together(f"{earlier}\nWHERE {remembered}", now))
    return query([("__now", written)], _latest(memory, together(earlier, now), remembered, columns))


def _latest(memory: Memory, rows: str, condition: str, columns: Sequence[str]) -> str:
    """Of rows of a log what is remembered of each key, where it meets a condition that later rows meet longer."""
    of_all = f"FROM (\n{rows}\n) AS `__all`\nWHERE {condition}"
    if memory.holds is Holds.ALL:
        return f"SELECT {listed(columns)}\n{of_all}"
    if memory.holds is Holds.GREATEST:
        keys = _keys(memory)
        grouped = [one if one in keys else f"MAX({one}) AS {one}" for one in columns]
        return f"SELECT {listed(grouped)}\n{of_all}\nGROUP BY {listed(keys)}"
    newest = f"MAX({quoted(WRITTEN)}) OVER (PARTITION BY {listed(_keys(memory))}) AS {_NEWEST}"
    read = dict.fromkeys([*columns, quoted(WRITTEN), quoted(UNTIL)])
    placed = f"SELECT {listed([*read, newest])}\nFROM (\n{rows}\n) AS `__all`"
    holds = f"{quoted(WRITTEN)} = {_NEWEST} AND {condition}"
    return f"SELECT {listed(columns)}\nFROM (\n{placed}\n) AS `__placed_log`\nWHERE {holds}"


def _keys(memory: Memory) -> list[str]:
    """The keys of a row of the log, as expressions."""
    return [_one_of(columns) for columns in memory.keys]


def _one_of(columns: Sequence[str]) -> str:
    """The one of these that has the key of a row."""
    return columns[0] if len(columns) == 1 else f"COALESCE({listed(columns)})"


def _keys_that_came(memory: Memory) -> list[str]:
    return [f"SELECT {_named_keys(keys)}\nFROM {quoted(name)}" for name, keys in memory.came]


def _named_keys(keys: Sequence[str]) -> str:
    return listed(f"{key} AS {quoted(f'__key_{place}')}" for place, key in enumerate(keys, 1))


def _same_keys(memory: Memory) -> str:
    """That a row of `__log` has the keys of `__keys`. NULL is a key like others. A name alone might be a function in a
    subquery: `user`, `current_date`."""
    of_log = [[f"`__log`.{column}" for column in columns] for columns in memory.keys]
    pairs = ((_one_of(columns), quoted(f"__key_{place}")) for place, columns in enumerate(of_log, 1))
    return " AND ".join(f"{key} <=> `__keys`.{name}" for key, name in pairs)


def _is_one_of(memory: Memory, keys: Sequence[str]) -> str:
    return f"EXISTS (\nSELECT 1\nFROM (\n{together(*keys)}\n) AS `__keys`\nWHERE {_same_keys(memory)}\n)"
