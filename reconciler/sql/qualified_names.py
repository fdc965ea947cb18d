"""Relations of other pipelines for Spark: `sales.revenue` in a query becomes one quoted name.

Spark would look for `sales.revenue` in a database `sales`. The engine registers what a query reads under its key, so each
such name is written as that key in backquotes, with the relation's own name as its alias where it has none: `revenue.cents`
means what it meant. Nothing else of the text changes. A text that can't be parsed stays as it is.

A relation that is sampled without an alias keeps none, since Spark's grammar has it behind the sample: its columns go by
their plain names then.
"""

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.places import own_offset
from reconciler.sql.query import Parsed, parse_query
from reconciler.sql.references import relation_key


def with_single_names(query: str) -> str:
    """The query as the engine is to run it."""
    parsed = parse_query(query)
    if not isinstance(parsed, Parsed):
        return query
    replaced: list[tuple[int, int, str]] = []
    for node in parsed.tree.find_all(exp.Table):
        db = node.args.get("db")
        if db is None or node.args.get("catalog") is not None or not isinstance(node.this, exp.Identifier):
            continue
        start, end = own_offset(db), node.this.meta.get("end")
        if start is None or not isinstance(end, int):
            continue
        has_alias = node.args.get("alias") is not None or node.args.get("sample") is not None
        alias = "" if has_alias else f" AS `{fold(node.name)}`"
        replaced.append((start, end + 1, f"`{relation_key(node)}`{alias}"))
    parts: list[str] = []
    position = 0
    for start, end, text in sorted(replaced):
        parts += [query[position:start], text]
        position = end
    return "".join([*parts, query[position:]])
