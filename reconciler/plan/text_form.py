"""A plan as text for a terminal or a pipe. Plain characters; colour, if any, is added by the caller through `paint`.

Order: title; what changes, each with its causes and the lines of its query that differ; what stays in spite of changes;
connectors; impact; steps; hazards; changes of metadata; summary, approval and digest, where a terminal's reader looks.

Rules:
- With a width, lines are broken between words and nothing is lost. Without one (pipes), lines stand as they are.
- A plan of thousands of changes stays readable: the most telling changes in full, the others as counts with names, long
  lists of names cut where nothing is lost by the change. What loses rows is always named. `whole` shows everything.
- What users wrote is shown and does not act.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import short
from reconciler.base.names import first_of
from reconciler.base.printing import printable, printable_lines
from reconciler.base.secrets.redaction import masked_in_code
from reconciler.diff.model import Action, ConnectorChange
from reconciler.diff.wording import describe_address, describe_cause, describe_difference
from reconciler.plan.changes import Group, Row, divide, rows_of
from reconciler.plan.impact import Impact
from reconciler.plan.impact_words import describe_table, describe_totals, describe_view, is_told
from reconciler.plan.model import Hazard, Plan, QueryDifference
from reconciler.plan.policy import describe_demand
from reconciler.plan.unchanged_text import render_unchanged
from reconciler.plan.words import (
    SYMBOLS,
    describe_approval,
    describe_bound_call,
    describe_function,
    describe_loosened,
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
from reconciler.plan.wrapping import wrap

Paint = Callable[[str, str], str]

MOST_CHANGES = 50
MOST_STEPS = 30
_MOST_NAMES = 12
_MOST_OF_A_GROUP = 100
# A comment that is pulled wide hides what stands beside it: no page breaks the lines of a code block.
_WIDEST = 160
_BLANKS = re.compile(r"[^\S\n]{40,}")
_MARK = re.compile(r"\*{3}[0-9]*")
_MASKED_CHANGED = "(a hidden value changed, too: *** with another number is another value)"
_FLAG = "--all shows them in full"


def no_paint(text: str, style: str) -> str:
    """The paint of a pipe: none."""
    return text


def render_text(
    plan: Plan,
    paint: Paint = no_paint,
    width: int | None = None,
    impact: Impact | None = None,
    whole: bool = False,
    rejections: Sequence[str] = (),
) -> str:
    """The plan in lines, ending in a newline. `paint(text, style)` gets styles added, modified, removed, hazard, title.
    `rejections`: who stopped the plan by rejecting it, in words."""
    page = _Page(paint, width)
    if plan.is_empty:
        if not plan.diff.metadata_changed:
            page.lines(_rolled_back(plan))
            return render_unchanged(plan.pipeline, plan.environment, paint) + page.text()
        page.line(f"{plan.pipeline} ({plan.environment})", style="title")
        page.line("  results do not change; other changes:")
        page.lines(f"    {describe_metadata(change)}" for change in plan.diff.metadata)
        _hazards(page, plan, whole)
        page.lines(_rolled_back(plan))
        return page.text()
    page.line(f"{plan.pipeline} ({plan.environment})", style="title")
    _relations(page, plan, whole)
    _local_views(page, plan, whole)
    _functions(page, plan, whole)
    _connector_changes(page, plan.diff.connectors, whole)
    for safeguard in plan.diff.loosened:
        page.line(f"  ~ {describe_loosened(safeguard)} (loosened)", Action.MODIFIED.value)
    if plan.diff.spared:
        page.section("unaffected")
        page.lines(_cut([f"    {describe_spared(spared)}" for spared in plan.diff.spared], whole))
    if unchanged := unchanged_names(plan):
        page.line()
        page.line(f"  unchanged: {first_of(unchanged, None if whole else _MOST_NAMES)}")
    _connector_outcomes(page, plan, whole)
    if is_told(impact, plan):
        page.section("impact")
        page.line(f"    {describe_totals(impact)}")
        page.lines(f"    {describe_table(table)}" for table in impact.tables)
        page.lines(_cut([f"    {describe_view(view)}" for view in impact.views], whole))
    _steps(page, plan, whole)
    _hazards(page, plan, whole)
    if metadata := told_metadata(plan.diff):
        page.section("other changes, without effect on results")
        page.lines(_cut([f"    {describe_metadata(change)}" for change in metadata], whole))
    page.line()
    page.lines(_rolled_back(plan))
    page.line(f"  Plan: {summarise(plan)}.")
    page.line(f"  Approval: {describe_approval(plan)}")
    if demand := describe_demand(plan.judgements):
        page.line(f"  Policy: {demand}", "hazard" if plan.is_denied else None)
    for words in rejections:
        page.line(f"  Rejected: {words}", "hazard")
    page.line(f"  Digest: {short(plan.digest)}")
    return page.text()


def _rolled_back(plan: Plan) -> list[str]:
    """A line for each object that is held back; it is the first thing to know of a plan in which a change has no effect. One
    for each that goes on calling what changes, and one for each version that is staged."""
    return [
        *(f"  rolled back: {describe_rolled_back(one)}" for one in plan.rolled_back),
        *(f"  {describe_bound_call(one)}" for one in plan.bound_calls),
        *(f"  staged: {describe_staged(one)}" for one in plan.staged),
    ]


class _Page:
    """Lines as they are put together: made printable, broken to the width, then painted."""

    def __init__(self, paint: Paint, width: int | None) -> None:
        self._paint = paint
        self._width = width
        self._lines: list[str] = []

    def line(self, text: str = "", style: str | None = None, painted: int | None = None, hanging: int | None = None) -> None:
        """One line. `painted`: only so many of its first characters are in the style. Continuations stand four columns
        right of the line's begin unless `hanging` says where."""
        text = printable(text)
        if hanging is None:
            hanging = len(text) - len(text.lstrip(" ")) + 4
        first, *others = wrap(text, self._width, hanging)
        if style is None:
            self._lines += [first, *others]
        elif painted is None:
            self._lines += [self._paint(line, style) for line in (first, *others)]
        else:
            self._lines += [self._paint(first[:painted], style) + first[painted:], *others]

    def lines(self, texts: Iterable[str], style: str | None = None) -> None:
        for text in texts:
            self.line(text, style)

    def section(self, heading: str, style: str | None = None) -> None:
        self.line()
        self.line(f"  {heading}", style)

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)


