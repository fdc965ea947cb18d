"""How the views of a program are maintained, and what prevents it."""

import time
from collections.abc import Mapping

import pytest

from reconciler.incremental.derive import maintenance
from reconciler.incremental.model import ChangedGroups, KeptAggregate, LinearRows, Maintenance, Recompute, reads_of_terms
from reconciler.incremental.words import describe_maintenance
from reconciler.sql.block_model import GroupedQuery
from reconciler.sql.grouped_blocks import grouped_blocks
from reconciler.sql.inlined import without_names
from reconciler.sql.surroundings import USUAL
from reconciler.sql.written_stars import without_stars
from tests.pace import at_usual_pace
from tests.project.program.test_compile import compiled

TABLES = """\
CREATE TABLE t (k BIGINT, g STRING, v DECIMAL(10,2));
CREATE TABLE measured (k BIGINT, level DOUBLE);
CREATE TABLE tagged (k BIGINT, tags MAP<STRING, STRING>);
CREATE VIEW plain AS SELECT k, v FROM t WHERE v > 0;
CREATE VIEW plainer AS WITH s AS (SELECT k FROM plain -- all of them
) SELECT s.k, m.level FROM s JOIN measured AS m ON s.k = m.k;
CREATE VIEW renamed (a, b) AS SELECT k, v FROM t;
CREATE MATERIALIZED VIEW sums AS SELECT g, SUM(v) AS v FROM t GROUP BY g;
"""


def of(
    query: str, spark: Mapping[str, str] | None = None, stored: Mapping[str, Mapping[str, str]] | None = None
) -> Maintenance:
    result = compiled(f"{TABLES}CREATE MATERIALIZED VIEW wanted AS {query};", spark)
    assert result.diagnostics == ()
    return maintenance(result.program, result.program.views["wanted"], stored or {})


def why(query: str, spark: Mapping[str, str] | None = None) -> str:
    found = of(query, spark)
    assert isinstance(found, Recompute)
    return found.reason


def test_groups_are_kept_and_rows_are_added() -> None:
    assert isinstance(of("SELECT g, COUNT(*) AS n FROM t GROUP BY g"), KeptAggregate)
    assert isinstance(of("SELECT k, g FROM t WHERE v > 1"), LinearRows)


def test_a_view_that_is_computed_in_place_is_written_into_the_query() -> None:
    found = of("SELECT COUNT(*) AS n FROM plain")
    assert isinstance(found, KeptAggregate)
    assert found.relations == ("t",)
    found = of("SELECT p.k, q.k AS other FROM plainer AS p, plain AS q WHERE p.k < q.k")
    assert isinstance(found, LinearRows)
    assert found.relations == ("measured", "t")
    found = of("SELECT k, COUNT(*) AS n FROM plainer GROUP BY k HAVING MAX(level) > 1")
    assert isinstance(found, ChangedGroups)
    assert found.relations == ("measured", "t")
    assert why("SELECT MAX(level) AS most FROM plainer").startswith("column level of measured")


def test_one_that_renames_columns_is_in_the_way() -> None:
    found = of("SELECT COUNT(*) AS n FROM renamed")
    assert isinstance(found, Recompute)
    assert found.reason == "it reads renamed, which is computed in place"
    assert found.hint == "make renamed MATERIALIZED"


def test_what_reads_itself_over_and_over_is_told_soon() -> None:
    """Each view reads the one before it twice, by two that stand between: the text would double with each."""
    views = "".join(
        f"CREATE VIEW a{at} AS SELECT k FROM c{at - 1};\nCREATE VIEW b{at} AS SELECT k FROM c{at - 1};\n"
        f"CREATE VIEW c{at} AS SELECT a.k FROM a{at} AS a JOIN b{at} AS b ON a.k = b.k;\n"
        for at in range(1, 60)
    )
    start = "CREATE VIEW c0 AS SELECT k FROM t;\n"
    cases = {
        59: "it reads 178 views that are computed in place",
        5: "it joins more than 16 relations",
    }
    for last, reason in cases.items():
        result = compiled(f"{TABLES}{start}{views}CREATE MATERIALIZED VIEW wanted AS SELECT COUNT(*) AS n FROM c{last};")
        before = time.process_time()
        found = maintenance(result.program, result.program.views["wanted"], {})
        assert at_usual_pace(time.process_time() - before) < 5
        assert isinstance(found, Recompute)
        assert reason in found.reason


