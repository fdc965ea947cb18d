"""Seeking: a connector that goes on from a place that a user names.

| connector | `--to` | what becomes of it |
|---|---|---|
| `delta_table_input` that follows | a version, or `latest` | its position is that version |
| `kafka_input` | `earliest`, `latest`, `{"offsets": […]}`, `{"timestamp": …}`: what `start_from` takes | its start |
| `file_input` | `{"without": [path]}` (`connector skip --file`) | what it was, and it passes over these files |
| `http_input` | the number of a request, `latest` | that number; of `latest`, the one that the next request gets |
| any input | `earliest` | no position: it begins as it did at first, and reads again what it has read |
| any output | `snapshot` | its sink is sent all that the view holds at the published step (`on_bootstrap: full`) |
| any output | `latest` | its sink is sent what changes after the published step |

The wish stands in the pipeline's controls until whoever holds the lease writes it into the head: a live run between two
steps, or the command itself. All wishes are one commit of the head; one that was carried out, but not taken away before its
process died, is known by its id and only taken away. The rows of an input's table stay as they are.

Which request `latest` means is settled before the wish is written down: one that is acknowledged later is read.

An output's sink may have got a part of what was pinned, or all of it, when the pin is dropped. That does no harm: the number
of the dropped emission (its serial, under the output's own id) stays used. The head had it before the sink saw anything, so
what comes next has a higher one, and nobody asks for the dropped one again.

- Delta: an emission is one commit, in the table or not. If it came in, the table has its transaction; that is below the next
  one's, so that the next one is not taken for it. A writer that was given up for dead and comes back is too late once the
  table has the next one; if it is faster, the table has what the view did change by then, as if it had been written in time
  (also one that was cleared meanwhile: nothing but the sink's owner can bar a writer from it between two emissions).
- Files: what is half written lies in a folder of the dropped serial that is hidden, or (object stores) has no `_SUCCESS`.
  Nobody completes it. One that is complete is an emission that came in. The next one has a folder of its own.
- Kafka: what went out bears the dropped serial, what comes a higher one; a consumer takes neither for the other. The dropped
  one may stay incomplete for good, which the sink's page says.

In each case the sink holds what it held when it was put there, and full contents come on top of it: who wants them alone
clears the sink first. One that was to be emptied first still is when it gets full contents (`on_bootstrap: truncate`); at
`latest` it is not, since what it would be emptied for is not sent.
"""

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from reconciler.base.boundaries import BEFORE, EFFECTED, Boundary, no_boundary
from reconciler.base.digest import JsonObject
from reconciler.base.errors import ReconcileError
from reconciler.connectors.transport import Direction
from reconciler.engine.files import without_files
from reconciler.engine.http_requests import next_number
from reconciler.engine.secrets import resolved
from reconciler.environment.locations import with_root, without_root
from reconciler.environment.target import Target
from reconciler.project.program.model import Connector, Program
from reconciler.registry.model import Head, Seek, Stored
from reconciler.run.emitting import Place, put_output
from reconciler.run.lagging import lagging_steps
from reconciler.state.controls import take_away_seeks
from reconciler.state.events import Event, Happened

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


def require_place(connector: Connector, to: Any) -> None:
    """Raises ReconcileError (A512) for a place that a connector can't go to."""
    if connector.direction is Direction.OUTPUT:
        sought_place(connector, to)
    else:
        sought_position(connector, to)


def settled_place(connector: Connector, to: Any) -> Any:
    """The place that is meant by what a user says now: of an `http_input`, the number of a request. Raises ReconcileError
    (A512)."""
    is_number = isinstance(to, int) and not isinstance(to, bool) and to > 0
    if connector.transport != "http_input" or not (is_number or to == LATEST):
        return to
    folder = Path(resolved(connector.settings)["transport"]["config"]["path"])
    if not folder.is_dir():
        raise _refusal(connector, to, f"earliest: there is no folder {folder} here")
    newest = next_number(folder)
    if to != LATEST and to > newest:
        raise _refusal(connector, to, f"a number up to {newest}, which the next request gets")
    return newest if to == LATEST else to


def sought_place(connector: Connector, to: Any) -> Place:
    """Where an output goes on. Raises ReconcileError (A512)."""
    if to not in list(Place):
        raise _refusal(connector, to, "snapshot (send all rows), or latest (send changes from now on)")
    return Place(to)


