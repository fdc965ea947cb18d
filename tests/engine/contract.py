"""The contract of `engine.protocol` as tests; each engine's test module inherits them with its own `engine` and `storage`.

What needs a query evaluated is not here: only one of the engines does that. The names of `asking` are here, too, for those
who inherit.
"""

from tests.engine.asking import GRADES, Storage, change, ingest_files, json_files, names_below, write
from tests.engine.ingest_contract import IngestContract
from tests.engine.statement_contract import StatementContract

__all__ = ["GRADES", "EngineContract", "Storage", "change", "ingest_files", "json_files", "names_below", "write"]


class EngineContract(StatementContract, IngestContract):
    """Inherit, and give the fixtures `engine` and `storage`."""
