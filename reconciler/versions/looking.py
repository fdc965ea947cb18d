"""Looking at versions of objects: listed, shown, compared. What records them: `numbering`.

An object is named `[PIPELINE.]NAME`, a version of it `[PIPELINE.]NAME@vN`, or by an alias (`aliases`), as written anywhere.
A name that several pipelines know has to say which; one that stands for a relation and a function means the relation.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeVar

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import NotFound, ReconcileError, RegistryError
from reconciler.base.names import did_you_mean, fold
from reconciler.environment.target import Target
from reconciler.project.manifest.spark_values import shown_decisive
from reconciler.project.snapshot.objects import KINDS, object_key
from reconciler.registry.model import Aliases, Head, ObjectVersions
from reconciler.registry.protocol import History
from reconciler.sql.shown_definitions import without_connectors
from reconciler.state.histories import published_rows
from reconciler.state.pruned import Pruned, pruned_versions
from reconciler.versions.allowed import describe_allowed

_VERSION = re.compile(r"v(0|[1-9][0-9]{0,17})", re.ASCII | re.IGNORECASE)
_SUMMARY = ("number", "name", "at", "step", "by", "commit", "author", "approval", "approved_by", "plan_digest", "apply_id")
_WHOLE = (*_SUMMARY, "reconciler", "fingerprint", "definition", "content")


@dataclass(frozen=True, slots=True)
class VersionedName:
    """A name as somebody gives it. `version` is what follows the `@`, None when nothing does."""

    pipeline: str | None
    name: str
    version: str | None


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object of a pipeline that versions are known of. `head` is the pipeline's."""

    pipeline: str
    kind: str
    name: str
    versions: ObjectVersions
    head: Head


@dataclass(frozen=True, slots=True)
class VersionSummary:
    """One version: when it was recorded, at which step, who applied it (`by`), from whose commit, and why it might be."""

    number: int
    name: str
    at: str
    step: int
    by: str
    commit: str
    author: str
    approval: str
    approved_by: str
    plan_digest: str
    apply_id: str

    @property
    def allowed_by(self) -> str:
        """Why it might be applied, in words, and who approved it."""
        return describe_allowed(self.approval, self.approved_by)


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """One version whole. `definition` is what its author wrote, with the declared types; `content` its canonical query,
    columns, settings that decide results (as they may be shown), and what it reads and calls. `known_as` are digests of what
    it means, by which it is known again."""

    found: FoundObject
    summary: VersionSummary
    reconciler: str
    fingerprint: str
    definition: JsonObject
    content: JsonObject
    known_as: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """The statement as written, but for the settings of connectors: they may be secret, and are no part of a version."""
        return without_connectors(str(self.definition["sql"]))


