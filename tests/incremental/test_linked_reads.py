"""Which relations of a term equalities lead to, from what changed on."""

from reconciler.incremental.linked_reads import linked_reads
from reconciler.incremental.model import froms_of, read_whole
from reconciler.incremental.terms import Term, term_text
from reconciler.sql.block_model import NotKept
from reconciler.sql.linear_blocks import linear_blocks
from reconciler.sql.surroundings import USUAL
from tests.incremental.queries import COLUMNS, linear_of


def told(query: str, *changed: str) -> list[list[str]]:
    """Of each term what it reads: `name <- column > own column`, or the name alone."""
    method = linear_of(query)
    found = []
    for term in linked_reads(froms_of(method), changed, read_whole(method)):
        lines = []
        for one in term:
            pairs = " ".join(f"{start}>{end}" for start, end in one.pairs)
            name = f"all of {one.name}" if one.is_whole else one.name
            name = f"{'only with ' if one.narrows else ''}{name}{''.join(f' {met.text}' for met in one.conditions)}"
            lines.append(name if one.via is None else f"{name} <- {term[one.via].name} {pairs}")
        found.append(lines)
    return found


def test_one_relation_leads_to_the_next() -> None:
    chain = "SELECT x.g FROM t x JOIN u ON x.k = u.k JOIN t y ON y.k = u.k AND y.v = x.v"
    assert told(chain, "u") == [["__changed_u", "t <- __changed_u k>k", "t <- __changed_u k>k"]]
    assert told(chain, "t") == [
        ["__changed_t", "u <- __changed_t k>k", "__former_t <- __changed_t v>v"],
        ["__changed_t", "t <- __changed_t v>v", "u <- __changed_t k>k"],
    ]


def test_what_changed_too_is_read_as_it_was_or_as_it_is() -> None:
    assert told("SELECT t.g FROM t JOIN u ON t.k = u.k", "t", "u") == [
        ["__changed_t", "__former_u <- __changed_t k>k"],
        ["__changed_u", "t <- __changed_u k>k"],
    ]


def test_a_relation_with_a_key_is_read_as_it_is_and_as_it_was() -> None:
    assert told("SELECT t.g FROM t LEFT JOIN u ON t.k = u.k", "u") == [
        ["__changed_u", "t <- __changed_u k>k", "u <- t k>k", "__former_u <- t k>k", "u <- __changed_u k>k"]
    ]


def test_keys_lead_by_other_relations_and_each_row_that_came_is_read() -> None:
    """One without a partner, too: the query may fail of it."""
    chain = "SELECT x.g FROM t x LEFT JOIN u ON x.k = u.k LEFT JOIN t y ON y.k = u.f"
    assert told(chain, "t")[1] == [
        "__changed_t",
        "u <- __changed_t k>f",
        "t <- u k>k",
        "u <- t k>k",
        "t <- u f>k",
        "__former_t <- u f>k",
        "t <- __changed_t k>k",
    ]


def test_where_no_equality_leads_any_row_may_matter() -> None:
    assert told("SELECT t.g FROM t JOIN u ON t.k > u.k", "t") == [["__changed_t", "u"]]
    assert told("SELECT t.g FROM t LEFT JOIN u ON t.k = u.k AND t.v = 1", "t") == [["__changed_t", "u <- __changed_t k>k"]]


def test_what_a_subquery_reads_is_read_whole() -> None:
    query = "SELECT t.g FROM t JOIN u ON t.k = u.k WHERE t.v > (SELECT max(f) FROM u)"
    assert told(query, "t") == [["__changed_t", "all of u <- __changed_t k>k"]]


def test_rows_that_mean_nothing_are_passed_over() -> None:
    query = "SELECT t.g FROM t JOIN u ON t.k = u.k AND u.f > 1 JOIN t y ON y.v = t.v WHERE t.k IN (1, 2)"
    assert told(query, "t")[0] == [
        "__changed_t `k` IN (1, 2)",
        "only with u `f` > 1 <- __changed_t k>k",
        "__former_t <- __changed_t v>v",
    ]
    # What changed, too, is there in two states.
    assert told(query, "t", "u")[0][1] == "__former_u `f` > 1 <- __changed_t k>k"


def test_on_the_way_of_a_key_rows_need_partners() -> None:
    inner = "SELECT e.k FROM u e WHERE e.f IN (SELECT d.k FROM t d WHERE d.v < 3) AND e.k = 1"
    query = f"SELECT x.g FROM z x WHERE x.k IN ({inner})"
    columns = {**COLUMNS, "z": COLUMNS["t"]}
    found = linear_blocks(query, columns, USUAL)
    assert not isinstance(found, NotKept)
    (term,) = linked_reads([found[0].relations], ["u"], ())
    assert [(one.name, one.via, one.narrows) for one in term[:3]] == [
        ("__changed_u", None, False),
        ("t", 0, True),
        ("z", 0, False),
    ]
    keys = term_text(query, found[0].rows, Term(found[0].relations, 1, ["u"]))
    assert "IN (SELECT `k` FROM `__changed_u` WHERE `k` IN (1) AND `f` IN (SELECT `k` FROM t WHERE `v` < 3))" in keys
