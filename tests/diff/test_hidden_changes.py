"""Changes that hide behind an unchanged text, or behind one that looks as if it only followed a rename: never spared."""

import pytest

from reconciler.base.diagnostics import errors_among
from reconciler.diff.compare import compare
from reconciler.diff.model import Diff
from reconciler.diff.moves import resolve_moves
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot

_EVOLVE = "spec: {evolution: evolve}"
_E_TO_B = "spec: {evolution: evolve, moved: [{from: t.e, to: t.b}]}"


def snapshot(sql: str, spec: str = _EVOLVE) -> Snapshot:
    head = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
    files = {"pipelines/shop/pipeline.yaml": f"{head}{spec}\n", "pipelines/shop/program.sql": sql}
    read = read_manifest("pipelines/shop", files, {})
    assert read.manifest is not None
    compiled = compile_program(read.manifest)
    assert not errors_among((*read.diagnostics, *compiled.diagnostics)), (*read.diagnostics, *compiled.diagnostics)
    return take_snapshot(compiled.program)


def changed(diff: Diff) -> set[str]:
    return {change.name for change in diff.relations}


T, TURNED = "CREATE TABLE t (x INT, y INT);", "CREATE TABLE t (y INT, x INT);"
S = "CREATE TABLE s (k INT, l INT);"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT coalesce(*) AS c FROM t",
        "SELECT p.a - p.b AS d FROM (SELECT * FROM t) AS p(a, b)",
        "WITH p(a, b) AS (SELECT * FROM t) SELECT a - b AS d FROM p",
        "SELECT p.a - p.b AS d FROM t AS p(a, b)",
        "SELECT k FROM s WHERE (k, l) IN (SELECT * FROM t)",
        "SELECT count(*) AS n FROM (SELECT * FROM s EXCEPT SELECT * FROM t)",
        "SELECT max(struct(*)) AS m FROM t",
    ],
)
@pytest.mark.parametrize("between", ["", "CREATE VIEW w AS SELECT {0} FROM t;", "CREATE LOCAL VIEW w AS SELECT {0} FROM t;"])
def test_columns_at_other_places_reach_who_uses_them_by_their_place(query: str, between: str) -> None:
    if between:
        query = query.replace("FROM t", "FROM w")
    view = f"CREATE MATERIALIZED VIEW v AS {query};"
    tables = (T, T) if between else (T, TURNED)
    before = snapshot(S + tables[0] + between.format("x, y") + view)
    after = snapshot(S + tables[1] + between.format("y, x") + view)
    assert "v" in changed(compare(before, after))


_COUNTS = (
    "count(* EXCEPT (id)) AS n FROM {0}",
    "count(*, 1) AS n FROM {0}",
    "count(*, id) AS n FROM {0}",
    "count(id, *) AS n FROM {0}",
    "id, count(* EXCEPT (id)) OVER (PARTITION BY id) AS n FROM {0}",
    "count(* EXCEPT (id)) FILTER (WHERE id > 1) AS n FROM {0}",
    "id FROM (SELECT id, count(*, 1) AS n FROM {0} GROUP BY id) WHERE n > 0",
    "id FROM {0} GROUP BY id HAVING count(* EXCEPT (id)) > 0",
    "(SELECT count(*, 1) FROM {0}) AS n",
    "hash(*) AS n FROM {0}",
    "1 IN (*) AS n FROM {0}",
    "to_json(named_struct('x', array(*))) AS n FROM {0}",
)
"""Queries over a relation, each with something that reads all its columns."""


@pytest.mark.parametrize("query", _COUNTS)
def test_what_counts_rows_without_a_null_reads_the_columns(query: str) -> None:
    tables = "CREATE TABLE t (id INT, a INT, b INT); CREATE MATERIALIZED VIEW w AS SELECT id, a, {0} AS b FROM t;"
    view = f"CREATE MATERIALIZED VIEW v AS SELECT {query.format('w')};"
    before, after = snapshot(tables.format("b") + view), snapshot(tables.format("nullif(b, 10)") + view)
    assert changed(compare(before, after)) == {"w", "v"}


@pytest.mark.parametrize("query", _COUNTS)
@pytest.mark.parametrize("between", ["", "CREATE VIEW w AS SELECT * FROM t;"])
def test_a_new_column_reaches_what_counts_rows_without_a_null(query: str, between: str) -> None:
    rest = f"{between} CREATE MATERIALIZED VIEW v AS SELECT {query.format('w' if between else 't')};"
    before = snapshot("CREATE TABLE t (id INT, a INT);" + rest)
    after = snapshot("CREATE TABLE t (id INT, a INT, b INT);" + rest)
    assert "v" in changed(compare(before, after))


