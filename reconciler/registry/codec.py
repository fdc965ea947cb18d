"""Heads, and the documents beside them, to JSON and back.

Rules: a document states its format. A newer one than this version knows is an error (G606), never a guess; a document
that does not have the shape it should is damaged (G602).

What most heads lack is imported where it is met: its twenty dataclasses take a fiftieth of a plan.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from reconciler.base.digest import JsonObject
from reconciler.base.errors import RegistryError
from reconciler.base.json_objects import from_json
from reconciler.registry.format import FORMAT, check_format
from reconciler.registry.model import (
    Aliases,
    Controls,
    Deployment,
    Head,
    Journal,
    Lease,
    ObjectVersions,
    Reached,
    Readers,
    Refreshed,
    Staged,
    StagedView,
    Value,
    Wish,
)
from reconciler.registry.placements import ForeignStep, foreign_to_json, placements_to_json

if TYPE_CHECKING:
    from reconciler.registry.intents import Intent

Built = TypeVar("Built", StagedView, Refreshed)

DOCUMENTS: Final[Mapping[type, str]] = {
    Lease: "lease",
    Controls: "controls",
    Aliases: "aliases",
    Readers: "readers",
    Reached: "reached",
    Deployment: "deployment",
}
"""The documents beside the head, and the names of their folders."""

_DAMAGED: Final[Mapping[type, str]] = {
    Lease: "the lease in {} is damaged",
    Controls: "the controls in {} are damaged",
    Aliases: "the aliases in {} are damaged",
    Readers: "the readers in {} are damaged",
    Reached: "the last checked commit in {} is damaged",
    Deployment: "what was asked of the service in {} is damaged",
}
# What every version has written into heads.
_ALWAYS: Final = frozenset({"pipeline", "epoch", "applied", "published", "positions", "intent", "journal", "last_step"})


def head_to_json(head: Head) -> JsonObject:
    """The head as a JSON object with its `format`. Measures that are not known are left out."""
    value = asdict(_without_forms_of_their_own(head))
    if not head.held:
        # Of most pipelines nothing is, and their heads say nothing of it.
        del value["held"]
    if head.staged is None:
        del value["staged"]
    else:
        _put_results(value["staged"]["views"], head.staged.views)
    if not head.refreshed:
        del value["refreshed"]
    _put_results(value.get("refreshed", {}), head.refreshed)
    if not head.left:
        del value["left"]
    if head.intent is not None:
        from reconciler.registry.intents import intent_to_json

        value["intent"] = intent_to_json(head.intent)
    if head.published is not None:
        value["published"]["relations"] = placements_to_json(head.published.relations)
        _put_foreign(value["published"], head.published.foreign)
    if head.journal is not None:
        from reconciler.registry.entries import entry_to_json

        value["journal"]["entries"] = [entry_to_json(entry) for entry in head.journal.entries]
        value["journal"]["versions"] = _versions_to_json(head.journal.versions)
        _put_foreign(value["journal"], head.journal.foreign)
        if not head.journal.back:
            del value["journal"]["back"]
    return {"format": FORMAT, **value, "versions": _versions_to_json(head.versions)}


def _without_forms_of_their_own(head: Head) -> Head:
    """The head less the members that `head_to_json` writes itself: a journal may have thousands of entries."""
    published, journal = head.published, head.journal
    if published is not None:
        published = replace(published, relations={}, foreign={})
    if journal is not None:
        journal = replace(journal, entries=(), versions={}, foreign={})
    return replace(head, published=published, journal=journal, intent=None, versions={})


def _put_results(value: dict[str, Any], built: Mapping[str, StagedView | Refreshed]) -> None:
    from reconciler.registry.entries import build_result_to_json

    for key, one in built.items():
        value[key]["result"] = build_result_to_json(one.result)


def _put_foreign(value: dict[str, Any], foreign: Mapping[str, ForeignStep]) -> None:
    """Most pipelines read nothing of others, and their heads say nothing of it."""
    del value["foreign"]
    if foreign:
        value["foreign"] = foreign_to_json(foreign)


def _versions_to_json(versions: Mapping[str, ObjectVersions]) -> JsonObject:
    """Short, since a head has one of each object: the id only where it is another than the key, columns where some were
    renamed."""
    found: dict[str, Any] = {}
    for key, one in versions.items():
        columns = [dict(sorted(one.columns.items()))] if one.columns else []
        found[key] = [one.active, one.last, *([one.id] if columns or one.id != key else []), *columns]
    return found


def _versions(value: Mapping[str, Any]) -> dict[str, ObjectVersions]:
    return {
        key: ObjectVersions(other[0] if other else key, active, last, other[1] if other[1:] else {})
        for key, (active, last, *other) in value.items()
    }


def head_from_json(value: JsonObject, where: str) -> Head:
    """The head of a JSON object. Raises RegistryError (G602, G606)."""
    check_format(value, where)
    try:
        lacking = _ALWAYS - value.keys()
        if lacking:
            raise KeyError(*sorted(lacking))
        return from_json(
            Head,
            {key: part for key, part in value.items() if key != "format"},
            intent=_intent(value["intent"]) if value["intent"] is not None else None,
            journal=_journal(value["journal"]) if value["journal"] is not None else None,
            staged=_staged(value["staged"]) if value.get("staged") is not None else None,
            refreshed=_with_results(Refreshed, value.get("refreshed", {})),
            # A head that an older version wrote knows no versions.
            versions=_versions(value.get("versions", {})),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RegistryError("G602", f"the head in {where} is damaged: {error!r}") from error


def _intent(value: JsonObject) -> "Intent":
    from reconciler.registry.intents import intent_from_json

    return intent_from_json(value)


def _staged(value: JsonObject) -> Staged:
    return from_json(Staged, value, views=_with_results(StagedView, value.get("views", {})))


def _with_results(kind: type[Built], value: Mapping[str, Any]) -> dict[str, Built]:
    items = value.items()
    if not items:
        return {}
    from reconciler.registry.entries import BuildResult

    return {key: from_json(kind, one, result=from_json(BuildResult, one["result"])) for key, one in items}


def _journal(value: JsonObject) -> Journal:
    from reconciler.registry.entries import entry_from_json

    entries, versions = tuple(map(entry_from_json, value["entries"])), _versions(value.get("versions", {}))
    return from_json(Journal, value, entries=entries, versions=versions)


def document_to_json(document: object) -> JsonObject:
    """A document beside the head as a JSON object with its `format`. The `wish` of controls is what versions read that know
    one wish at a time."""
    wish = {"wish": document.wish.value} if isinstance(document, Controls) else {}
    return {"format": FORMAT, **wish, **asdict(document)}  # type: ignore[call-overload]


def document_from_json(kind: type[Value], value: JsonObject, where: str) -> Value:
    """A document beside the head, of its JSON object. Raises RegistryError (G602, G606)."""
    check_format(value, where)
    members = {key: part for key, part in value.items() if key != "format"}
    try:
        if kind is Controls:
            wish = Wish(members.pop("wish"))
            # A version that knows one wish at a time writes no others.
            members = {"paused": wish is Wish.PAUSE, "stops": wish is Wish.STOP, **members}
        return from_json(kind, members)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RegistryError("G602", f"{_DAMAGED[kind].format(where)}: {error!r}") from error
