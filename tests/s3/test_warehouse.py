"""A repository whose warehouse is on S3: planned, applied, run and queried; and who may write there.

The work is done in a process of its own, since a JVM takes the environment that it is started with.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import arro3.core
import pytest
from deltalake import write_deltalake

from reconciler.base.errors import ReconcileError, RegistryError
from reconciler.delta.opening import open_table
from reconciler.engine.spark.setup import install
from reconciler.environment.target import open_target
from tests.few_rows import FEW_ROWS
from tests.s3.server import Bucket

ROOT = Path(__file__).parents[2]

PROGRAM = """\
CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, total DECIMAL(10, 2));
CREATE TABLE history (id BIGINT);
CREATE MATERIALIZED VIEW totals AS SELECT customer, sum(total) AS total FROM orders GROUP BY customer;
"""
PIPELINE = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {{name: shop}}
spec:
  bootstrap_policy: allow
  runtime: {{workers: 2, memory: 1g, shuffle_partitions: 2}}
  connectors:
    - name: incoming
      table: orders
      transport: {{name: file_input, config: {{path: "s3://{bucket}/incoming"}}}}
      format: {{name: json}}
    - name: past
      table: history
      transport:
        name: delta_table_input
        config: {{uri: "s3://{bucket}/history", mode: snapshot, aws_skip_signature: "true"}}
"""
# Each call reads files and registry anew, as commands do.
FIRST_STEP = """
import json, sys
from reconciler import Project
from reconciler.base.errors import ReconcileError
with Project.open(".") as project:
    shop = project.pipeline("shop")
    shop.apply()
    try:
        shop.run_once()
        refused = "nothing"
    except ReconcileError as error:
        refused = str(error)
    totals = list(shop.query("SELECT customer, total FROM totals ORDER BY customer"))
    history = list(shop.query("SELECT id FROM history ORDER BY id"))
    json.dump([totals, history, refused], sys.stdout, default=str)
"""
# One Spark for all of it.
WORK = """
import json, sys
from pathlib import Path
from reconciler import Project
from reconciler.base.errors import ReconcileError
with Project.open(".") as project:
    shop = project.pipeline("shop")
    shop.apply()
    steps = [len(shop.run_once().steps), len(shop.run_once().steps)]
    totals = list(shop.query("SELECT customer, total FROM totals ORDER BY customer"))
    history = list(shop.query("SELECT id FROM history ORDER BY id"))
    shop.execute("DELETE FROM orders WHERE customer = 'Bob'")
    program = Path("pipelines/shop/program.sql")
    program.write_text(program.read_text().replace("AS total", "AS total, count(*) AS orders"))
    shop.apply()
    changed = list(shop.query("SELECT customer, total, orders FROM totals ORDER BY customer"))
    pipeline = Path("pipelines/shop/pipeline.yaml")
    for name, place in (("lake", "lake"), ("stray", "other/shop")):
        transport = f"{{name: delta_table_output, config: {{uri: 's3://{sys.argv[1]}/{place}/totals'}}}}"
        output = f"    - {{name: {name}, view: totals, send_snapshot: true, transport: {transport}}}\\n"
        pipeline.write_text(pipeline.read_text() + output)
    shop.apply()
    try:
        shop.run_once()
        refused = "nothing"
    except ReconcileError as error:
        refused = str(error)
    json.dump([steps, totals, history, changed, refused], sys.stdout, default=str)
"""


def repository(folder: Path, bucket: Bucket) -> Path:
    (folder / "pipelines" / "shop").mkdir(parents=True)
    warehouse = f"s3://{bucket.name}/warehouse"
    environments = {"dev": {"warehouse": warehouse, "spark": FEW_ROWS}}
    (folder / "reconcile.yaml").write_text(json.dumps({"environments": environments}))
    (folder / "pipelines" / "shop" / "program.sql").write_text(PROGRAM)
    (folder / "pipelines" / "shop" / "pipeline.yaml").write_text(PIPELINE.format(bucket=bucket.name))
    return folder


def python(folder: Path, bucket: Bucket, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, **bucket.variables, "PYTHONPATH": str(ROOT), **more}
    command = [sys.executable, "-W", "ignore", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False)


def planned(folder: Path, bucket: Bucket) -> str:
    """A plan, by a process that would find no Java."""
    program = "from reconciler.cli.main import main; main(['plan', 'shop'])"
    ran = python(folder, bucket, "-c", program, JAVA_HOME="/nowhere")
    assert (ran.stderr, ran.returncode) == ("", 0)
    return ran.stdout


def with_input(folder: Path, bucket: Bucket) -> Path:
    """The repository, and what its connectors read."""
    install(lambda message: None, s3=True)
    shop = repository(folder, bucket)
    # What anybody may read needs no signature.
    rows = arro3.core.Table.from_pydict({"id": arro3.core.Array([3, 4], type=arro3.core.DataType.int64())})
    write_deltalake(f"s3://{bucket.name}/history", rows)
    bucket.publish()
    bucket.put("incoming/one.json", '{"id": 1, "customer": "Ann", "total": 5}\n{"id": 2, "customer": "Bob", "total": 7.5}\n')
    return shop


ANN, BOB = {"customer": "Ann", "total": "5.00"}, {"customer": "Bob", "total": "7.50"}


