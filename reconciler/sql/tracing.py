"""Find the lineage of a query; see `lineage` for what it is. The walk is in `lineage_blocks` and `lineage_values`."""

from collections.abc import Mapping

from reconciler.names import fold
from reconciler.sql.lineage import Lineage, OutputLineage
from reconciler.sql.lineage_blocks import BlockWalker
from reconciler.sql.lineage_scope import Beyond
from reconciler.sql.lineage_whole import is_whole
from reconciler.sql.query import Parsed


def lineage_of(
    parsed: Parsed,
    query: str,
    relations: Mapping[str, Mapping[str, str | None]],
    names: tuple[str | None, ...] | None,
    renamed: bool = False,
    functions: frozenset[str] = frozenset(),
) -> Lineage | None:
    """The lineage of a query, None when it is not surely known.

    `relations` as for `analyse_query`. `names`: the output columns as known otherwise, None when they are not known;
    `renamed`: whether they are the view's own names rather than the query's. `functions`: folded names
    of the pipeline's own functions; like all that are not Spark's, they are not repeatable.
    """
    if names is None or any(name is None for name in names):
        return None
    walker = BlockWalker(relations, query, functions)
    try:
        block = walker.query(parsed.tree, None, {}, top=True)
    except (Beyond, RecursionError):
        return None
    own = [fold(name) if name is not None else None for name, _ in block.columns]
    if len(own) != len(names) or (not renamed and own != [fold(name or "") for name in names]):
        return None
    if not is_whole(parsed, relations, walker.saw_chance):
        return None
    outputs = tuple(
        OutputLineage(name or "", tuple(sorted(value.sources)), value.repeatable and block.repeatable)
        for name, (_, value) in zip(names, block.columns, strict=True)
    )
    return Lineage(outputs, tuple(sorted(block.rows)), block.repeatable)
