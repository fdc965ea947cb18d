"""No output writes into a warehouse: neither when a plan is made, nor when a link has changed since."""

from pathlib import Path

import pytest

from reconciler.base.errors import ManifestInvalid
from reconciler.environment.locations import written_place
from tests.acceptance.shop import write_shop
from tests.shops.emissions import PROGRAM, Shop, connector, files, lake


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Applied, in `warehouse`; with the warehouse of another project beside it."""
    made = Shop(tmp_path / "shop")
    (tmp_path / "shop").mkdir()
    made.rows(1)
    made.apply()
    (tmp_path / "other" / "_registry" / "pipelines" / "_delta_log").mkdir(parents=True)
    return made


def refused(shop: Shop, *connectors: str, environments: str = "") -> list[str]:
    """Where the plan of these outputs says that they lead."""
    write_shop(shop.root, PROGRAM, more="  connectors:\n" + "".join(connectors))
    with (shop.root / "reconcile.yaml").open("a") as file:
        file.write(environments)
    with pytest.raises(ManifestInvalid) as caught:
        shop.pipeline.plan()
    assert {one.code for one in caught.value.diagnostics} == {"C418"}
    assert all(str(one.location).startswith("pipelines/shop/pipeline.yaml:") for one in caught.value.diagnostics)
    return [one.message.partition("the warehouse ")[2].partition(",")[0] for one in caught.value.diagnostics]


@pytest.mark.parametrize("transport", ["delta_table_output", "file_output"])
@pytest.mark.parametrize(
    "place",
    ["warehouse/shop/v", "out/../warehouse/shop/v", "./warehouse", "ROOT/warehouse/new", "file://ROOT/warehouse/new"],
)
def test_an_output_into_its_own_warehouse_is_refused(shop: Shop, transport: str, place: str) -> None:
    found = refused(shop, connector("a", transport, place.replace("ROOT", str(shop.root))))
    assert found == [str(shop.root / "warehouse")]


@pytest.mark.parametrize("place", ["../other/shop/orders", "link/orders", "link/../../shop/warehouse/v"])
def test_an_output_into_another_warehouse_is_refused(shop: Shop, place: str) -> None:
    (shop.root / "link").symlink_to(shop.root.parent / "other")
    assert refused(shop, lake(place))[0].startswith(str(shop.root.parent))


def test_an_output_into_the_warehouse_of_another_environment_is_refused(shop: Shop) -> None:
    more = "  prod: {warehouse: prod/wh}\n  cloud: {warehouse: 's3://lake/wh'}\n"
    assert refused(shop, lake("prod/wh/shop/v"), environments=more) == [str(shop.root / "prod/wh")]
    assert refused(shop, lake("s3a://lake/x/../wh/shop/v"), environments=more) == ["s3://lake/wh"]
    (shop.root / "prod" / "wh" / "_registry" / "shop" / "head" / "_delta_log").mkdir(parents=True)
    assert refused(shop, lake("prod/wh/shop/v")) == [str(shop.root / "prod/wh")], "nor where nobody names it any more"
    shop.apply(lake("prod/lake"))


def test_what_names_no_scheme_is_a_path_below_the_repository(tmp_path: Path) -> None:
    """Hadoop would take its first part for a machine, and write to the rest of it."""

    def place(uri: str) -> str | None:
        return written_place({"transport": {"name": "delta_table_output", "config": {"uri": uri}}}, tmp_path)

    assert place("a_b://wh/t") == f"{tmp_path}/a_b:/wh/t"
    assert place("out/://wh") == f"{tmp_path}/out/:/wh"
    assert place("c://wh") == f"{tmp_path}/c:/wh"
    assert place("file:/wh/t") == place("FILE:/wh/t") == place("FILE:///wh/t") == "file:///wh/t"
    for uri in ("s3://lake/t", "hdfs://[x/t", "file:///wh/t", "/wh/t"):
        assert place(uri) == uri


def test_validate_says_it_too(shop: Shop) -> None:
    write_shop(shop.root, PROGRAM, more="  connectors:\n" + lake("warehouse/x"))
    assert [one.code for one in shop.pipeline.validate().diagnostics] == ["C418"]


def test_a_link_that_changes_after_the_plan_is_refused_when_the_output_is_written(shop: Shop) -> None:
    (shop.root / "away").mkdir()
    (shop.root / "link").symlink_to(shop.root / "away")
    shop.apply(lake("link/t"), files())
    (shop.root / "link").unlink()
    (shop.root / "link").symlink_to(shop.root / "warehouse" / "shop")
    shop.step(1, 2)

    results = shop.emit()

    error = results["v.lake"].error
    assert error is not None
    assert error.code == "X755"
    assert shop.lake("warehouse/shop/t") == [1], "the table that has that name is as it was"
    assert results["v.files"].error is None, "the others go on"
    (shop.root / "link").unlink()
    (shop.root / "link").symlink_to(shop.root / "away")
    assert shop.emit()["v.lake"].error is None
    assert shop.lake("away/t") == [2]
