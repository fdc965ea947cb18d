"""The objects of a snapshot that have versions: tables, views and functions, each with what one version of it is.

- `fingerprint` is of the meaning without the name, so that a renamed object is what it was: of a table its columns, key and
  properties; of a view its canonical query, its output columns, its kind and the Spark settings that decide results; of a
  function its parameters, what it returns and its body; of either the functions that it calls, with all that these are.
- `definition` is what the registry stores of it: what the author wrote.
- `content` is for looking at and comparing: the canonical query, columns, what is read and called; and in `known_as` by
  what the same meaning is known again later.

A Python function's name is part of its meaning: Python tells spellings of it apart, and functions are not renamed.

Whether letter case of names counts is the whole program's (`Program.names_are_data`) and may change with another object. Two
definitions are compared as `diff` does, as spelled if it counts for either. So `known_as` has digests by both rules, and
`sought_as` those that are the same meaning under the rule in force. Where texts count as they are written, there is
one rule. And it has one of what was written: another version of reconciler may write canonical texts otherwise.

What was recorded before versions covered functions says nothing of them (`alone_as`): whoever compares with that has to look
at the functions apart.

What changes of a view because of what it reads (other rows, other types) is no part of it. Types of its columns are part of
its version all the same: they are known once it is computed, and `numbering` compares them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import Pin
from reconciler.base.digest import JsonObject, digest_json
from reconciler.base.names import fold, is_version, without_version
from reconciler.project.program.defaults import ZONE, zone_of_default
from reconciler.project.program.model import Function, Program, Table, View
from reconciler.project.program.settings import DEFAULTS, decisive_settings
from reconciler.project.snapshot.codec import encode_definition
from reconciler.project.snapshot.fingerprint import function_content, table_content, view_content
from reconciler.project.snapshot.functions import called_closely, closures
from reconciler.sql.canonicalise import canonical_text
from reconciler.sql.spelling import Spelling

KINDS = ("table", "view", "function")

_FUNCTIONS = "functions"
_Done: TypeAlias = Mapping[Spelling, Mapping[str, str]]
"""What each function that is called does, with all that it calls (`closures`), by rule."""


@dataclass(frozen=True, slots=True)
class VersionedObject:
    """See the module. `key` is `kind:folded name`; `written_as` counts where another version of reconciler recorded. `calls`
    are the keys of functions that it calls; `alone_as` what it would be sought as without them, and `written_alone_as`
    likewise."""

    key: str
    kind: str
    name: str
    fingerprint: str
    definition: JsonObject
    content: JsonObject
    sought_as: tuple[str, ...]
    written_as: str
    calls: tuple[str, ...] = ()
    alone_as: tuple[str, ...] = ()
    written_alone_as: str = ""


def object_key(kind: str, name: str) -> str:
    """How an object is known within its pipeline, for as long as it has that name."""
    return f"{kind}:{fold(name)}"


def object_keys(program: Program) -> tuple[str, ...]:
    """The keys of all objects of a program, sorted. A view that keeps a version up to date is none of its own."""
    by_kind = zip(KINDS, (program.tables, program.views, program.functions), strict=True)
    return tuple(sorted(f"{kind}:{key}" for kind, objects in by_kind for key in objects if not is_version(key)))


def pins_of(program: Program) -> dict[str, Pin]:
    """By key, the pins of objects that a program has, sorted."""
    settings = program.settings
    found = {object_key("view" if name in program.views else "table", name): pin for name, pin in settings.pins.items()}
    found |= {object_key("function", name): pin for name, pin in settings.function_pins.items()}
    return {key: found[key] for key in object_keys(program) if key in found}


def versioned_objects(program: Program, keys: frozenset[str]) -> dict[str, VersionedObject]:
    """The objects with these keys."""
    calls = {call for key in keys for call in _calls(program, *key.split(":", 1))}
    done: _Done = {rule: closures(program.functions, calls, rule) for rule in _rules(program)}
    called = {object_key("function", call) for call in called_closely(program.functions, calls)}
    stored = {key: encode_definition(program, key) for key in sorted(keys | called)}
    return {key: _versioned(program, key, stored, done) for key in sorted(keys)}


def _rules(program: Program) -> tuple[Spelling, ...]:
    return (program.spelling,) if program.names_are_data else (Spelling.EVENED_OUT, Spelling.CASE_OF_NAMES)


def _versioned(program: Program, key: str, stored: Mapping[str, JsonObject], done: _Done) -> VersionedObject:
    kind, _, name = key.partition(":")
    definition = {part: value for part, value in stored[key].items() if part != _FUNCTIONS}
    meanings = {rule: _meaning(program, kind, name, rule, known) for rule, known in done.items()}
    around = {"definition": definition, **_around(program, kind, name)}
    calls = _calls(program, kind, name)
    alone_as = tuple(f"{_rule(kind, rule)}:{digest_json(_alone(one))}" for rule, one in meanings.items())
    written_alone = f"written:{digest_json(around)}"
    if calls:
        recorded_as = tuple(f"{_rule(kind, rule)}:{digest_json(one)}" for rule, one in meanings.items())
        written = f"written:{digest_json({**around, 'functions': _written_functions(program, calls, stored)})}"
    else:
        recorded_as, written = alone_as, written_alone
    return VersionedObject(
        key=key,
        kind=kind,
        name=definition["name"],
        fingerprint=recorded_as[0].partition(":")[2],
        definition=definition,
        content={**_content(program, kind, name), "known_as": [*recorded_as, written]},
        sought_as=recorded_as,
        written_as=written,
        calls=calls,
        alone_as=alone_as,
        written_alone_as=written_alone,
    )


_RULE = {Spelling.EVENED_OUT: "folded", Spelling.CASE_OF_NAMES: "spelled", Spelling.LAYOUT_ASIDE: "as written"}


def _rule(kind: str, spelling: Spelling) -> str:
    """A table has no text but its names."""
    return _RULE[min(spelling, Spelling.CASE_OF_NAMES) if kind == "table" else spelling]


def _calls(program: Program, kind: str, key: str) -> tuple[str, ...]:
    calls: tuple[str, ...] = ()
    if kind == "view":
        calls = program.views[key].calls
    elif kind == "function":
        calls = program.functions[key].calls
    return tuple(call for call in calls if call in program.functions)


def _written_functions(program: Program, calls: Iterable[str], stored: Mapping[str, JsonObject]) -> JsonObject:
    """The functions that are called, directly or through others, as they are stored."""
    leaving = ("name", _FUNCTIONS, "description")
    return {
        without_version(key): {
            part: value for part, value in stored[object_key("function", key)].items() if part not in leaving
        }
        for key in sorted(called_closely(program.functions, calls))
    }


def _meaning(program: Program, kind: str, key: str, spelling: Spelling, known: Mapping[str, str]) -> JsonObject:
    """What an object means, with the functions that it calls. `known`: what each function does (`closures`)."""
    called = {without_version(call): known[call] for call in sorted(_calls(program, kind, key))}
    return {**_own_meaning(program, kind, key, spelling), **({_FUNCTIONS: called} if called else {})}


def _meaning_of(program: Program, kind: str, key: str, spelling: Spelling) -> JsonObject:
    """The same of one object by itself."""
    return _meaning(program, kind, key, spelling, closures(program.functions, _calls(program, kind, key), spelling))


def _alone(meaning: JsonObject) -> JsonObject:
    return {part: value for part, value in meaning.items() if part != _FUNCTIONS}


def _own_meaning(program: Program, kind: str, key: str, spelling: Spelling) -> JsonObject:
    match kind:
        case "table":
            return _without_name(table_content(program.tables[key], program.settings, spelling))
        case "view":
            view = program.views[key]
            if spelling is not program.spelling:
                view = replace(view, canonical=canonical_text(view.query, spelling))
            # Which recorded versions of functions it calls is told by what these are.
            view = replace(view, declaration=replace(view.declaration, functions=()))
            content = _without_name(view_content(view, program.settings, spelling))
            return {
                **content,
                "columns": list(view.column_names) if spelling else [fold(one) for one in view.column_names],
            }
        case _:
            return function_content(program.functions[key], spelling)


def _around(program: Program, kind: str, key: str) -> JsonObject:
    """What besides its definition decides what an object means."""
    if kind == "table":
        zones = [zone_of_default(column, program.settings) for column in program.tables[key].columns]
        return {"zone": zone} if (zone := next(filter(None, zones), DEFAULTS[ZONE])) != DEFAULTS[ZONE] else {}
    if kind != "view":
        return {}
    settings = dict(sorted(decisive_settings(program.settings).items()))
    return {"columns": [fold(name) for name in program.views[key].column_names], "settings": settings}


def _content(program: Program, kind: str, key: str) -> JsonObject:
    match kind:
        case "table":
            return _of_table(program.tables[key])
        case "view":
            return _of_view(program.views[key], decisive_settings(program.settings))
        case _:
            return _of_function(program.functions[key])


def _of_table(table: Table) -> JsonObject:
    columns = [{"name": one.name, "type": one.type, "nullable": one.nullable} for one in table.columns]
    return {"columns": columns, "primary_key": list(table.primary_key)}


def _of_view(view: View, settings: Mapping[str, str]) -> JsonObject:
    return {
        **({"settings": dict(sorted(settings.items()))} if settings else {}),
        "canonical": view.canonical,
        "kind": view.kind.value,
        "columns": [{"name": name} for name in view.column_names],
        "reads": {read.relation: list(read.columns) for read in view.reads},
        "calls": [without_version(call) for call in view.calls],
    }


def _of_function(function: Function) -> JsonObject:
    declaration = function.declaration
    return {
        "returns": declaration.returns,
        "parameters": [{"name": one.name, "type": one.type} for one in declaration.parameters],
        "calls": [without_version(call) for call in function.calls],
    }


def _without_name(content: Mapping[str, Any]) -> dict[str, Any]:
    return {part: value for part, value in content.items() if part != "name"}


def same_meaning(program: Program, other: Program, key: str, other_key: str | None = None) -> bool:
    """Whether two programs have the object of this key (of `other_key` in the other), and mean the same by it, be it by
    other functions that do the same."""
    meanings = _meanings(program, other, key, other_key)
    return meanings is not None and meanings[0] == meanings[1]


def same_definition(program: Program, other: Program, key: str, other_key: str | None = None) -> bool:
    """Whether two programs define an object alike, whatever the functions that it calls are in each."""
    meanings = _meanings(program, other, key, other_key)
    return meanings is not None and _alone(meanings[0]) == _alone(meanings[1])


def _meanings(program: Program, other: Program, key: str, other_key: str | None) -> tuple[JsonObject, JsonObject] | None:
    spelling = max(program.spelling, other.spelling)
    keys = key, other_key or key
    if not _has(program, keys[0]) or not _has(other, keys[1]):
        return None
    kind = key.partition(":")[0]
    first, second = (
        _meaning_of(one, kind, name.partition(":")[2], spelling) for one, name in zip((program, other), keys, strict=True)
    )
    return first, second


def _has(program: Program, key: str) -> bool:
    kind, _, name = key.partition(":")
    found = {"table": program.tables, "view": program.views, "function": program.functions}
    return name in found[kind]
