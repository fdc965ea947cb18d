"""One warehouse inside another is seen, whatever way leads there."""

import os
from pathlib import Path

import pytest

from reconciler.base.errors import RegistryError
from reconciler.delta.nested_warehouses import registry_below, warehouse_around_or_within
from reconciler.delta.removal import remove_folder, remove_table


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """With a registry and a table."""
    found = tmp_path / "data" / "wh"
    (found / "_registry" / "pipelines" / "_delta_log").mkdir(parents=True)
    (found / "_registry" / "shop" / "head" / "_delta_log").mkdir(parents=True)
    (found / "shop" / "orders" / "_delta_log").mkdir(parents=True)
    return found


def test_within_another_is_seen(warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(warehouse / "shop")
    for place in ("data/wh/_registry", "data/wh/_registry/shop", "data/wh/shop", "data/wh/new/deep", "link", "link/new"):
        assert warehouse_around_or_within(str(tmp_path / place), ()) is not None, place
    assert warehouse_around_or_within(f"{tmp_path}/data/x/../wh/shop", ()) == str(warehouse)
    assert warehouse_around_or_within(f"file://{warehouse}/shop", ()) == str(warehouse)


def test_around_another_is_seen(warehouse: Path, tmp_path: Path) -> None:
    assert warehouse_around_or_within(str(tmp_path / "data"), ()) == str(warehouse)
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "linked").symlink_to(warehouse)
    assert warehouse_around_or_within(str(tmp_path / "beside"), ()) == str(tmp_path / "beside" / "linked")


def test_a_name_of_a_registry_is_enough(tmp_path: Path) -> None:
    for place in ("wh/_registry", "wh/_Registry/new"):
        assert warehouse_around_or_within(str(tmp_path / place), ()) is not None


def test_those_that_are_named_need_not_be_made(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for one, other in (("a", "a/b/c"), ("a/b/c", "a"), ("link/b", "a"), ("A/b", "a"), ("a", "link/b")):
        assert warehouse_around_or_within(f"{tmp_path}/{one}", [f"{tmp_path}/{other}"]) == f"{tmp_path}/{other}"
    for one, other in (("a", "a"), ("a", "ab"), ("a/b", "a/c"), ("link", "a")):
        assert warehouse_around_or_within(f"{tmp_path}/{one}", [f"{tmp_path}/{other}"]) is None
    assert warehouse_around_or_within("s3://lake/wh/x", ["s3://lake/wh"]) == "s3://lake/wh"
    assert warehouse_around_or_within("s3://lake", ["/wh", "s3://lake/wh"]) == "s3://lake/wh"
    assert warehouse_around_or_within("s3://lake/wh", ["s3://lake/wh", "s3://lake/wh2", "/wh"]) is None


def test_others_are_none(warehouse: Path, tmp_path: Path) -> None:
    (warehouse / "shop" / "_registry" / "_delta_log").mkdir(parents=True)  # a relation of that name
    (warehouse / "shop" / "_registry" / "v-1" / "_delta_log").mkdir(parents=True)  # staged of it
    assert warehouse_around_or_within(str(warehouse), [str(warehouse)]) is None
    assert warehouse_around_or_within(str(tmp_path / "data" / "wh2"), [str(warehouse)]) is None
    assert registry_below(str(warehouse / "shop")) is None
    assert registry_below(str(tmp_path / "missing")) is None
    assert registry_below("s3://lake/wh") is None


def test_letter_case_is_the_disks(warehouse: Path) -> None:
    spelled = warehouse.parent / "WH" / "shop"
    is_one = os.path.exists(spelled)
    assert (warehouse_around_or_within(str(spelled), ()) is not None) == is_one


def test_what_holds_a_warehouse_is_not_removed(warehouse: Path) -> None:
    for remove in (
        lambda: remove_folder(str(warehouse.parent)),
        lambda: remove_table(str(warehouse.parent), None, str(warehouse.parent.parent / "aside")),
        lambda: remove_folder(str(warehouse)),
    ):
        with pytest.raises(RegistryError) as caught:
            remove()
        assert caught.value.code == "G620"
        assert str(warehouse) in str(caught.value)
    assert (warehouse / "shop" / "orders" / "_delta_log").is_dir()
    remove_folder(str(warehouse / "shop" / "orders"))
    assert not (warehouse / "shop" / "orders").exists()
