"""The prompt of `reconcile query`: what a query is, what is completed, and what a terminal does."""

import os
import sys
import time
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.cli.prompt import completions, statements
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT 1;\n", ["SELECT 1"]),
        ("SELECT 1\nFROM t;\nSELECT 2;\n", ["SELECT 1\nFROM t", "SELECT 2"]),
        ("SELECT 1\n\nSELECT 2\n", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';'\n;\n", ["SELECT ';'"]),
        ("\n;\n\n", []),
        ("SELECT 1;\nexit\nSELECT 2;\n", ["SELECT 1"]),
        ("SELECT\nexit\n;", ["SELECT\nexit"]),
        ("quit;\n", []),
    ],
)
def test_a_query_ends_with_a_semicolon_or_an_empty_line(text: str, found: list[str]) -> None:
    assert list(statements(iter(text.splitlines(keepends=True)))) == found


def test_names_are_completed() -> None:
    names = {"orders": ("id", "customer"), "Spent": ("customer", "total")}
    assert completions("or", names) == ["orders", "order", "or"]
    assert completions("S", names) == ["Spent", "SELECT", "SUM"]
    assert completions("cus", names) == ["customer"]
    assert completions("zz", names) == []


def test_queries_come_from_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "pipelines" / "shop"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(
        "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\nspec: {bootstrap_policy: allow}\n"
    )
    (folder / "tables.sql").write_text("CREATE TABLE orders (id BIGINT);\n")
    engine = RecordingEngine(DeltaWriter())
    assert run(["apply", "--repo", str(tmp_path)], engine=engine) == 0
    capsys.readouterr()
    reading, writing = os.pipe()
    os.write(writing, b"SELECT id FROM orders;\n\nSELECT * FROM orders\n\nSELECT * FROM nothing;\nSELECT id FROM orders;\n")
    os.close(writing)
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert run(["query", "shop", "--repo", str(tmp_path)], engine=engine) == 1
    said = capsys.readouterr()
    assert said.out.count(", step 0)") == 2
    assert "unknown table or view 'nothing'" in said.err


_PROMPT = """
import time
from reconciler.cli.prompt import run_prompt
from reconciler.base.errors import ReconcileError

def show(sql):
    if sql == "fail":
        raise ReconcileError("X700", "it failed")
    if sql == "wait":
        time.sleep(60)
    print(f"<{sql}>", flush=True)

print("code", run_prompt("shop", lambda: {"spent": ("customer", "total")}, show, is_on=True))
"""


def test_a_terminal_completes_remembers_and_goes_on(tmp_path: Path) -> None:
    def talk(*typed: bytes) -> str:
        environment = os.environ | {"XDG_STATE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "TERM": "dumb"}
        with Terminal([sys.executable, "-c", _PROMPT], environment) as terminal:
            for words in typed:
                terminal.until("> ")
                terminal.type(words)
                if words.startswith(b"wait"):
                    time.sleep(0.5)
                    terminal.type(b"\x03")
            terminal.until("code 0")
            assert terminal.process.wait(20) == 0
            return terminal.heard

    heard = talk(b"SELECT cust\t FROM spe\t;\n", b"fail;\n", b"dropped\x03", b"one\n", b"two\n", b"\n", b"\x04")
    assert "<SELECT customer FROM spent>" in heard.replace(" >", ">").replace("  ", " ")
    assert "it failed" in heard
    assert "dropped>" not in heard
    assert "<one\r\ntwo>" in heard
    heard = talk(b"wait;\n", b"\x1b[A\x1b[A\x1b[A\x1b[A\n", b"exit\n")
    assert "<wait>" not in heard
    assert "it failed" in heard
    assert (tmp_path / "reconcile" / "queries").stat().st_mode & 0o777 == 0o600
