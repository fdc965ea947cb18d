"""`kafka_output`: writes a view's changes to a Kafka topic. Declared and validated; not run by this version."""

from collections.abc import Mapping

from reconciler.connectors.transport import OUTPUT_SETTINGS_THAT_RESET_NOTHING, Direction, Transport
from reconciler.digest import JsonObject


def _can_delete(settings: JsonObject) -> bool:
    """Whether messages can say that a row goes: those of `raw` only say that one comes."""
    form = settings.get("format")
    config = form.get("config") if isinstance(form, Mapping) else None
    update_format = config.get("update_format") if isinstance(config, Mapping) else None
    return update_format != "raw"


TRANSPORT = Transport(
    name="kafka_output",
    direction=Direction.OUTPUT,
    runnable_here=False,
    takes_format=True,
    resets_nothing=OUTPUT_SETTINGS_THAT_RESET_NOTHING,
    not_yet={},
    sink_can_delete=_can_delete,
)
