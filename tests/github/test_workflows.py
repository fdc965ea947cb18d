"""The workflows and the action for GitHub: well-formed, documented, safe in form; their shell parts do what they say.

The scripts are run as the host runs them (`bash -eo pipefail`), with stand-ins for `reconcile` and `gh` first on the way.
"""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.github.host import ACTION, ROOT, WORKFLOW, Runner, read, step, steps

FILES = sorted((ROOT / ".github").rglob("*.yml"))
IN_FILES = pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())

CALLED = "./.github/workflows/reconcile.yml"


def declared(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Inputs, outputs and secrets by `kind name`."""
    call = (document.get("on") or {}).get("workflow_call") if isinstance(document.get("on"), dict) else None
    source = call if isinstance(call, dict) else document
    return {
        f"{kind} {name}": value
        for kind in ("inputs", "outputs", "secrets")
        for name, value in (source.get(kind) or {}).items()
    }


def test_there_are_the_files_that_the_documentation_speaks_of() -> None:
    assert [file.name for file in FILES] == ["action.yml", "ci.yml", "pipelines.yml", "reconcile.yml"]


@IN_FILES
def test_inputs_outputs_and_secrets_are_described(file: Path) -> None:
    for name, value in declared(read(file)).items():
        assert value.get("description"), f"{name} has no description"


@pytest.mark.parametrize("file", [ACTION, WORKFLOW], ids=["action", "workflow"])
def test_inputs_and_secrets_are_in_the_documentation(file: Path) -> None:
    text = (ROOT / "docs/github.md").read_text("utf-8")
    for name in declared(read(file)):
        assert f"`{name.split()[1]}`" in text, f"docs/github.md does not speak of {name}"


@IN_FILES
def test_expressions_name_what_is_declared(file: Path) -> None:
    text = file.read_text("utf-8")
    known = {name.split()[1] for name in declared(read(file))}
    assert set(re.findall(r"\b(?:inputs|secrets)\.([A-Za-z_-]+)", text)) <= known


@IN_FILES
def test_scripts_are_bash_and_hold_no_expressions(file: Path) -> None:
    """An expression pasted into a script could bring a command with it; values come as environment variables."""
    for one in steps(read(file)):
        script = one.get("run")
        if script is None:
            continue
        assert "${{" not in script, one
        checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr


@IN_FILES
def test_what_is_used_exists_or_is_pinned_by_major_version(file: Path) -> None:
    for one in steps(read(file)):
        uses = one.get("uses")
        if uses is None:
            continue
        if uses.startswith("./"):
            # The reusable workflow checks this repository out into the folder `reconciler`.
            action = ROOT / uses.removeprefix("./").removeprefix("reconciler/") / "action.yml"
            assert action.is_file(), uses
            assert set(one["with"]) <= set(read(action)["inputs"])
            required = {name for name, value in read(action)["inputs"].items() if value.get("required")}
            assert required <= set(one["with"])
        else:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", uses), uses


@IN_FILES
def test_jobs_say_how_little_they_may(file: Path) -> None:
    document = read(file)
    for name, job in document.get("jobs", {}).items():
        permissions = job.get("permissions", document.get("permissions"))
        assert isinstance(permissions, dict), name
        writes = {scope for scope, access in permissions.items() if access == "write"}
        # What a called workflow gets is shared out by its own jobs.
        assert writes <= ({"pull-requests"} if name == "comment" or job.get("uses") == CALLED else set()), name


def test_only_the_apply_job_sees_what_can_write() -> None:
    jobs = read(WORKFLOW)["jobs"]
    assert "apply_credentials" in str(jobs["apply"])
    assert "apply_credentials" not in str(jobs["plan"])
    assert "credentials" not in str(jobs["comment"]).replace("persist-credentials", "")
    checkouts = [one for job in jobs.values() for one in job["steps"] if one.get("uses", "").startswith("actions/checkout")]
    assert checkouts
    assert all(one["with"]["persist-credentials"] is False for one in checkouts)


def test_the_projects_own_pipelines_go_through_the_workflow_that_users_get() -> None:
    document = read(ROOT / ".github/workflows/pipelines.yml")
    assert document["on"] == {"pull_request": None, "push": {"branches": ["main"]}}
    [call] = document["jobs"].values()
    assert call["uses"] == CALLED
    inputs = read(WORKFLOW)["on"]["workflow_call"]["inputs"]
    assert {name for name, one in inputs.items() if one.get("required")} <= set(call["with"]) <= set(inputs)
    # reconciler is that of the pull request, which nobody has reviewed: so there is nothing that it could steal.
    assert "secrets" not in call


def test_the_projects_own_ci_runs_what_exists() -> None:
    scripts = [one["run"].strip() for one in steps(read(ROOT / ".github/workflows/ci.yml")) if "run" in one]
    assert scripts == [".ci/run"]
    assert os.access(ROOT / ".ci/run", os.X_OK)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


PLAIN = {
    "ENVIRONMENT": "",
    "PIPELINES": "",
    "CHECK_LOCK": "true",
    "CREDENTIALS": "",
    "REPOSITORY": "repository",
    "DEFAULT_BRANCH": "",
}


COMMANDS = ("::add-mask::a", "::set-output name=exit-code::0", "::error::forged", "##[add-mask]a", "::0123456789abcdef::")


def obeyed(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines that the host takes as commands: of two streams it knows no order, so none may come from the other one."""
    found, token = [line for line in done.stderr.splitlines() if is_command(line)], ""
    for line in done.stdout.splitlines():
        if not token and line.startswith("::stop-commands::"):
            token = line.removeprefix("::stop-commands::")
        elif token and line == f"::{token}::":
            token = ""
        elif not token and is_command(line):
            found.append(line)
    assert not token, "commands are never taken again"
    return found


def is_command(line: str) -> bool:
    return line.lstrip().startswith("::") or "##[" in line


@pytest.mark.parametrize("command", ["plan", "apply"])
@pytest.mark.parametrize("code", [0, 1, 2])
def test_no_line_that_a_pull_request_brings_is_a_command(runner: Runner, command: str, code: int) -> None:
    lines = "\n".join(COMMANDS)
    script = f"cat <<'END'\n{lines}\nEND\ncat >&2 <<'END'\n{lines}\nEND\nexit {code}\n"
    runner.program(runner.temporary / "reconciler/bin/reconcile", script)
    given = {**PLAIN, "COMMAND": command, "CREDENTIALS": "TOKEN=x"}
    first, second = (runner.run(step(ACTION, "Run reconcile")["run"], **given) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert obeyed(first) == obeyed(second) == ["::add-mask::x"]
    assert all(first.stdout.count(line) == 2 for line in COMMANDS)
    assert first.stdout != second.stdout, "the token is another one each time"
    assert runner.outputs()["exit-code"] == str(code)


def test_what_apply_printed_is_no_markdown_in_the_summary(runner: Runner) -> None:
    runner.program(runner.temporary / "reconciler/bin/reconcile", "printf '# forged\\n<img src=x>\\n'")
    runner.run(step(ACTION, "Run reconcile")["run"], **{**PLAIN, "COMMAND": "apply"})
    assert (runner.folder / "summary").read_text("utf-8") == "    # forged\n    <img src=x>\n"


@IN_FILES
def test_no_python_takes_modules_from_the_folder_it_is_called_in(file: Path) -> None:
    """That may be the pull request's, where the action is used alone: its `hashlib.py` would be run."""
    for one in steps(read(file)):
        calls = re.findall(r"(?:^|[\s(/])python[0-9.]*\"?((?: +-\S*)+)", one.get("run", ""))
        assert all(words.split()[0] == "-I" for words in calls), calls


def reconcile(runner: Runner, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the action's main step with a `reconcile` that prints its arguments and one variable."""
    stand_in = f'printf "[%s]" "$@"; echo " TOKEN=$TOKEN CREDENTIALS=$CREDENTIALS"; echo "A501: x" >&2; exit {code}'
    runner.program(runner.temporary / "reconciler/bin/reconcile", stand_in)
    return runner.run(step(ACTION, "Run reconcile")["run"], **{**PLAIN, **variables})


def test_plan_is_called_with_its_options(runner: Runner) -> None:
    done = reconcile(runner, COMMAND="plan", ENVIRONMENT="prod", PIPELINES="a b")
    assert done.returncode == 0, done.stderr
    result = Path(runner.outputs()["result"]).read_text("utf-8")
    expected = "[plan][--repo][repository][--env][prod][--format][markdown][--check-lock][--][a][b]"
    assert result == f"{expected} TOKEN= CREDENTIALS=\n"
    assert (runner.folder / "summary").read_text("utf-8") == result
    assert runner.outputs()["exit-code"] == "0"


def test_apply_is_called_with_its_options_and_hands_its_exit_code_on(runner: Runner) -> None:
    done = reconcile(runner, code=2, COMMAND="apply")
    assert done.returncode == 0, done.stderr
    assert runner.outputs()["exit-code"] == "2"
    assert "\n[apply][--repo][repository][--] " in done.stdout
    assert "A501" in (runner.temporary / "reconcile-messages").read_text("utf-8")


@pytest.mark.parametrize("default", ["master", "--delete", "none such"])
def test_the_default_branch_is_told_to_git(default: str, runner: Runner, tmp_path: Path) -> None:
    """A checkout does not know it. One that git does not know either is for reconcile to judge."""
    repository = tmp_path / "repository"
    for words in (
        ("init", "-q", "-b", "master", str(repository)),
        ("-C", str(repository), "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "x"),
        ("-C", str(repository), "remote", "add", "origin", "nowhere"),
        ("-C", str(repository), "update-ref", "refs/remotes/origin/master", "HEAD"),
        ("-C", str(repository), "update-ref", "refs/remotes/origin/main", "HEAD"),
    ):
        subprocess.run(["git", *words], check=True)
    done = reconcile(runner, COMMAND="plan", REPOSITORY=str(repository), DEFAULT_BRANCH=default)
    assert done.returncode == 0, done.stderr
    head = repository / ".git/refs/remotes/origin/HEAD"
    assert (head.read_text() if head.exists() else "") == (
        "ref: refs/remotes/origin/master\n" if default == "master" else ""
    )


def test_names_with_blanks_or_patterns_stay_words(runner: Runner) -> None:
    done = reconcile(runner, COMMAND="plan", CHECK_LOCK="false", REPOSITORY="a b; false", PIPELINES="* $(false)")
    assert "\n[plan][--repo][a b; false][--format][markdown][--][*][$(false)] " in done.stdout


def test_credentials_reach_the_command_masked_and_by_their_names_only(runner: Runner) -> None:
    done = reconcile(runner, COMMAND="plan", CREDENTIALS="TOKEN=se=cret$HOME\n\nOTHER=\n")
    assert "::add-mask::se=cret$HOME" in done.stdout
    assert "TOKEN=se=cret$HOME CREDENTIALS=\n" in done.stdout


@pytest.mark.parametrize("line", ["no equals sign", "BAD-NAME=x", "a[0]=x", "=x"])
def test_credentials_that_are_no_variables_are_refused_without_showing_them(runner: Runner, line: str) -> None:
    done = reconcile(runner, COMMAND="plan", CREDENTIALS=line)
    assert done.returncode == 1
    assert line not in done.stdout + done.stderr


def prepared(runner: Runner, code: str, result: str) -> str:
    file = runner.folder / "result.md"
    file.write_text(result, "utf-8")
    script = step(WORKFLOW, "Prepare the comment")["run"]
    done = runner.run(script, ENVIRONMENT="prod", CODE=code, RESULT=str(file))
    assert done.returncode == 0, done.stderr
    return (runner.folder / "comment/body.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("code", "words"), [("0", "merging this pull request approves it"), ("2", "missing or stale"), ("1", "failed")]
)
def test_the_comment_begins_with_its_marker_and_the_outcome(runner: Runner, code: str, words: str) -> None:
    lines = prepared(runner, code, "### Plan\n").splitlines()
    assert lines[0] == "<!-- reconcile comment: prod -->"
    assert words in lines[1]
    assert lines[-1] == "### Plan"


def test_the_comment_stays_below_the_hosts_limit(runner: Runner) -> None:
    body = prepared(runner, "0", "überlang\n" * 9000)
    assert 60_000 < len(body.encode()) < 65_536
    assert "Cut for length" in body
    assert set(body.splitlines()[5:]) == {"überlang"}


@pytest.mark.parametrize(("found", "method"), [("", "POST"), ("17\n18\n", "PATCH")])
def test_the_comment_is_written_once_and_then_written_anew(runner: Runner, found: str, method: str) -> None:
    (runner.folder / "body.md").write_text("<!-- reconcile comment: prod -->\ntext\n", "utf-8")
    stand_in = f'echo "$* / $MARKER" >> "{runner.folder}/calls"\ncase $* in *--paginate*) printf "%s" "{found}" ;; esac\n'
    runner.program(runner.folder / "bin/gh", stand_in)
    script = step(WORKFLOW, "Write the comment, or write it anew")["run"]
    done = runner.run(script, GH_TOKEN="x", REPOSITORY="o/r", NUMBER="3")
    assert done.returncode == 0, done.stderr
    first, second = (runner.folder / "calls").read_text("utf-8").splitlines()
    assert first.endswith("/ <!-- reconcile comment: prod -->")
    assert f"--method {method}" in second
    assert ("issues/comments/17" in second) == (method == "PATCH")


@pytest.mark.parametrize(
    ("code", "messages", "expected"),
    [
        ("0", "", "applied"),
        ("2", "x\nA501: shop: awaiting approval\n", "::error title=Awaiting approval::A501: shop: awaiting approval"),
        ("2", "A501: 5%0Ax\n", "::error title=Awaiting approval::A501: 5%250Ax"),
        ("2", "", "::error title=Awaiting approval::a plan is not approved; nothing of it was touched"),
        ("1", "", "::error title=The apply failed::see the step Apply; applying again goes on from there"),
    ],
)
def test_the_apply_job_ends_as_the_command_did(runner: Runner, code: str, messages: str, expected: str) -> None:
    (runner.temporary / "reconcile-messages").write_text(messages, "utf-8")
    done = runner.run(step(WORKFLOW, "Was everything approved and applied?")["run"], CODE=code)
    assert done.stdout.strip() == expected
    assert done.returncode == int(code)


@pytest.mark.parametrize("code", ["0", "1", "2"])
def test_the_plan_job_ends_as_the_command_did(runner: Runner, code: str) -> None:
    done = runner.run(step(WORKFLOW, "Is it planned, and approved by its plan.lock?")["run"], CODE=code)
    assert done.returncode == int(code)
    assert done.stdout.startswith("::error") == (code != "0")
