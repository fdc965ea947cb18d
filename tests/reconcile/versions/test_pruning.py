"""Pruning over real Delta tables: what goes from the disk and what stays, what is told of it, and dying amid it."""

import json
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.delta.opening import open_table
from reconciler.engine.protocol import Vacuum
from reconciler.engine.recording import RecordingEngine
from reconciler.errors import EngineError, ReconcileError, RegistryConflict
from reconciler.reconcile.api import Pipeline, Project
from reconciler.reconcile.boundaries import Boundary, Crash, crash_at, no_boundary
from reconciler.reconcile.events import Event
from reconciler.reconcile.running import Running, run_pipeline
from reconciler.reconcile.target import Target, open_target
from reconciler.reconcile.versions.pruning import Pruning
from reconciler.reconcile.versions.retention import Left
from reconciler.registry.model import Head, OutputState, Sending
from tests.acceptance.command_line import CommandLine
from tests.acceptance.shop import write_shop
from tests.engine.delta_writer import DeltaWriter
from tests.reconcile.lineitem import wait_until
from tests.reconcile.test_reading_pipelines import planned
from tests.reconcile.two_pipelines import GRADES, SALES, two_pipelines
from tests.reconcile.versions.test_versions_in_views import OTHER, allow

FIRST = """\
CREATE TABLE orders (id BIGINT, price INT);
CREATE MATERIALIZED VIEW total AS SELECT SUM(price) AS total FROM orders;
CREATE VIEW dear AS SELECT id FROM orders WHERE price > 10;
"""
SECOND = FIRST.replace("SUM(price)", "SUM(price) * 2")
THIRD = FIRST.replace("SUM(price)", "SUM(price) * 3").replace("price > 10", "price > 100")
READS = "  versions: {reads: true}\n  evolution: evolve\n"
SHORT = READS + "  retention: {versions: 0, steps: 1h}\n"
TRANSPORT = "{name: file_output, config: {path: out}}"
OUTPUT = f"  connectors: [{{name: out, view: total, transport: {TRANSPORT}, format: {{name: json}}}}]\n"


