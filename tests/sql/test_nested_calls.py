"""How long the parser takes for calls within calls: as long as they are many, never twice as long for each more.

All functions and all words that Spark knows are nested, in each shape in which a parser might read them twice.
"""

import time

import pytest

from reconciler.sql.query import Parsed, Unsure, parse_query
from reconciler.sql.words import spark_functions, spark_words

SHAPES = (
    ("{}(", ")"),
    *(
        pytest.param(shape, marks=pytest.mark.slow)
        for shape in (
            ("`{}`(", ")"),
            ("{}(1, ", ")"),
            ("{}[", "]"),
            ("{}<", ">"),
            ("a {} (", ")"),
            ("(SELECT {}(", ") FROM t)"),
            ("int({}(", "))"),
            ("struct({}(1, ", "))"),
        )
    ),
)
DEPTHS = (8, 18, 40)
SECONDS = 1.0


def seconds(opening: str, closing: str, depth: int) -> float:
    began = time.process_time()
    parse_query(f"SELECT {opening * depth}a{closing * depth} AS x FROM t")
    return time.process_time() - began


@pytest.mark.parametrize("shape", SHAPES)
def test_no_call_is_read_twice_as_often_for_each_one_around_it(shape: tuple[str, str]) -> None:
    # Deeper and deeper: what doubles is found before it takes minutes.
    slow = [
        word
        for word in sorted(spark_functions().keys() | spark_words())
        if any(seconds(shape[0].format(word), shape[1], depth) > SECONDS for depth in DEPTHS)
    ]
    assert slow == []


def test_ordinary_depth_is_parsed() -> None:
    assert isinstance(parse_query(f"SELECT {'struct(' * 8}a{')' * 8} AS x FROM t"), Parsed)
    calls = ", ".join(f"date(timestamp(string(x{number}))) AS d{number}" for number in range(1_000))
    assert isinstance(parse_query(f"SELECT {calls} FROM t"), Parsed)


@pytest.mark.parametrize("call", ["struct(", "date(string(", "array[int(", "sort_array(1, "])
def test_of_what_would_be_read_too_often_nothing_is_known(call: str) -> None:
    closing = "".join({"(": ")", "[": "]"}.get(sign, "") for sign in reversed(call))
    assert isinstance(parse_query(f"SELECT {call * 200}a{closing * 200} AS x FROM t"), Unsure)
