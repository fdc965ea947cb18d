"""H941: a plan says where a change takes away the method by which a view follows what changes."""

import pytest

from tests.plan.test_hazards import between, codes, program

SALES = (
    "CREATE TABLE sales (good VARCHAR, amount DECIMAL(10,2));\n"
    "CREATE VIEW paid AS SELECT good, amount FROM sales WHERE amount > 0;\n"
)
SUMS = "SELECT good, SUM(amount) AS amount FROM paid GROUP BY good"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (SALES, SALES.replace("amount > 0", "amount > rand()"), ["rand may give another value each time"]),
        # Its groups are computed anew one by one.
        (SALES, SALES.replace("DECIMAL(10,2)", "DOUBLE"), []),
        (SALES, SALES.replace("VIEW paid", "VIEW paid (good, amount)"), ["it reads paid, which is computed in place"]),
        (SALES, SALES.replace("amount > 0", "amount > 1"), []),
        (SALES.replace("DECIMAL(10,2)", "DOUBLE"), SALES.replace("DECIMAL(10,2)", "FLOAT"), []),
    ],
)
def test_a_view_that_no_longer_follows_what_changes(before: str, after: str, expected: list[str]) -> None:
    view = f"CREATE MATERIALIZED VIEW revenue AS {SUMS};"
    found = [one for one in between(program(before + view), program(after + view)) if one.code == "H941"]
    prefix, suffix = "view revenue no longer follows what changes (", "): each step computes it from its query"
    assert [one.message for one in found] == [f"{prefix}{why}{suffix}" for why in expected]


def test_whether_a_view_follows_is_told_of_stored_ones_that_did() -> None:
    stored = program(f"{SALES}CREATE MATERIALIZED VIEW revenue AS {SUMS};")
    for other in (SUMS.replace("SUM", "MAX"), SUMS.replace("SUM", "COUNT")):
        assert codes(between(stored, program(f"{SALES}CREATE MATERIALIZED VIEW revenue AS {other};")), "H941") == []
    spread = SUMS.replace("SUM", "collect_list")
    assert codes(between(stored, program(f"{SALES}CREATE MATERIALIZED VIEW revenue AS {spread};")), "H941") == ["revenue"]
    assert codes(between(program(SALES), program(f"{SALES}CREATE MATERIALIZED VIEW revenue AS {spread};")), "H941") == []
    assert codes(between(stored, program(f"{SALES}CREATE VIEW revenue AS {spread};")), "H941") == []
