"""The net under everything that a plan tells: what is recorded of two programs compared part by part, so that no part of it
differs without a word.

A part is told where the object that it belongs to is a change of the diff, or where a change of metadata names it. Whatever
is left is told by the name of the part, without values. So a part that is added to what is recorded is told from the
beginning. The text of a statement says again what its parts say: it is told only where nothing else of its object is.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.diff.model import MetadataChange
from reconciler.project.program.model import Program
from reconciler.project.snapshot.codec import encode_program

_TEXTS: Final = frozenset({"sql", "query", "body"})
_NAMING: Final = frozenset({"columns", "column_names"})
LETTER_CASE: Final = "letter case"
"""What is told of a column whose name is spelled otherwise."""
_WORDS: Final[Mapping[str, str]] = {
    "checkpoint_interval_seconds": "checkpoint_interval",
    "descriptions": "description",
    "function_pins": "version",
    "held": "rollback",
    "maintained": "maintained versions",
    "pins": "version",
    "protected": "protect",
    "relation_retention": "retention",
    "table_evolution": "evolution",
    "traded": "columns that traded names",
    "version_reads": "versions.reads",
}
_OF_A_STREAM: Final = "spelling of the definition"
"""What is recorded of a stream in other words, and means the same."""
_OF_THE_WHOLE: Final = frozenset({"retention", "tags", "traded"})
"""Parts of the settings with parts of their own that are told as one."""
_TOLD_WHOLE: Final = frozenset({"spark", "spark_version", "environment"})
"""`settings` tells these to the last name."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the rest of a diff tells of, by folded names of relations and functions, and `relation.connector`: `changed` by
    themselves, and of these `new_or_gone`. `renamed` maps the keys of relations that were renamed to what they are now;
    `read` are those that changed, and that the diff names as the reason of another change."""

    changed: frozenset[str]
    new_or_gone: frozenset[str]
    renamed: Mapping[str, str]
    read: frozenset[str] = frozenset()


def untold_changes(
    applied: Program, desired: Program, told: Told, metadata: Iterable[MetadataChange]
) -> Iterator[MetadataChange]:
    """What differs in what is recorded and is neither told by the rest of the diff nor by `metadata`."""
    known = {(fold(one.subject), one.what) for one in metadata}
    both = desired.views.keys() & applied.views.keys()
    alike = {key for key in both if applied.views[key].declaration == desired.views[key].declaration}
    before, after = _stored_beside(alike, applied), _stored_beside(alike, desired)
    for (kind, name), definition in sorted(after.items()):
        former = before.get((kind, name))
        if former is None or former == definition:
            continue
        if kind == "settings":
            yield from _of_settings(desired, former, definition, told, known)
        elif kind == "foreign":
            # What it means to the views that read it is told with these, if it means anything to them.
            if name not in told.read and not any(_is_of(one, name) for one, _ in known):
                yield MetadataChange(desired.foreign[name].qualified_name, "definition")
        elif name not in told.changed:
            subject = _subject(desired, kind, name)
            yield from _of_object(subject, former, definition, {what for one, what in known if _is_of(one, name)})


def _of_settings(
    desired: Program,
    former: Mapping[str, Any],
    definition: Mapping[str, Any],
    told: Told,
    known: set[tuple[str, str]],
) -> Iterator[MetadataChange]:
    for part in _differing(former, definition):
        what = _WORDS.get(part, part)
        parts = former.get(part), definition.get(part)
        if part in _TOLD_WHOLE or (fold(desired.name), what) in known:
            continue
        if part in _OF_THE_WHOLE or not any(isinstance(one, dict | list) for one in parts):
            # That of all tables is told by those that it is of, if there are any.
            if part != "evolution" or not any(one == what for _, one in known):
                yield MetadataChange(desired.name, what)
            continue
        for key in _keys(parts[0], parts[1], told.renamed):
            name = fold(key.partition(":")[2] or key)
            if (name, what) not in known and name not in told.new_or_gone:
                relation = desired.relation(name)
                yield MetadataChange(relation.name if relation is not None else key, what)


def _of_object(
    subject: str, former: Mapping[str, Any], definition: Mapping[str, Any], known: set[str]
) -> Iterator[MetadataChange]:
    texts: list[str] = []
    for part in _differing(former, definition):
        if part in _TEXTS:
            texts.append(part)
        elif part == "settings":
            for inner in _differing(former[part], definition[part]):
                if inner not in known:
                    known = known | {inner}
                    yield MetadataChange(subject, inner)
        elif part not in known and not (part in _NAMING and not known.isdisjoint({"comment", LETTER_CASE})):
            known = known | {part}
            yield MetadataChange(subject, _OF_A_STREAM if part == "stream" else part)
    if texts and not known:
        yield MetadataChange(subject, "text")


def _stored_beside(alike: Collection[str], program: Program) -> dict[tuple[str, str], Mapping[str, Any]]:
    """What is recorded of a program, but for the views that both sides declare alike: of these the same is recorded."""
    views = {key: view for key, view in program.views.items() if key not in alike}
    return {(one["kind"], one["name"]): one["definition"] for one in encode_program(replace(program, views=views))}


def _differing(former: Mapping[str, Any], definition: Mapping[str, Any]) -> list[str]:
    return sorted(part for part in {*former, *definition} if former.get(part) != definition.get(part))


def _keys(former: Any, definition: Any, renamed: Mapping[str, str]) -> list[str]:
    """The keys of two mappings, or members of two lists, that differ, once renames are carried out."""
    if isinstance(former or definition, list):
        return sorted({renamed.get(one, one) for one in former or ()} ^ {*(definition or ())})
    return _differing({renamed.get(key, key): value for key, value in (former or {}).items()}, definition or {})


def _subject(program: Program, kind: str, name: str) -> str:
    if kind == "connector":
        return program.connectors[name].qualified_name
    return program.written_name(f"{kind}:{name}")


def _is_of(subject: str, name: str) -> bool:
    """Whether something told is of an object, or of a column of it."""
    return subject == name or subject.startswith(f"{name}.")
