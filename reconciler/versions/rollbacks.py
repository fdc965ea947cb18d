"""Which rollback is meant: an object by its name, a pipeline by a registry version, or the end of one. What it brings, and
how it is carried out: `rolling_back`.

- Without a version, an object goes back to the one that was active before. Of one that is rolled back already that would
  mean forth again to whoever only repeats a command whose answer was lost: there the version has to be named.
- A pipeline goes back to the definitions that were applied at a registry version, of everything but: what YAML alone says
  (connectors, settings), and tables that came since, which stay with their rows. A view or function that came since goes;
  one that went since comes back. Registry versions are counted as `history` shows them.
"""

from collections.abc import Mapping
from dataclasses import field

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import NotFound, ReconcileError
from reconciler.base.moments import moment_of
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.project.snapshot.objects import object_key, object_keys, same_definition
from reconciler.registry.model import Head, ObjectVersions
from reconciler.registry.protocol import History
from reconciler.state.applied import read_snapshot
from reconciler.state.histories import published_rows, versions_at
from reconciler.versions.history import PastApply, list_applies, time_of
from reconciler.versions.looking import VersionedName, find_object, no_such_version, number_of


@dataclass(frozen=True, slots=True)
class Rollback:
    """What goes where: `to` maps objects (`kind:folded name`) to the number of the version that they are to have (None: not
    to be there); for those of `ended` the files hold again. `seen` has the numbers that those of `to` had when this was
    asked for: it is for no others. `words` say it for people. `whole`: all that is defined goes back to one time."""

    pipeline: str
    words: str
    to: Mapping[str, int | None] = field(default_factory=dict)
    ended: tuple[str, ...] = ()
    seen: Mapping[str, int | None] = field(default_factory=dict)
    whole: bool = False


def rollback_of(target: Target, name: VersionedName, kind: str | None = None) -> Rollback:
    """The rollback of an object to the version that is named, else to the one that was active before. Raises NotFound (A520,
    A522), ReconcileError (A521, A542)."""
    found = find_object(target, name, kind)
    head, versions = found.head, found.versions
    key = object_key(found.kind, found.name)
    applied = _applied_program(target, head)
    held = applied.settings.held
    whole = f"{found.pipeline}.{found.name}"
    if name.version is not None:
        number = number_of(target, found, name.version)
        if number is None or number > versions.last:
            raise no_such_version(target, found, name.version)
    elif key in held:
        raise ReconcileError(
            "A542",
            f"{whole} is already rolled back",
            f"name the version, as in: reconcile rollback {whole}@v0; or end the rollback: --end {whole}",
        )
    else:
        rows = published_rows(target.registry, head, History.ACTIVATIONS, ("number", "step"), object=versions.id)
        before = [int(row["number"]) for row in rows if row["number"] and int(row["number"]) != versions.active]
        if not before:
            raise ReconcileError("A542", f"{whole} has no earlier version", "reconcile versions list shows its versions")
        number = before[-1]
    if versions.active is None:
        message = f"{whole} was removed"
        raise ReconcileError("A542", message, "restore its definition in the files, or roll the pipeline back")
    if number == versions.active:
        raise ReconcileError("A542", f"{whole} is already at v{number}", "reconcile versions list shows its versions")
    words = f"{found.kind} {found.name} to v{number}"
    return Rollback(found.pipeline, words, {key: number}, seen={key: versions.active})


