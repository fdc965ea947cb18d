"""plan.lock: the plan as canonical text in the pull request; merging it is the approval of exactly that plan.

A file holds sections, one for each pipeline and environment, sorted; a section is the plan in words, made to be read in a
review, and ends with the digest. It holds nothing that varies by itself. Apply renders the section again and compares
bytes: an edited lock, a lock of another plan, and one made before somebody else's change all differ.

A lock is one of: Matches; Spent (its plan was applied, or there is nothing to do); OtherVersion (written by another
version of reconciler, which may word the same plan otherwise); Differs; Missing. A file that is no lock (conflict markers,
an edited header) is Differs.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.secrets.redaction import masked_in_code
from reconciler.diff.wording import describe_address, describe_cause, describe_difference
from reconciler.plan.model import Judgement, Plan
from reconciler.plan.policy import describe_demand, describe_judgement
from reconciler.plan.words import (
    SYMBOLS,
    describe_approval,
    describe_bound_call,
    describe_effects,
    describe_loosened,
    describe_rolled_back,
    summarise,
)

_HEADER = "# The plan that merging this file approves. Written by `reconcile plan --write-lock`; edits make it void.\n"
_SECTION = re.compile(r"^\[([a-z0-9_-]+) / ([A-Za-z0-9_.-]+)\]$", re.MULTILINE)
_FIELD = re.compile(r"^(reconciler|follows|applied|desired|digest): (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Matches:
    """The lock approves this plan."""


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no lock for this pipeline and environment."""


@dataclass(frozen=True, slots=True)
class Spent:
    """The lock's plan was applied already."""


@dataclass(frozen=True, slots=True)
class OtherVersion:
    """The lock was written by another version of reconciler and does not match."""

    version: str


@dataclass(frozen=True, slots=True)
class Differs:
    """The lock is for something else. `reason` says what, as far as it can be told."""

    reason: str


LockState: TypeAlias = Matches | Missing | Spent | OtherVersion | Differs


def render_section(plan: Plan, version: str) -> str:
    """The plan's section, ending in a newline."""
    lines = [f"[{plan.pipeline} / {plan.environment}]", f"reconciler: {version}", summarise(plan), ""]
    for change, effect in zip(plan.diff.relations, describe_effects(plan), strict=True):
        lines.append(f"{SYMBOLS[change.action]} {change.kind.value} {change.name}: {effect}")
        lines += [f"    {_one_line(describe_cause(cause))}" for cause in change.causes]
    for change in plan.diff.local_changes:
        lines.append(f"{SYMBOLS[change.action]} local view {change.name}")
        lines += [f"    {_one_line(describe_cause(cause))}" for cause in change.causes]
    for function in plan.diff.functions:
        lines.append(f"{SYMBOLS[function.action]} function {function.name}")
        lines += [f"    {_one_line(cause)}" for cause in function.causes]
    for connector in plan.diff.connectors:
        lines.append(f"{SYMBOLS[connector.action]} {connector.direction.value} connector {connector.name}")
        lines += [f"    {_one_line(told)}" for told in describe_address(connector)]
        lines += [f"    {_one_line(describe_difference(difference))}" for difference in connector.differences]
    lines += [f"~ {describe_loosened(one)} (loosened)" for one in plan.diff.loosened]
    if plan.rolled_back:
        lines += ["", *(f"rolled back: {describe_rolled_back(one)}" for one in plan.rolled_back)]
    if plan.bound_calls:
        lines += ["", *(describe_bound_call(one) for one in plan.bound_calls)]
    lines += ["", "steps:"]
    lines += [f"  {number}. {step.describe()}" for number, step in enumerate(plan.steps, 1)]
    if plan.connectors:
        lines += ["", "connectors:"]
        lines += [f"  {item.connector}: {item.outcome.value} ({item.reason})" for item in plan.connectors]
    if plan.hazards:
        lines += ["", "hazards:"]
        lines += [f"  {one.hazard.code} {one.hazard.message}{_verdict(one)}" for one in plan.judgements]
    lines += [
        "",
        f"approval: {describe_approval(plan)}",
        *([f"policy: {describe_demand(plan.judgements)}"] if plan.is_denied or plan.extra_approvals else []),
        f"follows: {plan.follows or 'nothing'}",
        f"applied: {plan.applied_digest or 'nothing'}",
        f"desired: {plan.desired_digest or 'nothing'}",
        f"digest: {plan.digest}",
    ]
    return masked_in_code("\n".join(lines))[0] + "\n"


def read_sections(text: str) -> dict[tuple[str, str], str]:
    """(pipeline, environment) → section text. What stands before the first section is ignored but for writing again."""
    starts = list(_SECTION.finditer(text))
    ends = [*(match.start() for match in starts[1:]), len(text)][: len(starts)]
    return {
        (match.group(1), match.group(2)): text[match.start() : end].rstrip("\n") + "\n"
        for match, end in zip(starts, ends, strict=True)
    }


def write_sections(sections: dict[tuple[str, str], str]) -> str:
    """The file of these sections."""
    return _HEADER + "".join(f"\n{sections[key]}" for key in sorted(sections))


def with_section(text: str | None, plan: Plan | None, version: str, pipeline: str, environment: str) -> str | None:
    """The file with one section written anew, or left out when `plan` is None. None: nothing is left of the file."""
    sections = read_sections(text or "")
    sections.pop((pipeline, environment), None)
    if plan is not None:
        sections[(pipeline, environment)] = render_section(plan, version)
    return write_sections(sections) if sections else None


def without_sections(text: str | None, is_needless: Callable[[str, str], bool]) -> str | None:
    """The file without sections of a pipeline and an environment of which that is true, as it was where there are none.
    None: nothing is left of the file."""
    sections = read_sections(text or "")
    kept = {key: section for key, section in sections.items() if not is_needless(*key)}
    if len(kept) == len(sections):
        return text
    return write_sections(kept) if kept else None


def judge_lock(text: str | None, plan: Plan, version: str) -> LockState:
    """What a lock file's text says of this plan."""
    if text is None:
        return Missing()
    if re.search(r"^(<{7}|={7}|>{7})", text, re.MULTILINE):
        return Differs("it holds conflict markers")
    key = (plan.pipeline, plan.environment)
    sections = read_sections(text)
    section = sections.get(key)
    if section is None:
        return Missing()
    if write_sections(sections) != text:
        return Differs("the file was edited outside of its sections")
    if section == render_section(plan, version):
        return Matches()
    fields = dict(_FIELD.findall(section))
    if plan.is_empty or fields.get("digest") == plan.follows:
        return Spent()
    if fields.get("reconciler") != version:
        return OtherVersion(fields.get("reconciler", "unknown"))
    if fields.get("digest") == plan.digest:
        return Differs("its text was edited, or another build of reconciler worded this plan otherwise")
    if (fields.get("follows"), fields.get("applied")) != (plan.follows or "nothing", plan.applied_digest or "nothing"):
        return Differs("something else was applied since it was written")
    if fields.get("desired") != (plan.desired_digest or "nothing"):
        return Differs("the pipeline's files changed since it was written")
    return Differs("the policies in force changed since it was written")


def _verdict(judgement: Judgement) -> str:
    words = describe_judgement(judgement)
    return f" [{words}]" if words else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
