"""A plan as markdown for a pull request comment.

Rules:
- Never longer than the limit, whatever the plan and however many there are; sizes are those of UTF-8, which are no smaller
  than the host's counts of characters.
- Summary, every hazard's code, and the digest always stand. Detail goes in this order: steps, what was changed in words
  only, what stays, connectors, impact by view, the longest differences of queries; then causes; then rows of the table,
  which become counts with names, the most telling rows last; then names. Hazards are shown in full unless they alone are
  too long: then each code with its count and as many subjects as fit.
- What users wrote is shown as `plan.escaping` says, so that it can't forge a part of the comment, link or call anybody.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from reconciler.plan.changes import ToldChange, told_changes
from reconciler.plan.escaping import code, entities, fenced, inline
from reconciler.plan.impact import Impact
from reconciler.plan.impact_words import describe_table, describe_totals, describe_view, is_told
from reconciler.plan.model import Hazard, Plan
from reconciler.plan.policy import describe_demand
from reconciler.plan.text_form import query_difference
from reconciler.plan.words import (
    describe_approval,
    describe_bound_call,
    describe_metadata,
    describe_rolled_back,
    describe_spared,
    describe_staged,
    judged_hazards,
    step_groups,
    summarise,
    told_metadata,
    unchanged_names,
)

# The host's limit is 65,536; the rest is for what the caller puts around the plan.
LIMIT = 64_000
_NOTE = "_Some detail is left out for length; run `reconcile plan` to see all of it._"
_RESERVE = len(_NOTE) + 2
_TELLING = 50
_MOST_REJECTIONS = 20
_LONGEST_REJECTION = 300


def render_markdown(plan: Plan, limit: int = LIMIT, impact: Impact | None = None) -> str:
    """The plan as markdown of at most `limit` bytes, ending in a newline; if that is less than summary, codes of hazards
    and digest take, just these."""
    for number, head in enumerate(_heads(plan, impact, limit - _RESERVE)):
        if _size(head) <= limit - _RESERVE:
            return _with_details(plan, impact, head, limit, head_is_whole=number == 0)
    return _text([*_skeleton(plan), _NOTE])


def render_comment(
    plans: Sequence[Plan],
    limit: int = LIMIT,
    impacts: Mapping[str, Impact] | None = None,
    rejections: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Several plans as one comment of at most `limit` bytes: short ones whole, the others share what is left. `impacts` are
    by pipeline, and so are `rejections`: who stopped a plan by rejecting it, in words. The first of them stand before all
    else."""
    said = [
        f"**Rejected.** {code(name)}: {inline(words[:_LONGEST_REJECTION])}"
        for name, found in (rejections or {}).items()
        for words in found
    ]
    if said:
        above = _text([line for one in said[:_MOST_REJECTIONS] for line in (one, "")])
        return above + render_comment(plans, limit - _size([above]), impacts)
    known = impacts or {}
    texts = [render_markdown(plan, limit, known.get(plan.pipeline)) for plan in plans]
    sizes = [len(text.encode()) + 1 for text in texts]
    if sum(sizes) <= limit:
        return "\n".join(texts)
    least = [len(_text([*_skeleton(plan), _NOTE]).encode()) + 1 for plan in plans]
    if sum(least) > limit:
        return _brief(plans, limit)
    shares = _shares(sizes, least, limit)
    return "\n".join(
        text if size <= share else render_markdown(plan, share - 1, known.get(plan.pipeline))
        for plan, text, size, share in zip(plans, texts, sizes, shares, strict=True)
    )


def _shares(sizes: Sequence[int], least: Sequence[int], limit: int) -> list[int]:
    """How much each text may take: all the same, none less than its least, none more than it needs."""
    low, high = 0, limit
    while low < high:
        level = (low + high + 1) // 2
        if sum(min(size, max(level, least[index])) for index, size in enumerate(sizes)) <= limit:
            low = level
        else:
            high = level - 1
    return [max(low, smallest) for smallest in least]


