"""`file_output`: writes a view's changes to files, one folder an emission; each once."""

from collections.abc import Mapping

from reconciler.base.digest import JsonObject
from reconciler.connectors.registry_folder import registry_problems
from reconciler.connectors.transport import Direction, Transport, tells_deletions


def _can_delete(settings: JsonObject) -> bool:
    """Whether files can say that a row goes: lines of CSV and rows of Parquet only say that one comes."""
    form = settings.get("format")
    return isinstance(form, Mapping) and form.get("name") == "json" and tells_deletions(settings)


TRANSPORT = Transport(
    name="file_output",
    direction=Direction.OUTPUT,
    takes_format=True,
    check_further=registry_problems,
    sink_can_delete=_can_delete,
    address=("path",),
)
