"""The connectors of a manifest, wherever they were written: variables put in, settings checked, relations known.

Connectors come from SQL (`WITH ('connectors' = …)`, with the statement's relation) and from pipeline.yaml (with `table`
or `view`); those of YAML follow in the counting. Connectors with errors are returned too where the compiler can say more
about them, and so that others may still wait for their labels; nothing is planned while there is an error.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from reconciler.base.cache import Cache
from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import ConnectorDeclaration
from reconciler.base.diagnostics import Diagnostic, Location
from reconciler.base.digest import JsonObject, digest_json
from reconciler.base.names import closest, fold
from reconciler.base.places import Below, OnePlace, Places
from reconciler.base.schema_check import found_words
from reconciler.connectors.catalogue import check_connector
from reconciler.connectors.references import Room, resolve_variables
from reconciler.connectors.transport import Direction


@dataclass(frozen=True, slots=True)
class Connectors:
    """What was read, and everything that is wrong with it."""

    declarations: tuple[ConnectorDeclaration, ...]
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class _Written:
    """A connector as written, and where its parts stand. `direction` is None when the relation is not known;
    `name_to_check` is what YAML gives as its name (the reader of SQL has checked names already)."""

    relation: str
    name: str | None
    settings: Any
    location: Location | None
    places: Places
    direction: Direction | None
    name_to_check: Any = None


@dataclass(frozen=True, slots=True)
class RelationNames:
    """The tables and the views that the SQL files declare, and the streams of pipeline.yaml: folded names to names."""

    tables: Mapping[str, str]
    views: Mapping[str, str]
    streams: Mapping[str, str]

    @property
    def written_out(self) -> Mapping[str, str]:
        """What an output may name as its view."""
        return {**self.views, **self.streams}


@dataclass(frozen=True, slots=True)
class WrittenConnectors:
    """The connectors of a pipeline as they are written: those of the SQL files, whose texts are `texts` by path, and
    `spec.connectors` of pipeline.yaml with its places."""

    in_sql: Iterable[ConnectorDeclaration]
    texts: Mapping[str, str]
    in_yaml: Any
    yaml_places: Places


def read_connectors(
    given: WrittenConnectors, variables: Mapping[str, str], relations: RelationNames, cache: Cache
) -> Connectors:
    """Check all connectors; settings that the cache knows to be right are not checked again."""
    found: list[Diagnostic] = []
    directions = dict.fromkeys(relations.tables, Direction.INPUT) | dict.fromkeys(relations.written_out, Direction.OUTPUT)
    written = [_of_sql(declaration, given.texts, directions) for declaration in given.in_sql]
    for index, entry in enumerate(given.in_yaml if isinstance(given.in_yaml, list) else ()):
        connector = _of_yaml(entry, Below(given.yaml_places, ("spec", "connectors", index)), relations, found)
        if connector is not None:
            written.append(connector)
    declarations: list[ConnectorDeclaration] = []
    ordinals: dict[str, int] = {}
    room = Room()
    for connector in written:
        ordinal = ordinals.get(fold(connector.relation), 0)
        ordinals[fold(connector.relation)] = ordinal + 1
        resolved = resolve_variables(connector.settings, variables, connector.places, room)
        problems = [*resolved.diagnostics, *_without_noise(connector, resolved.value, resolved.diagnostics, cache)]
        found += problems
        if _can_be_compiled(connector, resolved.value, problems):
            declarations.append(
                ConnectorDeclaration(connector.relation, connector.name, ordinal, resolved.value, connector.location)
            )
    return Connectors(tuple(declarations), tuple(found))


def _of_sql(declaration: ConnectorDeclaration, texts: Mapping[str, str], directions: Mapping[str, Direction]) -> _Written:
    at = declaration.location
    places: Places = OnePlace(at)
    if at is not None and at.file in texts:
        from reconciler.project.manifest.json_places import places_of_json

        places = places_of_json(texts[at.file], at)
    direction = directions.get(fold(declaration.relation))
    return _Written(declaration.relation, declaration.name, declaration.settings, at, places, direction)


def _of_yaml(entry: Any, places: Places, relations: RelationNames, found: list[Diagnostic]) -> _Written | None:
    if not isinstance(entry, Mapping):
        message = f"a connector must be a mapping, found {found_words(entry)}"
        found.append(Diagnostic("C405", message, places.of_value(())))
        return None
    settings = {key: value for key, value in entry.items() if key not in ("name", "table", "view")}
    relation, direction = _relation(entry, places, relations, found)
    name = entry.get("name")
    named = name if isinstance(name, str) else None
    return _Written(relation, named, settings, places.of_value(()), places, direction, name)


def _relation(
    entry: JsonObject, places: Places, relations: RelationNames, found: list[Diagnostic]
) -> tuple[str, Direction | None]:
    """The relation that an entry of YAML names, empty when it names none that is declared."""
    at = places.of_value(())
    if ("table" in entry) == ("view" in entry):
        message = "a connector names a table or a view, not both" if "table" in entry else "a connector must name a relation"
        hint = "write table: … for an input, view: … for an output"
        found.append(Diagnostic("M129", message, places.of_key(("view",)) if "view" in entry else at, hint))
        return "", None
    kind = "table" if "table" in entry else "view"
    direction = Direction.INPUT if kind == "table" else Direction.OUTPUT
    name = entry[kind]
    place = places.of_value((kind,))
    if not isinstance(name, str):
        found.append(Diagnostic("C405", f"{kind}: expected a text, found {found_words(name)}", place))
        return "", direction
    if kind == "view" and fold(name) in relations.streams:
        return name, direction
    problem = unknown_relation(kind, name, relations, place, f"write {'view' if kind == 'table' else 'table'}: {name}")
    if problem is not None:
        found.append(problem)
        return "", direction
    return name, direction


def unknown_relation(
    kind: str, name: str, relations: RelationNames, place: Location | None, if_of_other_kind: str
) -> Diagnostic | None:
    """The problem with a name that YAML gives as a table's or a view's, if there is one. `if_of_other_kind` is the hint
    for a name of another kind."""
    by_kind = {"table": relations.tables, "view": relations.views, "stream": relations.streams}
    own = by_kind.pop(kind)
    if fold(name) in own:
        return None
    for other_kind, other in by_kind.items():
        if fold(name) in other:
            return Diagnostic("M127", f"{name!r} is a {other_kind}, not a {kind}", place, if_of_other_kind)
    outputs = relations.streams if kind == "view" else {}
    suggestion = closest(name, [*own.values(), *outputs.values()])
    hint = f"did you mean {suggestion!r}?" if suggestion else f"no SQL file of this pipeline declares that {kind}"
    return Diagnostic("M126", f"there is no {kind} {name!r}", place, hint)


def _without_noise(connector: _Written, settings: Any, unresolved: Iterable[Diagnostic], cache: Cache) -> list[Diagnostic]:
    """Problems of the settings, less those of values whose reference could not be resolved: these are told already."""
    told = {problem.location for problem in unresolved}
    found: list[Diagnostic] = []
    if isinstance(settings, Mapping):
        for key in ("table", "view"):
            if key in settings:
                place = connector.places.of_key((key,))
                message = f"{key!r} is already given by the SQL statement that contains the connector"
                found.append(Diagnostic("C417", message, place, f"remove {key}"))
    settings = {key: value for key, value in settings.items() if key not in ("table", "view")}
    if connector.name_to_check is not None:
        settings["name"] = connector.name_to_check
    found += _check(settings, connector, cache)
    return [problem for problem in found if problem.location not in told or problem.code in ("C413", "C414")]


def _check(settings: Any, connector: _Written, cache: Cache) -> tuple[Diagnostic, ...]:
    try:
        key = f"connector:{digest_json([settings, connector.direction])}"
    except (TypeError, ValueError):
        # Settings that are no JSON can't be right.
        return check_connector(settings, connector.places, connector.direction)
    if cache.recall(key) is not None:
        return ()
    found = check_connector(settings, connector.places, connector.direction)
    if not found:
        cache.remember(key, "true")
    return found


def _can_be_compiled(connector: _Written, settings: Any, problems: Iterable[Diagnostic]) -> bool:
    """Whether the compiler can say more about a connector: whom it waits for, whether its name is taken. One that stands
    at a relation of the wrong kind would only be told so twice."""
    return connector.relation != "" and isinstance(settings, Mapping) and all(problem.code != "C402" for problem in problems)
