"""A plan as markdown for a pull request comment.

Rules: the summary, the changes' names and the hazards always stand; details are in collapsible parts and are dropped,
longest first, when the whole would pass the host's limit. What users wrote is fenced or escaped, so that it can't forge a
part of the comment.
"""

import re

from reconciler.diff.wording import describe_cause, describe_difference
from reconciler.plan.model import Plan
from reconciler.plan.text_form import query_difference
from reconciler.plan.words import SYMBOLS, describe_approval, describe_effect, describe_step, summarise

# The host's limit is 65,536; the rest is for what the caller puts around the plan.
LIMIT = 64_000
_MARKER = "<!-- reconcile plan: {pipeline} {environment} -->"


def render_markdown(plan: Plan, limit: int = LIMIT) -> str:
    """The plan as markdown of at most `limit` characters, ending in a newline."""
    head = _head(plan)
    details = _details(plan)
    dropped = 0
    while details and _length(head, details, dropped) > limit:
        details.remove(max(details, key=len))
        dropped += 1
    text = "\n".join([*head, *details, *_note(dropped)]).rstrip() + "\n"
    return text if len(text) <= limit else _shorten(text, limit)


def _head(plan: Plan) -> list[str]:
    lines = [
        _MARKER.format(pipeline=plan.pipeline, environment=plan.environment),
        f"### Plan: `{plan.pipeline}` ({plan.environment})",
        "",
        f"**{summarise(plan)}.** Approval: {describe_approval(plan)}.",
        "",
    ]
    if plan.hazards:
        lines += ["**Hazards**", ""]
        lines += [f"- **{hazard.code}** {_escape(hazard.message)}" for hazard in plan.hazards]
        lines.append("")
    changes = (*plan.diff.relations, *plan.diff.connectors)
    if changes:
        lines += ["| | what | effect | why |", "|---|---|---|---|"]
        for change in plan.diff.relations:
            why = "; ".join(describe_cause(cause) for cause in change.causes)
            what = f"{change.kind.value} `{change.name}`"
            effect = describe_effect(plan, change)
            lines.append(f"| `{SYMBOLS[change.action]}` | {what} | {effect} | {_code(why)} |")
        for connector in plan.diff.connectors:
            why = "; ".join(describe_difference(difference) for difference in connector.differences)
            what = f"{connector.direction.value} connector `{connector.name}`"
            lines.append(f"| `{SYMBOLS[connector.action]}` | {what} | | {_code(why)} |")
        lines.append("")
    lines += [f"Digest `{plan.digest}`", ""]
    return lines


def _details(plan: Plan) -> list[str]:
    parts = []
    for difference in plan.queries:
        body = "\n".join(query_difference(difference.applied, difference.desired))
        fence = _fence(body)
        parts.append(_collapsible(f"Query of {difference.view}", f"{fence}diff\n{body}\n{fence}"))
    if not plan.is_empty:
        steps = "\n".join(f"{number}. {_escape(describe_step(step))}" for number, step in enumerate(plan.steps, 1))
        parts.append(_collapsible("Steps", steps))
    if plan.connectors:
        lines = [f"- `{item.connector}` {item.outcome.value}: {_escape(item.reason)}" for item in plan.connectors]
        parts.append(_collapsible("Connectors", "\n".join(lines)))
    return parts


def _collapsible(title: str, body: str) -> str:
    return f"<details><summary>{_escape(title)}</summary>\n\n{body}\n\n</details>\n"


def _note(dropped: int) -> list[str]:
    return [f"_{dropped} detail(s) left out for length; run `reconcile plan` to see them._"] if dropped else []


def _length(head: list[str], details: list[str], dropped: int) -> int:
    return len("\n".join([*head, *details, *_note(dropped + 1)])) + 1


def _shorten(text: str, limit: int) -> str:
    """Even the list of changes is too long: keep whole lines from the top, where summary and hazards stand."""
    note = "\n\n_The list of changes is cut for length; run `reconcile plan` to see it whole._\n"
    kept = text[: limit - len(note)]
    return kept[: kept.rfind("\n")] + note


def _fence(body: str) -> str:
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    return "`" * max(3, longest + 1)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")


def _code(text: str) -> str:
    """A table cell whose text is shown as it is: in a code span, so that nothing in it links, mentions or embeds."""
    if not text:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|")
