"""`delta_table_input`: reads a Delta table that somebody else writes.

This version reads a snapshot: the table as it stands at one version (named, by time, or the newest when the connector
starts); then the input has ended. Following the table's changes is refused, not ignored.
"""

from reconciler.connectors.transport import INPUT_SETTINGS_THAT_RESET_NOTHING, Direction, Transport
from reconciler.diagnostics import Diagnostic
from reconciler.digest import JsonObject
from reconciler.places import Places

_CONFIG = ("transport", "config")


def _check_further(settings: JsonObject, places: Places) -> tuple[Diagnostic, ...]:
    config = settings["transport"]["config"]
    if "version" in config and "timestamp" in config:
        place = places.of_key((*_CONFIG, "timestamp"))
        return (Diagnostic("C416", "version and timestamp exclude each other", place, "keep one of them"),)
    return ()


_FOLLOWING = "following a table's changes is not supported by this version"

TRANSPORT = Transport(
    name="delta_table_input",
    direction=Direction.INPUT,
    runnable_here=True,
    takes_format=False,
    resets_nothing=INPUT_SETTINGS_THAT_RESET_NOTHING,
    not_yet={
        ((*_CONFIG, "mode"), "follow"): _FOLLOWING,
        ((*_CONFIG, "mode"), "snapshot_and_follow"): _FOLLOWING,
        ((*_CONFIG, "mode"), "cdc"): _FOLLOWING,
        ((*_CONFIG, "end_version"), None): _FOLLOWING,
        ((*_CONFIG, "filter"), None): "filters at the source are not supported by this version",
        ((*_CONFIG, "snapshot_filter"), None): "filters at the source are not supported by this version",
        ((*_CONFIG, "timestamp_column"), None): "ordered reading is not supported by this version",
        ((*_CONFIG, "datetime"), None): "it is called timestamp here",
    },
    check_further=_check_further,
)