def test_a_new_column_spares_what_counts_rows() -> None:
    view = "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, count(*) FILTER (WHERE id > 1) AS m FROM t;"
    before, after = "CREATE TABLE t (id INT, a INT);", "CREATE TABLE t (id INT, b INT, a INT);"
    assert changed(compare(snapshot(before + view), snapshot(after + view))) == {"t"}


def test_columns_at_other_places_spare_who_names_them() -> None:
    view = "CREATE MATERIALIZED VIEW v AS SELECT x FROM t;"
    assert changed(compare(snapshot(T + view), snapshot(TURNED + view))) == {"t"}


@pytest.mark.parametrize(
    ("tables", "renamed", "query", "other", "moved"),
    [
        ("m (id INT, min INT)", "m (id INT, max INT)", "min(x) AS p FROM u", "max(x) AS p FROM u", "m.min m.max"),
        (
            "m (id INT, left INT)",
            "m (id INT, right INT)",
            "u.x AS p FROM u LEFT JOIN b ON u.x = b.qty",
            "u.x AS p FROM u RIGHT JOIN b ON u.x = b.qty",
            "m.left m.right",
        ),
        (
            "m (id INT, qty INT)",
            "m (id INT, quantity INT)",
            "qty AS p FROM (SELECT * FROM b)",
            "quantity AS p FROM (SELECT * FROM b)",
            "m.qty m.quantity",
        ),
        (
            "m (id INT, month INT)",
            "m (id INT, year INT)",
            "date '2020-01-01' + INTERVAL 1 MONTH AS p FROM u",
            "date '2020-01-01' + INTERVAL 1 YEAR AS p FROM u",
            "m.month m.year",
        ),
        (
            "m (id INT, qty INT)",
            "m (id INT, quantity INT)",
            "s.qty AS p FROM w",
            "s.quantity AS p FROM w",
            "m.qty m.quantity",
        ),
    ],
)
def test_a_query_that_uses_a_renamed_word_otherwise_is_another_query(
    tables: str, renamed: str, query: str, other: str, moved: str
) -> None:
    rest = (
        "CREATE TABLE u (x INT); CREATE TABLE b (qty INT, quantity INT); "
        "CREATE TABLE w (s STRUCT<qty: INT, quantity: INT>); CREATE MATERIALIZED VIEW v AS SELECT "
    )
    source, target = moved.split()
    spec = f"spec: {{evolution: evolve, moved: [{{from: {source}, to: {target}}}]}}"
    before = snapshot(f"CREATE TABLE {tables}; {rest}{query};")
    after = snapshot(f"CREATE TABLE {renamed}; {rest}{other};", spec)
    assert "v" in changed(compare(before, after))


def test_a_query_that_only_follows_a_rename_is_the_same() -> None:
    view = "CREATE MATERIALIZED VIEW v AS SELECT m.{0} + 1 AS p FROM m WHERE m.{0} > 0;"
    spec = "spec: {evolution: evolve, moved: [{from: m.qty, to: m.quantity}]}"
    before = snapshot("CREATE TABLE m (id INT, qty INT);" + view.format("qty"))
    after = snapshot("CREATE TABLE m (id INT, quantity INT);" + view.format("quantity"), spec)
    assert changed(compare(before, after)) == {"m"}


@pytest.mark.parametrize(
    "query",
    [
        "* FROM t NATURAL JOIN u",
        "* EXCEPT (a) FROM t NATURAL JOIN u",
        "count(*) AS n FROM t NATURAL JOIN u",
        "count(*) AS n FROM (SELECT * FROM t) AS p NATURAL JOIN u",
        "* FROM t PIVOT (sum(a) AS s FOR d IN (1 AS one, 2 AS two))",
        "one FROM t PIVOT (sum(a) FOR d IN (1 AS one))",
        "* FROM t UNPIVOT (z FOR n IN (a, d))",
        "t.*, explode(array(1, 2)) AS x FROM t",
        "* FROM t LATERAL VIEW explode(array(1, 2)) AS x",
        "* FROM t, LATERAL (SELECT max(k) AS m FROM s WHERE s.k = t.a) AS x",
        "* FROM t UNION ALL BY NAME SELECT * FROM u",
        "a FROM (SELECT * FROM t UNION BY NAME SELECT * FROM u)",
        "struct(*) AS x FROM t",
        "(t.*, 1) AS x FROM t",
        "to_json(struct(t.*)) AS x FROM t",
        "d AS x FROM u WHERE EXISTS (SELECT 1 FROM t WHERE b = 1)",
        "u.d, (SELECT max(a) FROM t WHERE t.d = b) AS m FROM u",
        "* FROM (WITH RECURSIVE r AS (SELECT * FROM t UNION ALL SELECT a - 1, d, 9 FROM r WHERE a > 0) SELECT * FROM r)",
    ],
)
def test_a_renamed_column_reaches_who_may_read_it_by_its_name(query: str) -> None:
    rest = f"CREATE TABLE u (b INT, d INT); {S} CREATE MATERIALIZED VIEW v AS SELECT {query};"
    before = snapshot(f"CREATE TABLE t (a INT, d INT, e INT); {rest}")
    after = snapshot(f"CREATE TABLE t (a INT, d INT, b INT); {rest}", _E_TO_B)
    assert "v" in changed(compare(before, after))


