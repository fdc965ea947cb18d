"""Hazards: each is found where it is, and not in the nearest case that is none."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from reconciler.base.declarations import BootstrapPolicy, FunctionDeclaration, PythonBody, RelationKind, SqlBody
from reconciler.diff.causes import PrimaryKeyChanged
from reconciler.diff.compare import compare
from reconciler.diff.model import Action, Diff, Fate, RelationChange
from reconciler.plan.digest import plan_digest
from reconciler.plan.hazards import NOTHING_ASKED, Asked, find_hazards
from reconciler.plan.hazards.large import find_impact_hazards
from reconciler.plan.hazards.readers import NOTHING_BESIDE, Beside, ForeignReader
from reconciler.plan.impact import Impact, ReadImpact, ViewImpact
from reconciler.plan.make import Known, make_plan
from reconciler.plan.model import Hazard, Policies
from reconciler.project.manifest.read import read_manifest
from reconciler.project.manifest.verdicts import Limits
from reconciler.project.program.compile import compile_program
from reconciler.project.program.model import Function, Program, empty_program
from reconciler.project.snapshot.codec import decode_program, encode_program
from reconciler.project.snapshot.model import take_snapshot

YAML = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
T = "CREATE TABLE t (id BIGINT, name VARCHAR);\n"
U = "CREATE TABLE u (id BIGINT, name VARCHAR);\n"


def program(sql: str, spec: str = "", protected: tuple[str, ...] = ()) -> Program:
    yaml = YAML + (f"spec:\n{spec}" if spec else "")
    read = read_manifest("pipelines/shop", {"pipelines/shop/pipeline.yaml": yaml, "pipelines/shop/program.sql": sql}, {})
    assert read.manifest is not None, read.diagnostics
    compiled = compile_program(read.manifest).program
    return replace(compiled, settings=replace(compiled.settings, protected=protected))


def between(
    applied: Program, desired: Program | None, asked: Asked = NOTHING_ASKED, beside: Beside = NOTHING_BESIDE
) -> tuple[Hazard, ...]:
    after = desired if desired is not None else empty_program(applied.settings)
    diff = compare(take_snapshot(applied), take_snapshot(after))
    return find_hazards(diff, applied, after, removes_pipeline=desired is None, asked=asked, beside=beside)


def codes(hazards: Sequence[Hazard], code: str) -> list[str]:
    """The subjects of the hazards of one code."""
    return [hazard.subject for hazard in hazards if hazard.code == code]


def output(view: str, name: str = "out", more: str = "") -> str:
    return (
        f"  connectors:\n    - name: {name}\n      view: {view}\n{more}"
        "      transport: {name: delta_table_output, config: {uri: somewhere}}\n"
    )


def test_of_others_a_digest_holds_who_they_are_and_no_words() -> None:
    """Another wording of a hazard voids no approval."""
    applied, desired = program(T, "  connectors: []\n"), program("CREATE TABLE t (id BIGINT);")
    sending = program(f"{KEYED}CREATE VIEW v AS SELECT id FROM k;", output("v"))
    readers = {"t": [ForeignReader("bills.v", frozenset({"name"})), ForeignReader("bills.w", frozenset({"id"}))]}
    writers = {"v.out": ("bills.v.lake", "costs.v.lake")}
    policies = Policies(BootstrapPolicy.ALLOW)
    for before, after, others in (
        (take_snapshot(applied), take_snapshot(desired), {"readers": {"t": ["bills.v"]}}),
        (None, take_snapshot(sending), {"writers": {"v.out": ["bills.v.lake", "costs.v.lake"]}}),
    ):
        beside = Beside(readers, writers if before is None else {})
        plan = make_plan("shop", "dev", before, after, policies, Known(beside=beside))
        digests = (before.digest if before is not None else None, after.digest)
        assert plan.digest == plan_digest("shop", "dev", digests, policies, None, others)


@pytest.mark.parametrize(
    ("spec", "desired", "expected"),
    [
        ("  evolution: evolve\n", "CREATE TABLE t (id BIGINT);", [("t", "its values are deleted")]),
        ("  evolution: evolve\n", "CREATE TABLE t (id BIGINT, title VARCHAR);", [("t", "if it was renamed to title")]),
        ("  evolution: evolve\n", "CREATE TABLE t (id BIGINT, size INT);", [("t", "its values are deleted")]),
        ("  evolution: evolve\n  moved: [{from: t.name, to: t.title}]\n", "CREATE TABLE t (id BIGINT, title VARCHAR);", []),
        ("  evolution: evolve\n", "CREATE TABLE t (name VARCHAR, id BIGINT);", []),
        ("  evolution: clear\n", "CREATE TABLE t (id BIGINT);", []),
        ("  evolution: evolve\n", "CREATE TABLE t (id BIGINT PRIMARY KEY);", []),
    ],
)
def test_a_column_that_is_removed_while_the_rows_stay(spec: str, desired: str, expected: list[tuple[str, str]]) -> None:
    found = [hazard for hazard in between(program(T, spec), program(desired, spec)) if hazard.code == "H913"]
    assert [hazard.subject for hazard in found] == [subject for subject, _ in expected]
    assert all(words in hazard.message for hazard, (_, words) in zip(found, expected, strict=True))


def test_a_removed_table_that_may_only_be_renamed() -> None:
    found = between(program(T), program(T.replace("TABLE t", "TABLE other")))
    assert "if it was renamed to other, declare that under moved" in next(one.message for one in found if one.code == "H901")
    found = between(program(T), program("CREATE TABLE other (id BIGINT);"))
    assert "under moved" not in next(one.message for one in found if one.code == "H901")


@pytest.mark.parametrize(
    ("name", "path", "more", "key", "expected"),
    [
        ("b", "in", "", "", ["t.b"]),
        ("b", "elsewhere", "", "", []),
        ("b", "in", "  moved: [{from: t.a, to: t.b}]\n", "", []),
        ("b", "in", "", ", PRIMARY KEY (id)", []),
    ],
)
def test_a_new_connector_that_reads_what_a_removed_one_read(
    name: str, path: str, more: str, key: str, expected: list[str]
) -> None:
    table = f"CREATE TABLE t (id BIGINT{key});"
    files = (
        "  connectors:\n    - name: {}\n      table: t\n"
        "      transport: {{name: file_input, config: {{path: {}}}}}\n      format: {{name: json}}\n"
    )
    applied, desired = program(table, files.format("a", "in")), program(table, files.format(name, path) + more)
    assert codes(between(applied, desired), "H904") == expected


def test_a_type_that_changed_is_handed_on_by_local_views() -> None:
    views = "CREATE LOCAL VIEW l AS SELECT id FROM t; CREATE MATERIALIZED VIEW m AS SELECT id FROM l;"
    sides = [program(f"CREATE TABLE t (id {one}); {views}", "  evolution: evolve\n") for one in ("INT", "BIGINT")]
    assert codes(between(*sides), "H907") == ["m"]


def test_a_removed_table_and_a_removed_view() -> None:
    applied = program(T + U + "CREATE VIEW v AS SELECT id FROM t;")
    found = between(applied, program(T))
    assert codes(found, "H901") == ["u"]
    assert codes(found, "H903") == ["v"]
    assert codes(found, "H906") == []


@pytest.mark.parametrize(
    ("fate", "expected"),
    [(None, ["t"]), (Fate.CLEARED, ["t"]), (Fate.EVOLVED, []), (Fate.EXTENDED, []), (Fate.KEPT, [])],
)
def test_a_table_is_cleared_unless_its_rows_are_kept(fate: Fate | None, expected: list[str]) -> None:
    applied, desired = program(T, protected=("t",)), program(T)
    causes = (PrimaryKeyChanged((), ("id",)),)
    diff = Diff((RelationChange(Action.MODIFIED, RelationKind.TABLE, "t", causes, fate),), ())
    found = find_hazards(diff, applied, desired, removes_pipeline=False)
    assert codes(found, "H902") == expected
    assert codes(found, "H911") == expected


@pytest.mark.parametrize(("fate", "expected"), [(Fate.CLEARED, []), (Fate.EVOLVED, ["t.live"])])
def test_rows_come_in_twice_only_where_the_table_keeps_its_own(fate: Fate, expected: list[str]) -> None:
    live = "  connectors:\n    - name: live\n      table: t\n      transport: {{name: file_input, config: {{path: {}}}}}\n"
    live += "      format: {{name: json}}\n"
    applied, desired = program(T, live.format("a")), program(T, live.format("b"))
    diff = compare(take_snapshot(applied), take_snapshot(desired))
    changed = RelationChange(Action.MODIFIED, RelationKind.TABLE, "t", (PrimaryKeyChanged((), ()),), fate)
    found = find_hazards(replace(diff, relations=(changed,)), applied, desired, removes_pipeline=False)
    assert codes(found, "H904") == expected


@pytest.mark.parametrize(
    ("mode", "expected"), [("full", ["v.out"]), ("silent", ["v.out"]), ("changes", []), ("truncate", [])]
)
def test_a_sink_is_stale_unless_it_is_told_what_is_gone(mode: str, expected: list[str]) -> None:
    spec = output("v", more=f"      on_bootstrap: {mode}\n")
    view = "CREATE MATERIALIZED VIEW v AS SELECT {} AS id FROM t;"
    applied, desired = program(T + view.format("id"), spec), program(T + view.format("id + 1"), spec)
    assert codes(between(applied, desired), "H905") == expected
    assert codes(between(applied, applied), "H905") == []


def test_a_new_outputs_sink_is_not_known_to_hold_anything() -> None:
    view = "CREATE MATERIALIZED VIEW v AS SELECT {} AS id FROM t;"
    spec = output("v", more="      on_bootstrap: full\n")
    assert codes(between(program(T + view.format("id")), program(T + view.format("id + 1"), spec)), "H905") == []


def test_everything_is_removed() -> None:
    applied = program(T + U)
    assert codes(between(applied, None), "H906") == ["shop"]
    assert codes(between(applied, program("CREATE TABLE other (id BIGINT);")), "H906") == ["shop"]
    assert codes(between(applied, program(T)), "H906") == []
    assert between(program(""), None) == ()


def test_a_rename_removes_nothing() -> None:
    applied, desired = program(T), program(T.replace("TABLE t", "TABLE other"))
    change = RelationChange(Action.MODIFIED, RelationKind.TABLE, "other", (), Fate.KEPT, renamed_from="t")
    assert find_hazards(Diff((change,), ()), applied, desired, removes_pipeline=False) == ()


VIEW = "CREATE {}VIEW v AS SELECT {} FROM t;"


@pytest.mark.parametrize(
    ("kind", "spec", "columns", "expected"),
    [
        ("MATERIALIZED ", "", "id", ["v"]),
        ("MATERIALIZED ", "", "id, name AS title", ["v"]),
        ("MATERIALIZED ", "", "name, id", ["v"]),
        ("MATERIALIZED ", "", "0 AS zero, id, name", ["v"]),
        ("MATERIALIZED ", "", "id, name, 0 AS zero", []),
        ("MATERIALIZED ", "", "id + 1 AS ID, name", []),
        ("", output("v"), "id", ["v"]),
        ("", "", "id", []),
    ],
)
def test_public_columns_are_those_that_somebody_outside_reads(
    kind: str, spec: str, columns: str, expected: list[str]
) -> None:
    applied, desired = program(T + VIEW.format(kind, "id, name"), spec), program(T + VIEW.format(kind, columns), spec)
    assert codes(between(applied, desired), "H907") == expected


def test_the_words_of_changed_columns_name_readers_and_columns() -> None:
    applied = program(T + VIEW.format("MATERIALIZED ", "id, name"), output("v"))
    (lost,) = [
        one for one in between(applied, program(T + VIEW.format("MATERIALIZED ", "id"), output("v"))) if one.code == "H907"
    ]
    assert lost.message == "view v no longer has column name; this may break v.out and readers of its Delta table"
    (moved,) = [
        one for one in between(applied, program(T + VIEW.format("MATERIALIZED ", "name, id"), "")) if one.code == "H907"
    ]
    assert moved.message == (
        "view v has its columns in another order: (id, name) is now (name, id); this may break readers of its Delta table"
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT id, name FROM t", ["v"]),
        ("SELECT * FROM t", ["v"]),
        ("SELECT x.id FROM t AS x JOIN u ON x.id = u.id", ["v"]),
        ("SELECT id FROM w", ["v"]),
        ("SELECT name FROM t", []),
        ("SELECT t.s.id FROM t", []),
        ("SELECT s.id FROM t", []),
        ("SELECT CAST(id AS STRING) AS id FROM t", []),
        ("SELECT COUNT(id) AS id FROM t", []),
        ("SELECT id FROM (SELECT CAST(id AS STRING) AS id FROM t)", []),
        ("WITH w AS (SELECT CAST(id AS STRING) AS id FROM t) SELECT id FROM w", []),
        ("SELECT id FROM u", []),
    ],
)
def test_a_type_changes_where_a_tables_column_is_handed_on(query: str, expected: list[str]) -> None:
    views = f"CREATE VIEW w AS SELECT id FROM t;\nCREATE MATERIALIZED VIEW v AS {query};"
    table = "CREATE TABLE t (id BIGINT, name VARCHAR, s STRUCT<id: INT>);\n"
    retyped = table.replace("id BIGINT", "id STRING").replace("INT>", "BIGINT>")
    found = between(program(table + U + views), program(retyped + U + views))
    assert codes(found, "H907") == expected
    if expected:
        (message,) = [one.message for one in found if one.code == "H907"]
        assert "has other column types: id was BIGINT and is STRING" in message


def test_an_output_that_is_new_knows_no_older_columns() -> None:
    applied = program(T + VIEW.format("", "id, name"))
    assert codes(between(applied, program(T + VIEW.format("", "id"), output("v"))), "H907") == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("id, rand() AS r", ["v"]),
        ("id, CURRENT_DATE AS d", ["v"]),
        ("id, t.name AS current_date", []),
        ("id, 'rand()' AS r", []),
        ("id, sqrt(id) AS r", []),
    ],
)
def test_a_view_of_chance_or_the_clock(query: str, expected: list[str]) -> None:
    found = between(program(T), program(T + VIEW.format("MATERIALIZED ", query)))
    assert codes(found, "H908") == expected


def test_only_views_that_are_computed_are_looked_at() -> None:
    old = T + VIEW.format("MATERIALIZED ", "id, rand() AS r")
    crossing = "CREATE MATERIALIZED VIEW w AS SELECT t.id FROM t CROSS JOIN u;"
    found = between(program(old + U + crossing), program(old + U + crossing + "CREATE VIEW x AS SELECT id FROM t;"))
    assert found == ()


def test_what_a_local_view_calls_reaches_its_readers() -> None:
    local = "CREATE LOCAL VIEW l AS SELECT id, {} AS r FROM t;\nCREATE MATERIALIZED VIEW v AS SELECT id, r FROM l;"
    found = between(program(T + local.format("0")), program(T + local.format("rand()")))
    assert codes(found, "H908") == ["l"]


def function(name: str, body: SqlBody | PythonBody, deterministic: bool, calls: tuple[str, ...] = ()) -> Function:
    return Function(FunctionDeclaration(name, (), "INT", body, deterministic, ""), calls)


PYTHON = PythonBody("m", {"m.py": ""})


@pytest.mark.parametrize(
    ("functions", "expected"),
    [
        ([function("f", PYTHON, False)], ["v"]),
        ([function("f", PYTHON, True)], []),
        ([function("f", SqlBody("1 + 1"), False)], []),
        ([function("f", SqlBody("rand()"), False)], ["v"]),
        ([function("f", SqlBody("g()"), False, ("g",)), function("g", PYTHON, False)], ["v"]),
        ([function("f", SqlBody("g()"), False, ("g",)), function("g", PYTHON, True)], []),
        ([function("f", SqlBody("f()"), False, ("f",))], []),
    ],
)
def test_a_function_of_the_pipeline_is_judged_by_its_declaration_or_its_sql(
    functions: list[Function], expected: list[str]
) -> None:
    applied, desired = program(T), program(T + VIEW.format("", "id"))
    diff = compare(take_snapshot(applied), take_snapshot(desired))
    views = {"v": replace(desired.views["v"], calls=("f",))}
    desired = replace(desired, views=views, functions={one.name: one for one in functions})
    found = find_hazards(diff, applied, desired, removes_pipeline=False)
    assert codes(found, "H908") == expected


KEYED = "CREATE TABLE k (id BIGINT NOT NULL PRIMARY KEY, day DATE, name STRING);"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT day, any_value(name) AS name, rand() AS r FROM k GROUP BY day", "calls any_value, rand"),
        ("SELECT id, name FROM k ORDER BY day LIMIT 10", "takes LIMIT by an order that may have ties"),
        (
            "SELECT id, first(name) OVER (ORDER BY day) AS f, uuid() AS u FROM k",
            "calls uuid and takes first by an order that may have ties",
        ),
        ("SELECT n, id FROM w ORDER BY n LIMIT 1", "takes LIMIT by an order that may have ties"),
        ("SELECT id, name FROM k ORDER BY day, id LIMIT 10", None),
        ("SELECT id, row_number() OVER (ORDER BY id) AS n FROM w", None),
    ],
)
def test_what_rows_do_not_determine(query: str, told: str | None) -> None:
    before = KEYED + "CREATE VIEW w AS SELECT id, name AS n FROM k;"
    found = between(program(before), program(f"{before} CREATE MATERIALIZED VIEW v AS {query};"))
    messages = [hazard.message for hazard in found if hazard.code == "H908"]
    expected = f"view v {told}: computed again from the same rows, its result may differ"
    assert messages == ([] if told is None else [expected])


STREAM = """\
  streams:
    - {{name: timed, assign_timestamps_and_watermarks: {{input: e, event_time: at, delay: 1m}}}}
    - name: s
      aggregate_over_window: {{input: timed, keys: [id], window: {{tumbling: 1h}}, aggregates: {{found: "{aggregate}"}}}}
