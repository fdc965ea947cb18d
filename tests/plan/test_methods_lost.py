"""H941: a plan says where a change takes away the method by which a view follows what changes. H942: it says where there is
none, if policy asks."""

import pytest

from reconciler.plan.hazards import Asked
from tests.plan.test_hazards import between, codes, program

SALES = (
    "CREATE TABLE sales (good VARCHAR, amount DECIMAL(10,2));\n"
    "CREATE VIEW paid AS SELECT good, amount FROM sales WHERE amount > 0;\n"
)
SUMS = "SELECT good, SUM(amount) AS amount FROM paid GROUP BY good"
PLACES = "SELECT good, rank() OVER (ORDER BY amount) AS amount FROM paid"


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
    spread = PLACES
    assert codes(between(stored, program(f"{SALES}CREATE MATERIALIZED VIEW revenue AS {spread};")), "H941") == ["revenue"]
    assert codes(between(program(SALES), program(f"{SALES}CREATE MATERIALIZED VIEW revenue AS {spread};")), "H941") == []
    assert codes(between(stored, program(f"{SALES}CREATE VIEW revenue AS {spread};")), "H941") == []


def test_a_view_that_has_no_method_is_told_where_policy_asks() -> None:
    spread = f"CREATE MATERIALIZED VIEW revenue AS {PLACES};"
    before, after = (
        program(SALES),
        program(f"{SALES}{spread}CREATE MATERIALIZED VIEW sums AS {SUMS};CREATE VIEW v AS {SUMS};"),
    )
    asked = Asked(codes=frozenset({"H942"}))
    assert codes(between(before, after), "H942") == []
    (found,) = (one for one in between(before, after, asked) if one.code == "H942")
    assert found.subject == "revenue"
    why = "a function with OVER and without PARTITION BY looks at all rows"
    assert found.message == f"view revenue is computed from its query in each step ({why})"
    counts = "CREATE MATERIALIZED VIEW counts AS SELECT COUNT(DISTINCT good) AS a, COUNT(DISTINCT amount) AS b FROM paid;"
    (found,) = (one for one in between(before, program(SALES + counts), asked) if one.code == "H942")
    assert found.message.endswith("; to change that: put each count into a MATERIALIZED view of its own)")


def test_a_view_that_does_not_change_or_goes_is_no_matter_of_its_method() -> None:
    spread = f"CREATE MATERIALIZED VIEW revenue AS {PLACES};"
    asked = Asked(codes=frozenset({"H942"}))
    both = program(f"{SALES}{spread}"), program(f"{SALES}{spread}CREATE TABLE other (id INT);")
    assert codes(between(*both, asked), "H942") == []
    assert codes(between(program(f"{SALES}{spread}"), program(SALES), asked), "H942") == []
    changed = program(f"{SALES}{spread.replace('FROM paid', 'FROM paid WHERE amount > 1')}")
    assert codes(between(program(f"{SALES}{spread}"), changed, asked), "H942") == ["revenue"]
