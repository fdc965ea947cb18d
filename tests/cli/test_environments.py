"""What a message says to paste acts on the environment that the message came from."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reconciler.base.pasted_commands import COMMANDS, in_environment
from reconciler.cli.main import cli
from reconciler.run.failures import UNADDRESSED
from reconciler.testing.recording import RecordingEngine
from tests.acceptance.command_line import CommandLine
from tests.engine.delta_writer import DeltaWriter

PACKAGE = Path(__file__).parents[2] / "reconciler"
NAMED = re.compile(r"\breconcile ([a-z]+)\b")
YAML = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: fleet}
spec:
  bootstrap_policy: await_approval
  connectors:
    - name: csv
      table: tolls
      transport: {name: file_input, config: {path: tolls}}
      format: {name: json}
"""
PROGRAM = "CREATE TABLE tolls (vehicle INT, amount INT);\nCREATE MATERIALIZED VIEW bills AS SELECT vehicle FROM tolls;\n"


@pytest.fixture
def prod(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> "Prod":
    folder = tmp_path / "pipelines/fleet"
    folder.mkdir(parents=True)
    (tmp_path / "tolls").mkdir()
    (folder / "pipeline.yaml").write_text(YAML)
    (folder / "program.sql").write_text(PROGRAM)
    environments = "  dev: {warehouse: dev}\n  prod: {warehouse: prod, first_apply: await_approval}\n"
    (tmp_path / "reconcile.yaml").write_text(f"default: dev\nenvironments:\n{environments}")
    return Prod(tmp_path, capsys)


class Prod(CommandLine):
    """Commands on an environment that is not the default: whatever they say to paste names it. `heard` are those."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(root, capsys, RecordingEngine(DeltaWriter()))
        self.heard: set[str] = set()

    def __call__(self, *words: str, code: int = 0) -> str:
        said = super().__call__(*words, "--env", "prod", code=code)
        assert unaddressed(said) == []
        self.heard |= set(NAMED.findall(said))
        return said


def unaddressed(text: str) -> list[str]:
    """The commands in a text that would act on the default environment."""
    found = re.findall(rf"\breconcile (?:{'|'.join(COMMANDS)})\b(?! --env prod).{{0,40}}", text)
    return [one for one in found if not one.startswith("reconcile plan: ")]


def test_all_that_is_said_of_another_environment_names_it(prod: Prod) -> None:
    prod("validate")
    prod("plan")
    prod("plan", "--check-lock", code=2)
    prod("plan", "--format", "markdown")
    prod("status", "fleet")
    prod("run", "fleet", "--once", code=1)
    prod("query", "fleet", "SELECT * FROM bills", code=1)
    refused = prod("apply", code=2)
    digest = re.search(r"reconcile approve --env prod fleet (\w+)", refused)
    assert digest is not None
    prod("approve", "fleet", digest[1])
    prod("apply")
    assert "reconcile run --env prod fleet" in _resumed(prod)
    (prod.root / "tolls/1.json").write_text('{"vehicle": 1}\n')
    prod("run", "fleet", "--once")
    (prod.root / "tolls/1.json").write_text('{"vehicle": 1, "amount": 2}\n')
    skip = "reconcile connector --env prod skip fleet tolls.csv --file"
    assert skip in prod("run", "fleet", "--once", code=1)
    assert skip in prod("status", "fleet")
    told = json.loads(prod("status", "fleet", "--format", "json"))["pipelines"][0]["connectors"][0]["last_error"]
    assert skip in told["hint"]
    assert "reconcile resume --env prod fleet" in _paused(prod)
    prod("connector", "skip", "fleet", "csv", "--file", "nowhere", code=1)
    prod("connector", "seek", "fleet", "csv", "--to", "nowhere", code=1)
    prod("checkpoint", "restore", "fleet", "nowhere", code=1)
    prod("rollback", "bills", code=1)
    prod("promote", "--pipeline", "fleet", code=1)
    prod("versions", "list", "bills")
    prod("versions", "diff", "bills@v1", "--data", code=1)
    (prod.root / "pipelines/fleet/program.sql").write_text("CREATE NONSENSE")
    prod("status", "fleet")
    prod("explain", "fleet")
    prod("plan", code=1)
    assert {"approve", "plan", "apply", "run", "resume", "connector", "validate"} <= prod.heard


def _resumed(prod: Prod) -> str:
    prod("pause", "fleet")
    return prod("resume", "fleet")


def _paused(prod: Prod) -> str:
    prod("pause", "fleet")
    said = prod("run", "fleet", "--once")
    prod("resume", "fleet")
    return said


def test_the_default_environment_is_not_named_and_no_command_is_named_twice() -> None:
    assert in_environment("run: reconcile plan shop", None) == "run: reconcile plan shop"
    once = in_environment("`reconcile plan`, then reconcile apply; reconcile plans", "prod")
    assert once == "`reconcile plan --env prod`, then reconcile apply --env prod; reconcile plans"
    assert in_environment(once, "prod") == once
    assert in_environment("<!-- reconcile plan: shop -->", "prod") == "<!-- reconcile plan: shop -->"
    assert in_environment('--jars "$(reconcile setup --jars)"', "prod") == '--jars "$(reconcile setup --jars)"'


@pytest.mark.parametrize("name", ["\\9", "a\\g<b>", "two words"])
def test_whatever_is_asked_for_is_a_name_and_no_pattern(name: str) -> None:
    assert in_environment("run: reconcile plan", name) == f"run: reconcile plan --env '{name}'"


def test_every_command_that_takes_an_environment_is_known() -> None:
    context = click.Context(cli)
    found = [name for name in cli.list_commands(context) if _takes_an_environment(cli.get_command(context, name))]
    assert tuple(found) == COMMANDS


def _takes_an_environment(command: click.Command | None) -> bool:
    return command is not None and any("--env" in parameter.opts for parameter in command.params)


def test_only_one_module_writes_to_the_terminal() -> None:
    """Else what it writes names no environment."""
    found = [
        path.stem
        for path in (PACKAGE / "cli").glob("*.py")
        if re.search(r"\bclick\.echo\(|\bprint\(", path.read_text("utf-8"))
    ]
    assert found == ["output"]


def test_no_message_says_to_paste_what_nobody_could_run() -> None:
    """PIPELINE CONNECTOR is what `addressed` replaces; any other stand-in is left for the reader to guess."""
    stand_in = re.compile(r"reconcile (?!setup)[a-z]+ [^;,]*?(\bNAME\b|\bVERSION\b|\bPIPELINE\b|\bCONNECTOR\b|\bFILE\b|…)")
    found = [
        f"{path.name}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for text in _messages(ast.parse(path.read_text("utf-8")))
        if stand_in.search(text.replace(UNADDRESSED, "x y"))
    ]
    assert found == []


def _messages(tree: ast.AST) -> Iterator[str]:
    """Texts of a module that are no docstrings; what is put into one stands as `x`."""
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value
