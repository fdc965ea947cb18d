"""Seeking: a connector that reads on from a place that a user names.

| transport | `--to` | what becomes of its position |
|---|---|---|
| `delta_table_input` that follows | a version, or `latest` | that version |
| `kafka_input` | `earliest`, `latest`, `{"offsets": […]}`, `{"timestamp": …}`: what `start_from` takes | its start |
| any input | `earliest` | none: it begins as it did at first, and reads again what it has read |

The wish stands in the pipeline's controls until whoever holds the lease writes the position into the head: a live run
between two steps, or the command itself. The rows of the connector's table stay as they are.
"""

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from reconciler.connectors.transport import Direction
from reconciler.digest import JsonObject
from reconciler.errors import ReconcileError
from reconciler.program.model import Connector, Program
from reconciler.reconcile.controls import take_away_seeks
from reconciler.reconcile.events import Event, Happened
from reconciler.reconcile.target import Target
from reconciler.registry.model import Head, Seek, Stored

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
SEEK: Final = "seek"
"""The only key of a position that a user gave a transport whose positions have a form of their own: it is to begin there."""


def seek_value(text: str) -> Any:
    """What `--to` says: JSON where it is JSON, else a word."""
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()


def sought_position(connector: Connector, to: Any) -> JsonObject | None:
    """The position from which a connector reads on. Raises ReconcileError (A512) for a place that it can't go to."""
    match connector.transport, to:
        case "kafka_input", "earliest" | "latest" | dict():
            return {SEEK: to}
        case "kafka_input", _:
            raise _refusal(connector, to, 'earliest, latest, {"offsets": [42]} with all partitions, or {"timestamp": …}')
        case _, "earliest":
            return None
        case "delta_table_input", _ if _config(connector).get("mode", "snapshot") == "snapshot":
            raise _refusal(connector, to, "earliest: it reads one version as a whole")
        case "delta_table_input", "latest":
            return {"version": LATEST}
        case "delta_table_input", int() if not isinstance(to, bool) and to >= 0:
            return {"version": to}
        case "delta_table_input", _:
            raise _refusal(connector, to, "a version, latest, or earliest (to begin anew)")
        case _:
            raise _refusal(connector, to, "earliest: it can only begin anew")


def _config(connector: Connector) -> JsonObject:
    config: JsonObject = connector.settings["transport"].get("config", {})
    return config


def _refusal(connector: Connector, to: Any, can: str) -> ReconcileError:
    where = f"{connector.qualified_name} ({connector.transport})"
    return ReconcileError("A512", f"{where} can't be put at {json.dumps(to)}", f"it can go to: {can}")


def carry_out_seeks(
    target: Target, stored: Stored[Head], program: Program, seeks: Mapping[str, Seek], tell: Callable[[str], None]
) -> tuple[Stored[Head], tuple[Happened, ...]]:
    """Put connectors at the positions that users asked for, in one write of the head, and take the wishes away. One that
    can't be carried out (what is applied changed since) is told and taken away, too."""
    positions, happened = dict(stored.value.positions), []
    for key, seek in sorted(seeks.items()):
        connector = program.connectors.get(key)
        if connector is None or connector.direction is not Direction.INPUT:
            tell(f"there is no input {key} any more; nothing was put at {json.dumps(seek.to)}")
            continue
        try:
            sought = sought_position(connector, seek.to)
        except ReconcileError as error:
            tell(f"{error.code}: {error.message}")
            continue
        before = positions.pop(key, None)
        if sought is not None:
            positions[key] = sought
        details = {"from": before, "to": seek.to, "by": seek.by, "asked_at": seek.at}
        happened.append(Happened(Event.CONNECTOR_SOUGHT, connector.qualified_name, None, details))
    if happened:
        head = replace(stored.value, positions=dict(sorted(positions.items())))
        stored = target.registry.replace_head(stored.token, head, str(uuid.uuid4()))
    take_away_seeks(target.registry, stored.value.pipeline, seeks)
    return stored, tuple(happened)
