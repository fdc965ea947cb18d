"""Which objects a change gives another version, and which it does not."""

import pytest

from reconciler.diff.compare import compare
from reconciler.diff.model import Diff
from reconciler.diff.objects import ObjectChanges, changed_objects
from tests.diff.test_hidden_changes import snapshot

SQL = """\
CREATE TABLE t (id BIGINT NOT NULL, X INT, note STRING);
CREATE FUNCTION f(x INT) RETURNS INT AS x + 1;
CREATE FUNCTION g(x INT) RETURNS INT AS f(x) * 2;
CREATE LOCAL VIEW l AS SELECT id, X FROM t;
CREATE VIEW w AS SELECT * FROM l;
CREATE MATERIALIZED VIEW v AS SELECT id, g(X) AS y FROM w;
"""
SPEC = "spec: {evolution: evolve}"


def changes(
    before: str = SQL, after: str = SQL, spec_before: str = SPEC, spec_after: str = SPEC
) -> tuple[ObjectChanges, Diff]:
    applied, desired = snapshot(before, spec_before), snapshot(after, spec_after)
    diff = compare(applied, desired)
    return changed_objects(applied.program, desired.program, diff), diff


def redefined(before: str, after: str) -> tuple[str, ...]:
    assert before in SQL
    return changes(after=SQL.replace(before, after))[0].redefined


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # Tables: the schema.
        ("note STRING)", "note STRING, more INT)", ("table:t",)),
        (", note STRING", "", ("table:t",)),
        ("note STRING", "note VARCHAR(5)", ("table:t",)),
        ("X INT, note STRING", "note STRING, X INT", ("table:t",)),
        ("BIGINT NOT NULL", "BIGINT", ("table:t",)),
        ("NOT NULL", "NOT NULL PRIMARY KEY", ("table:t",)),
        ("note STRING", "note STRING DEFAULT 'n'", ("table:t",)),
        ("note STRING)", "note STRING, at TIMESTAMP LATENESS INTERVAL 1 HOUR)", ("table:t",)),
        ("note STRING);", "note STRING) WITH ('materialized' = 'true');", ("table:t",)),
        ("note STRING);", "note STRING) WITH ('append_only' = 'true');", ("table:t",)),
        # Views: the query, the names of columns, the kind; LOCAL ones as others.
        ("SELECT id, g(X)", "SELECT id, g(X + 1)", ("view:v",)),
        ("SELECT id, g(X) AS y FROM w", "SELECT id, g(X) AS y FROM w WHERE id > 1", ("view:v",)),
        ("VIEW v AS", "VIEW v (id, z) AS", ("view:v",)),
        ("CREATE MATERIALIZED VIEW v", "CREATE VIEW v", ("view:v",)),
        ("CREATE VIEW w", "CREATE MATERIALIZED VIEW w", ("view:w",)),
        ("CREATE VIEW w", "CREATE LOCAL VIEW w", ("view:w",)),
        ("CREATE LOCAL VIEW l", "CREATE VIEW l", ("view:l",)),
        ("VIEW l AS SELECT id, X FROM t", "VIEW l AS SELECT id, X FROM t WHERE id > 1", ("view:l",)),
        # Its columns are those of what it reads.
        ("VIEW l AS SELECT id, X FROM t", "VIEW l AS SELECT id, X, note FROM t", ("view:l", "view:w")),
        # Functions: parameters, result, body; with all that calls them.
        ("AS x + 1", "AS x + 2", ("function:f", "function:g", "view:v")),
        ("f(x INT) RETURNS INT", "f(x INT) RETURNS BIGINT", ("function:f", "function:g", "view:v")),
        ("f(x INT) RETURNS INT AS x + 1", "f(z INT) RETURNS INT AS z + 1", ("function:f", "function:g", "view:v")),
    ],
)
def test_what_means_something_else_is_redefined_and_nothing_else(before: str, after: str, expected: tuple[str, ...]) -> None:
    assert redefined(before, after) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT id, g(X) AS y FROM w", "select id,\n  g( X ) as y -- why\nfrom w"),
        ("CREATE MATERIALIZED VIEW v", "/* why */ create materialized view V"),
        ("note STRING", "note STRING COMMENT 'of who'"),
        ("CREATE TABLE t (id BIGINT", "create table T (ID bigint"),
        ("AS x + 1", "AS X+1 /* one */"),
    ],
)
def test_what_is_written_otherwise_is_not(before: str, after: str) -> None:
    assert redefined(before, after) == ()


@pytest.mark.parametrize(
    "spec",
    [
        "views: {v: {protect: true}}",
        "bootstrap_policy: allow",
        "evolution: evolve",
        "views: {v: {description: why}}",
        "runtime: {workers: 3, memory: 4g, checkpoint_interval: 5m}",
        "runtime: {spark: {spark.sql.shuffle.partitions: '7'}}",
        "connectors: [{name: in, table: t, transport: {name: file_input, config: {path: a}}, format: {name: json}}]",
        "connectors: [{name: out, view: v, transport: {name: file_output, config: {path: a}}, format: {name: json}}]",
    ],
)
def test_what_is_said_of_the_pipeline_or_its_connectors_redefines_nothing(spec: str) -> None:
    found, diff = changes(spec_before="spec: {}", spec_after=f"spec: {{{spec}}}")
    assert found == ObjectChanges((), {}, ())
    assert diff.metadata_changed


