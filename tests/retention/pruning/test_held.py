"""Pruning: what stays, since something needs it: aliases, pins, checkpoints, outputs, views, other pipelines."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reconciler.base.errors import EngineError, ReconcileError
from reconciler.registry.model import OutputState, Sending
from reconciler.service.project import Project
from reconciler.state.pruned import Left
from tests.retention.pruning.shop import FIRST, SECOND, SHORT, THIRD, Shop, kept, pruned, remaining
from tests.shops.two_pipelines import GRADES, SALES, two_pipelines
from tests.workspace.test_reading_pipelines import planned
from tests.workspace.test_versions_in_views import OTHER, allow

TRANSPORT = "{name: file_output, config: {path: out}}"
OUTPUT = f"  connectors: [{{name: out, view: total, transport: {TRANSPORT}, format: {{name: json}}}}]\n"


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
