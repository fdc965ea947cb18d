"""An earlier version made active again takes its rows back from Delta's history where these are current, and is computed
where they are not, or it can't be told. Real Delta tables, without Spark."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.delta.opening import open_table
from reconciler.engine.protocol import ViewBuild
from reconciler.registry.model import Head
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.testing.crashes import POINTS, Crash, crash_at
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.shop import stored_columns, stored_rows, write_shop
from tests.acceptance.versioned_shop import held_by_a_run
from tests.cells import mostly_slow
from tests.engine.delta_writer import DeltaWriter

SQL = """\
CREATE TABLE t (id BIGINT, x INT);
CREATE TABLE other (id BIGINT);
CREATE FUNCTION f(x INT) RETURNS INT AS x + 1;
CREATE LOCAL VIEW l AS SELECT id, x FROM t;
CREATE MATERIALIZED VIEW v AS SELECT id, f(x) AS y FROM l;
CREATE MATERIALIZED VIEW w (n) AS SELECT COUNT(y) FROM v;
CREATE MATERIALIZED VIEW apart AS SELECT id FROM other;
"""
CHANGES = {
    "view": ("f(x) AS y", "f(x + 2) AS y"),
    "local view": ("SELECT id, x FROM t", "SELECT id, x FROM t WHERE id > 0"),
    "function": ("AS x + 1", "AS x + 2"),
    "columns": ("f(x) AS y FROM l", "f(x + 2) AS y, f(x) AS z FROM l"),
}
BEFORE_SWITCH = ("bootstrap_view", "publish_view", "commit_snapshot")


class Shop:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.told: list[str] = []

    def pipeline(self) -> tuple[Pipeline, RecordingEngine]:
        engine = RecordingEngine(DeltaWriter())
        return Project.open(self.root, engine=engine).pipeline("shop"), engine

    def apply(self, sql: str, boundary: str = "", more: str = "") -> list[str]:
        """Apply; the names of the views that were computed."""
        write_shop(self.root, sql, more=more)
        pipeline, engine = self.pipeline()
        crash = {"boundary": crash_at(boundary)} if boundary else {}
        try:
            pipeline.observed(report=lambda one: self.told.append(one.detail), **crash).apply()
        finally:
            built = [call.view for call in engine.calls if isinstance(call, ViewBuild)]
        return built

    def execute(self, sql: str) -> None:
        self.pipeline()[0].execute(sql)

    def head(self) -> Head:
        stored = self.pipeline()[0].target.registry.head("shop")
        assert stored is not None
        return stored.value

    def table(self, name: str) -> str:
        return str(self.root / "warehouse/shop" / name)

    def rows(self) -> dict[str, object]:
        return {name: (stored_columns(self.root, name), stored_rows(self.root, name)) for name in ("v", "w", "apart")}


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shop = Shop(tmp_path_factory.mktemp("applied"))
    assert sorted(shop.apply(SQL)) == ["apart", "v", "w"]
    shop.execute("INSERT INTO t VALUES (1, 10), (2, 20)")
    shop.execute("INSERT INTO other VALUES (1)")
    return shop.root


@pytest.fixture
def shop(applied: Path, tmp_path: Path) -> Shop:
    shutil.copytree(applied, tmp_path / "shop")
    return Shop(tmp_path / "shop")


@pytest.mark.parametrize("change", CHANGES)
def test_what_comes_back_takes_its_rows_and_those_of_its_readers(shop: Shop, change: str) -> None:
    before = shop.rows()
    assert shop.apply(SQL.replace(*CHANGES[change])) == ["v", "w"]
    assert shop.rows() != before
    shop.told.clear()

    assert shop.apply(SQL) == []

    assert shop.rows() == before
    told = [one for one in shop.told if one]
    assert told == ["1 row; v0's rows are kept and current; nothing was computed"] * 2
    # The next step goes on from them.
    shop.execute("INSERT INTO t VALUES (3, 30)")
    assert shop.rows() != before


def test_forth_again_takes_the_rows_of_the_later_version(shop: Shop) -> None:
    other = SQL.replace(*CHANGES["view"])
    shop.apply(other)
    after = shop.rows()
    assert shop.apply(SQL) == []
    assert shop.apply(other) == []
    assert shop.rows() == after


def test_rows_that_what_is_read_has_left_behind_are_computed(shop: Shop) -> None:
    shop.apply(SQL.replace(*CHANGES["view"]))
    shop.execute("INSERT INTO t VALUES (3, 30)")
    assert shop.apply(SQL) == ["v", "w"]


def test_rows_are_current_whatever_else_moved(shop: Shop) -> None:
    shop.apply(SQL.replace(*CHANGES["view"]))
    shop.execute("INSERT INTO other VALUES (3)")
    assert shop.apply(SQL) == []


def test_what_came_and_went_again_is_told_by_files_and_counts_as_moved(shop: Shop) -> None:
    shop.apply(SQL.replace(*CHANGES["view"]))
    shop.execute("INSERT INTO t VALUES (3, 30)")
    shop.execute("DELETE FROM t WHERE id = 3")
    # The same rows, in other files: nobody has compared them.
    assert shop.apply(SQL) == ["v", "w"]


def test_commits_that_change_no_data_leave_rows_current(shop: Shop) -> None:
    before = shop.rows()
    shop.apply(SQL.replace(*CHANGES["view"]))
    table = open_table(shop.table("t"))
    assert table is not None
    # As a takeover of the lease leaves one.
    table.create_write_transaction([], "append", table.schema(), [])
    _put_placement(shop, "t", table.version() + 1)
    assert shop.apply(SQL) == []
    assert shop.rows() == before


def _put_placement(shop: Shop, name: str, version: int) -> None:
    """The head as if a step had published that version of a table."""
    registry = shop.pipeline()[0].target.registry
    stored = registry.head("shop")
    assert stored is not None
    assert stored.value.published is not None
    relations = dict(stored.value.published.relations)
    relations[name] = replace(relations[name], version=version)
    published = replace(stored.value.published, relations=relations)
    registry.replace_head(stored.token, replace(stored.value, published=published), "test")


def test_rows_that_a_vacuum_took_are_computed(shop: Shop) -> None:
    before = shop.rows()
    shop.apply(SQL.replace(*CHANGES["view"]))
    table = open_table(shop.table("v"))
    assert table is not None
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert "v" in shop.apply(SQL)
    assert shop.rows() == before


@pytest.mark.parametrize(
    "definition",
    ["x + CAST(rand() * 0 AS INT)", "CASE WHEN current_date() IS NULL THEN 0 ELSE x END", "length(current_timezone())"],
)
def test_what_depends_on_more_than_rows_is_computed(shop: Shop, definition: str) -> None:
    chance = SQL.replace("f(x) AS y", f"{definition} AS y")
    shop.apply(chance)
    shop.apply(SQL)
    assert "v" in shop.apply(chance)


def test_a_sum_of_doubles_is_as_good_as_it_was(shop: Shop) -> None:
    sums = SQL.replace("COUNT(y) FROM v", "SUM(CAST(y AS DOUBLE)) FROM v")
    shop.apply(sums)
    assert shop.apply(SQL) == []
    assert shop.apply(sums) == []


def test_a_table_that_was_cleared_since_makes_rows_stale(shop: Shop) -> None:
    shop.apply(SQL.replace(*CHANGES["view"]))
    shop.apply(SQL.replace(*CHANGES["view"]).replace("t (id BIGINT, x INT)", "t (id BIGINT, x INT, more INT)"))
    shop.execute("INSERT INTO t (id, x) VALUES (1, 10), (2, 20)")
    assert "v" in shop.apply(SQL.replace("t (id BIGINT, x INT)", "t (id BIGINT, x INT, more INT)"))


def test_a_view_that_was_dropped_in_between_is_computed(shop: Shop) -> None:
    before = shop.rows()
    shop.apply(SQL.replace("CREATE MATERIALIZED VIEW apart AS SELECT id FROM other;\n", ""))
    assert shop.apply(SQL) == ["apart"]
    assert shop.rows() == before


def test_other_settings_that_decide_results_make_another_version(shop: Shop) -> None:
    more = "  runtime: {spark: {spark.sql.ansi.enabled: 'false'}}\n"
    shop.apply(SQL.replace(*CHANGES["view"]))
    assert "v" in shop.apply(SQL, more=more)
    assert "v" not in shop.apply(SQL)


@pytest.mark.parametrize(
    "boundary",
    mostly_slow(
        [f"{kind}:{point}" for kind in BEFORE_SWITCH for point in POINTS],
        "bootstrap_view:recorded",
        "publish_view:effected",
        "commit_snapshot:effected",
    ),
)
def test_killed_anywhere_it_ends_the_same(shop: Shop, boundary: str) -> None:
    before = shop.rows()
    shop.apply(SQL.replace(*CHANGES["view"]))
    with pytest.raises(Crash):
        shop.apply(SQL, boundary)
    assert shop.apply(SQL) == []
    assert shop.rows() == before
    assert shop.pipeline()[0].plan().changes_nothing
    table = open_table(shop.table("v"))
    assert table is not None
    assert [one["operation"] for one in table.history(1)] == ["RESTORE"]


def test_rows_that_go_while_an_apply_is_open_are_computed_by_the_next(shop: Shop) -> None:
    before = shop.rows()
    shop.apply(SQL.replace(*CHANGES["view"]))
    with pytest.raises(Crash):
        shop.apply(SQL, "bootstrap_view:intended")
    table = open_table(shop.table("v"))
    assert table is not None
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert shop.apply(SQL) == ["v", "w"]
    assert shop.rows() == before


@pytest.mark.parametrize("boundary", ["publish_view:before", "publish_view:effected"])
def test_rows_that_go_once_others_are_published_are_computed_then(shop: Shop, boundary: str) -> None:
    before = shop.rows()
    shop.apply(SQL.replace(*CHANGES["view"]))
    with pytest.raises(Crash):
        shop.apply(SQL, boundary)
    for name in ("v", "w"):
        table = open_table(shop.table(name))
        assert table is not None
        table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    if boundary == "publish_view:before":
        # Both are what a reader of the paths sees, still.
        assert shop.apply(SQL) == ["v", "w"]
    else:
        assert shop.apply(SQL) == ["w"]
    assert shop.rows() == before
    assert shop.apply(SQL) == []


def test_a_table_that_goes_once_others_are_published_is_computed_then(shop: Shop) -> None:
    before = shop.rows()
    shop.apply(SQL.replace(*CHANGES["view"]))
    with pytest.raises(Crash):
        shop.apply(SQL, "publish_view:effected")
    shutil.rmtree(shop.table("w"))
    assert shop.apply(SQL) == ["w"]
    assert shop.rows() == before


def test_beside_a_live_run_nothing_is_computed_either(shop: Shop) -> None:
    before = shop.rows()
    shop.apply(SQL.replace(*CHANGES["view"]))
    registry = shop.pipeline()[0].target.registry
    with held_by_a_run(registry):
        assert shop.apply(SQL) == []
    assert shop.rows() == before


def test_a_renamed_view_takes_the_rows_of_its_former_name(shop: Shop) -> None:
    renamed = SQL.replace("VIEW apart AS SELECT id FROM other", "VIEW alone AS SELECT id FROM other")
    moved = "  moved: [{from: apart, to: alone}]\n"
    shop.apply(renamed.replace("SELECT id FROM other", "SELECT id + 1 AS id FROM other"), more=moved)
    assert shop.apply(renamed) == []
