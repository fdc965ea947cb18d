"""Where no plan can be made, that is an error with a code, of this pipeline alone, and never a plan in which everything is
removed or new. Through the command line."""

from pathlib import Path

import pytest

from tests.acceptance.git_shop import Shop, applied_shop, make_pipeline


@pytest.fixture
def shop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    return Shop(tmp_path / "repository", capsys)


@pytest.fixture
def applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    return applied_shop(tmp_path, capsys)


def test_a_pipeline_whose_manifest_cannot_be_found_is_a_mistake_and_no_removal(applied: Shop) -> None:
    (applied.folder / "pipeline.yaml").unlink()
    (applied.folder / "pipeline.yaml").symlink_to("nowhere")
    assert "pipeline.yaml" in applied.reconcile("plan", "shop", expect=1)
    (applied.folder / "pipeline.yaml").unlink()
    assert "M121" in applied.reconcile("validate", expect=1)
    assert "M121" in applied.reconcile("apply", "shop", expect=1)


def test_a_warehouse_on_an_object_store_is_refused_by_name(shop: Shop) -> None:
    (shop.root / "reconcile.yaml").write_text("environments: {dev: {warehouse: 'gs://bucket/warehouse'}}\n")
    assert "U815" in shop.reconcile("plan", "shop", expect=1)


def test_a_lost_registry_is_an_error_and_never_an_everything_is_new_plan(applied: Shop) -> None:
    (applied.root / ".reconcile/warehouse/_registry").rename(applied.root / "registry-lost")
    assert "A505" in applied.reconcile("plan", "shop", expect=1)
    assert "A505" in applied.reconcile("apply", "shop", expect=1)


def test_damage_to_one_pipeline_is_no_damage_to_another(applied: Shop) -> None:
    make_pipeline(applied.root, "other")
    applied.reconcile("apply", "other")
    for commit in (applied.root / ".reconcile/warehouse/_registry/shop/head/_delta_log").glob("*.json"):
        commit.write_text("damaged")
    assert "no changes" in applied.reconcile("plan", "other")
    applied.reconcile("apply", "other")
    text = applied.reconcile("plan", expect=1)
    assert "G602" in text
    assert "other (dev)\n  no changes" in text
    text = applied.reconcile("status", expect=1)
    assert "G602" in text
    assert "other" in text
    assert "G602" in applied.reconcile("apply", "shop", expect=1)
