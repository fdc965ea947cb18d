"""No output leads into a registry, where approvals stand."""

from typing import Any

import pytest

from reconciler.base.places import OnePlace
from reconciler.connectors.catalogue import check_connector


def delta(uri: str) -> dict[str, Any]:
    return {"transport": {"name": "delta_table_output", "config": {"uri": uri}}}


def files(path: str) -> dict[str, Any]:
    return {"transport": {"name": "file_output", "config": {"path": path}}, "format": {"name": "json"}}


@pytest.mark.parametrize("make", [delta, files])
@pytest.mark.parametrize(
    "place",
    [
        "../wh/_registry/shop/approvals",
        "/wh/_registry",
        "s3://lake/wh/_registry/shop/approvals",
        "s3://lake/wh/%5Fregistry/shop",
        "../wh/x/../_REGISTRY/shop",
    ],
)
def test_an_output_into_a_registry_is_refused(make: Any, place: str) -> None:
    assert [one.code for one in check_connector(make(place), OnePlace(None))] == ["C418"]


@pytest.mark.parametrize("place", ["../out/registry", "s3://lake/_registry_of_sales/x", "/data/my_registry"])
def test_other_places_are_taken(place: str) -> None:
    assert check_connector(delta(place), OnePlace(None)) == ()
    assert check_connector(files(place), OnePlace(None)) == ()
