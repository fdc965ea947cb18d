"""Whether two programs ask the same of how a view is maintained: every part of the question is looked at."""

from dataclasses import replace

import pytest

from reconciler.incremental.derive import Questions
from reconciler.project.program.model import Program
from tests.project.program.test_compile import compiled

SQL = """\
CREATE TABLE sales (good VARCHAR, amount BIGINT);
CREATE TABLE goods (good VARCHAR);
CREATE MATERIALIZED VIEW large AS SELECT * FROM sales WHERE amount > 9;
CREATE VIEW paid AS SELECT good, amount FROM large WHERE amount > 0;
CREATE MATERIALIZED VIEW revenue AS SELECT good, SUM(amount) AS amount FROM paid GROUP BY good;
"""


def are_equal(applied: Program, desired: Program) -> bool:
    return Questions(applied, desired).are_equal(applied.views["revenue"], desired.views["revenue"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("CREATE TABLE goods (good VARCHAR)", "CREATE TABLE goods (good BIGINT)"),
        ("amount > 9", "amount > 8"),
        ("CREATE TABLE sales (good VARCHAR, amount BIGINT)", "CREATE TABLE sales (good VARCHAR, amount INT)"),
    ],
)
def test_what_it_does_not_read_is_no_part_of_it(before: str, after: str) -> None:
    assert are_equal(compiled(SQL).program, compiled(SQL.replace(before, after)).program)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SUM(amount)", "MAX(amount)"),
        ("VIEW revenue AS", "VIEW revenue (good, total) AS"),
        ("amount > 0", "amount > 1"),
        ("VIEW paid AS", "VIEW paid (good, amount) AS"),
        ("CREATE VIEW paid", "CREATE MATERIALIZED VIEW paid"),
        ("CREATE MATERIALIZED VIEW large", "CREATE VIEW large"),
        ("SELECT * FROM sales", "SELECT *, 1 AS one FROM sales"),
        ("SELECT * FROM sales", "SELECT amount, good FROM sales"),
    ],
)
def test_what_it_is_and_reads_is_part_of_it(before: str, after: str) -> None:
    assert not are_equal(compiled(SQL).program, compiled(SQL.replace(before, after)).program)
    assert not are_equal(compiled(SQL.replace(before, after)).program, compiled(SQL).program)


def test_so_are_settings_that_have_a_say() -> None:
    program = compiled(SQL).program
    for name, is_part in (("spark.sql.ansi.enabled", True), ("spark.sql.shuffle.partitions", False)):
        other = replace(program, settings=replace(program.settings, spark={name: "false" if is_part else "7"}))
        assert are_equal(program, other) is not is_part


@pytest.mark.parametrize("of", ["revenue", "paid"])
def test_and_functions_that_are_called(of: str) -> None:
    program = compiled(SQL).program
    views = {**program.views, of: replace(program.views[of], calls=("sum",))}
    assert not are_equal(program, replace(program, views=views))


def test_a_relation_that_turns_from_stored_to_not_is_another() -> None:
    """Also where another one, with the same query, turns the other way round."""
    sql = """\
CREATE TABLE sales (good VARCHAR, amount BIGINT);
CREATE MATERIALIZED VIEW one AS SELECT * FROM sales;
CREATE VIEW other AS SELECT * FROM sales;
CREATE MATERIALIZED VIEW revenue AS SELECT one.good FROM one JOIN other ON one.good = other.good;
"""
    turned = sql.replace("MATERIALIZED VIEW one", "VIEW one").replace("VIEW other", "MATERIALIZED VIEW other")
    assert not are_equal(compiled(sql).program, compiled(turned).program)


def test_what_is_read_counts_also_where_the_text_is_the_same() -> None:
    program = compiled(SQL).program
    view = program.views["revenue"]
    more = replace(view, reads=(*view.reads, replace(view.reads[0], relation="goods")))
    assert not are_equal(program, replace(program, views={**program.views, "revenue": more}))
