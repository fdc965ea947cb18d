"""Groups that change: those of which rows came or went are computed anew, and take the place of those that the view had. A
group is what GROUP BY puts together, or a partition of windows (`sql.grouped_blocks`).

It takes no rule for what is computed of a group: sums of floating numbers, percentiles, several COUNT(DISTINCT …), the
latest row, whatever looks at no other group. There are two queries. The first gives the keys of all rows that came or went,
by the terms of the change (`terms`). The second asks the view's query of the rows with such keys, and takes from that the
rows that the view had with these keys. What is left are rows that come and go, as of `changed_rows`.

Of what the second query reads, the rows that have these keys are looked for, and from them on those to which equalities
lead (`linked_reads`).

Keys are compared as groups are: NULLs are equal, and so are zeros. The view's own rows say of which group they are, for each
key is a column of the result.

Source: A. Gupta, I. S. Mumick, Maintenance of Materialized Views (1995): groups that are affected.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from reconciler.base.names import quoted
from reconciler.incremental.changed_rows import netted
from reconciler.incremental.linked_reads import LinkedRead, TermReads, lead_on
from reconciler.incremental.model import ChangedGroups, read_whole
from reconciler.incremental.terms import Term, places_of_change, term_text
from reconciler.sql.block_model import GroupedBlock

KEYS = "__keys"
"""Under which name the second query reads the keys."""
OWN = "__own"
"""Under which name it reads the rows that the view had."""


def key_column(at: int) -> str:
    """The column of a key, by its index."""
    return f"__key_{at}"


def keys_query(method: ChangedGroups, changed: Collection[str]) -> str:
    """The keys of the groups of which rows came or went, each once, after relations (keys) changed. None of them is
    `fixed`."""
    parts = [part for block in method.groups.blocks for part in _keys_of(block, method.query, changed)]
    names = ", ".join(f"`{key_column(at)}`" for at in range(len(method.groups.items)))
    return f"SELECT {names} FROM ({' UNION ALL '.join(parts)}) GROUP BY {names}"


def _keys_of(block: GroupedBlock, query: str, changed: Collection[str]) -> Iterator[str]:
    """Term by term, the keys of a block's rows that came or went."""
    uses, text = block.relations, block.text
    keys = ", ".join(f"{key} AS `{key_column(at)}`" for at, key in enumerate(block.keys))
    for place in places_of_change(uses, changed):
        for was in (False,) if uses[place].is_linear else (False, True):
            term = Term(uses, place, changed, was)
            where = f" WHERE {term_text(query, text.where, term)}" if text.where is not None else ""
            yield f"SELECT {keys} FROM {term_text(query, text.origin, term)}{where}"


def reads_of_groups(method: ChangedGroups, columns: Sequence[str]) -> tuple[TermReads, ...]:
    """What the second query reads for each block, and what leads from one to the next; `columns` are those of the view."""
    return tuple(_reads_of(block, method, columns) for block in method.groups.blocks)


def _reads_of(block: GroupedBlock, method: ChangedGroups, columns: Sequence[str]) -> TermReads:
    uses, whole = block.relations, read_whole(method)
    own = tuple((key_column(at), columns[item]) for at, item in enumerate(method.groups.items))
    found = [LinkedRead(KEYS), LinkedRead(OWN, 0, own, with_null=True)]
    at: dict[int, int] = {}
    for place in sorted({column[0] for column in block.columns if column is not None}):
        pairs = tuple((key_column(key), one[1]) for key, one in enumerate(block.columns) if one and one[0] == place)
        conditions = uses[place].conditions
        found.append(LinkedRead(uses[place].relation, 0, pairs, with_null=True, conditions=conditions))
        at[place] = len(found) - 1

    def read(other: int, link: LinkedRead) -> list[LinkedRead]:
        return [replace(link, name=uses[other].relation, conditions=uses[other].conditions)]

    lead_on(uses, found, at, read)
    return tuple(replace(one, is_whole=True) if one.name in whole else one for one in found)


def changed_groups_query(method: ChangedGroups, columns: Sequence[tuple[str, str]]) -> str:
    """The rows that come to a view and go from it, in its columns (with their types) and `COPIES`, once its groups with
    certain keys (`KEYS`) are computed anew. It reads the relations under their own names, and the view's rows as `OWN`."""
    own = [f"`{OWN}`.{quoted(columns[item][0])}" for item in method.groups.items]
    names = ", ".join(quoted(name) for name, _ in columns)
    had = f"SELECT {names}, -1 FROM `{OWN}` WHERE {_is_among_keys(own)}"
    return f"WITH {netted([f'SELECT *, 1 FROM ({_of_those(method)})', had], columns)}"


def _of_those(method: ChangedGroups) -> str:
    """The view's query of the rows with such keys."""
    query, parts, position = method.query, [], 0
    for block in sorted(method.groups.blocks, key=lambda block: block.text.whole.start):
        where, keys = block.text.where, _is_among_keys(block.keys)
        if where is None:
            parts.append(f"{query[position : block.text.origin.end]} WHERE {keys}")
        else:
            parts.append(f"{query[position : where.start]}({where.of(query)}) AND {keys}")
        position = (where or block.text.origin).end
    return "".join((*parts, query[position : method.groups.end]))


def _is_among_keys(values: Sequence[str]) -> str:
    equal = " AND ".join(f"`{KEYS}`.`{key_column(at)}` <=> ({value})" for at, value in enumerate(values))
    return f"EXISTS (SELECT 1 FROM `{KEYS}` WHERE {equal})"