def _relations(page: _Page, plan: Plan, whole: bool) -> None:
    queries = {difference.view: difference for difference in plan.queries}
    shown, groups = divide(rows_of(plan), None if whole else MOST_CHANGES)
    for row in shown:
        _relation(page, row, queries)
    for group in groups:
        _group(page, group)
    if groups:
        page.line(f"  ({_FLAG})")


def _local_views(page: _Page, plan: Plan, whole: bool) -> None:
    """LOCAL views, whose changes show in their readers."""
    queries = {difference.view: difference for difference in plan.queries}
    for change in plan.diff.local_changes[: None if whole else MOST_CHANGES]:
        heading = f"  {SYMBOLS[change.action]} local view {change.name}"
        page.line(heading, change.action.value, painted=len(heading), hanging=6)
        page.lines(f"      {describe_cause(cause)}" for cause in change.causes)
        _query(page, queries.get(change.name) if change.action is Action.MODIFIED else None)
    if not whole and len(plan.diff.local_changes) > MOST_CHANGES:
        page.line(f"  {len(plan.diff.local_changes) - MOST_CHANGES} more local views ({_FLAG})")


def _relation(page: _Page, row: Row, queries: dict[str, QueryDifference]) -> None:
    change = row.change
    heading = f"  {SYMBOLS[change.action]} {change.kind.value} {change.name}"
    page.line(f"{heading}: {row.effect}", change.action.value, painted=len(heading), hanging=6)
    page.lines(f"      {describe_cause(cause)}" for cause in change.causes)
    _query(page, queries.get(change.name) if change.action is not Action.REMOVED else None)


def _query(page: _Page, difference: QueryDifference | None) -> None:
    if difference is not None:
        for line in query_difference(difference.applied, difference.desired):
            page.line(f"        {line}", _STYLES.get(line[:1]), hanging=13)


_STYLES = {"+": Action.ADDED.value, "-": Action.REMOVED.value}


def _group(page: _Page, group: Group) -> None:
    why = " because of what they read" if group.is_affected_only else ""
    heading = f"  {SYMBOLS[group.action]} {len(group.names)} more {group.kind.value}s {group.action.value}{why}"
    most = None if group.action is Action.REMOVED else _MOST_OF_A_GROUP
    page.line(
        f"{heading}, {group.effect}: {first_of(group.names, most)}", group.action.value, painted=len(heading), hanging=6
    )


def _functions(page: _Page, plan: Plan, whole: bool) -> None:
    most = None if whole else MOST_CHANGES
    for function in plan.diff.functions[:most]:
        heading = f"  {SYMBOLS[function.action]} function {function.name}"
        words = describe_function(function)
        page.line(heading + (f": {words}" if words else ""), function.action.value, painted=len(heading), hanging=6)
    if most is not None and len(plan.diff.functions) > most:
        rest = plan.diff.functions[most:]
        page.line(f"  and {len(rest)} more functions: {', '.join(function.name for function in rest)}", hanging=6)


def _connector_changes(page: _Page, changes: Sequence[ConnectorChange], whole: bool) -> None:
    most = None if whole else MOST_CHANGES
    for connector in changes[:most]:
        heading = f"  {SYMBOLS[connector.action]} {connector.direction.value} connector {connector.name}"
        renamed = f": renamed from {connector.renamed_from}" if connector.renamed_from else ""
        page.line(heading + renamed, connector.action.value, painted=len(heading), hanging=6)
        page.lines(f"      {told}" for told in describe_address(connector))
        page.lines(f"      {describe_difference(difference)}" for difference in connector.differences)
    if most is not None:
        for action in Action:
            names = [connector.name for connector in changes[most:] if connector.action is action]
            if names:
                heading = f"  {SYMBOLS[action]} {len(names)} more connectors {action.value}"
                page.line(f"{heading}: {', '.join(names)}", action.value, painted=len(heading), hanging=6)


