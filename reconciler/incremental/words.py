"""How a view is maintained, in words: for explanations, and for who reads what a step did."""

from collections.abc import Mapping
from typing import assert_never

from reconciler.base.names import first_of
from reconciler.incremental.model import LEAST_GROUPS, ChangedGroups, KeptAggregate, LinearRows, Maintenance, Recompute, Way

_MOST_KEYS = 5

WAYS: Mapping[str, str] = {
    Way.CHANGES: "by what changed",
    Way.ADDED: "rows added",
    Way.ANEW: "what is kept computed anew",
    Way.GIVEN_UP: "by its query: following what changed was not certain, or cost too much",
    Way.NO_RULE: "by its query: no rule for what changed",
    Way.DEARER: "by its query: following what changed would have cost more",
    Way.NOT_TRIED: "by its query: following what changed failed in the steps before",
}
"""What is said of a way in a line about a step. Nothing is said of the usual ones: from the query, as the view has no method
or reads little."""


def method_name(one: Maintenance) -> str:
    """What a method is called in JSON."""
    match one:
        case Recompute():
            return "recompute"
        case KeptAggregate():
            return "kept_aggregate"
        case LinearRows():
            return "linear_rows"
        case ChangedGroups():
            return "changed_groups"
        case _:
            assert_never(one)


def describe_maintenance(one: Maintenance) -> tuple[str, ...]:
    """How a view is maintained, in sentences."""
    match one:
        case Recompute():
            found = [f"by its query, computed again: {one.reason}"]
            return (*found, f"to change that: {one.hint}") if one.hint is not None else tuple(found)
        case KeptAggregate():
            changed = sorted({*one.relations} - one.fixed)
            keys = first_of([" ".join(key.split()) for key in one.block.keys], _MOST_KEYS)
            kept = "counts, sums, least and greatest values" if one.extremes else "counts and sums"
            groups = f"{kept} by {keys}" if keys else f"{kept} of all rows"
            groups += f", for each {' '.join(one.distinct.split())}," if one.distinct is not None else ""
            told = [f"by what changes in {', '.join(changed)}: {groups} are kept"] if changed else []
            if one.fixed:
                told.append(f"where {', '.join(sorted(one.fixed))} changes, by its query")
            if one.block.elsewhere:
                told.append(f"{', '.join(sorted(one.block.elsewhere))} is read whole, to finish the query")
            return (*told, "small relations are computed from the query at once")
        case ChangedGroups():
            followed = ", ".join(sorted({*one.relations} - one.fixed))
            keys = first_of([" ".join(key.split()) for key in one.groups.blocks[0].keys], _MOST_KEYS)
            told = [f"by what changes in {followed}: the groups by {keys} of which rows change are computed anew"]
            if one.fixed:
                told.append(f"where {', '.join(sorted(one.fixed))} changes, by its query")
            told.append("small relations, and many groups at once, are computed from the query")
            told.append(f"so is a view of fewer than {LEAST_GROUPS:,} rows")
            return (*told, *_why_not_kept(one.not_kept))
        case LinearRows():
            followed = ", ".join(sorted({*one.relations} - one.fixed))
            if one.only_added is None:
                told = [f"by what changes in {followed}: rows are added and taken out"]
            else:
                told = [f"by what comes to {followed}: as many rows are added"]
                told.append(f"where rows go, by its query: {one.only_added}")
            if one.fixed:
                told.append(f"where {', '.join(sorted(one.fixed))} changes, by its query")
            return (*told, "small relations are computed from the query at once")
        case _:
            assert_never(one)


def _why_not_kept(why: Recompute | None) -> tuple[str, ...]:
    """Where groups are computed anew that could be kept in another query."""
    if why is None:
        return ()
    helps = () if why.hint is None else (f"to change that: {why.hint}",)
    return (f"its groups can't be kept: {why.reason}", *helps)
