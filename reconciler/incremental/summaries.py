"""What the rest of a query makes of the groups that are kept: a summary of them, which is kept as well.

Where groups are many, a step can't read all of them to show a few. A query over groups is a query over a relation: what is
kept. Its rows that changed are known. So the rest of the query follows these as a query follows its tables, where it is one
of these:

- an aggregate: how many customers have so many orders (`kept_aggregate`, over the groups);
- those that come first in an order (`first_rows`).

Whatever else it is (a join, a window, all groups) has no summary: then a step reads all groups.

What changed of the groups is written down by itself, as a segment. What a later segment has of a group stands for what
earlier ones have; a group that is gone stays there with no rows.

Source: M. Budiu et al., DBSP (VLDB 2023), for queries over queries.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, TypeAlias, assert_never

from reconciler.base.digest import digest_json
from reconciler.incremental.derive import derived
from reconciler.incremental.first_rows import PLACE, FirstRows, changed_first_query, first_query, first_rows
from reconciler.incremental.kept_aggregate import (
    LAYOUT,
    ROWS,
    changed_query,
    columns_of,
    finishing_query,
    key_columns,
    state_query,
)
from reconciler.incremental.model import FLOATING, KeptAggregate
from reconciler.incremental.terms import changed_source

GROUPS: Final = "__groups"
"""All groups under this name are the relation that an aggregate follows."""

ALL: Final = "__all"
"""Under this name a summary reads all groups; those that are gone have no rows."""

CAME: Final = "__came"
"""Under this name it reads the groups that changed, as they are now; those that are gone have no rows."""

WERE: Final = "__were"
"""Under this name it reads groups as they were: those that changed, at least."""

Summary: TypeAlias = KeptAggregate | FirstRows


def summary_of(kept: KeptAggregate, types: Mapping[str, str]) -> Summary | None:
    """The summary of groups whose columns have these types. None: there is none."""
    return _summary(kept, tuple(types.items()))


@lru_cache(maxsize=256)
def _summary(kept: KeptAggregate, columns: tuple[tuple[str, str], ...]) -> Summary | None:
    types = dict(columns)
    if kept.block.elsewhere or kept.block.is_global:
        return None
    first = first_rows(kept, types)
    if first is not None:
        return first
    found = derived(finishing_query(kept, types, GROUPS), ((GROUPS, columns),))
    if not isinstance(found, KeptAggregate) or found.relations != (GROUPS,) or found.fixed or found.block.elsewhere:
        return None
    # Of two zeros it is not known which one is the least.
    is_told = not found.extremes or not any(map(FLOATING.search, types.values()))
    return found if is_told else None


def definition(summary: Summary) -> str:
    """What is kept, and how it is laid out."""
    match summary:
        case KeptAggregate():
            return f"aggregate {LAYOUT}.{digest_json(state_query(summary))}"
        case FirstRows():
            return f"first {LAYOUT}.{digest_json(first_query(summary, ALL))}"
        case _:
            assert_never(summary)


def summary_columns(summary: Summary) -> tuple[str, ...]:
    """Its columns, in order."""
    return (*summary.columns, PLACE) if isinstance(summary, FirstRows) else columns_of(summary)


def summary_query(summary: Summary) -> str:
    """The summary of all groups (`ALL`)."""
    match summary:
        case KeptAggregate():
            there = f"SELECT * FROM `{ALL}` WHERE `{ROWS}` > 0"
            return f"WITH `{GROUPS}` AS ({there}) {state_query(summary)}"
        case FirstRows():
            return first_query(summary, ALL)
        case _:
            assert_never(summary)


def changed_summary_query(
    kept: KeptAggregate, summary: Summary, types: Mapping[str, str], change: str, *, are_all: bool
) -> str:
    """The summary after groups changed, from what it was (`KEPT`, whose columns have these types), and from the groups that
    changed (`CAME`) as they were (`WERE`). `are_all`: see `first_rows`."""
    match summary:
        case KeptAggregate():
            query = changed_query(summary, (GROUPS,), types, change)
            return f"WITH `{changed_source(GROUPS)}` AS ({_changes(kept, change)}) {query}"
        case FirstRows():
            return changed_first_query(summary, CAME, are_all=are_all)
        case _:
            assert_never(summary)


def reads_what_was(summary: Summary) -> bool:
    """Whether it reads groups as they were."""
    return isinstance(summary, KeptAggregate)


def rest_query(kept: KeptAggregate, summary: Summary, groups: Mapping[str, str], types: Mapping[str, str]) -> str:
    """The view's rows from the summary (`KEPT`, whose columns have these `types`); the columns of the groups have those of
    `groups`."""
    return finishing_query(summary, types) if isinstance(summary, KeptAggregate) else finishing_query(kept, groups)


def is_enough(summary: Summary, rows: int, *, are_all: bool) -> bool:
    """Whether a summary of so many rows gives the view's rows."""
    return are_all or not isinstance(summary, FirstRows) or rows >= summary.count


def has_all(summary: Summary, rows: int) -> bool:
    """Whether a summary of so many rows, taken of all groups, leaves out none that the query may show."""
    return not isinstance(summary, FirstRows) or rows < summary.most


def _changes(kept: KeptAggregate, change: str) -> str:
    """The groups that changed, as they were and as they are, each with what became of it."""
    columns = columns_of(kept)
    own = " AND ".join(f"`c`.`{key}` <=> `w`.`{key}`" for key in key_columns(kept))
    came = ", ".join(f"`{name}`" for name in columns)
    were = ", ".join(f"`w`.`{name}`" for name in columns)
    went = f"SELECT {were}, 'delete' AS `{change}` FROM `{WERE}` AS `w` WHERE `w`.`{ROWS}` > 0"
    return (
        f"SELECT {came}, 'insert' AS `{change}` FROM `{CAME}` WHERE `{ROWS}` > 0"
        f" UNION ALL {went} AND EXISTS (SELECT 1 FROM `{CAME}` AS `c` WHERE {own})"
    )
