"""A warehouse that was copied with its repository, and a registry and tables that were restored from a backup: their outputs
give the numbers of emissions that a sink has got from somebody else. Nothing passes for sent that is not in the sink."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.state.events import Event, read_events
from tests.engine.delta_writer import DeltaWriter
from tests.shops.emissions import Shop, connector, lake

SEEK = "reconcile connector seek shop v.lake --to snapshot"


def rows_in(sink: Path) -> list[Any]:
    """The ids in a Delta sink."""
    version = DeltaWriter().latest(str(sink))
    return [] if version is None else sorted(row[0] for row in DeltaWriter().read(str(sink), version).rows)


def other(shop: Shop) -> str:
    """An output that leads to a place of the shop's own."""
    return connector("other", "delta_table_output", "other")


def refused(shop: Shop) -> EngineError:
    """What a run ends with whose sink has what somebody else sent."""
    with pytest.raises(EngineError) as caught:
        shop.pipeline.run_once()
    assert caught.value.code == "X756"
    return caught.value


def copied(shop: Shop, name: str) -> Shop:
    """A copy of the repository with its warehouse."""
    return Shop(Path(shutil.copytree(shop.root, shop.root.with_name(name))))


@pytest.fixture
def sink(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def first(tmp_path: Path, sink: Path) -> Shop:
    """A pipeline that has sent the row 1."""
    (tmp_path / "first").mkdir()
    shop = Shop(tmp_path / "first")
    shop.rows(1)
    shop.apply(lake(str(sink)), other(shop))
    shop.pipeline.run_once()
    assert rows_in(sink) == [1]
    return shop


def test_a_copy_does_not_take_what_the_other_one_sent_for_its_own(first: Shop, sink: Path) -> None:
    second = copied(first, "second")
    first.step(1, 2)
    second.step(1, 3)
    first.pipeline.run_once()

    error = refused(second)

    assert str(sink) in error.message
    assert error.hint is not None
    assert "is a copy" in error.hint
    assert SEEK in error.hint
    assert rows_in(sink) == [1, 2], "nothing of the copy"
    assert second.head().outputs["v.lake"].sending is not None, "nothing is ticked off"
    assert rows_in(second.root / "other") == [1, 3], "its other output goes on"
    events = read_events(second.pipeline.target.registry, "shop")
    told = [one.details["code"] for one in events if one.event == Event.CONNECTOR_FAILING.value]
    assert told == ["X756"]


def test_a_copy_with_another_address_goes_on_there(first: Shop, sink: Path) -> None:
    second = copied(first, "second")
    first.step(1, 2)
    second.step(1, 3)
    first.pipeline.run_once()
    refused(second)

    second.apply(lake("elsewhere"), other(second))
    second.pipeline.seek_connector("v.lake", "snapshot")
    second.pipeline.run_once()
    second.step(1, 3, 4)
    second.pipeline.run_once()
    first.step(1, 2, 5)
    first.pipeline.run_once()

    assert rows_in(second.root / "elsewhere") == [1, 3, 4]
    assert rows_in(sink) == [1, 2, 5]


@pytest.mark.parametrize(("to", "expected"), [("snapshot", [1, 1, 2, 3, 4, 9, 10]), ("latest", [1, 2, 3, 4, 10])])
def test_a_seek_leads_on_after_a_restore_from_a_backup(first: Shop, sink: Path, to: str, expected: list[int]) -> None:
    back = copied(first, "back")
    for rows in [(1, 2), (1, 2, 3), (1, 2, 3, 4)]:
        first.step(*rows)
        first.pipeline.run_once()
    back.step(1, 9)

    refused(back)
    back.pipeline.seek_connector("v.lake", to)
    if to == "snapshot":
        back.pipeline.run_once()
    back.step(1, 9, 10)
    back.pipeline.run_once()

    assert rows_in(sink) == expected
    assert back.head().outputs["v.lake"].sending is None


def test_what_was_pinned_before_a_copy_is_the_same_for_both(first: Shop, sink: Path) -> None:
    first.step(1, 2)
    second = copied(first, "second")

    first.pipeline.run_once()
    second.pipeline.run_once()

    assert rows_in(sink) == [1, 2]
    assert second.head().outputs["v.lake"].sending is None
