"""Plans of wide programs (`wide_programs`) carried out by Spark: whatever a plan leaves as it is, its query gives.

Run by itself: `pytest tests/plan/test_plans_are_right_on_spark.py -m slow`. Another range of seeds looks further:
`RECONCILE_SEEDS=100000:110000`.
"""

import os
from collections import Counter
from typing import Any

import pytest

from reconciler.engine.protocol import Engine
from reconciler.project.program.model import Program
from tests.engine.engines import session_of
from tests.plan.carried_out import Compute, Given, Tables, Tally, listed_names, needed, wrong_spares
from tests.plan.wide_programs import SETTINGS

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SEEDS = 5200
SPELLED_SEEDS = 600
PLANS = 3000
# Rows are few: what takes the time is to compile code and to schedule tasks.
_SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.cteRecursionRowLimit": "10000",
}


def _plain(value: Any) -> Any:
    """A value that can be counted, told from others by its fields, too."""
    if isinstance(value, dict):
        return ("map", tuple(sorted((key, _plain(one)) for key, one in value.items())))
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return repr(value)


def _table(columns: tuple[tuple[str, str], ...], rows: tuple[tuple[str, ...], ...]) -> str:
    listed = ", ".join(f"CAST(col{index} AS {kind}) AS {name}" for index, (name, kind) in enumerate(columns, 1))
    values = ", ".join(f"({', '.join(row)})" for row in rows or [("NULL",) * len(columns)])
    return f"SELECT {listed} FROM VALUES {values}{'' if rows else ' LIMIT 0'}"


@pytest.fixture(scope="module")
def computed(spark_engine: Engine) -> Compute:
    """Spark, as what computes a view."""
    from pyspark.errors import PySparkException

    session = session_of(spark_engine).newSession()
    for setting, text in _SETTINGS.items():
        session.conf.set(setting, text)

    def compute(program: Program, view: str, tables: Tables) -> Given | None:
        for setting in SETTINGS:
            session.conf.set(setting, program.settings.spark.get(setting, "false"))
        try:
            for key, function in program.functions.items():
                body = function.declaration.body
                text = getattr(body, "expression", "")
                session.sql(f"CREATE OR REPLACE TEMPORARY FUNCTION {key}(x INT) RETURNS INT RETURN {text}")
            for key in needed(program, view):
                listed = "" if key in tables else listed_names(program.views[key])
                query = _table(tables[key].columns, tables[key].rows) if key in tables else program.views[key].query
                session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {key}{listed} AS {query}")
            frame = session.table(view)
            columns = tuple((field.name.lower(), field.dataType.json()) for field in frame.schema.fields)
            return Given(columns, Counter(map(_plain, frame.collect())))
        except PySparkException:
            return None

    return compute


def _seeds() -> range:
    start, _, stop = os.environ.get("RECONCILE_SEEDS", f"0:{SEEDS}").partition(":")
    return range(int(start), int(stop))


def test_what_a_plan_leaves_shows_names_as_they_are_spelled(computed: Compute) -> None:
    tally, found = Tally(), []
    for seed in range(SPELLED_SEEDS):
        found += wrong_spares(seed, computed, tally, names_are_data=True, about_spelling=True)
    assert found == [], "\n".join(found[:5])
    assert tally.compared > SPELLED_SEEDS / 10


def test_what_a_plan_leaves_is_what_its_query_gives(computed: Compute) -> None:
    tally, found = Tally(), []
    for seed in _seeds():
        for wrong in wrong_spares(seed, computed, tally):
            # Told at once: the rest may take long.
            print(wrong, flush=True)
            found.append(wrong)
        if len(found) > 20:
            break
        if seed % 200 == 199:
            print(seed, tally, flush=True)
    assert found == [], "\n".join(found)
    if "RECONCILE_SEEDS" not in os.environ:
        assert tally.plans >= PLANS
        assert tally.spared > 300
