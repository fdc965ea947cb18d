"""What commands cost on a warm server beside the same work in a warm session of Spark, and beside a Spark of their own.

    python -m bench.serving [--runs 9]

The pipeline of `bench.steps` (two inputs, two views, one Delta output) with the rows of a few steps, idle. `serve`
keeps a Spark; commands are whole processes, from start to exit. The bare work is done in a session of this process, of
the same settings, over a copy of the tables. All take turns, after a few rounds that do not count.

| measured | against |
|---|---|
| `query` of a small view | a query of that table, collected, times 1.2, and 0.3 s |
| `execute` of one row, then `query` | an append of it, the queries of both views collected, and that query |
| `query` with a Spark of its own | `query` on the server |

Results stand in bench/results/serving.json as well. A target that is missed is said, and is no error.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

import click
from pyspark.sql import SparkSession

from bench.plan import ROOT, Ratio
from bench.small_steps import tell
from bench.steps import write_applied
from reconciler.engine.spark.session import start, stop

RESULTS: Final = ROOT / "bench" / "results" / "serving.json"
_SQL: Final = "SELECT * FROM by_page"
_VIEWS: Final = (
    "SELECT c.name, v.page, v.seconds FROM visits v JOIN customers c ON c.id = v.customer",
    "SELECT page, COUNT(*) AS visits, SUM(seconds) AS seconds FROM visits GROUP BY page",
)
_WARM: Final = 5
_COLD: Final = 3


@click.command()
@click.option("--runs", default=9, show_default=True, help="How many times each is measured.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(runs: int, results: Path) -> None:
    """Take all of them in turns, show the ratios, write them as JSON."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        write_applied(root)
        _reconcile(root, "serve", "--background")
        session = start()
        try:
            seconds = _in_turns(root, session, runs)
        finally:
            stop(session)
            _reconcile(root, "serve", "--stop")
    ratios = [
        Ratio("query / (1.2 of the bare query and 0.3 s)", seconds["query"] / (1.2 * seconds["bare query"] + 0.3), 1),
        Ratio("execute and query / bare operations", seconds["execute and query"] / seconds["bare execute and query"], 1),
        Ratio("query on the server / with a Spark of its own", seconds["query"] / seconds["query alone"], 0.25),
    ]
    told = {name: round(value, 3) for name, value in seconds.items()}
    click.echo(str(told))
    tell(results, ratios, {"runs": runs}, {"seconds": told})


def _in_turns(root: Path, session: SparkSession, runs: int) -> dict[str, float]:
    def read(name: str) -> None:
        session.read.format("delta").load(f"{root}/bare/{name}").createOrReplaceTempView(name)

    def query() -> None:
        read("by_page")
        session.sql(_SQL).collect()

    def execute_and_query() -> None:
        row = session.sql("SELECT 1L AS customer, '/1' AS page, 5 AS seconds")
        row.write.format("delta").mode("append").save(f"{root}/bare/visits")
        for name in ("visits", "customers"):
            read(name)
        for view in _VIEWS:
            session.sql(view).collect()
        query()

    def served_execute_and_query() -> None:
        _reconcile(root, "execute", "site", "INSERT INTO visits VALUES (1, '/1', 5)")
        _reconcile(root, "query", "site", _SQL)

    measured: dict[str, Callable[[], object]] = {
        "bare query": query,
        "query": lambda: _reconcile(root, "query", "site", _SQL),
        "bare execute and query": execute_and_query,
        "execute and query": served_execute_and_query,
    }
    found: dict[str, list[float]] = {name: [] for name in measured}
    for run in range(-_WARM, runs):
        for name, act in measured.items():
            taken = _seconds(act)
            if run >= 0:
                found[name].append(taken)
    alone = [_seconds(lambda: _reconcile(root, "query", "site", _SQL, alone=True)) for _ in range(_COLD)]
    return {**{name: median(taken) for name, taken in found.items()}, "query alone": median(alone)}


def _seconds(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _reconcile(root: Path, *words: str, alone: bool = False) -> None:
    environment = {"RECONCILE_OWN_SPARK": "1"} if alone else {}
    command = ["env", *(f"{name}={text}" for name, text in environment.items())]
    subprocess.run(
        [*command, str(Path(sys.executable).with_name("reconcile")), *words], cwd=root, check=True, stdout=subprocess.DEVNULL
    )


if __name__ == "__main__":
    main()
