"""Where a column of a row leads: to columns of other relations that a join holds equal to it."""

import pytest

from reconciler.sql.aggregate_blocks import aggregate_block
from reconciler.sql.block_model import AggregateBlock, NotKept
from reconciler.sql.linear_blocks import linear_blocks
from reconciler.sql.surroundings import USUAL

COLUMNS = {
    "a": {"id": "INT", "day": "DATE", "name": "STRING"},
    "b": {"id": "INT", "a_id": "INT", "day": "DATE", "size": "BIGINT"},
    "c": {"id": "INT", "b_id": "INT", "price": "DECIMAL(10,2)", "ratio": "DOUBLE"},
    "n": {"id": "INT", "a": "STRUCT<id:INT>", "b": "STRUCT<id:INT, a_id:INT>"},
}


def leads(origin: str) -> set[str]:
    """`relation.column > relation.column`, for all of a FROM with its WHERE."""
    found = linear_blocks(f"SELECT 1 AS one FROM {origin}", COLUMNS, USUAL)
    assert not isinstance(found, NotKept), found
    (block,) = found
    names = [use.name for use in block.relations]
    return {
        f"{names[at]}.{column} > {names[other]}.{end}"
        for at, use in enumerate(block.relations)
        for column, other, end in use.joined
    }


BOTH = {"a.id > b.a_id", "b.a_id > a.id"}


@pytest.mark.parametrize(
    "origin",
    [
        "a JOIN b ON a.id = b.a_id",
        "a JOIN b ON b.A_ID = A.id AND a.name > 'x'",
        "a JOIN b ON (a.id == b.a_id) AND (b.size = 1 OR a.id = b.id)",
        "a, b WHERE a_id = a.id AND NOT a.day = b.day",
        "a CROSS JOIN b WHERE name = 'x' AND a.id = a_id",
    ],
)
def test_an_equality_leads_both_ways(origin: str) -> None:
    assert leads(origin) == BOTH


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        ("a LEFT JOIN b ON a.id = b.a_id", {"a.id > b.a_id"}),
        ("b RIGHT JOIN a ON a.id = b.a_id", {"a.id > b.a_id"}),
        ("a LEFT SEMI JOIN b ON a.id = b.a_id", {"a.id > b.a_id"}),
        ("a LEFT ANTI JOIN b ON a.id = b.a_id", {"a.id > b.a_id"}),
        ("a LEFT JOIN b ON a.id = b.a_id WHERE a.id = b.a_id", BOTH),
    ],
)
def test_that_of_an_outer_join_leads_to_where_nulls_may_stand(origin: str, wanted: set[str]) -> None:
    assert leads(origin) == wanted


def test_rows_that_have_no_partner_stay_whatever_their_other_columns_are() -> None:
    assert leads("a CROSS JOIN b LEFT JOIN c ON c.id = a.id AND c.b_id = b.id AND a.id = b.a_id") == {
        "a.id > c.id",
        "b.id > c.b_id",
    }