def test_a_long_query_is_written_into_no_other() -> None:
    items = ", ".join(f"k + {number} AS more_than_k_{number}" for number in range(500))
    result = compiled(
        f"{TABLES}CREATE VIEW long AS SELECT k, {items} FROM t;\nCREATE MATERIALIZED VIEW v AS SELECT k FROM long;"
    )
    found = maintenance(result.program, result.program.views["v"], {})
    assert found == Recompute("long can't surely be written into its query", "make long MATERIALIZED")


def test_types_of_what_a_view_gives_are_those_that_are_published() -> None:
    query = "SELECT SUM(v) AS v FROM sums"
    assert why(query) == "SUM(v) does not surely add up integers or decimals"
    assert isinstance(of(query, stored={"sums": {"g": "string", "v": "decimal(20,2)"}}), KeptAggregate)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT MAX(level) AS most FROM measured", "column level of measured is of floating numbers"),
        ("SELECT k, COUNT(*) AS n FROM tagged GROUP BY k", "column tags of tagged is a MAP or VARIANT"),
    ],
)
def test_rows_that_are_not_surely_told_apart_are_in_the_way_of_groups(query: str, reason: str) -> None:
    assert why(query).startswith(reason)


def test_they_are_in_nobodys_way_where_rows_are_only_added_or_not_looked_at() -> None:
    found = of("SELECT k FROM tagged")
    assert isinstance(found, LinearRows)
    assert found.only_added == "column tags of tagged is a MAP or VARIANT, by which rows are not compared"
    assert isinstance(of("SELECT k, COUNT(*) AS n FROM measured WHERE level > 1 GROUP BY k"), KeptAggregate)
    assert isinstance(of("SELECT level, COUNT(DISTINCT level) AS n FROM measured GROUP BY level"), KeptAggregate)
    assert of("SELECT k FROM measured") == of("SELECT k FROM measured", stored={"wanted": {"k": "bigint"}})


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("double", None),
        ("map<string,bigint>", "its column k is a MAP or VARIANT, by which rows are not compared"),
        ("bigint", None),
    ],
)
def test_rows_of_a_view_that_are_not_surely_told_apart_are_only_added(kind: str, why: str | None) -> None:
    found = of("SELECT k FROM measured", stored={"wanted": {"k": kind}})
    assert isinstance(found, LinearRows)
    assert found.only_added == why


def test_what_rows_are_added_to_alone_has_no_rule_behind_an_outer_join() -> None:
    found, other = (of(f"SELECT t.k FROM t LEFT JOIN {name} AS m ON t.k = m.k") for name in ("measured", "tagged"))
    assert isinstance(found, LinearRows)
    assert isinstance(other, LinearRows)
    assert (found.fixed, found.beside) == (frozenset(), frozenset({"measured"}))
    assert (other.fixed, other.beside) == (frozenset({"tagged"}), frozenset({"tagged"}))
    assert describe_maintenance(found)[0] == "by what changes in measured, t: rows are added and taken out"
    assert describe_maintenance(other) == (
        "by what comes to t: as many rows are added",
        f"where rows go, by its query: {other.only_added}",
        "where tagged changes, by its query",
        "small relations are computed from the query at once",
    )


