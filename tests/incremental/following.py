"""What is kept of a query over a history, step by step, held against the query from scratch."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from reconciler.incremental.kept_aggregate import (
    KEPT,
    changed_query,
    changed_source,
    finishing_query,
    former_source,
    state_query,
)
from tests.incremental.queries import Row, Tables, changes, kept_of, multiset


class Computes(Protocol):
    """What computes queries over rows that it is given."""

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
            types = engine.keep(changed_query(kept, changed, types, "__change"), tuple(types))
            followed += 1
        else:
            types = engine.keep(state_query(kept), ())
        found, wanted = engine.run(finishing_query(kept, types)), engine.run(query)
        assert found[0] == wanted[0], query
        assert multiset(found[1]) == multiset(wanted[1]), f"step {step} of {KEPT}: {query}\n{before}\n{tables}"
        before = tables
    return followed
