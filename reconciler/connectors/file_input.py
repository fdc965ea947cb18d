"""`file_input`: reads files, once each: those of a folder as they arrive, one file, or those that match a pattern.

Files that change after they were read are an error. JSON holds rows (`raw`) or changes (`insert_delete`, `debezium`).
"""

from collections.abc import Mapping

from reconciler.base.digest import JsonObject
from reconciler.connectors.transport import Direction, Transport, Values, config_of, records_bring_deletes

_PATTERN = frozenset("*?[")


def is_pattern(path: str) -> bool:
    """Whether a path has wildcards (`*`, `?`, `[…]`)."""
    return bool(_PATTERN & set(path))


def _ends(settings: JsonObject) -> bool | None:
    """A pattern may always match more, and a folder get more; one file is all there will be."""
    path = config_of(settings).get("path")
    if not isinstance(path, str):
        return None
    return False if is_pattern(path) or path.endswith("/") else None


def _values(settings: JsonObject) -> Values:
    form = settings.get("format")
    return Values.TYPED if isinstance(form, Mapping) and form.get("name") == "parquet" else Values.TEXTS


TRANSPORT = Transport(
    name="file_input",
    direction=Direction.INPUT,
    takes_format=True,
    ends=_ends,
    brings_deletes=records_bring_deletes,
    not_yet={
        (("format", "name"), "avro"): "Avro is not supported by this version",
    },
    values=_values,
    address=("path",),
)
