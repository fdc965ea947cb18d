"""Versions of objects over real Delta tables: which number each has after whatever happens, and what the histories tell."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.digest import canonical_json
from reconciler.engine.recording import RecordingEngine
from reconciler.errors import EngineError
from reconciler.reconcile.api import Pipeline, Project
from reconciler.reconcile.applying import Applying, apply_pipeline
from reconciler.reconcile.boundaries import Crash, crash_at
from reconciler.reconcile.history import program_at, time_of
from reconciler.reconcile.target import Target, open_target
from reconciler.reconcile.versions.looking import find_object, list_versions, read_version, versioned_name
from reconciler.reconcile.versions.numbering import published_rows
from reconciler.registry.model import Head, Lease, ObjectVersions
from reconciler.registry.protocol import HISTORY_COLUMNS, History
from tests.acceptance.faults import WRITES, Fault, Faults, Faulty, Style
from tests.acceptance.shop import contents, write_shop
from tests.engine.delta_writer import DeltaWriter

SQL = """\
CREATE TABLE t (id BIGINT, x INT);
CREATE TABLE s (id BIGINT);
CREATE FUNCTION f(x INT) RETURNS INT AS x + 1;
CREATE LOCAL VIEW l AS SELECT id, x FROM t;
CREATE MATERIALIZED VIEW v AS SELECT id, f(x) AS y FROM l;
CREATE VIEW w AS SELECT * FROM v;
"""
OTHER = SQL.replace("f(x) AS y", "f(x + 1) AS y")
THIRD = SQL.replace("f(x) AS y", "f(x + 2) AS y")
ALL = ("function:f", "table:s", "table:t", "view:l", "view:v", "view:w")
EVOLVE = "  evolution: evolve\n"


def open_shop(root: Path, engine: RecordingEngine | None = None) -> Pipeline:
    return Project.open(root, engine=engine or RecordingEngine(DeltaWriter())).pipeline("shop")


def apply(root: Path, sql: str = SQL, more: str = "", metadata: str = "") -> dict[str, int | None]:
    """Apply; the active numbers afterwards, of what was ever there."""
    write_shop(root, sql, more=more)
    path = root / "pipelines/shop/pipeline.yaml"
    path.write_text(path.read_text().replace("  name: shop\n", f"  name: shop\n{metadata}"))
    open_shop(root).apply()
    return active(root)


def target_of(root: Path) -> Target:
    return open_target(root, None)


def head_of(root: Path, pipeline: str = "shop") -> Head:
    stored = target_of(root).registry.head(pipeline)
    assert stored is not None
    return stored.value


def active(root: Path, pipeline: str = "shop") -> dict[str, int | None]:
    """The active numbers by key; the histories must agree with the head."""
    head = head_of(root, pipeline)
    told, rows = told_active(root, pipeline), recorded(root, pipeline)
    by_object: dict[str, list[int]] = {}
    for name, number in rows:
        by_object.setdefault(name, []).append(number)
    assert {one.id for one in head.versions.values()} == set(by_object) == set(told)
    assert len({one.id for one in head.versions.values()}) == len(head.versions)
    for key, one in head.versions.items():
        assert by_object[one.id] == list(range(one.last + 1)), "each number is recorded once, and none is left out"
        assert told[one.id][0] == one.active
        if one.active is not None:
            assert one.active <= one.last
            assert f"{one.id.partition(':')[0]}:{told[one.id][1]}" == key
    return {key: one.active for key, one in head.versions.items()}


def rows_of(root: Path, history: History, pipeline: str = "shop") -> list[dict[str, Any]]:
    """Of what took place, by step."""
    registry, head = target_of(root).registry, head_of(root, pipeline)
    rows = published_rows(registry, head, history, HISTORY_COLUMNS[history])
    return sorted(map(dict, rows), key=lambda row: (int(row["step"]), row["object"]))


def recorded(root: Path, pipeline: str = "shop") -> list[tuple[str, int]]:
    return sorted((row["object"], int(row["number"])) for row in rows_of(root, History.VERSIONS, pipeline))


def told_active(root: Path, pipeline: str = "shop") -> dict[str, tuple[int | None, str]]:
    rows = rows_of(root, History.ACTIVATIONS, pipeline)
    return {row["object"]: (int(row["number"]) if row["number"] else None, row["name"]) for row in rows}


def numbers(**others: int | None) -> dict[str, int | None]:
    """0 for everything of SQL but what is given (by name)."""
    keys = {key.partition(":")[2]: key for key in ALL}
    return dict.fromkeys(ALL, 0) | {keys[name]: number for name, number in others.items()}


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("applied")
    assert apply(root, more=EVOLVE) == numbers()
    open_shop(root).execute("INSERT INTO t VALUES (1, 10)")
    return root


@pytest.fixture
def shop(applied: Path, tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(applied, root)
    return root


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("t (id BIGINT, x INT)", "t (id BIGINT, x INT, more INT)", {"t": 1}),
        ("t (id BIGINT, x INT)", "t (id BIGINT, x INT DEFAULT 1)", {"t": 1}),
        ("CREATE TABLE s (id BIGINT);", "CREATE TABLE s (id BIGINT) WITH ('append_only' = 'true');", {"s": 1}),
        ("RETURNS INT AS x + 1", "RETURNS INT AS x + 2", {"f": 1}),
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
    assert apply(shop, SQL.replace("AS x + 1", "AS x + 2"), more=EVOLVE) == numbers(f=1)
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
    assert apply(shop, SQL.replace("AS x + 1", "AS x + 5"), more=EVOLVE) == numbers(f=1)


def test_a_table_that_becomes_a_view_is_another_object(shop: Path) -> None:
    view = SQL.replace("TABLE s (id BIGINT)", "VIEW s AS SELECT id FROM t")
    assert apply(shop, view, more=EVOLVE) == numbers(s=None) | {"view:s": 0}
    assert apply(shop, more=EVOLVE) == numbers() | {"view:s": None}


def moved(*pairs: str) -> str:
    entries = ", ".join("{{from: {}, to: {}}}".format(*pair.split()) for pair in pairs)
    return f"{EVOLVE}  moved: [{entries}]\n"


RENAMED = SQL.replace("VIEW v", "VIEW vv").replace("FROM v", "FROM vv").replace("TABLE s", "TABLE ss")


def test_a_rename_keeps_the_number_and_is_told(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    renamed = RENAMED.replace("f(x) AS y", "f(x + 1) AS y")
    after = apply(shop, renamed, more=moved("v vv", "s ss"))
    assert after == {"function:f": 0, "table:ss": 0, "table:t": 0, "view:l": 0, "view:vv": 1, "view:w": 1}
    assert head_of(shop).versions["view:vv"] == ObjectVersions("view:v", 1, 1)
    assert len(recorded(shop)) == len(ALL) + 2, "one of v, and one of w, whose query names it"
    assert told_active(shop)["view:v"] == (1, "vv")
    program = program_at(target_of(shop), "shop", time_of("2999-01-01"))
    assert {f"{one.kind}:{one.name}": one.version for one in program.objects if one.kind != "settings"} == after
    assert apply(shop, RENAMED.replace("TABLE ss", "TABLE s"), more=moved("v vv", "ss s"))["view:vv"] == 0
    assert head_of(shop).versions["table:s"] == ObjectVersions("table:s", 0, 0)


def test_a_rename_together_with_a_change(shop: Path) -> None:
    after = apply(shop, RENAMED.replace("f(x) AS y", "f(x + 1) AS y"), more=moved("v vv", "s ss"))
    assert (after["view:vv"], after["table:ss"], "view:v" in after) == (1, 0, False)


def test_what_takes_a_name_that_another_one_gave_up_begins_anew(shop: Path) -> None:
    apply(shop, RENAMED, more=moved("v vv", "s ss"))
    after = apply(shop, RENAMED + "CREATE TABLE s (a INT); CREATE VIEW v AS SELECT id FROM t;", more=EVOLVE)
    versions = head_of(shop).versions
    assert (versions["view:vv"].id, versions["view:v"].id) == ("view:v", "view:v/2")
    assert (versions["table:ss"].id, versions["table:s"].id) == ("table:s", "table:s/2")
    assert (after["view:v"], after["view:vv"], after["table:s"]) == (0, 0, 0)


def test_a_rename_onto_a_name_that_was_used_long_ago(shop: Path) -> None:
    without = SQL.replace("CREATE TABLE s (id BIGINT);\n", "")
    assert apply(shop, without, more=EVOLVE)["table:s"] is None
    with_new = without.replace("TABLE t", "TABLE s").replace("FROM t", "FROM s")
    after = apply(shop, with_new, more=moved("t s"))
    assert after["table:s"] == 0
    assert head_of(shop).versions["table:s"].id == "table:t"
    assert head_of(shop).versions["formerly:table:s"] == ObjectVersions("table:s", None, 0)
    # And away again: what had the name first is itself when it comes back.
    apply(shop, without, more=moved("s t"))
    assert apply(shop, SQL.replace("s (id BIGINT)", "s (id INT)"), more=EVOLVE) == numbers(s=1)
    assert head_of(shop).versions["table:s"] == ObjectVersions("table:s", 1, 1)


def test_a_pipeline_that_goes_and_comes_back(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    shutil.move(shop / "pipelines/shop", shop / "elsewhere")
    open_shop(shop).apply()
    assert active(shop) == dict.fromkeys(ALL)
    assert apply(shop, more=EVOLVE) == numbers()
    assert apply(shop, THIRD, more=EVOLVE) == numbers(v=2)


def without_versions(root: Path, *, with_histories: bool) -> None:
    registry = target_of(root).registry
    stored = registry.head("shop")
    assert stored is not None
    registry.replace_head(stored.token, replace(stored.value, versions={}), "an older version")
    if not with_histories:
        for name in ("versions", "activations"):
            shutil.rmtree(root / "warehouse/_registry/shop" / name)


def test_what_was_applied_before_there_were_versions_is_v0(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    without_versions(shop, with_histories=False)
    before = contents(shop)
    assert apply(shop, OTHER, more=EVOLVE, metadata="  owner: ann\n") == numbers()
    assert contents(shop) == before
    assert apply(shop, SQL, more=EVOLVE) == numbers(v=1)


def test_numbers_that_an_older_version_did_not_write_are_had_from_the_histories(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    apply(shop, RENAMED, more=moved("v vv", "s ss"))
    apply(shop, RENAMED.replace("CREATE TABLE ss (id BIGINT);\n", ""), more=moved("v vv"))
    versions = head_of(shop).versions
    without_versions(shop, with_histories=True)
    apply(shop, RENAMED.replace("CREATE TABLE ss (id BIGINT);\n", ""), more=moved("v vv"), metadata="  owner: ann\n")
    assert head_of(shop).versions == versions
    without_versions(shop, with_histories=True)
    assert apply(shop, RENAMED.replace("f(x)", "f(x + 7)"), more=moved("v vv"))["view:vv"] == 2


def test_a_view_by_which_names_become_data_hides_no_version(tmp_path: Path) -> None:
    shop = tmp_path
    upper = SQL.replace("x INT);", "X INT);").replace("id, x FROM", "id, X FROM")
    more = upper + "CREATE MATERIALIZED VIEW j AS SELECT to_json(struct(*)) AS j FROM t;\n"
    for sql in (upper, more):
        assert apply(shop, sql, more=EVOLVE).items() >= numbers().items()
        found = apply(shop, sql.replace("f(x) AS y", "f(x + 1) AS y").replace("X INT)", "X INT, z INT)"), more=EVOLVE)
        assert found.items() >= numbers(v=1, t=1).items()
    assert apply(shop, upper, more=EVOLVE).items() >= numbers().items()


def test_a_query_that_follows_a_rename_is_a_version_that_one_can_go_back_to(shop: Path) -> None:
    before = contents(shop)
    followed = SQL.replace("TABLE t", "TABLE u").replace("FROM t", "FROM u")
    assert apply(shop, followed, more=moved("t u"))["view:l"] == 1
    assert contents(shop)["v"] == before["v"]
    pin = EVOLVE + "  views: {l: {version: v1}}\n"
    assert apply(shop, followed, more=pin)["view:l"] == 1
    changed = followed.replace("FROM u;", "FROM u WHERE x > 0;")
    assert apply(shop, changed, more=EVOLVE)["view:l"] == 2
    assert apply(shop, changed, more=pin)["view:l"] == 1
    assert apply(shop, followed, more=EVOLVE)["view:l"] == 1
    # Another table of that name: it reads that one now, as it did when it was first written so.
    both = SQL.replace("TABLE t", "TABLE u") + "CREATE TABLE t (id BIGINT, x INT);\n"
    assert apply(shop, both, more=EVOLVE)["view:l"] == 0


def test_a_change_of_letter_case_where_names_became_data_is_another_version(tmp_path: Path) -> None:
    """Though the one that is active was recorded when it did not count, under what is wanted now."""
    more = SQL + "CREATE MATERIALIZED VIEW j AS SELECT to_json(struct(*)) AS j FROM t;\n"
    apply(tmp_path, SQL, more=EVOLVE)
    assert apply(tmp_path, SQL.replace("x INT);", "X INT);"), more=EVOLVE) == numbers()
    assert apply(tmp_path, more.replace("x INT);", "X INT);"), more=EVOLVE)["table:t"] == 0
    assert apply(tmp_path, more, more=EVOLVE)["table:t"] == 1


def from_another_version(root: Path) -> None:
    """All that is recorded was recorded by another version of reconciler, which told meanings otherwise."""
    registry = target_of(root).registry
    rows = []
    for row in registry.history(History.VERSIONS, "shop"):
        known_as = [one for one in json.loads(row["content"])["known_as"] if one.startswith("written:")]
        rows.append(
            {**row, "reconciler": "0.0.1", "fingerprint": "sha256:x", "content": canonical_json({"known_as": known_as})}
        )
    shutil.rmtree(root / "warehouse/_registry/shop/versions")
    registry.append(History.VERSIONS, "shop", rows, head_of(root).last_step)


SETTING = "  runtime: {spark: {spark.sql.session.timeZone: Asia/Tokyo}}\n"


def test_what_another_version_of_reconciler_recorded_is_known_by_what_was_written(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    from_another_version(shop)
    assert apply(shop, SQL, more=EVOLVE) == numbers()
    assert apply(shop, OTHER, more=EVOLVE) == numbers(v=1)


def test_what_is_written_the_same_and_means_something_else_is_another_version(shop: Path) -> None:
    from_another_version(shop)
    assert apply(shop, SQL, more=EVOLVE + SETTING) == numbers(l=1, v=1, w=1)
    assert apply(shop, SQL, more=EVOLVE) == numbers()
    # The text of w stays, its columns do not.
    assert apply(shop, SQL.replace("f(x) AS y", "f(x) AS z"), more=EVOLVE) == numbers(v=2, w=2)


def test_a_restore_brings_back_the_numbers_of_then(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    open_shop(shop).checkpoint("then")
    then = head_of(shop).versions
    without = "CREATE VIEW w AS SELECT * FROM v;\n"
    apply(shop, THIRD.replace(without, "CREATE TABLE r (id BIGINT);\n"), more=EVOLVE)
    open_shop(shop).restore("then")
    assert active(shop) == numbers(v=1) | {"table:r": None}
    assert {key: one.id for key, one in head_of(shop).versions.items() if one.active is not None} == {
        key: one.id for key, one in then.items()
    }
    assert head_of(shop).versions["view:v"].last == 2
    assert apply(shop, SQL.replace("f(x) AS y", "f(x + 9) AS y"), more=EVOLVE)["view:v"] == 3


def test_a_restore_over_renames_brings_back_names_and_numbers(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    open_shop(shop).checkpoint("first")
    first = head_of(shop).versions
    one = RENAMED.replace("f(x) AS y", "f(x + 1) AS y").replace("TABLE t", "TABLE tt").replace("FROM t", "FROM tt")
    apply(shop, one, more=moved("v vv", "s ss", "t tt"))
    open_shop(shop).checkpoint("second")
    second = head_of(shop).versions
    # l follows another rename, and changes; a new v comes where the old one was.
    two = (
        one.replace("TABLE tt", "TABLE ttt").replace("FROM tt", "FROM ttt WHERE x > 0")
        + "CREATE VIEW v AS SELECT id FROM ss;\n"
    )
    apply(shop, two, more=moved("tt ttt"))
    assert head_of(shop).versions["view:l"].active == 2
    assert head_of(shop).versions["view:v"].id == "view:v/2"

    open_shop(shop).restore("second")
    active(shop)
    there = {key: found for key, found in head_of(shop).versions.items() if found.active is not None}
    assert there == {key: replace(found, last=there[key].last) for key, found in second.items()}
    assert there["view:l"] == ObjectVersions("view:l", 1, 2)

    open_shop(shop).restore("first")
    active(shop)
    there = {key: found for key, found in head_of(shop).versions.items() if found.active is not None}
    assert there == {key: replace(found, last=there[key].last) for key, found in first.items()}
    assert head_of(shop).versions["formerly:view:v/2"].active is None


def test_another_pipelines_checkpoint_has_numbers_of_its_own(shop: Path) -> None:
    apply(shop, OTHER, more=EVOLVE)
    open_shop(shop).checkpoint("then")
    project = Project.open(shop, engine=RecordingEngine(DeltaWriter()))
    project.new_pipeline("twin").restore("then", "shop")
    assert active(shop, "twin") == numbers()
    assert active(shop) == numbers(v=1)
    apply(shop, SQL, more=EVOLVE)
    open_shop(shop).checkpoint("other")
    project.new_pipeline("twin").restore("other", "shop", replaces=True)
    assert active(shop, "twin") == numbers(v=1)
    project.new_pipeline("twin").restore("then", "shop", replaces=True)
    assert active(shop, "twin") == numbers()
    row = rows_of(shop, History.VERSIONS, "twin")[-1]
    assert (row["object"], row["number"], row["approval"], row["plan_digest"]) == ("view:v", "1", "restored", "")


def test_a_restore_that_was_put_back_leaves_no_version(shop: Path) -> None:
    """Its process was taken over after it had told the histories."""
    open_shop(shop).checkpoint("then")
    project = Project.open(shop, engine=RecordingEngine(DeltaWriter()))
    project.new_pipeline("twin").restore("then", "shop")
    apply(shop, OTHER, more=EVOLVE)
    open_shop(shop).checkpoint("other")
    twin = project.new_pipeline("twin")
    with pytest.raises(Crash):
        twin.restore("other", "shop", replaces=True, boundary=crash_at("history:recorded"))
    registry = target_of(shop).registry
    head, lease = registry.head("twin"), registry.lease("twin")
    assert head is not None
    assert head.value.intent is not None
    assert lease is not None
    details = {**head.value.intent.details, "writer": {"host": "elsewhere", "process": "1:1"}}
    registry.replace_head(head.token, replace(head.value, intent=replace(head.value.intent, details=details)), "w1")
    expired: Lease = replace(lease.value, released=False, expires="2026-01-01T00:00:00+00:00", host="elsewhere")
    registry.replace_lease("twin", lease.token, expired, "w2")
    twin.run_once()
    assert active(shop, "twin") == numbers()

    apply(shop, THIRD, more=EVOLVE)
    open_shop(shop).checkpoint("third")
    twin.restore("third", "shop", replaces=True)
    assert active(shop, "twin") == numbers(v=1)
    target = target_of(shop)
    found = find_object(target, versioned_name("twin.v"))
    assert [one.number for one in list_versions(target, found).versions] == [0, 1]
    assert read_version(target, found, "v1").definition["query"] == "SELECT id, f(x + 2) AS y FROM l"
    program = program_at(target, "twin", time_of("2999-01-01"))
    assert {one.version for one in program.objects if (one.kind, one.name) == ("view", "v")} == {1}
    # What was put back was never a version: to bring it now is the next one.
    twin.restore("other", "shop", replaces=True)
    assert active(shop, "twin") == numbers(v=2)


def test_a_row_beyond_the_published_step_is_none(shop: Path) -> None:
    head, registry = head_of(shop), target_of(shop).registry
    assert head.published is not None
    write_shop(shop, OTHER, more=EVOLVE)
    # What an apply tells the histories just before its switch, of a copy; here it never took place.
    copy = shop.parent / "copy"
    shutil.copytree(shop, copy)
    with pytest.raises(Crash):
        open_shop(copy).apply(boundary=crash_at("commit_snapshot:effected"))
    rows = [row for row in target_of(copy).registry.history(History.VERSIONS, "shop") if row["number"] == "1"]
    assert len(rows) == 1
    late = [{**row, "step": str(head.published.step + 9)} for row in rows]
    registry.append(History.VERSIONS, "shop", late, None)
    found = find_object(target_of(shop), versioned_name("v"))
    assert [one.number for one in list_versions(target_of(shop), found).versions] == [0]
    assert apply(shop, THIRD, more=EVOLVE) == numbers(v=1)
    assert apply(shop, OTHER, more=EVOLVE) == numbers(v=2)


def test_an_apply_that_takes_itself_back_uses_up_no_number(shop: Path) -> None:
    class Refusing(RecordingEngine):
        def build_view(self, build: Any) -> Any:
            raise EngineError("X700", "no")

    before = head_of(shop).versions
    write_shop(shop, OTHER + "CREATE TABLE n (id INT);\n", more=EVOLVE)
    with pytest.raises(EngineError):
        open_shop(shop, Refusing(DeltaWriter())).apply()
    head = head_of(shop)
    assert head.journal is None
    assert head.versions == before
    assert active(shop) == numbers()
    assert apply(shop, THIRD, more=EVOLVE) == numbers(v=1)


CHANGED = """\
CREATE TABLE tt (id BIGINT, x INT, more INT);
CREATE FUNCTION f(x INT) RETURNS INT AS x + 2;
CREATE LOCAL VIEW l AS SELECT id, x FROM tt;
CREATE MATERIALIZED VIEW v AS SELECT id, f(x) AS z FROM l;
CREATE VIEW w AS SELECT * FROM v;
CREATE MATERIALIZED VIEW n AS SELECT id FROM tt;
"""
AFTER_CHANGED = {
    "function:f": 1, "table:s": None, "table:tt": 1, "view:l": 1, "view:n": 0, "view:v": 1, "view:w": 1
}  # fmt: skip


def apply_with(root: Path, faults: Faults) -> None:
    target = open_target(root, None)
    registry: Any = Faulty(target.registry, WRITES, faults, RuntimeError)
    engine: Any = RecordingEngine(DeltaWriter())
    apply_pipeline(replace(target, registry=registry), "shop", Applying(engine, boundary=faults.boundary))


def told(root: Path) -> list[tuple[str, ...]]:
    """The versions recorded, each with its meaning and step."""
    columns = ("object", "number", "fingerprint", "step")
    return [tuple(row[column] for column in columns) for row in rows_of(root, History.VERSIONS)]


@pytest.fixture(scope="module")
def undisturbed(applied: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is told after CHANGED was applied with nothing in the way, and every place where a process could have died."""
    root, faults = tmp_path_factory.mktemp("undisturbed") / "shop", Faults()
    shutil.copytree(applied, root)
    write_shop(root, CHANGED, more=moved("t tt"))
    apply_with(root, faults)
    assert active(root) == AFTER_CHANGED
    names = {name for name, _ in faults.reached}
    assert {"open:before", "commit_snapshot:intended", "append", "replace_head", "publish_view:effected"} <= names
    return {"told": told(root), "places": faults.reached}


