"""What README.md and docs/ tell users to type is true: commands and options exist, the walk runs as it is printed."""

import io
import os
import re
import shlex
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import click
import pytest

from reconciler.cli.main import cli
from reconciler.engine.protocol import Engine
from tests.cells import mostly_slow
from tests.docs.pages import Digests, blocks, commands, pages
from tests.served import run

ROOT = Path(__file__).parents[2]
PAGES = pages(ROOT)
IN_PAGES = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
SHELL = ("sh", "bash", "console")


def calls_in(line: str) -> list[list[str]]:
    """The calls of `reconcile` in a line for the shell, as words; also those within `$(…)`."""
    found = [shlex.split(inner) for inner in re.findall(r"\$\((reconcile [^)]*)\)", line)]
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    call: list[str] | None = None
    for word in lexer:
        if set(word) <= set("();<>|&"):
            call = None
        elif call is not None:
            call.append(word)
        elif word == "reconcile":
            call = [word]
            found.append(call)
    return found


def calls_of(page: str) -> list[tuple[int, list[str]]]:
    """Every call of `reconcile` in a block for the shell or in code within the text, with its line."""
    found = []
    for block in blocks(page):
        if block.language not in SHELL:
            continue
        for number, line in enumerate(block.text.replace("\\\n", "  ").splitlines(), start=block.line):
            if block.language != "console" or line.startswith("$ "):
                found += [(number, call) for call in calls_in(line.removeprefix("$ "))]
    text = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), page, flags=re.MULTILINE | re.DOTALL)
    for number, line in enumerate(text.splitlines(), start=1):
        for code in re.findall(r"`([^`]+)`", line):
            if code.startswith(("reconcile ", "eval ")):
                found += [(number, call) for call in calls_in(code)]
    return found


def problems_of(call: list[str]) -> list[str]:
    """What is wrong with a call: an unknown command or option, an option without its value."""
    words = call[1:]
    with click.Context(cli) as context:
        if words[0] in ("--help", "--version", "-h"):
            return []
        command = cli.get_command(context, words[0])
        if command is None:
            return [f"unknown command {words[0]!r}"]
        known = {name: one for one in command.params if isinstance(one, click.Option) for name in one.opts}
    problems = []
    for index, word in enumerate(words[1:], start=1):
        if not word.startswith("-") or word == "--":
            continue
        name, _, value = word.partition("=")
        option = known.get(name)
        if name in ("--help", "-h"):
            continue
        if option is None:
            problems.append(f"{words[0]} has no option {name}")
        elif not option.is_flag and not value and index + 1 >= len(words):
            problems.append(f"{name} lacks its value")
        elif isinstance(option.type, click.Choice) and (value or words[index + 1]) not in option.type.choices:
            problems.append(f"{name} does not take {value or words[index + 1]}")
    return problems


@IN_PAGES
def test_commands_and_options_exist(page: Path) -> None:
    problems = [
        f"{page.name}:{number}: {problem}"
        for number, call in calls_of(page.read_text("utf-8"))
        for problem in problems_of(call)
    ]
    assert problems == []


def test_wrong_calls_are_found() -> None:
    def problems(line: str) -> list[str]:
        return [problem for call in calls_in(line) for problem in problems_of(call)]

    assert problems("reconcile plna") == ["unknown command 'plna'"]
    assert problems("reconcile plan --jsno") == ["plan has no option --jsno"]
    assert problems("reconcile plan --format yaml | less") == ["--format does not take yaml"]
    assert problems("cd x && reconcile plan --env > out") == ["--env lacks its value"]
    assert problems('eval "$(reconcile completion bsah --x)"') == ["completion has no option --x"]
    assert problems("reconcile query shop \"SELECT (1) > 0; 'x'\" --format=csv") == []


@IN_PAGES
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in link:
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_every_command_is_documented_with_all_its_options() -> None:
    """docs/commands.md has a part for each command, and names exactly the options that it has."""
    text = (ROOT / "docs/commands.md").read_text("utf-8")
    parts = dict(re.findall(r"^## `reconcile (\S+)`[^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    with click.Context(cli) as context:
        names = cli.list_commands(context)
        assert list(parts) == names
        for name in names:
            command = cli.get_command(context, name)
            assert command is not None
            options = {opt for one in command.params if isinstance(one, click.Option) for opt in one.opts}
            shared = {"--repo", "--env"} if "also takes `--repo` and `--env`" in parts[name] else set()
            documented = set(re.findall(r"^\| `(--[a-z0-9-]+)", parts[name], re.MULTILINE)) | shared
            assert documented == options, name


def typed(text: str, engine: Engine | None, folder: Path) -> tuple[int, str]:
    """Run one command: reconcile in this process, over the shared engine; anything else by its own program."""
    line, _, discards = text.partition(" > /dev/null")
    assert discards == ""
    words = shlex.split(line)
    out = io.StringIO()
    if words[0] == "reconcile":
        stdout = io.StringIO() if line != text else out
        with redirect_stdout(stdout), redirect_stderr(out):
            code = run(words[1:], engine)
        return code, out.getvalue()
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.spark
@pytest.mark.both_ways
@pytest.mark.parametrize(
    "name",
    mostly_slow(["functions.md", "getting-started.md", "pipelines.md", "versions.md"], "getting-started.md"),
)
def test_the_walk_runs_as_it_is_printed(
    name: str, tmp_path: Path, spark_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk(name, tmp_path, spark_engine, monkeypatch)


def test_the_walk_without_spark_runs_as_it_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    walk("operating.md", tmp_path, None, monkeypatch)


def walk(name: str, tmp_path: Path, engine: Engine | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the files of a page and run its commands, in their order; each prints what the page shows."""
    for variable in [variable for variable in os.environ if variable.startswith("GIT_")]:
        monkeypatch.delenv(variable)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.com")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    page = ROOT / "docs" / name
    folder = tmp_path
    monkeypatch.chdir(folder)
    digests = Digests()
    for block in blocks(page.read_text("utf-8")):
        if block.file is not None:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.text, "utf-8")
        if block.language != "console":
            continue
        for command in commands(block):
            if command.text.startswith("cd "):
                folder = folder / command.text.removeprefix("cd ")
                monkeypatch.chdir(folder)
                continue
            code, printed = typed(digests.put_into(command.text), engine, folder)
            where = f"{page.name}:{command.line}: {command.text}"
            assert code == command.code, f"{where}\n{printed}"
            if not digests.matches(command.prints, printed):
                assert printed == command.prints, where