@pytest.mark.spark
def test_a_pipeline_on_s3_is_applied_run_and_queried(tmp_path: Path, bucket: Bucket) -> None:
    """And an output into a warehouse is refused that only the store knows of."""
    shop = with_input(tmp_path, bucket)
    bucket.put("other/_registry/pipelines/_delta_log/00000000000000000000.json", "{}")
    with (shop / "pipelines/shop/pipeline.yaml").open("a") as pipeline:
        transport = f"{{name: delta_table_output, config: {{uri: 's3://{bucket.name}/other/shop/totals'}}}}"
        pipeline.write(f"    - {{name: stray, view: totals, send_snapshot: true, transport: {transport}}}\n")
    worked = python(shop, bucket, "-c", FIRST_STEP)
    assert worked.returncode == 0, worked.stderr
    *found, refused = json.loads(worked.stdout)
    assert found == [[ANN, BOB], [{"id": 3}, {"id": 4}]]
    assert f"its sink is inside the warehouse s3://{bucket.name}/other," in refused
    assert not bucket.keys("other/shop/")
    assert bucket.keys("warehouse/_registry/shop/head/_delta_log/")
    assert [path.name for path in sorted(shop.iterdir())] == ["pipelines", "reconcile.yaml"]


# In every run: the first step, by the test before.
@pytest.mark.slow
@pytest.mark.spark
def test_a_warehouse_on_s3_is_like_any_other(tmp_path: Path, bucket: Bucket) -> None:
    shop = with_input(tmp_path, bucket)
    assert "+ view totals" in planned(shop, bucket)
    # Of another project, which only the store knows of.
    bucket.put("other/_registry/pipelines/_delta_log/00000000000000000000.json", "{}")
    worked = python(shop, bucket, "-c", WORK, bucket.name)
    assert worked.returncode == 0, worked.stderr
    *found, refused = json.loads(worked.stdout)
    assert found == [[1, 0], [ANN, BOB], [{"id": 3}, {"id": 4}], [{**ANN, "orders": 1}]]
    assert f"its sink is inside the warehouse s3://{bucket.name}/other," in refused
    assert not bucket.keys("other/shop/")
    assert bucket.keys("lake/totals/_delta_log/"), "the other output goes on"
    assert "no changes" in planned(shop, bucket)
    assert bucket.keys("warehouse/_registry/shop/head/_delta_log/")
    # Nothing of it was kept in the repository.
    assert [path.name for path in sorted(shop.iterdir())] == ["pipelines", "reconcile.yaml"]


WRITER = """
import sys
from reconciler.delta.documents import DocumentTable
from reconciler.base.errors import RegistryConflict
document, mine = DocumentTable(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
for line in sys.stdin:
    expected = int(line) if line.strip() != "none" else None
    try:
        written = document.replace(expected, {"by": mine}, f"{mine}-{line.strip()}")
        print(f"won {written.version}", flush=True)
    except RegistryConflict as conflict:
        print(f"lost {conflict.code}", flush=True)
"""


def test_of_two_processes_that_replace_a_document_one_wins(bucket: Bucket) -> None:
    location = f"s3://{bucket.name}/document"
    environment = {**os.environ, **bucket.variables, "PYTHONPATH": str(ROOT)}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, location, name],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        for version in range(12):
            for writer in writers:
                assert writer.stdin is not None
                writer.stdin.write(f"{version - 1 if version else 'none'}\n")
                writer.stdin.flush()
            answers = sorted(writer.stdout.readline() for writer in writers if writer.stdout is not None)
            assert answers == ["lost G604\n", f"won {version}\n"]
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()


def test_what_can_not_be_looked_at_is_never_taken_for_nothing(bucket: Bucket) -> None:
    assert open_table(f"s3://{bucket.name}/nothing") is None
    with pytest.raises(RegistryError, match="list request") as raised:
        open_table("s3://no-such-bucket-here/nothing")

    assert (raised.value.code, "\x1b" in raised.value.message) == ("G602", False)


def test_one_place_on_s3_is_one_text(tmp_path: Path) -> None:
    for written in ("s3://lake/w", "s3a://lake/w/"):
        (tmp_path / "reconcile.yaml").write_text(f"environments: {{dev: {{warehouse: '{written}'}}}}\n")
        assert open_target(tmp_path, None).warehouse == "s3://lake/w"
    (tmp_path / "reconcile.yaml").write_text("environments: {dev: {warehouse: 'hdfs://name/w'}}\n")
    with pytest.raises(ReconcileError, match="only folders and S3") as raised:
        open_target(tmp_path, None)
    assert raised.value.code == "U815"


@pytest.mark.parametrize("registry", ["_registry", "lake/_registry", "lake/wh/shop/_registry"])
def test_a_warehouse_inside_another_one_is_refused(tmp_path: Path, bucket: Bucket, registry: str) -> None:
    (tmp_path / "pipelines" / "shop").mkdir(parents=True)
    (tmp_path / "reconcile.yaml").write_text(f"environments: {{dev: {{warehouse: 's3://{bucket.name}/lake/wh'}}}}\n")
    (tmp_path / "pipelines" / "shop" / "program.sql").write_text("CREATE TABLE t (id BIGINT);")
    (tmp_path / "pipelines" / "shop" / "pipeline.yaml").write_text(
        "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
    )
    assert "+ table t" in planned(tmp_path, bucket)
    bucket.put(f"{registry}/pipelines/_delta_log/00000000000000000000.json", "{}")
    ran = python(tmp_path, bucket, "-c", "from reconciler.cli.main import main; main(['plan', 'shop'])")
    around = registry.rpartition("/")[0]
    assert f"U821: environment dev has its warehouse at s3://{bucket.name}/lake/wh, and another" in ran.stderr
    assert f" s3://{bucket.name}{'/' if around else ''}{around}:" in ran.stderr
