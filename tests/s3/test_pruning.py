"""Pruning a warehouse on S3: on Spark as a whole, and dying at every boundary with tables of another writer."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import ReconcileError
from reconciler.delta.opening import open_table
from reconciler.engine.spark.setup import install
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.testing.crashes import Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter
from tests.s3.lake import S3Lake
from tests.s3.server import Bucket
from tests.s3.test_warehouse import ROOT, python

FIRST = """\
CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, price INT);
CREATE MATERIALIZED VIEW total AS SELECT SUM(price) AS total FROM orders;
"""
SECOND = FIRST.replace("SUM(price)", "SUM(price) * 2")
THIRD = FIRST.replace("SUM(price)", "SUM(price) * 3")
LEFT = (1, 5, 6)
"""What stays of the table of `total`: v0 at its last step, the checkpoint, and what is published."""
SPEC = """\
  versions: {reads: true}
  evolution: evolve
  retention: {versions: 0, steps: 0s}
  runtime: {workers: 2, memory: 1g, shuffle_partitions: 2}
"""


def write(root: Path, bucket: Bucket, program: str) -> None:
    write_shop(root, program, more=SPEC)
    (root / "reconcile.yaml").write_text(f"environments: {{dev: {{warehouse: 's3://{bucket.name}/lake'}}}}\n")


def build(root: Path, bucket: Bucket, shop: Pipeline) -> None:
    """total v0 has an alias, v1 has nobody, v2 is active; checkpoint `then` was made before the last step."""
    write(root, bucket, FIRST)
    shop.apply()
    shop.execute("INSERT INTO orders VALUES (1, 10)")
    write(root, bucket, SECOND)
    shop.apply()
    shop.execute("INSERT INTO orders VALUES (2, 20)")
    write(root, bucket, THIRD)
    shop.apply()
    shop.execute("INSERT INTO orders VALUES (3, 30)")
    shop.checkpoint("then")
    shop.execute("INSERT INTO orders VALUES (4, 40)")
    shop.put_alias("total@first", "v0")


def read(shop: Pipeline, sql: str, step: int | None = None) -> Any:
    """The rows, or the code of the error."""
    try:
        return [list(row) for row in shop.select(sql, step).rows]
    except ReconcileError as error:
        return error.code


def kept(shop: Pipeline) -> list[Any]:
    """What no prune may touch."""
    return [read(shop, f"SELECT * FROM {name} ORDER BY 1") for name in ("orders", "total", "total@v0")]


def gone(shop: Pipeline) -> list[Any]:
    """What a prune takes."""
    return [read(shop, "SELECT * FROM total@v1"), read(shop, "SELECT * FROM total", 3)]


def needed(bucket: Bucket, relation: str, *versions: int) -> set[str]:
    """The files of versions of a table."""
    found: set[str] = set()
    for version in versions:
        table = open_table(f"s3://{bucket.name}/lake/shop/{relation}", version)
        assert table is not None
        found |= set(table.get_add_actions(flatten=True)["path"].to_pylist())
    return found


def stored(bucket: Bucket, relation: str) -> set[str]:
    """All that lies in a table's folder, but for its log."""
    paths = S3Lake(bucket).paths(f"s3://{bucket.name}/lake/shop/{relation}")
    return {path for path in paths if not path.startswith("_delta_log/")}


def left(bucket: Bucket) -> tuple[set[str], set[str]]:
    """What is there of the table of `total`: rows, and folders."""
    paths = stored(bucket, "total")
    return {path for path in paths if path.endswith(".parquet")}, {path.partition("/")[0] for path in paths}


def folders_needed(bucket: Bucket) -> set[str]:
    return {path.partition("/")[0] for path in needed(bucket, "total", *LEFT)}