class Shop:
    """A pipeline whose prunes happen days from now."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.engine = RecordingEngine(DeltaWriter())

    @property
    def pipeline(self) -> Pipeline:
        return Project.open(self.root, engine=self.engine).pipeline("shop")

    @property
    def target(self) -> Target:
        return open_target(self.root, None)

    @property
    def head(self) -> Head:
        stored = self.target.registry.head("shop")
        assert stored is not None
        return stored.value

    def apply(self, program: str, more: str = SHORT) -> None:
        write_shop(self.root, program, more=more)
        self.pipeline.apply()

    def insert(self, number: int) -> None:
        self.pipeline.execute(f"INSERT INTO orders VALUES ({number}, {number * 10})")

    def prune(self, days: float = 2, boundary: Boundary = no_boundary, dry_run: bool = False) -> Pruning:
        now = datetime.now(UTC) + timedelta(days=days)
        return self.pipeline.prune(dry_run=dry_run, boundary=boundary, now=lambda: now)

    def rows(self, relation: str, step: int | None = None) -> list[tuple[Any, ...]]:
        return list(self.pipeline.select(f"SELECT * FROM {relation}", step).rows)

    def read(self, relation: str, step: int | None = None) -> str:
        """`read`, or the code of the error."""
        try:
            self.rows(relation, step)
        except ReconcileError as error:
            return error.code
        return "read"

    def states(self, name: str = "total") -> dict[int, str]:
        """What `versions list` has under STATE, but for aliases."""
        found = self.pipeline.versions(name)
        return {
            one.number: "active"
            if one.number == found.found.versions.active
            else "pruned"
            if one.number in found.pruned
            else ""
            for one in found.versions
        }

    def folder(self, relation: str = "total") -> Path:
        return Path(self.target.warehouse) / "shop" / relation

    def files(self, relation: str = "total") -> set[str]:
        root = self.folder(relation)
        paths = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
        return {path for path in paths if "_delta_log" not in path}


def pruned(pruning: Pruning) -> list[str]:
    return [f"{one.name}@v{one.number}" for one in pruning.decision.pruned]


def kept(pruning: Pruning) -> dict[str, tuple[str, ...]]:
    return {f"{one.version.name}@v{one.version.number}": one.why for one in pruning.decision.stays}


def files_at(shop: Shop, version: int, relation: str = "total") -> list[str]:
    table = open_table(str(shop.folder(relation)), version)
    assert table is not None
    return [str(path) for path in table.get_add_actions(flatten=True)["path"].to_pylist()]


def remaining(shop: Shop, version: int, relation: str = "total") -> bool:
    return all((shop.folder(relation) / path).exists() for path in files_at(shop, version, relation))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """total v0 was active until step 2, v1 until step 4, v2 is; dear v0 until step 4, v1 is."""
    root = tmp_path_factory.mktemp("built")
    shop = Shop(root)
    shop.apply(FIRST)
    shop.insert(1)
    shop.apply(SECOND)
    shop.insert(2)
    shop.apply(THIRD)
    shop.insert(3)
    return root


@pytest.fixture
def shop(built: Path, tmp_path: Path) -> Shop:
    root = tmp_path / "shop"
    shutil.copytree(built, root)
    return Shop(root)


def test_what_is_pruned_is_gone_and_says_so_and_all_else_is_as_it_was(shop: Shop) -> None:
    now = {name: shop.rows(name) for name in ("orders", "total", "dear")}
    assert {shop.read(name) for name in ("total@v0", "total@v1", "dear@v0")} == {"read"}
    before = shop.files()

    would = shop.prune(dry_run=True)
    assert shop.files() == before
    assert shop.states() == {0: "", 1: "", 2: "active"}
    done = shop.prune()

    assert pruned(done) == pruned(would) == ["dear@v0", "total@v0", "total@v1"]
    assert {one.bytes > 0 for one in done.folders} == {True}
    assert done.bytes["view:total", 0] > 0
    placement = shop.head.published.relations["total"] if shop.head.published else None
    assert placement is not None
    assert shop.files() == set(files_at(shop, placement.version)), "nothing but the rows that are published is left"
    assert {name: shop.rows(name) for name in now} == now
    assert shop.states() == {0: "pruned", 1: "pruned", 2: "active"}
    for name in ("total@v0", "total@v1", "dear@v0"):
        with pytest.raises(ReconcileError) as caught:
            shop.rows(name)
        assert (caught.value.code, "(retention: versions: 0)" in caught.value.message) == ("X735", True)
        assert "pin it" in str(caught.value.hint)
    with pytest.raises(EngineError) as refused:
        shop.rows("total", 3)
    assert (refused.value.code, "pruned" in refused.value.message) == ("X736", True)
    assert shop.pipeline.version("total@v0").sql.startswith("CREATE MATERIALIZED VIEW total")
    assert shop.pipeline.plan().changes_nothing
    assert shop.prune().is_empty
    assert [one.event for one in shop.pipeline.events()].count(Event.PRUNED) == 1
    shop.insert(4)
    assert len(shop.rows("total")) == 1


def test_without_a_retention_versions_stay_and_old_steps_go(built: Path, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shutil.copytree(built, shop.root)
    shop.apply(THIRD, READS)
    shop.insert(4)
    assert shop.prune(days=6).is_empty
    before = {name: shop.rows(name) for name in ("total@v0", "total@v1", "dear@v0", "total")}
    done = shop.prune(days=8)
    assert (pruned(done), done.decision.first_step) == ([], 7)
    assert kept(done) == dict.fromkeys(("total@v0", "total@v1", "dear@v0"), ("retention",))
    assert {name: shop.rows(name) for name in before} == before
    # The first step of v1 was not its last one.
    assert (shop.read("total", 2), shop.read("total", 3)) == ("X736", "read")


def test_steps_stay_for_as_long_as_retention_says(shop: Shop) -> None:
    shop.apply(THIRD, READS + "  retention: {versions: 0, steps: 30d}\n")
    assert shop.prune(days=29).is_empty
    assert kept(shop.prune(days=29, dry_run=True))["total@v0"] == ("steps",)
    assert {shop.read("total", step) for step in range(6)} == {"read"}


def test_an_alias_keeps_a_version_and_what_its_view_reads(shop: Shop) -> None:
    rows = {name: shop.rows(name) for name in ("total@v0", "dear@v0")}
    shop.pipeline.put_alias("total@stable", "v0")
    shop.pipeline.put_alias("dear@then", "v0")
    done = shop.prune()
    assert pruned(done) == ["total@v1"]
    assert kept(done) == {"dear@v0": ("alias then",), "total@v0": ("alias stable",)}
    assert {name: shop.rows(name) for name in rows} == rows
    shop.pipeline.take_alias_away("total@stable")
    assert pruned(shop.prune()) == ["total@v0"]
    assert shop.rows("dear@v0") == rows["dear@v0"]
    assert shop.read("dear@then") == "read"


def test_a_pin_keeps_what_is_pinned_and_brings_back_what_was_pruned(shop: Shop) -> None:
    shop.prune()
    shop.apply(THIRD, SHORT + "  views: {total: {version: v0}}\n")
    assert shop.states() == {0: "active", 1: "pruned", 2: ""}
    assert shop.read("total@v0") == "read"
    assert kept(shop.prune(dry_run=True, days=0)) == {"total@v2": ("steps",)}
    shop.insert(4)
    shop.apply(THIRD)
    # It has rows again, of the time when it was active again.
    assert (shop.states(), shop.read("total@v0")) == ({0: "", 1: "pruned", 2: "active"}, "read")
    assert pruned(shop.prune()) == ["total@v0"]
    assert (shop.states()[0], shop.read("total@v0")) == ("pruned", "X735")


def test_a_named_checkpoint_keeps_its_rows_and_others_say_that_theirs_are_gone(shop: Shop) -> None:
    shop.apply(FIRST)
    shop.insert(4)
    rows = shop.rows("total")
    shop.pipeline.checkpoint("before-the-change")
    shop.apply(SECOND)
    shop.insert(5)
    shop.pipeline.checkpoint("stays")
    shop.insert(6)
    done = shop.prune()
    assert kept(done)["total@v0"] == ("checkpoint before-the-change",)
    assert shop.read("total@v2") == "X735"
    shop.pipeline.restore("before-the-change")
    assert shop.rows("total") == rows
    short = SHORT.replace("steps: 1h", "steps: 1h, checkpoints: 1d")
    shop.apply(SECOND, short)
    shop.insert(7)
    shop.pipeline.checkpoint("newest")
    shop.insert(8)
    shop.prune()
    before = shop.files("orders")
    for name in ("stays", "before-the-change"):
        with pytest.raises(EngineError) as caught:
            shop.pipeline.restore(name)
        assert (caught.value.code, "pruned on" in caught.value.message) == ("X730", True)
    assert shop.files("orders") == before
    shop.pipeline.restore("newest")


def test_what_outputs_have_yet_to_tell_stays(shop: Shop) -> None:
    shop.apply(THIRD, SHORT + OUTPUT)
    for number in (4, 5, 6):
        shop.insert(number)
    stored = shop.target.registry.head("shop")
    assert stored is not None
    lagging = OutputState(sent=1, sending=Sending(1, 3, False, 3, 1), id="x", skips=((5, 6),))
    shop.target.registry.replace_head(stored.token, replace(stored.value, outputs={"total.out": lagging}), str(uuid.uuid4()))
    left = shop.prune().decision.left["shop/total"]
    assert left.versions == (1, 3, 5, 6)
    assert all(remaining(shop, version) for version in left.versions)
    assert not remaining(shop, 2)


def test_what_another_pipeline_has_yet_to_read_stays(shop: Shop) -> None:
    folder = shop.root / "pipelines/reader"
    folder.mkdir()
    uri = shop.folder("total")
    transport = f"{{name: delta_table_input, config: {{uri: {uri}, mode: follow}}}}"
    (folder / "pipeline.yaml").write_text(
        "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: reader}\nspec:\n  bootstrap_policy: allow\n"
        f"  connectors: [{{name: c, table: t, transport: {transport}}}]\n"
    )
    (folder / "program.sql").write_text("CREATE TABLE t (total STRING);")
    Project.open(shop.root, engine=shop.engine).pipeline("reader").apply()
    stored = shop.target.registry.head("reader")
    assert stored is not None
    at = {"t.c": {"version": 2}}
    shop.target.registry.replace_head(stored.token, replace(stored.value, positions=at), str(uuid.uuid4()))
    assert shop.prune().decision.left["shop/total"].since == 2
    assert remaining(shop, 2)
    assert not remaining(shop, 1)


def test_what_pipelines_that_read_this_one_need_stays(tmp_path: Path) -> None:
    pair = two_pipelines(tmp_path)
    pair.write("grades", GRADES + "CREATE VIEW plain AS SELECT customer FROM sales.orders;\n")
    pair.apply("sales", "grades")
    pair.sell((1, "Ada", 10))
    pair.run()
    pair.pipeline("grades").checkpoint("then")
    pair.sell((2, "Bob", 20))
    pair.run()
    pair.sell((3, "Cyd", 30))
    later = datetime.now(UTC) + timedelta(days=8)
    left = pair.pipeline("sales").prune(now=lambda: later).decision.left
    assert left == {"sales/orders": Left(3, (1, 2)), "sales/revenue": Left(3, (1, 2))}
    # What is computed from them goes on being computed, and the checkpoint goes on being one.
    pair.pipeline("grades").execute("INSERT INTO limits VALUES ('Ada', 5)")
    pair.pipeline("grades").restore("then")
    pair.pipeline("grades").execute("INSERT INTO limits VALUES ('Bob', 5)")
    assert pair.read_steps() == {"sales": 1}
    pair.run()
    assert pair.read_steps() == {"sales": 3}
    pair.pipeline("grades").checkpoint("later")
    gone = "  retention: {versions: 0, steps: 0s, checkpoints: 0s}\n"
    for name in ("sales", "grades"):
        path = tmp_path / f"pipelines/{name}/pipeline.yaml"
        path.write_text(path.read_text() + gone)
        pair.apply(name)
    left = pair.pipeline("sales").prune(now=lambda: later).decision.left
    assert left["sales/orders"] == Left(3)
    with pytest.raises(EngineError) as caught:
        pair.pipeline("grades").select("SELECT * FROM plain", at_step=1)
    assert caught.value.code == "X736"
    assert pair.pipeline("grades").plan().changes_nothing


def test_a_version_that_a_view_reads_stays(tmp_path: Path) -> None:
    pair = two_pipelines(tmp_path)
    pair.write("grades", "CREATE TABLE limits (customer STRING, least INT);")
    pair.apply("sales", "grades")
    pair.sell((1, "Ada", 30))
    short = "  retention: {versions: 0, steps: 0s}\n"
    allow(pair, "sales", short)
    # v0 is read by another pipeline, v1 by a view beside it, v2 by nobody.
    for factor in (100, 200, 300):
        views = "" if factor == 100 else "CREATE MATERIALIZED VIEW own AS SELECT total FROM `revenue@v1`;\n"
        (tmp_path / "pipelines/sales/program.sql").write_text(SALES.replace("SUM(price)", f"SUM(price) * {factor}") + views)
        pair.apply("sales")
        pair.sell((factor, "Bob", 1))
    pair.write("grades", OTHER)
    pair.apply("grades")
    later = datetime.now(UTC) + timedelta(days=2)

    done = pair.pipeline("sales").prune(now=lambda: later)

    assert pruned(done) == ["revenue@v2"]
    assert kept(done) == {
        "revenue@v0": ("read by views of grades",),
        "revenue@v1": ("read by views of sales",),
    }
    pair.pipeline("grades").execute("INSERT INTO limits VALUES ('Ada', 5)")
    pair.sell((7, "Cyd", 1))
    assert "no changes" in planned(pair)
    pair.write("grades", OTHER.replace("@v0", "@v2"))
    with pytest.raises(ReconcileError) as caught:
        pair.apply("grades")
    assert caught.value.code == "X735"
    pair.write("grades", "CREATE TABLE limits (customer STRING, least INT);")
    pair.apply("grades")
    # The steps at which it was read can be read for a week yet.
    assert pruned(pair.pipeline("sales").prune(now=lambda: later)) == []
    assert pruned(pair.pipeline("sales").prune(now=lambda: later + timedelta(days=7))) == ["revenue@v0"]


BOUNDARIES = (
    "prune:before",
    "prune:intended",
    "prune:told",
    "prune:recorded",
    "vacuum:before",
    "vacuum:effected",
    "vacuum:before#2",
    "vacuum:effected#2",
    "prune:effected",
)


@pytest.mark.parametrize("name", BOUNDARIES)
def test_whoever_dies_leaves_what_is_readable_or_said_to_be_pruned(shop: Shop, name: str) -> None:
    shop.apply(THIRD.replace("price INT)", "price INT, more INT)"))
    now = shop.rows("total")
    boundary, _, occurrence = name.partition("#")
    with pytest.raises(Crash):
        shop.prune(boundary=crash_at(boundary, int(occurrence or 1)))

    recorded = name not in ("prune:before", "prune:intended")
    for version in ("total@v0", "total@v1", "dear@v0", "orders@v0"):
        assert shop.read(version) == ("X735" if recorded else "read")
    for step in range(5):
        assert shop.read("total", step) in ({"read", "X736"} if recorded else {"read"})
    assert shop.rows("total") == now
    shop.prune()
    shop.prune()
    assert shop.states() == {0: "pruned", 1: "pruned", 2: "active"}
    assert {shop.read(version) for version in ("total@v0", "total@v1", "dear@v0", "orders@v0")} == {"X735"}
    placement = shop.head.published.relations["total"] if shop.head.published else None
    assert placement is not None
    assert shop.files() == set(files_at(shop, placement.version))
    assert shop.rows("total") == now


def removed(shop: Shop) -> list[str]:
    return [one for call in shop.engine.calls if isinstance(call, Vacuum) for one in call.files]


def test_who_lost_the_pipeline_after_it_recorded_removes_nothing(shop: Shop) -> None:
    def taken_over(name: str) -> None:
        if name == "prune:told":
            stored = shop.target.registry.head("shop")
            assert stored is not None
            shop.target.registry.replace_head(stored.token, stored.value, str(uuid.uuid4()))

    with pytest.raises(RegistryConflict):
        shop.prune(boundary=taken_over)
    assert removed(shop) == []


def test_a_step_while_files_go_is_not_disturbed(shop: Shop) -> None:
    done: list[str] = []

    def beside(name: str) -> None:
        if name == "vacuum:before" and not done:
            done.append(name)
            Shop(shop.root).insert(4)

    shop.prune(boundary=beside)
    assert done
    assert len(shop.rows("orders")) == 4
    assert shop.read("total@v0") == "X735"


def test_a_live_run_lets_a_prune_in_and_goes_on(shop: Shop) -> None:
    files = shop.root / "files"
    files.mkdir()
    transport = f"{{name: file_input, config: {{path: {files}}}}}"
    connector = f"  connectors: [{{name: c, table: orders, transport: {transport}, format: {{name: json}}}}]\n"
    shop.apply(THIRD, SHORT + connector)
    stopping = threading.Event()
    running = Running(Shop(shop.root).engine)
    going = threading.Thread(
        target=lambda: run_pipeline(shop.target, "shop", running, once=False, interval_seconds=0.1, stop=stopping.is_set)
    )
    going.start()
    try:
        (files / "1.json").write_text('{"id": 4, "price": 40}\n')
        wait_until(lambda: len(shop.rows("orders")) == 4)
        assert pruned(shop.prune()) == ["dear@v0", "total@v0", "total@v1"]
        (files / "2.json").write_text('{"id": 5, "price": 50}\n')
        wait_until(lambda: len(shop.rows("orders")) == 5)
    finally:
        stopping.set()
        going.join(60)
    assert not going.is_alive()
    assert shop.read("total@v1") == "X735"


def test_what_was_recorded_is_not_restored_though_its_files_are_there(shop: Shop) -> None:
    shop.apply(THIRD, SHORT.replace("steps: 1h", "steps: 1h, checkpoints: 1d"))
    shop.pipeline.checkpoint("old")
    shop.insert(4)
    shop.pipeline.checkpoint("last")
    with pytest.raises(Crash):
        shop.prune(boundary=crash_at("prune:recorded"))
    with pytest.raises(EngineError) as caught:
        shop.pipeline.restore("old")
    assert "pruned on" in caught.value.message


def test_rows_that_were_recorded_are_not_taken_back_though_their_files_are_there(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.apply(FIRST)
    shop.insert(1)
    shop.apply(SECOND)
    with pytest.raises(Crash):
        shop.prune(boundary=crash_at("prune:recorded"))
    assert remaining(shop, 1)
    shop.apply(FIRST)
    assert shop.states() == {0: "active", 1: ""}
    now = shop.rows("total")
    # What a process that was stopped removes when it goes on.
    old = shop.folder() / files_at(shop, 1)[0]
    old.unlink()
    assert shop.rows("total") == now


def test_nothing_is_pruned_while_an_apply_is_open_and_its_staging_stays(shop: Shop) -> None:
    write_shop(shop.root, SECOND, more=SHORT)
    with pytest.raises(Crash):
        shop.pipeline.apply(boundary=crash_at("publish_view:before"))
    staged = [path for path in shop.files() if path.startswith("v-")]
    for path in shop.folder().rglob("*"):
        os.utime(path, (0, 0))
    would = shop.prune(dry_run=True)
    assert would.is_open
    with pytest.raises(ReconcileError) as caught:
        shop.prune()
    assert caught.value.code == "A550"
    going = {file.path for folder in would.folders for file in folder.files}
    shop.pipeline.apply()
    assert staged
    assert len(shop.rows("total")) == 1
    placement = shop.head.published.relations["total"] if shop.head.published else None
    assert placement is not None
    assert not going & set(files_at(shop, placement.version))


def test_what_was_staged_and_left_goes_once_it_is_old(shop: Shop) -> None:
    shop.prune()
    left = shop.folder() / f"v-{'0123456789' * 2}"
    shutil.copytree(shop.folder() / "_delta_log", left / "_delta_log")
    (left / "part.parquet").write_text("rows")
    mine = shop.folder() / "notes"
    mine.mkdir()
    (mine / "a.parquet").write_text("not ours")
    assert shop.prune(days=6).is_empty
    done = shop.prune(days=8)
    assert [folder.location for folder in done.folders if folder.files] == ["shop/total"]
    assert not left.exists()
    assert (mine / "a.parquet").exists()


def age_log(folder: Path) -> None:
    """Commits as if there had been one each ten days, until a year ago."""
    for path in (folder / "_delta_log").iterdir():
        if path.name[:20].isdigit():
            os.utime(path, (time.time() - (1000 - 10 * int(path.name[:20])) * 86400,) * 2)


def test_a_log_reaches_back_to_the_first_version_that_stays(shop: Shop) -> None:
    shop.pipeline.put_alias("total@stable", "v1")
    rows = shop.rows("total@v1")
    folder = shop.folder()
    for version in (1, 2, 5):
        table = open_table(str(folder), version)
        assert table is not None
        table.create_checkpoint()
    age_log(folder)
    shop.insert(4)
    shop.prune()
    names = {path.name for path in (folder / "_delta_log").iterdir()}
    assert f"{0:020d}.json" not in names
    assert shop.rows("total@v1") == rows
    shop.pipeline.take_alias_away("total@stable")
    shop.insert(5)
    shop.prune()
    assert shop.read("total@v1") == "X735"
    assert len(shop.rows("total")) == 1
    table = open_table(str(folder))
    assert table is not None
    assert table.metadata().configuration["delta.enableExpiredLogCleanup"] == "false"


def test_a_table_that_an_older_version_made_keeps_its_log_from_now_on(shop: Shop) -> None:
    for relation in ("orders", "total"):
        table = open_table(str(shop.folder(relation)))
        assert table is not None
        table.alter.set_table_properties({"delta.enableExpiredLogCleanup": "true"})
    shop.prune()
    shop.insert(4)
    for relation in ("orders", "total"):
        table = open_table(str(shop.folder(relation)))
        assert table is not None
        assert table.metadata().configuration["delta.enableExpiredLogCleanup"] == "false"
    assert len(shop.rows("orders")) == 4


def test_a_folder_that_was_made_again_is_another_one(shop: Shop) -> None:
    shop.prune()
    shop.apply("CREATE TABLE orders (id BIGINT, price INT);")
    shop.apply(THIRD)
    shop.insert(4)
    shop.apply(SECOND)
    # What was recorded of the former folder says nothing of this one.
    assert (shop.read("total", 7), shop.read("total@v2"), shop.read("total@v1")) == ("read", "read", "read")
    assert pruned(shop.prune()) == ["total@v2"]
    assert shop.read("total@v2") == "X735"


def test_retention_is_metadata_and_applies_once_it_is_applied(shop: Shop) -> None:
    write_shop(shop.root, THIRD, more=READS + "  views: {total: {retention: {versions: 1, keep: 2d}}}\n")
    plan = shop.pipeline.plan()
    assert (plan.is_empty, plan.changes_nothing) == (True, False)
    told = {(one.subject, one.what): (one.applied, one.desired) for one in plan.diff.metadata}
    assert told == {
        ("shop", "retention"): ("versions: 0, steps: 1h", "none"),
        ("total", "retention"): ("none", "versions: 1, keep: 2d"),
    }
    assert pruned(shop.prune(days=9, dry_run=True)) == ["dear@v0", "total@v0", "total@v1"]
    shop.pipeline.apply()
    assert shop.states() == {0: "", 1: "", 2: "active"}
    assert pruned(shop.prune(days=9, dry_run=True)) == ["total@v0"]


@pytest.fixture
def run(shop: Shop, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    return CommandLine(shop.root, capsys)


def test_the_command_line(shop: Shop, run: Callable[..., str]) -> None:
    shop.apply(THIRD, READS + "  retention: {versions: 0, steps: 0s}\n")
    shop.pipeline.put_alias("total@stable", "v0")
    shop.insert(4)
    told = run("prune", "shop", "--dry-run").splitlines()
    assert [line.split()[:2] for line in told[:5]] == [
        ["WHAT", "VERSION"],
        ["-----", "-" * 8],
        ["prune", "dear@v0"],
        ["prune", "total@v1"],
        ["keep", "total@v0"],
    ]
    assert told[4].endswith("alias stable")
    assert told[3].endswith("versions: 0")
    assert "would go" in told[5]
    assert "steps can be read from 7 on (steps: 0s)" in told[6]
    found = json.loads(run("prune", "--format", "json"))
    (one,) = found["pipelines"]
    assert [row["name"] + "@" + row["version"] for row in one["pruned"]] == ["dear@v0", "total@v1"]
    assert [row["why"] for row in one["kept"]] == [["alias stable"]]
    assert sum(folder["bytes"] for folder in one["folders"]) > 0
    assert "shop: nothing to prune" in run("prune")
    listed = run("versions", "list", "total").splitlines()
    assert [line.split()[-1] for line in listed[2:]] == ["active", "pruned", "stable"]
    (first, *_) = json.loads(run("versions", "list", "dear", "--format", "json"))["versions"]
    assert first["pruned"]["retention"] == "versions: 0"
    said = run("query", "shop", "SELECT * FROM total@v1", code=1)
    assert "X735: shop.total@v1 can't be read: its rows were pruned on" in said
    assert "X735" in run("versions", "diff", "total@v1", "total@v2", "--data", code=1)
    assert "no changes" in run("plan", "shop")
