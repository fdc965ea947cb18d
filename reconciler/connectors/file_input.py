"""`file_input`: reads files, once each: those of a folder as they arrive, one file, or those that match a pattern.

Rows are added; files that change after they were read are not read again. JSON holds one row an object (`raw`).
"""

from reconciler.connectors.transport import INPUT_SETTINGS_THAT_RESET_NOTHING, Direction, Transport

_CHANGES = "files of changes are not supported by this version: each object must be a row (raw)"
_UPDATE_FORMAT = ("format", "config", "update_format")

TRANSPORT = Transport(
    name="file_input",
    direction=Direction.INPUT,
    runnable_here=True,
    takes_format=True,
    resets_nothing=INPUT_SETTINGS_THAT_RESET_NOTHING,
    not_yet={
        (_UPDATE_FORMAT, "insert_delete"): _CHANGES,
        (_UPDATE_FORMAT, "debezium"): _CHANGES,
        (("format", "name"), "avro"): "Avro is not supported by this version",
    },
)
