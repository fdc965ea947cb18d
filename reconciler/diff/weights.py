"""What each setting weighs in a plan: every one of a connector and of pipeline.yaml, by its path in the schemas.

| weight | a change of it |
|---|---|
| MEANING | is a change of a table, view, function or connector, and approved as one |
| SAFEGUARD | needs approval where it is loosened (`safeguards`); else it is told with its values |
| VALUE | decides neither which rows arrive nor which are sent: it is told with its values |
| WORDS | is for people, or for how much of a machine is used: it is told by its name, or with its values |
| NAMING | says what something is called, or where it stands: what comes of that is told of the thing itself |

A setting of the schemas that is missing here fails a test (`tests/diff/test_weights.py`), which also changes each of them
and looks at the plan.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from reconciler.base.digest import JsonObject
from reconciler.base.schema_files import schema
from reconciler.base.secrets.redaction import MASK
from reconciler.connectors.catalogue import SCHEMA_FILE, on_bootstrap, shown_settings

NOT_SET: Final = "not set"


class Weight(StrEnum):
    """See the module."""

    MEANING = "meaning"
    SAFEGUARD = "safeguard"
    VALUE = "value"
    WORDS = "words"
    NAMING = "naming"


OF_CONNECTORS: Final[Mapping[str, Weight]] = {
    "columns": Weight.MEANING,
    "description": Weight.WORDS,
    "format": Weight.MEANING,
    # Whom an input waits for is the safeguard `start_after`: labels that nobody waits for decide nothing.
    "labels": Weight.SAFEGUARD,
    "late_rows": Weight.VALUE,
    "max_batch_size": Weight.VALUE,
    "max_queued_records": Weight.VALUE,
    "max_rejected": Weight.SAFEGUARD,
    "name": Weight.NAMING,
    "on_bootstrap": Weight.SAFEGUARD,
    "paused": Weight.SAFEGUARD,
    # How an output begins that is new, or reset: the plan that makes it so says what it sends.
    "send_snapshot": Weight.VALUE,
    "start_after": Weight.SAFEGUARD,
    "table": Weight.NAMING,
    "transport": Weight.MEANING,
    "view": Weight.NAMING,
}
"""By the names of connector.schema.json."""

OF_PIPELINES: Final[Mapping[str, Weight]] = {
    "apiVersion": Weight.NAMING,
    "kind": Weight.NAMING,
    "metadata.description": Weight.WORDS,
    "metadata.name": Weight.NAMING,
    "metadata.owner": Weight.WORDS,
    "metadata.tags": Weight.WORDS,
    "spec.bootstrap_policy": Weight.SAFEGUARD,
    "spec.connectors": Weight.NAMING,
    "spec.evolution": Weight.SAFEGUARD,
    "spec.functions.*.description": Weight.WORDS,
    "spec.functions.*.deterministic": Weight.MEANING,
    "spec.functions.*.on_error": Weight.MEANING,
    "spec.functions.*.requirements": Weight.MEANING,
    "spec.functions.*.version": Weight.VALUE,
    "spec.moved": Weight.NAMING,
    "spec.retention.checkpoints": Weight.SAFEGUARD,
    "spec.retention.keep": Weight.SAFEGUARD,
    "spec.retention.steps": Weight.SAFEGUARD,
    "spec.retention.versions": Weight.SAFEGUARD,
    "spec.runtime.checkpoint_interval": Weight.VALUE,
    "spec.runtime.driver_memory": Weight.WORDS,
    "spec.runtime.memory": Weight.WORDS,
    "spec.runtime.shuffle_partitions": Weight.VALUE,
    # Of Spark's own each by itself (`manifest.known_spark_settings`): what may decide results is a change of meaning.
    "spec.runtime.spark": Weight.MEANING,
    "spec.runtime.workers": Weight.WORDS,
    "spec.sql": Weight.NAMING,
    # A stream is a relation, as a view is; its settings are its definition.
    "spec.streams": Weight.MEANING,
    "spec.tables.*.columns.*.source": Weight.MEANING,
    "spec.tables.*.description": Weight.WORDS,
    "spec.tables.*.evolution": Weight.SAFEGUARD,
    "spec.tables.*.protect": Weight.SAFEGUARD,
    "spec.tables.*.retention.keep": Weight.SAFEGUARD,
    "spec.tables.*.retention.versions": Weight.SAFEGUARD,
    "spec.tables.*.used_by": Weight.SAFEGUARD,
    "spec.tables.*.version": Weight.VALUE,
    "spec.versions.reads": Weight.VALUE,
    "spec.views.*.description": Weight.WORDS,
    "spec.views.*.protect": Weight.SAFEGUARD,
    "spec.views.*.retention.keep": Weight.SAFEGUARD,
    "spec.views.*.retention.versions": Weight.SAFEGUARD,
    "spec.views.*.stored": Weight.MEANING,
    "spec.views.*.used_by": Weight.SAFEGUARD,
    "spec.views.*.version": Weight.VALUE,
    # A version that is kept up to date is a view of its own.
    "spec.views.*.versions.*.maintain": Weight.MEANING,
}
"""By the paths of pipeline.schema.json; a `*` stands for what an author names."""

BESIDE_THE_MEANING: Final = tuple(
    sorted({name for name, weight in OF_CONNECTORS.items() if weight is Weight.SAFEGUARD} | {"send_snapshot"})
)
"""Settings of connectors that are no part of a connector's fingerprint, and that an approval is of all the same."""


def in_force(settings: JsonObject, name: str) -> Any:
    """The value of a connector's setting as it counts: what is said, else the default; None: there is none."""
    if name == "on_bootstrap":
        return on_bootstrap(settings)
    default = schema(SCHEMA_FILE)["properties"].get(name, {}).get("default")
    value = settings.get(name, default)
    return [value] if name == "start_after" and isinstance(value, str) else value


def told_values(applied: JsonObject, desired: JsonObject, name: str) -> tuple[str, str] | tuple[None, None]:
    """Both values of a connector's setting in words; none where they are words for people, may be secret, or count alike."""
    if OF_CONNECTORS.get(name) not in (Weight.SAFEGUARD, Weight.VALUE):
        return None, None
    found = [_words(settings, name) for settings in (applied, desired)]
    if found[0] == found[1] or any(MASK in text for text in found):
        return None, None
    return found[0], found[1]


def _words(settings: JsonObject, name: str) -> str:
    value = in_force(settings, name)
    if value is None:
        return NOT_SET
    shown = shown_settings({"transport": settings.get("transport"), name: value})[name]
    match shown:
        case bool():
            return "true" if shown else "false"
        case list():
            return ", ".join(map(str, shown)) or NOT_SET
        case _:
            return str(shown)
