"""Which way a step takes with a view, by sizes that are known before anything is read: bytes of files, as the log has them.

- Small relations are held in memory: a query over them is computed in one job, and nothing is cheaper than that.
- A step that follows what changed reads the changed files, the other relations of a join once for each that changed (the
  files that may have rows with equal keys), and what is kept, which it writes anew. The query reads every relation once. To
  look for few keys in a relation (`linked_reads`) costs less than to compute anything of all of its rows.
  Where the first is not clearly less, the view is computed from its query; so it is where a relation changed for whose
  changes there is no rule.
- Where groups are computed anew one by one, the query is asked of the rows that have their keys: all that it reads is read,
  less what lies outside of their range. That pays where the view has many groups, and few of them changed.
- Where rows of a view without groups go, the files of its table are read and written anew that hold them.
- Where following pays and what is kept is not that of the step before, it is computed anew with the view, so that the next
  step finds it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.incremental.changed_groups import reads_of_groups
from reconciler.incremental.linked_reads import linked_reads
from reconciler.incremental.model import (
    LEAST_GROUPS,
    ChangedGroups,
    KeptAggregate,
    LinearRows,
    Method,
    Way,
    froms_of,
    read_whole,
)
from reconciler.incremental.needed_rows import ChangedKeys, Within, needed_by_term
from reconciler.incremental.terms import former_source
from reconciler.sql.block_model import RelationUse

FEW_ROWS: Final = 20_000
"""Relations of so many rows at most are small: to look at them takes as long as to compute anything of them."""

_KEPT_TWICE: Final = 2
"""What is kept is read and written."""

_LITTLE: Final = 0.1
"""Of what the query reads: so much may be for nothing."""

MANY_GROUPS: Final = 20_000
"""Groups that are kept: to bring so many to Spark, and to write them, takes longer than the rest of a step. Of so many a
summary is kept, if there is one."""

MANY_KEPT: Final = 20_000
"""Rows of a view: where groups are kept, a step reads and writes all of them. Of so many, those that changed are rather
computed anew: of 100,000, a third of the cost (bench/README.md)."""

_SEARCHED: Final = 0.15
"""Of what it costs to read a relation in a query: what it costs to look for keys in it (bench/tpch.py)."""

_WORTH_SEARCHING: Final = 0.5
"""Of what the query reads: the view's table is read, and written in part, as well."""

_WORTH_IT: Final = 0.75
"""Of what the query reads. To read a relation for a join with few rows costs about what it costs in the query
(bench/incremental.py), and what is kept is one job more."""


