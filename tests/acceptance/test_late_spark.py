"""Spark writes that are under way when their driver is taken over: stopped between planning and commit, they don't land.

A frozen driver does not freeze its JVM, so its write may commit at any time; here one is held up by a slow function while
the fence is put up."""

import threading
import time
from pathlib import Path

import pytest

from reconciler.base.errors import EngineError
from reconciler.delta.opening import open_table
from reconciler.delta.restoring import put_back
from reconciler.delta.tables import create_table
from reconciler.engine.protocol import ColumnType, Engine, Statement, TableTarget, Transaction, Written
from reconciler.engine.sources import FunctionSource, PythonModule

pytestmark = pytest.mark.spark

COLUMNS = (ColumnType("id", "BIGINT", nullable=False), ColumnType("note", "STRING"))
SLOW = """\
import os
import time

def slowly(started, go_on):
    open(started, "w").close()
    for _ in range(600):
        if os.path.exists(go_on):
            return "written"
        time.sleep(0.1)
    raise TimeoutError("nobody let it go on")
"""


def statement(target: TableTarget, started: Path, go_on: Path) -> Statement:
    """An INSERT whose row is computed only when somebody lets it go on."""
    text = ColumnType("one", "STRING"), ColumnType("other", "STRING")
    slowly = FunctionSource("slowly", text, "STRING", PythonModule("slowly", {"slowly.py": SLOW}))
    return Statement(
        target,
        f"INSERT INTO t SELECT CAST(9 AS BIGINT), slowly('{started}', '{go_on}')",
        (),
        {},
        Transaction("reconcile/step/statement", 5),
        (slowly,),
    )


@pytest.mark.parametrize("key", [(), ("id",)], ids=["append", "merge"])
def test_a_write_that_is_under_way_when_it_is_fenced_off_does_not_land(
    key: tuple[str, ...], tmp_path: Path, spark_engine: Engine
) -> None:
    location = str(tmp_path / "t")
    target = TableTarget("t", location, COLUMNS, key)
    version = create_table(location, COLUMNS, Transaction("reconcile/apply", 0))
    late: list[EngineError | Written] = []
    started, go_on = tmp_path / "started", tmp_path / "go-on"

    def write() -> None:
        try:
            late.append(spark_engine.execute(statement(target, started, go_on)))
        except EngineError as error:
            late.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    deadline = time.monotonic() + 120
    while not started.exists() and time.monotonic() < deadline and writer.is_alive():
        time.sleep(0.05)
    assert started.exists(), late
    put_back(location, version, [Transaction("reconcile/step/statement", 5)])
    go_on.touch()
    writer.join(120)

    assert len(late) == 1
    assert isinstance(late[0], EngineError), late
    assert "concurrent" in late[0].message.lower()
    table = open_table(location)
    assert table is not None
    assert table.get_add_actions(flatten=True).num_rows == 0
    again = spark_engine.execute(statement(target, started, go_on))
    assert again.reused
    table = open_table(location)
    assert table is not None
    assert table.get_add_actions(flatten=True).num_rows == 0
