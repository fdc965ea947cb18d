"""pipeline.yaml against its schema, and against what this version can do.

What the design foresees and this version lacks is named as such (M120), so that nobody looks for a typing error and
nothing that was written is silently ignored. Connectors are left out here: `manifest.connectors` checks them.
"""

from collections.abc import Mapping
from typing import Any, Final

from reconciler.base.diagnostics import Diagnostic, in_order
from reconciler.base.names import fold
from reconciler.base.places import Places
from reconciler.base.schema_check import MANIFEST_CODES, check_against
from reconciler.project.manifest.known_spark_settings import is_harmless, reason_against

SCHEMA_FILE: Final = "pipeline.schema.json"
SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"
"""The Spark setting that `runtime.shuffle_partitions` is a short name of."""


def check_pipeline(value: Any, places: Places) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with pipeline.yaml by itself, connectors left out."""
    found: list[Diagnostic] = []
    checked = value
    of_streams: list[Diagnostic] = []
    if stream_entries(value):
        from reconciler.project.manifest.streams import check_streams

        of_streams, checked = check_streams(value, checked, places)
        found += of_streams
    told = {problem.location for problem in of_streams}
    by_schema = check_against(SCHEMA_FILE, _without_connectors(checked), places, MANIFEST_CODES)
    found += [problem for problem in by_schema if problem.code == "M111" or problem.location not in told]
    found += _spark_setting_problems(value, places)
    found += _said_twice(value, places)
    found += _named_twice(value, places)
    return in_order(found)


def part(value: Any, *path: str) -> Any:
    """What stands at `path`, or None when the way there is no mapping."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def stream_entries(value: Any) -> list[tuple[int, Mapping[str, Any]]]:
    """The entries of `spec.streams` that are mappings, with their places in the list."""
    entries = part(value, "spec", "streams")
    listed = enumerate(entries if isinstance(entries, list) else ())
    return [(index, entry) for index, entry in listed if isinstance(entry, Mapping)]


def named_streams(value: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """The entries of `spec.streams` that have a name, with their names."""
    entries = [entry for _, entry in stream_entries(value)]
    return [(entry["name"], entry) for entry in entries if isinstance(entry.get("name"), str)]


def _without_connectors(value: Any) -> Any:
    if not isinstance(part(value, "spec", "connectors"), list):
        return value
    return {**value, "spec": {**value["spec"], "connectors": []}}


def _spark_setting_problems(value: Any, places: Places) -> list[Diagnostic]:
    settings = part(value, "spec", "runtime", "spark")
    found: list[Diagnostic] = []
    for name in sorted(settings) if isinstance(settings, Mapping) else ():
        path = ("spec", "runtime", "spark", name)
        if name.startswith("spark.") and not is_harmless(name):
            found.append(Diagnostic("M130", f"a pipeline can't set {name!r}", places.of_key(path), reason_against(name)))
        elif "${" in str(settings[name]):
            # Spark puts variables of the driver's environment, and its other settings, in place of these.
            message = f"the value of {name!r} refers to values that only the driver knows"
            found.append(Diagnostic("M131", message, places.of_value(path), "write the value itself"))
    return found


def _said_twice(value: Any, places: Places) -> list[Diagnostic]:
    runtime = part(value, "spec", "runtime")
    settings = part(runtime, "spark")
    if (
        part(runtime, "shuffle_partitions") is None
        or not isinstance(settings, Mapping)
        or SHUFFLE_PARTITIONS not in settings
    ):
        return []
    place = places.of_key(("spec", "runtime", "spark", SHUFFLE_PARTITIONS))
    hint = "remove one of them"
    return [Diagnostic("M130", f"{SHUFFLE_PARTITIONS!r} is already set by runtime.shuffle_partitions", place, hint)]


def _named_twice(value: Any, places: Places) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for section in ("tables", "views", "functions"):
        seen: dict[str, str] = {}
        relations = part(value, "spec", section)
        for name in relations if isinstance(relations, Mapping) else ():
            if fold(name) in seen:
                message = f"{name!r} and {seen[fold(name)]!r} are the same name: names are case-insensitive"
                found.append(Diagnostic("M128", message, places.of_key(("spec", section, name))))
            seen.setdefault(fold(name), name)
    return found