@pytest.mark.parametrize(
    ("query", "before", "after", "moved"),
    [
        (
            "count(*) AS n FROM t NATURAL JOIN u",
            "CREATE TABLE t (a INT, b INT); CREATE TABLE u (a INT, b INT);",
            "CREATE TABLE t (c INT, d INT); CREATE TABLE u (d INT, c INT);",
            "{from: t.a, to: t.c}, {from: t.b, to: t.d}, {from: u.a, to: u.d}, {from: u.b, to: u.c}",
        ),
        (
            "a - b AS n FROM t, u",
            "CREATE TABLE t (a INT); CREATE TABLE u (b INT);",
            "CREATE TABLE t (b INT); CREATE TABLE u (a INT);",
            "{from: t.a, to: t.b}, {from: u.b, to: u.a}",
        ),
    ],
)
def test_columns_of_two_tables_that_trade_names_reach_who_reads_both(
    query: str, before: str, after: str, moved: str
) -> None:
    view = f"CREATE MATERIALIZED VIEW v AS SELECT {query};"
    spec = f"spec: {{evolution: evolve, moved: [{moved}]}}"
    assert "v" in changed(compare(snapshot(before + view), snapshot(after + view, spec)))


def test_a_renamed_field_of_a_struct_is_another_type() -> None:
    view = "CREATE MATERIALIZED VIEW v AS SELECT max((m.id, m.{0})) AS p FROM m;"
    spec = "spec: {evolution: evolve, moved: [{from: m.qty, to: m.quantity}]}"
    before = snapshot("CREATE TABLE m (id INT, qty INT);" + view.format("qty"))
    after = snapshot("CREATE TABLE m (id INT, quantity INT);" + view.format("quantity"), spec)
    assert "v" in changed(compare(before, after))


@pytest.mark.parametrize(
    "query",
    ["count(*) AS n FROM (SELECT * FROM t)", "t.a FROM t JOIN u USING (d)", "t.a, u.b AS x FROM t, u WHERE t.d = u.d"],
)
def test_a_renamed_column_spares_who_surely_has_nothing_of_its_name(query: str) -> None:
    rest = f"CREATE TABLE u (b INT, d INT); CREATE MATERIALIZED VIEW v AS SELECT {query};"
    before = snapshot(f"CREATE TABLE t (a INT, d INT, e INT); {rest}")
    after = snapshot(f"CREATE TABLE t (a INT, d INT, b INT); {rest}", _E_TO_B)
    assert changed(compare(before, after)) == {"t"}


@pytest.mark.parametrize(
    ("column", "query"),
    [
        ("current_date STRING", "x, cast(current_date AS STRING) AS p FROM t"),
        ("current_timestamp STRING", "x, cast(current_timestamp AS STRING) AS p FROM t"),
        ("current_user STRING", "x, cast(current_user AS STRING) AS p FROM t"),
        ("`all` INT", "count(*) AS n FROM t GROUP BY ALL"),
        ("`all` INT", "x FROM t ORDER BY ALL LIMIT 1"),
    ],
)
def test_a_column_that_takes_a_word_of_sql_reaches_who_holds_the_word(column: str, query: str) -> None:
    view = f"CREATE MATERIALIZED VIEW v AS SELECT {query};"
    after = snapshot(f"CREATE TABLE t (x INT, {column}); {view}")
    assert "v" in changed(compare(snapshot(f"CREATE TABLE t (x INT); {view}"), after))


def test_any_aggregates() -> None:
    rest = "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM w;"
    query = "CREATE TABLE u (x INT); CREATE MATERIALIZED VIEW w AS SELECT 1 AS g, {0} AS a FROM u; "
    diff = compare(snapshot(query.format("x > 1") + rest), snapshot(query.format("any(x > 1)") + rest))
    assert changed(diff) == {"w", "v"}


