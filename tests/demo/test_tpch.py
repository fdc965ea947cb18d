"""The pipeline `tpch` at scale 0.002: the data's tables have the declared columns, and each view equals its query as another
engine (deltalake's, which is not Spark) answers it over the source."""

import json
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, QueryBuilder

from reconciler.engine.protocol import Engine
from reconciler.service.project import Project

ROOT = Path(__file__).parents[2]
SCALE = "0.002"
VIEWS = ("q1", "q3", "q5", "q6", "q10")
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
# Keys are 64-bit in the generated files and INTEGER in the pipeline, as in the seed: the connector casts, strictly.
TYPES = {"long": "integer", "decimal(15,2)": "decimal(15,2)", "date": "date", "string": "string", "integer": "integer"}


def generate(out: Path, scale: str = SCALE) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(ROOT / "demo/tpch_data.py"), "--scale", scale, "--out", str(out)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated tables."""
    out = tmp_path_factory.mktemp("source") / "tpch"
    done = generate(out)
    assert done.returncode == 0, done.stderr
    return out


def columns(table: Path) -> list[tuple[str, str]]:
    fields = json.loads(DeltaTable(str(table)).schema().to_json())["fields"]
    return [(field["name"].lower(), str(field["type"])) for field in fields]


def rows(sql: str, **tables: Path) -> list[tuple[str, ...]]:
    """The rows of a query by deltalake, sorted, decimals rounded: the engines differ in the scale of averages."""
    builder = QueryBuilder()
    for name, table in tables.items():
        builder = builder.register(name, DeltaTable(str(table)))
    batch = builder.execute(sql).read_all()
    values = [[_comparable(value) for value in batch.column(index).to_pylist()] for index in range(batch.num_columns)]
    return sorted(zip(*values, strict=True))


def _comparable(value: Any) -> str:
    return f"{round(value, 4):f}" if isinstance(value, Decimal) else str(value)


def test_generating_again_changes_nothing_and_another_scale_is_refused(source: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in source.rglob("*")}
    assert generate(source).returncode == 0
    refused = generate(source, "0.03")
    assert refused.returncode == 1
    assert f"scale {SCALE}" in refused.stderr
    assert {path: path.stat().st_mtime_ns for path in source.rglob("*")} == before
    assert [path.name for path in source.parent.iterdir()] == ["tpch"]


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    refused = generate(tmp_path)
    assert refused.returncode == 1
    assert "not a folder of TPC-H tables" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


@pytest.mark.spark
def test_views_equal_their_queries_by_another_engine(source: Path, tmp_path: Path, spark_engine: Engine) -> None:
    shutil.copytree(ROOT / "pipelines/tpch", tmp_path / "pipelines/tpch")
    environment = f"{{warehouse: warehouse, variables: {{tpch: {json.dumps(str(source))}}}}}"
    (tmp_path / "reconcile.yaml").write_text(f"environments:\n  dev: {environment}\n")
    pipeline = Project.open(tmp_path, engine=spark_engine).pipeline("tpch")
    pipeline.apply()
    [step] = pipeline.run_once().steps
    assert sum(step.rows.values()) == 17_307

    warehouse = tmp_path / "warehouse/tpch"
    sources = {name: source / name for name in TABLES}
    for name in TABLES:
        assert columns(warehouse / name) == [(column, TYPES[kind]) for column, kind in columns(source / name)]
        assert DeltaTable(str(warehouse / name)).count() == DeltaTable(str(source / name)).count()
    for name in VIEWS:
        query = (tmp_path / f"pipelines/tpch/{name}.sql").read_text().partition(" AS\n")[2].rstrip().removesuffix(";")
        expected = rows(query, **sources)
        assert expected, name
        assert rows(f"SELECT * FROM {name}", **{name: warehouse / name}) == expected, name
