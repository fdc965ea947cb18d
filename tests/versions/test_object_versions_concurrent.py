"""Several processes that change one view at the same moment, each from a clone of its own, over one warehouse.

`tests/s3/test_versions.py` does it over a warehouse on S3.
"""

import json
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from reconciler.registry.protocol import History
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter

PROCESSES = 8
DEFINITIONS = 6
DEADLINE_SECONDS = 600.0

# Each brings two definitions in turn; others bring some of the same.
APPLY = """
import json, sys, time
from pathlib import Path
from reconciler.testing.recording import RecordingEngine
from reconciler.base.errors import LeaseHeld
from reconciler.service.project import Project
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter
from tests.versions.test_object_versions_concurrent import program, share

root, shared, warehouse = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
number, pause = int(sys.argv[4]), float(sys.argv[5])
landed, refused = [], 0
(shared / f"ready{number}").touch()
while not (shared / "go").exists():
    time.sleep(0.01)
for one in (number, number + 3):
    write_shop(root, program(one))
    share(root, warehouse)
    while True:
        try:
            result = Project.open(root, engine=RecordingEngine(DeltaWriter())).pipeline("shop").apply()
            break
        except LeaseHeld as error:
            assert error.code == "A503"
            refused += 1
            time.sleep(pause)
    landed.append(not result.did_nothing)
print(json.dumps({"landed": landed, "refused": refused}))
"""


def program(number: int) -> str:
    """One of the definitions, by any number."""
    which = number % DEFINITIONS
    return f"CREATE TABLE t (id BIGINT);\nCREATE MATERIALIZED VIEW v AS SELECT id + {which} AS id FROM t;\n"


def share(root: Path, warehouse: str) -> None:
    """Say where the warehouse is that a clone has in common with others."""
    (root / "reconcile.yaml").write_text(f"default: dev\nenvironments:\n  dev: {{warehouse: '{warehouse}'}}\n")


def test_every_definition_that_landed_is_one_version(tmp_path: Path) -> None:
    every_definition_that_landed_is_one_version(tmp_path, str(tmp_path / "shared" / "warehouse"), 0.02, processes=3)


def every_definition_that_landed_is_one_version(
    tmp_path: Path, warehouse: str, pause: float, processes: int = PROCESSES
) -> None:
    """Have the processes apply, and look at what they leave. They have the environment of this one; who was refused waits
    for `pause` seconds."""
    shared, first = tmp_path / "shared", tmp_path / "first"
    shared.mkdir()
    write_shop(first, program(0).replace("id + 0", "id - 1"))
    share(first, warehouse)
    Project.open(first, engine=RecordingEngine(DeltaWriter())).pipeline("shop").apply()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", APPLY, str(tmp_path / f"clone{number}"), str(shared), warehouse, str(number), str(pause)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    try:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while len(list(shared.glob("ready*"))) < processes:
            assert time.monotonic() < deadline
            assert all(process.poll() is None for process in started), [process.communicate() for process in started]
            time.sleep(0.05)
        (shared / "go").touch()
        outcomes = []
        for process in started:
            out, err = process.communicate(timeout=max(deadline - time.monotonic(), 1))
            assert process.returncode == 0, err
            outcomes.append(json.loads(out))
    finally:
        for process in started:
            process.kill()
            process.wait()

    assert sum(one["refused"] for one in outcomes) > 0, "they were in each other's way"
    registry = Project.open(first).target.registry
    stored = registry.head("shop")
    assert stored is not None
    head = stored.value
    assert head.journal is None
    assert head.published is not None
    rows = [row for row in registry.history(History.VERSIONS, "shop") if row["object"] == "view:v"]
    # The first one, and each of the others, as all of them were brought by somebody.
    assert sorted(int(row["number"]) for row in rows) == list(range(1 + DEFINITIONS))
    definitions = {json.loads(row["definition"])["query"] for row in rows}
    assert len(definitions) == len({row["fingerprint"] for row in rows}) == len(rows)
    spans = sorted(
        (int(row["step"]), int(row["number"]))
        for row in registry.history(History.ACTIVATIONS, "shop")
        if row["object"] == "view:v"
    )
    # Each apply that did something is one step, and one other version.
    assert len(spans) == 1 + sum(sum(one["landed"]) for one in outcomes)
    assert [step for step, _ in spans] == list(range(len(spans)))
    assert all(before[1] != after[1] for before, after in pairwise(spans))
    assert (head.versions["view:v"].active, head.versions["view:v"].last) == (spans[-1][1], DEFINITIONS)
    assert head.published.step == spans[-1][0]
    assert head.applied is not None
    objects = registry.snapshot("shop", head.applied.record or "")
    (query,) = [row["definition"]["query"] for row in objects if (row["kind"], row["name"]) == ("view", "v")]
    (active,) = [row for row in rows if int(row["number"]) == spans[-1][1]]
    assert json.loads(active["definition"])["query"] == query
