"""What a step costs where views follow what changed, beside computing them from their queries: CPU by view, at two sizes.

    python -m bench.incremental [--scale 0.05] [--scale 0.5] [--steps 3] [--change 0.001] [--views shipped,by_order]

TPC-H's lineitem, orders and customer, with views like Q1, Q6 and Q3, orders by segment of customers (a join with a table
that does not change), the largest price, the number of different days, and the price in the middle of three groups (it
costs the same either way). Two have no aggregate: all orders with their lineitems, and the lineitems with a discount. In
two, what changed is computed anew: an average of doubles and a percentile of each order, and its lineitem that was shipped
last.

Each step brings so many new orders (`--change`, of those that are there) with their lineitems, and takes those of the step
before.

Two copies of the pipeline take the same steps in turns, in one process on one warm Spark: in one, views are computed from
their queries. CPU is that of Python and Java between the boundaries of a view; medians of the steps after the first two.
After the last step both copies hold the same rows, or there are no figures.

Results stand in bench/results/incremental.json.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, Final

import click
import pyarrow as pa
import pyarrow.parquet as pq

from bench.cpu import cpu_seconds
from bench.plan import ROOT
from reconciler.engine.protocol import Engine
from reconciler.engine.spark.engine import spark_engine
from reconciler.environment.session import Session
from reconciler.environment.target import open_target
from reconciler.incremental.choice import Choice, Sizes
from reconciler.incremental.model import KeptAggregate, LinearRows, Way
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.service.project import Project

RESULTS: Final = ROOT / "bench" / "results" / "incremental.json"
_LINEITEM: Final = {
    "l_orderkey": "BIGINT",
    "l_linenumber": "INT",
    "l_quantity": "DECIMAL(15,2)",
    "l_extendedprice": "DECIMAL(15,2)",
    "l_discount": "DECIMAL(15,2)",
    "l_tax": "DECIMAL(15,2)",
    "l_returnflag": "STRING",
    "l_linestatus": "STRING",
    "l_shipdate": "DATE",
}
_ORDERS: Final = {"o_orderkey": "BIGINT", "o_custkey": "BIGINT", "o_orderdate": "DATE", "o_shippriority": "INT"}
_CUSTOMER: Final = {"c_custkey": "BIGINT", "c_mktsegment": "STRING"}
_TABLES: Final = {"lineitem": _LINEITEM, "orders": _ORDERS, "customer": _CUSTOMER}
VIEWS: Final = {
    "q1": """\
SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price,
  SUM(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
  SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, AVG(l_quantity) AS avg_qty,
  AVG(l_extendedprice) AS avg_price, AVG(l_discount) AS avg_disc, COUNT(*) AS count_order
FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL 90 DAY GROUP BY l_returnflag, l_linestatus""",
    "q6": """\
SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem
WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
  AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
    "q3": """\
SELECT l_orderkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
FROM customer, orders, lineitem
WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
  AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate, l_orderkey LIMIT 10""",
    "segments": """\
SELECT c_mktsegment, YEAR(o_orderdate) AS year, COUNT(*) AS orders FROM orders JOIN customer ON c_custkey = o_custkey
GROUP BY c_mktsegment, YEAR(o_orderdate)""",
    "largest": "SELECT l_returnflag, MAX(l_extendedprice) AS price FROM lineitem GROUP BY l_returnflag",
    "shipped": """\
SELECT o_orderkey, o_orderdate, l_linenumber, l_shipdate, l_extendedprice * (1 - l_discount) AS price
FROM orders JOIN lineitem ON l_orderkey = o_orderkey WHERE l_shipdate > o_orderdate""",
    "discounted": "SELECT l_orderkey, l_linenumber, l_shipdate, l_discount FROM lineitem WHERE l_discount > 0.08",
    "by_order": """\
SELECT l_orderkey, AVG(CAST(l_quantity AS DOUBLE)) AS mean, percentile(l_extendedprice, 0.5) AS middle
FROM lineitem GROUP BY l_orderkey""",
    "latest": """\
SELECT * EXCEPT (place) FROM (
  SELECT *, row_number() OVER (PARTITION BY l_orderkey ORDER BY l_shipdate DESC, l_linenumber) AS place FROM lineitem)
WHERE place = 1""",
    "days": "SELECT l_returnflag, COUNT(DISTINCT l_shipdate) AS days FROM lineitem GROUP BY l_returnflag",
    "middle": "SELECT l_returnflag, percentile(l_extendedprice, 0.5) AS price FROM lineitem GROUP BY l_returnflag",
}
_PIPELINE: Final = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: tpch}
spec:
  bootstrap_policy: allow
  connectors:
