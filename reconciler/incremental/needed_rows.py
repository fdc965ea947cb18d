"""Which rows of the other relations of a join matter where few rows of one changed: those whose values lie between the least
and the greatest of what changed, in the columns that the join holds equal (`sql.joined_columns`).

A range is of whole numbers or dates, and of all rows that came or went. Keys that come one after the other lie close to each
other; then most of another table is passed over. Where they are scattered the range is wide, and nothing is gained or lost.

A query reads a relation under one name for all its terms. So what is needed of it is what all terms together need.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.incremental.terms import changed_source, former_source, key_of, places_of_change
from reconciler.sql.block_model import RelationUse

Value: TypeAlias = Any
"""An int or a date."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The least and the greatest value of a column: both whole numbers, or both dates."""

    least: Value
    greatest: Value

    def around(self, other: "KeyRange") -> "KeyRange":
        """The range of both."""
        return KeyRange(min(self.least, other.least), max(self.greatest, other.greatest))


ChangedKeys: TypeAlias = Callable[[str, str], KeyRange | None]
"""Of a relation (key) that changed and one of its columns (folded): the range of what changed. None: not known."""

Within: TypeAlias = Mapping[str, KeyRange]
"""By column (folded), between what the needed rows lie. All hold. Without any, all rows are needed."""


def needed_by_term(uses: Sequence[RelationUse], place: int, keys: ChangedKeys) -> tuple[Within, ...]:
    """What the term of the changed rows at a place needs of each relation of the block."""
    found: list[dict[str, KeyRange]] = [{} for _ in uses]
    key = key_of(uses, place)
    starts = [(column, place, column) for column in sorted({column for column, _, _ in uses[place].joined})]
    if key is not None:
        # Of more than one hop the last has other values than those that changed.
        starts = [(column, key[0].place, own) for column, own in key[0].pairs] if len(key) == 1 else []
    for own, at, column in starts:
        waiting, seen = [(at, column)], {(at, column)}
        range_ = keys(uses[place].relation, own)
        while waiting and range_ is not None:
            reached, name = waiting.pop()
            found[reached][name] = range_
            for start, other, end in uses[reached].joined:
                if start == name and (other, end) not in seen:
                    seen.add((other, end))
                    waiting.append((other, end))
    return tuple(found)


def needed_rows(froms: Iterable[Sequence[RelationUse]], changed: Collection[str], keys: ChangedKeys) -> dict[str, Within]:
    """What a query of terms needs of what it reads, by the name under which it does so; of names that are not in it all rows
    are needed. `froms` are the FROMs of its SELECTs."""
    found: dict[str, Within] = {}
    for name, within in _all_needed(froms, changed, keys):
        known = found.get(name)
        both = within if known is None else {one: known[one].around(within[one]) for one in known.keys() & within.keys()}
        found[name] = both
    return {name: within for name, within in found.items() if within}


def _all_needed(
    froms: Iterable[Sequence[RelationUse]], changed: Collection[str], keys: ChangedKeys
) -> Iterator[tuple[str, Within]]:
    """Name by name as the terms read them (`terms.term_text`)."""
    for uses in froms:
        for place in places_of_change(uses, changed):
            for at, (use, within) in enumerate(zip(uses, needed_by_term(uses, place, keys), strict=True)):
                if at == place:
                    yield changed_source(use.relation), {}
                if at != place or not use.is_linear:
                    is_former = at > place and use.relation in changed
                    yield former_source(use.relation) if is_former else use.relation, within
                if at == place and not use.is_linear:
                    yield former_source(use.relation), within
