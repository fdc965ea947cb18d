"""What a query asks of each row of a relation by itself, and which relations its rows need partners in."""

import pytest

from reconciler.sql.block_model import NotKept, RelationUse
from reconciler.sql.linear_blocks import linear_blocks
from reconciler.sql.surroundings import USUAL

COLUMNS = {
    "a": {"id": "INT", "day": "DATE", "name": "STRING", "code": "CHAR(3)", "note": "VARCHAR(9)"},
    "b": {
        "id": "INT",
        "a_id": "INT",
        "size": "BIGINT",
        "price": "DECIMAL(10,2)",
        "ratio": "DOUBLE",
        "wide": "DECIMAL(38,2)",
        "fine": "DECIMAL(28,20)",
    },
    "c": {"id": "INT", "b_id": "INT", "n": "INT"},
}


def uses(origin: str) -> tuple[RelationUse, ...]:
    found = linear_blocks(f"SELECT 1 AS one FROM {origin}", COLUMNS, USUAL)
    assert not isinstance(found, NotKept), found
    return found[0].relations


def asked(origin: str) -> list[str]:
    """The conditions of all relations."""
    return [f"{use.name}: {one.text}" for use in uses(origin) for one in use.conditions]


def needed(origin: str) -> set[str]:
    """`relation > relation that it needs a partner in`."""
    found = uses(origin)
    return {f"{use.name} > {found[other].name}" for use in found for other in use.partners}


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("size > 1 AND 2 >= a_id", ["b: `size` > 1", "b: `a_id` <= 2"]),
        ("size <= 1 AND a_id >= 2 AND 3 < id", ["b: `size` <= 1", "b: `a_id` >= 2", "b: `id` > 3"]),
        ("id = -3 AND (b.price < 1.50)", ["b: `id` IN (-3)", "b: `price` < 1.50"]),
        ("price BETWEEN 1 AND 2.25", ["b: `price` >= 1", "b: `price` <= 2.25"]),
        ("a_id IN (1, 2, 1)", ["b: `a_id` IN (1, 2, 1)"]),
        ("id = 1 AND (size = 2 OR a_id = 3) AND NOT a_id = 4", ["b: `id` IN (1)"]),
    ],
)
def test_what_is_asked_of_numbers(where: str, wanted: list[str]) -> None:
    assert sorted(asked(f"b WHERE {where}")) == sorted(wanted)


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("day >= DATE '2024-02-29'", ["a: `day` >= DATE '2024-02-29'"]),
        ("name = 'x y' AND note IN ('p', 'q')", ["a: `name` IN ('x y')", "a: `note` IN ('p', 'q')"]),
        ("name LIKE 'for%' AND note LIKE '%est'", ["a: `name` LIKE 'for%'", "a: `note` LIKE '%est'"]),
        ("name LIKE '%ore%' AND note LIKE 'all'", ["a: `name` LIKE '%ore%'", "a: `note` IN ('all')"]),
    ],
)
def test_what_is_asked_of_days_and_texts(where: str, wanted: list[str]) -> None:
    assert sorted(asked(f"a WHERE {where}")) == sorted(wanted)


