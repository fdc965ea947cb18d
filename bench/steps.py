"""Whether a pipeline that runs for long stays as it was: memory and the time of a step, over many steps of one run.

    python -m bench.steps [--steps 500] [--warm 200]

A pipeline with two inputs (files of rows without key, files of changes by key), a join, an aggregate and an output into a
Delta table. Each step finds one new file for each input. Memory is what Java's heap holds after a collection, and what the
Python process has resident. Both are told six times: once everything is warm, which takes some steps, and after each fifth
of the steps that follow. What is compared are the medians of the first three times and of the last three: a heap after a
collection has now a tenth more and now a tenth less. The median seconds of a step are told along the way.

Results stand in bench/results/steps.json as well. A target that is missed is said, and is no error.
"""

import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any, Final

import click
from pyspark.sql import SparkSession

from bench.plan import ROOT, Ratio
from reconciler import Project
from reconciler.base.long_lives import load_deltalake, look_for_circles
from reconciler.engine.by_size import EngineBySize
from reconciler.engine.protocol import Engine
from reconciler.engine.spark.engine import SparkEngine
from reconciler.engine.spark.session import start

RESULTS: Final = ROOT / "bench" / "results" / "steps.json"
_POINTS: Final = 5
PROGRAM: Final = """\
CREATE TABLE visits (customer BIGINT, page VARCHAR, seconds INT);
CREATE TABLE customers (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR, plan VARCHAR);
CREATE MATERIALIZED VIEW named AS SELECT c.name, v.page, v.seconds FROM visits v JOIN customers c ON c.id = v.customer;
CREATE MATERIALIZED VIEW by_page AS SELECT page, COUNT(*) AS visits, SUM(seconds) AS seconds FROM visits GROUP BY page;
"""
_PIPELINE: Final = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: site}
spec:
  bootstrap_policy: allow
  connectors:
"""
_CONNECTORS: Final = {
    "log": (
        "- {name: log, table: visits, transport: {name: file_input, config: {path: source/visits}}, format: {name: json}}",
    ),
    "changes": (
        "- name: changes",
        "  table: customers",
        "  transport: {name: file_input, config: {path: source/customers}}",
        "  format: {name: json, config: {update_format: insert_delete}}",
    ),
    "lake": ("- {name: lake, view: by_page, transport: {name: delta_table_output, config: {uri: lake/by_page}}}",),
}


@click.command()
@click.option("--steps", default=500, show_default=True, help="How many steps, at least 10.")
@click.option("--warm", default=200, show_default=True, help="How many steps come before these, at least 1.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(steps: int, warm: int, results: Path) -> None:
    """Run, show memory and seconds along the way, write them as JSON."""
    # As a live run has it.
    look_for_circles()
    load_deltalake()
    session = start({"spark.sql.shuffle.partitions": "2"}, lives_long=True)
    engine = EngineBySize(SparkEngine(lambda: session), dict)
    points: list[dict[str, float]] = []
    try:
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch)
            project = _applied(root, engine)
            seconds: list[float] = []
            for number in range(1, warm + steps + 1):
                write_step(root, number)
                began = time.monotonic()
                found = project.pipeline("site").run_once().step_count
                seconds.append(time.monotonic() - began)
                if found != 1:
                    raise click.ClickException(f"the run took {found} steps for the files of number {number}, not one")
                if number >= warm and (number - warm) % (steps // _POINTS) == 0:
                    points.append({"steps": number - warm, **_memory(session), "step_seconds": median(seconds)})
                    click.echo("  ".join(f"{name} {value:,.1f}" for name, value in points[-1].items()))
                    seconds.clear()
            by_page = list(project.pipeline("site").query("SELECT SUM(visits) AS visits FROM by_page"))
            if by_page != [{"visits": 20 * (warm + steps)}]:
                raise click.ClickException(f"the view holds {by_page}, not {20 * (warm + steps)} visits")
    finally:
        engine.close()
    ratios = [
        Ratio("Java's heap: last three points / first three", _grown(points, "heap_mib"), 1.1),
        Ratio("Python's memory: last three points / first three", _grown(points, "python_mib"), 1.1),
    ]
    for ratio in ratios:
        click.echo(f"{ratio.name:<50}{ratio.value:>8.2f}  at most {ratio.target:g}: {'met' if ratio.is_met else 'MISSED'}")
    document = {
        "steps": steps,
        "warm": warm,
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "points": [{name: round(value, 2) for name, value in point.items()} for point in points],
        "ratios": [{**asdict(one), "value": round(one.value, 3), "met": one.is_met} for one in ratios],
    }
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps(document, indent=2) + "\n")


def _grown(points: Sequence[Mapping[str, float]], what: str) -> float:
    return median(point[what] for point in points[-3:]) / median(point[what] for point in points[:3])


def _applied(root: Path, engine: Engine) -> Project:
    write_pipeline(root)
    project = Project.open(root, engine=engine)
    project.pipeline("site").apply()
    return project


def write_pipeline(root: Path, program: str = PROGRAM, connectors: Collection[str] = ("log", "changes", "lake")) -> None:
    """A repository with the pipeline `site`, these of its connectors, and folders for its inputs."""
    folder = root / "pipelines" / "site"
    folder.mkdir(parents=True)
    (folder / "program.sql").write_text(program)
    lines = (line for name, lines in _CONNECTORS.items() if name in connectors for line in lines)
    (folder / "pipeline.yaml").write_text(_PIPELINE + "".join(f"    {line}\n" for line in lines))
    for name in ("visits", "customers"):
        (root / "source" / name).mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(root)], check=True)


def write_applied(root: Path) -> Path:
    """The pipeline, applied, after three steps. The answer is a copy of its tables."""
    write_pipeline(root)
    with Project.open(root) as project:
        project.pipeline("site").apply()
        for number in range(1, 4):
            write_step(root, number)
            project.pipeline("site").run_once()
    return Path(shutil.copytree(root / ".reconcile" / "warehouse" / "site", root / "bare"))


def write_step(root: Path, number: int) -> None:
    """The files of one step: 20 visits, and 5 of 100 customers changed."""
    visits: list[Any] = [
        {"customer": (number * 7 + one) % 100, "page": f"/{one % 10}", "seconds": (number + one) % 60} for one in range(20)
    ]
    changes: list[Any] = [
        {"insert": {"id": (number * 5 + one) % 100, "name": f"name {number}", "plan": "free"}} for one in range(5)
    ]
    # A run that looks meanwhile finds both or neither: the one that is written last completes the step.
    for name, lines in (("customers", changes), ("visits", visits)):
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        written = root / "source" / f"{name}-{number:06}"
        written.write_text(text)
        written.rename(root / "source" / name / f"{number:06}.json")


def _memory(session: SparkSession) -> dict[str, float]:
    gc.collect()
    jvm: Any = session._jvm
    runtime = jvm.java.lang.Runtime.getRuntime()
    for _ in range(3):
        jvm.java.lang.System.gc()
        time.sleep(0.5)
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {"heap_mib": (runtime.totalMemory() - runtime.freeMemory()) / 2**20, "python_mib": resident / 2**20}


if __name__ == "__main__":
    main()
