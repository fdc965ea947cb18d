"""`kafka_input`: reads a Kafka topic, from a point on, without an end.

Where reading begins (`start_from`), what of the topic is read (`partitions`) and positions are the connector's own: options
of the Kafka client that would say it otherwise are refused.
"""

from reconciler.base.diagnostics import Diagnostic
from reconciler.base.digest import JsonObject
from reconciler.base.places import Path, Places
from reconciler.connectors.transport import Direction, Transport, records_bring_deletes

_CONFIG: Path = ("transport", "config")


def _check_further(settings: JsonObject, places: Places) -> tuple[Diagnostic, ...]:
    config = settings["transport"]["config"]
    partitions, start_from = config.get("partitions"), config.get("start_from")
    if partitions is None or not isinstance(start_from, dict) or "offsets" not in start_from:
        return ()
    named, read = len(start_from["offsets"]), len(partitions)
    if named == read:
        return ()
    message = f"offsets names {named}, and partitions {read}: one offset is needed for each partition"
    return (Diagnostic("C409", message, places.of_key((*_CONFIG, "start_from", "offsets"))),)


TRANSPORT = Transport(
    name="kafka_input",
    direction=Direction.INPUT,
    takes_format=True,
    not_yet={
        (("format", "name"), "avro"): "Avro is not supported by this version",
        (("format", "name"), "csv"): "CSV in messages is not supported by this version",
        ((*_CONFIG, "auto.offset.reset"), None): "start_from says where reading begins",
        ((*_CONFIG, "enable.auto.commit"), None): "positions are kept with the pipeline, not in Kafka",
        ((*_CONFIG, "interceptor.classes"), None): "records are read as they stand in the topic",
        ((*_CONFIG, "key.deserializer"), None): "the format says how records are read",
        ((*_CONFIG, "value.deserializer"), None): "the format says how records are read",
    },
    check_further=_check_further,
    brings_deletes=records_bring_deletes,
    address=("topic", "bootstrap.servers"),
)
