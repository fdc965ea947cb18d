"""Which rows of other relations matter where few rows of one changed. That no other does: `test_histories`."""

from reconciler.incremental.model import froms_of
from reconciler.incremental.needed_rows import KeyRange, needed_rows
from tests.incremental.queries import kept_of, linear_of

KEYS = {("t", "k"): KeyRange(3, 7), ("u", "k"): KeyRange(5, 9)}


def needed(query: str, *changed: str) -> dict[str, dict[str, tuple[int, int]]]:
    method = linear_of(query) if "GROUP" not in query else kept_of(query)
    found = needed_rows(froms_of(method), changed, lambda relation, column: KEYS.get((relation, column)))
    return {name: {column: (of.least, of.greatest) for column, of in within.items()} for name, within in found.items()}


def test_of_another_relation_what_lies_between_the_keys_that_changed() -> None:
    query = "SELECT t.g, COUNT(*) AS n FROM t JOIN u ON t.k = u.k GROUP BY t.g"

    assert needed(query, "t") == {"u": {"k": (3, 7)}}
    assert needed(query, "t", "u") == {"__former_u": {"k": (3, 7)}, "t": {"k": (5, 9)}}


def test_what_is_equal_to_the_same_is_equal() -> None:
    query = "SELECT t.g, x.g AS h, y.g AS i FROM t JOIN u x ON t.k = x.k JOIN u y ON y.k = x.k"

    assert needed(query, "t") == {"u": {"k": (3, 7)}}


def test_a_relation_that_is_read_twice_has_what_both_need() -> None:
    joined = "SELECT t.g FROM t JOIN u ON t.k = u.k"

    assert needed(f"{joined} UNION ALL {joined} WHERE u.f > 1", "t") == {"u": {"k": (3, 7)}}
    assert needed(f"{joined} UNION ALL SELECT t.g FROM t CROSS JOIN u", "t") == {}
    # The last t as it was for the first one and for u; the first one as it is for u and the last one, which read u.
    query = "SELECT a.g FROM t a JOIN u ON a.k = u.k JOIN t b ON b.k = u.k"
    assert needed(query, "t", "u") == {
        "__former_u": {"k": (3, 7)},
        "__former_t": {"k": (3, 9)},
        "t": {"k": (3, 9)},
        "u": {"k": (3, 7)},
    }


def test_where_keys_are_not_known_all_rows_are_needed() -> None:
    assert needed("SELECT t.g FROM t JOIN u ON t.v = u.k", "t") == {}