@dataclass(frozen=True, slots=True)
class VersionList:
    """The last versions of an object, oldest first. `is_whole`: there are no others. `aliases` are all there are; `pruned`
    are those (by number) that have lost their rows, `maintained` those that are kept up to date beside the active one,
    `refreshed` those that were brought up to date once, by number the step."""

    found: FoundObject
    versions: tuple[VersionSummary, ...]
    is_whole: bool
    aliases: Mapping[str, int] = field(default_factory=dict)
    pruned: Mapping[int, Pruned] = field(default_factory=dict)
    maintained: frozenset[int] = frozenset()
    refreshed: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ColumnDifference:
    """A column that one of two versions has otherwise, or not at all. None: it has no such column; an empty type is not
    known."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class VersionDifference:
    """Two versions of an object compared. `reads` maps relations to the columns read before and after (None: it does not
    read that), `settings` those that decide results and differ to their values. `sources` maps the files of a function in
    Python that differ to their texts, `parts` what else it says to words; `functions` those that are called in another
    version to these numbers (None: it does not call that, or nothing is recorded of it)."""

    before: ObjectVersion
    after: ObjectVersion
    columns: tuple[ColumnDifference, ...]
    reads: Mapping[str, tuple[tuple[str, ...] | None, tuple[str, ...] | None]]
    settings: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    sources: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    parts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    functions: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)

    @property
    def written_otherwise(self) -> tuple[str, ...]:
        """The parts of the definition that differ, sorted."""
        before, after = self.before.definition, self.after.definition
        return tuple(sorted(part for part in {*before, *after} if before.get(part) != after.get(part)))

    @property
    def same_meaning(self) -> bool:
        """Whether both mean the same."""
        return self.before.fingerprint == self.after.fingerprint


def versioned_name(text: str) -> VersionedName:
    """A name as given. Raises ReconcileError (U818) when it is none."""
    name, at, version = text.partition("@")
    pipeline, dot, inner = name.rpartition(".")
    if not inner or (dot and not pipeline) or (at and not version):
        raise ReconcileError(
            "U818", f"{text!r} is not the name of an object", "write [PIPELINE.]NAME, or [PIPELINE.]NAME@v2"
        )
    return VersionedName(pipeline or None, inner, version or None)


def find_object(target: Target, name: VersionedName, kind: str | None = None) -> FoundObject:
    """The object of that name. Raises NotFound (A520), ReconcileError (A521) when several pipelines know it."""
    pipelines = (name.pipeline,) if name.pipeline is not None else target.registry.pipelines()
    found: list[FoundObject] = []
    known: set[str] = set()
    for pipeline in pipelines:
        stored = target.registry.head(pipeline)
        if stored is None:
            continue
        known |= {key.partition(":")[2] for key in stored.value.versions}
        one = _in_head(stored.value, name.name, kind)
        if one is not None:
            found.append(one)
    if len(found) > 1:
        whose = ", ".join(f"{one.pipeline}.{one.name}" for one in found)
        raise ReconcileError("A521", f"{name.name!r} is ambiguous", f"write one of: {whose}")
    if not found:
        where = f"pipeline {name.pipeline!r}" if name.pipeline is not None else "any applied pipeline"
        raise NotFound("A520", f"{name.name!r} has no version in {where}", did_you_mean(name.name, known))
    return found[0]


def find_in_head(head: Head, name: str, kind: str | None = None) -> FoundObject:
    """The object of that name in a head that was read already. Raises NotFound (A520)."""
    found = _in_head(head, name, kind)
    if found is None:
        known = {key.partition(":")[2] for key in head.versions}
        raise NotFound("A520", f"{name!r} has no version in pipeline {head.pipeline!r}", did_you_mean(name, known))
    return found


def list_versions(target: Target, found: FoundObject, limit: int | None = None) -> VersionList:
    """The last versions of an object. Costs what these do, however many there are."""
    more = None if limit is None else limit + 1
    key = found.versions.id
    rows = published_rows(target.registry, found.head, History.VERSIONS, _SUMMARY, "number", more, object=key)
    shown = tuple(_summary(row) for row in (rows if limit is None else rows[-limit:]))
    # Numbers begin with 0.
    aliases, pruned = aliases_of(target, found), pruned_now(target, found)
    prefix = f"{found.versions.id}@v"
    refreshed = {int(key[len(prefix) :]): one.step for key, one in found.head.refreshed.items() if key.startswith(prefix)}
    is_whole = not shown or shown[0].number == 0
    pruned = {number: one for number, one in pruned.items() if number not in refreshed}
    return VersionList(found, shown, is_whole, aliases, pruned, _maintained(target, found), refreshed)


def _maintained(target: Target, found: FoundObject) -> frozenset[int]:
    applied = found.head.applied
    if found.kind != "view" or found.versions.active is None or applied is None or not applied.record:
        return frozenset()
    # Those of plain views have no rows of their own: only the settings know.
    rows = target.registry.snapshot(found.pipeline, applied.record)
    settings: JsonObject = next((row["definition"] for row in rows if row["kind"] == "settings"), {})
    return frozenset(settings.get("maintained", {}).get(found.name, ()))


def pruned_now(target: Target, found: FoundObject) -> dict[int, Pruned]:
    """The versions of an object that have lost their rows, and got none since."""
    pruned = pruned_versions(target.registry, found.pipeline, found.versions.id)
    if not pruned:
        return {}
    columns, key = ("number", "step"), found.versions.id
    rows = published_rows(target.registry, found.head, History.ACTIVATIONS, columns, object=key)
    began = {int(row["number"]): int(row["step"]) for row in rows if row["number"]}
    return {number: one for number, one in pruned.items() if began.get(number, -1) <= one.step}


def read_version(target: Target, found: FoundObject, version: str | None) -> ObjectVersion:
    """One version of an object: the one that is named, else the active one. Raises NotFound (A522)."""
    number = found.versions.active if version is None else number_of(target, found, version)
    rows = () if number is None else _rows(target, found, number)
    if not rows:
        raise no_such_version(target, found, version)
    row = rows[0]
    try:
        definition, content = json.loads(row["definition"]), json.loads(row["content"])
        known_as = tuple(content.pop("known_as", ()))
        if "settings" in content:
            content["settings"] = shown_decisive(content["settings"])
    except (AttributeError, ValueError) as error:
        raise RegistryError("G602", f"version {row['number']} of {found.name} is damaged: {error}") from error
    return ObjectVersion(found, _summary(row), row["reconciler"], row["fingerprint"], definition, content, known_as)


def number_of(target: Target, found: FoundObject, version: str) -> int | None:
    """The number that `vN` or an alias stands for; None for what is neither."""
    number = version_number(version)
    return number if number is not None else aliases_of(target, found).get(fold(version))


def aliases_of(target: Target, found: FoundObject) -> Mapping[str, int]:
    """The aliases of an object's versions (folded), and the numbers that they stand for."""
    stored = target.registry.document(found.pipeline, Aliases)
    return stored.value.numbers.get(found.versions.id, {}) if stored is not None else {}


def aliases_by_number(aliases: Mapping[str, int]) -> dict[int, tuple[str, ...]]:
    """The aliases of each number that has any, sorted."""
    return {number: tuple(sorted(a for a, n in aliases.items() if n == number)) for number in sorted(aliases.values())}


def version_number(version: str) -> int | None:
    """The number of `vN`; None for what is none."""
    return int(version[1:]) if _VERSION.fullmatch(version) else None


