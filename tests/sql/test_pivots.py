"""How many columns the PIVOTs of a query bring, and that they are counted in proportion to its words."""

import time

import pytest

from reconciler.sql.lexer import query_tokens
from reconciler.sql.limits import MAXIMUM_BROUGHT, MAXIMUM_TOKENS
from reconciler.sql.pivots import excessive_pivot, weight_of_pivot
from reconciler.sql.query import Parsed, parse_query
from tests.pace import at_usual_pace

EACH = 10


def numbers(count: int) -> str:
    return ", ".join(str(number) for number in range(count))


def aggregates(count: int) -> str:
    return ", ".join(f"max(a, {number}) AS a{number}" for number in range(count))


# Each makes a hundred times a hundred columns in all: as many as a query may bring.
MOST = {
    "aggregates and values": f"PIVOT ({aggregates(100)} FOR b IN ({numbers(100)}))",
    "values of several columns": f"PIVOT ({aggregates(4)} FOR (b, c) IN ({', '.join(['(1, array(2, 3))'] * 2_500)}))",
    "several PIVOTs": f"PIVOT ({aggregates(50)} FOR b IN ({numbers(100)})) PIVOT (max(a) FOR b IN ({numbers(5_000)}))",
    "one in another": (
        f"PIVOT ({aggregates(9)}, (SELECT 1 FROM t PIVOT (max(a) FOR b IN ({numbers(5_000)}))) FOR c IN ({numbers(500)}))"
    ),
}


@pytest.mark.parametrize("pivot", MOST.values(), ids=MOST.keys())
def test_each_aggregate_makes_a_column_of_each_value(pivot: str) -> None:
    assert MAXIMUM_BROUGHT == EACH * 100 * 100
    query = f"SELECT * FROM t {pivot}"
    assert excessive_pivot(query_tokens(query)) is None
    one_more = query.replace(" IN (", " IN (1, ")
    for text in (one_more, one_more.rstrip(")")):
        found = excessive_pivot(query_tokens(text))
        assert found is not None
        assert found.text == "PIVOT"


def test_the_parser_makes_as_many() -> None:
    parsed = parse_query(f"SELECT * FROM t PIVOT ({aggregates(7)} FOR b IN ({numbers(11)}))")
    assert isinstance(parsed, Parsed)
    (pivot,) = parsed.tree.args["from_"].this.args["pivots"]
    assert weight_of_pivot(pivot) == EACH * 7 * 11


@pytest.mark.parametrize("text", ["PIVOT (", "PIVOT (x", "PIVOT ((", "PIVOT (x FOR y IN (", "PIVOT (x, "])
@pytest.mark.parametrize("closes", [False, True])
def test_each_word_is_looked_at_once(text: str, closes: bool) -> None:
    count = MAXIMUM_TOKENS // 14
    tokens = query_tokens("SELECT * FROM t " + text * count + ")" * (count * text.count("(") if closes else 0))
    began = time.process_time()
    excessive_pivot(tokens)
    assert at_usual_pace(time.process_time() - began) < 1
