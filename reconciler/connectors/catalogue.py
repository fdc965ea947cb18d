"""Every transport, and what can be said of a connector's settings without touching what it connects to.

Settings are a connector's JSON object without `name`, `table` and `view` (see `base.declarations.ConnectorDeclaration`),
variables resolved, secrets still `${secret:NAME}`.

- `check_connector` reports everything that is wrong with them: by the schemas, by what this version can't do yet, and by
  rules that a schema can't express. Settings without an error among the diagnostics can be given to the other functions.
- `canonical_settings` is what decides whether a connector was modified: defaults written out, settings that reset
  nothing left out, equivalent spellings made one.
- `shown_settings` is what may be shown of them: values whose schema marks them as plain; all others may be secret.
- `place` tells one place from another, with the server that is asked for it.
- `told_address` is the place that a connector reads or writes, without what may be secret of it.
- `secret_paths` says where secrets surely stand.

What it does not do: read or write through a connector (the engine's), resolve references (`connectors.references`).
"""

import math
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any, Final

from reconciler.base.diagnostics import Diagnostic, Severity, errors_among, in_order
from reconciler.base.digest import JsonObject
from reconciler.base.names import did_you_mean
from reconciler.base.places import Path, Places
from reconciler.base.schema_check import CONNECTOR_CODES, check_against, found_words, path_words
from reconciler.base.schema_walk import is_secret, plainness, with_defaults
from reconciler.base.secrets.names import is_secret_name
from reconciler.base.secrets.redaction import MASK, Plain, plain_value, shown_address
from reconciler.connectors import (
    datagen,
    delta_table_input,
    delta_table_output,
    file_input,
    file_output,
    http_input,
    kafka_input,
    kafka_output,
    postgres_input,
)
from reconciler.connectors.columns import COLUMNS, canonical_columns
from reconciler.connectors.references import holds_reference
from reconciler.connectors.transport import Direction, Transport, config_of

TRANSPORTS: Final[Mapping[str, Transport]] = {
    module.TRANSPORT.name: module.TRANSPORT
    for module in (
        datagen,
        delta_table_input,
        delta_table_output,
        file_input,
        file_output,
        http_input,
        kafka_input,
        kafka_output,
        postgres_input,
    )
}
SCHEMA_FILE: Final = "connector.schema.json"

_MAXIMUM_DEPTH: Final = 20
_WHO_GIVES_CREDENTIALS: Final = ("oauth2", "sts", "msi")
_STORAGE_OPTIONS: Final = ("aws_", "azure_", "google_")
_OF_ONE_DIRECTION: Final = {
    COLUMNS: Direction.INPUT,
    "late_rows": Direction.INPUT,
    "max_batch_size": Direction.INPUT,
    "max_queued_records": Direction.INPUT,
    "max_rejected": Direction.INPUT,
    "on_bootstrap": Direction.OUTPUT,
    "paused": Direction.INPUT,
    "send_snapshot": Direction.OUTPUT,
    "start_after": Direction.INPUT,
}


