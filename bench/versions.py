"""What a long history of versions costs whoever does not ask for it: `plan` and `versions list` with 100,000 and with 100.

    python -m bench.versions [--versions 100000] [--runs 5]

One pipeline with one view that has that many versions, written into the registry as as many applies would have left them, a
hundred rows a commit. Measured are whole processes (`bench.measure`), in turns: `plan` with nothing changed, from a cold
cache and from a warm one; `plan` of a change; `plan` of a pin; `versions list`. CPU seconds with many against with 100.

Results stand in bench/results/versions.json as well. A target that is missed is said, and is no error.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Final

import click

from bench.measure import measure
from bench.plan import ROOT, Ratio
from reconciler import __version__
from reconciler.base.digest import canonical_json, digest_text
from reconciler.environment.target import Target, open_target
from reconciler.project.snapshot.codec import encode_program
from reconciler.project.snapshot.model import Snapshot
from reconciler.project.snapshot.objects import VersionedObject, versioned_objects
from reconciler.registry.model import Applied, Approval, Head, ObjectVersions, Published
from reconciler.registry.placements import Placement
from reconciler.registry.protocol import History
from reconciler.workspace.desired import read_desired

RESULTS: Final = ROOT / "bench" / "results" / "versions.json"
_FEW: Final = 100
_A_COMMIT: Final = 100
_PINNED: Final = 7
_AT: Final = "2025-01-01T00:00:00.000+00:00"
_SQL: Final = """\
CREATE TABLE orders (id BIGINT, customer STRING, price INT);
CREATE MATERIALIZED VIEW revenue AS SELECT customer, SUM(price) AS revenue FROM orders GROUP BY customer;
"""
_MANIFEST: Final = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: sales}
spec: {bootstrap_policy: allow}
"""
_COMMAND: Final = (sys.executable, "-c", "from reconciler.cli.main import main; main()")
_KINDS: Final = {
    "plan, nothing changed, cold": ("plan", "sales"),
    "plan, nothing changed, warm": ("plan", "sales"),
    "plan of a change": ("plan", "sales"),
    "plan of a pin": ("plan", "sales"),
    "versions list": ("versions", "list", "revenue"),
}


@click.command()
@click.option("--versions", default=100_000, show_default=True, help="How many versions the long history has.")
@click.option("--runs", default=5, show_default=True, help="Runs of each kind.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(versions: int, runs: int, results: Path) -> None:
    """Measure, show CPU seconds and ratios, write them as JSON."""
    with tempfile.TemporaryDirectory() as scratch:
        roots = {count: _written(Path(scratch) / str(count), count) for count in (_FEW, versions)}
        found: dict[str, dict[int, list[float]]] = {kind: {count: [] for count in roots} for kind in _KINDS}
        for _ in range(runs):
            for kind in _KINDS:
                for count, root in roots.items():
                    found[kind][count].append(_cost(root, kind))
    medians = {kind: {count: median(costs) for count, costs in of.items()} for kind, of in found.items()}
    ratios = [Ratio(kind, of[versions] / of[_FEW], 1.5) for kind, of in medians.items()]
    for ratio in ratios:
        of, verdict = medians[ratio.name], "met" if ratio.is_met else "MISSED"
        click.echo(f"{ratio.name:<32}{of[_FEW]:>8.2f} s{of[versions]:>8.2f} s{ratio.value:>8.2f}  at most 1.5: {verdict}")
    document = {
        "versions": versions,
        "runs": runs,
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "cpu_seconds": {kind: {str(count): round(one, 3) for count, one in of.items()} for kind, of in medians.items()},
        "ratios": [{**asdict(one), "value": round(one.value, 3), "met": one.is_met} for one in ratios],
    }
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps(document, indent=2) + "\n")


