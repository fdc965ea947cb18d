"""Which number each object has after an apply: what gives the next one, what none, and what comes back."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.registry.model import ObjectVersions
from reconciler.registry.protocol import History
from reconciler.versions.looking import find_object, list_versions, read_version, versioned_name
from tests.acceptance.shop import contents
from tests.versions.objects.numbered import (
    ALL,
    EVOLVE,
    OTHER,
    SQL,
    THIRD,
    active,
    apply,
    head_of,
    numbers,
    open_shop,
    rows_of,
    target_of,
)


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("t (id BIGINT, x INT)", "t (id BIGINT, x INT, more INT)", {"t": 1}),
        ("t (id BIGINT, x INT)", "t (id BIGINT, x INT DEFAULT 1)", {"t": 1}),
        ("CREATE TABLE s (id BIGINT);", "CREATE TABLE s (id BIGINT) WITH ('append_only' = 'true');", {"s": 1}),
        ("RETURNS INT AS x + 1", "RETURNS INT AS x + 2", {"f": 1, "v": 1}),
        ("l AS SELECT id, x FROM t", "l AS SELECT id, x FROM t WHERE id > 0", {"l": 1}),
        ("f(x) AS y", "f(x + 1) AS y", {"v": 1}),
        ("f(x) AS y", "f(x) AS y, 1 AS more", {"v": 1, "w": 1}),
        ("CREATE VIEW w", "CREATE MATERIALIZED VIEW w", {"w": 1}),
        ("CREATE VIEW w AS", "CREATE VIEW w (a, b) AS", {"w": 1}),
    ],
)
def test_what_changes_a_meaning_gives_the_next_version(shop: Path, before: str, after: str, changed: dict[str, int]) -> None:
    assert before in SQL
    assert apply(shop, SQL.replace(before, after), more=EVOLVE) == numbers(**changed)
    assert apply(shop, more=EVOLVE) == numbers()
    assert {key: one.last for key, one in head_of(shop).versions.items()} == numbers(**changed)


@pytest.mark.parametrize(
    ("more", "metadata"),
    [
        ("", "  owner: ann\n"),
        ("", "  tags: [a, b]\n"),
        ("", "  description: why\n"),
        ("  views: {v: {description: why}}\n  tables: {t: {description: why}}\n", ""),
        ("  tables: {t: {protect: true}}\n", ""),
        ("  tables: {t: {evolution: clear}}\n", ""),
        ("  runtime: {workers: 2, memory: 3g, spark: {spark.sql.shuffle.partitions: '3'}}\n", ""),
        (
            "  connectors: [{name: in, table: t, transport: {name: file_input, config: {path: a}}, format: {name: json}}]\n",
            "",
        ),
    ],
)
def test_what_is_no_meaning_updates_in_place(shop: Path, more: str, metadata: str) -> None:
    record = head_of(shop).applied
    assert apply(shop, more=EVOLVE + more, metadata=metadata) == numbers()
    assert head_of(shop).applied != record, "something was applied"
    assert len(rows_of(shop, History.VERSIONS)) == len(rows_of(shop, History.ACTIVATIONS)) == len(ALL)


def test_a_connector_that_changes_or_goes_makes_no_version(shop: Path) -> None:
    transport = "{{name: file_input, config: {{path: {}}}}}"
    connector = f"  connectors: [{{{{name: in, table: t, transport: {transport}, format: {{{{name: json}}}}}}}}]\n"
    for path in ("a", "b"):
        assert apply(shop, more=EVOLVE + connector.format(path)) == numbers()
    assert apply(shop, more=EVOLVE) == numbers()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT id, f(x) AS y FROM l", "select ID,\n  F(x) as y -- why\nfrom l"),
        ("CREATE TABLE s (id BIGINT)", "/* why */ create table S (id bigint COMMENT 'of what')"),
    ],
)
def test_what_is_written_otherwise_updates_in_place(shop: Path, before: str, after: str) -> None:
    assert before in SQL
    assert apply(shop, SQL.replace(before, after), more=EVOLVE) == numbers()
    assert len(rows_of(shop, History.ACTIVATIONS)) == len(ALL)


def test_rows_that_are_computed_anew_are_no_version_of_a_view(shop: Path) -> None:
    before = contents(shop)["v"]
    assert apply(shop, SQL.replace("id, x FROM t", "id, x FROM t WHERE id > 0"), more=EVOLVE) == numbers(l=1)
    assert contents(shop)["v"] != before


def test_a_version_tells_what_it_is_and_what_brought_it(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    head, target = head_of(shop), target_of(shop)
    assert head.applied is not None
    assert head.published is not None
    found = find_object(target, versioned_name("v"))
    version = read_version(target, found, None)
    assert version.summary.number == 1
    assert version.summary.step == head.published.step
    assert version.summary.at == head.applied.at
    assert (version.summary.by, version.summary.commit) == (head.applied.by, head.applied.commit)
    assert (version.summary.approval, version.summary.approved_by) == (head.applied.approval.kind, head.applied.approval.by)
    assert (version.summary.plan_digest, version.summary.apply_id) == (head.applied.plan_digest, head.applied.apply_id)
    assert version.reconciler == head.applied.reconciler
    assert version.definition["query"] == "SELECT id, f(x + 1) AS y FROM l"
    stored = {
        (row["kind"], row["name"]): row["definition"] for row in target.registry.snapshot("shop", head.applied.record or "")
    }
    assert version.definition == stored["view", "v"]
    assert [one.number for one in list_versions(target, found).versions] == [0, 1]
    assert read_version(target, found, "v0").definition["query"] == "SELECT id, f(x) AS y FROM l"


def test_returning_to_what_was_a_version_is_that_version(shop: Path) -> None:
    found = [
        apply(shop, sql, more=EVOLVE)["view:v"]
        for sql in (OTHER, SQL, THIRD, OTHER, SQL, SQL.replace("f(x) AS y", "f(x + 3) AS y"))
    ]
    assert found == [1, 0, 2, 1, 0, 3]
    assert head_of(shop).versions["view:v"] == ObjectVersions("view:v", 3, 3)
    told = [row["number"] for row in rows_of(shop, History.ACTIVATIONS) if row["object"] == "view:v"]
    assert told == ["0", "1", "0", "2", "1", "0", "3"]


def test_what_comes_back_goes_on_with_its_numbers(shop: Path) -> None:
    without = SQL.replace("CREATE VIEW w AS SELECT * FROM v;\n", "").replace("CREATE TABLE s (id BIGINT);\n", "")
    assert apply(shop, without, more=EVOLVE) == numbers(w=None, s=None)
    assert apply(shop, more=EVOLVE) == numbers()
    assert apply(shop, without, more=EVOLVE) == numbers(w=None, s=None)
    other = SQL.replace("TABLE s (id BIGINT)", "TABLE s (other INT)").replace("SELECT * FROM v", "SELECT id FROM v")
    assert apply(shop, other, more=EVOLVE) == numbers(w=1, s=1)


def test_a_function_that_goes_and_comes_back(shop: Path) -> None:
    without = SQL.replace("CREATE FUNCTION f(x INT) RETURNS INT AS x + 1;\n", "").replace("f(x)", "x")
    assert apply(shop, without, more=EVOLVE) == numbers(f=None, v=1)
    assert apply(shop, SQL.replace("AS x + 1", "AS x + 5"), more=EVOLVE) == numbers(f=1, v=2)
    assert apply(shop, more=EVOLVE) == numbers(), "both are what they were"


def test_a_table_that_becomes_a_view_is_another_object(shop: Path) -> None:
    view = SQL.replace("TABLE s (id BIGINT)", "VIEW s AS SELECT id FROM t")
    assert apply(shop, view, more=EVOLVE) == numbers(s=None) | {"view:s": 0}
    assert apply(shop, more=EVOLVE) == numbers() | {"view:s": None}


def test_a_pipeline_that_goes_and_comes_back(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    shutil.move(shop / "pipelines/shop", shop / "elsewhere")
    open_shop(shop).apply()
    assert active(shop) == dict.fromkeys(ALL)
    assert apply(shop, more=EVOLVE) == numbers()
    assert apply(shop, THIRD, more=EVOLVE) == numbers(v=2)


def test_a_view_by_which_names_become_data_hides_no_version(tmp_path: Path) -> None:
    shop = tmp_path
    upper = SQL.replace("x INT);", "X INT);").replace("id, x FROM", "id, X FROM")
    more = upper + "CREATE MATERIALIZED VIEW j AS SELECT to_json(struct(*)) AS j FROM t;\n"
    for sql in (upper, more):
        assert apply(shop, sql, more=EVOLVE).items() >= numbers().items()
        found = apply(shop, sql.replace("f(x) AS y", "f(x + 1) AS y").replace("X INT)", "X INT, z INT)"), more=EVOLVE)
        assert found.items() >= numbers(v=1, t=1).items()
    assert apply(shop, upper, more=EVOLVE).items() >= numbers().items()


def test_a_change_of_letter_case_where_names_became_data_is_another_version(tmp_path: Path) -> None:
    """Though the one that is active was recorded when it did not count, under what is wanted now."""
    more = SQL + "CREATE MATERIALIZED VIEW j AS SELECT to_json(struct(*)) AS j FROM t;\n"
    apply(tmp_path, SQL, more=EVOLVE)
    assert apply(tmp_path, SQL.replace("x INT);", "X INT);"), more=EVOLVE) == numbers()
    assert apply(tmp_path, more.replace("x INT);", "X INT);"), more=EVOLVE)["table:t"] == 0
    assert apply(tmp_path, more, more=EVOLVE)["table:t"] == 1


def test_many_objects_are_looked_up_in_one_go(tmp_path: Path) -> None:
    def sql(summand: Callable[[int], int]) -> str:
        views = "".join(f"CREATE VIEW v{n} AS SELECT x + {summand(n)} AS y FROM t;\n" for n in range(25))
        return "CREATE TABLE t (x INT);\n" + views

    keys = [f"view:v{n}" for n in range(25)]
    for summand, number in ((0, 0), (1, 1), (0, 0), (2, 2), (1, 1)):
        found = apply(tmp_path, sql(lambda n, summand=summand: n + summand))  # type: ignore[misc]
        assert [found[key] for key in keys] == [number] * 25
