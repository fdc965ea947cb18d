"""What is kept of a query over a history, step by step, held against the query from scratch."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from reconciler.incremental import changed_groups
from reconciler.incremental.added_rows import added_query, reads_of_terms
from reconciler.incremental.changed_rows import changed_rows_query
from reconciler.incremental.kept_aggregate import KEPT, changed_query, finishing_query, state_query
from reconciler.incremental.model import Method, froms_of, read_whole
from reconciler.incremental.needed_rows import KeyRange, needed_rows
from reconciler.incremental.terms import changed_source, former_source
from tests.incremental.queries import Row, Tables, changes, groups_of, kept_of, linear_of, multiset


class Computes(Protocol):
    """What computes queries over rows that it is given. `failing`: what it raises where a query fails."""

    failing: type[Exception]

    def give(self, name: str, columns: Mapping[str, str | None], rows: Sequence[Row]) -> None: ...

    def run(self, query: str) -> tuple[Any, list[Row]]:
        """The columns, in whatever form, and the rows."""

    def keep(self, query: str, names: Sequence[str]) -> Mapping[str, str]:
        """Compute what is kept, and give it under its name; the types of its columns."""


def follow(engine: Computes, query: str, history: Sequence[Tables], columns: Mapping[str, Mapping[str, str | None]]) -> int:
    """How often rows were followed, and not computed anew. Raises AssertionError where a step gives other rows."""
    kept = kept_of(query)
    followed = 0
    before = history[0]
    for name, rows in before.items():
        engine.give(name, columns[name], rows)
    types = engine.keep(state_query(kept), ())
    for step, tables in enumerate(history[1:], 1):
        changed = [name for name in kept.relations if changes(before[name], tables[name])]
        for name, rows in tables.items():
            engine.give(name, columns[name], rows)
        if kept.fixed.isdisjoint(changed):
            for name in changed:
                with_change = {**columns[name], "__change": "STRING"}
                engine.give(changed_source(name), with_change, changes(before[name], tables[name]))
                engine.give(former_source(name), columns[name], before[name])
            narrowed = leave_out(engine, kept, changed, before, tables, columns)
            try:
                types = engine.keep(changed_query(kept, changed, types, "__change"), tuple(types))
                followed += 1
            except engine.failing:
                # A least or greatest value may have gone.
                assert kept.extremes, query
                give_back(engine, narrowed, tables, columns)
                types = engine.keep(state_query(kept), ())
            give_back(engine, narrowed, tables, columns)
        else:
            types = engine.keep(state_query(kept), ())
        found, wanted = engine.run(finishing_query(kept, types)), engine.run(query)
        assert found[0] == wanted[0], query
        assert multiset(found[1]) == multiset(wanted[1]), f"step {step} of {KEPT}: {query}\n{before}\n{tables}"
        before = tables
    return followed


def follow_added(
    engine: Computes, query: str, history: Sequence[Tables], columns: Mapping[str, Mapping[str, str | None]]
) -> int:
    """The same for a query to which rows only come, over a history in which none goes; what it reads in another way does not
    change. How many rows came."""
    method = linear_of(query)
    before, count = history[0], 0
    for name, rows in before.items():
        engine.give(name, columns[name], rows)
    names, rows = engine.run(query)
    held = list(rows)
    types = [one if isinstance(one, tuple) else (one, "BIGINT" if one.startswith("n") else "TEXT") for one in names]
    for tables in history[1:]:
        now = {name: before[name] if name in method.beside else tables[name] for name in tables}
        changed = [name for name in method.relations if changes(before[name], now[name])]
        for name in now:
            engine.give(name, columns[name], now[name])
        former, _ = reads_of_terms(method, changed)
        for name in changed:
            came = [row[:-1] for row in changes(before[name], now[name])]
            engine.give(changed_source(name), columns[name], came)
        for name in former:
            engine.give(former_source(name), columns[name], before[name])
        if changed:
            narrowed = leave_out(engine, method, changed, before, now, columns)
            found = engine.run(added_query(method, changed, types))[1]
            give_back(engine, narrowed, now, columns)
            held += found
            count += len(found)
        assert multiset(held) == multiset(engine.run(query)[1]), f"{query}\n{before}\n{now}"
        before = now
    return count


def follow_changed(
    engine: Computes, query: str, history: Sequence[Tables], columns: Mapping[str, Mapping[str, str | None]]
) -> int:
    """The same over any history; what it has no rule for does not change. How many distinct rows came or went."""
    method = linear_of(query)
    before, count = history[0], 0
    for name, rows in before.items():
        engine.give(name, columns[name], rows)
    names, rows = engine.run(query)
    held = multiset(rows)
    types = [one if isinstance(one, tuple) else (one, "BIGINT" if one.startswith("n") else "TEXT") for one in names]
    for tables in history[1:]:
        now = {name: before[name] if name in method.fixed else tables[name] for name in tables}
        changed = [name for name in method.relations if changes(before[name], now[name])]
        for name in now:
            engine.give(name, columns[name], now[name])
        former, _ = reads_of_terms(method, changed)
        for name in changed:
            engine.give(changed_source(name), {**columns[name], "__change": "STRING"}, changes(before[name], now[name]))
        for name in former:
            engine.give(former_source(name), columns[name], before[name])
        if changed:
            narrowed = leave_out(engine, method, changed, before, now, columns)
            found = engine.run(changed_rows_query(method, changed, types, "__change"))[1]
            give_back(engine, narrowed, now, columns)
            assert len(multiset(row[:-1] for row in found)) == len(found), f"a row twice: {query}\n{before}\n{now}"
            for *row, copies in found:
                (key,) = multiset([tuple(row)])
                held[key] += copies
            count += len(found)
        assert all(number >= 0 for number in held.values()), f"{query}\n{before}\n{now}"
        assert +held == multiset(engine.run(query)[1]), f"{query}\n{before}\n{now}"
        before = now
    return count


def follow_groups(
    engine: Computes, query: str, history: Sequence[Tables], columns: Mapping[str, Mapping[str, str | None]]
) -> int:
    """The same for a query whose groups that changed are computed anew, one by one. How many keys there were."""
    method = groups_of(query)
    before, count = history[0], 0
    for name, rows in before.items():
        engine.give(name, columns[name], rows)
    names, rows = engine.run(query)
    held = list(rows)
    types = [one if isinstance(one, tuple) else (one, "NUMERIC" if one.startswith("n") else "TEXT") for one in names]
    for tables in history[1:]:
        now = {name: before[name] if name in method.fixed else tables[name] for name in tables}
        changed = [name for name in method.relations if changes(before[name], now[name])]
        for name in now:
            engine.give(name, columns[name], now[name])
        former, _ = changed_groups.reads_of_terms(method, changed)
        for name in changed:
            engine.give(changed_source(name), {**columns[name], "__change": "STRING"}, changes(before[name], now[name]))
        for name in former:
            engine.give(former_source(name), columns[name], before[name])
        if changed:
            narrowed = leave_out(engine, method, changed, before, now, columns)
            keys, found = engine.run(changed_groups.keys_query(method, changed))
            give_back(engine, narrowed, now, columns)
            kinds = [types[item][1] for item in method.block.items]
            named = [one[0] if isinstance(one, tuple) else one for one in keys]
            engine.give(changed_groups.KEYS, dict(zip(named, kinds, strict=True)), found)
            engine.give(changed_groups.OWN, dict(types), held)
            told = engine.run(changed_groups.changed_groups_query(method, types))[1]
            held = brought(held, told)
            count += len(found)
        assert multiset(held) == multiset(engine.run(query)[1]), f"{query}\n{before}\n{now}"
        before = now
    return count


def brought(held: Sequence[Row], changed: Sequence[Row]) -> list[Row]:
    """Rows with those that come, and without those that go, which are there."""
    left = list(held)
    for *row, copies in changed:
        left += [tuple(row)] * max(copies, 0)
        for _ in range(-copies):
            del left[next(at for at, one in enumerate(left) if multiset([one]) == multiset([tuple(row)]))]
    return left


def leave_out(
    engine: Computes,
    method: Method,
    changed: Sequence[str],
    before: Tables,
    now: Tables,
    columns: Mapping[str, Mapping[str, str | None]],
) -> list[str]:
    """Give all that is not needed for what changed no more, row by row; the names of sources."""

    def keys(name: str, column: str) -> KeyRange | None:
        at = list(columns[name]).index(column)
        values = [row[at] for row in changes(before[name], now[name]) if row[at] is not None]
        return KeyRange(min(values), max(values)) if values else None

    needed = needed_rows(froms_of(method), changed, keys)
    narrowed = [name for name in needed if name not in read_whole(method)]
    for name in narrowed:
        relation = name.removeprefix(former_source(""))
        rows = now[relation] if name == relation else before[relation]
        order = list(columns[relation])
        kept = [row for row in rows if all(_is_within(row[order.index(one)], of) for one, of in needed[name].items())]
        engine.give(name, columns[relation], kept)
    return narrowed


def give_back(engine: Computes, names: Sequence[str], now: Tables, columns: Mapping[str, Mapping[str, str | None]]) -> None:
    """Give all rows of relations as they are now."""
    for name in names:
        if name in now:
            engine.give(name, columns[name], now[name])


def _is_within(value: Any, of: KeyRange) -> bool:
    return value is not None and of.least <= value <= of.greatest
