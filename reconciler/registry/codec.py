"""Heads, leases, controls, aliases, readers and commits that were reached to JSON and back.

Rules: a document states its format. A newer one than this version knows is an error (G606), never a guess; a document
that does not have the shape it should is damaged (G602).
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from reconciler.base.digest import JsonObject
from reconciler.base.errors import RegistryError
from reconciler.registry.entry_codec import build_result_from_json, build_result_to_json, entry_from_json, entry_to_json
from reconciler.registry.format import FORMAT, check_format
from reconciler.registry.home import home_from_json
from reconciler.registry.intent_codec import intent_from_json, intent_to_json
from reconciler.registry.model import (
    Aliases,
    AliasMove,
    Applied,
    Approval,
    Controls,
    Head,
    Journal,
    Lease,
    LeftOutput,
    ObjectVersions,
    OutputState,
    Published,
    Reached,
    Readers,
    Refreshed,
    Seek,
    Sending,
    Staged,
    StagedView,
    Value,
    Wish,
)
from reconciler.registry.placement_codec import foreign_from_json, foreign_to_json, placement_from_json, placements_to_json
from reconciler.registry.placements import ForeignStep


def head_to_json(head: Head) -> JsonObject:
    """The head as a JSON object with its `format`. Measures that are not known are left out."""
    value = asdict(head)
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
        value["intent"] = intent_to_json(head.intent)
    if head.published is not None:
        value["published"]["relations"] = placements_to_json(head.published.relations)
        _put_foreign(value["published"], head.published.foreign)
    if head.journal is not None:
        value["journal"]["entries"] = [entry_to_json(entry) for entry in head.journal.entries]
        value["journal"]["versions"] = _versions_to_json(head.journal.versions)
        _put_foreign(value["journal"], head.journal.foreign)
        if not head.journal.back:
            del value["journal"]["back"]
    return {"format": FORMAT, **value, "versions": _versions_to_json(head.versions)}


def _put_results(value: dict[str, Any], built: Mapping[str, StagedView | Refreshed]) -> None:
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
        return Head(
            pipeline=value["pipeline"],
            epoch=value["epoch"],
            applied=_applied(value["applied"]) if value["applied"] is not None else None,
            published=_published(value["published"]) if value["published"] is not None else None,
            positions=value["positions"],
            intent=intent_from_json(value["intent"]) if value["intent"] is not None else None,
            journal=_journal(value["journal"]) if value["journal"] is not None else None,
            last_step=value["last_step"],
            # A head that an older version wrote knows no outputs, and no versions.
            outputs={key: _output(part) for key, part in value.get("outputs", {}).items()},
            versions=_versions(value.get("versions", {})),
            held=value.get("held", {}),
            staged=_staged(value["staged"]) if "staged" in value else None,
            refreshed={key: _with_result(Refreshed, one) for key, one in value.get("refreshed", {}).items()},
            left=tuple(LeftOutput(**{**one, "state": _output(one["state"])}) for one in value.get("left", ())),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RegistryError("G602", f"the head in {where} is damaged: {error!r}") from error


def lease_to_json(lease: Lease) -> JsonObject:
    """The lease as a JSON object with its `format`."""
    return {"format": FORMAT, **asdict(lease)}


def lease_from_json(value: JsonObject, where: str) -> Lease:
    """The lease of a JSON object. Raises RegistryError (G602, G606)."""
    check_format(value, where)
    try:
        return Lease(**{key: part for key, part in value.items() if key != "format"})
    except TypeError as error:
        raise RegistryError("G602", f"the lease in {where} is damaged: {error!r}") from error


def controls_to_json(controls: Controls) -> JsonObject:
    """The controls as a JSON object with their `format`. `wish` is what versions read that know one wish at a time."""
    return {"format": FORMAT, "wish": controls.wish.value, **asdict(controls)}


def controls_from_json(value: JsonObject, where: str) -> Controls:
    """The controls of a JSON object. Raises RegistryError (G602, G606)."""
    check_format(value, where)
    try:
        wish = Wish(value["wish"])
        return Controls(
            # A version that knows one wish at a time writes no others.
            paused=value.get("paused", wish is Wish.PAUSE),
            stops=value.get("stops", wish is Wish.STOP),
            forced=value["forced"],
            connectors=value["connectors"],
            seeks={key: Seek(**part) for key, part in value["seeks"].items()},
            by=value["by"],
            at=value["at"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RegistryError("G602", f"the controls in {where} are damaged: {error!r}") from error


def aliases_to_json(aliases: Aliases) -> JsonObject:
    """The aliases as a JSON object with their `format`."""
    return {"format": FORMAT, **asdict(aliases)}


def aliases_from_json(value: JsonObject, where: str) -> Aliases:
    """The aliases of a JSON object. Raises RegistryError (G602, G606)."""
    check_format(value, where)
    try:
        numbers = {key: {alias: int(number) for alias, number in of.items()} for key, of in value["numbers"].items()}
        return Aliases(numbers, tuple(AliasMove(**move) for move in value["moves"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RegistryError("G602", f"the aliases in {where} are damaged: {error!r}") from error


def readers_to_json(readers: Readers) -> JsonObject:
    """The readers as a JSON object with their `format`."""
    return {"format": FORMAT, "pipelines": list(readers.pipelines)}


def readers_from_json(value: JsonObject, where: str) -> Readers:
    """The readers of a JSON object. Raises RegistryError (G602, G606)."""
    check_format(value, where)
    try:
        return Readers(tuple(sorted(value["pipelines"])))
    except (KeyError, TypeError) as error:
        raise RegistryError("G602", f"the readers in {where} are damaged: {error!r}") from error


def reached_to_json(reached: Reached) -> JsonObject:
    """The commit that was reached as a JSON object with its `format`."""
    return {"format": FORMAT, "commit": reached.commit, "at": reached.at}


def reached_from_json(value: JsonObject, where: str) -> Reached:
    """The commit that was reached of a JSON object. Raises RegistryError (G602, G606)."""
    check_format(value, where)
    try:
        return Reached(commit=value["commit"], at=value["at"])
    except (KeyError, TypeError) as error:
        raise RegistryError("G602", f"the last checked commit in {where} is damaged: {error!r}") from error


def _output(value: Mapping[str, Any]) -> OutputState:
    sending = value["sending"]
    skips = tuple((first, last) for first, last in value.get("skips", ()))
    return OutputState(**{**value, "sending": None if sending is None else Sending(**sending), "skips": skips})


def _applied(value: Mapping[str, Any]) -> Applied:
    return Applied(**{**value, "approval": Approval(**value["approval"]), "home": home_from_json(value.get("home"))})


def _published(value: Mapping[str, Any]) -> Published:
    relations = {key: placement_from_json(part) for key, part in value["relations"].items()}
    foreign = foreign_from_json(value.get("foreign", {}))
    return Published(step=value["step"], at=value["at"], relations=relations, foreign=foreign)


def _with_result(kind: Callable[..., Value], value: Mapping[str, Any]) -> Value:
    return kind(**{**value, "result": build_result_from_json(value["result"])})


def _staged(value: Mapping[str, Any]) -> Staged:
    parts = {
        "approval": Approval(**value["approval"]),
        "minted": tuple(value["minted"]),
        "views": {key: _with_result(StagedView, part) for key, part in value["views"].items()},
    }
    return Staged(**{**value, **parts})


def _journal(value: Mapping[str, Any]) -> Journal:
    entries = tuple(map(entry_from_json, value["entries"]))
    parts = {
        "approval": Approval(**value["approval"]),
        "resumes": tuple(value["resumes"]),
        "entries": entries,
        "versions": _versions(value.get("versions", {})),
        "foreign": foreign_from_json(value.get("foreign", {})),
        "home": home_from_json(value.get("home")),
        "back": tuple(value.get("back", ())),
    }
    return Journal(**{**value, **parts})
