"""What `reconcile plan` costs, against floors and peers: 100, 1,000 and 9,980 views; ratios taken in one run.

    python -m bench.plan [--views 100,1000,9980] [--runs 5] [--without-peers]

Each figure is of a whole process, the median of several runs; the kinds of runs take turns, so that a machine that is busy
for a while is busy for all of them. Measured, on a program that is applied (`programs`, `applied`):

- plan cold: with an empty cache; warm: after one plan, nothing changed; changed: after one plan, then the literal in the
  WHERE of a view that 65 % of the views descend from was changed;
- floor: imports the libraries that the warm plan imports, hashes the same files, reads the head (`floor`, `libraries`);
- floor changed: the same with the libraries that the changed plan imports (it has a query to parse);
- sqlglot: parses and qualifies the same views once (`qualify`);
- SQLMesh and dbt, on 1,000 of the same models (`peers`).

Every answer is checked. The cache is a folder of this benchmark's own; the user's is not touched.
Results stand in bench/results/plan.json as well. A target that is missed is said, and is no error.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

import click

from bench.measure import CommandFailed, Cost, Measured, measure
from bench.peers import Peer, PeerUnavailable, make_dbt, make_sqlmesh
from bench.programs import CORE, PIPELINE, column_types, make_program, write_pipeline, write_view

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "bench" / "results" / "plan.json"
TARGET_VIEWS: Final = 1000
"""The size that targets are about, and that peers are measured at."""
LARGE_VIEWS: Final = 9_980
"""With the tables, as many relations as a pipeline may have."""
_LARGE_RUNS: Final = 2
_PEER_RUNS: Final = 2
_OURS: Final = ("plan cold", "plan warm", "plan changed")

Costs = dict[str, Cost]
"""What was measured → its medians."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio with its target: `at_most` or at least `target`."""

    name: str
    value: float
    target: float
    at_most: bool = True

    @property
    def is_met(self) -> bool:
        return self.value <= self.target if self.at_most else self.value >= self.target


