"""How many rows of `datagen` are due, and to which plan a row belongs: arithmetic on the clock, without Spark.

Rows are numbered from 0 across all plans. The first row of a plan is due when the plan begins. With a rate, the others
follow by the clock, counted from the start, whatever was paused meanwhile; without one, all are due at once. A plan begins
when all rows of the one before it have become due.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from reconciler.base.dataclass import dataclass

ROWS_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows `first` up to `end` (None: without end), so many a second."""

    first: int
    end: int | None
    rate: float | None
    fields: Mapping[str, Any]


def plans_of(config: Mapping[str, Any]) -> tuple[Plan, ...]:
    """The plans of a connector's config, in their order; what follows one without end is never reached."""
    found: list[Plan] = []
    first = 0
    for plan in config.get("plan") or [{}]:
        limit = plan.get("limit")
        end = None if limit is None else first + int(limit)
        found.append(Plan(first, end, plan.get("rate"), plan.get("fields") or {}))
        if end is None:
            break
        first = end
    return tuple(found)


def due(plans: Sequence[Plan], seconds: float) -> int | None:
    """How many rows are due so many seconds after the start; None: without bound."""
    rows = 0
    for plan in plans:
        if plan.rate is None:
            if plan.end is None:
                return None
            rows = plan.end
            continue
        here = math.floor(seconds * plan.rate) + 1
        if plan.end is None or plan.first + here < plan.end:
            return plan.first + here
        rows = plan.end
        seconds -= (plan.end - plan.first) / plan.rate
        if seconds < 0:
            return rows
    return rows


def due_at(plans: Sequence[Plan], row: int) -> float | None:
    """How many seconds after the start a row is due; None: its plan has no rate, so nothing but what asks for it makes it
    due."""
    begins = 0.0
    for plan in plans:
        if plan.end is None or row < plan.end:
            return None if plan.rate is None else begins + (row - plan.first) / plan.rate
        begins += 0.0 if plan.rate is None else (plan.end - plan.first) / plan.rate
    return None


def plan_at(plans: Sequence[Plan], row: int) -> Plan | None:
    """The plan that a row belongs to; None after the last."""
    return next((plan for plan in plans if plan.end is None or row < plan.end), None)


def next_rows(plans: Sequence[Plan], row: int, seconds: float, at_once: int) -> tuple[int, int | None]:
    """Where the rows to make now end, of one plan and at most so many, and how many are due in all (None: without bound)."""
    ready = due(plans, seconds)
    plan = plan_at(plans, row)
    if plan is None:
        return row, ready
    ends = [end for end in (ready, plan.end, row + at_once) if end is not None]
    return max(row, min(ends)), ready