def dies_and_applies_again(name: str, occurrence: int, style: Style, root: Path, undisturbed: dict[str, Any]) -> None:
    write_shop(root, CHANGED, more=moved("t tt"))
    with pytest.raises(Crash):
        apply_with(root, Faults(Fault(name, occurrence, style)))
    active(root)
    open_shop(root).apply()
    place = f"{name}#{occurrence} {style}"
    assert active(root) == AFTER_CHANGED, place
    assert told(root) == undisturbed["told"], place
    assert len(target_of(root).registry.history(History.VERSIONS, "shop")) == len(told(root)), place
    assert len(target_of(root).registry.history(History.ACTIVATIONS, "shop")) == len(rows_of(root, History.ACTIVATIONS)), (
        place
    )


@pytest.mark.parametrize("style", [Style.BEFORE, Style.AFTER])
def test_killed_where_versions_are_recorded_and_applied_again_each_is_recorded_once(
    style: Style, shop: Path, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    appends = [occurrence for name, occurrence in undisturbed["places"] if name == "append"]
    assert len(appends) >= 3
    for occurrence in appends:
        dies_and_applies_again("append", occurrence, style, shutil.copytree(shop, tmp_path / str(occurrence)), undisturbed)


@pytest.mark.parametrize(
    "place",
    ["open:before", "open:recorded", "bootstrap_view:effected", "extend_table:intended", "commit_snapshot:effected"],
)
def test_killed_at_a_boundary_and_applied_again_each_is_recorded_once(
    place: str, shop: Path, undisturbed: dict[str, Any]
) -> None:
    dies_and_applies_again(place, 1, Style.BEFORE, shop, undisturbed)


@pytest.mark.slow
def test_killed_anywhere_and_applied_again_each_is_recorded_once(
    shop: Path, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    for name, occurrence in undisturbed["places"]:
        root = shutil.copytree(shop, tmp_path / f"{name.replace(':', '-')}-{occurrence}")
        dies_and_applies_again(name, occurrence, Style.BEFORE, root, undisturbed)
        shutil.rmtree(root)


def test_what_was_begun_is_what_is_finished_though_the_files_changed(shop: Path) -> None:
    write_shop(shop, OTHER, more=EVOLVE)
    with pytest.raises(Crash):
        open_shop(shop).apply(boundary=crash_at("publish_view:effected"))
    assert apply(shop, THIRD, more=EVOLVE) == numbers(v=2)


def test_many_objects_are_looked_up_in_one_go(tmp_path: Path) -> None:
    def sql(summand: Callable[[int], int]) -> str:
        views = "".join(f"CREATE VIEW v{n} AS SELECT x + {summand(n)} AS y FROM t;\n" for n in range(25))
        return "CREATE TABLE t (x INT);\n" + views

    keys = [f"view:v{n}" for n in range(25)]
    for summand, number in ((0, 0), (1, 1), (0, 0), (2, 2), (1, 1)):
        found = apply(tmp_path, sql(lambda n, summand=summand: n + summand))  # type: ignore[misc]
        assert [found[key] for key in keys] == [number] * 25
