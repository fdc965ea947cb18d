"""What lies within a warehouse is known as that, whatever way leads there."""

import os
from pathlib import Path

import pytest

from reconciler.delta.warehouse_places import places_of_registries, warehouse_around


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Another project's, with a registry and a table."""
    found = tmp_path / "elsewhere" / "wh"
    (found / "_registry" / "pipelines" / "_delta_log").mkdir(parents=True)
    (found / "shop" / "orders" / "_delta_log").mkdir(parents=True)
    return found


def test_below_a_registry_is_a_warehouse(warehouse: Path) -> None:
    for place in (".", "shop/orders", "shop/new/deep", "_registry/shop/approvals"):
        assert warehouse_around(str(warehouse / place)) == str(warehouse)
    assert warehouse_around(f"file://{warehouse}/shop") == str(warehouse)
    assert warehouse_around(f"FILE:{warehouse}/shop") == str(warehouse)
    # Whatever writes normalises these; the first part is taken for a machine, or goes with the dots.
    for odd in ("x_y:/", ":/", "c:/", "://..", " file:/..", "fi\tle:/..", "/x/s3://../../.."):
        assert warehouse_around(f"{odd}{warehouse}/shop") == str(warehouse), odd


def test_links_and_dots_lead_there(warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "link").symlink_to(warehouse / "shop")
    (tmp_path / "out" / "again").symlink_to("link")
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "out" / "far").symlink_to(tmp_path / "a" / "b")
    for place in (
        "out/link/new",
        "out/again/new",
        "out/../elsewhere/wh/shop/new",
        "missing/../elsewhere/wh/shop/new",
        "out/far/../../elsewhere/wh/new",  # as the system reads it
        "out/far/../link/new",  # as Java does
        "out/%6cink/new",
    ):
        assert warehouse_around(f"{tmp_path}/{place}") == str(warehouse), place


def test_links_within_the_folder_lead_there(warehouse: Path, tmp_path: Path) -> None:
    sink = tmp_path / "sink"
    sink.mkdir()
    assert warehouse_around(str(sink)) is None
    (sink / "_delta_log").symlink_to(warehouse / "shop" / "orders" / "_delta_log")
    assert warehouse_around(str(sink)) == str(warehouse)
    (sink / "_delta_log").unlink()
    (sink / "_delta_log").mkdir()
    (sink / "_delta_log" / "_last_checkpoint").symlink_to(warehouse / "_registry" / "x")
    assert warehouse_around(str(sink)) == str(warehouse)


def test_a_warehouse_that_is_named_need_not_be_there(tmp_path: Path) -> None:
    warehouse = tmp_path / "wh"
    assert warehouse_around(str(warehouse / "shop"), [str(warehouse)]) == str(warehouse)
    assert warehouse_around(str(tmp_path / "WH" / "shop"), [str(warehouse)]) == str(warehouse)
    assert warehouse_around(str(tmp_path / "wh2" / "shop"), [str(warehouse)]) is None
    assert warehouse_around(str(tmp_path), [str(warehouse)]) is None
    warehouse.mkdir()
    link = tmp_path / "link"
    link.symlink_to(warehouse)
    assert warehouse_around(str(warehouse / "shop"), [str(link)]) == str(link)
    (tmp_path / "WH").mkdir(exist_ok=True)
    is_same = os.path.samefile(warehouse, tmp_path / "WH")
    assert (warehouse_around(str(tmp_path / "WH" / "shop"), [str(warehouse)]) is not None) == is_same


def test_other_folders_are_none(warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "wh").mkdir()
    (tmp_path / "schemas" / "_registry" / "of_avro").mkdir(parents=True)
    for place in ("out", "elsewhere/out", "elsewhere/wh-2/shop", "schemas/out", "wh/x", "with blank/ü"):
        assert warehouse_around(f"{tmp_path}/{place}", ["s3://lake/wh"]) is None, place
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert warehouse_around(f"{loop}/x") is None
    assert warehouse_around(f"{tmp_path}/{'x' * 5000}") is None
    assert warehouse_around("a\0b") is None


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_what_can_not_be_looked_into_counts_as_a_registry(warehouse: Path) -> None:
    (warehouse / "_registry").chmod(0)
    try:
        assert warehouse_around(str(warehouse / "shop")) == str(warehouse)
    finally:
        (warehouse / "_registry").chmod(0o700)


@pytest.mark.parametrize(
    "place",
    [
        "s3://lake/wh",
        "s3a://lake/wh/shop/orders",
        "S3N://lake/wh/shop",
        "s3://lake//x/../wh/./shop",
        "s3://lake/%77h/shop",
        "s3://user@LAKE/wh/shop?x#y",
    ],
)
def test_a_place_on_s3_is_its_bucket_and_key(place: str) -> None:
    assert warehouse_around(place, ["/wh", "s3://other", "s3a://lake/wh/"]) == "s3a://lake/wh/"


@pytest.mark.parametrize(
    "place",
    [
        "s3://lake",
        "s3://lake/wh2",
        "s3://lake/WH",
        "s3://wh/lake/wh",
        "hdfs://lake/wh",
        "gs://lake/wh",
        "s3://[x",
        "hdfs://[x",
    ],
)
def test_other_places_of_stores_are_none(place: str) -> None:
    assert warehouse_around(place, ["s3://lake/wh"]) is None


def test_every_folder_above_may_hold_a_registry() -> None:
    marks = dict(places_of_registries("s3a://lake/a/x/../b"))
    assert list(marks) == ["s3a://lake/a/b", "s3a://lake/a", "s3a://lake", "s3://lake/a/b", "s3://lake/a", "s3://lake"]
    assert marks["s3a://lake/a"] == "s3a://lake/a/_registry/pipelines/_delta_log"