def check_connector(settings: Any, places: Places, direction: Direction | str | None = None) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with a connector. `direction` is that of its relation, when known."""
    unfit = _unfit(settings, (), places)
    if unfit:
        return in_order(unfit)
    if not isinstance(settings, Mapping):
        message = f"a connector must be a mapping, found {found_words(settings)}"
        return (Diagnostic("C405", message, places.of_value(())),)
    transport_settings = settings.get("transport")
    name = transport_settings.get("name") if isinstance(transport_settings, Mapping) else None
    transport = TRANSPORTS.get(name) if isinstance(name, str) else None
    if isinstance(name, str) and transport is None:
        hint = did_you_mean(name, TRANSPORTS) or f"known transports: {', '.join(sorted(TRANSPORTS))}"
        place = places.of_value(("transport", "name"))
        return (Diagnostic("C401", f"unknown transport {name!r}", place, hint),)
    found: list[Diagnostic] = []
    refused: set[Path] = set()
    if transport is not None:
        found += _direction_problems(transport, settings, places, direction)
        found += _not_yet(transport, settings, places, refused)
        if not transport.takes_format and "format" in settings:
            message = f"{transport.name} has no format: the table decides how rows are stored"
            found.append(Diagnostic("C415", message, places.of_key(("format",)), "remove format"))
    checked = _without(settings, refused)
    found += check_against(SCHEMA_FILE, checked, places, CONNECTOR_CODES)
    if transport is not None:
        # What else asks for connectors, a plan above all, needs none of its patterns.
        from reconciler.connectors.code_options import code_problems

        found += _secrets_in_clear(transport, settings, places)
        found += code_problems(checked, places)
        if not errors_among(found):
            found += transport.check_further(settings, places)
    return in_order(found)


def transport_of(settings: JsonObject) -> Transport | None:
    """The transport that settings name, if it is known here."""
    transport = settings.get("transport")
    return TRANSPORTS.get(transport.get("name", "")) if isinstance(transport, Mapping) else None


def canonical_settings(settings: JsonObject) -> JsonObject:
    """The settings that decide what is read or written, in one spelling: equal if and only if nothing need be reset.

    What the registry holds was checked by the version that wrote it: settings that this version would refuse are
    compared as they are.
    """
    transport = transport_of(settings)
    if transport is None:
        return settings
    kept = {key: value for key, value in settings.items() if key not in transport.resets_nothing}
    filled = with_defaults(transport.schema_file, kept)
    config = filled["transport"].get("config")
    if isinstance(config, Mapping):
        options = {key: _option_text(key, value) for key, value in sorted(config.items())}
        filled["transport"] = {**filled["transport"], "config": options}
    names = canonical_columns(filled)
    return {key: value for key, value in filled.items() if key != COLUMNS} | ({COLUMNS: names} if names else {})


def servers(settings: JsonObject) -> frozenset[str]:
    """The servers of a store that a connector's options name, by whichever of them: a bucket of one name may be on two."""
    return frozenset(
        str(value).rstrip("/")
        for name, value in config_of(settings).items()
        if name.endswith("endpoint") and not any(who in name for who in _WHO_GIVES_CREDENTIALS)
    )


def place(settings: JsonObject) -> tuple[object, ...]:
    """What tells one place that a connector reads or writes from another, as far as its settings say: equal of two spellings
    of one, as a slash at the end makes no other."""
    transport = transport_of(settings)
    config = config_of(settings)
    parts = (config.get(name) for name in (transport.address if transport is not None else ()))
    return (*(place_text(part) if isinstance(part, str) else part for part in parts), servers(settings))


def place_text(text: str) -> str:
    """An address in one spelling."""
    scheme, sign, rest = text.partition("://")
    # Hadoop's name of S3 and everybody's.
    return f"{'s3' if scheme == 's3a' else scheme}{sign}{rest.rstrip('/')}" if sign else posixpath.normpath(text)


def on_bootstrap(settings: JsonObject) -> str:
    """What an output emits when its view is computed anew: `changes`, `full`, `truncate` or `silent`. Unless it is said,
    sinks that can delete get the difference, others everything."""
    said = settings.get("on_bootstrap")
    if isinstance(said, str):
        return said
    return "changes" if sink_can_delete(settings) else "full"


def sink_can_delete(settings: JsonObject) -> bool:
    """Whether what an output writes to can take rows back. When that is not known, it can't."""
    transport = transport_of(settings)
    return transport is not None and transport.sink_can_delete(settings)


def brings_deletes(settings: JsonObject) -> bool:
    """Whether an input can bring deletes, or updates, which are a delete and an insert."""
    transport = transport_of(settings)
    return transport is not None and transport.brings_deletes(canonical_settings(settings))


def ends(settings: JsonObject) -> bool | None:
    """Whether an input comes to an end; None: that can't be told from its settings."""
    transport = transport_of(settings)
    return transport.ends(settings) if transport is not None else None


def secret_paths(settings: JsonObject) -> tuple[Path, ...]:
    """The paths of all values that are secret by schema or by name, or hold a reference to a secret, sorted."""
    transport = transport_of(settings)
    return tuple(
        path
        for path, value in _leaves(settings, ())
        if (transport is not None and is_secret(transport.schema_file, settings, path))
        or holds_reference(value, "secret")
        or (isinstance(value, str) and any(isinstance(part, str) and is_secret_name(part) for part in path))
    )


def shown_settings(settings: JsonObject) -> JsonObject:
    """The settings with `***` in place of each value that may not be shown: of each that no schema marks as plain, that is
    secret by its name, or that is not of the form which its mark promises."""
    transport = transport_of(settings)
    secret = set(secret_paths(settings))

    def shown(value: Any, path: Path) -> Any:
        if value and isinstance(value, Mapping):
            return {key: shown(part, (*path, key)) for key, part in value.items()}
        if value and isinstance(value, Sequence) and not isinstance(value, str):
            return [shown(part, (*path, index)) for index, part in enumerate(value)]
        if path in secret or transport is None:
            return MASK
        file = transport.schema_file if path[0] in ("transport", "format") else SCHEMA_FILE
        return plain_value(value, plainness(file, settings, path))

    return {key: shown(value, (key,)) for key, value in settings.items()}