@pytest.mark.parametrize(
    "origin",
    [
        "a JOIN b ON a.id = b.size",
        "a JOIN b ON a.id <=> b.a_id",
        "a JOIN b ON a.id = b.a_id + 1",
        "a JOIN b ON a.id = b.a_id OR a.day = b.day",
        "a x JOIN a y ON x.name = y.name",
        "c x JOIN c y ON x.price = y.price AND x.ratio = y.ratio",
        "a JOIN b USING (id)",
        # Fields of columns, or maybe so.
        "n JOIN b x ON n.id = b.a_id",
        "n JOIN a ON a.id = n.id",
        "n LEFT SEMI JOIN b ON n.id = b.id WHERE n.id = b.a_id",
    ],
    ids=lambda origin: origin.partition(" ON ")[2] or origin,
)
def test_what_leads_nowhere(origin: str) -> None:
    """Of other types equal values may be written otherwise; what is no column, or stands in an OR, decides nothing."""
    assert leads(origin) == set()


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        ("a JOIN (SELECT a_id FROM b WHERE size > 1) AS x ON a.id = x.a_id", BOTH),
        ("a JOIN (SELECT a_id AS mine FROM b) AS x ON id = mine", BOTH),
        ("a JOIN (SELECT x.mine FROM (SELECT b.a_id AS mine FROM b) AS x) AS y ON a.id = y.mine", BOTH),
        ("a LEFT JOIN (SELECT a_id FROM b) AS x ON a.id = x.a_id", {"a.id > b.a_id"}),
        ("(SELECT a_id FROM b) AS x RIGHT JOIN a ON a.id = x.a_id", {"a.id > b.a_id"}),
        ("(SELECT id FROM a) AS x LEFT JOIN b ON x.id = b.a_id", {"a.id > b.a_id"}),
        # Its own equalities, whatever it is joined with.
        ("c FULL JOIN (SELECT b.size FROM a JOIN b ON a.id = b.a_id) AS x ON c.price = x.size, a AS y", BOTH),
        ("(SELECT b.size FROM a LEFT JOIN b ON a.id = b.a_id) AS x", {"a.id > b.a_id"}),
        (
            "c LEFT JOIN (SELECT b.id FROM a JOIN b ON a.id = b.a_id) AS x ON c.b_id = x.id",
            {*BOTH, "c.b_id > b.id"},
        ),
        # Rows of the side that stays come whether it holds or not.
        ("c RIGHT JOIN (SELECT a.id, b.a_id FROM a CROSS JOIN b) AS x ON x.id = x.a_id", set()),
        ("(SELECT a.id, b.a_id FROM a CROSS JOIN b) AS x LEFT JOIN c ON x.id = x.a_id", set()),
        ("c LEFT JOIN (SELECT a.id, b.a_id FROM a CROSS JOIN b) AS x ON x.id = x.a_id", BOTH),
        # What is computed, has two meanings, or another type.
        ("a JOIN (SELECT a_id + 0 AS a_id FROM b) AS x ON a.id = x.a_id", set()),
        ("a JOIN (SELECT a_id, id AS a_id FROM b) AS x ON a.id = x.a_id", set()),
        ("a JOIN (SELECT size FROM b) AS x ON a.id = x.size", set()),
        ("n JOIN (SELECT id FROM b) AS a ON n.id = a.id", set()),
    ],
)
def test_columns_that_a_query_in_from_hands_on_are_those_of_its_relations(origin: str, wanted: set[str]) -> None:
    assert leads(origin) == wanted


def test_a_query_in_from_says_how_its_columns_are_called_outside() -> None:
    query = "SELECT 1 AS one FROM a JOIN (SELECT y.mine AS yours, y.size FROM (SELECT a_id AS mine, size FROM b) AS y) AS x"
    found = linear_blocks(f"{query} ON a.id = x.yours", COLUMNS, USUAL)
    assert not isinstance(found, NotKept), found

    assert [use.shown for use in found[0].relations] == [(), (("a_id", "x", "yours"), ("size", "x", "size"))]


def follows(where: str) -> set[str]:
    """The relations of subqueries that are followed by a key."""
    found = aggregate_block(f"SELECT a.id, count(*) AS n FROM a WHERE {where} GROUP BY a.id", COLUMNS, USUAL)
    assert isinstance(found, AggregateBlock), found
    joined = found.relations[0].joined
    by_key = {f"{found.relations[at].relation} by {end}" for _, at, end in joined}
    return by_key | {f"{one} whole" for one in found.fixed}


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id AND b.size > 1)", "b by a_id"),
        ("a.name = 'x' OR NOT EXISTS (SELECT 1 FROM b AS x WHERE a_id = a.id)", "b by a_id"),
        ("a.id > (SELECT max(size) FROM b WHERE a.day = b.day)", "b by day"),
        ("a.id IN (SELECT a_id FROM b) AND a.id > 1", "b by a_id"),
        ("a.id IN (SELECT a_id FROM b GROUP BY a_id, size HAVING count(*) > 1)", "b by a_id"),
        ("a.id NOT IN (SELECT a_id FROM b)", "b whole"),
        ("a.id IN (SELECT a_id FROM b) OR a.id > 1", "b whole"),
        ("a.id IN (1, (SELECT max(a_id) FROM b))", "b whole"),
        ("a.id IN (SELECT max(a_id) FROM b)", "b whole"),
        ("EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id OR b.size > 1)", "b whole"),
        ("EXISTS (SELECT 1 FROM b WHERE b.a_id > a.id)", "b whole"),
        ("EXISTS (SELECT 1 FROM b WHERE b.a_id = b.id)", "b whole"),
        # A field of a column of n, and no column of the a outside.
        ("EXISTS (SELECT 1 FROM n AS x WHERE x.id = a.id)", "n whole"),
    ],
)
def test_subqueries_that_are_followed_by_a_key(where: str, wanted: str) -> None:
    assert follows(where) == {wanted}