def _heads(plan: Plan, impact: Impact | None, limit: int) -> Iterator[list[str]]:
    """What always stands, with less and less detail."""
    changes = told_changes(plan)
    hazards = _hazards(plan)
    causes: tuple[Callable[[ToldChange], bool], ...] = (lambda _: True, lambda change: change.is_own, lambda _: False)
    for shows_why in causes:
        yield _frame(plan, impact, hazards, _table(changes, shows_why))
    telling = sorted(range(len(changes)), key=lambda index: (changes[index].rank, index))
    for most, shows_why in ((_TELLING, causes[0]), (_TELLING, causes[2]), (0, causes[2])):
        shown = set(telling[:most])
        rows = [change for index, change in enumerate(changes) if index in shown]
        rest = [change for index, change in enumerate(changes) if index not in shown]
        yield _frame(plan, impact, hazards, [*_table(rows, shows_why), *_counts(rest, None)])
    bare = _size(_frame(plan, impact, hazards, _counts(changes, 0)))
    yield _frame(plan, impact, hazards, _counts(changes, max(0, limit - bare)))
    grouped = _grouped(plan.hazards, 0)
    bare = _size(_frame(plan, impact, grouped, _counts(changes, 0)))
    room = max(0, limit - bare)
    yield _frame(plan, impact, _grouped(plan.hazards, room * 3 // 4), _counts(changes, room // 4))
    yield _frame(plan, None, grouped, _counts(changes, 0))


def _frame(plan: Plan, impact: Impact | None, hazards: list[str], changes: list[str]) -> list[str]:
    lines = _title(plan)
    if is_told(impact, plan):
        lines += [f"Impact: {describe_totals(impact)}", ""]
    return [*lines, *hazards, *changes, f"Digest `{plan.digest}`", ""]


def _title(plan: Plan) -> list[str]:
    demand = describe_demand(plan.judgements)
    marker = re.sub(r"[^A-Za-z0-9_. -]|--", "_", f"{plan.pipeline} {plan.environment}")
    return [
        f"<!-- reconcile plan: {marker} -->",
        f"### Plan: {code(plan.pipeline)} ({inline(plan.environment)})",
        "",
        f"**{summarise(plan)}.** Approval: {inline(describe_approval(plan))}.{f' Policy: **{demand}**.' if demand else ''}",
        "",
    ]


def _skeleton(plan: Plan) -> list[str]:
    return [*_title(plan), *_grouped(plan.hazards, 0), f"Digest `{plan.digest}`", ""]


def _hazards(plan: Plan) -> list[str]:
    if not plan.hazards:
        return []
    return ["**Hazards**", "", *(f"- **{hazard.code}** {inline(words)}" for hazard, words in judged_hazards(plan)), ""]


def _grouped(hazards: Sequence[Hazard], room: int) -> list[str]:
    """Each code with its count and as many subjects as fit into `room` bytes."""
    if not hazards:
        return []
    subjects: dict[str, list[str]] = {}
    for hazard in hazards:
        subjects.setdefault(hazard.code, []).append(hazard.subject)
    share = room // len(subjects)
    return [
        "**Hazards**",
        "",
        *(f"- **{known}** {len(names)} times{_listed(names, share)}" for known, names in sorted(subjects.items())),
        "",
    ]


def _table(changes: Sequence[ToldChange], shows_why: Callable[[ToldChange], bool]) -> list[str]:
    if not changes:
        return []
    lines = ["| | what | effect | why |", "|---|---|---|---|"]
    for change in changes:
        why = code("; ".join(change.why)) if shows_why(change) else ""
        what = f"{change.noun} {code(change.name)}"
        lines.append(f"| `{change.symbol}` | {what} | {inline(change.effect)} | {why} |")
    return [*lines, ""]


def _counts(changes: Sequence[ToldChange], room: int | None) -> list[str]:
    """Changes summed up, the most telling first; with all names, or with as many as fit into `room` bytes."""
    groups: dict[tuple[int, str, str, str], list[str]] = {}
    for change in changes:
        groups.setdefault((change.rank, change.symbol, change.noun, change.effect), []).append(change.name)
    share = None if room is None else room // max(1, len(groups))
    lines = []
    for (_, symbol, noun, effect), names in sorted(groups.items()):
        what = f"{len(names)} {noun}{'' if len(names) == 1 else 's'}{f', {inline(effect)}' if effect else ''}"
        lines.append(f"- `{symbol}` {what}{_listed(names, share)}")
    return [*lines, ""] if lines else []


def _listed(names: Sequence[str], room: int | None) -> str:
    """`: a, b and 3 more` within `room` bytes (None: all)."""
    if room is None:
        return ": " + ", ".join(code(name) for name in names)
    shown: list[str] = []
    left = room - len(f":  and {len(names)} more")
    for name in names:
        left -= len(code(name).encode()) + 2
        if left < 0:
            break
        shown.append(code(name))
    if not shown:
        return ""
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return f": {', '.join(shown)}{more}"


def _with_details(plan: Plan, impact: Impact | None, head: list[str], limit: int, head_is_whole: bool) -> str:
    """The head and what fits of the details: those that tell most are put in first."""
    left = limit - _RESERVE - _size(head)
    queries, complete = _queries(plan, left)
    left -= sum(_size([query]) for query in queries)
    others: list[str] = []
    for variants in _other_parts(plan, impact):
        fitting = next((part for part in variants if _size([part]) <= left), None)
        complete = complete and fitting == variants[0]
        if fitting is not None:
            left -= _size([fitting])
            others.append(fitting)
    return _text([*head, *queries, *others, *([] if complete and head_is_whole else [_NOTE])])


def _queries(plan: Plan, room: int) -> tuple[list[str], bool]:
    """The differences of queries that fit, shortest first to be chosen, in the order of the plan to be shown; and whether
    these are all."""
    parts: dict[int, str] = {}
    order = sorted(
        range(len(plan.queries)),
        key=lambda index: (len(plan.queries[index].applied) + len(plan.queries[index].desired), index),
    )
    for index in order:
        query = plan.queries[index]
        body = fenced(query_difference(query.applied, query.desired), "diff")
        part = _collapsible(f"Query of <code>{entities(query.view)}</code>", body)
        room -= _size([part])
        if room < 0:
            return [parts[known] for known in sorted(parts)], False
        parts[index] = part
    return [parts[known] for known in sorted(parts)], True


def _other_parts(plan: Plan, impact: Impact | None) -> Iterator[tuple[str, ...]]:
    """The other details, those first that tell most; each in its variants, the fullest first."""
    if is_told(impact, plan) and (impact.views or impact.tables):
        lines = [f"- {inline(describe_table(table))}" for table in impact.tables]
        lines += [f"- {inline(describe_view(view))}" for view in impact.views]
        yield (_collapsible("Impact by view", "\n".join(lines)),)
    if plan.connectors:
        lines = [f"- {code(item.connector)} {item.outcome.value}: {inline(item.reason)}" for item in plan.connectors]
        yield (_collapsible("Connectors", "\n".join(lines)),)
    if plan.kept or plan.diff.spared:
        spared = [f"- {inline(describe_spared(spared))}" for spared in plan.diff.spared]
        names = unchanged_names(plan)
        kept = [f"- unchanged: {', '.join(code(name) for name in names)}"] if names else []
        count = [f"- unchanged: {len(names)}"] if names else []
        variants = ([*spared, *kept], [*spared, *count], count)
        yield tuple(_collapsible("Unaffected and unchanged", "\n".join(lines)) for lines in variants if lines)
    if plan.rolled_back:
        yield ("".join(f"Rolled back: {inline(describe_rolled_back(one))}\n" for one in plan.rolled_back),)
    if plan.bound_calls:
        yield ("".join(f"{inline(describe_bound_call(one))}\n" for one in plan.bound_calls),)
    if plan.staged:
        yield ("".join(f"Staged: {inline(describe_staged(one))}\n" for one in plan.staged),)
    if metadata := told_metadata(plan.diff):
        lines = [f"- {inline(describe_metadata(change))}" for change in metadata]
        yield (_collapsible("Other changes, without effect on results", "\n".join(lines)),)
    if plan.is_empty:
        return
    steps = [f"{number}. {inline(step.describe())}" for number, step in enumerate(plan.steps, 1)]
    summed = [f"- {words}{_listed(names, 400)}" for words, names in step_groups(plan.steps)]
    yield _collapsible("Steps", "\n".join(steps)), _collapsible(f"{len(plan.steps)} steps, summed up", "\n".join(summed))


def _collapsible(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>\n"


def _brief(plans: Sequence[Plan], limit: int) -> str:
    """More plans than even their summaries fit: a line for each that changes something, as long as there is room; those
    with hazards first, and every code of a hazard in the head."""
    changing = [plan for plan in plans if not plan.is_empty]
    counts: dict[str, int] = {}
    for plan in changing:
        for hazard in plan.hazards:
            counts[hazard.code] = counts.get(hazard.code, 0) + 1
    words = ", ".join(f"**{known}** {count} times" for known, count in sorted(counts.items())) or "none"
    lines = [
        "<!-- reconcile plans -->",
        f"### Plans of {len(plans)} pipelines",
        "",
        f"**{len(changing)} change, {len(plans) - len(changing)} do not.** Hazards: {words}.",
        "",
    ]
    left = limit - _RESERVE - _size(lines) - len(f"- and {len(plans)} more\n\n")
    ordered = sorted(changing, key=lambda plan: not plan.hazards)
    for number, plan in enumerate(ordered):
        known = ", ".join(sorted({hazard.code for hazard in plan.hazards}))
        hazards = f"; hazards {known}" if known else ""
        name = f"{code(plan.pipeline)} ({inline(plan.environment)})"
        line = f"- {name} **{summarise(plan)}**{hazards}; digest `{plan.digest}`"
        left -= _size([line])
        if left < 0:
            lines.append(f"- and {len(ordered) - number} more")
            break
        lines.append(line)
    return _text([*lines, "", _NOTE])


def _text(lines: Sequence[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)