def test_settings_that_may_have_a_say_are_in_the_way() -> None:
    query = "SELECT g, SUM(v) AS v FROM t GROUP BY g"
    assert why(query, {"spark.sql.ansi.enabled": "false"}) == "spark.sql.ansi.enabled may have a say in what sums are"
    assert isinstance(of(query, {"spark.sql.shuffle.partitions": "3"}), KeptAggregate)
    assert isinstance(of(query, {"spark.sql.session.timeZone": "Europe/Berlin"}), KeptAggregate)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, SUM(level) AS s FROM measured GROUP BY k",
        "SELECT k, MAX(level) AS most FROM measured GROUP BY k",
        "SELECT g AS x, STDDEV(v) AS s, COUNT(DISTINCT k) AS a, COUNT(DISTINCT v) AS b FROM t GROUP BY 1 HAVING s > 2",
        "SELECT k % 7 AS seven, percentile(v, 0.5) AS middle FROM plain GROUP BY k % 7 ORDER BY seven",
        "SELECT t.k, AVG(level) AS mean FROM t LEFT JOIN measured AS m ON t.k = m.k GROUP BY t.k",
    ],
)
def test_groups_may_be_computed_anew(query: str) -> None:
    assert isinstance(of(query), ChangedGroups)


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("SELECT DISTINCT g, STDDEV(v) AS s FROM t GROUP BY g", "g"),
        ("SELECT DISTINCT * FROM t", "`k` `g` `v`"),
        ("SELECT ALL k, v, COUNT(*) OVER (PARTITION BY k) AS n FROM t", "k"),
        # Of names of windows the letter case counts.
        ("SELECT g, k, SUM(v) OVER w AS s FROM t WINDOW w AS (PARTITION BY k), W AS (PARTITION BY g)", "k"),
        ("SELECT g, collect_list(k) AS s, max_by(k, v) AS m, any_value(v) AS a FROM t GROUP BY g", "g"),
        ("SELECT k, array_agg(v) OVER (PARTITION BY k) AS n FROM t", "k"),
        ("SELECT k, COUNT(*) OVER w AS n, rank() OVER (w ORDER BY v) AS r FROM t WINDOW w AS (PARTITION BY k)", "k"),
        ("SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM t WHERE v > 0 QUALIFY r = 1 ORDER BY k", "k"),
        ("SELECT g, k FROM t QUALIFY row_number() OVER (PARTITION BY g, k ORDER BY v) = 1", "g k"),
        ("SELECT g, STDDEV(v) AS s FROM t GROUP BY g QUALIFY row_number() OVER (PARTITION BY g ORDER BY g) = 1", "g"),
        ("SELECT g, STDDEV(v) AS s FROM t GROUP BY g UNION ALL SELECT g, v FROM t", "g"),
        ("(SELECT k, g FROM t) EXCEPT ALL (SELECT * FROM (SELECT k, g FROM t WHERE v > 1)) ORDER BY g", "k g"),
        ("SELECT k, MAX(v) AS v FROM (SELECT k, v FROM t INTERSECT SELECT k, v FROM t WHERE g > 'b') GROUP BY k", "k"),
        ("SELECT k, g, COUNT(*) OVER (PARTITION BY k, g) AS n, rank() OVER (PARTITION BY (k) ORDER BY v) AS r FROM t", "k"),
        ("SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY t.k ORDER BY v) AS r FROM t) WHERE r = 1", "`k`"),
        ("SELECT s.g FROM (SELECT k, T.g, lag(v) IGNORE NULLS OVER (PARTITION BY g ORDER BY k) AS b FROM t) s", "T.g"),
        ("SELECT g, MAX(r) AS m FROM (SELECT g, k, rank() OVER (PARTITION BY g ORDER BY v) AS r FROM t) GROUP BY 1", "g"),
        ("SELECT g, k, rank() OVER (PARTITION BY g ORDER BY STDDEV(v)) AS r FROM t GROUP BY g, k", "g"),
        ("SELECT upper(g) AS u, COUNT(*) OVER (PARTITION BY upper(g)) AS n FROM t ORDER BY n", "upper(g)"),
        ("SELECT * EXCEPT (v) FROM (SELECT k, v, COUNT(*) OVER (PARTITION BY k) AS n FROM t)", "k"),
        (
            "WITH a AS (SELECT * FROM t), b AS (SELECT *, ntile(3) OVER (PARTITION BY g ORDER BY k) AS q FROM a WHERE k > 1)"
            " SELECT g, q, percentile(v, 0.5) AS m FROM b GROUP BY g, q",
            "`g`",
        ),
    ],
)
def test_groups_and_partitions_have_keys(query: str, keys: str) -> None:
    found = of(query)
    assert isinstance(found, ChangedGroups), found
    assert " ".join(found.groups.blocks[0].keys) == keys


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT SUM(level) AS s FROM measured", "SUM(level) does not surely add up"),
        ("SELECT SUM(level) AS s FROM measured GROUP BY k", "SUM(level) does not surely add up"),
        ("SELECT collect_list(k) AS s FROM t", "COLLECT_LIST has no rule"),
        ("SELECT g, STDDEV(v) AS s, rank() OVER (ORDER BY g) AS r FROM t GROUP BY g", "STDDEV has no rule"),
        ("SELECT g, STDDEV(v) AS s FROM t GROUP BY g LIMIT 3", "STDDEV has no rule"),
        ("SELECT g, STDDEV(v) AS s FROM t GROUP BY g UNION ALL SELECT k, v FROM t", "STDDEV has no rule"),
        ("SELECT g, v FROM t UNION BY NAME SELECT v, g FROM t", "the query is not surely"),
        ("SELECT g, v FROM t EXCEPT SELECT g, v FROM t LIMIT 3", "a set operation with more to it"),
        ("SELECT k FROM t UNION SELECT v FROM t", "no column of its result is a key"),
        # Of what is computed it is not known whether it is whole: equal values may be told apart before Spark converts them.
        ("SELECT k + 0 AS x FROM t UNION SELECT level * 1 FROM measured", "no column of its result is a key"),
        ("SELECT g, STDDEV(v) AS s FROM t WHERE v > rand() GROUP BY g", "rand may give another value each time"),
        ("SELECT g, STDDEV(v) AS s, current_date() AS d FROM t GROUP BY g", "STDDEV has no rule"),
        ("SELECT explode(array(g, 'x')) AS g2, g, STDDEV(v) AS s FROM t GROUP BY g", "STDDEV has no rule"),
        ("SELECT g, STDDEV(v) AS s, (SELECT MAX(k) FROM t) AS m FROM t GROUP BY g", "STDDEV has no rule"),
        ("SELECT k, STDDEV(k) AS s FROM tagged GROUP BY k", "column tags of tagged is a MAP"),
        # What changed has a column that says what became of a row.
        ("SELECT hash(*) AS h, STDDEV(v) AS s FROM t GROUP BY hash(*)", "* in an expression has no rule"),
        ("SELECT g, SUM(hash(*)) AS s FROM t GROUP BY g", "* in an expression has no rule"),
        ("SELECT g, COUNT(*) AS s FROM t WHERE xxhash64(t.*) > 3 GROUP BY g", "* in an expression has no rule"),
        ("SELECT g, COUNT(*) AS s FROM (SELECT g, hash(*) AS h FROM t) AS t WHERE h > 3 GROUP BY g", "* in an expression"),
        ("SELECT k, rank() OVER (ORDER BY v) AS r FROM t", "a function with OVER and without PARTITION BY"),
        ("SELECT v, COUNT(*) OVER (PARTITION BY k) AS n FROM t", "no column of its result is a key"),
        (
            "SELECT k, g, COUNT(*) OVER (PARTITION BY k) AS n, COUNT(*) OVER (PARTITION BY g) AS m FROM t",
            "no column of its result",
        ),
        ("SELECT k + 0 AS k, COUNT(*) OVER (PARTITION BY k) AS n FROM t", "no column of its result is a key"),
        ("SELECT k, COUNT(*) OVER (PARTITION BY k) AS n FROM t LIMIT 5", "LIMIT stands beside"),
        ("SELECT k, n FROM (SELECT k, COUNT(*) OVER (PARTITION BY k) AS n FROM t LIMIT 5)", "LIMIT stands beside"),
        ("SELECT k, COUNT(*) OVER w AS n FROM t WINDOW w AS (ORDER BY k)", "a function with OVER and without PARTITION"),
        ("SELECT k, v FROM t QUALIFY rank() OVER (PARTITION BY v ORDER BY k) > (SELECT 1)", "a subquery stands beside"),
        ("SELECT k FROM t QUALIFY rank() OVER (PARTITION BY v ORDER BY k) = 1", "no column of its result is a key"),
        (
            "SELECT k, n FROM (SELECT k, COUNT(*) OVER (PARTITION BY k) AS n FROM t) WHERE n > (SELECT 1)",
            "a subquery stands",
        ),
        ("SELECT MAX(n) AS n FROM (SELECT k, rank() OVER (PARTITION BY k ORDER BY v) AS n FROM t)", "a function with OVER"),
        ("SELECT SUM(n) AS n FROM (SELECT k FROM t) AS s (n)", "a query in its FROM has no alias, or one that renames"),
        ("SELECT k FROM t WHERE v > (SELECT MAX(v) FROM t)", "no rule is known for changes of t in a subquery, or behind"),
        ("SELECT k, now() AS n, COUNT(*) OVER (PARTITION BY k) AS m FROM t", "now may give another value"),
        ("SELECT posexplode(array(k)) AS (a, k), COUNT(*) OVER (PARTITION BY k) AS m FROM t", "an item of its select list"),
        # Of two columns of one name it is not known which one is meant.
        (
            "SELECT k FROM (SELECT k, v AS K, COUNT(*) OVER (PARTITION BY k) AS m FROM t) AS s",
            "no column of its result is a key",
        ),
    ],
)
def test_groups_that_can_not_be_computed_anew_by_themselves(query: str, reason: str) -> None:
    assert why(query).startswith(reason), why(query)


