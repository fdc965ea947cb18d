"""How rows that came are divided among the keys of a stream: what a task has to do alone."""

from typing import Final

from reconciler.base.names import quoted
from reconciler.streams.model import Stateful
from reconciler.streams.queries import Input
from reconciler.streams.queries.parts import keys_in, listed, query, together

MOST: Final = 3
"""So many keys are told."""


def keys_seen_query(transformation: Stateful, inputs: tuple[Input, ...]) -> str:
    """One row about the rows of all inputs: `rows` and `keys`, how many there are of each (BIGINT); `most`, the keys with
    most rows as JSON, each with its values as text and its number of rows, `[{"n": 7, "values": ["a", null]}, …]`, the first
    one first; and `constant_<n>` for the n-th key column, whether it has one value in all rows."""
    names = [quoted(f"__key_{place}") for place in range(1, len(transformation.keys) + 1)]

    def keys_of(source: Input) -> str:
        keys = zip(keys_in(source, transformation.keys), names, strict=True)
        return f"SELECT {listed(f'{key} AS {name}' for key, name in keys)}\nFROM {quoted(source.name)}"

    counted = f"SELECT {listed(names)}, COUNT(*) AS `__n`\nFROM `__came`\nGROUP BY {listed(names)}"
    texts = [f"CAST({name} AS STRING)" for name in names]
    told = f"named_struct('n', `__n`, 'values', array({listed(texts)}))"
    constant = [
        f"MIN({text}) <=> MAX({text}) AND COUNT({text}) IN (0, COUNT(*)) AS {quoted(f'constant_{place}')}"
        for place, text in enumerate(texts, 1)
    ]
    most = f"to_json(MAX_BY({told}, {told}, {MOST}), map('ignoreNullFields', 'false')) AS `most`"
    columns = ["COALESCE(SUM(`__n`), 0) AS `rows`", "COUNT(*) AS `keys`", most, *constant]
    parts = [("__came", together(*map(keys_of, inputs))), ("__counted", counted)]
    return query(parts, f"SELECT {listed(columns)}\nFROM `__counted`")
