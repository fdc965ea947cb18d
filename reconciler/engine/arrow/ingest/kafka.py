"""Messages of a topic as rows, where there is no doubt what they say. Who fetches them is told by the caller: Kafka's Java
client, which Spark reads with as well (`engine.spark.ingest.kafka_values`).

A small range is taken, of JSON, with options of the client that Spark hands on as they are. Records are read partition by
partition; a message without a value is passed over where `engine.spark.ingest.kafka` passes it over, else it is no record.
"""

from typing import Final

from reconciler.base.digest import JsonObject
from reconciler.engine.arrow.ingest.incoming import Incoming, TableRows
from reconciler.engine.arrow.ingest.json_records import changes_of
from reconciler.engine.arrow.ingest.values import NotSure
from reconciler.engine.fetching import Fetch
from reconciler.engine.protocol import Ingestion

MOST_RECORDS: Final = 5_000
MOST_BYTES: Final = 1_000_000
_WITHOUT_DOT: Final = frozenset({"topic", "partitions", "start_from"})
_OPTIONS: Final = frozenset(
    {"bootstrap.servers", "security.protocol", "isolation.level", "request.timeout.ms", "default.api.timeout.ms"}
)
_FAMILIES: Final = ("sasl.", "ssl.")


def read(ingestion: Ingestion, settings: JsonObject, fetch: Fetch) -> Incoming:
    """The rows of the range's records. Raises NotSure."""
    config, format_ = settings["transport"]["config"], settings.get("format") or {}
    if not all(name in _WITHOUT_DOT | _OPTIONS or name.startswith(_FAMILIES) for name in config):
        raise NotSure("an option of the client")
    if format_.get("name") != "json" or not set(format_) <= {"name", "config"}:
        raise NotSure(format_)
    first, until = ingestion.range["from"], ingestion.range["until"]
    if not 0 < sum(int(until[one]) - int(first[one]) for one in first) <= MOST_RECORDS:
        raise NotSure("how many")
    known = {"update_format": "insert_delete", **(format_.get("config") or {})}
    values = fetch(ingestion.range, config, MOST_BYTES)
    if values is None:
        raise NotSure("not fetched")
    rows = TableRows(ingestion.target)
    passes_over = known["update_format"] == "debezium" and rows.has_key
    records = [value for value in values if value is not None]
    if len(records) < len(values) and not passes_over:
        raise NotSure("a message without a value")
    changes = tuple(changes_of(records, known, rows))
    return Incoming(changes, known["update_format"] != "raw", rows.unknown(), has_pairs=known["update_format"] == "debezium")