def _cost(root: Path, kind: str) -> float:
    """CPU seconds of one run, with the files and the cache that its kind is about."""
    folder, cache = root / "pipelines" / "sales", root / "cache"
    changed = _SQL.replace("SUM(price)", "SUM(price) * 2") if kind == "plan of a change" else _SQL
    (folder / "program.sql").write_text(changed)
    pinned = f"spec: {{bootstrap_policy: allow, views: {{revenue: {{version: v{_PINNED}}}}}}}"
    manifest = _MANIFEST.replace("spec: {bootstrap_policy: allow}", pinned) if kind == "plan of a pin" else _MANIFEST
    (folder / "pipeline.yaml").write_text(manifest)
    if kind.endswith("cold"):
        shutil.rmtree(cache, ignore_errors=True)
    words: Sequence[str] = _KINDS[kind]
    measured = measure([*_COMMAND, *words, "--repo", str(root)], ROOT, {"RECONCILE_CACHE": str(cache)})
    expected = "no changes" if kind.startswith("plan, nothing") else "revenue" if "list" not in kind else "active"
    if expected not in measured.output:
        raise click.ClickException(f"{kind}: {measured.output[-500:]}")
    return measured.cost.cpu


def _written(root: Path, count: int) -> Path:
    """A repository whose registry has `count` versions of its view, the last of them active."""
    folder = root / "pipelines" / "sales"
    folder.mkdir(parents=True)
    (folder / "program.sql").write_text(_SQL)
    (folder / "pipeline.yaml").write_text(_MANIFEST)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    target = open_target(root, None)
    desired = read_desired(target, "sales")
    assert desired is not None
    target.registry.write_snapshot("sales", desired.record, encode_program(desired.program))
    plan_digest = digest_text("the last plan")
    applied = Applied(
        desired.digest, desired.record, "last", plan_digest, _AT, "bench", "", Approval("policy"), __version__, plan_digest
    )
    places = {name: Placement(f"sales/{name}", 0, 0) for name in ("orders", "revenue")}
    versions = {"table:orders": ObjectVersions("table:orders", 0, 0)}
    versions["view:revenue"] = ObjectVersions("view:revenue", count - 1, count - 1)
    head = Head("sales", applied=applied, published=Published(count, _AT, places), last_step=count, versions=versions)
    target.registry.replace_head(None, head, "first")
    one, pinned = _revenue(desired), _revenue(_desired_with(target, folder, _other(_SQL, _PINNED)))
    for begin in range(0, count, _A_COMMIT):
        numbers = range(begin, min(begin + _A_COMMIT, count))
        same = {"object": "view:revenue", "name": "revenue", "at": _AT, "by": "bench", "commit": "", "apply_id": "some"}
        rows = [
            {
                **same,
                "number": str(number),
                "step": str(number),
                "author": "bench",
                "approval": "policy",
                "approved_by": "",
                "plan_digest": plan_digest,
                "reconciler": __version__,
                "fingerprint": one.fingerprint if number == count - 1 else digest_text(f"version {number}"),
                "definition": canonical_json(_definition(dict(one.definition), number, count)),
                "content": canonical_json(
                    (one if number == count - 1 else pinned).content
                    if number in (count - 1, _PINNED)
                    else {**one.content, "known_as": [f"folded:{digest_text(f'version {number}')}"]}
                ),
            }
            for number in numbers
        ]
        target.registry.append(History.VERSIONS, "sales", rows, numbers[-1])
        spans = [{**same, "number": str(number), "step": str(number)} for number in numbers]
        target.registry.append(History.ACTIVATIONS, "sales", spans, numbers[-1])
    return root


def _definition(definition: dict[str, object], number: int, count: int) -> dict[str, object]:
    if number == count - 1:
        return definition
    return {name: _other(text, number) if isinstance(text, str) else text for name, text in definition.items()}


def _other(text: str, number: int) -> str:
    """What version `number` says in place of what the last one says."""
    return text.replace("SUM(price)", f"SUM(price) + {number}")


def _desired_with(target: Target, folder: Path, sql: str) -> Snapshot:
    """What the files would mean if they said this; they say afterwards what they said."""
    (folder / "program.sql").write_text(sql)
    found = read_desired(target, "sales")
    (folder / "program.sql").write_text(_SQL)
    assert found is not None
    return found


def _revenue(snapshot: Snapshot) -> VersionedObject:
    return versioned_objects(snapshot.program, frozenset({"view:revenue"}))["view:revenue"]


if __name__ == "__main__":
    main()