@click.command()
@click.option("--views", default="100,1000,9980", show_default=True, help="Sizes of the programs.")
@click.option("--runs", default=5, show_default=True, help="Runs of each kind; fewer of what takes minutes.")
@click.option("--without-peers", is_flag=True, help="Leave SQLMesh and dbt out.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(views: str, runs: int, without_peers: bool, results: Path) -> None:
    """Measure, show numbers and ratios, write them as JSON."""
    sizes = sorted({int(size) for size in views.split(",")})
    measured: dict[int, Costs] = {}
    versions: list[str] = []
    absent: list[str] = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                measured[size] = measure_plan(size, Path(scratch), min(runs, _LARGE_RUNS) if size >= LARGE_VIEWS else runs)
            except CommandFailed as error:
                raise click.ClickException(str(error)) from error
            if size == TARGET_VIEWS and not without_peers:
                for name, make in (("dbt", make_dbt), ("SQLMesh", make_sqlmesh)):
                    try:
                        peer = make(size, Path(scratch), _note)
                        measured[size] |= measure_peer(peer, min(runs, _PEER_RUNS))
                        versions += peer.versions
                    except (PeerUnavailable, CommandFailed) as error:
                        absent.append(f"{name} was not measured: {error}")
        click.echo(show_costs(size, measured[size]))
    ratios = ratios_of(measured)
    click.echo(show_ratios(ratios))
    for words in absent:
        click.echo(words)
    ours = [f"{name} {version(name)}" for name in ("sqlglot", "deltalake")]
    write_results(results, measured, ratios, [*ours, *versions], absent)


def measure_plan(views: int, scratch: Path, runs: int) -> Costs:
    """Ours, the floor and sqlglot on a program of that many views: medians of runs that take turns."""
    repository = scratch / "repository"
    program, changed = make_program(views), make_program(views, changed=True)
    write_pipeline(program, repository)
    types = column_types(program)
    relations, libraries = scratch / "relations.json", scratch / "libraries.json"
    libraries_changed = scratch / "libraries-changed.json"
    order = [view.name for view in program.views]
    relations.write_text(json.dumps({"tables": {one.name: types[one.name] for one in program.tables}, "views": order}))
    empty, warm, used = scratch / "empty", scratch / "warm", scratch / "cache"
    empty.mkdir()

    def python(cache: Path, *arguments: str) -> Measured:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        return measure((sys.executable, *arguments), scratch, {"RECONCILE_CACHE": str(cache), "PYTHONPATH": path})

    def plan(state: Path) -> Measured:
        shutil.rmtree(used, ignore_errors=True)
        shutil.copytree(state, used)
        return python(used, "-c", _PLAN, "plan", PIPELINE, "--repo", str(repository))

    def nothing_changed(state: Path) -> Cost:
        measured = plan(state)
        _require("no changes" in measured.output, measured.output)
        return measured.cost

    def with_one_changed(run: Callable[[], Measured]) -> Measured:
        write_view(changed.views[0], repository)
        try:
            return run()
        finally:
            write_view(program.views[0], repository)

    def one_changed() -> Cost:
        measured = with_one_changed(lambda: plan(warm))
        _require(f"{1 + len(program.descendants(CORE))} to modify" in measured.output, measured.output)
        return measured.cost

    # Set-up: applied, then planned once with the cache that warm runs start from, then asked what it imported.
    python(scratch / "setup", "-m", "bench.applied", str(repository), str(views))
    plan(empty)
    shutil.copytree(used, warm)
    python(used, "-m", "bench.libraries", str(libraries), "plan", PIPELINE, "--repo", str(repository))
    # Once unmeasured: modules that only this one needs are compiled now.
    one_changed()
    shutil.rmtree(used)
    shutil.copytree(warm, used)
    asking = ("-m", "bench.libraries", str(libraries_changed), "plan", PIPELINE, "--repo", str(repository))
    with_one_changed(lambda: python(used, *asking))
    _require("deltalake" in json.loads(libraries.read_text()), "a plan no longer imports deltalake: the floor must follow")

    bench = ROOT / "bench"

    def floor(imported: Path) -> Cost:
        return python(used, str(bench / "floor.py"), str(imported), str(repository), PIPELINE).cost

    kinds: Mapping[str, Callable[[], Cost]] = {
        "floor": lambda: floor(libraries),
        "floor changed": lambda: floor(libraries_changed),
        "plan warm": lambda: nothing_changed(warm),
        "plan changed": one_changed,
        "plan cold": lambda: nothing_changed(empty),
        "sqlglot": lambda: python(used, str(bench / "qualify.py"), str(relations), str(repository), PIPELINE).cost,
    }
    return _take_turns(kinds, runs, f"{views} views")


def measure_peer(peer: Peer, runs: int) -> Costs:
    """A peer's cases: medians of runs that take turns."""
    kinds = {f"{peer.name} {case.name}": lambda case=case: peer.run(case) for case in peer.cases}
    return _take_turns(kinds, runs, peer.name)


def _take_turns(kinds: Mapping[str, Callable[[], Cost]], runs: int, what: str) -> Costs:
    found: dict[str, list[Cost]] = {name: [] for name in kinds}
    for run in range(1, runs + 1):
        _note(f"{what}: run {run} of {runs}")
        for name, once in kinds.items():
            found[name].append(once())
    return {name: _median(costs) for name, costs in found.items()}


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(median(c.cpu for c in costs), median(c.wall for c in costs), median(c.peak for c in costs))


def ratios_of(measured: Mapping[int, Costs]) -> list[Ratio]:
    """Every ratio that has a target and can be told from what was measured."""
    ratios: list[Ratio] = []
    costs = measured.get(TARGET_VIEWS)
    if costs is not None:
        floor = costs["floor"]
        ratios += [
            Ratio("CPU, nothing changed / floor", costs["plan warm"].cpu / floor.cpu, 1.5),
            Ratio("CPU, one base view changed / its floor", costs["plan changed"].cpu / costs["floor changed"].cpu, 2.5),
            Ratio("CPU, cold / sqlglot", costs["plan cold"].cpu / costs["sqlglot"].cpu, 2.0),
            *(Ratio(f"peak memory, {name} / floor", costs[name].peak / floor.peak, 2.5) for name in _OURS),
        ]
        for peer, targets in (("SQLMesh", (15, 25, 25)), ("dbt", (None, 5, 5))):
            for case, target in zip(("cold", "warm", "changed"), targets, strict=True):
                # dbt's first parse reads no state; it is measured, and compared with nothing.
                if target is not None and (theirs := costs.get(f"{peer} {case}")) is not None:
                    value = theirs.cpu / costs[f"plan {case}"].cpu
                    ratios.append(Ratio(f"CPU, {peer} {case} / plan {case}", value, target, at_most=False))
    large = measured.get(LARGE_VIEWS)
    if costs is not None and large is not None:
        for name in _OURS:
            ratios += [
                Ratio(f"CPU, {name}, 10,000 / 1,000 views", large[name].cpu / costs[name].cpu, 10),
                Ratio(f"peak memory, {name}, 10,000 / 1,000 views", large[name].peak / costs[name].peak, 10),
            ]
    return ratios


def show_costs(views: int, costs: Costs) -> str:
    """A table of what was measured at one size."""
    lines = [f"{views:,} views".ljust(18) + f"{'CPU s':>9}{'wall s':>9}{'MiB':>7}"]
    lines += [f"  {name:<16}{cost.cpu:>9.2f}{cost.wall:>9.2f}{cost.peak:>7.0f}" for name, cost in costs.items()]
    return "\n".join(lines) + "\n"


def show_ratios(ratios: Sequence[Ratio]) -> str:
    """A table of ratios, targets, and whether they are met."""
    lines = [f"{'ratio at 1,000 views':<46}{'value':>8}  {'target':<16}"]
    for ratio in ratios:
        target = f"{'at most' if ratio.at_most else 'at least'} {ratio.target:g}"
        lines.append(f"  {ratio.name:<44}{ratio.value:>8.2f}  {target:<14}{'met' if ratio.is_met else 'MISSED'}")
    return "\n".join(lines) + "\n" if ratios else "no ratios: targets are about 1,000 views\n"


def write_results(
    path: Path, measured: Mapping[int, Costs], ratios: Sequence[Ratio], versions: Sequence[str], absent: Sequence[str]
) -> None:
    """Numbers and ratios as JSON."""
    document: dict[str, Any] = {
        "cores": os.cpu_count(),
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "versions": list(versions),
        "measured": {
            str(views): {name: {key: round(value, 3) for key, value in asdict(cost).items()} for name, cost in costs.items()}
            for views, costs in measured.items()
        },
        "ratios": [{**asdict(ratio), "value": round(ratio.value, 3), "met": ratio.is_met} for ratio in ratios],
        "not_measured": list(absent),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")


_PLAN: Final = "from reconciler.cli.main import main; main()"


def _require(holds: bool, words: str) -> None:
    if not holds:
        raise click.ClickException(f"not the answer expected:\n{words[-2000:]}")


def _note(words: str) -> None:
    click.echo(words, err=True)


if __name__ == "__main__":
    main()
