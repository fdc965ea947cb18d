"""What functions make of rows: every function that is known, in every way in which its name can be written.

What surely makes one value of one row changes its own column only. All else decides rows: also what is not known.
"""

import pytest
from sqlglot import exp

from reconciler.sql.canonicalise import canonical_query
from reconciler.sql.check import analyse_query
from reconciler.sql.cross_joins import cross_joins
from reconciler.sql.query import Parsed, parse_query
from reconciler.sql.query_difference import changed_outputs
from reconciler.sql.repeatable import is_repeatable
from reconciler.sql.row_functions import kind_of_call
from reconciler.sql.words import FunctionKind, spark_functions

BEFORE = "SELECT 'all' AS k, e AS z FROM t"
SPELLINGS = ("{}(e)", "{}()", "{}(e, 1)", "`{}`(e)", "{} (e)", "system.builtin.{}(e)", "`builtin`.`{}` (e)", "1 + {}(e)")
OF_ROWS = [name for name, kind in spark_functions().items() if kind is not FunctionKind.SCALAR]
SCALARS = [name for name, kind in spark_functions().items() if kind is FunctionKind.SCALAR]
OVER_ROWS = (FunctionKind.AGGREGATE, FunctionKind.WINDOW)
RELATIONS: dict[str, dict[str, str | None]] = {
    "t": {"k": "STRING", "e": "ARRAY<FLOAT>", "b": "INT", "v": "VARIANT"},
    "u": {"a": "INT"},
}


def changed(before: str, after: str, functions: frozenset[str] = frozenset()) -> frozenset[str] | None:
    """The changed columns, the same in both directions."""
    texts = canonical_query(before), canonical_query(after)
    found = changed_outputs(*texts, (), (), functions)
    assert found == changed_outputs(*reversed(texts), (), (), functions)
    return found


@pytest.mark.parametrize("name", [*OF_ROWS, "not_known_to_anybody"])
def test_whatever_may_decide_rows_decides_them(name: str) -> None:
    for spelling in SPELLINGS:
        for written in (name, name.upper()):
            after = BEFORE.replace("e AS", spelling.format(written) + " AS")
            assert changed(BEFORE, after) is None, after


@pytest.mark.parametrize("name", SCALARS)
def test_what_surely_decides_none_changes_its_column_only(name: str) -> None:
    after = BEFORE.replace("e AS", f"{name}(e) AS")
    assert changed(BEFORE, after) == {"z"} or not isinstance(parse_query(after), Parsed)


@pytest.mark.parametrize("name", [name for name, kind in spark_functions().items() if kind in OVER_ROWS])
def test_over_makes_one_value_of_each_row(name: str) -> None:
    after = BEFORE.replace("e AS", f"{name}(e) OVER (ORDER BY k) AS")
    assert changed(BEFORE, after) == {"z"} or not isinstance(parse_query(after), Parsed)
    inside = BEFORE.replace("e AS", f"sum(vector_sum(e)) OVER (ORDER BY {name}(e)) AS")
    assert changed(BEFORE, inside) is None


def test_of_a_subquery_it_decides_the_rows_there() -> None:
    after = BEFORE.replace("e AS", "(SELECT vector_sum(e) FROM t) AS")
    assert changed(BEFORE, after) == {"z"}
    both = BEFORE.replace("e AS", "(SELECT vector_sum(e) FROM t) + vector_sum(e) AS")
    assert changed(BEFORE, both) is None


def test_a_function_of_the_pipeline_makes_one_value_of_one_row() -> None:
    after = BEFORE.replace("e AS", "Own(e) AS")
    assert changed(BEFORE, after) is None
    assert changed(BEFORE, after, frozenset({"own"})) == {"z"}
    assert changed(after, after.replace("(e)", "(vector_sum(e))"), frozenset({"own"})) is None


def test_what_both_sides_aggregate_is_one_row_on_both() -> None:
    before = "SELECT 'all' AS k, vector_avg(e) AS z, count(*) AS n FROM t"
    assert changed(before, before.replace("vector_avg(e)", "vector_sum(e)")) == {"z"}
    assert changed("SELECT k, e AS z FROM t GROUP BY k, e", "SELECT k, vector_sum(e) AS z FROM t GROUP BY k, e") == {"z"}
    assert changed("SELECT k, e AS z FROM t GROUP BY k, e", "SELECT k, nobody(e) AS z FROM t GROUP BY k, e") is None


@pytest.mark.parametrize("name", spark_functions())
def test_the_parser_takes_for_an_aggregate_what_is_one(name: str) -> None:
    """A function has another class and another name there, and with other arguments yet another."""
    for arguments in ("", "e", "e, 1", "e, 1, 2"):
        parsed = parse_query(f"SELECT {name}({arguments}) AS z FROM t")
        if isinstance(parsed, Parsed):
            call = parsed.tree.expressions[0].unalias()
            kind, known = kind_of_call(call), spark_functions()[name]
            assert (kind in OVER_ROWS) == (known in OVER_ROWS), (name, arguments, type(call))
            assert kind is known or known not in OVER_ROWS


@pytest.mark.parametrize("call", ["vector_sum(e)", "vector_avg(e)", "schema_of_variant_agg(v)", "`vector_sum`(e)"])
def test_columns_within_an_aggregate_are_aggregated(call: str) -> None:
    for query in (f"SELECT k, {call} AS z FROM t GROUP BY k", f"SELECT count(*) AS n, {call} AS z FROM t"):
        assert analyse_query(query, None, RELATIONS).diagnostics == ()


def test_an_aggregate_without_groups_gives_one_row() -> None:
    assert cross_joins(parse_query("SELECT 1 AS one FROM u, (SELECT vector_sum(e) AS s FROM t) x"), RELATIONS) == 0
    assert cross_joins(parse_query("SELECT 1 AS one FROM u, (SELECT vector_norm(e) AS s FROM t) x"), RELATIONS) == 1


@pytest.mark.parametrize("name", ["vector_sum", "vector_avg", "schema_of_variant_agg", "not_known_to_anybody"])
def test_what_may_depend_on_the_order_of_rows_is_not_repeatable(name: str) -> None:
    assert not is_repeatable(name, [])


def test_arguments_of_what_makes_rows_decide_rows() -> None:
    lineage = analyse_query("SELECT k, x FROM t LATERAL VIEW explode(e) y AS x", None, RELATIONS).lineage
    assert lineage is not None
    assert lineage.rows == (("t", "e"),)


COMPARED = ("e LIKE ANY ('a%')", "e NOT LIKE some ('a%', k)", "e ILIKE ANY (k, 'a')", "NOT e ILIKE SOME (('a'))")


@pytest.mark.parametrize("compared", COMPARED)
def test_a_comparison_with_any_of_many_aggregates_nothing(compared: str) -> None:
    after = BEFORE.replace("e AS", f"{compared} AS")
    assert changed(BEFORE, after) == {"z"}
    for aggregate in ("count(e)", "any(e)", "e LIKE (any(k))", "e RLIKE any(k)", f"max({compared})"):
        assert changed(after, BEFORE.replace("e AS", f"{aggregate} AS")) is None, aggregate
    query = "SELECT 1 AS one FROM u, (SELECT {} AS s FROM t) x"
    assert cross_joins(parse_query(query.format(compared)), RELATIONS) == 1
    assert cross_joins(parse_query(query.format(f"any({compared})")), RELATIONS) == 0


def test_every_node_of_the_parser_is_asked_about() -> None:
    assert kind_of_call(exp.column("a")) is None
    assert kind_of_call(exp.Any(this=exp.column("a"))) is FunctionKind.AGGREGATE
