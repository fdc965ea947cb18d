"""Relations of other pipelines in a query: what is read, where columns come from, and what Spark is given."""

import pytest

from reconciler.base.diagnostics import Diagnostic
from reconciler.sql.canonicalise import canonical_query
from reconciler.sql.check import analyse_query
from reconciler.sql.qualified_names import with_single_names
from reconciler.sql.query import parse_query
from reconciler.sql.references import named_relations
from reconciler.sql.surroundings import QuerySurroundings

KNOWN = {
    "sales.revenue": {"customer": "STRING", "total": None},
    "revenue": {"total": "INT", "own": "INT"},
    "limits": {"customer": "STRING", "least": "INT"},
}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT customer, total FROM sales.revenue",
        "SELECT revenue.customer, revenue.total FROM sales.revenue",
        "SELECT r.customer, r.total FROM `sales`.`revenue` r",
        "SELECT customer, total FROM `sales.revenue`",
        "SELECT * FROM Sales.Revenue",
        "WITH c AS (SELECT * FROM sales.revenue) SELECT customer, total FROM c",
        "WITH revenue AS (SELECT 1 AS one) SELECT s.customer, s.total FROM sales.revenue s JOIN revenue ON one = 1",
    ],
)
def test_columns_come_from_the_other_pipeline(query: str) -> None:
    found = analyse_query(query, None, KNOWN)
    assert found.diagnostics == ()
    assert [(read.relation, read.columns) for read in found.reads] == [("sales.revenue", ("customer", "total"))]
    assert [name for name, _ in found.columns] == ["customer", "total"]
    assert found.lineage is not None
    sources = [one.sources for one in found.lineage.outputs]
    assert sources == [(("sales.revenue", "customer"),), (("sales.revenue", "total"),)]


def test_one_name_in_two_pipelines_are_two_relations() -> None:
    found = analyse_query("SELECT s.total, o.own FROM sales.revenue s JOIN revenue o ON s.total = o.total", None, KNOWN)
    assert [(read.relation, read.columns) for read in found.reads] == [
        ("revenue", ("own", "total")),
        ("sales.revenue", ("total",)),
    ]


def test_names_are_those_that_the_query_gives() -> None:
    parsed = parse_query("SELECT * FROM sales.revenue JOIN `sales`.orders ON true JOIN limits ON true")
    assert named_relations(parsed, "") == ("limits", "sales.orders", "sales.revenue")


def test_why_a_relation_can_t_be_read_is_told_at_its_place() -> None:
    refused = {"sales.gone": Diagnostic("P370", "pipeline sales has no table or view 'gone'", None, "a hint")}
    found = analyse_query("SELECT *\nFROM sales.gone", None, KNOWN, around=QuerySurroundings(refused=refused))
    assert [(one.code, one.message, one.hint) for one in found.diagnostics] == [
        ("P370", "pipeline sales has no table or view 'gone'", "a hint")
    ]
    assert [one.code for one in analyse_query("SELECT * FROM sales.gone", None, KNOWN).diagnostics] == ["S220"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT total FROM sales.revenue", "SELECT total FROM `sales.revenue` AS `revenue`"),
        ("SELECT r.total FROM `Sales`.Revenue AS r", "SELECT r.total FROM `sales.revenue` AS r"),
        ("SELECT r.total FROM sales . revenue r, limits", "SELECT r.total FROM `sales.revenue` r, limits"),
        ("SELECT 1 FROM `sales.revenue`", "SELECT 1 FROM `sales.revenue`"),
        (
            "SELECT sales.revenue FROM sales JOIN (SELECT * FROM sales.revenue) ON 'sales.revenue' = x -- sales.revenue",
            "SELECT sales.revenue FROM sales JOIN (SELECT * FROM `sales.revenue` AS `revenue`) "
            "ON 'sales.revenue' = x -- sales.revenue",
        ),
        (
            "SELECT * FROM sales.revenue TABLESAMPLE (10 PERCENT)",
            "SELECT * FROM `sales.revenue` TABLESAMPLE (10 PERCENT)",
        ),
        (
            "SELECT 'ü', total FROM sales.revenue WHERE total IN (SELECT total FROM `my-shop`.revenue)",
            "SELECT 'ü', total FROM `sales.revenue` AS `revenue` WHERE total IN "
            "(SELECT total FROM `my-shop.revenue` AS `revenue`)",
        ),
        ("SELECT 1 |> where", "SELECT 1 |> where"),
    ],
)
def test_spark_is_given_one_name(query: str, expected: str) -> None:
    assert with_single_names(query) == expected


def test_letter_case_of_a_pipeline_s_name_is_no_change() -> None:
    one, other = "SELECT total FROM Sales.Revenue r", "select total from sales.Revenue as r"
    assert canonical_query(one) == canonical_query(other)
