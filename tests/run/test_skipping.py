"""A file that an input is to go on without: one that changed after it was read, or that brings a step down. Over real Delta
tables and the recording engine."""

from pathlib import Path

import pytest

from reconciler.base.declarations import ConnectorDeclaration
from reconciler.base.errors import EngineError, ReconcileError
from reconciler.connectors.transport import Direction
from reconciler.project.program.model import Connector
from reconciler.run.skipping import file_meant
from reconciler.testing.crashes import Crash, crash_at
from tests.shops.lineitem import connector, events, opened, put
from tests.shops.runs import Reconcile, rows


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

    said = reconcile("connector", "skip", "shop", "lines", "--file", str(root / "source/log/1.json"))
    assert f"goes on without the changes of {root / 'source/log/1.json'} since the connector read it, now" in said
    put(root, "log", "1.json", {"line": "later still"})
    opened(root).run_once()

    assert rows(root, "log") == [("a",), ("b",)]
    assert connector(root, "log.lines").skipped_files == ()
    assert connector(root, "log.lines").files_read_once == ("source/log/1.json",)
    told = "log.lines: leaves out later changes of 1 file(s) that it read: source/log/1.json"
    assert told in reconcile("status", "shop")
    sought = [event.details for event in events(root) if event.event == "connector put at a position"]
    assert [(one["to"], bool(one["by"])) for one in sought] == [({"without": ["repository:///source/log/1.json"]}, True)]


def test_a_file_that_was_never_read_is_skipped_too(root: Path, reconcile: Reconcile) -> None:
    put(root, "log", "1.json", *({"line": None, "x": 1} for _ in range(2)))
    put(root, "log", "2.json", {"line": "b"})
    assert opened(root).skip_file("log.lines", "source/log/1.json").done
    opened(root).run_once()
    assert rows(root, "log") == [("b",)]
    assert "log.lines: leaves out 1 file(s): source/log/1.json" in reconcile("status", "shop")
    opened(root).seek_connector("log.lines", "earliest")
    assert connector(root, "log.lines").skipped_files == ()


def test_what_can_not_be_skipped(root: Path) -> None:
    for name, file in (("log.lines", "source/log/none.json"), ("lineitem.history", "source/lineitem")):
        with pytest.raises(ReconcileError) as raised:
            opened(root).skip_file(name, file)
        assert raised.value.code == "A512"
    with pytest.raises(ReconcileError, match="can't seek to"):
        opened(root).seek_connector("lineitem.history", {"without": ["x"]})


@pytest.mark.parametrize(
    "named",
    [
        "pipelines/../source/log/1.json",
        "file://{root}/source/log/1.json",
        "inbox/1.json",
        "{root}/source/../inbox/1.json",
    ],
)
def test_a_file_is_named_by_any_path_that_leads_to_it(named: str, root: Path) -> None:
    put(root, "log", "1.json", {"line": "wrong"})
    put(root, "log", "2.json", {"line": "b"})
    (root / "inbox").symlink_to(root / "source/log")
    assert opened(root).skip_file("log.lines", named.format(root=root)).done
    opened(root).run_once()
    assert rows(root, "log") == [("b",)]


def test_a_file_that_the_input_does_not_read_is_not_skipped(root: Path) -> None:
    put(root, "log", "1.json", {"line": "a"})
    (root / "elsewhere.json").write_text("{}")
    with pytest.raises(ReconcileError, match="reads no file elsewhere") as raised:
        opened(root).skip_file("log.lines", "elsewhere.json")
    assert raised.value.code == "A512"
    assert raised.value.hint == "it reads: source/log/1.json"
    assert connector(root, "log.lines").skipped_files == ()


@pytest.mark.parametrize(
    ("reads", "named", "listed"),
    [
        ("s3://bucket/in", "s3://bucket/in/a.json", "s3a://bucket/in/a.json"),
        ("s3a://bucket/in/", "s3://bucket/in/a.json", "s3a://bucket/in/a.json"),
        ("s3://bucket/in/2026-*/part-*", "s3a://bucket/in/2026-01/part-1", "s3a://bucket/in/2026-01/part-1"),
        ("s3://bucket/in/a.json", "s3://bucket/in/a.json", "s3a://bucket/in/a.json"),
        ("s3://bucket/in", "s3://bucket/inner/a.json", None),
        ("s3://bucket/in", "s3://other/in/a.json", None),
        ("s3://bucket/in", "in/a.json", None),
    ],
)
def test_a_file_in_a_store_lies_where_the_input_reads(reads: str, named: str, listed: str | None) -> None:
    settings = {"transport": {"name": "file_input", "config": {"path": reads}}}
    input_ = Connector(ConnectorDeclaration("log", "lines", 0, settings), "lines", Direction.INPUT)
    if listed is not None:
        assert file_meant(input_, Path("/repository"), None, named) == listed
        return
    with pytest.raises(ReconcileError) as raised:
        file_meant(input_, Path("/repository"), None, named)
    assert raised.value.code == "A512"


@pytest.mark.parametrize("dies_at", ["step:intended", "table:effected", "step:before", "history:recorded"])
def test_a_step_that_was_left_open_with_the_file_is_put_back(dies_at: str, root: Path) -> None:
    put(root, "log", "1.json", {"line": "a"})
    opened(root).run_once()
    put(root, "log", "2.json", {"line": "wrong"})
    put(root, "log", "3.json", {"line": "c"})

    with pytest.raises(Crash):
        opened(root).observed(boundary=crash_at(dies_at)).run_once()
    assert not opened(root).skip_file("log.lines", "source/log/2.json").done
    opened(root).run_once()
    opened(root).run_once()
    assert rows(root, "log") == [("a",), ("c",)]
    assert connector(root, "log.lines").skipped_files == ("source/log/2.json",)
    assert connector(root, "log.lines").files_read_once == ()


def test_a_file_that_is_gone_and_a_link_that_leads_nowhere_are_not_there(root: Path) -> None:
    put(root, "log", "1.json", {"line": "a"})
    (root / "source/log/2.json").symlink_to(root / "nowhere.json")
    opened(root).run_once()
    assert rows(root, "log") == [("a",)]
    (root / "nowhere.json").write_text('{"line": "late"}\n')
    opened(root).run_once()
    assert rows(root, "log") == [("a",), ("late",)]


def test_a_file_that_can_not_be_looked_at_stops_its_input_alone(root: Path) -> None:
    put(root, "log", "1.json", {"line": "a"})
    (root / "source/log/loop.json").symlink_to("loop.json")
    put(root, "live", "1.json", {"id": 1, "part": "x"})
    with pytest.raises(EngineError, match="can't be read") as raised:
        opened(root).run_once()
    assert raised.value.code == "X710"
    assert rows(root, "log") == []
    assert rows(root, "lineitem")
