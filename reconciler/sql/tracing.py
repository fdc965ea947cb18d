"""Find the lineage of a query; see `lineage` for what it is. The walk is in `lineage_blocks` and `lineage_values`."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.base.names import fold
from reconciler.sql.limits import Brought, TooMuch
from reconciler.sql.lineage import Lineage, OutputLineage
from reconciler.sql.lineage_blocks import BlockWalker
from reconciler.sql.lineage_scope import CALLED, Beyond, Sources
from reconciler.sql.lineage_whole import is_whole
from reconciler.sql.query import Parsed
from reconciler.sql.surroundings import USUAL, QuerySurroundings


@dataclass(frozen=True, slots=True)
class OutputNames:
    """The output columns of a view as known otherwise, None when they are not known; `are_own`: the view's declaration lists
    them, rather than the query."""

    names: tuple[str | None, ...] | None
    are_own: bool = False


def lineage_of(
    parsed: Parsed,
    query: str,
    relations: Mapping[str, Mapping[str, str | None]],
    outputs: OutputNames,
    around: QuerySurroundings = USUAL,
    brought: Brought | None = None,
) -> Lineage | None:
    """The lineage of a query, None when it is not surely known, or is too much.

    `relations` as for `analyse_query`. Of the pipeline's own functions those that are steady are repeatable; like all that
    are not Spark's, the others are not. `brought` counts what the walk looks at.
    """
    names = outputs.names
    if names is None or any(name is None for name in names):
        return None
    walker = BlockWalker(relations, query, around.functions, around.steady)
    walker.brought = brought or walker.brought
    try:
        block = walker.query(parsed.tree, None, {}, top=True)
    except (Beyond, RecursionError, TooMuch):
        return None
    own = [fold(name) if name is not None else None for name, _ in block.columns]
    if len(own) != len(names) or (not outputs.are_own and own != [fold(name or "") for name in names]):
        return None
    if not is_whole(parsed, relations, walker.saw_chance):
        return None
    found = tuple(
        OutputLineage(name or "", columns_of(value.sources), value.repeatable and block.repeatable, calls_of(value.sources))
        for name, (_, value) in zip(names, block.columns, strict=True)
    )
    return Lineage(found, columns_of(block.rows), block.repeatable, calls_of(block.rows))


def columns_of(sources: Sources) -> tuple[tuple[str, str], ...]:
    """The columns among sources, sorted."""
    return tuple(sorted(source for source in sources if source[0] != CALLED))


def calls_of(sources: Sources) -> tuple[str, ...]:
    """The functions among sources, sorted."""
    return tuple(sorted(name for kind, name in sources if kind == CALLED))
