"""Fields of records that no column takes, and columns whose fields do not come: told once, counted, and put right by saying
what a column is called in its source. Over real Delta tables and the recording engine."""

from pathlib import Path

from tests.shops.lineitem import PROGRAM, YAML, connector, events, make, opened, put
from tests.shops.runs import Reconcile, rows

FORMAT = "      transport: {name: file_input, config: {path: source/log}}\n      format: {name: json}\n"
FIELDS = ("fields without a column", "fields missing")


def told(root: Path) -> list[tuple[str, str, object]]:
    return [(event.event, event.subject, event.details) for event in events(root) if event.event in FIELDS]


def test_a_field_that_no_column_takes_is_told_once_and_counted(root: Path, reconcile: Reconcile) -> None:
    put(root, "log", "1.json", {"line": "a", "Text": "x"}, {"line": "b"})
    messages: list[str] = []
    opened(root).observed(tell=messages.append).run_once()
    put(root, "log", "2.json", {"line": "c", "Text": "y", "more\x1b[31m": 1})
    opened(root).observed(tell=messages.append).run_once()

    assert told(root) == [
        ("fields without a column", "log.lines", {"fields": ["Text"], "rows": {"Text": 1}}),
        ("fields without a column", "log.lines", {"fields": ["more\x1b[31m"], "rows": {"more\x1b[31m": 1}}),
    ]
    assert dict(connector(root, "log.lines").unknown_fields) == {"Text": 2, "more\x1b[31m": 1}
    shown = reconcile("status", "shop")
    assert "log.lines: no column reads Text (in 2 rows), more" in shown
    assert "no column of log reads Text (in 1 row)" in "".join(messages)
    assert "\x1b" not in shown + "".join(messages)


def test_a_column_renamed_by_moved_says_what_its_input_goes_on_to_bring(tmp_path: Path) -> None:
    root = make(tmp_path / "shop")
    put(root, "log", "1.json", {"line": "a"})
    opened(root).run_once()
    folder = root / "pipelines" / "shop"
    (folder / "program.sql").write_text(PROGRAM.replace("(line VARCHAR)", "(text VARCHAR)"))
    moved = YAML + "  moved:\n    - {from: log.line, to: log.text}\n"
    (folder / "pipeline.yaml").write_text(moved)
    opened(root).apply()
    put(root, "log", "2.json", {"line": "b"})
    opened(root).run_once()
    assert rows(root, "log") == [("a",), (None,)]
    assert [what for what, _, _ in told(root)] == ["fields without a column"]
    assert dict(connector(root, "log.lines").unknown_fields) == {"line": 1}

    (folder / "pipeline.yaml").write_text(moved.replace("to: log.text}", "to: log.text, source: line}"))
    plan = opened(root).plan()
    assert [one.outcome.value for one in plan.connectors if one.connector == "log.lines"] == ["resumes"]
    opened(root).apply()
    put(root, "log", "3.json", {"line": "c"})
    opened(root).run_once()
    assert sorted(rows(root, "log"), key=repr) == [("a",), ("c",), (None,)]
    assert dict(connector(root, "log.lines").unknown_fields) == {}


def test_a_header_that_lacks_a_column_is_told_once(tmp_path: Path) -> None:
    yaml = YAML.replace(FORMAT, FORMAT.replace("json", "csv"))
    root = make(tmp_path / "shop", yaml, PROGRAM.replace("(line VARCHAR)", "(line VARCHAR, note VARCHAR)"))
    for number in (1, 2):
        (root / "source" / "log" / f"{number}.csv").write_text("line,remark\na,b\n")
        opened(root).run_once()

    assert told(root) == [
        ("fields without a column", "log.lines", {"fields": ["remark"], "rows": {"remark": 1}}),
        ("fields missing", "log.lines", {"fields": ["note"]}),
    ]
    assert connector(root, "log.lines").missing_fields == ("note",)


def test_what_was_rejected_stands_in_the_message_of_its_step(root: Path) -> None:
    put(root, "live", "1.json", {"id": 1, "part": "new"}, {"id": "no number"})
    opened(root).run_once()
    messages: list[str] = []
    put(root, "live", "2.json", {"id": 2, "part": "new"}, {"id": "no number"}, {"id": None})
    opened(root).observed(tell=messages.append).run_once()

    assert any("lineitem.live 1 rows (2 rejected)" in message for message in messages)


def test_very_many_fields_are_told_by_number(root: Path) -> None:
    for file in range(8):
        put(root, "log", f"{file}.json", *({"line": "a", f"k{file}-{n}": 1} for n in range(20)))
    opened(root).run_once()

    found = connector(root, "log.lines").unknown_fields
    assert (len(found), sum(found.values())) == (101, 160)
