"""What a step costs that updates a hundred rows here and there of a table with a key.

    python -m bench.scattered [--rows 100000] [--rows 1000000] [--updates 100] [--steps 5]

The table is customers by id; its views: how many each city has, with the sum of their points; the customers that have
many; and the greatest number of points of each day. Updates are rows with random ids: they lie in all files of the table,
which are written anew.

One pipeline of each size, one warm Spark, steps of all sizes in turns. CPU is that of Python and Java, from a step's intent
to its end; medians of the steps after the first three. Beside it stands what the same steps cost where views are computed
from their queries. After the last step each view holds what its query gives, or there are no figures.

Results stand in bench/results/scattered.json.
"""

import json
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

import click
import pyarrow as pa
import pyarrow.parquet as pq

from bench.incremental import Cpu, recomputed
from bench.plan import ROOT
from reconciler.engine.protocol import Engine
from reconciler.engine.spark.engine import spark_engine
from reconciler.environment.session import Session
from reconciler.environment.target import open_target
from reconciler.incremental.choice import Choice
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.service.project import Project

RESULTS: Final = ROOT / "bench" / "results" / "scattered.json"
_WARM: Final = 3
_CITIES: Final = 500
VIEWS: Final = {
    "by_city": "SELECT city, COUNT(*) AS n, SUM(points) AS points FROM customers GROUP BY city",
    "rich": "SELECT id, name, points FROM customers WHERE points > 9000",
    "by_day": "SELECT day, COUNT(*) AS n, MAX(points) AS points FROM customers GROUP BY day",
}
_PROGRAM: Final = "\n".join(
    [
        "CREATE TABLE customers (id BIGINT NOT NULL PRIMARY KEY, city STRING, points BIGINT, name STRING, day DATE);",
        *(f"CREATE MATERIALIZED VIEW {name} AS {query};" for name, query in VIEWS.items()),
    ]
)
_PIPELINE: Final = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: scattered}
spec:
  bootstrap_policy: allow
  connectors:
    - name: history
      table: customers
      transport: {name: file_input, config: {path: history}}
      format: {name: parquet}
    - name: live
      table: customers
      transport: {name: file_input, config: {path: live}}
      format: {name: json, config: {update_format: insert_delete}}
"""


class Customers:
    """A pipeline with so many customers."""

    def __init__(self, root: Path, engine: Engine, rows: int) -> None:
        self._root, self._engine, self._rows = root, engine, rows
        self._random = Random(rows)
        self._number = 0
        for folder in ("history", "live", "pipelines/scattered"):
            (root / folder).mkdir(parents=True)
        (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
        (root / "pipelines/scattered/pipeline.yaml").write_text(_PIPELINE)
        (root / "pipelines/scattered/program.sql").write_text(_PROGRAM)
        columns = [list(one) for one in zip(*(self._row(number) for number in range(rows)), strict=True)]
        kinds = (pa.int64(), pa.string(), pa.int64(), pa.string(), pa.date32())
        arrays = [pa.array(one, kind) for one, kind in zip(columns, kinds, strict=True)]
        pq.write_table(pa.table(arrays, ["id", "city", "points", "name", "day"]), root / "history/0.parquet")
        self._project.pipeline("scattered").apply()
        self._step(Choice())

    def update(self, rows: int, choice: Choice) -> float:
        """Update so many, in a step: its CPU seconds."""
        self._number += 1
        found = (self._row(number) for number in self._random.sample(range(self._rows), rows))
        records = (
            {"insert": {"id": number, "city": city, "points": points, "name": name, "day": f"2020-01-{1 + day % 28:02}"}}
            for number, city, points, name, day in found
        )
        (self._root / f"live/{self._number:03}.json").write_text("".join(json.dumps(one) + "\n" for one in records))
        return self._step(choice)

    def require_equal(self) -> None:
        """Each view holds what its query gives."""
        pipeline = self._project.pipeline("scattered")
        for name, query in VIEWS.items():
            held, asked = (Counter(map(repr, pipeline.query(one))) for one in (f"SELECT * FROM {name}", query))
            if held != asked:
                raise click.ClickException(f"{name} does not hold what its query gives")

    @property
    def _project(self) -> Project:
        return Project.open(self._root, engine=self._engine)

    def _row(self, number: int) -> tuple[int, str, int, str, int]:
        chance = self._random.random
        return number, f"city {int(chance() * _CITIES)}", int(chance() * 10_000), f"customer {number}", int(chance() * 1_000)

    def _step(self, choice: Choice) -> float:
        cpu = Cpu(by_view=False)
        session = Session(self._engine, boundary=cpu.reached, choice=choice)
        run_pipeline(open_target(self._root, None), "scattered", session, Pace(once=True))
        return cpu.step


@click.command()
@click.option("--rows", default=[100_000, 1_000_000], multiple=True, show_default=True, help="Customers.")
@click.option("--updates", default=100, show_default=True, help="Rows that a step updates.")
@click.option("--steps", default=5, show_default=True, help="How many steps are measured.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(rows: tuple[int, ...], updates: int, steps: int, results: Path) -> None:
    """Run all sizes in turns, show CPU, write it as JSON."""
    ways = {"changes": Choice(), "queries": Choice(few_rows=0, way=recomputed)}
    engine = spark_engine()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            pipelines = {many: Customers(Path(scratch) / str(many), engine, many) for many in rows}
            told: dict[str, dict[str, float]] = {str(many): {} for many in rows}
            for name, choice in ways.items():
                taken = [
                    {many: one.update(updates, choice) for many, one in pipelines.items()} for _ in range(_WARM + steps)
                ]
                for many, one in pipelines.items():
                    one.require_equal()
                    told[str(many)][name] = round(median(step[many] for step in taken[_WARM:]), 3)
    finally:
        engine.close()
    for many_rows, figures in told.items():
        click.echo(f"{int(many_rows):,} rows: {json.dumps(figures)}")
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps({"updates": updates, "rows": told}, indent=2) + "\n")


if __name__ == "__main__":
    main()