FIELDS: Mapping[str, Mapping[str, str | None]] = {
    "t": {"k": "INT", "v": "INT", "s": "STRUCT<k: INT, f: INT>"},
    "s": {"k": "INT", "f": "INT"},
}


def test_what_may_be_a_field_of_a_column_is_not_taken_for_a_column() -> None:
    assert without_stars("SELECT k FROM (SELECT s.* FROM t LEFT JOIN s USING (k)) AS x", FIELDS, USUAL) is None
    assert without_stars("SELECT k FROM (SELECT * FROM t JOIN s ON t.v = s.f) AS x", FIELDS, USUAL) is None
    found = grouped_blocks("SELECT s.k AS a, COUNT(*) OVER (PARTITION BY s.k) AS n FROM t JOIN s USING (k)", FIELDS, USUAL)
    assert isinstance(found, GroupedQuery)
    assert found.blocks[0].columns == (None,)


def test_many_names_of_with_are_not_written_into_each_other() -> None:
    names = "".join(f", x{at} AS (SELECT * FROM x{at - 1} WHERE k > {at})" for at in range(1, 1_000))
    query = f"WITH x0 AS (SELECT * FROM t){names} SELECT DISTINCT k FROM x999"
    began = time.process_time()
    assert without_names(query) is None
    assert at_usual_pace(time.process_time() - began) < 5