def no_such_version(target: Target, found: FoundObject, version: str | None) -> NotFound:
    """The error for a version that does not exist, with those that do."""
    known = list_versions(target, found, limit=20)
    names = ", ".join([*(f"v{one.number}" for one in known.versions), *sorted(aliases_of(target, found))])
    there = f"there are {'' if known.is_whole else '…, '}{names}" if names else "none is recorded"
    if version is None:
        return NotFound("A522", f"{found.pipeline}.{found.name} has no active version", there)
    return NotFound("A522", f"{found.pipeline}.{found.name} has no version {version!r}", there)


def compare_versions(before: ObjectVersion, after: ObjectVersion) -> VersionDifference:
    """What differs between two versions of one object. Raises ReconcileError (A521) for versions of two."""
    if before.found.versions.id != after.found.versions.id or before.found.pipeline != after.found.pipeline:
        names = [f"{one.found.pipeline}.{one.found.name}" for one in (before, after)]
        raise ReconcileError(
            "A521", f"{names[0]} and {names[1]} are versions of two objects", "compare two versions of one object"
        )
    reads = [
        {str(name): tuple(columns) for name, columns in one.content.get("reads", {}).items()} for one in (before, after)
    ]
    differing = sorted(name for name in {*reads[0], *reads[1]} if reads[0].get(name) != reads[1].get(name))
    return VersionDifference(
        before,
        after,
        _column_differences(before.content.get("columns", []), after.content.get("columns", [])),
        {name: (reads[0].get(name), reads[1].get(name)) for name in differing},
        _differing(before.content.get("settings", {}), after.content.get("settings", {})),
        _differing(python_sources(before), python_sources(after)),
        {name: (old or "none", new or "none") for name, (old, new) in _differing(_said(before), _said(after)).items()},
        _differing(*({name: int(one) for name, one in of.content.get("functions", {}).items()} for of in (before, after))),
    )


def python_sources(version: ObjectVersion) -> dict[str, str]:
    """The files of a function in Python, by path; of anything else there are none."""
    sources = _body(version).get("sources", {})
    return {str(path): str(text) for path, text in sources.items()}


def _body(version: ObjectVersion) -> Mapping[str, Any]:
    body = version.definition.get("body", {})
    return body if isinstance(body, Mapping) else {}


def _said(version: ObjectVersion) -> dict[str, str]:
    """What a function says besides its texts, as pipeline.yaml calls it."""
    body = _body(version)
    if not body:
        return {}
    found = {"language": str(body.get("language", "")), "deterministic": _yes(version.definition.get("deterministic"))}
    if "sources" in body:
        found["module"] = str(body.get("module", ""))
        found["requirements"] = ", ".join(map(str, body.get("requirements", ())))
        found["Python"] = str(body.get("python", ""))
        found["on_error"] = "give_null" if body.get("gives_null_on_error") else "fail"
    return found


def _yes(value: object) -> str:
    return "true" if value else "false"


_Value = TypeVar("_Value")


def _differing(before: Mapping[str, _Value], after: Mapping[str, _Value]) -> dict[str, tuple[_Value | None, _Value | None]]:
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return {name: (before.get(name), after.get(name)) for name in names}


def _column_differences(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> tuple[ColumnDifference, ...]:
    """In the order of the later version; those that it lacks come last."""
    types = [{fold(one["name"]): _type_of(one) for one in columns} for columns in (before, after)]
    names = {fold(one["name"]): one["name"] for one in (*before, *after)}
    found = [
        ColumnDifference(names[key], types[0].get(key), types[1].get(key)) for key in dict.fromkeys((*types[1], *types[0]))
    ]
    return tuple(one for one in found if _differs(one.before, one.after))


def _differs(before: str | None, after: str | None) -> bool:
    # A type that only one side knows is no difference.
    return before != after and (before is None or after is None or (before != "" and after != ""))


def _type_of(column: Mapping[str, Any]) -> str:
    return str(column.get("type", "")) + ("" if column.get("nullable", True) else " NOT NULL")


def _in_head(head: Head, name: str, kind: str | None) -> FoundObject | None:
    kinds = [kind] if kind is not None else list(KINDS)
    candidates = [(one, head.versions.get(object_key(one, name))) for one in kinds]
    there = [(one, versions) for one, versions in candidates if versions is not None]
    # What is there now goes before what was; of that, the order of kinds.
    there.sort(key=lambda pair: pair[1].active is None)
    if not there:
        return None
    found, versions = there[0]
    return FoundObject(head.pipeline, found, fold(name), versions, head)


def _rows(target: Target, found: FoundObject, number: int) -> tuple[Mapping[str, Any], ...]:
    key = found.versions.id
    return published_rows(target.registry, found.head, History.VERSIONS, _WHOLE, object=key, number=str(number))


def _summary(row: Mapping[str, Any]) -> VersionSummary:
    parts = {name: row[name] for name in _SUMMARY}
    return VersionSummary(**{**parts, "number": int(row["number"]), "step": int(row["step"])})
