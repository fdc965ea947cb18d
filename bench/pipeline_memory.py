"""How much memory the process of one pipeline takes in a service, from its first step on.

    python -m bench.pipeline_memory [--steps 200]

One pipeline of `bench.load`, over the API, and a request of five rows for each step, which is waited for. Memory is what
the process shares with no other, in MiB: the server forks it, and it has the server's modules in common with all others.
Beside it stand its threads, and the CPU seconds that it took since its first step (without Spark, which is another process).

Results stand in bench/results/pipeline_memory.json as well.
"""

import json
import logging
import re
import tempfile
from pathlib import Path
from typing import Any, Final

import click
import psutil
from feldera import FelderaClient, PipelineBuilder

from bench.load import SQL, served
from bench.plan import ROOT
from bench.resident import pipeline_of

logging.getLogger("feldera").setLevel(logging.ERROR)
RESULTS: Final = ROOT / "bench" / "results" / "pipeline_memory.json"
_MARKS: Final = (1, 10, 25, 50, 100, 200, 300, 500, 1000, 2000)
_ROWS: Final = 5


@click.command()
@click.option("--steps", default=200, show_default=True, help="How many requests are made.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(steps: int, results: Path) -> None:
    """Make the requests, show memory along the way, write it as JSON."""
    points = []
    with tempfile.TemporaryDirectory() as scratch, served(Path(scratch)) as (address, server):
        pipeline = PipelineBuilder(FelderaClient(address), "alone", SQL).create()
        pipeline.start()
        process = pipeline_of(server)
        began = _cpu(process)
        for number in range(1, steps + 1):
            rows = [{"id": number * _ROWS + one, "client": 1, "amount": "1.25"} for one in range(_ROWS)]
            pipeline.input_json("items", rows, wait=True)
            if number in _MARKS or number == steps:
                points.append(_point(process, number, began))
                click.echo(json.dumps(points[-1]))
        pipeline.stop(force=True)
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps({"points": points}, indent=2) + "\n")


def _point(process: psutil.Process, step: int, began: float) -> dict[str, Any]:
    text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    private = sum(map(int, re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+) kB", text, re.MULTILINE))) / 1024
    cpu = _cpu(process) - began
    return {"step": step, "private_mib": round(private, 1), "threads": process.num_threads(), "cpu_seconds": round(cpu, 2)}


def _cpu(process: psutil.Process) -> float:
    taken = process.cpu_times()
    return float(taken.user + taken.system)


if __name__ == "__main__":
    main()
