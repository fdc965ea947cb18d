"""`spec.streams` of pipeline.yaml → declarations, and what the schema can't say of them.

An entry has a name, what is said of any relation (`description`, `protect`, `used_by`, `retention`: see `read`), and one
transformation. `reconciler.streams` knows what the transformations mean; here their parts get places in the file.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import StreamDeclaration
from reconciler.base.diagnostics import Diagnostic, Location
from reconciler.base.digest import JsonObject
from reconciler.base.names import is_identifier
from reconciler.base.places import Below, Path, Places
from reconciler.base.schema_check import path_words
from reconciler.project.manifest.check import part, stream_entries
from reconciler.streams.problems import Problem, definition_problems
from reconciler.streams.reading import KINDS, normalised

_SAID_OF_ANY: Final = frozenset({"name", "description", "protect", "used_by", "retention"})
_STAND_INS: Final[JsonObject] = {"expiry": "1d", "keys": ["key"]}


def check_streams(value: Any, checked: Any, places: Places) -> tuple[list[Diagnostic], Any]:
    """What is wrong with the streams of pipeline.yaml beside what its schema says; and `checked`, which the schema is to
    judge, with stand-ins for what was found to be missing, so that it is told once."""
    found: list[Diagnostic] = []
    checked = {**checked, "spec": {**checked["spec"], "streams": deepcopy(checked["spec"]["streams"])}}
    for index, entry in stream_entries(value):
        of_entry = Below(places, ("spec", "streams", index))
        for problem in _problems(entry):
            place = of_entry.of_key(problem.path) if problem.at_key else of_entry.of_value(problem.path)
            found.append(Diagnostic(problem.code, problem.message, place, problem.hint))
            if problem.lacks is not None:
                part(checked["spec"]["streams"][index], *map(str, problem.path))[problem.lacks] = _STAND_INS[problem.lacks]
    return found, checked


@dataclass(frozen=True, slots=True)
class ReadStreams:
    """The streams that can be read, those of which no more than the name can, and whether that is all that is written."""

    streams: tuple[StreamDeclaration, ...] = ()
    unread: tuple[StreamDeclaration, ...] = ()
    complete: bool = True


def read_streams(value: Any, places: Places) -> ReadStreams:
    """The streams. What is wrong with those that can't be read is told by `check_streams` and the schema."""
    found: list[StreamDeclaration] = []
    unread: list[StreamDeclaration] = []
    complete = True
    for index, entry in stream_entries(value):
        of_entry = Below(places, ("spec", "streams", index))
        declaration = _declaration(entry, of_entry)
        if declaration is not None:
            found.append(declaration)
            continue
        complete = False
        name = entry.get("name")
        if isinstance(name, str) and is_identifier(name):
            unread.append(StreamDeclaration(name, {}, of_entry.of_value(()), {}))
    return ReadStreams(tuple(found), tuple(unread), complete)


def _definition(entry: JsonObject) -> JsonObject:
    return {kind: settings for kind, settings in entry.items() if kind in KINDS}


def _problems(entry: JsonObject) -> tuple[Problem, ...]:
    definition = _definition(entry)
    if not definition and not _SAID_OF_ANY.issuperset(entry):
        # The transformation is misspelt, or not supported: that is told already.
        return ()
    return definition_problems(definition)


def _declaration(entry: JsonObject, places: Places) -> StreamDeclaration | None:
    name, definition = entry.get("name"), _definition(entry)
    if not isinstance(name, str) or not is_identifier(name) or _problems(entry):
        return None
    try:
        written = normalised(definition)
    except (KeyError, ValueError):
        return None
    locations = dict(_locations(definition, (), places))
    return StreamDeclaration(name, written, places.of_value(()), locations)


def _locations(value: Any, path: Path, places: Places) -> Iterator[tuple[str, Location]]:
    """The places of all parts of a definition, by their paths in words."""
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in parts:
        here = (*path, key)
        place = places.of_value(here)
        if place is not None:
            yield path_words(here), place
        yield from _locations(inner, here, places)
