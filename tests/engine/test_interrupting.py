"""A query that takes too long ends when another thread interrupts the engine; the next one runs."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reconciler.base.errors import EngineError
from reconciler.delta.tables import create_table
from reconciler.engine.protocol import ColumnType, Engine, Selection, Statement, TableTarget, Transaction
from reconciler.engine.sources import StoredSource

_MANY = "(SELECT explode(sequence(1, 100000)) AS id FROM kept)"


def test_what_runs_fails_and_is_not_run_again(tmp_path: Path, spark_engine: Engine) -> None:
    table = TableTarget("kept", str(tmp_path / "kept"), (ColumnType("id", "BIGINT"),))
    create_table(table.location, table.columns, Transaction("create", 1))
    written = spark_engine.execute(Statement(table, "INSERT INTO kept VALUES (1)", (), {}, Transaction("t", 1)))
    sources = (StoredSource("kept", table.location, written.version),)
    long = Selection(f"SELECT sum(a.id % b.id) AS found FROM {_MANY} a CROSS JOIN {_MANY} b", sources, {})
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(spark_engine.select, long)
        until = time.monotonic() + 60
        while not asked.done():
            # Interrupted before it has begun, it is not interrupted.
            time.sleep(1)
            spark_engine.interrupt()
            assert time.monotonic() < until
        with pytest.raises(EngineError, match=r"(?i)cancel"):
            asked.result()
    assert list(spark_engine.select(Selection("SELECT id FROM kept", sources, {})).rows) == [(1,)]