@pytest.mark.parametrize(
    "origin",
    [
        "b WHERE ratio > 1",
        "b WHERE size > 1.5",
        "b WHERE size = a_id",
        "b WHERE size > '1'",
        "b WHERE wide > 1",
        "b WHERE fine IN (3000000000, 1)",
        "b WHERE size + 1 > 2",
        "b WHERE size <> 1",
        "b WHERE size IS NULL",
        "b WHERE size <=> 1",
        "b WHERE size IN (1, NULL)",
        "b WHERE size NOT IN (1) AND size NOT BETWEEN 1 AND 2",
        "b WHERE size > 1e3",
        "b WHERE size = 1L",
        "b WHERE size > 9999999999999999999999",
        "a WHERE day > '2024-01-01'",
        "a WHERE day > DATE '2024-02-30'",
        "a WHERE code = 'abc'",
        "a WHERE name > 'm'",
        r"a WHERE name = 'a\tb'",
        r"a WHERE name = 'a\x' AND note = 'y'",
        "a WHERE name = 'it''s' OR name = 'x'",
        "a WHERE name = 'é'",
        "a WHERE name LIKE 'a_b%' AND note LIKE 'a%b'",
        r"a WHERE name LIKE 'a\%%'",
        "a WHERE name LIKE 'a!%' ESCAPE '!'",
        "a WHERE name ILIKE 'a%'",
        "a WHERE name NOT LIKE 'a%' AND NOT note LIKE 'a%'",
        "a WHERE name LIKE ANY ('a%', 'b%') AND note LIKE ALL ('a%', '%b')",
        "b WHERE size BETWEEN SYMMETRIC 2 AND 1",
        "b WHERE size = 1 IS NULL",
        "a WHERE id = 1 OR id = 2",
        "a LEFT JOIN b ON a.id = b.a_id AND b.size = 1 AND a.id = 2",
        "a LEFT ANTI JOIN b ON a.id = b.a_id AND a.id = 2",
    ],
)
def test_what_is_not_surely_compared_so_says_nothing(origin: str) -> None:
    assert asked(origin) == []


def test_where_and_inner_joins_ask_wherever_they_stand() -> None:
    joined = "a LEFT JOIN (SELECT b.a_id, b.size FROM b JOIN c ON c.b_id = b.id AND c.n = 1 WHERE b.id > 5) AS x"
    assert asked(f"{joined} ON x.a_id = a.id WHERE x.size = 3") == ["b: `size` IN (3)", "b: `id` > 5", "c: `n` IN (1)"]


def test_subqueries_ask_of_what_they_read() -> None:
    query = "a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id AND b.size = 1 AND id = 2)"
    assert sorted(asked(query)) == ["b: `id` IN (2)", "b: `size` IN (1)"]


def test_an_equality_that_holds_for_every_row_needs_a_partner() -> None:
    assert needed("a JOIN b ON a.id = b.a_id LEFT JOIN c ON c.b_id = b.id") == {"a > b", "b > a"}
    assert needed("a LEFT JOIN b ON a.id = b.a_id WHERE a.id = b.id") == {"a > b", "b > a"}
    assert needed("a, (SELECT b.a_id FROM b, c WHERE b.id = c.b_id) AS x") == {"b > c", "c > b"}


@pytest.mark.parametrize(
    "where",
    [
        "id IN (SELECT a_id FROM b WHERE size = 1)",
        "id IN (SELECT a_id FROM b GROUP BY a_id HAVING count(*) > 1)",
        "EXISTS (SELECT * FROM b WHERE b.a_id = a.id)",
        "name = 'x' AND (EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id))",
    ],
)
def test_what_is_asked_for_needs_a_partner(where: str) -> None:
    assert needed(f"a WHERE {where}") == {"a > b"}


@pytest.mark.parametrize(
    "where",
    [
        "id NOT IN (SELECT a_id FROM b)",
        "NOT EXISTS (SELECT * FROM b WHERE b.a_id = a.id)",
        "id = 1 OR EXISTS (SELECT * FROM b WHERE b.a_id = a.id)",
        "EXISTS (SELECT count(*) FROM b WHERE b.a_id = a.id)",
        "EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id HAVING count(*) = 0)",
        "0 IN (SELECT count(*) FROM b WHERE b.a_id = a.id)",
        "id IN (5, (SELECT max(b.id) FROM b WHERE b.a_id = a.id))",
        "0 = (SELECT count(*) FROM b WHERE b.a_id = a.id)",
    ],
)
def test_what_may_be_so_without_a_row_needs_none(where: str) -> None:
    assert needed(f"a WHERE {where}") == set()
