"""Functions, end to end on Spark: a change of what one imports modifies it and the views that call it, and nothing else."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from tests.served import run

pytestmark = [pytest.mark.spark, pytest.mark.both_ways]

FILES = {
    "reconcile.yaml": "environments: {dev: {warehouse: warehouse}}\n",
    "pipelines/shop/pipeline.yaml": """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec:
  functions:
    tax: {deterministic: true, description: What the state gets}
""",
    "pipelines/shop/program.sql": """\
CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, country STRING, total DECIMAL(10,2));

CREATE FUNCTION tax(amount DECIMAL(10,2), country STRING) RETURNS DECIMAL(10,2);
CREATE FUNCTION gross(amount DECIMAL(10,2), country STRING) RETURNS DECIMAL(10,2) AS amount + tax(amount, country);
CREATE FUNCTION half(amount DECIMAL(10,2)) RETURNS DECIMAL(10,2) AS amount / 2;

CREATE LOCAL VIEW priced AS SELECT id, Gross(total, country) AS price FROM orders;
CREATE MATERIALIZED VIEW prices AS SELECT id, price FROM priced;
CREATE MATERIALIZED VIEW taxes AS SELECT sum(tax(total, country)) AS taxes FROM orders;
CREATE MATERIALIZED VIEW halves AS SELECT id, half(total) AS half FROM orders;
CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM orders;
""",
    "pipelines/shop/udf/taxes.py": """\
from lib.rates import rate_of


def tax(amount, country):
    if amount is None:
        return None
    return amount * rate_of(country)
""",
    "pipelines/shop/udf/lib/rates.py": """\
from decimal import Decimal


def rate_of(country):
    return Decimal("0.19") if country == "DE" else Decimal("0.10")
""",
    "pipelines/shop/udf/unrelated.py": "def unrelated():\n    return 1\n",
}


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine) -> Path:
    """The pipeline, applied, with nothing in it. Copy it; don't change it."""
    root = tmp_path_factory.mktemp("applied")
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    assert run(["validate", "shop", "--repo", str(root)], spark_engine) == 0
    assert run(["apply", "shop", "--repo", str(root)], spark_engine) == 0
    return root


@pytest.fixture
def repository(applied: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(applied, tmp_path / "repository"))


def test_a_function_is_changed_with_what_it_imports(
    repository: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    def reconcile(*arguments: str, expect: int = 0) -> str:
        capsys.readouterr()
        code = run([*arguments, "--repo", str(repository)], spark_engine)
        captured = capsys.readouterr()
        assert code == expect, captured.out + captured.err
        return captured.out

    def rows(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in json.loads(reconcile("query", "shop", sql, "--format", "json"))["rows"]]

    def planned() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(reconcile("plan", "shop", "--format", "json"))["plans"][0]
        return found

    def edit(path: str, old: str, new: str) -> None:
        file = repository / "pipelines" / "shop" / path
        assert file.read_text().count(old) == 1
        file.write_text(file.read_text().replace(old, new))

    reconcile("execute", "shop", "INSERT INTO orders VALUES (1, 'DE', 100), (2, 'FR', 10), (3, 'FR', NULL)")
    assert rows("SELECT * FROM prices ORDER BY id") == [(1, "119.00"), (2, "11.00"), (3, None)]
    assert rows("SELECT taxes FROM taxes") == [("20.00",)]
    assert rows("SELECT half(TAX(total, country)) FROM orders ORDER BY id LIMIT 1") == [("9.50",)]

    edit("udf/unrelated.py", "return 1", "return 2")
    assert "  no changes\n" in reconcile("plan", "shop", "--detailed-exitcode")
    edit("udf/lib/rates.py", "def rate_of", "# Rates as of 2026.\ndef rate_of")
    assert "  results do not change; other changes:" in reconcile("plan", "shop", "--detailed-exitcode")

    edit("udf/lib/rates.py", "0.10", "0.20")
    plan = planned()
    assert plan["approval_diff"]["program_diff"]["modified_views"] == ["prices", "taxes"]
    text = reconcile("plan", "shop", "--detailed-exitcode", expect=2)
    assert "udf/lib/rates.py changed" in text
    assert "gross" in text
    assert rows("SELECT taxes FROM taxes") == [("20.00",)]
    reconcile("execute", "shop", "INSERT INTO orders VALUES (4, 'FR', 20)")
    assert rows("SELECT taxes FROM taxes") == [("22.00",)]

    reconcile("approve", "shop", plan["digest"])
    reconcile("apply", "shop")
    assert rows("SELECT * FROM prices ORDER BY id") == [(1, "119.00"), (2, "12.00"), (3, None), (4, "24.00")]
    assert rows("SELECT taxes FROM taxes") == [("25.00",)]
    assert "  no changes\n" in reconcile("plan", "shop", "--detailed-exitcode")


def test_a_function_that_fails_publishes_nothing(
    repository: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    def reconcile(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        code = run([*arguments, "--repo", str(repository)], spark_engine)
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    rates = repository / "pipelines/shop/udf/lib/rates.py"
    rates.write_text(rates.read_text() + "\n\ndef rate_of(country):\n    return {'DE': 1}[country]\n")
    (repository / "pipelines/shop/pipeline.yaml").write_text(
        FILES["pipelines/shop/pipeline.yaml"].replace("  functions:", "  bootstrap_policy: allow\n  functions:")
    )
    assert reconcile("execute", "shop", "INSERT INTO orders VALUES (1, 'FR', 100)")[0] == 0

    plan = json.loads(reconcile("plan", "shop", "--format", "json")[1])["plans"][0]
    assert reconcile("approve", "shop", plan["digest"])[0] == 0
    code, said = reconcile("apply", "shop")

    assert code == 1
    assert "X708: pipelines/shop/program.sql:3:1: " in said
    assert "function tax: KeyError: 'FR' (udf/lib/rates.py, line 9)" in said
    assert "10.00" in reconcile("query", "shop", "SELECT taxes FROM taxes")[1]

    settings = (repository / "pipelines/shop/pipeline.yaml").read_text()
    (repository / "pipelines/shop/pipeline.yaml").write_text(settings.replace("tax: {", "tax: {on_error: give_null, "))
    plan = json.loads(reconcile("plan", "shop", "--format", "json")[1])["plans"][0]
    assert "function tax: udf/lib/rates.py changed, now returns NULL on errors" in reconcile("plan", "shop")[1]
    reconcile("approve", "shop", plan["digest"])
    code, said = reconcile("apply", "shop")
    failed = "of tax failed and gave NULL, the first: function tax: KeyError: 'FR' (udf/lib/rates.py, line 9)"
    assert (code, f"1 row; 1 call {failed}" in said) == (0, True), said
    assert f"  prices: 1 call {failed}\n  taxes: 1 call {failed}\n" in reconcile("status", "shop")[1]
    assert reconcile("execute", "shop", "INSERT INTO orders VALUES (2, 'FR', 10), (3, 'DE', 5)")[0] == 0
    assert f"  prices: 2 calls {failed}" in reconcile("status", "shop")[1]
    samples = 'reconcile_relation_failed_calls{pipeline="shop",environment="dev",relation="taxes",function="tax"} 2'
    assert samples in reconcile("status", "shop", "--format", "prometheus")[1]
    assert "5.00" in reconcile("query", "shop", "SELECT taxes FROM taxes")[1]
    assert reconcile("execute", "shop", "DELETE FROM orders WHERE country = 'FR'")[0] == 0
    assert "failed" not in reconcile("status", "shop")[1]
    assert "  no changes\n" in reconcile("plan", "shop", "--detailed-exitcode")[1]
