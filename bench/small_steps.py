"""What a step of a few rows costs beside the bare Spark operations that do the same work, in one process.

    python -m bench.small_steps [--steps 10] [--views 20]

The pipeline of `bench.steps` (two inputs, two views, one Delta output) runs live. Its steps and the five bare operations
(append, MERGE, two overwrites, MERGE of the sink) take turns, all warm. Then the same for many views over one table: a step
against the bare collects of their queries. A step is measured from its intent to the end of its emission; `fresh` is the
time from a file that appears to the end of the emission that tells of it, with the interval at which a run looks for files.
Spark's jobs are counted by its scheduler.

Results stand in bench/results/small_steps.json as well. A target that is missed is said, and is no error.
"""

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any, Final

import click
from pyspark.sql import DataFrame, SparkSession

from bench.plan import ROOT, Ratio
from bench.steps import write_pipeline, write_step
from reconciler import Project
from reconciler.base.boundaries import BEFORE, EFFECTED, RECORDED
from reconciler.engine.spark.session import running_session
from reconciler.environment.observer import Observer
from reconciler.service.pipeline import Pipeline

RESULTS: Final = ROOT / "bench" / "results" / "small_steps.json"
_INTERVAL: Final = 0.2
_LONGEST_WAIT: Final = 120.0
_MANY: Final = """\
CREATE TABLE visits (customer BIGINT, page VARCHAR, seconds INT);
"""


class Steps:
    """A live run of a pipeline, whose steps are timed at their boundaries, while this one waits."""

    def __init__(self, root: Path, pipeline: str, *, has_output: bool) -> None:
        self._last = f"emit:{EFFECTED}" if has_output else f"step:{RECORDED}"
        self._began, self._published = 0.0, False
        self._done = threading.Event()
        self._stopped = threading.Event()
        self._failed: list[Exception] = []
        self.seconds = 0.0
        self._project = Project.open(root, observer=Observer(boundary=self._reached))
        self.pipeline: Pipeline = self._project.pipeline(pipeline)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def after(self, act: Callable[[], object]) -> float:
        """The seconds from what is done here to the end of the step that it brings about."""
        self._done.clear()
        began = time.monotonic()
        act()
        if not self._done.wait(_LONGEST_WAIT) or self._failed:
            raise click.ClickException(f"no step came: {self._failed}")
        taken = time.monotonic() - began
        # What is written down after the step is no part of what is measured next.
        time.sleep(2 * _INTERVAL)
        return taken

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(_LONGEST_WAIT)

    def close(self) -> None:
        self.stop()
        self._project.close()

    def phases(self, steps: int) -> dict[str, float]:
        """The median seconds of each phase of the last steps."""
        last = self.result.steps[-steps:]
        return {name: round(median(one.seconds[name] for one in last), 3) for name in ("ingest", "views", "publish")}

    def _run(self) -> None:
        try:
            self.result = self.pipeline.run(interval_seconds=_INTERVAL, stop=self._stopped.is_set)
        except Exception as error:
            self._failed.append(error)
            self._done.set()

    def _reached(self, name: str) -> None:
        if name == f"intent:{BEFORE}":
            self._began = time.monotonic()
        elif name == f"step:{RECORDED}":
            self._published = True
        # What an apply left to be sent is sent before the first step.
        if name == self._last and self._published:
            self._published = False
            self.seconds = time.monotonic() - self._began
            self._done.set()


@click.command()
@click.option("--steps", default=10, show_default=True, help="How many steps are measured.")
@click.option("--views", default=20, show_default=True, help="How many views the second pipeline has.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(steps: int, views: int, results: Path) -> None:
    """Run both pipelines, show the ratios, write them as JSON."""
    with tempfile.TemporaryDirectory() as scratch:
        few, ratios = _few(Path(scratch) / "few", steps)
        many, more = _many(Path(scratch) / "many", steps, views)
    tell(results, [*ratios, *more], {"steps": steps}, {"two_views": few, "many_views": many})


def tell(results: Path, ratios: list[Ratio], setting: Mapping[str, int], measured: Mapping[str, Any]) -> None:
    """Show the ratios, and write them as JSON with what was measured, and in which setting."""
    for ratio in ratios:
        click.echo(f"{ratio.name:<60}{ratio.value:>8.2f}  at most {ratio.target:g}: {'met' if ratio.is_met else 'MISSED'}")
    document = {
        **setting,
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        **measured,
        "ratios": [{**asdict(one), "value": round(one.value, 3), "met": one.is_met} for one in ratios],
    }
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps(document, indent=2) + "\n")


def _few(root: Path, steps: int) -> tuple[dict[str, Any], list[Ratio]]:
    write_pipeline(root)
    number = 1
    write_step(root, number)
    with _live(root, has_output=True) as live:
        session = _session()
        bare = Bare(session, root)
        whole, fresh, jobs, operations = [], [], [], []
        for measured in range(-3, steps):
            number += 1
            before = _jobs(session)
            taken = live.after(lambda number=number: write_step(root, number))
            after = _jobs(session)
            cost = bare.operations(number)
            if measured >= 0:
                whole.append(live.seconds)
                fresh.append(taken)
                jobs.append(after - before)
                operations.append(cost)
        live.stop()
    step = median(whole)
    parts = {name: median(one[name] for one in operations) for name in operations[0]}
    told = {
        "step_seconds": round(step, 3),
        "fresh_seconds": round(median(fresh), 3),
        "jobs_a_step": median(jobs),
        "phases": live.phases(steps),
        "bare": {name: round(taken, 3) for name, taken in parts.items()},
    }
    click.echo(json.dumps(told))
    return told, [
        Ratio("a step / its five bare operations", step / sum(parts.values()), 0.25),
        Ratio("Spark's jobs in a step of two views", median(jobs), 4),
        Ratio("a file that appears until it is sent / step + interval", median(fresh) / (step + _INTERVAL), 1.2),
    ]


