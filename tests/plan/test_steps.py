"""The steps of a plan and their order, by what becomes of each relation's rows."""

import pytest

from reconciler.base.declarations import BootstrapPolicy
from reconciler.base.diagnostics import errors_among
from reconciler.plan.make import make_plan
from reconciler.plan.model import Plan, Policies
from reconciler.plan.operations.evolve_table import EvolveTable
from reconciler.plan.steps import StoredReads
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot

HEAD = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
COMMIT = "switch readers and commit the snapshot"


def snapshot(sql: str, spec: str = "{evolution: evolve}") -> Snapshot:
    files = {"pipelines/shop/pipeline.yaml": f"{HEAD}spec: {spec}\n", "pipelines/shop/program.sql": sql}
    read = read_manifest("pipelines/shop", files, {})
    assert read.manifest is not None
    compiled = compile_program(read.manifest)
    assert errors_among((*read.diagnostics, *compiled.diagnostics)) == ()
    return take_snapshot(compiled.program)


def plan(applied: str, desired: str, spec: str = "{evolution: evolve}") -> Plan:
    return make_plan("shop", "dev", snapshot(applied), snapshot(desired, spec), Policies(BootstrapPolicy.ALLOW))


def steps(applied: str, desired: str, spec: str = "{evolution: evolve}") -> list[str]:
    words = [step.describe() for step in plan(applied, desired, spec).steps]
    assert words[-1] == COMMIT
    return words[:-1]


T = "CREATE TABLE t (a INT, b STRING);"
V = "CREATE MATERIALIZED VIEW v AS SELECT a FROM t;"
MOVED = "{evolution: evolve, moved: [{from: t, to: u}]}"


@pytest.mark.parametrize(
    ("applied", "desired", "spec", "expected"),
    [
        (T, T.replace("INT", "STRING"), "{evolution: evolve}", ["clear table t"]),
        (T, T.replace("b STRING", "b STRING, c INT"), "{evolution: clear}", ["clear table t"]),
        (T, T.replace("b STRING", "b STRING, c INT, d INT"), "{evolution: evolve}", ["extend table t by c, d"]),
        (
            T,
            "CREATE TABLE t (b STRING, c INT, a BIGINT);",
            "{evolution: evolve}",
            ["evolve table t: c is NULL", "publish table t"],
        ),
        (T, T.replace("b STRING", "b STRING DEFAULT 'x'"), "{evolution: clear}", []),
        (T + V, (T + V).replace(" t", " u"), MOVED, ["rename table t to u"]),
        (
            T + V,
            (T + V).replace(" t", " u").replace("INT", "BIGINT"),
            MOVED,
            [
                "evolve table u",
                "bootstrap v from u",
                "publish table u",
                "publish v",
                "rename table t to u",
            ],
        ),
        (
            T + V,
            T + V.replace(" v ", " w ").replace("SELECT a", "SELECT a + 1 AS a"),
            "{moved: [{from: v, to: w}]}",
            ["bootstrap w from t", "publish w", "rename view v to w"],
        ),
        (
            T + V,
            T + V.replace(" v ", " w ").replace("MATERIALIZED ", ""),
            "{moved: [{from: v, to: w}]}",
            ["drop the data of view v"],
        ),
        (
            T + V.replace("MATERIALIZED ", ""),
            T + V.replace(" v ", " w "),
            "{moved: [{from: v, to: w}]}",
            ["bootstrap w from t", "publish w"],
        ),
        (T + V, T + "CREATE TABLE v (x INT);", "{}", ["clear table v"]),
        (
            T + V,
            T + V.replace("MATERIALIZED ", "").replace(" v ", " w ") + "CREATE TABLE x (x INT);",
            "{moved: [{from: v, to: w}]}",
            ["create table x", "drop the data of view v"],
        ),
    ],
)
def test_rows_decide_the_steps(applied: str, desired: str, spec: str, expected: list[str]) -> None:
    assert steps(applied, desired, spec) == expected


def test_everything_at_once_has_its_order() -> None:
    applied = (
        "CREATE TABLE ev (a INT, b STRING); CREATE TABLE ex (a INT); CREATE TABLE cl (a INT); CREATE TABLE gone (a INT);"
        "CREATE TABLE old (a INT); CREATE MATERIALIZED VIEW v AS SELECT ev.a FROM ev JOIN ex ON ev.a = ex.a JOIN cl;"
    )
    desired = (
        "CREATE TABLE ev (a BIGINT); CREATE TABLE ex (a INT, b INT); CREATE TABLE cl (a STRING); CREATE TABLE made (a INT);"
        "CREATE TABLE new (a INT); CREATE MATERIALIZED VIEW v AS SELECT ev.a, b FROM ev JOIN ex ON ev.a = ex.a JOIN cl;"
        "CREATE MATERIALIZED VIEW above AS SELECT a FROM v;"
    )
    assert steps(applied, desired, "{evolution: evolve, moved: [{from: old, to: new}]}") == [
        "create table made",
        "evolve table ev",
        "bootstrap v from cl, ev, ex",
        "bootstrap above from v",
        "clear table cl",
        "extend table ex by b",
        "publish table ev",
        "publish v",
        "publish above",
        "rename table old to new",
        "drop the data of table gone",
    ]


def test_columns_come_from_what_they_were_called() -> None:
    found = plan(
        "CREATE TABLE t (A INT, b INT, c INT);",
        "CREATE TABLE u (b BIGINT, B2 INT, a INT, d INT);",
        "{evolution: evolve, moved: [{from: t, to: u}, {from: t.c, to: u.b2}]}",
    )
    (evolve,) = [step for step in found.steps if isinstance(step, EvolveTable)]
    assert (evolve.relation, evolve.applied) == ("u", "t")
    assert [(one.name, one.type, one.source) for one in evolve.columns] == [
        ("b", "BIGINT", "b"),
        ("B2", "INT", "c"),
        ("a", "INT", "A"),
        ("d", "INT", None),
    ]


def test_what_is_read_through_views() -> None:
    program = snapshot(
        T + V + "CREATE VIEW plain AS SELECT a FROM v JOIN t USING (a);CREATE MATERIALIZED VIEW top AS SELECT a FROM plain;"
    ).program
    reads = StoredReads(program)
    assert reads.of("top") == ("t", "v")
    assert reads.of("v") == ("t",)


def test_a_table_without_defaults_means_what_it_always_meant() -> None:
    from reconciler.project.snapshot.fingerprint import table_content

    def content(sql: str) -> object:
        return table_content(snapshot(sql).program.tables["t"], snapshot(sql).program.settings)["columns"]

    assert content(T) == [["a", "INT", True], ["b", "STRING", True]]
    assert content(T.replace("STRING", "STRING COMMENT 'x' DEFAULT NULL")) == content(T)
    assert content(T.replace("INT", "INT DEFAULT 1 LATENESS 5")) == [
        ["a", "INT", True, {"default": "1", "lateness": "5"}],
        ["b", "STRING", True],
    ]