"""
_HISTORY: Final = """\
    - name: history
      table: {table}
      transport: {{name: file_input, config: {{path: {path}}}}}
      format: {{name: parquet}}
    - name: live
      table: {table}
      transport: {{name: file_input, config: {{path: live/{table}}}}}
      format: {{name: json, config: {{update_format: insert_delete}}}}
"""


class Cpu:
    """Told of each boundary: the CPU seconds of each view of a step, in their order, and of the step until now. To ask for
    them takes some milliseconds, so `by_view` says whether it is done for each view."""

    def __init__(self, *, by_view: bool = True) -> None:
        self.views: list[float] = []
        self._by_view = by_view
        self._began = 0.0
        self._step_began = 0.0

    @property
    def step(self) -> float:
        return cpu_seconds() - self._step_began

    def reached(self, name: str) -> None:
        match name:
            case "intent:before":
                self.views = []
                self._step_began = cpu_seconds()
            case "view:before" if self._by_view:
                self._began = cpu_seconds()
            case "view:intended" if self._by_view:
                # Of a view that has the rows already nothing is published.
                self.views.append(cpu_seconds() - self._began)
            case "view:effected" if self._by_view:
                self.views[-1] = cpu_seconds() - self._began


def recomputed(method: KeptAggregate | LinearRows, sizes: Sizes) -> Way:
    """From its query, whatever it costs."""
    return Way.RECOMPUTED


@click.command()
@click.option("--scale", default=[0.05, 0.5], multiple=True, show_default=True, help="Of TPC-H: 6,000,000 lineitems at 1.")
@click.option("--steps", default=3, show_default=True, help="How many steps are measured.")
@click.option("--change", default=0.001, show_default=True, help="The share of the orders that a step brings.")
@click.option("--views", default=",".join(sorted(VIEWS)), help="Which of the views; all.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(scale: tuple[float, ...], steps: int, change: float, views: str, results: Path) -> None:
    """Run each, show CPU by view, write it as JSON."""
    found: dict[str, Any] = {}
    engine = spark_engine()
    try:
        for one in scale:
            with tempfile.TemporaryDirectory() as scratch:
                found[str(one)] = _measured(Path(scratch), engine, one, steps, change, sorted(views.split(",")))
            click.echo(f"scale {one}: {json.dumps(found[str(one)])}")
    finally:
        engine.close()
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps(found, indent=2) + "\n")


def _measured(root: Path, engine: Engine, scale: float, steps: int, change: float, views: list[str]) -> dict[str, Any]:
    data = root / "data"
    history = write_history(data, scale, _TABLES)
    ways = {"from queries": Choice(way=recomputed), "by changes": Choice()}
    for name in ways:
        write_pipeline(root / name, data, _TABLES, {view: VIEWS[view] for view in views})
        Project.open(root / name, engine=engine).pipeline("tpch").apply()
        _run(root / name, engine, ways[name], Cpu())
    taken: dict[str, list[list[float]]] = {name: [] for name in ways}
    many = max(1, round(history["orders"].num_rows * change))
    for number, files in zip(range(steps + 2), changes_of_orders(history, many), strict=False):
        for name, choice in ways.items():
            for table, text in files.items():
                (root / name / f"live/{table}/{number:03}.json").write_text(text)
            cpu = Cpu()
            _run(root / name, engine, choice, cpu)
            if len(cpu.views) != len(views):
                raise click.ClickException(f"the last step computed {len(cpu.views)} views, not {len(views)}")
            if number >= 2:
                taken[name].append(cpu.views)
    held = [_rows(root / name, engine, views) for name in ways]
    if held[0] != held[1]:
        raise click.ClickException("the two copies hold other rows")
    return {
        name: {view: round(median(one[place] for one in all_), 2) for place, view in enumerate(views)}
        for name, all_ in taken.items()
    }


def _rows(root: Path, engine: Engine, views: list[str]) -> dict[str, list[str]]:
    """What the views hold."""
    pipeline = Project.open(root, engine=engine).pipeline("tpch")
    return {view: sorted(map(repr, pipeline.query(f"SELECT * FROM {view}"))) for view in views}


def _run(root: Path, engine: Engine, choice: Choice, cpu: Cpu) -> None:
    session = Session(engine, boundary=cpu.reached, choice=choice)
    run_pipeline(open_target(root, None), "tpch", session, Pace(once=True))


def write_history(data: Path, scale: float, tables: Mapping[str, Mapping[str, str]]) -> dict[str, pa.Table]:
    """Tables of TPC-H at a scale, with these columns: each a file in a folder of its own; changes are made of them."""
    command = [str(Path(sys.executable).parent / "tpchgen-cli"), "parquet", "-s", str(scale), f"--output-dir={data}"]
    subprocess.run([*command, f"--tables={','.join(tables)}"], check=True, stdout=subprocess.DEVNULL)
    found = {}
    for table, columns in tables.items():
        rows = pq.read_table(data / f"{table}.parquet", columns=[*columns])
        fields = [(one.name, pa.string() if one.type == pa.string_view() else one.type) for one in rows.schema]
        rows = rows.cast(pa.schema(fields))
        (data / table).mkdir()
        pq.write_table(rows, data / table / "0.parquet")
        found[table] = rows
    return found


def write_pipeline(
    root: Path,
    data: Path,
    tables: Mapping[str, Mapping[str, str]],
    views: Mapping[str, str],
    keys: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """A project with one pipeline, `tpch`: these tables, with a history and changes to come, and these views. `keys`
    are those of tables, as texts."""
    folder = root / "pipelines" / "tpch"
    folder.mkdir(parents=True)
    made = []
    for table, columns in tables.items():
        parts = [f"{name} {kind}" for name, kind in columns.items()]
        made.append(f"CREATE TABLE {table} ({', '.join(parts + [f'PRIMARY KEY ({keys[table]})'] * (table in keys))});")
    made += [f"CREATE MATERIALIZED VIEW {name} AS\n{query};" for name, query in views.items()]
    (folder / "program.sql").write_text("\n".join(made))
    connectors = [_HISTORY.format(table=table, path=os.path.relpath(data / table, root)) for table in tables]
    (folder / "pipeline.yaml").write_text(_PIPELINE + "".join(connectors))
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: warehouse}\n")
    for table in tables:
        (root / "live" / table).mkdir(parents=True)


def changes_of_orders(history: Mapping[str, pa.Table], many: int) -> Iterator[dict[str, str]]:
    """For each step, records of orders and lineitems: so many new orders, and those of the step before, which go."""
    orders, lineitem = history["orders"], history["lineitem"]
    before: dict[str, list[dict[str, Any]]] = {"orders": [], "lineitem": []}
    number = 0
    while True:
        some = orders.slice(number * many % (orders.num_rows - many), many).to_pylist()
        keys = {one["o_orderkey"]: 10_000_000_000 + number * many + at for at, one in enumerate(some)}
        mask = pa.compute.is_in(lineitem["l_orderkey"], pa.array(keys, pa.int64()))
        items = lineitem.filter(mask).to_pylist()
        now = {
            "orders": [{**one, "o_orderkey": keys[one["o_orderkey"]]} for one in some],
            "lineitem": [{**one, "l_orderkey": keys[one["l_orderkey"]]} for one in items],
        }
        yield {
            table: "".join(
                json.dumps({what: row}, default=str) + "\n"
                for what, rows in (("insert", now[table]), ("delete", before[table]))
                for row in rows
            )
            for table in now
        }
        before, number = now, number + 1


if __name__ == "__main__":
    main()
