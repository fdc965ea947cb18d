"""Conventions that hold for every command."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import reconciler
from reconciler.cli.main import cli, run
from reconciler.service.project import Project
from tests.acceptance.shop import BEFORE, write_shop

COMMANDS = cli.list_commands(click.Context(cli))
SHOWING = ("validate", "plan", "apply", "run", "execute", "query", "status")


def command(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    write_shop(tmp_path, BEFORE.replace("MATERIALIZED VIEW", "VIEW"))
    return tmp_path


FORMS = """
    alias apply events explain history plan plans program promote prune refresh report rollback status unstage version
    version-diff versions
"""


def test_no_form_of_json_is_renamed_unseen() -> None:
    """Whoever reads a form knows it by its name; a new one is added here."""
    found = {
        one.removeprefix("reconciler/").removesuffix("/v1")
        for path in (Path(reconciler.__file__).parent).rglob("*.py")
        for one in re.findall(r'(?:"form": |FORM(?:: Final)? = )"([^"]*)"', path.read_text())
    }
    assert found == set(FORMS.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_that_names_the_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Example:" in text
    assert f"reconcile {name}" in text


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("init", "setup", "completion")])
def test_commands_on_a_repository_take_repo_and_env(name: str) -> None:
    options = {option for parameter in command(name).params for option in parameter.opts}
    assert {"--repo", "--env"} <= options


@pytest.mark.parametrize("name", SHOWING)
def test_whatever_is_shown_is_shown_as_json_too(name: str) -> None:
    formats = [parameter for parameter in command(name).params if "--format" in parameter.opts]
    assert isinstance(formats[0].type, click.Choice)
    assert "json" in formats[0].type.choices


def test_an_unknown_command_is_an_error_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["aply"]) == 1
    assert "did you mean 'apply'?" in capsys.readouterr().err


def test_an_unknown_pipeline_is_an_error_with_a_suggestion(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "shp", "--repo", str(repository)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "U812" in captured.err
    assert "did you mean 'shop'?" in captured.err


def test_a_mistake_of_ours_is_shown_without_a_traceback(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def __getattr__(self, name: str) -> object:
            raise RuntimeError("a bug\nwith more lines")

    monkeypatch.delenv("RECONCILE_TRACEBACK", raising=False)
    write_shop(repository, BEFORE)
    assert run(["apply", "--repo", str(repository)], Broken()) == 1  # type: ignore[arg-type]
    text = capsys.readouterr().err
    assert "U890: unexpected error: RuntimeError: a bug" in text
    assert "Traceback" not in text
    monkeypatch.setenv("RECONCILE_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        run(["apply", "--repo", str(repository)], Broken())  # type: ignore[arg-type]


def test_what_is_no_text_is_not_stored(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_shop(repository, BEFORE)
    digest = Project.open(repository).pipeline("shop").plan().digest
    assert run(["approve", "shop", digest, "--by", "ann", "--comment", "bad \udcff", "--repo", str(repository)]) == 1
    assert capsys.readouterr().err.startswith("U870: 'bad \\xff' holds bytes that are not UTF-8")


def test_an_unknown_environment_is_an_error_with_a_suggestion(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--env", "devv", "--repo", str(repository)]) == 1
    assert "did you mean 'dev'?" in capsys.readouterr().err


def test_no_repository_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--repo", str(tmp_path)]) == 1
    assert "U811" in capsys.readouterr().err


def test_the_repository_is_found_from_within(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "--repo", str(repository / "pipelines" / "shop")]) == 0
    assert "1 pipeline(s): 0 error(s)" in capsys.readouterr().out


def test_results_go_to_stdout_and_json_is_nothing_but_json(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["validate"], ["plan"], ["apply"], ["status"]):
        assert run([*arguments, "--repo", str(repository), "--format", "json"]) == 0
        json.loads(capsys.readouterr().out)


def test_no_colour_and_no_bar_when_piped(repository: Path) -> None:
    for arguments in (["plan"], ["apply"], ["plan"]):
        done = subprocess.run(
            [sys.executable, "-c", "from reconciler.cli.main import main; main()", *arguments, "--repo", str(repository)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "\x1b" not in done.stdout + done.stderr
        assert "\r" not in done.stdout + done.stderr


def test_progress_comes_in_plain_lines(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["apply", "--repo", str(repository)]) == 0
    lines = [line.strip() for line in capsys.readouterr().err.splitlines()]
    assert "[1/4] create table alter_me" in lines
    assert "[4/4] switch readers and commit the snapshot" in lines


def test_detailed_exit_codes(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = ["plan", "--detailed-exitcode", "--repo", str(repository)]
    assert run(plan) == 2
    assert run(["apply", "--repo", str(repository)]) == 0
    assert run(plan) == 0
    (repository / "pipelines/shop/program.sql").write_text("CREATE NONSENSE")
    assert run(plan) == 1
    assert "program.sql:1:8" in capsys.readouterr().err


def test_validate_reports_every_problem_and_exits_1(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "pipelines/shop/program.sql").write_text(
        "CREATE TABLE t (id BIGNT);\nCREATE VIEW v AS SELECT idd FROM t;\nCREATE VIEW w AS SELECT id FROM tt;\n"
    )
    assert run(["validate", "--repo", str(repository)]) == 1
    text = capsys.readouterr().out
    assert "pipelines/shop/program.sql:1:20: error S208" in text
    assert "pipelines/shop/program.sql:3:33: error S220" in text
    assert "did you mean" in text
    assert run(["plan", "--repo", str(repository)]) == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_RECONCILE_COMPLETE" in capsys.readouterr().out


def test_pipelines_are_completed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.shell_completion import ShellComplete

    monkeypatch.chdir(repository)
    completions = ShellComplete(cli, {}, "reconcile", "_RECONCILE_COMPLETE").get_completions(["plan"], "sh")
    assert [item.value for item in completions] == ["shop"]


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert "0.1.0" in capsys.readouterr().out
