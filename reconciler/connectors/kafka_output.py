"""`kafka_output`: writes a view's changes to a Kafka topic, at least once."""

from typing import Final

from reconciler.base.places import Path
from reconciler.connectors.transport import Direction, Transport, tells_deletions

_CONFIG: Final[Path] = ("transport", "config")
TRANSPORT = Transport(
    name="kafka_output",
    direction=Direction.OUTPUT,
    takes_format=True,
    not_yet={
        ((*_CONFIG, "key.serializer"), None): "the format says how messages are written",
        ((*_CONFIG, "value.serializer"), None): "the format says how messages are written",
        ((*_CONFIG, "interceptor.classes"), None): "messages are written as the format says",
        ((*_CONFIG, "transactional.id"), None): "messages are written at least once; their headers identify repeats",
    },
    sink_can_delete=tells_deletions,
    address=("topic", "bootstrap.servers"),
)
