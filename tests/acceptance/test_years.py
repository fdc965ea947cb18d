"""Years that Spark knows and Python has no date for, in a column that a stored view shows: they fit, and the pipeline goes
on. Real Spark and Delta."""

from pathlib import Path

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import Engine
from tests.acceptance.shop import open_shop, write_shop

pytestmark = pytest.mark.spark

PROGRAM = """\
CREATE TABLE e (k INT, da DATE, at TIMESTAMP, within STRUCT<da: DATE>);
CREATE MATERIALIZED VIEW v AS SELECT * FROM e;
"""
MORE = """\
  connectors:
    - {name: i, table: e, transport: {name: file_input, config: {path: source/e}}, format: {name: json}}
    - {name: o, view: v, transport: {name: file_output, config: {path: out/v}}, format: {name: json}}
"""


def test_a_year_that_python_lacks_holds_up_nothing(tmp_path: Path, spark_engine: Engine) -> None:
    write_shop(tmp_path, PROGRAM, more=MORE)
    shop = open_shop(tmp_path, spark_engine)
    shop.apply()
    (tmp_path / "source/e").mkdir(parents=True)
    for number, day in enumerate(("2024-03-01", "20244-03-01", "-0001-01-01", "0000-01-01")):
        (tmp_path / f"source/e/{number}.json").write_text(
            f'{{"k": {number}, "da": "{day}", "at": "{day}T00:00:00Z", "within": {{"da": "{day}"}}}}\n', "utf-8"
        )
        shop.run_once()
    shop.execute("INSERT INTO e (k) VALUES (9)")
    shop.run_once()

    as_text = "SELECT k, CAST(da AS STRING) AS da, CAST(within.da AS STRING) AS w FROM v WHERE k < 9 ORDER BY k"
    assert [(row["da"], row["w"]) for row in shop.query(as_text)] == [
        ("2024-03-01", "2024-03-01"),
        ("+20244-03-01", "+20244-03-01"),
        ("-0001-01-01", "-0001-01-01"),
        ("0000-01-01", "0000-01-01"),
    ]
    with pytest.raises(EngineError, match="can't be shown"):
        shop.query("SELECT da FROM v")
    assert shop.status().state.value == "Stopped"

    # A view that is made anew, and one more version of it.
    write_shop(tmp_path, PROGRAM.replace("SELECT *", "SELECT k, da"), more=MORE)
    shop = open_shop(tmp_path, spark_engine)
    shop.apply()
    shop.run_once()
    assert [row["n"] for row in shop.query("SELECT COUNT(da) AS n FROM v")] == [4]
    sent = "".join(part.read_text("utf-8") for part in sorted((tmp_path / "out/v").rglob("part-*")))
    assert '"da":"+20244-03-01"' in sent
