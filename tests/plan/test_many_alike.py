"""Plans in which thousands go and thousands like them come: their texts stay short, and making them takes no square."""

import time

from reconciler.plan.operations.bootstrap_view import BootstrapView
from tests.diff.test_hidden_changes import snapshot
from tests.pace import at_usual_pace
from tests.plan.test_impact import plan_of

_MANY = 1_500


def _tables(name: str) -> str:
    return "".join(f"CREATE TABLE {name}{number} (id BIGINT, x STRING);\n" for number in range(_MANY))


def _columns(name: str) -> str:
    return f"CREATE TABLE t (id BIGINT, {', '.join(f'{name}{number} INT' for number in range(_MANY))});"


def test_tables_that_may_be_the_same_are_named_as_far_as_they_are_few() -> None:
    plan = plan_of(snapshot(_tables("a")), snapshot(_tables("b")))
    said = [hazard.message for hazard in plan.hazards if hazard.code == "H901"]
    assert len(said) == _MANY
    assert said[0].endswith(
        f"b0 or b1 or b10 or b100 or b1000 or one of {_MANY - 5} others, declare that under moved, and they are kept"
    )


def test_columns_that_may_be_the_same_are_named_as_far_as_they_are_few() -> None:
    plan = plan_of(snapshot(_columns("a")), snapshot(_columns("b")))
    said = [hazard.message for hazard in plan.hazards if hazard.code == "H913"]
    assert len(said) == _MANY
    assert f"b0 or b1 or b2 or b3 or b4 or one of {_MANY - 5} others" in said[0]


def test_what_stored_views_read_through_a_chain_is_put_together_once() -> None:
    links = "".join(f"CREATE VIEW v{number} AS SELECT a FROM v{number - 1};\n" for number in range(1, 3 * _MANY))
    ends = "".join(
        f"CREATE MATERIALIZED VIEW m{number} AS SELECT a FROM v{3 * _MANY - 1};\n" for number in range(3 * _MANY // 2)
    )
    after = snapshot(f"CREATE TABLE t (a INT);\nCREATE VIEW v0 AS SELECT a FROM t;\n{links}{ends}")
    began = time.process_time()
    plan = plan_of(None, after)
    assert at_usual_pace(time.process_time() - began) < 3
    assert {step.reads for step in plan.steps if isinstance(step, BootstrapView)} == {("t",)}
