"""The lineage of a query, taken from the walk over it; see `lineage` for what it is. The walk is in `blocks`, `sources` and
`values`."""

from reconciler.sql.blocks import Analyser
from reconciler.sql.lineage import Lineage, OutputLineage
from reconciler.sql.lineage_whole import is_whole
from reconciler.sql.query import Parsed
from reconciler.sql.scopes import CALLED, Block, Outputs, Sources


def lineage_of(walk: Analyser, parsed: Parsed, block: Block, outputs: Outputs) -> Lineage | None:
    """The lineage of a query, None when it is not surely known, or is too much. `block` is what the walk gave, `outputs` its
    columns under their final names."""
    if not walk.is_traced or block.columns is None or outputs is None or any(one.name is None for one in outputs):
        return None
    if not is_whole(parsed, walk.relations, walk.saw_chance):
        return None
    found = tuple(
        OutputLineage(name or "", columns_of(value.sources), value.repeatable and block.repeatable, calls_of(value.sources))
        for name, value in outputs
    )
    return Lineage(found, columns_of(block.rows), block.repeatable, calls_of(block.rows))


def columns_of(sources: Sources) -> tuple[tuple[str, str], ...]:
    """The columns among sources, sorted."""
    return tuple(sorted(source for source in sources if source[0] != CALLED))


def calls_of(sources: Sources) -> tuple[str, ...]:
    """The functions among sources, sorted."""
    return tuple(sorted(name for kind, name in sources if kind == CALLED))