@pytest.mark.parametrize(
    "setting",
    [
        "spark.sql.jsonGenerator.ignoreNullFields: 'false'",
        "spark.sql.columnNameOfCorruptRecord: bad",
        "spark.sql.json.enablePartialResults: 'false'",
    ],
)
def test_settings_that_decide_how_texts_are_read_modify_views(setting: str) -> None:
    sql = "CREATE TABLE t (x INT); CREATE MATERIALIZED VIEW v AS SELECT to_json(struct(x)) AS j FROM t;"
    assert changed(compare(snapshot(sql), snapshot(sql, f"spec: {{runtime: {{spark: {{{setting}}}}}}}"))) == {"v"}


def test_a_function_that_gives_a_map_makes_names_data() -> None:
    sql = (
        "CREATE FUNCTION f(x INT) RETURNS MAP<STRING, INT> AS map('Key', x); CREATE TABLE t (x INT); "
        "CREATE MATERIALIZED VIEW v AS WITH m AS (SELECT f(x) AS m FROM t) SELECT m.{0} AS p FROM m;"
    )
    assert changed(compare(snapshot(sql.format("Key")), snapshot(sql.format("key")))) == {"v"}


def test_a_misspelt_move_of_what_would_be_removed_is_told() -> None:
    before = snapshot("CREATE TABLE customers (id INT);")
    after = snapshot("CREATE TABLE clients (id INT);", "spec: {moved: [{from: custmers, to: clients}]}")
    assert [one.code for one in resolve_moves(before.program, after.program).diagnostics] == ["P332"]
    elsewhere = snapshot("CREATE TABLE something_else (id INT);")
    assert resolve_moves(elsewhere.program, after.program).diagnostics == ()


def test_a_name_that_a_part_left_behind_can_not_be_declared_anew() -> None:
    head = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
    moved = "spec: {moved: [{from: a, to: b}, {from: a.q, to: b.r}]}\n"
    files = {
        "pipelines/shop/pipeline.yaml": head + moved,
        "pipelines/shop/program.sql": "CREATE TABLE b (id INT, r INT, q INT);",
    }
    read = read_manifest("pipelines/shop", files, {})
    assert read.manifest is not None
    assert [one.code for one in compile_program(read.manifest).diagnostics] == ["P323"]


CUSTOMER = "CREATE TABLE customer (id BIGINT, city STRING);"
BUYER = "CREATE TABLE orders (no BIGINT, id BIGINT{0});"
HIDDEN = (
    "CREATE MATERIALIZED VIEW v AS SELECT orders.no FROM orders LEFT JOIN customer USING (id) WHERE customer.id IS NULL;"
)


@pytest.mark.parametrize(
    ("before", "after", "spec"),
    [
        ("", ", customer STRUCT<id: BIGINT>", _EVOLVE),
        (
            ", buyer STRUCT<id: BIGINT>",
            ", customer STRUCT<id: BIGINT>",
            "spec: {evolution: evolve, moved: [{from: orders.buyer, to: orders.customer}]}",
        ),
    ],
    ids=["added", "renamed"],
)
def test_a_column_may_take_the_place_of_a_relation_whose_column_a_join_hides(before: str, after: str, spec: str) -> None:
    applied = snapshot(CUSTOMER + BUYER.format(before) + HIDDEN)
    desired = snapshot(CUSTOMER + BUYER.format(after) + HIDDEN, spec)

    diff = compare(applied, desired)

    assert "v" in changed(diff)


def test_a_table_that_stands_for_a_query_is_read() -> None:
    program = (
        "CREATE TABLE t (id INT, k INT); CREATE MATERIALIZED VIEW a AS SELECT id, k + {0} AS k FROM t;"
        "CREATE VIEW z AS WITH q AS (TABLE a) SELECT id, k FROM q;"
        "CREATE MATERIALIZED VIEW m AS SELECT z.id, z.k FROM a JOIN z ON z.id = a.id;"
    )

    assert changed(compare(snapshot(program.format(1)), snapshot(program.format(100)))) >= {"a", "m"}


def test_what_a_text_means_on_another_day_is_not_spared() -> None:
    tables = "CREATE TABLE t (id INT, d DATE, b INT);"
    views = tables + "CREATE MATERIALIZED VIEW w AS SELECT id, d < {1} AS old, {0} AS b FROM t;"
    views += "CREATE MATERIALIZED VIEW v AS SELECT id, old FROM w;"
    for text, reached in (("'today'", {"w", "v"}), ("'2020-01-01'", {"w"})):
        before, after = snapshot(views.format("b", text)), snapshot(views.format("b + 1", text))
        assert changed(compare(before, after)) == reached


