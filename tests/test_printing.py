"""Texts of others are shown and do not act, wherever a command shows them."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.cli.main import run
from reconciler.cli.output import as_text, note, say, show_error, show_json, show_table
from reconciler.errors import ReconcileError
from reconciler.plan.text_form import query_difference
from reconciler.printing import printable, printable_json, printable_lines

ACTING = "\x00\x07\x08\x0b\x1b\x7f\x85\x9b\u061c\u200b\u200e\u2028\u202e\u2066\ufeff\u3164\U000e0041"
TEXTS = st.text(st.sampled_from("ab \n\r\t" + ACTING) | st.characters(codec="utf-8"))
CLI = Path(__file__).parent.parent / "reconciler" / "cli"


@given(TEXTS)
def test_a_printable_text_holds_nothing_that_acts(text: str) -> None:
    assert not set(printable(text)) & {*ACTING, "\n", "\r", "\t"}
    lines = printable_lines(text)
    assert not set(lines) & {*ACTING, "\r", "\t"}
    assert lines.count("\n") == text.count("\n")


@given(st.recursive(TEXTS | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_printable_json_is_the_same_value(value: object) -> None:
    shown = printable_json(value, indent=2)
    assert json.loads(shown) == value
    assert not set(shown) & {*ACTING, "\r", "\t"}


def test_every_way_of_showing_writes_out_what_would_act(capsys: pytest.CaptureFixture[str]) -> None:
    say(ACTING)
    note(ACTING)
    show_json({ACTING: [ACTING]})
    show_table([ACTING], [[as_text(ACTING + "\n")], [as_text({ACTING: ACTING})]])
    show_error(ReconcileError("U890", ACTING, ACTING))
    captured = capsys.readouterr()
    for text in (captured.out, re.sub(r"\x1b\[[0-9;]*m", "", captured.err)):
        assert not set(text) & {*ACTING, "\r", "\t"}
        assert "\\u202e" in text


def test_commands_show_through_one_module_only() -> None:
    for file in sorted(CLI.glob("*.py")):
        if file.name != "output.py":
            text = file.read_text("utf-8")
            assert not re.search(r"\bclick\.(echo|secho|style)\(|\bprint\(|\.write\(", text), file.name


def test_what_stands_in_files_reaches_no_terminal_raw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "pipelines" / "shop"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(
        'apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop, "\\e[2Jx": "\\e]0;y"}\n', "utf-8"
    )
    views = "CREATE VIEW v AS SELECT `\x1b[2J\u2066` FROM t;\nCREATE VIEW w AS \x1b[8m;"
    (folder / "program.sql").write_text(f"CREATE TABLE `t\x1b[31m\u202e` (a INT);\n{views}", "utf-8")
    for command in ("validate", "plan", "status", "explain"):
        for form in ("text", "json"):
            run([command, *(["shop"] if command == "explain" else []), "--repo", str(tmp_path), "--format", form])
    captured = capsys.readouterr()
    shown = re.sub(r"\x1b\[(31m\x1b\[1m|0m)", "", captured.out + captured.err)
    assert not set(shown) & set(ACTING)
    assert "S280" in shown


def test_nothing_of_a_query_hides_beside_what_is_seen() -> None:
    far = "SELECT 1 AS a" + " " * 3_000 + ", secret FROM t"
    lines = query_difference("SELECT 1 AS a FROM t", far)
    assert any("secret" in line for line in lines)
    assert all(len(line) <= 170 for line in lines)
    assert any("[3000 blanks]" in line for line in lines)
    wide = "SELECT 1 AS a /* " + "x" * 3_000 + " */, secret FROM t"
    lines = query_difference("SELECT 1 AS a FROM t", wide)
    assert all(len(line) <= 170 for line in lines)
    assert all(line[0] in "+- " for line in lines)
    assert "".join(line[1:].strip() for line in lines if line[0] == "+").count("x") == 3_000


def test_a_file_gets_the_values_of_rows_as_they_are() -> None:
    assert as_text(ACTING) == ACTING
