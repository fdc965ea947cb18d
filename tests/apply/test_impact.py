"""The figures that a plan's impact is made of: of the head, and of Delta's log where a head is older than they are."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.apply.impact import impact_of, measure
from reconciler.apply.planning import plan_between
from reconciler.plan.impact import Impact, Measure, Measures, ReadImpact, TableImpact
from reconciler.registry.model import Head
from reconciler.service.pipeline import Pipeline
from reconciler.service.project import Project
from reconciler.state.applied import read_applied
from reconciler.testing.recording import RecordingEngine
from reconciler.workspace.desired import read_desired
from tests.acceptance.shop import AFTER, make_baseline, open_shop, write_shop
from tests.engine.delta_writer import DeltaWriter


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("applied")
    make_baseline(root, RecordingEngine(DeltaWriter()))
    return root


@pytest.fixture
def root(applied: Path, tmp_path: Path) -> Path:
    shutil.copytree(applied, tmp_path / "copy")
    write_shop(tmp_path / "copy", AFTER)
    return tmp_path / "copy"


def head_of(shop: Pipeline) -> Head:
    stored = shop.target.registry.head("shop")
    assert stored is not None
    return stored.value


def measures_of(shop: Pipeline, head: Head) -> Measures:
    return measure(shop.target, head, ())


def found(shop: Pipeline, head: Head) -> Impact:
    target = shop.target
    applied, desired = read_applied(target, "shop"), read_desired(target, "shop")
    plan = plan_between(target, "shop", applied, desired)
    before, after = (snapshot.program if snapshot else None for snapshot in (applied.snapshot, desired))
    return impact_of(target, plan, head, before, after)


def shop_at(root: Path) -> Pipeline:
    return open_shop(root, RecordingEngine(DeltaWriter()))


def test_the_figures_of_the_head_make_the_impact(root: Path) -> None:
    shop = shop_at(root)
    impact = found(shop, head_of(shop))
    views = {view.view: view for view in impact.views}
    (read,) = views["changed"].reads
    assert (read.relation, read.rows) == ("kept", 3)
    assert read.bytes is not None
    assert views["changed"].rows == 1
    assert views["changed"].seconds is not None
    assert TableImpact("gone", "dropped", 1, head_of(shop).published.relations["gone"].bytes) in impact.tables  # type: ignore[union-attr]


def test_the_figures_of_the_head_cost_no_look_at_any_table(root: Path) -> None:
    shop = shop_at(root)
    before = found(shop, head_of(shop))
    applied, desired = read_applied(shop.target, "shop"), read_desired(shop.target, "shop")
    plan = plan_between(shop.target, "shop", applied, desired)
    shutil.rmtree(root / "warehouse" / "shop")
    assert applied.snapshot is not None
    assert desired is not None
    after = impact_of(shop.target, plan, head_of(shop), applied.snapshot.program, desired.program)
    assert after == before


def test_where_a_head_is_older_the_logs_are_read(root: Path) -> None:
    shop = shop_at(root)
    head = head_of(shop)
    assert head.published is not None
    old = replace(
        head,
        published=replace(
            head.published,
            relations={
                key: replace(one, bytes=None, seconds=None, rows_read=None) for key, one in head.published.relations.items()
            },
        ),
    )
    now, then = found(shop, head), found(shop, old)
    assert then.tables == now.tables
    assert then.views[0].reads == now.views[0].reads == (ReadImpact("kept", 3, measures_of(shop, head)["kept"].bytes),)
    assert then.rows_read == now.rows_read
    assert then.seconds is None
    measures = measure(shop.target, old, ["kept"])
    assert measures["kept"].bytes is not None
    assert measures["alter_me"].bytes is None, "nobody asked for it"


def test_a_table_that_is_gone_is_unknown_and_no_error(root: Path) -> None:
    shop = shop_at(root)
    head = head_of(shop)
    assert head.published is not None
    kept = replace(head.published.relations["kept"], bytes=None)
    old = replace(head, published=replace(head.published, relations={**head.published.relations, "kept": kept}))
    log = root / "warehouse/shop/kept/_delta_log"
    for commit in log.glob("*.json"):
        commit.write_text("{ not json")
    assert measure(shop.target, old, ["kept"])["kept"] == Measure(3, None, None, None)


def test_before_a_first_apply_nothing_is_known_and_tables_are_empty(tmp_path: Path) -> None:
    write_shop(tmp_path, AFTER)
    shop = Project.open(tmp_path, engine=RecordingEngine(DeltaWriter())).pipeline("shop")
    target = shop.target
    desired = read_desired(target, "shop")
    assert desired is not None
    impact = impact_of(target, shop.plan(), None, None, desired.program)
    assert {read for view in impact.views for read in view.reads if read.relation == "kept"} == {ReadImpact("kept", 0, 0)}
    assert impact.seconds is None
