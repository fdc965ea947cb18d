"""Rows here and there of a table with a key, on Spark: the table's file is written anew, and views follow the rows."""

import json
from collections import Counter
from pathlib import Path

import pytest

from reconciler.engine.protocol import Engine
from reconciler.environment.session import Session
from reconciler.environment.target import open_target
from reconciler.incremental.choice import FEW_ROWS
from reconciler.incremental.model import Way
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.service.project import Project
from tests.incremental.till import PIPELINE, sale, write_till
from tests.materialize.test_incremental_steps import ways

pytestmark = pytest.mark.spark

QUERIES = {
    "by_good": "SELECT good, COUNT(*) AS n, SUM(amount) AS amount FROM sales GROUP BY good",
    "by_kind": "SELECT g.kind, SUM(s.amount) AS amount FROM sales s JOIN goods g ON g.good = s.good GROUP BY g.kind",
    "dear": "SELECT id, amount * 2 AS amount FROM sales WHERE amount >= 20",
    "of_dear": "SELECT SUM(amount) AS amount FROM dear",
}
PROGRAM = "\n".join(
    [
        "CREATE TABLE sales (id BIGINT NOT NULL PRIMARY KEY, good STRING, amount BIGINT);",
        "CREATE TABLE goods (good STRING, kind STRING);",
        "CREATE TABLE visits (good STRING, who BIGINT);",
        *(f"CREATE MATERIALIZED VIEW {name} AS {query};" for name, query in QUERIES.items()),
    ]
)
MANY = FEW_ROWS + 5_000


def test_views_follow_rows_of_a_large_file(tmp_path: Path, spark_engine: Engine) -> None:
    write_till(tmp_path, PROGRAM)
    pipeline = Project.open(tmp_path, engine=spark_engine).pipeline(PIPELINE)
    pipeline.apply()

    def step(number: int, *records: dict[str, object], table: str = "sales") -> None:
        text = "".join(json.dumps(record) + "\n" for record in records)
        (tmp_path / f"source/{table}/{number:03}.json").write_text(text)
        run_pipeline(open_target(tmp_path, None), PIPELINE, Session(spark_engine), Pace(once=True))

    step(0, *({"insert": {"good": f"good {number}", "kind": f"kind {number % 7}"}} for number in range(50)), table="goods")
    step(0, *(sale(number, f"good {number % 50}", number % 200) for number in range(MANY)))
    for number in (1, 2):
        some = range(number, MANY, 1_250)
        step(number, *(sale(one, f"good {one % 49}", 150) for one in some), {"delete": {"id": 7 + number}})
        for name, query in QUERIES.items():
            held, asked = (Counter(map(repr, pipeline.query(one))) for one in (f"SELECT * FROM {name}", query))
            assert held == asked, name
    assert ways(tmp_path)[-1] == dict.fromkeys(QUERIES, Way.CHANGES)
