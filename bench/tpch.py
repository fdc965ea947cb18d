"""What a step costs where the 22 queries of TPC-H are views of one pipeline, beside computing all of them anew.

    python -m bench.tpch [--scale 0.05] [--scale 0.5] [--orders 75] [--steps 3] [--views q01,q03] [--fan 20]

The queries are those that the tests follow (`tests/incremental/tpch`). Each step brings so many new orders (`--orders`, the
same at all scales) with their lineitems, and takes those of the step before: TPC-H's two refresh functions in one.

One pipeline at each scale, one warm Spark. First steps follow what changed, as a run does by itself. After the last of them
each view holds what Spark gives for its query from scratch, or there are no figures. Then the same pipeline takes steps in
which views are computed from their queries. CPU is that of Python and Java: of a view between its boundaries, of a step from
its intent to its end. Medians of the steps after the first six (of one, from queries). Last come Spark's own materialised
views over the same tables (`bench.spark_views`), unless `--without-peers`.

Last, at the least scale, a pipeline with one view of lineitem, sums by a key, and another one with 20 such views, each with
other sums: what a step of each costs, in turns, once both have run for a while: queries that ran often are planned once
more, with code, one in four seconds.

Results stand in bench/results/tpch.json. A target that is missed is said, and is no error.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any, Final

import click

from bench.incremental import Cpu, changes_of_orders, recomputed, write_history, write_pipeline
from bench.peers import PeerUnavailable
from bench.plan import ROOT, Ratio
from bench.spark_views import SparkViews
from reconciler.engine.protocol import Engine
from reconciler.engine.spark.engine import spark_engine
from reconciler.environment.given_up import GivenUp
from reconciler.environment.session import Session
from reconciler.environment.target import open_target
from reconciler.incremental.choice import Choice
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.service.project import Project
from tests.incremental.tpch import QUERIES, columns, query

RESULTS: Final = ROOT / "bench" / "results" / "tpch.json"
_WARM: Final = 6
_WARM_FANS: Final = 60
_GIVEN_UP: Final = GivenUp()
"""As one run has it, of all steps."""
_KEYS: Final = {
    "region": "r_regionkey",
    "nation": "n_nationkey",
    "supplier": "s_suppkey",
    "customer": "c_custkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey, ps_suppkey",
    "orders": "o_orderkey",
    "lineitem": "l_orderkey, l_linenumber",
}


@click.command()
@click.option("--scale", default=[0.05, 0.5], multiple=True, show_default=True, help="Of TPC-H: 6,000,000 lineitems at 1.")
@click.option("--orders", default=75, show_default=True, help="How many new orders a step brings.")
@click.option("--steps", default=3, show_default=True, help="How many steps are measured.")
@click.option("--views", default="", help="Which of the queries, `q01` say; all.")
@click.option("--fan", default=20, show_default=True, help="How many views of one table; 0: none.")
@click.option("--without-peers", is_flag=True, help="Without Spark's materialised views, which are installed by pip.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(
    scale: tuple[float, ...], orders: int, steps: int, views: str, fan: int, without_peers: bool, results: Path
) -> None:
    """Run each, show CPU by view, write it as JSON."""
    chosen = {name: query(name) for name in QUERIES if not views or name in views.split(",")}
    found: dict[str, Any] = {}
    by_spark: dict[str, dict[str, Any]] = {}
    engine = spark_engine()
    try:
        for one in scale:
            with tempfile.TemporaryDirectory() as scratch:
                found[str(one)] = _measured(Path(scratch), engine, one, orders, steps, chosen)
                by_spark[str(one)] = {} if without_peers else _by_spark(Path(scratch), chosen)
            click.echo(f"scale {one}:")
            for name, figures in {**found[str(one)], "Spark": by_spark[str(one)]}.items():
                click.echo(f"  {name:5} {json.dumps(figures)}")
        fans = _fans(engine, min(scale), orders, steps, fan) if fan else []
    finally:
        engine.close()
    ratios = list(_ratios(found))
    if fans:
        ratios.append(
            Ratio(f"a step of {fan} views of one table / of one of them", round(fans[1] / max(0.001, fans[0]), 2), 5)
        )
    for ratio in ratios:
        mark = "" if ratio.is_met else "  MISSED"
        click.echo(f"{ratio.name}: {ratio.value:.2f} (target {ratio.target}){mark}")
    results.parent.mkdir(parents=True, exist_ok=True)
    judged = [{**asdict(one), "met": one.is_met} for one in ratios]
    told = {"orders": orders, "scales": found, "spark": by_spark, "fan": fans, "ratios": judged}
    results.write_text(json.dumps(told, indent=2) + "\n")


def _measured(
    root: Path, engine: Engine, scale: float, orders: int, steps: int, queries: dict[str, str]
) -> dict[str, dict[str, Any]]:
    project, changes = begun(root, engine, scale, orders, queries)
    followed = [next_step(project, engine, Choice(), changes) for _ in range(_WARM + steps)][_WARM:]
    _require_equal(project, engine, queries)
    anew = Choice(few_rows=0, way=recomputed)
    from_queries = [next_step(project, engine, anew, changes) for _ in range(1 + steps)][1:]
    return {
        name: {
            "query": round(median(cpu[name] for cpu, _ in from_queries), 3),
            "changes": round(median(cpu[name] for cpu, _ in followed), 3),
            "way": followed[-1][1].get(name, "recomputed"),
        }
        for name in followed[-1][0]
    }


def _by_spark(root: Path, queries: dict[str, str]) -> dict[str, Any]:
    """The CPU seconds of Spark's materialised views over the tables as they stand; why there are none."""
    tables = {name: root / "project" / "warehouse" / "tpch" / name for name in table_columns()}
    try:
        return {"views": round(SparkViews(root / "spark", tables, click.echo).seconds(queries), 3)}
    except PeerUnavailable as error:
        return {"absent": str(error)}


