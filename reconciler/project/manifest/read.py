"""A pipeline's folder → its manifest, and everything that is wrong with its files.

Rules:
- `pipeline.yaml` says which SQL files belong to the pipeline: those of `spec.sql`, else every *.sql beside it (not in
  folders below). They may stand in folders below, never outside.
- `metadata.name` is the folder's name.
- All problems are reported at once. A manifest is returned whenever the YAML is a mapping, also beside errors, so that
  compiling it can report more; nothing may be planned when there is an error.

What it does not do: read files (it gets texts), resolve names between relations (`program.compile`).
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reconciler.base.cache import Cache, NoCache
from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import (
    DEFAULT_CHECKPOINT_INTERVAL,
    BootstrapPolicy,
    Evolution,
    Manifest,
    Move,
    Pin,
    Retention,
    Settings,
)
from reconciler.base.diagnostics import Diagnostic, Location, errors_among, in_order
from reconciler.base.names import bounded_suggestions, closest, fold
from reconciler.project.manifest.check import SHUFFLE_PARTITIONS, named_streams, part
from reconciler.project.manifest.connectors import RelationNames, WrittenConnectors, read_connectors, unknown_relation
from reconciler.project.manifest.document import Document, read_document
from reconciler.project.manifest.functions import read_functions
from reconciler.project.manifest.sources import with_sources
from reconciler.project.manifest.sql_files import read_sql_files
from reconciler.project.manifest.stored_views import with_stored
from reconciler.project.manifest.trades import trades_of
from reconciler.sql.declared import SqlFile

if TYPE_CHECKING:
    from reconciler.project.manifest.streams import ReadStreams

PIPELINE_FILE: Final = "pipeline.yaml"
# A column stays in its table, whatever is wrong with its type or what stands after it.
_KEEPS_ITS_STATEMENT: Final = frozenset({"S208", "S262", "S264", "S265"})
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PIN: Final = re.compile(r"v(0|[1-9][0-9]{0,17})", re.ASCII)
_DURATION: Final = re.compile("([0-9]{1,6})([smhd])")


@dataclass(frozen=True, slots=True)
class ReadManifest:
    """What was read. `manifest` may be there beside errors (see the module): ask `errors_among(diagnostics)`. It is not
    `complete` when something was written that could not be read as a declaration."""

    manifest: Manifest | None
    diagnostics: tuple[Diagnostic, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class _Given:
    """What a manifest is read from: see `read_manifest`."""

    folder: str
    files: Mapping[str, str]
    variables: Mapping[str, str]
    cache: Cache


def read_manifest(
    folder: str, files: Mapping[str, str], variables: Mapping[str, str], cache: Cache | None = None
) -> ReadManifest:
    """Read the pipeline in `folder`. `files` maps the paths of its files, from the repository's root, to their texts;
    `variables` are the environment's. SQL files that the cache knows are not parsed again."""
    with bounded_suggestions():
        return _read(folder, files, variables, cache or NoCache())


def _read(folder: str, files: Mapping[str, str], variables: Mapping[str, str], cache: Cache) -> ReadManifest:
    folder = folder.rstrip("/")
    file = f"{folder}/{PIPELINE_FILE}"
    if file not in files:
        return ReadManifest(None, (_no_pipeline_file(folder, file, files),))
    document = read_document(files[file], file, cache)
    found = list(document.diagnostics)
    value = document.value
    if value is not None:
        found += _name_problems(folder, value, document)
    sql_files, path_problems = _sql_files(folder, files, value, document)
    read = read_sql_files({path: files[path] for path in sql_files}, cache)
    found += path_problems
    found += [problem for sql in read for problem in sql.diagnostics]
    if not isinstance(value, Mapping):
        return ReadManifest(None, in_order(found))
    manifest, problems = _assembled(_Given(folder, files, variables, cache), value, document, read)
    streams = _streams(value, document)
    found += problems
    lost = [one for sql in read for one in errors_among(sql.diagnostics) if one.code not in _KEEPS_ITS_STATEMENT]
    unsound = bool(path_problems) or bool(lost)
    if streams is not None:
        manifest = replace(manifest, streams=streams.streams, unread_streams=streams.unread)
        unsound = unsound or not streams.complete
    return ReadManifest(manifest, in_order(found), complete=not unsound)


def _no_pipeline_file(folder: str, file: str, files: Mapping[str, str]) -> Diagnostic:
    beside = [path.rsplit("/", 1)[1] for path in files if posixpath.dirname(path) == folder]
    yaml_files = [name for name in beside if name.endswith((".yaml", ".yml"))]
    suggestion = closest(PIPELINE_FILE, yaml_files)
    hint = f"rename {suggestion} to {PIPELINE_FILE}" if suggestion else "a pipeline's folder holds a pipeline.yaml"
    return Diagnostic("M121", f"{file} is missing", Location(file, 1, 1), hint)


