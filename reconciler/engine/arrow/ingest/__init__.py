"""Small ranges of inputs brought in without a job of Spark: read for sure, or not at all.

`ingest` gives None where a range is not surely read, fitted and written here as Spark would do it: another transport, format
or setting, a range or table that is large, a table with a feature that is not known, and above all a record or value that is
not plain (`values`, `json_records`, `csv_records`, `stored_values`). Then nothing was written, and Spark does it all. So
dead letters, refusals and their words are Spark's alone, and what is written here is what Spark would have written: rows,
counts, the transaction and what the commit says of itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError, RegistryError
from reconciler.engine.arrow.ingest import changes, delta_table, files, kafka
from reconciler.engine.arrow.ingest.incoming import Incoming
from reconciler.engine.arrow.ingest.target_table import writable
from reconciler.engine.arrow.ingest.values import NotSure
from reconciler.engine.fetching import Fetch, not_fetched
from reconciler.engine.fields import under_source_names
from reconciler.engine.http_ranges import MOST_REQUESTS, as_files
from reconciler.engine.protocol import Ingestion, Written
from reconciler.engine.secrets import resolved, revealed

_Read = Callable[[Ingestion, JsonObject, Fetch], Incoming | None]
"""None: no row changed, and nothing is written."""

_TRANSPORTS: Mapping[str, _Read] = {
    "delta_table_input": lambda ingestion, settings, fetch: delta_table.read(ingestion, settings),
    "file_input": lambda ingestion, settings, fetch: files.read(ingestion, settings),
    "http_input": lambda ingestion, settings, fetch: files.read(*as_files(ingestion, settings), most_files=MOST_REQUESTS),
    "kafka_input": kafka.read,
}


def ingest(ingestion: Ingestion, fetch: Fetch = not_fetched) -> Written | None:
    """Write one range of a connector to its table, once; None: Spark has to do it, and nothing was written."""
    read = _TRANSPORTS.get(str(ingestion.settings["transport"]["name"]))
    if read is None:
        return None
    import pyarrow

    try:
        settings = resolved(ingestion.settings)
        table = writable(ingestion)
        as_read = under_source_names(ingestion.target, settings)
        incoming = read(replace(ingestion, target=as_read, range=revealed(ingestion.range)), settings, fetch)
        if incoming is None:
            return Written(table.version, 0, without_spark=True)
        return changes.write(table, ingestion, incoming)
    except (NotSure, EngineError, RegistryError, pyarrow.ArrowException):
        # Where a commit got no answer it may stand; Spark looks for its transaction first.
        return None
