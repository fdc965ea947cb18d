"""Requests over HTTP as a pipeline's runs read them: once each, whatever becomes of the run; and other places to go on from.
Over real Delta tables and the recording engine."""

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.base.errors import ReconcileError
from reconciler.engine.http_requests import place_of, remove_read, store
from reconciler.state.controls import read_controls
from reconciler.testing.crashes import Crash, crash_at
from tests.shops.lineitem import PROGRAM, connector, make, opened
from tests.shops.runs import rows

YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {{name: shop}}
spec:
  bootstrap_policy: allow
  connectors:
    - name: http
      table: lineitem
      max_batch_size: 2
      transport: {{name: http_input, config: {{path: {folder}}}}}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make(tmp_path, YAML.format(folder=tmp_path / "requests"), PROGRAM)


def came(shop: Path, *ids: int, least: int = 1) -> None:
    """Requests that insert one row each."""
    for one in ids:
        line: dict[str, Any] = {"insert": {"id": one, "part": f"of {one}"}}
        store(shop / "requests", json.dumps(line).encode(), least)


def ids(shop: Path) -> list[Any]:
    return sorted(row[0] for row in rows(shop))


def next_read(shop: Path) -> int | None:
    """The position of the input in the head."""
    stored = opened(shop).target.registry.head("shop")
    assert stored is not None
    found = stored.value.positions.get("lineitem.http")
    return None if found is None else int(found["next"])


def test_all_that_came_is_read_and_removed_files_do_no_harm(shop: Path) -> None:
    opened(shop).run_once()
    assert next_read(shop) is None
    came(shop, 1, 2, 3, 4, 5)
    opened(shop).run_once()
    assert (ids(shop), next_read(shop)) == ([1, 2, 3, 4, 5], 6)
    remove_read(shop / "requests", 6)
    store(shop / "requests", b'{"delete": {"id": 1}}\n', 6)
    opened(shop).run_once()
    assert (ids(shop), next_read(shop)) == ([2, 3, 4, 5], 7)


@pytest.mark.parametrize("point", ["intent:before", "step:intended", "step:before", "step:recorded"])
def test_a_run_that_dies_reads_no_request_twice_and_passes_none_over(shop: Path, point: str) -> None:
    came(shop, 1, 2, 3)
    with pytest.raises(Crash):
        opened(shop).observed(boundary=crash_at(point)).run_once()
    came(shop, 4)
    opened(shop).run_once()
    assert (ids(shop), next_read(shop)) == ([1, 2, 3, 4], 5)


@pytest.mark.parametrize("point", ["intent:before", "step:intended", "step:before", "step:recorded"])
def test_a_run_that_dies_updates_each_row_from_what_it_was(shop: Path, point: str) -> None:
    """The step is made again: an update behind a delete finds no row, and one of a row that a later request deletes does."""
    came(shop, 1, 2, 3)
    opened(shop).run_once()
    for line in ({"update": {"id": 1, "part": "new"}}, {"delete": {"id": 2}}, {"update": {"id": 2, "part": "none"}}):
        store(shop / "requests", json.dumps(line).encode())
    store(shop / "requests", b'{"update": {"id": 3, "part": "gone"}}')
    store(shop / "requests", b'{"delete": {"id": 3}}')
    with pytest.raises(Crash):
        opened(shop).observed(boundary=crash_at(point)).run_once()
    opened(shop).run_once()
    assert sorted(row[:2] for row in rows(shop)) == [(1, "new")]


def test_requests_that_go_while_a_step_is_open_hold_up_no_others(shop: Path) -> None:
    came(shop, 1, 2, 3)
    with pytest.raises(Crash):
        opened(shop).observed(boundary=crash_at("step:intended")).run_once()
    place_of(shop / "requests", 1).unlink()
    opened(shop).run_once()
    assert (ids(shop), next_read(shop)) == ([2, 3], 4)


def test_it_goes_on_from_the_number_of_a_request(shop: Path) -> None:
    came(shop, 1, 2, 3)
    opened(shop).run_once()
    opened(shop).execute("DELETE FROM lineitem WHERE id = 3")
    opened(shop).execute("DELETE FROM lineitem WHERE id = 2")
    assert opened(shop).seek_connector("lineitem.http", 3).done
    opened(shop).run_once()
    assert (ids(shop), next_read(shop)) == ([1, 3], 4)
    opened(shop).seek_connector("lineitem.http", "earliest")
    opened(shop).run_once()
    assert ids(shop) == [1, 2, 3]


@pytest.mark.parametrize("left_open", [False, True])
def test_latest_is_meant_as_of_when_it_was_asked_for(shop: Path, left_open: bool) -> None:
    came(shop, 1)
    if left_open:
        with pytest.raises(Crash):
            opened(shop).observed(boundary=crash_at("step:intended")).run_once()
    came(shop, 2, 3)
    assert opened(shop).seek_connector("lineitem.http", "latest").done is not left_open
    came(shop, 4)
    opened(shop).run_once()
    assert ids(shop) == ([1, 4] if left_open else [4])
    assert not read_controls(opened(shop).target.registry, "shop").seeks


@pytest.mark.parametrize("to", [0, -1, True, 1.5, 5, "newest", {"next": 1}, [1]])
def test_it_goes_to_no_other_place(shop: Path, to: Any) -> None:
    came(shop, 1, 2, 3)
    with pytest.raises(ReconcileError, match="can't seek to") as raised:
        opened(shop).seek_connector("lineitem.http", to)
    assert raised.value.code == "A512"
    assert next_read(shop) is None


@pytest.mark.parametrize("to", ["latest", 1])
def test_where_there_is_no_folder_nobody_knows_what_a_number_means(shop: Path, to: Any) -> None:
    with pytest.raises(ReconcileError, match="can't seek to") as raised:
        opened(shop).seek_connector("lineitem.http", to)
    assert "there is no folder" in str(raised.value.hint)
    opened(shop).seek_connector("lineitem.http", "earliest")


def test_an_earlier_checkpoint_reads_again_what_is_still_there(shop: Path) -> None:
    came(shop, 1, 2)
    opened(shop).run_once()
    opened(shop).checkpoint("good")
    came(shop, 3, 4)
    opened(shop).run_once()
    remove_read(shop / "requests", 4)
    opened(shop).restore("good")
    assert (ids(shop), next_read(shop)) == ([1, 2], 3)
    came(shop, 5, least=3)
    opened(shop).run_once()
    assert (ids(shop), next_read(shop)) == ([1, 2, 4, 5], 6)


def test_status_says_how_many_requests_wait(shop: Path) -> None:
    came(shop, 1)
    opened(shop).run_once()
    came(shop, 2)
    place_of(shop / "requests", 2).write_text("{}")
    store(shop / "requests", b"[]")
    with pytest.raises(ReconcileError):
        opened(shop).skip_file("lineitem.http", str(place_of(shop / "requests", 2)))
    opened(shop).run_once()
    assert (connector(shop, "lineitem.http").backlog, connector(shop, "lineitem.http").rejected) == ({}, 2)
