"""A process of its own that does usual work once and has Java write the classes it loaded into archives, that of Spark's
launcher, too: `python -m reconciler.engine.spark.rehearsal ARCHIVE LAUNCHER_ARCHIVE FOLDER`.

The work goes through the engine, so that the archive holds what the engine uses: a table written and merged into, files
and a Delta table ingested, views with joins and aggregates built, a selection. Java writes the archive when it ends, so
this waits for that.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from reconciler.engine.protocol import ColumnType, Ingestion, Selection, Statement, TableTarget, Transaction, ViewBuild
from reconciler.engine.sources import InlineSource, StoredSource
from reconciler.engine.spark.engine import SparkEngine
from reconciler.engine.spark.installation import LAUNCHER_JAVA_OPTIONS, SMALL_WORK_JAVA_OPTIONS
from reconciler.engine.spark.locations import delta_reference
from reconciler.engine.spark.session import LAUNCHER_OPTIONS, start

_COLUMNS = (
    ColumnType("id", "BIGINT", False),
    ColumnType("name", "STRING"),
    ColumnType("price", "DECIMAL(15,2)"),
    ColumnType("day", "DATE"),
    ColumnType("at", "TIMESTAMP"),
)
_LONGEST_EXIT = 300


def main(archive: str, launcher_archive: str, folder: str) -> None:
    """Do the work and leave the archives."""
    os.environ[LAUNCHER_OPTIONS] = f"{LAUNCHER_JAVA_OPTIONS} -XX:ArchiveClassesAtExit={launcher_archive}"
    options = f'{SMALL_WORK_JAVA_OPTIONS} "-XX:ArchiveClassesAtExit={archive}"'
    session = start({"spark.master": "local[2]", "spark.driver.extraJavaOptions": options})
    work(SparkEngine(lambda: session), session, Path(folder))
    gateway: Any = SparkContext._gateway
    session.stop()
    gateway.proc.stdin.close()
    gateway.proc.wait(_LONGEST_EXIT)


def work(engine: SparkEngine, session: Any, folder: Path) -> None:
    """The usual work."""
    folder.mkdir(parents=True)
    plain = TableTarget("plain", str(folder / "plain"), _COLUMNS)
    keyed = TableTarget("keyed", str(folder / "keyed"), _COLUMNS, ("id",))
    for target in (plain, keyed):
        columns = ", ".join(f"{column.name} {column.type}" for column in _COLUMNS)
        session.sql(f"CREATE TABLE {delta_reference(target.location)} ({columns}) USING delta")
    for number, target in enumerate((plain, keyed, keyed)):
        rows = "(1, 'a', 1.5, '2025-01-01', '2025-01-01 10:00:00'), (2, 'b', 2.5, '2025-01-02', NULL)"
        change = Statement(target, f"INSERT INTO {target.name} VALUES {rows}", (), {}, Transaction("insert", number))
        engine.execute(change)
    record = {"id": 3, "name": "c", "price": 3.5, "day": "2025-01-03"}
    (folder / "in.json").write_text(json.dumps(record) + "\n", "utf-8")
    (folder / "in.csv").write_text("id,name\n4,d\n", "utf-8")
    for number, kind in enumerate(("json", "csv")):
        settings = {
            "transport": {"name": "file_input", "config": {"path": str(folder / f"in.{kind}")}},
            "format": {"name": kind},
        }
        _ingest(engine, keyed if number else plain, kind, settings)
    snapshot = {"transport": {"name": "delta_table_input", "config": {"uri": plain.location}}}
    _ingest(engine, keyed, "snapshot", snapshot)
    engine.execute(Statement(plain, "DELETE FROM plain WHERE id = 2", (), {}, Transaction("delete", 1)))
    sources = (
        StoredSource("plain", plain.location, 3),
        StoredSource("keyed", keyed.location, 2),
        InlineSource("days", "SELECT day, count(DISTINCT name) AS names FROM keyed GROUP BY day"),
    )
    query = """SELECT k.name, d.names, sum(p.price) AS total, avg(k.price) AS mean, max(k.at) AS latest
        FROM plain p JOIN keyed k ON p.id = k.id LEFT JOIN days d ON d.day = k.day
        WHERE k.day BETWEEN DATE '2024-01-01' AND DATE '2026-01-01' GROUP BY k.name, d.names"""
    engine.build_view(ViewBuild("view", query, (), sources, str(folder / "view" / "v-1"), {}))
    ranked = "SELECT name, row_number() OVER (PARTITION BY name ORDER BY total DESC) AS place FROM view ORDER BY name"
    engine.select(Selection(ranked, (StoredSource("view", str(folder / "view" / "v-1"), 0),), {}))


def _ingest(engine: SparkEngine, target: TableTarget, name: str, settings: dict[str, Any]) -> None:
    available = engine.discover(name, settings, None)
    if available is not None:
        engine.ingest(Ingestion(target, name, settings, available.range, Transaction(name, 1)))


if __name__ == "__main__":
    main(*sys.argv[1:])
