"""The same pipeline on a cluster as on one machine: started by `reconcile`, and by `spark-submit`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from reconciler import Project
from reconciler.engine.protocol import Engine
from reconciler.engine.spark.installation import spark_home
from tests.cells import mostly_slow
from tests.cluster.standalone import Cluster
from tests.few_rows import FEW_ROWS

ROOT = Path(__file__).parents[2]
# For starts that are short, as everything here is.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

PROGRAM = """\
CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, country STRING, total DECIMAL(10, 2));
CREATE FUNCTION tax(total DECIMAL(10, 2), country STRING) RETURNS DECIMAL(10, 2);
CREATE MATERIALIZED VIEW bills AS SELECT id, country, tax(total, country) AS tax FROM orders;
CREATE MATERIALIZED VIEW taxes AS SELECT country, sum(tax) AS tax, count(*) AS orders FROM bills GROUP BY country;
"""
FUNCTION = """\
from rates import RATES


def tax(total, country):
    return total * RATES[country]
"""
RATES = 'from decimal import Decimal\n\nRATES = {"DE": Decimal("0.19"), "FR": Decimal("0.20")}\n'
PIPELINE = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec:
  bootstrap_policy: allow
  runtime:
    workers: 2
    memory: 512m
    driver_memory: 600m
    shuffle_partitions: 2
    spark: {spark.sql.adaptive.enabled: false}
  functions: {tax: {deterministic: true}}
  connectors:
    - name: incoming
      table: orders
      transport: {name: file_input, config: {path: "${var:incoming}"}}
      format: {name: json}
"""


def repository(folder: Path, master: str) -> Path:
    shop = folder / "pipelines" / "shop"
    (shop / "udf").mkdir(parents=True)
    for name, text in {
        "program.sql": PROGRAM,
        "pipeline.yaml": PIPELINE,
        "udf/taxes.py": FUNCTION,
        "udf/rates.py": RATES,
    }.items():
        (shop / name).write_text(text)
    (folder / "incoming").mkdir()
    spark = {
        **FEW_ROWS,
        "spark.master": master,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.pyspark.python": sys.executable,
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.driver.extraJavaOptions": _JAVA_OPTIONS,
        "spark.executor.extraJavaOptions": _JAVA_OPTIONS,
    }
    variables = {"incoming": str(folder / "incoming")}
    environments = {
        "far": {"warehouse": "far", "variables": variables, "spark": spark},
        "near": {"warehouse": "near", "variables": variables},
    }
    (folder / "reconcile.yaml").write_text(yaml.safe_dump({"default": "far", "environments": environments}))
    return folder


def arrive(folder: Path, file: int) -> None:
    rows = [f'{{"id": {file * 100 + n}, "country": "{"DE" if n % 3 else "FR"}", "total": {n}.5}}\n' for n in range(100)]
    (folder / "incoming" / f"{file}.json").write_text("".join(rows))


def reconcile(folder: Path, *arguments: str) -> str:
    program = "import sys; from reconciler.cli.main import main; main(sys.argv[1:])"
    return _output([sys.executable, "-W", "ignore", "-c", program, *arguments], folder)


def _output(command: list[str], folder: Path, **more: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    return ran.stdout


def contents(folder: Path, environment: str, engine: Engine) -> dict[str, list[object]]:
    shop = Project.open(folder, environment, engine).pipeline("shop")
    return {name: sorted(map(str, shop.select(f"SELECT * FROM {name}").rows)) for name in ("orders", "bills", "taxes")}


@pytest.mark.spark
@pytest.mark.parametrize(
    "started", mostly_slow(["by spark-submit", "by reconcile, then by spark-submit"], "by spark-submit")
)
def test_a_cluster_gives_what_one_machine_gives(
    started: str, tmp_path: Path, cluster: Cluster, spark_engine: Engine
) -> None:
    folder = repository(tmp_path, cluster.master)
    for environment in ("near", "far"):
        Project.open(folder, environment, spark_engine).pipeline("shop").apply()
    earlier = set(cluster.executors())

    ways = started.split(", then ")
    for number, way in enumerate(ways, 1):
        arrive(folder, number)
        ran = reconcile(folder, "run", "shop", "--once") if way == "by reconcile" else submitted(folder, cluster)
        assert "100 row(s)" in ran

    near = Project.open(folder, "near", spark_engine).pipeline("shop")
    near.run_once()
    assert contents(folder, "far", spark_engine) == contents(folder, "near", spark_engine)
    assert len(contents(folder, "far", spark_engine)["bills"]) == 100 * len(ways)
    # The work was done by executors, one a worker, with the memory that the pipeline asks for.
    applications = [logs for name, logs in cluster.executors().items() if name not in earlier]
    assert len(applications) == len(ways)
    for logs in applications:
        texts = [log.read_text("utf-8", "replace") for log in logs]
        assert len(texts) == 2
        assert all("Running task" in text for text in texts)
        assert all('"-Xmx512M"' in text for text in texts)
        assert any(re.search(r"Python\w*Runner: Starting", text) for text in texts)


def submitted(folder: Path, cluster: Cluster) -> str:
    """A run that is started by `spark-submit`."""
    submit = [
        *(str(spark_home() / "bin" / "spark-submit"), "--master", cluster.master, "--driver-memory", "600m"),
        *("--driver-java-options", _JAVA_OPTIONS),
        *("--jars", reconcile(folder, "setup", "--jars").strip(), reconcile(folder, "setup", "--job").strip()),
    ]
    return _output([*submit, "run", "shop", "--once"], folder, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
