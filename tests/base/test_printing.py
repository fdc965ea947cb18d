"""Texts of others are shown and do not act, wherever a command shows them."""

import csv
import io
import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.base.declarations import BootstrapPolicy
from reconciler.base.errors import ReconcileError
from reconciler.base.printing import printable, printable_json, printable_lines
from reconciler.cli.main import run
from reconciler.cli.output import as_text, note, say, show_csv, show_error, show_json, show_table
from reconciler.plan.escaping import code, entities, inline
from reconciler.plan.graph_form import graph_of, render_dot, render_mermaid
from reconciler.plan.json_form import plan_to_json
from reconciler.plan.make import make_plan
from reconciler.plan.markdown_form import render_comment
from reconciler.plan.model import Policies
from reconciler.plan.text_form import query_difference, render_text
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot

HIDDEN = "\xa0\u034f\u1160\u180b\u2007\u200d\u2800\u3000\u3164\ue000\ufe0f\ufff9\uffa0"
HIDDEN += "\U00013430\U0001bca0\U0001d173\U000e0041\U0010fffd"
ACTING = "\x00\x07\x08\x0b\x1b\x7f\x85\x9b\u061c\u200b\u200e\u2028\u202e\u2066\ufeff" + HIDDEN
# DerivedCoreProperties of Unicode: Default_Ignorable_Code_Point.
IGNORABLE = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F)),
    *((0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0)),
    *((0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
BLANK_BY_FORM = {0x2800, 0xFFFC, 0x16FE4, 0x1D159}
TEXTS = st.text(st.sampled_from("ab \n\r\t" + ACTING) | st.characters(codec="utf-8"))
CLI = Path(__file__).parents[2] / "reconciler" / "cli"


def test_every_character_that_nobody_sees_is_written_out() -> None:
    ignorable = {point for first, last in IGNORABLE for point in range(first, last + 1)}
    for point in range(0x110000):
        character = chr(point)
        category = unicodedata.category(character)
        is_hidden = category[0] == "C" or (category[0] == "Z" and character != " ")
        is_hidden = is_hidden or point in ignorable or point in BLANK_BY_FORM
        assert (printable(f"pa{character}id") == f"pa{character}id") is not is_hidden, hex(point)


@pytest.mark.parametrize("character", [*HIDDEN, "\ufe0f\u200d", "\u2800" * 40])
def test_texts_that_differ_look_different_in_a_plan(character: str) -> None:
    before, after = (f"SELECT a FROM t WHERE s = '{text}'" for text in ("paid", f"pa{character}id"))
    lines = query_difference(before, after)
    assert not set("".join(lines)) & set(character)
    shown = {line[1:].strip() for line in lines if line[0] in "+-"}
    assert len(shown) >= 2
    for text in (f"pa{character}id", f"{character}"):
        assert not set(inline(text) + code(text) + entities(text)) & set(character)
        assert inline(text) != inline("paid")


def test_no_form_of_a_plan_has_what_nobody_sees() -> None:
    def snapshot(text: str) -> Snapshot:
        yaml = f'apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {{name: shop, description: "a{text}"}}\n'
        sql = f"CREATE TABLE t (a INT, s STRING DEFAULT '{text}');\nCREATE VIEW v AS SELECT a FROM t WHERE s = 'pa{text}id';"
        files = {"pipelines/shop/pipeline.yaml": yaml, "pipelines/shop/p.sql": sql}
        read = read_manifest("pipelines/shop", files, {})
        assert read.manifest is not None
        assert read.diagnostics == ()
        return take_snapshot(compile_program(read.manifest).program)

    applied, desired = snapshot(""), snapshot(HIDDEN)
    plan = make_plan("shop", "dev", applied, desired, Policies(BootstrapPolicy.ALLOW))
    graph = graph_of(plan, applied.program, desired.program)
    forms = [render_text(plan), render_comment([plan]), render_mermaid(graph), render_dot(graph)]
    forms.append(printable_json(plan_to_json(plan, None)))
    for form in forms:
        assert not set(form) & set(HIDDEN)
    assert "\\u034f" in forms[0]
    assert "\\u034f" in forms[4]


@given(TEXTS)
def test_a_printable_text_holds_nothing_that_acts(text: str) -> None:
    assert not set(printable(text)) & {*ACTING, "\n", "\r", "\t"}
    lines = printable_lines(text)
    assert not set(lines) & {*ACTING, "\r", "\t"}
    assert lines.count("\n") == text.count("\n")


@settings(max_examples=30, deadline=None)
@given(st.recursive(TEXTS | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_printable_json_is_the_same_value(value: object) -> None:
    prints_the_same_value(value)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.recursive(TEXTS | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_printable_json_is_the_same_value_in_many_more_cases(value: object) -> None:
    prints_the_same_value(value)


def prints_the_same_value(value: object) -> None:
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
            assert not re.search(r"\bclick\.(echo|secho|style)\(|\bprint\(|\.write\(|csv\.writer", text), file.name


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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_csv_is_data_for_a_file_or_a_pipe_and_text_for_a_terminal() -> None:
    """What names say is a user's, too."""
    names, rows = ["a\x1b[2J", "b"], [[ACTING, "x\r\ny"], ["\u202e", '"']]
    file, terminal = io.StringIO(), Terminal()
    show_csv(names, rows, file)
    assert list(csv.reader(io.StringIO(file.getvalue(), newline=""))) == [names, *rows]
    show_csv(names, rows, terminal)
    shown = terminal.getvalue()
    assert not set(shown) & {*ACTING, "\r", "\t"}
    assert shown.count("\n") == 3
    assert list(csv.reader(io.StringIO(shown))) == [[printable(cell) for cell in row] for row in (names, *rows)]


def test_a_file_gets_the_values_of_rows_as_they_are() -> None:
    assert as_text(ACTING) == ACTING
