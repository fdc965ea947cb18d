"""What rows meet by themselves is decided as Spark decides it."""

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from reconciler.engine.protocol import Engine, Selection
from reconciler.engine.spark.met_conditions import meeting
from reconciler.sql.row_condition import RowCondition, Sign, Value

TEXTS = ["", "for", "forest", "Forest", "a forest", "x\nforest y", "wald é", "\x00for", "for ", "forfor", "%", None]
DAYS = [date(1, 1, 1), date(1994, 1, 1), date(1994, 12, 31), date(2024, 2, 29), date(9999, 12, 31), None]
PRICES = [Decimal("-0.01"), Decimal(0), Decimal("0.05"), Decimal("1.50"), Decimal("99999999.99"), None]
NUMBERS = [-(2**31), -1, 0, 1, 24, 2**31 - 1, None]
COLUMNS: dict[str, tuple[str, pa.DataType, list[Any]]] = {
    "word": ("STRING", pa.string(), TEXTS),
    "day": ("DATE", pa.date32(), DAYS),
    "price": ("DECIMAL(10,2)", pa.decimal128(10, 2), PRICES),
    "fine": ("DECIMAL(38,18)", pa.decimal128(38, 18), [Decimal("1.000000000000000001"), Decimal(1), Decimal(10**19), None]),
    "n": ("INT", pa.int32(), NUMBERS),
    "small": ("TINYINT", pa.int8(), [-128, 0, 127, None]),
    "large": ("BIGINT", pa.int64(), [-(2**63), 0, 24, 2**63 - 1, None]),
}
ORDERED = (Sign.LESS, Sign.AT_MOST, Sign.MORE, Sign.AT_LEAST)


def conditions() -> list[RowCondition]:
    found = [
        RowCondition("word", sign, (text,)) for sign in (Sign.BEGINS, Sign.ENDS, Sign.HOLDS) for text in ("for", "F", "y")
    ]
    values: dict[str, tuple[Value, ...]] = {
        "day": (date(1994, 1, 1), date(2024, 2, 29)),
        "price": (Decimal("0.05"), Decimal("1.5"), Decimal("0.055"), Decimal(0), Decimal("-0.01"), Decimal(10**17)),
        "fine": (Decimal(1), Decimal(3 * 10**9), Decimal(10**17)),
        "n": (0, 24, -1, 10**12),
        "small": (0, 127, 300),
        "large": (24, -1, 10**17),
    }
    found += [RowCondition(name, sign, (one,)) for name, of in values.items() for one in of for sign in ORDERED]
    found += [RowCondition(name, Sign.AMONG, of) for name, of in values.items()]
    return [*found, RowCondition("word", Sign.AMONG, ("for", "", "%")), RowCondition("word", Sign.AMONG, ("Forest",))]


@pytest.mark.spark
def test_rows_meet_what_they_meet_on_spark(spark_engine: Engine) -> None:
    spark_engine.select(Selection("SELECT 1", (), {}))
    from reconciler.engine.spark.session import start

    session: SparkSession = start().newSession()
    tables = {}
    for name, (kind, arrow, values) in COLUMNS.items():
        session.createDataFrame(list(enumerate(values)), f"id INT, {name} {kind}").createOrReplaceTempView(f"of_{name}")
        tables[name] = pa.table({"id": pa.array(range(len(values)), pa.int32()), name.upper(): pa.array(values, arrow)})
    asked = conditions()
    query = " UNION ALL ".join(
        f"SELECT {at} AS at, id FROM of_{one.column} WHERE {one.text}" for at, one in enumerate(asked)
    )
    wanted: dict[int, list[int]] = {at: [] for at in range(len(asked))}
    for at, id_ in session.sql(query).collect():
        wanted[at].append(id_)

    for at, one in enumerate(asked):
        met = meeting(tables[one.column], (one,)).column("id").to_pylist()
        # What a column can't hold is not looked for.
        is_looked_at = not {300, 10**12, Decimal("0.055")} & {*one.values}
        assert met == sorted(wanted[at]) or (not is_looked_at and {*met} >= {*wanted[at]}), one.text


def test_rows_stay_where_it_can_not_be_told() -> None:
    rows = pa.table({"n": pa.array([1, 2], pa.int32()), "list": pa.array([[1], [2]])})
    assert meeting(rows, (RowCondition("other", Sign.AMONG, (1,)), RowCondition("list", Sign.AMONG, (1,)))) == rows
    assert meeting(rows, (RowCondition("n", Sign.BEGINS, ("1",)), RowCondition("n", Sign.MORE, (1,)))) == rows.slice(1)