"""


@pytest.mark.parametrize(
    ("aggregate", "told"),
    [
        ("collect_list(v)", "calls collect_list"),
        ("max_by(v, at)", "calls max_by"),
        ("sort_array(collect_list(v))", None),
        ("max(v)", None),
    ],
)
def test_what_rows_of_a_stream_do_not_determine(aggregate: str, told: str | None) -> None:
    before = "CREATE TABLE e (id INT, at TIMESTAMP, v INT) WITH ('append_only' = 'true');"
    found = between(program(before), program(before, STREAM.format(aggregate=aggregate)))
    messages = [hazard.message for hazard in found if hazard.code == "H908"]
    expected = f"stream s {told}: computed again from the same rows, its result may differ"
    assert messages == ([] if told is None else [expected])


USED = "  evolution: evolve\n  views: {v: {used_by: [billing]}}\n"


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ("CAST(id AS BIGINT) AS x FROM k", "CAST(id AS STRING) AS x FROM k", "changes column x from BIGINT to STRING"),
        ("name AS x FROM k", "CAST(name AS INT) AS x FROM k", "changes column x from STRING to INT"),
        (
            "id AS x, day FROM k",
            "id::DECIMAL(20, 0) AS x FROM k",
            "loses column day; changes column x from BIGINT to DECIMAL(20,0)",
        ),
        ("name AS x FROM k", "day AS x FROM k", "changes column x from STRING to DATE"),
        ("n AS x FROM w", "CAST(n AS INT) AS x FROM w", "changes column x from STRING to INT"),
        ("f(name) AS x FROM k", "f(name) || 'a' AS x FROM k", None),
        ("name AS x FROM k", "f(name) AS x FROM k", "changes column x from STRING to DATE"),
        ("CAST(id AS LONG) AS x FROM k", "CAST(id AS BIGINT) AS x FROM k", None),
    ],
)
def test_a_column_of_a_view_that_is_read_elsewhere_has_another_type(before: str, after: str, lost: str | None) -> None:
    rest = (
        f"{KEYED} CREATE FUNCTION f(x STRING) RETURNS DATE AS CAST(x AS DATE); CREATE VIEW w AS SELECT id, name AS n FROM k;"
    )
    sides = [program(f"{rest} CREATE MATERIALIZED VIEW v AS SELECT {query};", USED) for query in (before, after)]
    messages = [hazard.message for hazard in between(*sides) if hazard.code == "H915"]
    assert messages == ([] if lost is None else [f"view v, which billing reads, {lost}"])


def test_a_retyped_column_of_a_table_reaches_who_reads_a_view_elsewhere() -> None:
    view = "CREATE MATERIALIZED VIEW w AS SELECT id, day FROM {0}; CREATE MATERIALIZED VIEW v AS SELECT id AS x FROM w;"
    sides = [program(KEYED.replace("BIGINT", kind) + view.format("k"), USED) for kind in ("INT", "BIGINT")]
    messages = [hazard.message for hazard in between(*sides) if hazard.code == "H915"]
    assert messages == ["view v, which billing reads, changes column x from INT to BIGINT"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("t CROSS JOIN u", ["v"]),
        ("t, u", ["v"]),
        ("t JOIN u", ["v"]),
        ("t JOIN u ON true", ["v"]),
        ("t JOIN (SELECT a.id FROM u a, u b) x ON t.id = x.id", ["v"]),
        ("t, u WHERE t.id = u.id", []),
        ("t JOIN u ON t.id = u.id", []),
        ("t LEFT JOIN u USING (id)", []),
        ("t NATURAL JOIN u", []),
        ("t, (SELECT max(id) AS m FROM u)", []),
    ],
)
def test_a_join_of_everything_with_everything(source: str, expected: list[str]) -> None:
    found = between(program(T + U), program(T + U + f"CREATE VIEW v AS SELECT t.id FROM {source};"))
    assert codes(found, "H909") == expected


FOUR = "".join(f"CREATE TABLE a{number} (id BIGINT);\n" for number in range(4))


@pytest.mark.parametrize(
    ("kept", "share", "expected"),
    [(1, 0.5, ["shop"]), (2, 0.5, []), (2, 0.4, ["shop"]), (3, 0.0, ["shop"]), (1, 1.0, [])],
)
def test_a_large_share_is_removed(kept: int, share: float, expected: list[str]) -> None:
    desired = program("".join(FOUR.splitlines(keepends=True)[:kept]))
    assert codes(between(program(FOUR), desired, Asked(Limits(removed_share=share))), "H910") == expected


def test_of_few_relations_no_share_is_large_and_of_all_the_other_hazard_speaks() -> None:
    three = program("".join(FOUR.splitlines(keepends=True)[:3]))
    assert codes(between(three, program(FOUR.splitlines()[0])), "H910") == []
    assert codes(between(program(FOUR), None), "H910") == []


def test_a_protected_relation_is_removed() -> None:
    view = "CREATE VIEW v AS SELECT id FROM t;"
    assert codes(between(program(T + view, protected=("v",)), program(T)), "H911") == ["v"]
    assert codes(between(program(T + view, protected=("t",)), program(T)), "H911") == []
    assert codes(between(program(T + view), program(T)), "H911") == []


def test_deleting_the_folder_or_the_protection_with_the_table_takes_no_protection_away() -> None:
    applied = program(T + U, protected=("t",))
    assert codes(between(applied, None), "H911") == ["t"]
    assert codes(between(applied, program(U)), "H911") == ["t"]
    assert codes(between(program(T + U), program(U, protected=("t",))), "H911") == ["t"]


def test_protection_follows_a_renamed_table() -> None:
    applied, desired = program(T, protected=("t",)), program(T.replace("TABLE t", "TABLE other"))
    change = RelationChange(Action.MODIFIED, RelationKind.TABLE, "other", (), Fate.CLEARED, renamed_from="t")
    found = find_hazards(Diff((change,), ()), applied, desired, removes_pipeline=False)
    assert codes(found, "H911") == ["other"]


def test_a_protected_view_that_is_no_longer_stored_loses_its_rows() -> None:
    applied = program(T + VIEW.format("MATERIALIZED ", "id"), protected=("v",))
    assert codes(between(applied, program(T + VIEW.format("", "id"))), "H911") == ["v"]
    assert codes(between(applied, program(T + VIEW.format("MATERIALIZED ", "id + 1 AS id"))), "H911") == []


def test_protection_is_kept_in_the_registry() -> None:
    stored = decode_program(encode_program(program(T, protected=("t",))))
    assert codes(between(stored, None), "H911") == ["t"]


def impact(*reads: ReadImpact) -> Impact:
    return Impact((ViewImpact("v", reads, None, (), None),), (), 0, 0, True, 0, None)


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ((ReadImpact("t", 100, 10),), []),
        ((ReadImpact("t", 101, 10),), ["v"]),
        ((ReadImpact("t", 51, 5), ReadImpact("u", 50, 5)), ["v"]),
        ((ReadImpact("t", None, 1001),), ["v"]),
        ((ReadImpact("t", None, None),), []),
    ],
)
def test_a_view_that_reads_much(reads: tuple[ReadImpact, ...], expected: list[str]) -> None:
    found = find_impact_hazards(impact(*reads), Limits(large_rows=100, large_bytes=1000))
    assert codes(found, "H912") == expected


def test_the_words_of_a_large_view_say_how_large() -> None:
    (found,) = find_impact_hazards(impact(ReadImpact("t", 2_000_000, 5_000)), Limits(large_rows=1000))
    assert found.message == "view v is computed from 2,000,000 rows and 5,000 bytes"


def test_what_a_long_chain_of_functions_calls_is_found() -> None:
    functions = "CREATE FUNCTION f0(x INT) RETURNS INT AS CAST(x + rand() AS INT);\n"
    functions += "\n".join(f"CREATE FUNCTION f{i}(x INT) RETURNS INT AS f{i - 1}(x);" for i in range(1, 1_200))
    view = "CREATE MATERIALIZED VIEW v AS SELECT f1199(CAST(id AS INT)) AS x FROM t;"
    found = between(program(T + functions), program(T + functions + view))
    assert [one.message.partition(":")[0] for one in found if one.code == "H908"] == ["view v calls f1199"]


FOLLOWED = "{name: delta_table_input, config: {uri: /x, mode: snapshot_and_follow}}"
CHANGES = "{name: file_input, config: {path: in}}\n      format: {name: json, config: {update_format: insert_delete}}"
ROWS = "{name: file_input, config: {path: in}}\n      format: {name: json}"
KAFKA = "{name: kafka_input, config: {topic: t, bootstrap.servers: 'h:1', start_from: earliest}}\n      format: {name: json}"
ONCE = "{name: delta_table_input, config: {uri: /x, mode: snapshot}}"


@pytest.mark.parametrize(
    ("transport", "before", "after", "told"),
    [
        (FOLLOWED, "id BIGINT", "id BIGINT, note VARCHAR", True),
        (CHANGES, "id BIGINT", "id BIGINT, note VARCHAR", True),
        (KAFKA, "id BIGINT", "id BIGINT, note VARCHAR", True),
        (FOLLOWED, "id BIGINT, x DECIMAL(10,2)", "id BIGINT, x DECIMAL(12,4)", True),
        (FOLLOWED, "id BIGINT, x VARCHAR DEFAULT 'a'", "id BIGINT, x VARCHAR DEFAULT 'b'", True),
        (FOLLOWED, "id INT", "id BIGINT", False),
        (FOLLOWED, "id BIGINT, x VARCHAR(3)", "id BIGINT, x VARCHAR(5)", False),
        (FOLLOWED, "id BIGINT, x VARCHAR", "id BIGINT", False),
        (FOLLOWED, "id BIGINT", "id BIGINT COMMENT 'which'", False),
        (FOLLOWED, "id BIGINT PRIMARY KEY", "id BIGINT PRIMARY KEY, note VARCHAR", False),
        (ROWS, "id BIGINT", "id BIGINT, note VARCHAR", False),
        (ONCE, "id BIGINT", "id BIGINT, note VARCHAR", False),
    ],
)
def test_deletes_that_no_longer_find_their_rows_are_told(transport: str, before: str, after: str, told: bool) -> None:
    spec = f"  evolution: evolve\n  connectors:\n    - name: i\n      table: t\n      transport: {transport}\n"
    applied, desired = (program(f"CREATE TABLE t ({columns});", spec) for columns in (before, after))
    assert codes(between(applied, desired), "H938") == (["t"] if told else [])
    # A new input has brought nothing yet.
    assert codes(between(program(f"CREATE TABLE t ({before});", "  evolution: evolve\n"), desired), "H938") == []


@pytest.mark.parametrize(
    ("transport", "table", "before", "after", "told"),
    [
        (FOLLOWED, "id BIGINT, x INT", "{}", "{x: {source: y}}", True),
        (CHANGES, "id BIGINT, x INT", "{X: {source: y}}", "{}", True),
        (KAFKA, "id BIGINT, x INT", "{x: {source: y}, id: {source: a}}", "{x: {source: z}, id: {source: A}}", True),
        (FOLLOWED, "id BIGINT, x INT", "{x: {source: y}}", "{X: {source: Y}, id: {source: id}}", False),
        (FOLLOWED, "id BIGINT PRIMARY KEY, x INT", "{}", "{x: {source: y}}", False),
        (ROWS, "id BIGINT, x INT", "{}", "{x: {source: y}}", False),
    ],
)
def test_deletes_that_miss_since_a_column_takes_another_field_are_told(
    transport: str, table: str, before: str, after: str, told: bool
) -> None:
    def written(columns: str) -> Program:
        entry = f"    - name: i\n      table: t\n      columns: {columns}\n      transport: {transport}\n"
        return program(f"CREATE TABLE t ({table});", f"  evolution: evolve\n  connectors:\n{entry}")

    found = [one for one in between(written(before), written(after)) if one.code == "H938"]
    assert ["differ in x from" in one.message for one in found] == ([True] if told else [])


def test_a_column_that_was_renamed_with_its_field_kept_misses_no_rows() -> None:
    entry = f"    - name: i\n      table: t\n      columns: COLUMNS\n      transport: {FOLLOWED}\n"
    spec = "  evolution: evolve\n  connectors:\n" + entry
    applied = program("CREATE TABLE t (id BIGINT, x INT);", spec.replace("COLUMNS", "{}"))
    moved = "  moved: [{from: t.x, to: t.y}]\n"
    for columns, told in (("{y: {source: x}}", False), ("{y: {source: z}}", True)):
        desired = program("CREATE TABLE t (id BIGINT, y INT);", spec.replace("COLUMNS", columns) + moved)
        assert codes(between(applied, desired), "H938") == (["t"] if told else [])


def test_deletes_find_their_rows_where_the_table_is_read_in_anew() -> None:
    spec = f"  connectors:\n    - name: i\n      table: t\n      transport: {FOLLOWED}\n"
    applied, desired = (
        program(f"CREATE TABLE t ({columns});", spec) for columns in ("id BIGINT", "id BIGINT, note VARCHAR")
    )
    assert codes(between(applied, desired), "H938") == []
