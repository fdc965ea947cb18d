"""Who needs a version of an object that is not active: in one place, for retention.

Whatever else comes to name versions (another view's SQL, a version that is staged) adds itself here; what is named is never
pruned. Keys are (the object's id, the number), values say who, in words.
"""

from collections.abc import Mapping

from reconciler.program.model import Program
from reconciler.reconcile.target import Target
from reconciler.registry.model import Head
from reconciler.snapshot.objects import object_key


def version_references(target: Target, head: Head, program: Program) -> dict[tuple[str, int], tuple[str, ...]]:
    """The versions that somebody names. `program` is the one that is applied."""
    found: dict[tuple[str, int], list[str]] = {}
    for key, words in (*_aliases(target, head), *_pins(head, program)):
        found.setdefault(key, []).append(words)
    return {key: tuple(sorted(words)) for key, words in sorted(found.items())}


def kept_staging_folders(head: Head) -> frozenset[str]:
    """The staging folders (below the warehouse) that open work refers to."""
    entries = head.journal.entries if head.journal is not None else ()
    intents: list[Mapping[str, str]] = [entry.intent for entry in entries if "staging" in entry.intent]
    return frozenset(f"{intent['location']}/{intent['staging']}" for intent in intents)


def _aliases(target: Target, head: Head) -> list[tuple[tuple[str, int], str]]:
    stored = target.registry.aliases(head.pipeline)
    numbers = stored.value.numbers if stored is not None else {}
    return [((key, number), f"alias {alias}") for key, of in numbers.items() for alias, number in of.items()]


def _pins(head: Head, program: Program) -> list[tuple[tuple[str, int], str]]:
    keys = {view: object_key("view", view) for view in program.settings.pins}
    return [
        ((head.versions[keys[view]].id, pin.number), "pinned")
        for view, pin in program.settings.pins.items()
        if keys[view] in head.versions
    ]