_NAMES_ARE_DATA = (
    "CREATE TABLE maps (m MAP<STRING, INT>);",
    "CREATE MATERIALIZED VIEW maps AS SELECT to_json(struct(*)) AS j FROM s;",
    "CREATE VIEW maps AS SELECT typeof((k, 1)) AS j FROM s;",
    "CREATE VIEW maps AS SELECT * FROM s UNPIVOT (z FOR n IN (k, l));",
    "CREATE FUNCTION maps(x MAP<STRING, INT>) RETURNS INT AS x['k'];",
)
"""What makes names data in a program, each beside what is changed."""


@pytest.mark.parametrize("beside", _NAMES_ARE_DATA)
def test_where_names_are_data_a_changed_column_still_spares_who_does_not_read_it(beside: str) -> None:
    views = "CREATE MATERIALIZED VIEW b AS SELECT x, {0} AS z FROM t; CREATE MATERIALIZED VIEW v AS SELECT {1} FROM b;"
    program = T + S + beside + views
    found = compare(snapshot(program.format("y", "x")), snapshot(program.format("y * 2", "x")))
    assert changed(found) == {"b"}
    assert [one.columns for one in found.spared] == [("z",)]
    # The name is spelled otherwise: whoever reads the column may show it.
    respelled = program.replace("AS z", "AS Z")
    assert changed(compare(snapshot(program.format("y", "x")), snapshot(respelled.format("y", "x")))) == {"b"}
    for reader in ("z", "*", "to_json(struct(b.*)) AS j", "to_json(struct(z)) AS j", "typeof((x, z)) AS j"):
        pair = snapshot(program.format("y", reader)), snapshot(respelled.format("y", reader))
        assert changed(compare(*pair)) == {"b", "v"}


@pytest.mark.parametrize("beside", _NAMES_ARE_DATA)
@pytest.mark.parametrize("kind", ["MATERIALIZED VIEW", "LOCAL VIEW"])
def test_where_names_are_data_a_listed_name_that_is_spelled_otherwise_reaches_who_may_show_it(
    beside: str, kind: str
) -> None:
    views = f"CREATE {kind} b({{0}}) AS SELECT x, y FROM t; CREATE MATERIALIZED VIEW v AS SELECT {{1}} FROM b;"
    program = T + S + beside + views
    for reader in ("z", "*", "to_json(struct(*)) AS j", "to_json(struct(b.*)) AS j", "typeof((*)) AS j"):
        pair = snapshot(program.format("x, z", reader)), snapshot(program.format("x, Z", reader))
        assert "v" in changed(compare(*pair)), reader
    pair = snapshot(program.format("x, z", "x")), snapshot(program.format("x, Z", "x"))
    assert "v" not in changed(compare(*pair))


def test_a_struct_of_a_renamed_item_changes_with_it() -> None:
    views = "CREATE MATERIALIZED VIEW b AS SELECT x AS {0}, to_json(struct({0})) AS j FROM t;"
    program = T + views + "CREATE MATERIALIZED VIEW v AS SELECT j FROM b;"
    assert changed(compare(snapshot(program.format("n")), snapshot(program.format("N")))) == {"b", "v"}


@pytest.mark.parametrize("kind", ["VIEW", "LOCAL VIEW"])
@pytest.mark.parametrize("reader", ["SELECT x FROM w LIMIT 1", "SELECT first(x) AS x FROM w"])
def test_the_order_of_a_view_that_is_read_in_place_decides_what_its_readers_take(kind: str, reader: str) -> None:
    """Spark computes such a view where it is read, so that a LIMIT there leaves the first rows of its ORDER BY."""
    program = (
        "CREATE TABLE t (x INT, y INT); CREATE MATERIALIZED VIEW m AS SELECT x, y + {0} AS z FROM t;"
        "CREATE {1} w AS SELECT x, z FROM m ORDER BY z; CREATE MATERIALIZED VIEW v AS {2};"
    )
    before, after = (snapshot(program.format(number, kind, reader)) for number in (1, 2))
    assert "v" in changed(compare(before, after))


def test_the_order_of_a_view_that_is_stored_decides_nothing() -> None:
    program = (
        "CREATE TABLE t (x INT, y INT); CREATE MATERIALIZED VIEW m AS SELECT x, y + {0} AS z FROM t;"
        "CREATE MATERIALIZED VIEW w AS SELECT x, z FROM m ORDER BY z; CREATE MATERIALIZED VIEW v AS SELECT x FROM w LIMIT 1;"
    )
    before, after = (snapshot(program.format(number)) for number in (1, 2))
    assert "v" not in changed(compare(before, after))