def _connector_outcomes(page: _Page, plan: Plan, whole: bool) -> None:
    if not plan.connectors:
        return
    page.section("connectors")
    if whole or len(plan.connectors) <= MOST_CHANGES:
        page.lines(f"    {item.connector}: {item.outcome.value} ({item.reason})" for item in plan.connectors)
        return
    outcomes: dict[str, list[str]] = {}
    for item in plan.connectors:
        outcomes.setdefault(item.outcome.value, []).append(item.connector)
    for outcome, names in sorted(outcomes.items()):
        page.line(f"    {len(names)}: {outcome}: {first_of(names, _MOST_OF_A_GROUP)}")


def _steps(page: _Page, plan: Plan, whole: bool) -> None:
    if whole or len(plan.steps) <= MOST_STEPS:
        page.section("steps")
        page.lines(f"    {number}. {step.describe()}" for number, step in enumerate(plan.steps, 1))
        return
    page.section(f"{len(plan.steps)} steps, summed up")
    for words, names in step_groups(plan.steps):
        page.line(f"    {words}" + (f": {first_of(names, _MOST_NAMES)}" if names else ""))


def _hazards(page: _Page, plan: Plan, whole: bool) -> None:
    if not plan.hazards:
        return
    page.section("hazards", "hazard")
    codes: dict[str, list[tuple[Hazard, str]]] = {}
    for hazard, message in judged_hazards(plan):
        codes.setdefault(hazard.code, []).append((hazard, message))
    for code, found in codes.items():
        shown = found if whole or len(found) <= MOST_CHANGES else found[:_MOST_NAMES]
        page.lines((f"    {code} {message}" for _, message in shown), "hazard")
        if len(shown) < len(found):
            subjects = ", ".join(hazard.subject for hazard, _ in found[len(shown) :])
            page.line(f"    {code} the same of {len(found) - len(shown)} more: {subjects}", "hazard")


def query_difference(applied: str, desired: str) -> list[str]:
    """The changed lines of a query with up to two lines around them, each begun with `-`, `+` or a space.

    Nothing hides beside what a reader sees: long lines are broken, and a run of many blanks is told by its length. What
    changed is told by the texts themselves; of a credential in one the mark is shown.
    """
    before, after = _lines(applied), _lines(desired)
    old, new = (_lines(text) for text in masked_in_code(applied, desired))
    if (len(old), len(new)) != (len(before), len(after)):
        before, after = old, new
    found: list[str] = []
    gone: list[_Line] = []
    come: list[_Line] = []
    for group in difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(2):
        for tag, start, end, other_start, other_end in group:
            if tag == "equal":
                found += (f" {line}" for line in old[start:end])
                continue
            found += (f"-{line}" for line in old[start:end])
            found += (f"+{line}" for line in new[other_start:other_end])
            gone += map(_Line, before[start:end], old[start:end])
            come += map(_Line, after[other_start:other_end], new[other_start:other_end])
    lines = [f"{line[:1]}{piece}" for line in found for piece in _pieces(line[1:].rstrip())]
    return [*lines, f" {_MASKED_CHANGED}"] if _differ_where_masked(gone, come) else lines


@dataclass(frozen=True, slots=True)
class _Line:
    written: str
    shown: str


def _differ_where_masked(gone: Sequence[_Line], come: Sequence[_Line]) -> bool:
    """Whether a line that goes and one that comes differ in nothing but what is not shown of one of them."""
    before: dict[str, set[_Line]] = {}
    for line in gone:
        if "***" in line.shown:
            before.setdefault(_MARK.sub("", line.shown), set()).add(line)
    return any(
        line.written != one.written and (line.shown != line.written or one.shown != one.written)
        for line in set(come)
        if "***" in line.shown
        for one in before.get(_MARK.sub("", line.shown), ())
    )


def _lines(text: str) -> list[str]:
    """The lines of a query, each fit to be shown: only line feeds end one."""
    return [_BLANKS.sub(_blanks_words, line) for line in printable_lines(text).split("\n")]


def _blanks_words(found: re.Match[str]) -> str:
    return f" [{len(found[0])} blanks] "


def _pieces(line: str) -> list[str]:
    """A line broken between words, and within a word that is wider than any line."""
    return [piece[at : at + _WIDEST] for piece in wrap(line, _WIDEST, 4) for at in range(0, len(piece) or 1, _WIDEST)]


def _cut(lines: Sequence[str], whole: bool) -> Iterator[str]:
    """All lines, or the first ones and how many more."""
    yield from lines if whole else lines[:MOST_CHANGES]
    if not whole and len(lines) > MOST_CHANGES:
        yield f"    and {len(lines) - MOST_CHANGES} more ({_FLAG})"
