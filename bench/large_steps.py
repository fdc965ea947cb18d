"""What a step costs over tables that are large, by phase: a small change at 30 thousand, at 1 and at 6 million rows.

    python -m bench.large_steps [--rows 1000000]… [--steps 5] [--change 0.001]

The pipeline of `bench.steps`. Its history comes from Parquet files: so many visits, and a tenth as many customers. Then each
step brings so many more visits, and changes so many customers (`--change`, of the rows that are there), from a file each.
Phases are the times between the boundaries that a step passes; medians of the steps after the first two. What a step costs
whose change is of one row says what of it does not grow with the change; both take turns.

Results stand in bench/results/large_steps.json as well, by the name that `--label` gives them: by it figures of two versions
of reconciler stand beside each other.
"""

import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

import click
import pyarrow as pa
import pyarrow.parquet

from bench.plan import ROOT
from bench.steps import PROGRAM
from reconciler import Project
from reconciler.environment.observer import Observer

RESULTS: Final = ROOT / "bench" / "results" / "large_steps.json"
_PIPELINE: Final = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: site}
spec:
  bootstrap_policy: allow
  connectors:
    - name: history
      table: visits
      transport: {name: file_input, config: {path: source/visits-before}}
      format: {name: parquet}
    - name: history
      table: customers
      transport: {name: file_input, config: {path: source/customers-before}}
      format: {name: parquet}
    - {name: log, table: visits, transport: {name: file_input, config: {path: source/visits}}, format: {name: json}}
    - name: changes
      table: customers
      transport: {name: file_input, config: {path: source/customers}}
      format: {name: json, config: {update_format: insert_delete}}
    - {name: lake, view: by_page, transport: {name: delta_table_output, config: {uri: lake/by_page}}}
"""
_PHASES: Final = {
    ("table:before", "table:effected"): ("customers", "visits"),
    ("view:before", "view:effected"): ("by_page", "named"),
    ("emit:before", "emit:effected"): ("emit",),
}
_HISTORY_FILES: Final = 4


class Phases:
    """Told of each boundary; the seconds between those that belong together."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def reached(self, name: str) -> None:
        now = time.monotonic()
        if name == "intent:before":
            self.seconds, self._counts = {}, {}
        self._began[name] = now
        for (begin, end), phases in _PHASES.items():
            if name == end:
                count = self._counts.get(name, 0)
                self._counts[name] = count + 1
                self.seconds[phases[min(count, len(phases) - 1)]] = now - self._began[begin]
        if name in ("step:recorded", "emit:effected") and "intent:before" in self._began:
            self.seconds["step"] = now - self._began["intent:before"]


@click.command()
@click.option("--rows", default=[30_000, 1_000_000, 6_000_000], multiple=True, show_default=True, help="Of visits.")
@click.option("--steps", default=5, show_default=True, help="How many steps of each kind are measured.")
@click.option("--change", default=0.001, show_default=True, help="The share of the rows that a step brings.")
@click.option("--label", default="now", show_default=True, help="The name of these figures among the results.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(rows: tuple[int, ...], steps: int, change: float, label: str, results: Path) -> None:
    """Run each, show the phases, write them as JSON."""
    found = json.loads(results.read_text()) if results.exists() else {}
    for count in rows:
        with tempfile.TemporaryDirectory() as scratch:
            told = _measured(Path(scratch), count, steps, change)
        click.echo(f"{count:>9,} rows  {json.dumps(told)}")
        found.setdefault(label, {})[str(count)] = told
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps(found, indent=2) + "\n")


def _measured(root: Path, rows: int, steps: int, change: float) -> dict[str, dict[str, float]]:
    _write_pipeline(root, rows)
    phases = Phases()
    taken: dict[str, list[dict[str, float]]] = {"change": [], "one row": []}
    with Project.open(root, observer=Observer(boundary=phases.reached)) as project:
        pipeline = project.pipeline("site")
        pipeline.apply()
        pipeline.run_once()
        for number in range(2 * (steps + 2)):
            kind, many = ("one row", 1) if number % 2 else ("change", max(1, round(rows * change)))
            _write_change(root, number, rows, many)
            found = pipeline.run_once().step_count
            if found != 1:
                raise click.ClickException(f"the run took {found} steps for the files of number {number}, not one")
            if number >= 4:
                taken[kind].append(phases.seconds)
    return {kind: {name: round(median(one[name] for one in all_), 3) for name in all_[0]} for kind, all_ in taken.items()}


def _write_pipeline(root: Path, rows: int) -> None:
    folder = root / "pipelines" / "site"
    folder.mkdir(parents=True)
    (folder / "program.sql").write_text(PROGRAM)
    (folder / "pipeline.yaml").write_text(_PIPELINE)
    for name in ("visits", "customers", "visits-before", "customers-before"):
        (root / "source" / name).mkdir(parents=True)
    for part in range(_HISTORY_FILES):
        numbers = range(part, rows, _HISTORY_FILES)
        visits: dict[str, Any] = {
            "customer": pa.array([one * 7 % (rows // 10) for one in numbers], pa.int64()),
            "page": [f"/{one % 10}" for one in numbers],
            "seconds": pa.array([one % 60 for one in numbers], pa.int32()),
        }
        keys = range(part, rows // 10, _HISTORY_FILES)
        customers = {"id": pa.array(keys, pa.int64()), "name": [f"name {one}" for one in keys], "plan": ["free"] * len(keys)}
        for name, columns in (("visits", visits), ("customers", customers)):
            pa.parquet.write_table(pa.table(columns), root / "source" / f"{name}-before" / f"{part}.parquet")


def _write_change(root: Path, number: int, rows: int, many: int) -> None:
    visits: list[Any] = [
        {"customer": (number * 7 + one) % (rows // 10), "page": f"/{one % 10}", "seconds": (number + one) % 60}
        for one in range(many)
    ]
    customers: list[Any] = [
        {"insert": {"id": (number * 977 + one) % (rows // 10), "name": f"name {number}", "plan": "paid"}}
        for one in range(max(1, many // 10))
    ]
    for name, lines in (("customers", customers), ("visits", visits)):
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (root / "source" / name / f"{number:06}.json").write_text(text)


if __name__ == "__main__":
    main()