def _fans(engine: Engine, scale: float, orders: int, steps: int, fan: int) -> list[float]:
    """The CPU seconds of a step of one view of lineitem, and of a step of so many."""
    with tempfile.TemporaryDirectory() as scratch:
        pipelines = [
            begun(Path(scratch) / str(many), engine, scale, orders, _sums(many), ("orders", "lineitem")) for many in (1, fan)
        ]
        taken = [
            [next_step(project, engine, Choice(), changes, by_view=False)[0]["step"] for project, changes in pipelines]
            for _ in range(_WARM_FANS + 2 * steps)
        ]
    return [round(median(one), 3) for one in zip(*taken[_WARM_FANS:], strict=True)]


def _sums(many: int) -> dict[str, str]:
    """So many views of lineitem, with other sums each, by name."""
    return {
        f"v{at:02}": "SELECT l_returnflag, l_linestatus, COUNT(*) AS many, SUM(l_quantity) AS quantity,"
        f" SUM(l_extendedprice * (1 - l_discount) * {at + 1}) AS price FROM lineitem"
        f" WHERE l_linenumber <> {at} GROUP BY l_returnflag, l_linestatus"
        for at in range(many)
    }


def begun(
    root: Path, engine: Engine, scale: float, orders: int, queries: dict[str, str], only: tuple[str, ...] = ()
) -> tuple[Path, Iterator[tuple[int, dict[str, str]]]]:
    """A pipeline with these views, of all tables or of some, whose history is read; and what its steps bring, by number."""
    tables = {name: of for name, of in table_columns().items() if not only or name in only}
    history = write_history(root / "data", scale, tables)
    write_pipeline(root / "project", root / "data", tables, queries, _KEYS)
    Project.open(root / "project", engine=engine).pipeline("tpch").apply()
    _step(root / "project", engine, Choice())
    return root / "project", enumerate(changes_of_orders(history, orders))


def table_columns() -> dict[str, dict[str, str]]:
    """The tables: their columns with their types."""
    return {table: {name: str(kind) for name, kind in of.items()} for table, of in columns().items()}


def next_step(
    project: Path, engine: Engine, choice: Choice, changes: Iterator[tuple[int, dict[str, str]]], *, by_view: bool = True
) -> tuple[dict[str, float], dict[str, str]]:
    """Bring what comes next, and take a step: see `_step`."""
    number, files = next(changes)
    for table, text in files.items():
        (project / f"live/{table}/{number:03}.json").write_text(text)
    return _step(project, engine, choice, by_view=by_view)


def _step(project: Path, engine: Engine, choice: Choice, *, by_view: bool = True) -> tuple[dict[str, float], dict[str, str]]:
    """The CPU seconds of each view of a step, `step` and `views` being those of the whole and of all views; and which way
    each took."""
    cpu = Cpu(by_view=by_view)
    session = Session(engine, boundary=cpu.reached, choice=choice, given_up=_GIVEN_UP)
    run = run_pipeline(open_target(project, None), "tpch", session, Pace(once=True))
    took = cpu.step
    last = run.steps[-1]
    views = dict(zip(last.views, cpu.views, strict=True)) if by_view else {}
    return {**views, "views": sum(cpu.views), "step": took}, dict(last.ways)


def _require_equal(project: Path, engine: Engine, queries: dict[str, str]) -> None:
    """Each view holds what its query gives."""
    pipeline = Project.open(project, engine=engine).pipeline("tpch")
    for name, text in queries.items():
        held, asked = (Counter(map(repr, pipeline.query(one))) for one in (f"SELECT * FROM {name}", text))
        if held != asked:
            raise click.ClickException(f"{name} does not hold what its query gives")


def _ratios(found: dict[str, dict[str, dict[str, Any]]]) -> tuple[Ratio, ...]:
    greatest = found[max(found, key=float)]
    views = [name for name in greatest if name.startswith("q")]
    ratios = [Ratio("all views, from queries / by changes", _of(greatest["views"], "query", "changes"), 10, at_most=False)]
    dearest = max((one[name] for one in found.values() for name in views), key=lambda one: _of(one, "changes", "query"))
    ratios.append(Ratio("the dearest view, by changes / from its query", _of(dearest, "changes", "query"), 1.1))
    return tuple(ratios)


def _of(figures: dict[str, Any], above: str, below: str) -> float:
    return round(figures[above] / max(0.001, figures[below]), 2)


if __name__ == "__main__":
    main()