def test_words_say_what_follows_and_what_does_not() -> None:
    outer = "SELECT t.g, COUNT(*) AS n FROM t LEFT JOIN measured m ON t.k > m.k GROUP BY t.g"
    assert describe_maintenance(of(outer)) == (
        "by what changes in t: counts and sums by t.g are kept",
        "where measured changes, by its query",
        "small relations are computed from the query at once",
    )
    assert describe_maintenance(of("SELECT g, STDDEV(v) AS v FROM t GROUP BY g")) == (
        "by what changes in t: the groups by g of which rows change are computed anew",
        "small relations, and many groups at once, are computed from the query",
        "so is a view of fewer than 1,000 rows",
        "its groups can't be kept: STDDEV has no rule",
        "to change that: an aggregate that has one may stand in a view of its own",
    )
    windows = describe_maintenance(of("SELECT k, COUNT(*) OVER (PARTITION BY k) AS n FROM t"))
    assert windows[-1] == "so is a view of fewer than 1,000 rows", "there is nothing that could be kept"
    assert describe_maintenance(of("SELECT STDDEV(v) AS v FROM t"))[0] == "by its query, computed again: STDDEV has no rule"


def test_a_side_of_a_set_operation_that_did_not_change_is_not_read_for_keys() -> None:
    found = of("SELECT k FROM t UNION SELECT k FROM measured")
    assert isinstance(found, ChangedGroups)
    assert reads_of_terms(found, ["t"]) == ((), ())
    rows = of("SELECT k FROM t UNION ALL SELECT k FROM measured")
    assert isinstance(rows, LinearRows)
    assert reads_of_terms(rows, ["t"]) == ((), ("measured",)), "its types count"
