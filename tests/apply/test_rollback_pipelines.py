"""Rollbacks where pipelines read each other, and rows that are kept of views that read other pipelines."""

from pathlib import Path

import pytest

from reconciler.apply.planning import plan_pipeline
from reconciler.plan.text_form import render_text
from tests.shops.two_pipelines import GRADES, SALES, Pair, two_pipelines
from tests.workspace.test_versions_in_views import allow

CENTS = SALES.replace("SUM(price) AS total", "SUM(price) * 100 AS total")
OTHER = GRADES.replace("r.total >= l.least", "r.total > l.least")


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    found = two_pipelines(tmp_path)
    found.apply("sales", "grades")
    found.sell((1, "Ada", 30))
    found.run()
    return found


def planned(pair: Pair, name: str = "grades") -> str:
    return render_text(plan_pipeline(pair.project.target, name))


def built(pair: Pair) -> list[str]:
    found = [call.view for call in pair.engine.calls if hasattr(call, "view")]
    pair.engine.calls.clear()
    return found


def test_rows_are_kept_and_current_where_the_other_pipeline_stands_still(pair: Pair) -> None:
    before = pair.rows("good")
    pair.write("grades", OTHER)
    pair.apply("grades")
    built(pair)
    pair.pipeline("grades").rollback("good")
    assert built(pair) == []
    assert pair.rows("good") == before


def test_rows_are_stale_once_the_other_pipeline_moved(pair: Pair) -> None:
    pair.write("grades", OTHER)
    pair.apply("grades")
    pair.sell((2, "Bob", 5))
    built(pair)
    pair.pipeline("grades").rollback("good")
    assert "good" in built(pair)


def test_readers_elsewhere_see_what_was_rolled_back(pair: Pair) -> None:
    pair.write("sales", CENTS)
    pair.apply("sales", "grades")
    assert "no changes" in planned(pair)
    pair.pipeline("sales").rollback("revenue")
    # What the files say of sales is held back: grades is planned for what sales has.
    assert "~ view good: bootstrapped" in planned(pair)
    pair.apply("grades")
    assert "no changes" in planned(pair)
    assert "rolled back: view revenue to v0" in planned(pair, "sales")
    pair.pipeline("sales").end_rollback("revenue")
    assert "~ view good: bootstrapped" in planned(pair)


def test_rows_computed_from_a_version_stay_current_whatever_follows_it(pair: Pair) -> None:
    pair.write("sales", CENTS)
    allow(pair, "sales")
    pair.apply("sales")
    frozen = GRADES + "CREATE MATERIALIZED VIEW then AS SELECT customer, total{} FROM sales.`revenue@v0`;\n"
    pair.write("grades", frozen.format(""))
    pair.apply("grades")
    before = pair.rows("then")
    pair.write("grades", frozen.format(" + 1 AS total"))
    pair.apply("grades")
    pair.sell((2, "Bob", 5))
    pair.run()
    built(pair)
    pair.pipeline("grades").rollback("then")
    assert built(pair) == []
    assert pair.rows("then") == before
