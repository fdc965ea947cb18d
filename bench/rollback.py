"""What a rollback of a large view costs whose rows are kept and current, against the bootstrap of the later version.

    bash bench/run rollback [--rows 5000000] [--runs 3]

One pipeline, one session: a view with one row a row of its table has two versions, and goes back and forth between them, by
`rollback` and `--end`. Wall time of each, whole (plan, lease, journal, switch), against that of the apply that bootstrapped
the second version. Checked, and an error otherwise: Spark ran no job for any of them, no file of rows was written, and what
stands at the permanent path has the version's columns and all rows. Target: at most a tenth of the bootstrap.

Medians and the ratio go to bench/results/rollback.json. A target that is missed is said, and is no error.
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

import click

from bench.plan import ROOT
from reconciler import Project, __version__
from reconciler.delta.tables import statistics, table_columns
from reconciler.engine.spark.engine import spark_engine

RESULTS: Final = ROOT / "bench" / "results" / "rollback.json"
_TARGET: Final = 0.1
_SQL: Final = """\
CREATE TABLE orders (id BIGINT, customer STRING, price DECIMAL(12,2));
CREATE MATERIALIZED VIEW {view} FROM orders;
"""
_FIRST: Final = "priced AS SELECT id, customer, price"
_SECOND: Final = "priced AS SELECT id, customer, CAST(price * 100 AS BIGINT) AS cents"
_MANIFEST: Final = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: sales}
spec: {bootstrap_policy: allow}
"""


@click.command()
@click.option("--rows", default=5_000_000, show_default=True, help="Rows of the table and the view.")
@click.option("--runs", default=3, show_default=True, help="Rollbacks, and as many ends of them.")
def main(rows: int, runs: int) -> None:
    """Bootstrap two versions, go back and forth; print seconds and the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        found = _measure(Path(folder), rows, runs)
    click.echo(f"rollback / bootstrap: {found['ratio']:.3f} (target: at most {_TARGET})")
    RESULTS.write_text(json.dumps({"reconciler": __version__, **found}, indent=2) + "\n", "utf-8")
    if found["ratio"] > _TARGET:
        click.echo("the target is missed")


def _measure(repository: Path, rows: int, runs: int) -> dict[str, float]:
    folder = repository / "pipelines" / "sales"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(_MANIFEST)
    (repository / "reconcile.yaml").write_text("default: bench\nenvironments: {bench: {warehouse: warehouse}}\n")
    view = str(repository / "warehouse" / "sales" / "priced")
    project = Project.open(repository, engine=spark_engine({}))
    (folder / "program.sql").write_text(_SQL.format(view=_FIRST))
    pipeline = project.pipeline("sales")
    pipeline.apply()
    values = "SELECT id, concat('c', id % 1000), CAST(id % 100000 / 100 AS DECIMAL(12,2))"
    insert = f"INSERT INTO orders {values} FROM range({rows})"
    _timed(f"insert {rows} rows and compute the view", lambda: pipeline.execute(insert))
    (folder / "program.sql").write_text(_SQL.format(view=_SECOND))
    bootstrap = _timed("apply: bootstrap of the second version", pipeline.apply)
    ran, written = _jobs(), _files(repository)
    back, forth = [], []
    for _ in range(runs):
        back.append(_timed("rollback", lambda: pipeline.rollback("priced")))
        _check(view, rows, "price")
        forth.append(_timed("end of it", lambda: pipeline.end_rollback("priced")))
        _check(view, rows, "cents")
    if _jobs() != ran:
        raise click.ClickException(f"Spark ran {_jobs() - ran} jobs")
    if _files(repository) != written:
        raise click.ClickException("files of rows were written")
    project.close()
    seconds = {"bootstrap": bootstrap, "rollback": median(back), "end": median(forth)}
    return {"rows": rows, "jobs": 0, **seconds, "ratio": max(median(back), median(forth)) / bootstrap}


def _check(location: str, rows: int, column: str) -> None:
    found, columns = statistics(location), [name for name, _ in table_columns(location)]
    if found is None or found.rows != rows or columns[-1] != column:
        raise click.ClickException(f"{location} holds {found} with columns {columns}")


def _jobs() -> int:
    from pyspark.sql import SparkSession

    tracker = SparkSession.builder.getOrCreate().sparkContext._jsc.sc().statusTracker()
    return max(tracker.getJobIdsForGroup(None), default=-1)


def _files(repository: Path) -> int:
    """How many files of rows there are; those of the registry are its own."""
    return sum(1 for _ in (repository / "warehouse" / "sales").rglob("part-*.parquet"))


def _timed(what: str, work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    seconds = time.monotonic() - started
    click.echo(f"{what}: {seconds:.2f} s")
    return seconds


if __name__ == "__main__":
    main()
