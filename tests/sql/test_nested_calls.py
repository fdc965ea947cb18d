"""How long the parser takes for calls within calls: as long as they are many, never twice as long for each more.

All functions and all words that Spark knows are nested, in each shape in which a parser might read them twice.
"""

import time

import pytest

from reconciler.sql.query import Parsed, Unsure, parse_query
from reconciler.sql.words import spark_functions, spark_words

SHAPES = (
    ("{}(", ")"),
    ("`{}`(", ")"),
    ("{}(1, ", ")"),
    ("{}[", "]"),
    ("{}<", ">"),
    ("a {} (", ")"),
    *(
        pytest.param(shape, marks=pytest.mark.slow)
        for shape in (("(SELECT {}(", ") FROM t)"), ("int({}(", "))"), ("struct({}(1, ", "))"))
    ),
)
FEW, MANY = 8, 40
SECONDS = 1.0


def seconds(opening: str, closing: str, depth: int) -> float:
    began = time.process_time()
    parse_query(f"SELECT {opening * depth}a{closing * depth} AS x FROM t")
    return time.process_time() - began


@pytest.mark.parametrize("shape", SHAPES)
def test_no_call_is_read_twice_as_often_for_each_one_around_it(shape: tuple[str, str]) -> None:
    slow = []
    for word in sorted(spark_functions().keys() | spark_words()):
        opening = shape[0].format(word)
        # What grows is found where that is not yet long.
        before = seconds(opening, shape[1], FEW)
        grows = before > SECONDS or (before > 0.01 and seconds(opening, shape[1], FEW + 3) > 5 * before)
        if grows or seconds(opening, shape[1], MANY) > SECONDS:
            slow.append(opening)
    assert slow == []


def test_ordinary_depth_is_parsed() -> None:
    assert isinstance(parse_query(f"SELECT {'struct(' * 8}a{')' * 8} AS x FROM t"), Parsed)
    calls = ", ".join(f"date(timestamp(string(x{number}))) AS d{number}" for number in range(1_000))
    assert isinstance(parse_query(f"SELECT {calls} FROM t"), Parsed)


@pytest.mark.parametrize("call", ["struct(", "date(string(", "array[int(", "sort_array(1, "])
def test_of_what_would_be_read_too_often_nothing_is_known(call: str) -> None:
    closing = "".join({"(": ")", "[": "]"}.get(sign, "") for sign in reversed(call))
    assert isinstance(parse_query(f"SELECT {call * 200}a{closing * 200} AS x FROM t"), Unsure)
