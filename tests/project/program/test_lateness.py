"""LATENESS: which value is the first that is not late."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.project.program.lateness import Number, columns_with_lateness, first_on_time, number_of_text, number_to_text
from reconciler.project.program.model import Table
from tests.project.program.test_compile import compiled

DAY, HOUR = 86_400_000_000, 3_600_000_000
CASES: list[tuple[str, Number, Number]] = [
    ("INT LATENESS 3", 10, 7),
    ("TINYINT LATENESS 300", -128, -428),
    ("BIGINT LATENESS 0", 2**63 - 1, 2**63 - 1),
    ("BIGINT LATENESS 0.5", 10, 10),
    ("BIGINT LATENESS 1.5", 10, 9),
    ("DECIMAL(5,2) LATENESS 0.005", Decimal("1.00"), Decimal("0.995")),
    ("DECIMAL(38,0) LATENESS 0.1", Decimal(10**38 - 1), Decimal("9" * 37 + "8.9")),
    ("DOUBLE LATENESS 0.25", 1.0, 0.75),
    ("FLOAT LATENESS 1", -1.5, -2.5),
    ("DATE LATENESS INTERVAL 1 DAY", 20_000, 19_999),
    ("DATE LATENESS INTERVAL 36 HOURS", 20_000, 19_999),
    ("DATE LATENESS INTERVAL 2 WEEKS", 5, -9),
    ("DATE LATENESS INTERVAL 1 HOUR", 20_000, 20_000),
    ("TIMESTAMP LATENESS INTERVAL '4' HOURS", 20_000 * DAY, 20_000 * DAY - 4 * HOUR),
    ("TIMESTAMP_NTZ LATENESS INTERVAL 1 MILLISECOND", 0, -1_000),
]


def table(columns: str) -> Table:
    return compiled(f"CREATE TABLE t ({columns});").program.tables["t"]


@pytest.mark.parametrize(("column", "greatest", "first"), CASES)
def test_the_first_value_on_time(column: str, greatest: Number, first: Number) -> None:
    found = first_on_time(table(f"Seen {column}"), {"seen": greatest})

    assert found == {"seen": first}
    assert type(found["seen"]) is type(first)


def test_of_a_column_without_a_greatest_value_nothing_is_late() -> None:
    both = table("a INT LATENESS 1, b DATE LATENESS INTERVAL 1 DAY, c INT")

    assert [column.name for column in columns_with_lateness(both)] == ["a", "b"]
    assert first_on_time(both, {"b": 3, "c": 5}) == {"b": 2}


@given(
    st.one_of(
        st.tuples(st.sampled_from(["BIGINT", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ"]), st.integers(-(2**63), 2**63 - 1)),
        st.tuples(st.just("DOUBLE"), st.floats(allow_nan=False, allow_infinity=False)),
        st.tuples(st.just("DECIMAL(38,10)"), st.decimals(-(10**27), 10**27, places=10)),
    )
)
def test_a_number_comes_back_from_a_head_as_it_was(case: tuple[str, Number]) -> None:
    kind, number = case
    (column,) = table(f"a {kind}").columns

    found = number_of_text(column, number_to_text(number))

    assert (found, type(found)) == (number, type(number))


@pytest.mark.parametrize("kind", ["BIGINT", "DOUBLE", "DECIMAL(5,2)"])
def test_what_is_no_number_is_refused(kind: str) -> None:
    (column,) = table(f"a {kind}").columns
    with pytest.raises(ValueError, match="soon"):
        number_of_text(column, "soon")
