"""`file_input`: reads files, once each: those of a folder as they arrive, one file, or those that match a pattern.

Files that change after they were read are an error. JSON holds rows (`raw`) or changes (`insert_delete`, `debezium`).
"""

from reconciler.connectors.transport import INPUT_SETTINGS_THAT_RESET_NOTHING, Direction, Transport

TRANSPORT = Transport(
    name="file_input",
    direction=Direction.INPUT,
    takes_format=True,
    resets_nothing=INPUT_SETTINGS_THAT_RESET_NOTHING,
    not_yet={
        (("format", "name"), "avro"): "Avro is not supported by this version",
    },
)
