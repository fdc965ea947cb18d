"""What the pages of the console show, as values: read anew for each page, and nothing of it is kept but plans. Credentials
in the texts of a plan are masked, as commands mask them."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from difflib import SequenceMatcher
from typing import Any, Final

from reconciler.apply.decisions import lifts_text, read_decisions
from reconciler.base.dataclass import dataclass
from reconciler.base.errors import ReconcileError
from reconciler.base.secrets.redaction import masked_in_code
from reconciler.environment.target import Target
from reconciler.plan.changes import ToldChange, told_changes
from reconciler.plan.model import Plan
from reconciler.plan.words import (
    describe_approval,
    describe_bound_call,
    describe_metadata,
    describe_spared,
    judged_hazards,
    step_groups,
    summarise,
    told_metadata,
)
from reconciler.query.dead_letters import ALWAYS_DEAD_LETTERS, rows_without_engine
from reconciler.registry.model import Deployment
from reconciler.registry.protocol import History
from reconciler.rest.descriptions import committed_among, read_description
from reconciler.rest.errors import told_of
from reconciler.rest.shared import Service
from reconciler.service.past_applies import list_applies
from reconciler.service.pending import Pending, read_pending
from reconciler.service.project import Project
from reconciler.service.status import read_status, status_of_known
from reconciler.service.status_model import ConnectorStatus, PipelineStatus
from reconciler.state.events import LoggedEvent, read_events
from reconciler.state.rejections import Rejection, read_rejections
from reconciler.versions.history import PastApply
from reconciler.versions.looking import VersionedName, VersionList, find_object, list_versions

_EVENTS: Final = 30
LETTERS: Final = 100
"""So many dead letters are shown at most."""
_VERSIONS: Final = 20


@dataclass(frozen=True, slots=True)
class Listed:
    """A pipeline in the list. `error` is what keeps it from running, or from being looked at; `behind` how many seconds old
    the oldest change was at its last step."""

    name: str
    state: str
    owner: str
    pending: str
    needs_approval: bool
    step: int | None
    behind: float | None
    lag: int
    error: str


@dataclass(frozen=True, slots=True)
class SideBySide:
    """A line of two texts beside each other; empty where one has no such line."""

    before: str
    after: str
    differs: bool


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """A plan as a page shows it. `changes` are those of any kind; `connectors` says what becomes of each connector, and why;
    `others` are changes without effect on results; `unaffected` says why views need no new rows. `refusal` is why apply
    would not carry it out now (empty: it would); `decided` what was said of it before: approvals and rejections, in words;
    `rejections` those that stop it; `shown_rejections` their ids, as whoever overrules them sends them back: none that comes
    after the page was made is overruled."""

    digest: str
    summary: str
    changes: tuple[ToldChange, ...]
    connectors: tuple[tuple[str, str, str], ...]
    others: tuple[str, ...]
    unaffected: tuple[str, ...]
    hazards: tuple[tuple[str, str, str], ...]
    queries: tuple[tuple[str, tuple[SideBySide, ...]], ...]
    steps: tuple[tuple[str, tuple[str, ...]], ...]
    approval: str
    refusal: str
    changes_nothing: bool
    decided: tuple[str, ...] = ()
    rejections: tuple[str, ...] = ()
    shown_rejections: str = ""


@dataclass(frozen=True, slots=True)
class Overview:
    """One pipeline: where it stands, what goes on, what is wrong."""

    status: PipelineStatus
    state: str
    owner: str
    wish: Deployment
    errors: tuple[str, ...]
    events: tuple[LoggedEvent, ...]
    phases: tuple[tuple[str, float, float], ...] = field(default=())


def list_pipelines(service: Service) -> tuple[Listed, ...]:
    """All pipelines; one that can't be read says why."""
    target, names = service.target.at_one_moment(), service.lookup.names()
    committed = committed_among(target, names)
    return tuple(_listed(service, target, name, committed) for name in names)


def overview(service: Service, name: str) -> Overview:
    """One pipeline. Raises Refused, ReconcileError."""
    seen = service.lookup.see(name)
    status = read_status(service.target, name)
    events = read_events(service.target.registry, name, _EVENTS)
    return Overview(
        status,
        seen.status,
        "the API" if seen.description is not None else "git",
        seen.wish,
        tuple(_errors(status, seen.wish)),
        tuple(reversed(events)),
        _phases(status),
    )


def shown_pending(service: Service, name: str) -> ShownPlan | None:
    """The plan of the files; None where there is nothing to plan. Raises ReconcileError."""
    pending = read_pending(service.target, name)
    return None if pending is None else show_plan(service, pending)


def shown_rollback(service: Service, name: str, version: str, *, ends: bool) -> ShownPlan:
    """The plan of giving an object an earlier version (`counted@v0`), or of ending its rollback. Raises ReconcileError."""
    with Project(service.target) as project:
        pipeline = project.pipeline(name)
        change = pipeline.rolling_back(pipeline.end_of_rollback(version) if ends else pipeline.rollback_of(version))
        return show_plan(service, Pending(change.plan, None, change.rejections()))


