"""The greatest values of a table, by this process and by Spark where this process can't read it. Real Spark and Delta."""

from decimal import Decimal
from pathlib import Path

import pytest

from reconciler.delta.greatest_values import greatest_values
from reconciler.engine.protocol import Engine, Selection
from reconciler.materialize.late_rows import greatest_after, greatest_of_table
from reconciler.registry.placements import Placement
from tests.project.program.test_compile import compiled

pytestmark = pytest.mark.spark

COLUMNS = {
    "tiny": ("TINYINT", "1", "CAST(-5 AS TINYINT)", "CAST(7 AS TINYINT)", 7),
    "big": ("BIGINT", "1", "9007199254740993L", "9007199254740992L", 9_007_199_254_740_993),
    "exact": ("DECIMAL(38,2)", "1", "CAST('-0.10' AS DECIMAL(38,2))", "CAST('-0.11' AS DECIMAL(38,2))", Decimal("-0.10")),
    "single": ("FLOAT", "1", "FLOAT('Infinity')", "CAST(0.1 AS FLOAT)", 0.10000000149011612),
    "double": ("DOUBLE", "1", "DOUBLE('NaN')", "1e300D", 1e300),
    "never": ("DOUBLE", "1", "DOUBLE('NaN')", "DOUBLE('-Infinity')", None),
    "day": ("DATE", "INTERVAL 1 DAY", "DATE '1969-12-31'", "DATE '1600-01-01'", -1),
    "moment": ("TIMESTAMP", "INTERVAL 1 DAY", "TIMESTAMP '1970-01-01 00:00:01.000001Z'", "NULL", 1_000_001),
    "local": (
        "TIMESTAMP_NTZ",
        "INTERVAL 1 DAY",
        "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'",
        "NULL",
        253_402_300_799_999_999,
    ),
}
"""By name: type, LATENESS, two values, and the greatest of them."""
GREATEST = {name: row[4] for name, row in COLUMNS.items() if row[4] is not None}


@pytest.mark.parametrize("plain", [True, False], ids=["read here", "asked of Spark"])
def test_the_greatest_values_of_a_table(spark_engine: Engine, tmp_path: Path, plain: bool) -> None:
    from reconciler.engine.spark.session import start

    declared = ", ".join(f"{name} {row[0]} LATENESS {row[1]}" for name, row in COLUMNS.items())
    table = compiled(f"CREATE TABLE t ({declared});").program.tables["t"]
    spark_engine.select(Selection("SELECT 1", (), {}))
    location, session = str(tmp_path / "t"), start()
    stored = ", ".join(f"{name} {row[0]}" for name, row in COLUMNS.items())
    mapping = "" if plain else "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    session.sql(f"CREATE TABLE delta.`{location}` ({stored}) USING delta {mapping}")
    for place in (3, 2):
        values = ", ".join(str(row[place]) for row in COLUMNS.values())
        session.sql(f"INSERT INTO delta.`{location}` SELECT {values}")

    assert (greatest_values(location, list(COLUMNS), None, 2) is not None) is plain
    assert greatest_of_table(spark_engine, table, location, Placement(location, 2)) == GREATEST
    assert greatest_of_table(spark_engine, table, location, Placement(location, 2, greatest=_nothing())) == {}
    low, high = GREATEST | {"tiny": -100}, GREATEST | {"tiny": 100}
    assert greatest_after(spark_engine, table, location, low, (0, 2)) == GREATEST
    assert greatest_after(spark_engine, table, location, high, (0, 2)) == high


def _nothing() -> dict[str, str]:
    """As of a table that was known to have no values."""
    return dict.fromkeys(COLUMNS, "")
