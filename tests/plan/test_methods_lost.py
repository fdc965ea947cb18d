"""H941: a plan says where a change takes away the method by which a view follows what changes. H942: it says where there is
none, if policy asks. H943: it says where groups are computed anew that were kept."""

import pytest

from reconciler.plan.hazards import Asked
from reconciler.plan.hazards.readers import Beside
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
        # Its groups are computed anew one by one (H943).
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


def test_groups_that_are_kept_no_longer() -> None:
    before = program(f"{SALES}CREATE MATERIALIZED VIEW revenue AS {SUMS};")
    for desired, why in {
        SALES + f"CREATE MATERIALIZED VIEW revenue AS {SUMS.replace('SUM', 'STDDEV')};": "STDDEV has no rule",
        SALES.replace("DECIMAL(10,2)", "DOUBLE")
        + f"CREATE MATERIALIZED VIEW revenue AS {SUMS};": "SUM(amount) does not surely add up integers or decimals",
    }.items():
        (found,) = (one for one in between(before, program(desired)) if one.code in ("H941", "H943"))
        assert (found.code, found.subject) == ("H943", "revenue")
        assert found.message == (
            f"the groups of view revenue are no longer kept ({why}): "
            "each step computes those anew that changed, or all of them where the view has fewer than 1,000 rows"
        )
    latest = "SELECT good, amount FROM paid QUALIFY row_number() OVER (PARTITION BY good ORDER BY amount) = 1"
    after = program(f"{SALES}CREATE MATERIALIZED VIEW revenue AS {latest};")
    (found,) = (one for one in between(before, after) if one.code == "H943")
    assert found.message.startswith("the groups of view revenue are no longer kept: each step"), "it has no aggregate"
    assert codes(between(after, before), "H943") == []
    assert codes(between(after, program(f"{SALES}CREATE MATERIALIZED VIEW revenue AS {latest} + 1;")), "H943") == []


STORED = "CREATE MATERIALIZED VIEW prices AS SELECT good, least(amount, 5) AS price FROM sales;\n"
OVER_STORED = "CREATE MATERIALIZED VIEW totals AS SELECT good, SUM(price) AS price FROM prices GROUP BY good;\n"
COUNTED = OVER_STORED.replace("SUM(price)", "COUNT(*)")


def test_types_of_other_views_are_those_that_are_applied() -> None:
    applied = program(SALES + STORED + COUNTED)
    decimals, doubles = ({"prices": {"good": "string", "price": kind}} for kind in ("decimal(10,2)", "double"))
    for sql in (STORED + OVER_STORED, STORED.replace("5", "6") + OVER_STORED):
        desired = program(SALES + sql)
        assert codes(between(applied, desired, beside=Beside(types=decimals)), "H943") == []
        assert codes(between(applied, desired, beside=Beside(types=doubles)), "H943") == ["totals"]
        assert codes(between(applied, desired), "H943") == ["totals"], "it is not known"
    moved = program(SALES + (STORED + OVER_STORED).replace("prices", "costs"), "  moved:\n    - {from: prices, to: costs}\n")
    assert codes(between(applied, moved, beside=Beside(types=decimals)), "H943") == []
    asked = Asked(codes=frozenset({"H942"}))
    whole = OVER_STORED.replace("good, SUM", "SUM").replace(" GROUP BY good", "")
    assert codes(between(applied, program(SALES + STORED + whole), asked, Beside(types=decimals)), "H942") == []
    assert codes(between(applied, program(SALES + STORED + whole), asked, Beside(types=doubles)), "H942") == ["totals"]


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