def _name_problems(folder: str, value: Any, document: Document) -> list[Diagnostic]:
    name, expected = part(value, "metadata", "name"), posixpath.basename(folder)
    if not isinstance(name, str) or name == expected:
        return []
    message = f"metadata.name is {name!r}, but the folder is named {expected!r}"
    return [Diagnostic("M122", message, document.of_value(("metadata", "name")), _name_hint(expected))]


def _name_hint(folder: str) -> str:
    if folder == folder.lower():
        return f"write name: {folder}"
    return f"rename the folder to {folder.lower()}, and write name: {folder.lower()}"


def _sql_files(folder: str, files: Mapping[str, str], value: Any, document: Document) -> tuple[list[str], list[Diagnostic]]:
    """The paths of the SQL files to read, sorted, and what is wrong with `spec.sql`."""
    all_sql = sorted(path for path in files if path.endswith(".sql") and path.startswith(f"{folder}/"))
    named = part(value, "spec", "sql")
    if not isinstance(named, list):
        beside = [path for path in all_sql if posixpath.dirname(path) == folder]
        if beside or named is not None or value is None:
            return beside, []
        message = "the pipeline has no SQL file, so nothing is declared"
        hint = "write program.sql beside pipeline.yaml; to remove the pipeline, remove its folder"
        return [], [Diagnostic("M125", message, document.of_value(()), hint)]
    found: list[Diagnostic] = []
    chosen: set[str] = set()
    for index, name in enumerate(named):
        if not isinstance(name, str) or not name.endswith(".sql"):
            continue  # the schema has said so
        path = posixpath.normpath(posixpath.join(folder, name))
        if path in files and path.startswith(f"{folder}/") and not name.startswith("/"):
            chosen.add(path)
            continue
        place = document.of_value(("spec", "sql", index))
        if name.startswith("/") or not path.startswith(f"{folder}/"):
            hint = "a pipeline's files must be in its folder"
            found.append(Diagnostic("M124", f"{name!r} is outside the pipeline's folder", place, hint))
        else:
            suggestion = closest(name, [known.removeprefix(f"{folder}/") for known in all_sql])
            hint = f"did you mean {suggestion!r}?" if suggestion else "paths are relative to the pipeline's folder"
            found.append(Diagnostic("M123", f"there is no file {name!r}", place, hint))
    return sorted(chosen), found


def _streams(value: Any, document: Document) -> "ReadStreams | None":
    """The streams; None where there are none."""
    if not part(value, "spec", "streams"):
        return None
    from reconciler.project.manifest.streams import read_streams

    return read_streams(value, document)


def _assembled(
    given: _Given, value: Mapping[str, Any], document: Document, read: Sequence[SqlFile]
) -> tuple[Manifest, list[Diagnostic]]:
    tables = tuple(table for sql in read for table in sql.tables)
    views, found = with_stored((view for sql in read for view in sql.views), value, document)
    names = RelationNames(
        {fold(table.name): table.name for table in tables},
        {fold(view.name): view.name for view in views},
        {fold(name): name for name, _ in named_streams(value)},
    )
    in_sql = [connector for sql in read for connector in sql.connectors]
    written = WrittenConnectors(in_sql, given.files, part(value, "spec", "connectors"), document)
    connectors = read_connectors(written, given.variables, names, given.cache)
    found += connectors.diagnostics
    declarations, of_columns = with_sources(connectors.declarations, value, document, tables)
    found += of_columns
    for kind in ("table", "view"):
        for name in sorted(_mapping(value, "spec", f"{kind}s")):
            place = document.of_key(("spec", f"{kind}s", name))
            move = f"move it to spec.{'views' if kind == 'table' else 'tables'}"
            if fold(name) in names.streams:
                move = "move it to the stream's entry of spec.streams"
            problem = unknown_relation(kind, name, names, place, move)
            if problem is not None:
                found.append(problem)
    declared = [function for sql in read for function in sql.functions]
    functions, problems = read_functions(declared, given.folder, given.files, value, document)
    found += problems
    settings = _settings(given.folder, value)
    moves = _moves(value, document)
    traded = tuple(tuple(sorted(trade)) for trade in trades_of(moves))
    settings = replace(settings, traded=traded)
    return Manifest(settings, tables, views, declarations, document.of_value(()), functions, moves), found


def _mapping(value: Any, *path: str) -> Mapping[str, Any]:
    found = part(value, *path)
    return found if isinstance(found, Mapping) else {}


