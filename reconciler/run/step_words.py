"""A step of a run in words: in lines for people, and as the event log has it; and the fields that its connectors met."""

from collections.abc import Mapping, Sequence
from typing import Any

from reconciler.base.digest import JsonObject
from reconciler.base.printing import printable
from reconciler.incremental.words import WAYS
from reconciler.materialize.stream_keys import describe_uneven_keys
from reconciler.run.stepping import StepResult


def describe_step_result(pipeline: str, result: StepResult) -> str:
    """A step in one line."""
    done = [f"{name} {_rows(result, name, count)}" for name, count in sorted(result.rows.items())]
    done += [f"reads {name} at step {step}" for name, step in sorted(result.followed.items())]
    streams = sorted(result.late.keys() - result.rows.keys())
    done += [f"{result.late[name]} row{'' if result.late[name] == 1 else 's'} too late for {name}" for name in streams]
    done += [
        f"the state of {name} was gone, and was computed anew from the rows of its table" for name in result.lost_states
    ]
    uneven = {name: describe_uneven_keys(seen) for name, seen in sorted(result.keys.items())}
    done += [f"keys of {name}: {told}" for name, told in uneven.items() if told is not None]
    return f"{pipeline} step {result.step}: {', '.join(done)}; brought up to date: {describe_views(result)}"


def describe_views(result: StepResult) -> str:
    """The views that a step brought up to date, with the ways that are not the usual one."""
    return ", ".join(_way(name, result.ways.get(name, "")) for name in result.views) or "no views"


def _way(name: str, way: str) -> str:
    return f"{name} ({WAYS[way]})" if way in WAYS else name


def describe_unknown(connector: str, table: str, names: Sequence[str], rows: Mapping[str, int]) -> str:
    """Fields that no column takes, in one line, with what to do about it."""
    told = ", ".join(
        f"{printable(name)} (in {rows[name]} row{'' if rows[name] == 1 else 's'})" if name in rows else name
        for name in names
    )
    return (
        f"{connector}: no column of {table} reads {told}; the connector ignores these values. To read one, set in the "
        f"connector: columns: {{COLUMN: {{source: {printable(names[0])}}}}}"
    )


def describe_missing(connector: str, table: str, names: Sequence[str]) -> str:
    """Fields that columns take and that did not come, in one line."""
    told = printable(", ".join(names))
    return f"{connector}: the input has no {told}: the columns of {table} that read it get NULL or their defaults"


def _rows(result: StepResult, name: str, count: int) -> str:
    """The rows that a connector brought, with the counts of rejected records, unmatched deletes and late records."""
    found = [f"{count} rows"]
    if result.rejected.get(name):
        found.append(f"{result.rejected[name]} rejected")
    if result.unmatched.get(name):
        unmatched = result.unmatched[name]
        found.append("1 delete that found no row" if unmatched == 1 else f"{unmatched} deletes that found no row")
    if result.late.get(name):
        found.append(f"{result.late[name]} late")
    return found[0] if len(found) == 1 else f"{found[0]} ({', '.join(found[1:])})"


def details_of_step(result: StepResult) -> JsonObject:
    """A step as the event log has it."""
    details: dict[str, Any] = {"rows": dict(sorted(result.rows.items())), "views": len(result.views)}
    if result.followed:
        details["followed"] = dict(sorted(result.followed.items()))
    for name, counts in (("rejected", result.rejected), ("unmatched", result.unmatched), ("late", result.late)):
        found = {connector: count for connector, count in sorted(counts.items()) if count}
        if found:
            details[name] = found
    if result.lost_states:
        details["lost_states"] = list(result.lost_states)
    uneven = {name: told for name, seen in sorted(result.keys.items()) if (told := describe_uneven_keys(seen))}
    if uneven:
        details["uneven_keys"] = uneven
    if result.without_spark:
        details["without_spark"] = list(result.without_spark)
    if result.ways:
        details["ways"] = dict(sorted(result.ways.items()))
    if result.freshness:
        details["freshness"] = dict(sorted(result.freshness.items()))
    if result.failed_calls:
        details["failed_calls"] = {
            view: {one.function: one.count for one in failed} for view, failed in sorted(result.failed_calls.items())
        }
    return details