def told_address(settings: JsonObject) -> str | None:
    """Where rows come from or go to, as far as it may be shown; None where a transport has no such place."""
    transport = transport_of(settings)
    config = config_of(settings)
    if transport is None:
        return None
    told = []
    for name in transport.address:
        value, path = config.get(name), ("transport", "config", name)
        if isinstance(value, str):
            mark = plainness(transport.schema_file, settings, path)
            told.append(shown_address(value) if mark is Plain.ADDRESS else plain_value(value, mark))
    return " at ".join(told) or None


def _option_text(key: str, value: Any) -> Any:
    """Options that are handed on as text are compared as text: `"true"` and `true` are one."""
    if "." not in key and not key.startswith(_STORAGE_OPTIONS):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def _unfit(value: Any, path: Path, places: Places) -> list[Diagnostic]:
    """What no JSON text of ours may hold: nesting without end and numbers that are none."""
    if len(path) > _MAXIMUM_DEPTH:
        message = f"a connector's settings are nested more than {_MAXIMUM_DEPTH} levels deep"
        return [Diagnostic("C407", message, places.of_value(path))]
    if isinstance(value, float) and not math.isfinite(value):
        return [Diagnostic("C408", f"{path_words(path)}: not a finite number", places.of_value(path))]
    found: list[Diagnostic] = []
    for key, part in _entries(value):
        found += _unfit(part, (*path, key), places)
    return found


def _entries(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        return sorted(value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(enumerate(value))
    return []


def _leaves(value: Any, path: Path) -> list[tuple[Path, Any]]:
    entries = _entries(value)
    if not entries:
        return [(path, value)]
    return [leaf for key, part in entries for leaf in _leaves(part, (*path, key))]


def _direction_problems(
    transport: Transport, settings: JsonObject, places: Places, direction: Direction | str | None
) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    if direction is not None and transport.direction != direction:
        relation = "a table" if direction == Direction.INPUT else "a view"
        message = f"{transport.name} is an {transport.direction.value} and can't be attached to {relation}"
        stem = transport.name.removesuffix("_input").removesuffix("_output")
        other = f"{stem}_{'input' if direction == Direction.INPUT else 'output'}"
        hint = f"did you mean {other!r}?" if other in TRANSPORTS else None
        found.append(Diagnostic("C402", message, places.of_value(("transport", "name")), hint))
    for key, only in sorted(_OF_ONE_DIRECTION.items()):
        if key in settings and only is not transport.direction:
            message = f"{key} is for {only.value}s, and {transport.name} is an {transport.direction.value}"
            found.append(Diagnostic("C403", message, places.of_key((key,)), f"remove {key}"))
    return found


def _not_yet(transport: Transport, settings: JsonObject, places: Places, refused: set[Path]) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for (path, refused_value), reason in transport.not_yet.items():
        value: Any = settings
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is None or (refused_value is not None and value != refused_value):
            continue
        refused.add(path)
        place = places.of_value(path) if refused_value is not None else places.of_key(path)
        shown = f"{path_words(path)}: {value}" if refused_value is not None else path_words(path)
        found.append(Diagnostic("C410", f"{shown}: {reason}", place))
    return found


def _without(settings: JsonObject, refused: set[Path]) -> JsonObject:
    """The settings with refused values replaced by what the schema takes or left out, so that they are told once."""

    def copy(value: Any, path: Path) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {key: copy(part, (*path, key)) for key, part in value.items() if (*path, key) not in refused}

    copied: JsonObject = copy(settings, ())
    if ("transport", "config", "mode") in refused:
        copied["transport"]["config"]["mode"] = "snapshot"
    if ("format", "name") in refused:
        return {**copied, "format": {"name": "json"}}
    return copied


def _secrets_in_clear(transport: Transport, settings: JsonObject, places: Places) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for path, value in _leaves(settings, ()):
        if not isinstance(value, str) or holds_reference(value, "secret"):
            continue
        if is_secret(transport.schema_file, settings, path):
            message = f"{path_words(path)} is written in clear text"
            hint = "write ${secret:NAME}, and provide the secret where the pipeline runs"
            found.append(Diagnostic("C412", message, places.of_value(path), hint, Severity.WARNING))
    return found