def _many(root: Path, steps: int, views: int) -> tuple[dict[str, Any], list[Ratio]]:
    queries = [
        f"SELECT page, COUNT(*) AS n, SUM(seconds) AS s FROM visits WHERE seconds > {n} GROUP BY page" for n in range(views)
    ]
    program = _MANY + "".join(f"CREATE MATERIALIZED VIEW v{n} AS {query};\n" for n, query in enumerate(queries))
    write_pipeline(root, program, connectors=("log",))
    number = 1
    write_step(root, number)
    with _live(root, has_output=False) as live:
        session = _session()
        whole, collected, jobs = [], [], []
        for measured in range(-2, max(2, steps // 2)):
            number += 1
            before = _jobs(session)
            live.after(lambda number=number: write_step(root, number))
            after = _jobs(session)
            session.read.format("delta").load(_location(root, "visits")).createOrReplaceTempView("visits")
            began = time.monotonic()
            for query in queries:
                session.sql(query).collect()
            if measured >= 0:
                collected.append(time.monotonic() - began)
                whole.append(live.seconds)
                jobs.append(after - before)
        live.stop()
    told = {
        "views": views,
        "step_seconds": round(median(whole), 3),
        "jobs_a_step": median(jobs),
        "phases": live.phases(len(whole)),
        "bare_collects": round(median(collected), 3),
    }
    click.echo(json.dumps(told))
    return told, [Ratio(f"a step of {views} views / their bare collects", median(whole) / median(collected), 0.8)]


class Bare:
    """The operations that a step comes down to, as somebody would write them by hand, on tables of the same rows."""

    def __init__(self, session: SparkSession, root: Path) -> None:
        self._session = session
        self._source = root / "source"
        self._place = root / "bare"
        for name in ("visits", "customers", "named", "by_page"):
            shutil.copytree(_location(root, name), self._place / name)
        session.read.format("delta").load(str(self._place / "by_page")).write.format("delta").save(str(self._place / "lake"))

    def operations(self, number: int) -> Mapping[str, float]:
        """The seconds of each, over the files of a step."""
        session, file = self._session, f"{number:06}.json"

        def append() -> None:
            rows = session.read.schema("customer bigint, page string, seconds int").json(str(self._source / "visits" / file))
            rows.write.format("delta").mode("append").save(str(self._place / "visits"))

        def merge() -> None:
            kind = "insert struct<id: bigint, name: string, plan: string>"
            rows = session.read.schema(kind).json(str(self._source / "customers" / file)).select("insert.*")
            self._merge("customers", rows, "t.id = s.id", updates=True)

        def overwrite(view: str, query: str) -> None:
            for name in ("visits", "customers"):
                self._read(name).createOrReplaceTempView(name)
            session.sql(query).write.format("delta").mode("overwrite").save(str(self._place / view))

        def sink() -> None:
            rows = self._read("by_page")
            self._merge("lake", rows, "t.page = s.page", updates=True)

        named = "SELECT c.name, v.page, v.seconds FROM visits v JOIN customers c ON c.id = v.customer"
        by_page = "SELECT page, COUNT(*) AS visits, SUM(seconds) AS seconds FROM visits GROUP BY page"
        return {
            "append": _timed(append),
            "merge": _timed(merge),
            "named": _timed(lambda: overwrite("named", named)),
            "by_page": _timed(lambda: overwrite("by_page", by_page)),
            "sink": _timed(sink),
        }

    def _read(self, name: str) -> DataFrame:
        return self._session.read.format("delta").load(str(self._place / name))

    def _merge(self, name: str, rows: DataFrame, condition: str, *, updates: bool) -> None:
        from delta.tables import DeltaTable

        merging = DeltaTable.forPath(self._session, str(self._place / name)).alias("t").merge(rows.alias("s"), condition)
        (merging.whenMatchedUpdateAll() if updates else merging).whenNotMatchedInsertAll().execute()


@contextmanager
def _live(root: Path, *, has_output: bool) -> Iterator[Steps]:
    """A live run that has taken its first step."""
    with Project.open(root) as project:
        project.pipeline("site").apply()
    steps = Steps(root, "site", has_output=has_output)
    try:
        steps.after(lambda: None)
        yield steps
    finally:
        steps.close()


def _session() -> SparkSession:
    session = running_session()
    assert session is not None
    return session.newSession()


def _jobs(session: SparkSession) -> int:
    java: Any = session.sparkContext._jsc
    return int(java.sc().dagScheduler().numTotalJobs())


def _location(root: Path, relation: str) -> str:
    return str(root / ".reconcile" / "warehouse" / "site" / relation)


def _timed(act: Callable[[], None]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()
