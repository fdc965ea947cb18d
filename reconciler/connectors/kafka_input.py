"""`kafka_input`: reads a Kafka topic, from a point on, without an end. Declared and validated; not run by this version."""

from reconciler.connectors.transport import INPUT_SETTINGS_THAT_RESET_NOTHING, Direction, Transport

TRANSPORT = Transport(
    name="kafka_input",
    direction=Direction.INPUT,
    runnable_here=False,
    takes_format=True,
    resets_nothing=INPUT_SETTINGS_THAT_RESET_NOTHING,
    not_yet={
        (("format", "name"), "avro"): "Avro is not supported by this version",
        (("format", "name"), "csv"): "CSV in messages is not supported by this version",
        (("transport", "config", "partitions"), None): "choosing partitions is not supported by this version",
    },
)
