"""Who needs a version of an object that is not active: in one place, for retention.

Whatever else comes to name versions adds itself here; what is named is never pruned. Keys are
(the object's id, the number), values say who, in words.
"""

from contextlib import suppress

from reconciler.base.errors import NotFound
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.project.snapshot.objects import object_key, pins_of
from reconciler.registry.entries import staging_of
from reconciler.registry.model import Aliases, Head, Readers
from reconciler.state.applied import read_snapshot
from reconciler.state.checkpoints import all_checkpoints
from reconciler.state.refreshed import refreshed_folders
from reconciler.state.staged import staged_folders
from reconciler.versions.looking import find_in_head


def version_references(target: Target, head: Head, program: Program) -> dict[tuple[str, int], tuple[str, ...]]:
    """The versions that somebody names. `program` is the one that is applied."""
    found: dict[tuple[str, int], list[str]] = {}
    for key, words in (
        *_aliases(target, head),
        *_pins(head, program),
        *_maintained(head, program),
        *_views(target, head, program),
        *_staged(head),
    ):
        found.setdefault(key, []).append(words)
    return {key: tuple(sorted(words)) for key, words in sorted(found.items())}


def kept_staging_folders(target: Target, head: Head) -> frozenset[str]:
    """The staging folders (below the warehouse) that open work refers to, those of what is staged or was refreshed, and
    those of what streams remember, now and at checkpoints."""
    entries = head.journal.entries if head.journal is not None else ()
    named = frozenset(folder for entry in entries if (folder := staging_of(entry.intent)) is not None)
    return named | staged_folders(head) | refreshed_folders(head) | _states(target, head)


def _states(target: Target, head: Head) -> frozenset[str]:
    relations = head.published.relations if head.published is not None else {}
    placements = [one for one in relations.values() if one.state is not None]
    if not placements:
        return frozenset()
    for checkpoint in all_checkpoints(target, head.pipeline):
        placements += [one for one in checkpoint.relations.values() if one.state is not None]
    found = set()
    for one in placements:
        if one.state is not None:
            former = one.state.former
            left = () if former is None else (former.folder, *former.others)
            found |= {f"{one.location}/{folder}" for folder in (*one.state.folders, *left)}
    return frozenset(found)


def _aliases(target: Target, head: Head) -> list[tuple[tuple[str, int], str]]:
    stored = target.registry.document(head.pipeline, Aliases)
    numbers = stored.value.numbers if stored is not None else {}
    return [((key, number), f"alias {alias}") for key, of in numbers.items() for alias, number in of.items()]


def _staged(head: Head) -> list[tuple[tuple[str, int], str]]:
    numbers = head.staged.numbers if head.staged is not None else {}
    return [((head.versions[key].id, number), "staged") for key, number in numbers.items() if key in head.versions]


def _views(target: Target, head: Head, program: Program) -> list[tuple[tuple[str, int], str]]:
    """What queries of views name, of this pipeline and of those that read it."""
    stored = target.registry.document(head.pipeline, Readers)
    programs = [program]
    for reader in stored.value.pipelines if stored is not None else ():
        other = target.registry.head(reader)
        if other is not None and other.value.applied is not None and other.value.applied.record:
            programs.append(read_snapshot(target, reader, other.value.applied.record).program)
    found = set()
    for one in programs:
        for relation in one.foreign.values():
            if relation.version is not None and relation.pipeline == head.pipeline:
                with suppress(NotFound):
                    key = find_in_head(head, relation.name, relation.kind).versions.id
                    found.add(((key, relation.version), f"read by views of {one.name}"))
    return sorted(found)


def _pins(head: Head, program: Program) -> list[tuple[tuple[str, int], str]]:
    return [((head.versions[key].id, pin.number), "pinned") for key, pin in pins_of(program).items() if key in head.versions]


def _maintained(head: Head, program: Program) -> list[tuple[tuple[str, int], str]]:
    return [
        ((head.versions[object_key("view", view)].id, number), "maintained")
        for view, numbers in program.settings.maintained.items()
        for number in numbers
        if object_key("view", view) in head.versions
    ]
