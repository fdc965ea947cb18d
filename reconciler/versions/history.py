"""What was applied when: the applies and restores of pipelines, and the whole program as it was at a time.

A row of that history is written just before its switch: one whose apply or restore is still open is none yet, and one that
was taken back never was.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import NotFound, ReconcileError
from reconciler.base.moments import moment_of
from reconciler.environment.target import Target
from reconciler.registry.model import Head
from reconciler.registry.protocol import History
from reconciler.state.histories import published_rows, versions_at
from reconciler.state.past_applies import applies_in_force
from reconciler.versions.allowed import describe_allowed

_KINDS: Final = ("settings", "table", "view", "function", "connector")


@dataclass(frozen=True, slots=True)
class PastApply:
    """One apply or restore. `approval` says why it was allowed (lock, recorded, policy, first, empty, restored);
    `record` names the definitions as they were from then on (empty: the pipeline was removed). `number` is the registry
    version: the applies and restores of a pipeline are counted from 1. `approved_by`: who recorded approvals of its plan;
    `service.past_applies` fills it in."""

    pipeline: str
    at: str
    by: str
    commit: str
    approval: str
    summary: str
    plan_digest: str
    digest: str
    record: str
    reconciler: str
    apply_id: str
    number: int = 0
    approved_by: str = ""

    @property
    def allowed_by(self) -> str:
        """Why it was allowed, in words, and who approved it."""
        return describe_allowed(self.approval, self.by if self.approval == "restored" else self.approved_by)


@dataclass(frozen=True, slots=True)
class PastObject:
    """One definition as it was: what its author wrote, and its version (None: it has none, as connectors and settings do
    not, or was applied before there were versions)."""

    kind: str
    name: str
    version: int | None
    definition: JsonObject


@dataclass(frozen=True, slots=True)
class PastProgram:
    """A pipeline's whole program as it was at a time, and the apply that had brought it."""

    applied: PastApply
    objects: tuple[PastObject, ...]


def list_applies(target: Target, pipelines: Iterable[str], limit: int | None = None) -> tuple[PastApply, ...]:
    """The last applies of these pipelines, oldest first."""
    found = [apply for pipeline in pipelines for apply in _applies(target, pipeline)]
    found.sort(key=lambda one: (one.at, one.pipeline))
    return tuple(found if limit is None else found[-limit:])


def program_at(target: Target, pipeline: str, time: datetime) -> PastProgram:
    """The program that was in force at a time. Raises NotFound (A523) when none was."""
    sought = moment_of(time)
    before = [one for one in _applies(target, pipeline) if one.at <= sought]
    if not before:
        raise NotFound("A523", f"pipeline {pipeline} was not yet applied at {sought}")
    last = before[-1]
    if not last.record:
        raise NotFound("A523", f"{pipeline} was removed at {last.at}, before {sought}")
    stored = target.registry.head(pipeline)
    numbers = _numbers(target, stored.value, last) if stored is not None else {}
    objects = [
        PastObject(row["kind"], row["name"], numbers.get(f"{row['kind']}:{row['name']}"), row["definition"])
        for row in target.registry.snapshot(pipeline, last.record)
        # What it knew of other pipelines is no definition of its own.
        if row["kind"] in _KINDS
    ]
    objects.sort(key=lambda one: (_KINDS.index(one.kind), one.name))
    return PastProgram(last, tuple(objects))


def programs_at(target: Target, pipelines: Iterable[str], time: datetime, *, all_of_them: bool) -> tuple[PastProgram, ...]:
    """The programs of these pipelines that were in force at a time. Raises NotFound (A523) when none was, or not
    `all_of_them`."""
    found: list[PastProgram] = []
    missing: NotFound | None = None
    for pipeline in pipelines:
        try:
            found.append(program_at(target, pipeline, time))
        except NotFound as error:
            if all_of_them:
                raise
            missing = error
    if not found:
        raise missing or NotFound("A523", "no pipeline was ever applied")
    return tuple(found)


def time_of(text: str) -> datetime:
    """A time as people write it: a date, or ISO 8601; UTC unless it says otherwise. Raises ReconcileError (U819)."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ReconcileError(
            "U819", f"{text!r} is not a time", "2026-01-31, 2026-01-31T12:00 or 2026-01-31T12:00+01:00"
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _applies(target: Target, pipeline: str) -> list[PastApply]:
    stored = target.registry.head(pipeline)
    rows = applies_in_force(target.registry, pipeline, stored.value if stored is not None else None)
    return [PastApply(pipeline=pipeline, **row, number=number) for number, row in enumerate(rows, start=1)]


def _numbers(target: Target, head: Head, last: PastApply) -> dict[str, int]:
    """The active versions once an apply had switched, by key."""
    rows = published_rows(target.registry, head, History.ACTIVATIONS, ("at", "step"))
    step = max((int(row["step"]) for row in rows if row["at"] <= last.at), default=None)
    then = versions_at(target.registry, head, step) if step is not None else {}
    return {key: one.active for key, one in then.items() if one.active is not None}
