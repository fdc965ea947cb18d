"""Steps of views that follow what changes, on Spark: after the first ones none of their queries is planned any more,
whatever is kept of them and checked in them."""

import json
from collections import Counter
from pathlib import Path

import pytest

from reconciler.engine.protocol import Engine
from reconciler.environment.session import Session
from reconciler.environment.target import open_target
from reconciler.run.pace import Pace
from reconciler.run.running import run_pipeline
from reconciler.service.project import Project
from tests.engine.engines import jobs
from tests.incremental.till import BATCHES, FOLLOWING, PIPELINE, PROGRAM, QUERIES, put, sale, write_till

pytestmark = pytest.mark.spark

DATED = (
    "SELECT good, AVG(CAST(amount AS DECIMAL(12,2))) AS mean FROM sales "
    "WHERE date_add(DATE '1998-12-01', CAST(id AS INT)) >= DATE '1999-01-31' - INTERVAL 90 DAY "
    "AND DATE '1998-12-01' < DATE '1998-12-01' + INTERVAL 3 MONTH GROUP BY good"
)


def test_the_queries_of_steps_are_planned_once(tmp_path: Path, spark_engine: Engine) -> None:
    write_till(tmp_path, f"{PROGRAM}\nCREATE MATERIALIZED VIEW dated AS {DATED};\n")
    pipeline = Project.open(tmp_path, engine=spark_engine).pipeline(PIPELINE)
    pipeline.apply()

    def step() -> int:
        before = jobs()
        run_pipeline(open_target(tmp_path, None), PIPELINE, Session(spark_engine, choice=FOLLOWING), Pace(once=True))
        return jobs() - before

    put(tmp_path, *range(len(BATCHES)))
    step()
    took = []
    for number in range(4):
        text = json.dumps(sale(100 + number, ("tea", "pot", "cup", None)[number], 50 - number))
        (tmp_path / f"source/sales/{100 + number}.json").write_text(text)
        took.append(step())
    assert took[-1] == 0, took
    for name, query in {**QUERIES, "dated": DATED}.items():
        held, asked = (Counter(map(repr, pipeline.query(one))) for one in (f"SELECT * FROM {name}", query))
        assert held == asked, name