def rollback_of_pipeline(target: Target, pipeline: str, to: str) -> Rollback:
    """The rollback of a pipeline to a registry version, by its number or a time. Raises NotFound (A546), ReconcileError
    (A542, A544, U819)."""
    stored = target.registry.head(pipeline)
    if stored is None or stored.value.applied is None or stored.value.applied.record is None:
        raise NotFound("A506", f"pipeline {pipeline} is not applied", "run: reconcile apply")
    head, past = stored.value, _registry_version(target, pipeline, to)
    now, then = _applied_program(target, head), read_snapshot(target, pipeline, past.record).program
    versions = _versions_then(target, head, past)
    names = _names_today(head, versions)
    numbers = {names.get(key, key): one.active for key, one in versions.items()}
    then_keys = {names.get(key, key): key for key in object_keys(then)}
    wanted: dict[str, int | None] = {}
    for key in sorted({*object_keys(now), *then_keys}):
        if key not in then_keys:
            if not key.startswith("table:"):
                wanted[key] = None
            continue
        if key in object_keys(now) and same_definition(now, then, key, then_keys[key]):
            continue
        if key.startswith("table:") and key not in object_keys(now):
            raise would_lose(pipeline, key, "the table was removed later, with its rows")
        if numbers.get(key) is None:
            name = key.partition(":")[2]
            message = f"{pipeline}: the registry no longer knows the version that {name} had then"
            hint = f"roll back each object by itself; reconcile versions list {pipeline}.{name} shows its versions"
            raise NotFound("A546", message, hint)
        wanted[key] = numbers[key]
    if not wanted:
        message = f"{pipeline} is already as it was at registry version {past.number}"
        raise ReconcileError("A542", message, "reconcile history shows the registry versions")
    seen = {key: active_number(head, key) for key in wanted}
    words = f"pipeline {pipeline} to registry version {past.number}"
    return Rollback(pipeline, words, wanted, seen=seen, whole=True)


def end_of(target: Target, name: VersionedName | None, pipeline: str | None = None, kind: str | None = None) -> Rollback:
    """The end of a rollback: of one object, or of all of a pipeline. Raises NotFound (A520, A545), ReconcileError (A521)."""
    if name is None:
        stored = target.registry.head(pipeline or "")
        held = _applied_program(target, stored.value).settings.held if stored is not None else {}
        if not held:
            raise NotFound("A545", f"pipeline {pipeline} has no rollback to end")
        return Rollback(pipeline or "", f"end of all rollbacks of {pipeline}", ended=tuple(sorted(held)))
    found = find_object(target, name, kind)
    held = _applied_program(target, found.head).settings.held
    key = object_key(found.kind, found.name)
    if key not in held:
        known = ", ".join(one.partition(":")[2] for one in sorted(held)) or "nothing"
        raise NotFound("A545", f"{found.pipeline}.{found.name} is not rolled back", f"rolled back: {known}")
    return Rollback(found.pipeline, f"end of the rollback of {found.kind} {found.name}", ended=(key,))


def active_number(head: Head, key: str) -> int | None:
    """The number of an object's active version; None where it is not there."""
    found = head.versions.get(key)
    return found.active if found is not None else None


def would_lose(pipeline: str, key: str, why: str) -> ReconcileError:
    """The error for a table whose rows do not outlive a rollback."""
    return ReconcileError(
        "A544",
        f"table {pipeline}.{key.partition(':')[2]} can't be rolled back: {why}",
        "roll back the views that read it, or change its definition in the files",
    )


def _applied_program(target: Target, head: Head) -> Program:
    if head.applied is None or head.applied.record is None:
        raise NotFound("A506", f"pipeline {head.pipeline} is not applied", "run: reconcile apply")
    return read_snapshot(target, head.pipeline, head.applied.record).program


def _registry_version(target: Target, pipeline: str, to: str) -> PastApply:
    applies = list_applies(target, [pipeline])
    if to.isascii() and to.isdecimal():
        found = [one for one in applies if one.number == int(to)]
    else:
        sought = moment_of(time_of(to))
        found = [one for one in applies if one.at <= sought][-1:]
    if not found:
        raise NotFound("A546", f"{pipeline} has no registry version {to}", "reconcile history shows the registry versions")
    if not found[0].record:
        raise NotFound("A546", f"{pipeline} was removed at registry version {found[0].number}", "name an earlier one")
    return found[0]


def _versions_then(target: Target, head: Head, past: PastApply) -> dict[str, ObjectVersions]:
    """The versions that an apply left, as far as the histories tell. One that was killed on the way has told of itself
    before it switched."""
    rows = published_rows(target.registry, head, History.ACTIVATIONS, ("at", "step", "apply_id"))
    steps = [int(row["step"]) for row in rows if row["at"] <= past.at or row["apply_id"] == past.apply_id]
    return versions_at(target.registry, head, max(steps)) if steps else {}


def _names_today(head: Head, then: Mapping[str, ObjectVersions]) -> dict[str, str]:
    """The keys of today of the objects of then, by their keys of then."""
    today = {one.id: key for key, one in head.versions.items() if one.active is not None}
    return {key: today[one.id] for key, one in then.items() if one.active is not None and one.id in today}