def test_settings_that_decide_results_redefine_every_view() -> None:
    found, _ = changes(spec_after="spec: {evolution: evolve, runtime: {spark: {spark.sql.session.timeZone: Asia/Tokyo}}}")
    assert found.redefined == ("view:l", "view:v", "view:w")


def test_rows_that_are_computed_anew_make_no_version() -> None:
    found, diff = changes(after=SQL.replace("AS x + 1", "AS x + 2").replace("FROM t;", "FROM t WHERE id > 1;"))
    assert found.redefined == ("function:f", "function:g", "view:l", "view:v"), "w only reads other rows"
    assert {"v", "w"} <= {change.name for change in diff.relations}


def test_what_comes_and_what_goes() -> None:
    found, _ = changes(after=SQL.replace("TABLE t", "TABLE other").replace("FROM t", "FROM other").replace("f(", "h("))
    assert found == ObjectChanges(
        ("function:g", "function:h", "table:other", "view:l", "view:v"), {}, ("function:f", "table:t")
    )
    assert changed_objects(None, snapshot(SQL).program, Diff((), ())).redefined == (
        "function:f", "function:g", "table:t", "view:l", "view:v", "view:w"
    )  # fmt: skip
    gone = changed_objects(snapshot(SQL).program, None, Diff((), ()))
    assert gone == ObjectChanges((), {}, ("function:f", "function:g", "table:t", "view:l", "view:v", "view:w"))
    assert changed_objects(None, None, Diff((), ())) == ObjectChanges((), {}, ())


def test_a_table_that_becomes_a_view_is_another_object() -> None:
    found, _ = changes(
        "CREATE TABLE t (x INT); CREATE TABLE o (x INT);", "CREATE TABLE t (x INT); CREATE VIEW o AS SELECT x FROM t;"
    )
    assert found == ObjectChanges(("view:o",), {}, ("table:o",))


MOVED = "spec: {{evolution: evolve, moved: [{}]}}"


def test_a_rename_is_no_new_meaning_but_a_query_that_follows_it_is_another() -> None:
    after = SQL.replace("TABLE t", "TABLE tt").replace("FROM t", "FROM tt").replace("VIEW v", "VIEW vv")
    found, _ = changes(after=after, spec_after=MOVED.format("{from: t, to: tt}, {from: v, to: vv}"))
    assert found == ObjectChanges(("view:l",), {"table:tt": "table:t", "view:vv": "view:v"}, ())


def test_a_rename_of_a_local_view() -> None:
    after = SQL.replace("VIEW l", "VIEW ll").replace("FROM l", "FROM ll")
    found, _ = changes(after=after, spec_after=MOVED.format("{from: l, to: ll}"))
    assert found == ObjectChanges(("view:w",), {"view:ll": "view:l"}, ())


def test_a_rename_together_with_a_change() -> None:
    after = SQL.replace("TABLE t (", "TABLE tt (more INT, ").replace("FROM t", "FROM tt").replace("VIEW v", "VIEW vv")
    after = after.replace("g(X) AS y", "g(X) + 1 AS y")
    found, _ = changes(after=after, spec_after=MOVED.format("{from: t, to: tt}, {from: v, to: vv}"))
    assert found == ObjectChanges(("table:tt", "view:l", "view:vv"), {"table:tt": "table:t", "view:vv": "view:v"}, ())


def test_a_column_that_is_renamed_is_another_schema() -> None:
    after = SQL.replace("note STRING", "remark STRING")
    found, _ = changes(after=after, spec_after=MOVED.format("{from: t.note, to: t.remark}"))
    assert found == ObjectChanges(("table:t",), {}, ())
    query = SQL.replace("id, X FROM t", "id, X, note FROM t")
    followed = after.replace("id, X FROM t", "id, X, remark AS note FROM t")
    found, _ = changes(query, followed, spec_after=MOVED.format("{from: t.note, to: t.remark}"))
    assert found == ObjectChanges(("table:t", "view:l"), {}, ())
    # What was moved before and stays in the file does no harm.
    assert changes(followed, followed, spec_after=MOVED.format("{from: t.note, to: t.remark}"))[0].redefined == ()


def test_a_new_view_by_which_names_become_data_redefines_none_that_is_there() -> None:
    more = SQL + "CREATE MATERIALIZED VIEW j AS SELECT to_json(struct(*)) AS j FROM t;"
    assert changes(after=more)[0].redefined == ("view:j",)
    assert changes(before=more)[0] == ObjectChanges((), {}, ("view:j",))
    assert changes(before=more, after=more.replace("id, X FROM t", "id, x FROM t"))[0].redefined == ("view:l", "view:w")
    assert changes(after=more.replace("id, X FROM t", "id, x FROM t"))[0].redefined == ("view:j", "view:l", "view:w")
