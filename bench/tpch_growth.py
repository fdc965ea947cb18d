"""What a step of TPC-H's views costs at two scales, step by step in turns: how much of it depends on how much there is.

    python -m bench.tpch_growth [--scale 0.1] [--scale 1] [--orders 75] [--warm 60] [--steps 20] [--views q01,q03]

The pipelines are those of `bench.tpch`, at both scales in one process. A step of one is followed by the same step of the
other: so what else the machine does, which may double the figures of an hour, is in both. CPU seconds of each view's part of
a step, Python and Java together; medians. Results stand in bench/results/tpch_growth.json.

Two kinds of growth are told. Of a view's part alone; and of a step that has this view and no other: its part, and what a
step takes besides its views (new rows are read and written, the step is published).
"""

import json
import tempfile
from pathlib import Path
from statistics import median
from typing import Final

import click

from bench.plan import ROOT, Ratio
from bench.tpch import begun, next_step
from reconciler.engine.spark.engine import spark_engine
from reconciler.incremental.choice import Choice
from tests.incremental.tpch import QUERIES, query

RESULTS: Final = ROOT / "bench" / "results" / "tpch_growth.json"


@click.command()
@click.option(
    "--scale", default=[0.1, 1.0], multiple=True, show_default=True, help="Of TPC-H, two: 6,000,000 lineitems at 1."
)
@click.option("--orders", default=75, show_default=True, help="How many new orders a step brings.")
@click.option("--warm", default=60, show_default=True, help="How many steps come first.")
@click.option("--steps", default=20, show_default=True, help="How many steps are measured.")
@click.option("--views", default="", help="Which of the queries, `q01` say; all.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(scale: tuple[float, ...], orders: int, warm: int, steps: int, views: str, results: Path) -> None:
    """Take the steps, show CPU by view, write it as JSON."""
    if len(set(scale)) != 2:
        raise click.BadParameter("two scales are compared", param_hint="--scale")
    chosen = {name: query(name) for name in QUERIES if not views or name in views.split(",")}
    engine = spark_engine()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            pipelines = [begun(Path(scratch) / str(one), engine, one, orders, chosen) for one in sorted(scale)]
            taken = [
                [next_step(project, engine, Choice(), changes)[0] for project, changes in pipelines]
                for _ in range(warm + steps)
            ]
    finally:
        engine.close()
    medians = [{name: median(step[at][name] for step in taken[warm:]) for name in taken[-1][at]} for at in range(2)]
    parts = {name: _growth(medians[0][name], medians[1][name]) for name in medians[0]}
    alone = {name: _growth(*_alone(name, taken[warm:])) for name in chosen if name in parts}
    for name, grown in parts.items():
        steps_alone = f"{alone[name]:.2f}" if name in alone else ""
        click.echo(f"{name:5} {medians[0][name]:.3f} {medians[1][name]:.3f} {grown:.2f} {steps_alone}")
    of_views = [parts[name] for name in alone]
    for ratio in (
        Ratio("growth of a step of one of the views, median", round(median(alone.values()), 2), 1.1),
        Ratio("growth of a step of one of the views, most", round(max(alone.values()), 2), 1.3),
        Ratio("growth of the view's part of it, median", round(median(of_views), 2), 1.1),
        Ratio("growth of the view's part of it, most", round(max(of_views), 2), 1.3),
    ):
        click.echo(f"{ratio.name}: {ratio.value:.2f} (target {ratio.target}){'' if ratio.is_met else '  MISSED'}")
    told = {str(one): {name: round(value, 3) for name, value in medians[at].items()} for at, one in enumerate(sorted(scale))}
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps({"orders": orders, "scales": told}, indent=2) + "\n")


def _alone(name: str, taken: list[list[dict[str, float]]]) -> tuple[float, ...]:
    """What a step with no view but this takes, at both scales: its part, and what a step takes besides its views."""
    return tuple(median(of[name] + of["step"] - of["views"] for of in steps) for steps in zip(*taken, strict=True))


def _growth(less: float, more: float) -> float:
    return more / max(0.001, less)


if __name__ == "__main__":
    main()
