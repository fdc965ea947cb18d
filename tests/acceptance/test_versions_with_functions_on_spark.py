"""Two bodies of one function in one query, on real Spark: an old version that calls its own, over a plain view that calls
today's, in SQL and in Python; and a plain view as it was."""

from pathlib import Path

import pytest

from reconciler.engine.protocol import Engine
from tests.acceptance.command_line import CommandLine
from tests.acceptance.shop import stored_rows, write_shop

pytestmark = [pytest.mark.spark, pytest.mark.both_ways]

READS = "  versions: {reads: true}\n  functions: {tax: {deterministic: true}}\n"
MAINTAIN = READS + "  views: {total: {versions: {v0: {maintain: true}}}}\n"
SQL = """\
CREATE TABLE orders (id BIGINT, price INT);
CREATE FUNCTION tax(x INT) RETURNS INT;
CREATE FUNCTION gross(x INT) RETURNS INT AS x + tax(x);
CREATE VIEW shown AS SELECT id, gross(price) AS shown FROM orders;
CREATE MATERIALIZED VIEW total AS SELECT s.id, s.shown, gross(o.price) AS own FROM shown s JOIN orders o ON s.id = o.id;
"""


def write(root: Path, rate: int, more: str) -> None:
    write_shop(root, SQL, "allow", more)
    udf = root / "pipelines" / "shop" / "udf"
    udf.mkdir(exist_ok=True)
    (udf / "rates.py").write_text(f"RATE = {rate}\n")
    (udf / "taxes.py").write_text("from rates import RATE\n\n\ndef tax(x):\n    return x * RATE\n")


@pytest.mark.slow
def test_two_bodies_of_one_function_serve_side_by_side(
    tmp_path: Path, spark_engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    command = CommandLine(tmp_path, capsys, spark_engine)
    write(tmp_path, 2, READS)
    command("apply", "shop")
    command("execute", "shop", "INSERT INTO orders VALUES (1, 10)")
    write(tmp_path, 3, MAINTAIN)
    command("apply", "shop")
    command("execute", "shop", "INSERT INTO orders VALUES (2, 100)")
    assert stored_rows(tmp_path, "total") == [(1, 40, 40), (2, 400, 400)]
    # What it reads is as it is now, and what it calls as it was.
    assert stored_rows(tmp_path, "total-v0") == [(1, 40, 30), (2, 400, 300)]
    query = "SELECT n.shown, o.shown AS old, gross(1) AS now FROM shown n JOIN shown@v0 o ON o.id = n.id"
    assert "40,30,4" in command("query", "shop", query, "--format", "csv")