WORK = """
import json, sys
from pathlib import Path
from reconciler import Project
from reconciler.testing.crashes import Crash, crash_at
from tests.s3.server import Bucket
from tests.s3.test_pruning import build, gone, kept

def tell(*values):
    print(json.dumps(values, default=str), flush=True)
    sys.stdin.readline()

root = Path(".").resolve()
with Project.open(root) as project:
    shop = project.pipeline("shop")
    build(root, Bucket(None, sys.argv[1]), shop)
    tell(kept(shop), gone(shop))
    try:
        shop.observed(boundary=crash_at("vacuum:before")).prune()
    except Crash:
        tell(kept(shop), gone(shop))
    done, again = shop.prune(), shop.prune()
    tell(sum(len(one.files) for one in done.folders), again.is_empty, kept(shop), gone(shop))
    shop.restore("then")
    tell(kept(shop), len(shop.run_once().steps), shop.plan().changes_nothing)
"""


@pytest.mark.slow
@pytest.mark.spark
def test_a_warehouse_on_s3_is_pruned_like_any_other(tmp_path: Path, bucket: Bucket) -> None:
    install(lambda message: None, s3=True)
    write(tmp_path, bucket, FIRST)
    environment = {**os.environ, **bucket.variables, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore", "-c", WORK, bucket.name]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None

            def told() -> Any:
                assert process.stdout is not None
                return json.loads(process.stdout.readline())

            def go_on() -> None:
                assert process.stdin is not None
                process.stdin.write("\n")
                process.stdin.flush()

            now, before = told()
            assert now == [[[1, 10], [2, 20], [3, 30], [4, 40]], [[300]], [[10]]]
            assert before == [[[60]], [[60]]]
            all_of_it = stored(bucket, "total")
            program = "from reconciler.cli.main import main; main(['prune', 'shop', '--dry-run'])"
            would = python(tmp_path, bucket, "-c", program, JAVA_HOME="/nowhere")
            assert (would.stderr, would.returncode) == ("", 0)
            assert ("total@v1" in would.stdout, "alias first" in would.stdout) == (True, True)
            assert stored(bucket, "total") == all_of_it
            go_on()
            assert told() == [now, ["X735", "X736"]], "it is recorded before the first file goes"
            assert stored(bucket, "total") == all_of_it
            go_on()
            files, is_empty, after, pruned = told()
            assert (files > 0, is_empty, after, pruned) == (True, True, now, ["X735", "X736"])
            # Of other folders that were staged, not even the marks.
            assert left(bucket) == (needed(bucket, "total", *LEFT), folders_needed(bucket))
            go_on()
            restored, steps, is_done = told()
            assert (restored[0], restored[1], steps, is_done) == ([[1, 10], [2, 20], [3, 30]], [[180]], 0, True)
            go_on()
            assert process.wait(60) == 0
        finally:
            process.kill()


@dataclass(frozen=True, slots=True)
class BucketWriter(DeltaWriter):
    """Vacuums a bucket."""

    lake: S3Lake

    def vacuum(self, location: str, files: Sequence[str]) -> None:
        table = open_table(location)
        named = set(table.get_add_actions(flatten=True)["path"].to_pylist()) if table is not None else set()
        for name in files:
            if name not in named:
                self.lake.take(location, name)


@pytest.mark.slow
def test_who_is_killed_leaves_what_the_next_prune_finishes(tmp_path: Path, bucket: Bucket) -> None:
    write(tmp_path, bucket, FIRST)
    with Project.open(tmp_path, engine=RecordingEngine(BucketWriter(S3Lake(bucket)))) as project:
        shop = project.pipeline("shop")
        build(tmp_path, bucket, shop)
        now, before, all_of_it = kept(shop), gone(shop), stored(bucket, "orders")
        assert all(isinstance(one, list) for one in before)
        for place in ("prune:intended", "prune:told", "prune:recorded", "vacuum:before", "vacuum:effected"):
            with pytest.raises(Crash):
                shop.observed(boundary=crash_at(place)).prune()
            assert gone(shop) == (before if place == "prune:intended" else ["X735", "X736"])
            # The first folder that loses files is that of orders.
            assert (stored(bucket, "orders") == all_of_it) == (place != "vacuum:effected")
        shop.prune()
        assert (kept(shop), gone(shop)) == (now, ["X735", "X736"])
        assert shop.prune().is_empty
        assert left(bucket) == (needed(bucket, "total", *LEFT), folders_needed(bucket))
        shop.restore("then")
