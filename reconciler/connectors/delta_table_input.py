"""`delta_table_input`: reads a Delta table that somebody else writes.

It reads the table as it stands at one version (named, by time, or the newest when the connector starts), then has ended
(`snapshot`); or the rows that change after that version, with or without a change data feed in the table (`follow`); or both
(`snapshot_and_follow`). A table of change records in rows (`cdc`) is refused, not ignored.
"""

from reconciler.base.diagnostics import Diagnostic
from reconciler.base.digest import JsonObject
from reconciler.base.places import Places
from reconciler.connectors.transport import Direction, Transport, any_values, config_of

_CONFIG = ("transport", "config")
_TIMES = ("timestamp", "datetime")
_FOLLOWING = ("follow", "snapshot_and_follow")
_WITH_SNAPSHOT = ("snapshot", "snapshot_and_follow")


def _check_further(settings: JsonObject, places: Places) -> tuple[Diagnostic, ...]:
    config = settings["transport"]["config"]
    found: list[Diagnostic] = []

    def refuse(key: str, message: str, hint: str) -> None:
        found.append(Diagnostic("C416", message, places.of_key((*_CONFIG, key)), hint))

    times = [name for name in _TIMES if name in config]
    if times and "version" in config:
        refuse(times[0], f"version and {times[0]} exclude each other", "keep one of them")
    elif len(times) > 1:
        refuse(times[1], "timestamp and datetime are two names of one setting", "keep one of them")
    mode = config["mode"]
    if "end_version" in config and mode not in _FOLLOWING:
        refuse("end_version", f"mode {mode} does not follow the table, so end_version has no effect", "remove it")
    elif config.get("end_version", 0) < config.get("version", 0) and "end_version" in config:
        refuse("end_version", "end_version is before version", "set end_version to version or later")
    for key in ("snapshot_filter", "timestamp_column"):
        if key in config and mode not in _WITH_SNAPSHOT:
            refuse(key, f"mode {mode} reads no snapshot, so {key} has no effect", "remove it")
    return tuple(found)


def _ends(settings: JsonObject) -> bool | None:
    config = config_of(settings)
    mode = config.get("mode")
    if mode in _FOLLOWING:
        return "end_version" in config
    return True if mode == "snapshot" else None


TRANSPORT = Transport(
    name="delta_table_input",
    direction=Direction.INPUT,
    takes_format=False,
    not_yet={
        ((*_CONFIG, "mode"), "cdc"): "tables whose rows are change records are not supported by this version; to read the "
        "changes of a table, use follow",
        ((*_CONFIG, "cdc_delete_filter"), None): "it belongs to mode cdc, which is not supported by this version",
        ((*_CONFIG, "cdc_order_by"), None): "it belongs to mode cdc, which is not supported by this version",
    },
    check_further=_check_further,
    ends=_ends,
    brings_deletes=lambda settings: config_of(settings).get("mode") in _FOLLOWING,
    values=any_values,
    address=("uri",),
)