def _settings(folder: str, value: Mapping[str, Any]) -> Settings:
    """The settings, defaults standing in for whatever was reported as wrong."""
    metadata, runtime = _mapping(value, "metadata"), _mapping(value, "spec", "runtime")
    policy = part(value, "spec", "bootstrap_policy")
    tags = metadata.get("tags")
    workers, partitions = (_whole(runtime.get(key)) for key in ("workers", "shuffle_partitions"))
    spark = {name: setting_text(text) for name, text in _mapping(runtime, "spark").items()}
    if partitions is not None:
        spark[SHUFFLE_PARTITIONS] = str(partitions)
    descriptions = {
        fold(name): entry["description"]
        for name, entry in _relations(value)
        if isinstance(entry, Mapping) and isinstance(entry.get("description"), str)
    }
    return Settings(
        name=posixpath.basename(folder),
        description=_text(metadata.get("description")),
        owner=_text(metadata.get("owner")),
        tags=tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
        bootstrap_policy=BootstrapPolicy(policy) if policy in list(BootstrapPolicy) else BootstrapPolicy.AWAIT_APPROVAL,
        workers=workers,
        spark=dict(sorted(spark.items())),
        descriptions=dict(sorted(descriptions.items())),
        evolution=_evolution(part(value, "spec", "evolution")) or Evolution.CLEAR,
        table_evolution=_table_evolution(_mapping(value, "spec", "tables")),
        protected=_protected(value),
        memory=_text(runtime.get("memory")).lower() or None,
        driver_memory=_text(runtime.get("driver_memory")).lower() or None,
        checkpoint_interval_seconds=_seconds(runtime.get("checkpoint_interval")) or DEFAULT_CHECKPOINT_INTERVAL,
        version_reads=part(value, "spec", "versions", "reads") is True,
        pins={**_pins(_mapping(value, "spec", "tables")), **_pins(_mapping(value, "spec", "views"))},
        function_pins=_pins(_mapping(value, "spec", "functions")),
        maintained=_maintained(_mapping(value, "spec", "views")),
        used_by=_used_by(value),
        retention=_retention(part(value, "spec", "retention")),
        relation_retention=_relation_retention(value),
    )


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _seconds(duration: Any) -> int | None:
    """The seconds of a duration such as 90s, 5m, 1h or 30d; None for what is none."""
    found = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
    return int(found[1]) * _UNITS[found[2]] if found else None


def _evolution(value: Any) -> Evolution | None:
    return Evolution(value) if value in list(Evolution) else None


def _table_evolution(tables: Mapping[str, Any]) -> dict[str, Evolution]:
    found = {fold(name): _evolution(part(entry, "evolution")) for name, entry in tables.items()}
    return {name: evolution for name, evolution in sorted(found.items()) if evolution is not None}


def _relations(value: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What is said of tables, views and streams, by their names as written."""
    of_sql = [sorted(_mapping(value, "spec", section).items()) for section in ("tables", "views")]
    return [*of_sql[0], *of_sql[1], *named_streams(value)]


def _protected(value: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(sorted({fold(name) for name, entry in _relations(value) if part(entry, "protect") is True}))


def _used_by(value: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    found = {fold(name): part(entry, "used_by") for name, entry in _relations(value)}
    return {
        name: tuple(sorted({reader for reader in readers if isinstance(reader, str)}))
        for name, readers in sorted(found.items())
        if isinstance(readers, list) and readers
    }


def _retention(value: Any) -> Retention:
    versions = _whole(part(value, "versions"))
    return Retention(versions, *(_seconds(part(value, key)) for key in ("keep", "steps", "checkpoints")))


def _relation_retention(value: Mapping[str, Any]) -> dict[str, Retention]:
    written = {fold(name): part(entry, "retention") for name, entry in _relations(value)}
    found = {name: _retention(retention) for name, retention in written.items() if retention}
    return dict(sorted(found.items()))


def _pins(objects: Mapping[str, Any]) -> dict[str, Pin]:
    found = {fold(name): _PIN.fullmatch(_text(part(entry, "version"))) for name, entry in objects.items()}
    return {name: Pin(int(pin[1])) for name, pin in sorted(found.items()) if pin is not None}


def _maintained(views: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for name, entry in sorted(views.items()):
        versions = part(entry, "versions")
        asked = versions.items() if isinstance(versions, Mapping) else ()
        numbers = {int(match[1]) for key, one in asked if part(one, "maintain") is True and (match := _PIN.fullmatch(key))}
        if numbers:
            found[fold(name)] = tuple(sorted(numbers))
    return found


def _moves(value: Mapping[str, Any], document: Document) -> tuple[Move, ...]:
    """The entries of `spec.moved` that have both names; the schema has said what is wrong with others."""
    entries = part(value, "spec", "moved")
    return tuple(
        Move(entry["from"], entry["to"], document.of_value(("spec", "moved", index)))
        for index, entry in enumerate(entries if isinstance(entries, list) else ())
        if isinstance(entry, Mapping) and all(_is_movable(entry.get(key)) for key in ("from", "to"))
    )


def _is_movable(name: Any) -> bool:
    return isinstance(name, str) and 1 <= len(name.split(".")) <= 2 and all(name.split("."))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def setting_text(value: Any) -> str:
    """The value of a setting of Spark, without blanks around it: Spark takes them for a part of some values, and plans
    compare values without them."""
    return option_text(value).strip()


def option_text(value: Any) -> str:
    """A setting's value as Spark wants it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