def show_plan(service: Service, pending: Pending) -> ShownPlan:
    """A plan as a page shows it."""
    plan = pending.plan
    return ShownPlan(
        plan.digest,
        summarise(plan),
        tuple(replace(one, why=tuple(map(_masked, one.why))) for one in told_changes(plan)),
        tuple((one.connector, one.outcome.value, _masked(one.reason)) for one in plan.connectors),
        tuple(
            map(
                _masked,
                (*map(describe_metadata, told_metadata(plan.diff)), *map(describe_bound_call, plan.bound_calls)),
            )
        ),
        tuple(_masked(describe_spared(one)) for one in plan.diff.spared),
        tuple((hazard.code, hazard.subject, _masked(words)) for hazard, words in judged_hazards(plan)),
        tuple((one.view, side_by_side(*masked_in_code(one.applied, one.desired))) for one in plan.queries),
        tuple((title, tuple(map(_masked, steps))) for title, steps in step_groups(plan.steps)),
        describe_approval(plan),
        _refusal(service, pending),
        plan.changes_nothing,
        _decided(service, plan),
        tuple(one.words for one in pending.rejections),
        lifts_text(pending.rejections),
    )


def _refusal(service: Service, pending: Pending) -> str:
    if pending.refusal is None:
        return ""
    waits = pending.refusal.code == "A501" and read_description(service.target, pending.plan.pipeline) is not None
    # Nobody writes a plan.lock for a pipeline of the API.
    return f"{pending.plan.pipeline}: this plan awaits an approval" if waits else pending.refusal.message


def _masked(text: str) -> str:
    """As every command shows it, too."""
    return masked_in_code(text)[0]


def side_by_side(before: str, after: str) -> tuple[SideBySide, ...]:
    """Two texts, line by line beside each other."""
    old, new = before.splitlines(), after.splitlines()
    found: list[SideBySide] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for number in range(max(b - a, d - c)):
            left = old[a + number] if a + number < b else ""
            right = new[c + number] if c + number < d else ""
            found.append(SideBySide(left, right, kind != "equal"))
    return tuple(found)


def versions_of(service: Service, name: str, relation: str) -> VersionList:
    """The last versions of a relation. Raises NotFound."""
    found = find_object(service.target, VersionedName(name, relation, None))
    return list_versions(service.target, found, _VERSIONS)


def applies_of(service: Service, name: str) -> tuple[PastApply, ...]:
    """What was applied, the newest first."""
    return tuple(reversed(list_applies(service.target, [name])))


def prunes_of(service: Service, name: str) -> tuple[Mapping[str, Any], ...]:
    """What was pruned, the newest first."""
    return tuple(reversed(service.target.registry.history(History.PRUNES, name)))


def rejections_of(service: Service, name: str) -> tuple[Rejection, ...]:
    """The rejections of plans, the newest first."""
    return tuple(reversed(read_rejections(service.target.registry, name)))


def dead_letters_of(service: Service, name: str) -> tuple[list[str], list[Sequence[Any]]]:
    """The records that could not become rows: columns and rows, the newest step first."""
    stored = service.target.registry.head(name)
    published = stored.value.published if stored is not None else None
    if published is None:
        return [], []
    rows = rows_without_engine(service.target, name, f"SELECT * FROM {ALWAYS_DEAD_LETTERS}", published.step)
    if rows is None:
        return [], []
    return [column.name for column in rows.columns], list(reversed(rows.rows))[:LETTERS]


def lag_of(connectors: Sequence[ConnectorStatus]) -> int:
    """How much waits to be read, in what each source counts."""
    return sum(sum(one.backlog.values()) for one in connectors)


def _listed(service: Service, target: Target, name: str, committed: frozenset[str]) -> Listed:
    try:
        seen = service.lookup.see_known(name, committed)
        status = status_of_known(target, name)
    except ReconcileError as error:
        return Listed(name, "Unknown", "", "", False, None, None, 0, told_of(error).message)
    errors = [*_errors(status, seen.wish)]
    behind = status.run.freshness.get("last") if status.run is not None else None
    return Listed(
        name,
        seen.status,
        "API" if seen.description is not None else "git",
        status.pending,
        bool(status.refusal) or bool(seen.wish.awaits),
        status.step,
        behind,
        lag_of(status.connectors),
        errors[0] if errors else "",
    )


def _errors(status: PipelineStatus, wish: Deployment) -> list[str]:
    found = [wish.error["message"]] if wish.error is not None else []
    if status.fault:
        found.append(status.fault)
    if status.run is not None and status.run.error is not None:
        found.append(_words(status.run.error))
    if status.failed_command is not None:
        told = status.failed_command
        found.append(f"{told.command} failed: {_words(told.error)}" if told.error is not None else f"{told.command} died")
    found += [
        f"{one.name}: {_words(one.last_error)}"
        for one in status.connectors
        if one.activity == "failing" and one.last_error is not None
    ]
    return list(dict.fromkeys(map(_masked, found)))


def _words(error: Mapping[str, Any]) -> str:
    hint = f" ({error['hint']})" if error.get("hint") else ""
    return f"{error['code']}: {error['message']}{hint}"


def _phases(status: PipelineStatus) -> tuple[tuple[str, float, float], ...]:
    """By phase of a step: its seconds in the last one, and their part of the whole."""
    last = dict(status.run.phases.get("last", {})) if status.run is not None else {}
    whole = sum(last.values()) or 1.0
    return tuple((name, seconds, seconds / whole) for name, seconds in last.items())


def _decided(service: Service, plan: Plan) -> tuple[str, ...]:
    found = read_decisions(service.target, plan)
    words = [(row["at"], f"approved by {row['by']}{_said(row['comment'])}") for row in found.approvals]
    words += [(one.at, f"rejected by {one.by}{_said(one.reason)}") for one in found.rejections]
    return tuple(_masked(f"{at[:19]} {text}") for at, text in sorted(words))


def _said(comment: str) -> str:
    return f": {comment}" if comment else ""
