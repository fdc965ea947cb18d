"""What a transport is: a value that each module of this package declares one of."""

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.digest import JsonObject
from reconciler.base.places import Path, Places


class Direction(StrEnum):
    """Which way rows flow: an input connector belongs to a table, an output connector to a view."""

    INPUT = "input"
    OUTPUT = "output"


class Values(StrEnum):
    """What an input has of the values that it brings."""

    TEXTS = "texts"
    """Texts, or JSON: `"5"` and 5 are one, and keys of objects are texts."""
    TYPED = "typed"
    """Types of their own, so that keys of maps are what they are."""
    ANY = "any"
    """Whatever a column may hold."""


def nothing_further(settings: JsonObject, places: Places) -> tuple[Diagnostic, ...]:
    """For transports whose schema says everything."""
    return ()


def never(settings: JsonObject) -> bool:
    """For sinks that only ever grow."""
    return False


def always(settings: JsonObject) -> bool:
    """For inputs whose records always say what happened."""
    return True


def always_ends(settings: JsonObject) -> bool | None:
    """For inputs that are read once."""
    return True


def never_ends(settings: JsonObject) -> bool | None:
    """For inputs that go on, and for outputs."""
    return False


def texts(settings: JsonObject) -> Values:
    """For inputs of records and rows as texts."""
    return Values.TEXTS


def any_values(settings: JsonObject) -> Values:
    """For inputs that bring whatever a column may hold."""
    return Values.ANY


def config_of(settings: JsonObject) -> Mapping[str, Any]:
    """The settings of the transport itself; nothing where they are not what they should be."""
    transport = settings.get("transport")
    config = transport.get("config") if isinstance(transport, Mapping) else None
    return config if isinstance(config, Mapping) else {}


def tells_deletions(settings: JsonObject) -> bool:
    """For sinks of JSON changes: whether these can say that a row goes. Those of `raw` only say that one comes."""
    form = settings.get("format")
    config = form.get("config") if isinstance(form, Mapping) else None
    update_format = config.get("update_format") if isinstance(config, Mapping) else None
    return update_format != "raw"


def records_bring_deletes(settings: JsonObject) -> bool:
    """For inputs of records, defaults filled in: whether these say what happened, and are not just rows."""
    return bool(settings.get("format", {}).get("config", {}).get("update_format", "raw") != "raw")


_RESET_NO_INPUT: Final = {
    "description": "it is for people",
    "labels": "they order the start of connectors; what was read stays",
    "late_rows": "it says where late records are kept; the rows read are the same",
    "max_batch_size": "it sizes batches; the rows read are the same",
    "max_queued_records": "it bounds memory; the rows read are the same",
    "max_rejected": "it says when reading stops; the position stays",
    "paused": "it says when reading goes on; the position stays",
    "start_after": "it orders the start of connectors; what was read stays",
}
_RESET_NO_OUTPUT: Final = {
    "description": "it is for people",
    "labels": "they name the connector; the rows written are the same",
    "on_bootstrap": "it says how a later bootstrap is emitted; what was written stays",
    "send_snapshot": "it says how a connector begins that is new or reset",
}


@dataclass(frozen=True, slots=True)
class Transport:
    """A way to move rows.

    `not_yet` maps a path and a value that the seeds' systems know to why this version refuses it; the value None stands for
    any. `check_further` reports what a schema can't say; it gets settings that fit the schema.
    `sink_can_delete` says whether an output with these settings can take rows back. `ends` says whether an input with these
    settings comes to an end, for whoever waits for that; None: only what is there can tell.
    `brings_deletes` says whether an input with these settings, defaults filled in, can bring deletes, or updates, which are
    a delete and an insert.
    `values` says what an input with these settings has of the values that it brings, and so which columns it can't fill.
    `address` names the options that say where rows come from or go to, the narrower first.
    """

    name: str
    direction: Direction
    takes_format: bool
    not_yet: Mapping[tuple[Path, str | None], str] = field(default_factory=dict)
    check_further: Callable[[JsonObject, Places], tuple[Diagnostic, ...]] = nothing_further
    sink_can_delete: Callable[[JsonObject], bool] = never
    ends: Callable[[JsonObject], bool | None] = never_ends
    brings_deletes: Callable[[JsonObject], bool] = never
    values: Callable[[JsonObject], Values] = texts
    address: tuple[str, ...] = ()

    @property
    def schema_file(self) -> str:
        """The schema of this transport's part of a connector, under schemas/."""
        return f"{self.name}.schema.json"

    @property
    def resets_nothing(self) -> Mapping[str, str]:
        """The settings of a connector whose change needs no new start, each with the reason; all others reset the connector
        when they change. What a plan says of them is another matter (`diff.weights`)."""
        return _RESET_NO_INPUT if self.direction is Direction.INPUT else _RESET_NO_OUTPUT
