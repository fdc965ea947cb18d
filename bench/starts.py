"""What a start costs: commands that start Spark against a bare script that does the same work, and a run's first step.

    python -m bench.starts [--runs 5]

Whole processes, from start to exit, in turns, on the pipeline of `bench.steps` (two inputs, two views, one Delta output)
with the rows of a few steps. The bare scripts start a session with the same settings, jars and class-data archive as ours.

| measured | against |
|---|---|
| `query` of a small view | a session that opens the same table and collects it |
| `execute` of one row | a session that appends it, computes both views and writes them |
| the first step of a live run | the median of its next ones |

Results stand in bench/results/starts.json as well. A target that is missed is said, and is no error.
"""

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import click

from bench.measure import Cost, measure
from bench.plan import ROOT, Ratio
from bench.small_steps import Steps, tell
from bench.steps import write_applied, write_pipeline, write_step
from reconciler import Project

RESULTS: Final = ROOT / "bench" / "results" / "starts.json"
_SQL: Final = "SELECT * FROM by_page"
_ROW: Final = "INSERT INTO visits VALUES (1, '/1', 5)"
_WARM: Final = 4
_SESSION: Final = """\
import sys
from pyspark.sql import SparkSession
from reconciler.engine.spark.session import start, stop
session = start()
place = sys.argv[1]
def read(name):
    return session.read.format("delta").load(place + "/" + name)
"""
_COLLECT: Final = """\
read("by_page").createOrReplaceTempView("by_page")
print(session.sql("SELECT * FROM by_page").collect())
stop(session)
"""
_WRITE: Final = """\
row = session.sql("SELECT 1L AS customer, '/1' AS page, 5 AS seconds")
row.write.format("delta").mode("append").save(place + "/visits")
for name in ("visits", "customers"):
    read(name).createOrReplaceTempView(name)
views = {
    "named": "SELECT c.name, v.page, v.seconds FROM visits v JOIN customers c ON c.id = v.customer",
    "by_page": "SELECT page, COUNT(*) AS visits, SUM(seconds) AS seconds FROM visits GROUP BY page",
}
for name, query in views.items():
    session.sql(query).write.format("delta").mode("overwrite").save(place + "/bare_" + name)
stop(session)
"""


@click.command()
@click.option("--runs", default=5, show_default=True, help="How many times each is started.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(runs: int, results: Path) -> None:
    """Start all of them in turns, show the ratios, write them as JSON."""
    with tempfile.TemporaryDirectory() as scratch:
        commands, ratios = _commands(Path(scratch) / "commands", runs)
        steps, more = _first_steps(Path(scratch) / "steps", runs)
    tell(results, [*ratios, *more], {"runs": runs}, {"commands": commands, "first_steps": steps})


def _commands(root: Path, runs: int) -> tuple[dict[str, Any], list[Ratio]]:
    # The bare scripts write into tables of their own.
    reconcile, bare = [str(Path(sys.executable).with_name("reconcile"))], str(write_applied(root))
    measured = {
        "query": [*reconcile, "query", "site", _SQL],
        "bare query": [sys.executable, "-c", _SESSION + _COLLECT, bare],
        "execute": [*reconcile, "execute", "site", _ROW],
        "bare execute": [sys.executable, "-c", _SESSION + _WRITE, bare],
    }
    costs: dict[str, list[Cost]] = {name: [] for name in measured}
    # The first of each fills the machine's caches and compiles the modules, and does not count.
    for run in range(runs + 1):
        for name, command in measured.items():
            cost = measure(command, root, {}).cost
            if run:
                costs[name].append(cost)
    walls = {name: median(cost.wall for cost in found) for name, found in costs.items()}
    told = {name: round(wall, 2) for name, wall in walls.items()}
    click.echo(json.dumps(told))
    return told, [
        Ratio("query of a small view / bare session", walls["query"] / walls["bare query"], 1.15),
        Ratio("execute of one row / bare session", walls["execute"] / walls["bare execute"], 1.3),
    ]


def _first_steps(root: Path, runs: int) -> tuple[dict[str, Any], list[Ratio]]:
    write_pipeline(root)
    with Project.open(root) as project:
        project.pipeline("site").apply()
    firsts, nexts, number = [], [], 0
    for _ in range(runs):
        number += 1
        write_step(root, number)
        steps = Steps(root, "site", has_output=True)
        try:
            steps.after(lambda: None)
            firsts.append(steps.seconds)
            # The first ones after it warm up still.
            for waited in range(2 * _WARM):
                number += 1
                steps.after(partial(write_step, root, number))
                if waited >= _WARM:
                    nexts.append(steps.seconds)
        finally:
            steps.close()
    told = {"first": round(median(firsts), 2), "warm": round(median(nexts), 2)}
    click.echo(json.dumps(told))
    return told, [Ratio("the first step of a run / a warm one", median(firsts) / median(nexts), 3)]


if __name__ == "__main__":
    main()
