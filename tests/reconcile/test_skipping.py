"""A file that an input is to go on without: one that changed after it was read, or that brings a step down. Over real Delta
tables and the recording engine."""

from pathlib import Path

import pytest

from reconciler.errors import EngineError, ReconcileError
from tests.reconcile.lineitem import connector, events, opened, put
from tests.reconcile.runs import Reconcile, rows


def test_a_file_that_changed_is_skipped_by_name_and_shown(root: Path, reconcile: Reconcile) -> None:
    put(root, "log", "1.json", {"line": "a"})
    opened(root).run_once()
    put(root, "log", "1.json", {"line": "a"}, {"line": "late"})
    put(root, "log", "2.json", {"line": "b"})
    with pytest.raises(EngineError, match="changed after it was read"):
        opened(root).run_once()
    error = connector(root, "log.lines").last_error
    assert error is not None
    assert error["code"] == "X711"
    assert f"reconcile connector skip shop log.lines --file {root / 'source/log/1.json'}" in error["hint"]

    assert "goes on without" in reconcile("connector", "skip", "shop", "lines", "--file", str(root / "source/log/1.json"))
    put(root, "log", "1.json", {"line": "later still"})
    opened(root).run_once()

    assert rows(root, "log") == [("a",), ("b",)]
    assert connector(root, "log.lines").skipped_files == ("source/log/1.json",)
    assert "log.lines: goes on without 1 file(s): source/log/1.json" in reconcile("status", "shop")
    sought = [event.details for event in events(root) if event.event == "connector put at a position"]
    assert [(one["to"], bool(one["by"])) for one in sought] == [({"without": ["repository:///source/log/1.json"]}, True)]


def test_a_file_that_was_never_read_is_skipped_too(root: Path) -> None:
    put(root, "log", "1.json", *({"line": None, "x": 1} for _ in range(2)))
    put(root, "log", "2.json", {"line": "b"})
    assert opened(root).skip_file("log.lines", "source/log/1.json")
    opened(root).run_once()
    assert rows(root, "log") == [("b",)]
    opened(root).seek_connector("log.lines", "earliest")
    assert connector(root, "log.lines").skipped_files == ()


def test_what_can_not_be_skipped(root: Path) -> None:
    for name, file in (("log.lines", "source/log/none.json"), ("lineitem.history", "source/lineitem")):
        with pytest.raises(ReconcileError) as raised:
            opened(root).skip_file(name, file)
        assert raised.value.code == "A512"
    with pytest.raises(ReconcileError, match="can't be put"):
        opened(root).seek_connector("lineitem.history", {"without": ["x"]})
