"""What a change costs, against loading everything anew: TPC-H, one session, ratios.

    bash bench/run bootstrap [--scale 0.1]

Measures wall time of: the first load (create tables, ingest, compute five views); a change of Q1's cutoff date (plan,
bootstrap of Q1, switch) with the source out of reach; an apply with nothing to do; a plan with nothing to do. The figure
that counts is change / load. Every part is checked: only q1 may have moved.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click

from reconciler import Project
from reconciler.engine.spark.engine import spark_engine

ROOT = Path(__file__).parents[1]


@click.command()
@click.option("--scale", default=0.1, show_default=True, help="TPC-H scale factor.")
def main(scale: float) -> None:
    """Load, change, apply; print seconds and ratios."""
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder)
        data = repository / "data"
        subprocess.run(
            [sys.executable, str(ROOT / "demo" / "tpch_data.py"), "--scale", str(scale), "--out", str(data)], check=True
        )
        shutil.copytree(ROOT / "pipelines" / "tpch", repository / "pipelines" / "tpch")
        (repository / "reconcile.yaml").write_text(
            f"environments: {{bench: {{warehouse: warehouse, variables: {{tpch: '{data}'}}}}}}\ndefault: bench\n"
        )
        engine = spark_engine({})
        pipeline = Project.open(repository, engine=engine).pipeline("tpch")
        started = _timed("first apply (tables, empty views)", pipeline.apply)
        load = started + _timed("ingest and compute five views", pipeline.run_once)
        before = {relation.name: relation.version for relation in pipeline.status().relations}
        shutil.rmtree(data)
        q1 = repository / "pipelines" / "tpch" / "q1.sql"
        text = q1.read_text()
        changed = text.replace("1998-09-02", "1998-08-01")
        if changed == text:
            raise click.ClickException("q1.sql no longer has the cutoff date that this benchmark changes")
        q1.write_text(changed)
        plan = pipeline.plan()
        pipeline.approve(plan.digest)
        change = _timed("change of Q1: plan, bootstrap, switch", pipeline.apply)
        after = {relation.name: relation.version for relation in pipeline.status().relations}
        moved = sorted(name for name in after if after[name] != before[name])
        if moved != ["q1"]:
            raise click.ClickException(f"more than q1 was computed: {moved}")
        idle = _timed("apply with nothing to do", pipeline.apply)
        planned = _timed("plan with nothing to do", pipeline.plan)
        engine.close()
    click.echo(
        f"change / load: {change / load:.3f}   idle apply / load: {idle / load:.4f}   plan / load: {planned / load:.4f}"
    )


def _timed(what: str, do: Callable[[], object]) -> float:
    started = time.monotonic()
    do()
    seconds = time.monotonic() - started
    click.echo(f"{seconds:8.2f} s  {what}")
    return seconds


if __name__ == "__main__":
    main()