def sought_position(connector: Connector, to: Any, now: JsonObject | None = None) -> JsonObject | None:
    """The position from which an input reads on that stands at `now`. Raises ReconcileError (A512) for a place that it can't
    go to."""
    match connector.transport, to:
        case "kafka_input", "earliest" | "latest" | dict():
            return {SEEK: to}
        case "kafka_input", _:
            raise _refusal(connector, to, 'earliest, latest, {"offsets": [42]} with all partitions, or {"timestamp": …}')
        case "file_input", {"without": list(paths), **more} if paths and not more:
            return without_files(now, [str(path) for path in paths])
        case _, "earliest":
            return None
        case "http_input", int() if not isinstance(to, bool) and to > 0:
            return {"next": to}
        case "http_input", _:
            raise _refusal(connector, to, "the number of a request, latest, or earliest (to start over)")
        case "delta_table_input", _ if _config(connector).get("mode", "snapshot") == "snapshot":
            raise _refusal(connector, to, "earliest: it reads one version as a whole")
        case "delta_table_input", "latest":
            return {"version": LATEST}
        case "delta_table_input", int() if not isinstance(to, bool) and to >= 0:
            return {"version": to}
        case "delta_table_input", _:
            raise _refusal(connector, to, "a version, latest, or earliest (to start over)")
        case _:
            raise _refusal(connector, to, "earliest: it can only start over")


def _config(connector: Connector) -> JsonObject:
    config: JsonObject = connector.settings["transport"].get("config", {})
    return config


def _refusal(connector: Connector, to: Any, can: str) -> ReconcileError:
    where = f"{connector.qualified_name} ({connector.transport})"
    return ReconcileError("A512", f"{where} can't seek to {json.dumps(to)}", f"it can seek to: {can}")


def carry_out_seeks(
    target: Target,
    stored: Stored[Head],
    program: Program,
    seeks: Mapping[str, Seek],
    tell: Callable[[str], None],
    boundary: Boundary = no_boundary,
) -> tuple[Stored[Head], tuple[Happened, ...]]:
    """Put connectors where users asked for, in one write of the head, and take the wishes away. One that can't be carried
    out (what is applied changed since) is told and taken away, too."""
    head, happened = stored.value, []
    for key, seek in sorted(seeks.items()):
        connector = program.connectors.get(key)
        if connector is None:
            tell(f"connector {key} no longer exists; the seek to {json.dumps(seek.to)} was dropped")
            continue
        try:
            if connector.direction is Direction.OUTPUT:
                put, details = _output_put(target, head, program, key, connector, seek)
            else:
                put, details = _input_put(target.root, head, key, connector, seek)
        except ReconcileError as error:
            tell(f"{error.code}: {error.message}")
            continue
        if put is None:
            # It was carried out by a process that died before it could take the wish away.
            continue
        head = put
        details = {**details, "to": seek.to, "by": seek.by, "asked_at": seek.at}
        happened.append(Happened(Event.CONNECTOR_SOUGHT, connector.qualified_name, None, details))
    if happened:
        boundary(f"seek:{BEFORE}")
        stored = target.registry.replace_head(stored.token, head, str(uuid.uuid4()))
        boundary(f"seek:{EFFECTED}")
    take_away_seeks(target.registry, stored.value.pipeline, seeks)
    return stored, tuple(happened)


def _input_put(root: Path, head: Head, key: str, connector: Connector, seek: Seek) -> tuple[Head, JsonObject]:
    sought = sought_position(connector, with_root(seek.to, root), with_root(head.positions.get(key), root))
    positions = {name: position for name, position in head.positions.items() if name != key}
    if sought is not None:
        positions[key] = without_root(sought, root)
    return replace(head, positions=dict(sorted(positions.items()))), {"from": head.positions.get(key)}


def _output_put(
    target: Target, head: Head, program: Program, key: str, connector: Connector, seek: Seek
) -> tuple[Head | None, JsonObject]:
    place, before = sought_place(connector, seek.to), head.outputs.get(key)
    if before is not None and before.sought == seek.id:
        return None, {}
    put = put_output(head, program, connector, place, seek.id)
    details: dict[str, Any] = {"from": None}
    if before is not None:
        details["from"] = before.told()
    lagged = lagging_steps(target.registry, head, connector) if place is Place.LATEST else None
    if lagged is not None:
        details["lagged_steps"] = lagged
    return put, details
