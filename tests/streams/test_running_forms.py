"""Which aggregates can go on from what they had."""

import pytest

from reconciler.streams.queries.running_forms import kept_values, running_form, running_problem

COLUMNS = (("i", "INT"), ("d", "DECIMAL(10,2)"), ("wide", "DECIMAL(30,4)"), ("s", "STRING"), ("unknown", None))


@pytest.mark.parametrize(
    "expression",
    [
        "count(*)",
        "COUNT( * )",
        "count(1)",
        "count(i)",
        "count_if(i > 1)",
        "sum(i)",
        "sum(i + 1)",
        "sum(d)",
        "sum(wide)",
        "sum(CAST(d * 2 AS DECIMAL(20, 2)))",
        "sum(CASE WHEN s = 'hot' THEN 1 ELSE 0 END)",
        "Sum(i) FILTER (WHERE i > 1 AND s IN ('a', 'b'))",
        "avg(i)",
        "mean(d)",
        "min(s)",
        "max(`s`)",
        "bool_and(i > 1)",
        "any(i > 1)",
        "first(s)",
        "last_value(s)",
        "max(coalesce(i, 0))",
        "sum(2e3)",
    ],
)
def test_these_can(expression: str) -> None:
    assert running_problem(expression, COLUMNS) is None
    assert running_form(expression, COLUMNS).kept


NO_CALL = "it is no call of one of avg, bool_and, bool_or, count, count_if, first, last, max, min, sum"


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("", NO_CALL),
        ("i", NO_CALL),
        ("sum", NO_CALL),
        ("sum()", NO_CALL),
        ("sum(*)", NO_CALL),
        ("percentile(i, 0.5)", NO_CALL),
        ("collect_list(i)", NO_CALL),
        ("sum(i", NO_CALL),
        ("sum(i, 'x)", NO_CALL),
        ("(sum(i))", NO_CALL),
        ("count(DISTINCT i)", "DISTINCT would have to keep all values; leave it out, or aggregate over a window"),
        ("sum(all i)", "leave ALL out: it says nothing"),
        ("count(i, s)", "it takes one argument"),
        ("first(s, true)", "it takes one argument"),
        ("sum(i) + 1", "nothing but FILTER (WHERE …) may follow the call; found '+ 1'"),
        ("sum(i) / count(*)", "nothing but FILTER (WHERE …) may follow the call; found '/ count(*)'"),
        ("first(s) IGNORE NULLS", "nothing but FILTER (WHERE …) may follow the call; found 'IGNORE NULLS'"),
        ("sum(i) OVER (ORDER BY i)", "nothing but FILTER (WHERE …) may follow the call; found 'OVER (ORDER BY i)'"),
        ("sum(i) FILTER (i > 1)", "nothing but FILTER (WHERE …) may follow the call; found 'FILTER (i > 1)'"),
        ("sum(s)", "it adds up values of type STRING; cast them to a number"),
        ("sum(d * 2)", "the type of what it adds up is not known; say it: CAST(… AS …)"),
        ("avg(i * 1.5)", "the type of what it adds up is not known; say it: CAST(… AS …)"),
        ("sum(unknown)", "the type of what it adds up is not known; say it: CAST(… AS …)"),
        ("avg(i + unknown)", "the type of what it adds up is not known; say it: CAST(… AS …)"),
        ("sum(2BD)", "the type of what it adds up is not known; say it: CAST(… AS …)"),
        ("sum(1 + CAST(s AS DECIMAL(3,1)))", "the type of what it adds up is not known; say it: CAST(… AS …)"),
        ("avg(wide)", "an average of DECIMAL(30,4) has more digits than can be kept; cast it to 24 digits at most"),
    ],
)
def test_these_cannot(expression: str, problem: str) -> None:
    assert running_problem(expression, COLUMNS) == problem


def test_without_columns_only_the_form_is_looked_at() -> None:
    assert running_problem("sum(d * 2)") is None
    assert running_problem("sum(d) * 2") is not None


def test_a_form_needs_an_aggregate_without_problem() -> None:
    with pytest.raises(ValueError, match="it is no call"):
        running_form("median(i)", COLUMNS)


def test_nothing_that_is_kept_of_an_aggregate_is_called_as_what_is_kept_of_another() -> None:
    names = ("x", "x_sum", "x_count", "sum_x", "count_x", "value_x")
    forms = [(name, running_form("avg(i)" if name.startswith("x") else "max(i)", COLUMNS)) for name in names]
    kept = [column for column, _ in kept_values(forms)]
    assert len(kept) == len(set(kept)) == 9
