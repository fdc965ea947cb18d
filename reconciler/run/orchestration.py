"""Orchestration: which connectors may move rows now, and why the others may not. Pure.

| rule, first match | the connector |
|---|---|
| its input has come to its end | has ended |
| `reconcile connector pause` | is paused, until `reconcile connector resume` says otherwise |
| `paused: true` in its declaration, and nobody resumed it | is paused |
| `start_after`: a connector with one of the labels has not come to its end | waits for it |
| else | runs |

What a user says of a connector is kept with the pipeline's controls, so it survives restarts and holds against its
declaration. A resume takes back a pause, declared or not; it does not take back an order: one who pauses and resumes a
connector wants it to go on as it would have, not before its history is read. Outputs know neither labels nor an end:
they run or are paused by their user; a paused one lags and catches up.
"""

from collections.abc import Mapping
from enum import StrEnum

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import NotFound
from reconciler.base.names import did_you_mean, fold
from reconciler.connectors.transport import Direction
from reconciler.project.program.model import Connector, Program


class Activity(StrEnum):
    """What a connector does. `failing` is told by the run, which knows of failures; `stopped` by `status`: nobody runs the
    pipeline, and it would run otherwise."""

    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    ENDED = "ended"
    FAILING = "failing"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a connector may do, and why it may not run."""

    activity: Activity
    reason: str = ""


def decide(
    program: Program, positions: Mapping[str, JsonObject], said: Mapping[str, bool] | None = None
) -> dict[str, Decision]:
    """The decision on each connector, by its key. `said`: whether a user paused it, of those of whom a user said it."""
    said = said or {}
    return {key: _decision(program, key, connector, positions, said.get(key)) for key, connector in _connectors(program)}


def has_ended(position: JsonObject | None) -> bool:
    """Whether a position is that at the end of the input."""
    return position is not None and bool(position.get("end_of_input"))


def find_connector(program: Program, name: str) -> Connector:
    """The connector `relation.name`, or the only one of that bare name. Raises NotFound (A511)."""
    known = [connector for _, connector in _connectors(program)]
    wanted = fold(name)
    found = [one for one in known if wanted == fold(one.qualified_name)]
    found = found or [one for one in known if wanted == fold(one.qualified_name.partition(".")[2])]
    if len(found) == 1:
        return found[0]
    names = [one.qualified_name for one in known]
    if found:
        several = ", ".join(one.qualified_name for one in found)
        raise NotFound("A511", f"several connectors are named {name!r}: {several}", "write RELATION.CONNECTOR")
    guess = did_you_mean(name, [*names, *(one.partition(".")[2] for one in names)])
    raise NotFound("A511", f"no connector {name!r}; known connectors: {', '.join(names) or 'none'}", guess)


def _connectors(program: Program) -> list[tuple[str, Connector]]:
    return sorted(program.connectors.items())


def _decision(
    program: Program, key: str, connector: Connector, positions: Mapping[str, JsonObject], said: bool | None
) -> Decision:
    if has_ended(positions.get(key)):
        return Decision(Activity.ENDED)
    if said:
        return Decision(Activity.PAUSED, "paused by `reconcile connector pause`")
    if connector.direction is Direction.OUTPUT:
        return Decision(Activity.RUNNING)
    if said is None and connector.settings.get("paused"):
        return Decision(Activity.PAUSED, "paused")
    waits_for = _not_ended(program, connector, positions)
    if waits_for:
        return Decision(Activity.WAITING, f"waits for {', '.join(waits_for)}")
    return Decision(Activity.RUNNING)


def _not_ended(program: Program, connector: Connector, positions: Mapping[str, JsonObject]) -> list[str]:
    after = connector.settings.get("start_after") or ()
    labels = {after} if isinstance(after, str) else set(after)
    return [
        other.qualified_name
        for key, other in _connectors(program)
        if labels & set(other.settings.get("labels") or ()) and not has_ended(positions.get(key))
    ]
