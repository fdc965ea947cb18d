"""A plan as text for a terminal. Plain characters; colour, if any, is added by the caller through `paint`."""

import difflib
from collections.abc import Callable

from reconciler.diff.model import Action, RelationChange
from reconciler.diff.wording import describe_cause, describe_difference, printable
from reconciler.digest import short
from reconciler.plan.model import Plan
from reconciler.plan.words import SYMBOLS, describe_approval, describe_effect, describe_step, summarise

Paint = Callable[[str, str], str]


def no_paint(text: str, style: str) -> str:
    """The paint of a pipe: none."""
    return text


def render_text(plan: Plan, paint: Paint = no_paint) -> str:
    """The plan in lines, ending in a newline. `paint(text, style)` gets styles added, modified, removed, hazard, title."""
    lines = [paint(f"{plan.pipeline} ({plan.environment})", "title")]
    if plan.is_empty:
        lines.append("  no changes" + (" in meaning; what is written is updated" if plan.diff.metadata_changed else ""))
        return "\n".join(lines) + "\n"
    queries = {difference.view: difference for difference in plan.queries}
    for change in plan.diff.relations:
        heading = f"  {SYMBOLS[change.action]} {change.kind.value} {change.name}"
        lines.append(f"{paint(heading, change.action.value)}: {describe_effect(plan, change)}")
        lines += [f"      {cause}" for cause in _causes(change)]
        if change.name in queries:
            difference = queries[change.name]
            lines += [
                f"        {_painted(line, paint)}" for line in query_difference(difference.applied, difference.desired)
            ]
    for connector in plan.diff.connectors:
        heading = f"  {SYMBOLS[connector.action]} {connector.direction.value} connector {connector.name}"
        lines.append(paint(heading, connector.action.value))
        lines += [f"      {describe_difference(difference)}" for difference in connector.differences]
    if plan.kept:
        lines += ["", f"  kept as they are: {_some(plan.kept)}"]
    if plan.connectors:
        lines += ["", "  connectors"]
        lines += [f"    {item.connector}: {item.outcome.value} ({item.reason})" for item in plan.connectors]
    lines += ["", "  steps"]
    lines += [f"    {number}. {describe_step(step)}" for number, step in enumerate(plan.steps, 1)]
    if plan.hazards:
        lines += ["", paint("  hazards", "hazard")]
        lines += [paint(f"    {hazard.code} {hazard.message}", "hazard") for hazard in plan.hazards]
    lines += [
        "",
        f"  Plan: {summarise(plan)}.",
        f"  Approval: {describe_approval(plan)}",
        f"  Digest: {short(plan.digest)}",
    ]
    return "\n".join(lines) + "\n"


def query_difference(applied: str, desired: str) -> list[str]:
    """The changed lines of a query with up to two lines around them, each begun with `-`, `+` or a space."""
    lines = difflib.unified_diff(_lines(applied), _lines(desired), lineterm="", n=2)
    # The first two lines are the headings of the two sides; a line of a query may look like one.
    return [line.rstrip() for line in list(lines)[2:] if not line.startswith("@@")]


def _lines(text: str) -> list[str]:
    """The lines of a query, each fit to be shown: only line feeds end one."""
    return [printable(line.removesuffix("\r").expandtabs(4)) for line in text.split("\n")]


def _some(names: tuple[str, ...]) -> str:
    """All names, or the first dozen and how many more: a terminal is not a place for thousands."""
    shown = ", ".join(names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"


def _causes(change: RelationChange) -> list[str]:
    return [describe_cause(cause) for cause in change.causes]


def _painted(line: str, paint: Paint) -> str:
    if line.startswith("+"):
        return paint(line, Action.ADDED.value)
    return paint(line, Action.REMOVED.value) if line.startswith("-") else line