@dataclass(frozen=True, slots=True)
class Size:
    """What is known of a relation: rows and bytes. None: not known."""

    rows: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is known before a step, by key: of all relations that the view reads, and which of them changed.

    `changed_bytes` looks how much of one did; None: that can't be told. `kept`: the bytes that are kept by the same
    definition; `kept_is_searched`: a step reads of it what it changes. `is_current`: what has to be kept is that of the step
    before. `own`: the bytes of the view itself, `own_rows` its rows (None: not known). `rows_only_came`: to all that
    changed, and so they do to the view.

    `changed_keys` says between what a column of changed rows lies, `needed_bytes` how much of a relation has rows within
    such ranges (None: not known). `most_searched`: of relations of so many bytes rows are looked for by
    their keys.
    """

    relations: Mapping[str, Size]
    changed: frozenset[str]
    changed_bytes: Callable[[str], int | None]
    kept: int | None
    is_current: bool
    own: int | None = None
    own_rows: int | None = None
    rows_only_came: bool = False
    changed_keys: ChangedKeys = lambda key, column: None
    needed_bytes: Callable[[str, Within], int | None] = lambda key, within: None
    most_searched: int = 0
    kept_is_searched: bool = False


Choose: TypeAlias = Callable[[Method, Sizes], Way]
"""Says which way to take. What `can_follow` does not allow is none."""


def can_follow(method: Method, sizes: Sizes) -> bool:
    """Whether a view can follow what changed, from what there is."""
    if not sizes.is_current or not method.fixed.isdisjoint(sizes.changed):
        return False
    if isinstance(method, KeptAggregate | ChangedGroups):
        return True
    is_told = all(sizes.changed_bytes(key) is not None for key in sizes.changed)
    return is_told and (sizes.rows_only_came or method.only_added is None)


def following(method: Method, sizes: Sizes) -> Way:
    """The way of a view that can follow."""
    return Way.ADDED if isinstance(method, LinearRows) and sizes.rows_only_came else Way.CHANGES


def cheapest(method: Method, sizes: Sizes) -> Way:
    """The way that costs least."""
    if not any(_pays(method, sizes, searches=one) for one in (True, False)):
        return Way.RECOMPUTED
    if can_follow(method, sizes):
        return following(method, sizes)
    return Way.ANEW if isinstance(method, KeptAggregate) else Way.RECOMPUTED


@dataclass(frozen=True, slots=True)
class Choice:
    """Views over relations of at most `few_rows` rows are computed from their queries, without a look at these. Of the
    others `way` says which way to take. Groups are computed anew one by one up to a share of those that a view has; where a
    view has `many_kept` rows or more, also those that could be kept. Of `many_groups` that are kept, or more, a summary is
    kept as well, unless it has more than a share of their rows."""

    few_rows: int = FEW_ROWS
    way: Choose = cheapest
    share_of_groups: float = 0.1
    many_kept: int = MANY_KEPT
    many_groups: int = MANY_GROUPS
    share_of_summary: float = 0.25

    def are_small(self, relations: Iterable[Size]) -> bool:
        """Whether all of these are."""
        return all(size.rows is not None and size.rows <= self.few_rows for size in relations)


CHEAPEST: Final = Choice()
"""What is chosen where nobody says otherwise."""


def must_find(method: Method, sizes: Sizes) -> bool:
    """Whether following pays only if rows of other relations are found by their keys, and these are not read whole."""
    return not _pays(method, sizes, searches=False)


def _pays(method: Method, sizes: Sizes, *, searches: bool) -> bool:
    """Whether to follow such a change as that of this step costs less than the query. `searches`: with rows that are looked
    for by their keys."""
    if not method.fixed.isdisjoint(sizes.changed):
        return False
    froms = froms_of(method)
    takes_rows_out = isinstance(method, LinearRows) and not sizes.rows_only_came
    searches = searches and sizes.most_searched > 0
    searched = _searched(method, froms, sizes) if searches else frozenset[str]()
    by_changes = [_by_changes(uses, sizes, searched, takes_rows_out) for uses in froms]
    known = [one for one in by_changes if one is not None]
    whole = _bytes(sizes, [*(use.relation for uses in froms for use in uses), *method.fixed])
    if len(known) < len(by_changes) or whole is None:
        return False
    if isinstance(method, ChangedGroups):
        asked = _asked_of_groups(method, sizes) if searches else 0
        pays = sum(known) + asked < _WORTH_SEARCHING * whole if searches else sum(known) <= _LITTLE * whole
        return pays and (sizes.own_rows or 0) >= LEAST_GROUPS
    if takes_rows_out:
        return _taking_rows_out_pays(sum(known), whole, sizes.own)
    kept = sizes.kept or 0
    of_kept = _SEARCHED if sizes.kept_is_searched and kept <= sizes.most_searched else _KEPT_TWICE
    return sum(known) + of_kept * kept < _WORTH_IT * whole


def _taking_rows_out_pays(changes: float, whole: int, own: int | None) -> bool:
    """Whether it does, where the terms read `changes`, the query `whole`, and the view has `own` bytes. At worst all of its
    files are read and written anew; as a rule, the few that hold rows that go. Which ones they are is known only when the
    terms were computed: so these are few, or what follows pays in any case."""
    return changes <= _LITTLE * whole or (own is not None and changes + _KEPT_TWICE * own < _WORTH_IT * (whole + own))


def _searched(method: Method, froms: Sequence[Sequence[RelationUse]], sizes: Sizes) -> frozenset[str]:
    """The relations in which the terms look for keys, and for nothing else."""
    terms = linked_reads(froms, sizes.changed, read_whole(method))
    whole = {read.name for term in terms for read in term[1:] if read.via is None or read.is_whole}
    relations = {use.relation for uses in froms for use in uses}
    return frozenset(one for one in relations if whole.isdisjoint({one, former_source(one)}))


def _asked_of_groups(method: ChangedGroups, sizes: Sizes) -> float:
    """What the query reads that is asked of some groups, by their keys."""
    reads = [read for term in reads_of_groups(method, [""] * (1 + max(method.groups.items))) for read in term[2:]]
    whole = {read.name for read in reads if read.via is None or read.is_whole}
    of_each = {read.name: sizes.relations[read.name].bytes or 0 for read in reads}
    searched = {
        name: size * _SEARCHED for name, size in of_each.items() if name not in whole and size <= sizes.most_searched
    }
    return sum({**of_each, **searched}.values()) + _SEARCHED * (sizes.own or 0)


def _by_changes(uses: Sequence[RelationUse], sizes: Sizes, searched: Collection[str], takes_rows_out: bool) -> float | None:
    """What the terms of a FROM read; None where that is not known."""
    found = 0.0
    for place, changed in enumerate(uses):
        if changed.relation in sizes.changed:
            needed = needed_by_term(uses, place, sizes.changed_keys)
            own = sizes.changed_bytes(changed.relation)
            # What has a key is read as it is and as it was, with all others. So are the others for rows that came and went.
            times = 1 if changed.is_linear and not takes_rows_out else 2
            read = [at for at in range(len(uses)) if at != place or not changed.is_linear]
            others = [_cost(sizes, uses[at].relation, needed[at], searched) for at in read]
            known = [one for one in others if one is not None]
            if own is None or len(known) < len(others):
                return None
            found += own + times * sum(known)
    return found


def _cost(sizes: Sizes, relation: str, within: Within, searched: Collection[str]) -> float | None:
    size = _needed(sizes, relation, within)
    return size * _SEARCHED if size is not None and size <= sizes.most_searched and relation in searched else size


def _needed(sizes: Sizes, relation: str, within: Within) -> int | None:
    some = sizes.needed_bytes(relation, within) if within else None
    return some if some is not None else sizes.relations[relation].bytes


def _bytes(sizes: Sizes, relations: Collection[str]) -> int | None:
    found = [sizes.relations[one].bytes for one in relations]
    known = [one for one in found if one is not None]
    return sum(known) if len(known) == len(found) else None
