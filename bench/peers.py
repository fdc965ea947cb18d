"""SQLMesh and dbt on the same models, each in an environment of its own, made on demand under bench/.environments.

What is measured is the nearest thing that each has to a plan, up to where it is shown; nothing is built or backfilled:

- SQLMesh: `sqlmesh plan`, with every model applied to `prod` before (empty backfill into DuckDB) and its question
  answered by the end of input. Cold: without its cache folder.
- dbt: cold: `dbt parse` without an earlier manifest. Warm: `dbt ls --select state:modified+` against the manifest of
  the applied files, with partial parsing.

Every run starts from a copy of the prepared project, so that runs can't warm each other. Neither may report to its
makers: usage statistics and version checks are switched off.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.measure import Cost, measure
from bench.programs import CORE, make_program, write_dbt, write_dbt_model, write_sqlmesh, write_sqlmesh_model

_FOLDER: Final = Path(__file__).parent
_QUIET: Final[Mapping[str, str]] = {
    "SQLMESH__DISABLE_ANONYMIZED_ANALYTICS": "true",
    "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    "DBT_VERSION_CHECK": "false",
    "DO_NOT_TRACK": "1",
    "NO_COLOR": "1",
    # Nothing of this project's environment may reach theirs.
    "PYTHONPATH": "",
}


class PeerUnavailable(Exception):
    """A peer could not be installed or prepared."""


@dataclass(frozen=True, slots=True)
class Case:
    """One command to measure. `arrange` makes a prepared project what it should find; `expected` says whether the output
    is that of the right answer."""

    name: str
    command: tuple[str, ...]
    arrange: Callable[[Path], None]
    expected: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool with a project that is prepared: `project` is where it ran, `prepared` its copy."""

    name: str
    versions: tuple[str, ...]
    project: Path
    prepared: Path
    cases: tuple[Case, ...]

    def run(self, case: Case) -> Cost:
        """Measure a case once."""
        shutil.rmtree(self.project)
        # At the same path and with the same times as prepared, or caches would not recognise the files.
        shutil.copytree(self.prepared, self.project)
        case.arrange(self.project)
        measured = measure(case.command, self.project, _QUIET, fine=(0, 1))
        if not case.expected(measured.output):
            raise PeerUnavailable(f"{self.name}, {case.name}: not the answer expected\n{measured.output[-2000:]}")
        return measured.cost


def make_sqlmesh(views: int, scratch: Path, tell: Callable[[str], None]) -> Peer:
    """SQLMesh with all models applied. Raises PeerUnavailable."""
    python = environment_of("sqlmesh", tell)
    program, changed = make_program(views), make_program(views, changed=True)
    project = scratch / "sqlmesh"
    write_sqlmesh(program, project)
    plan = (str(python.with_name("sqlmesh")), "plan")
    tell(f"applying {views} models with SQLMesh, so that it has something to compare with (minutes)")
    create = "import duckdb; duckdb.connect('big.duckdb').execute(open('tables.sql').read())"
    _run([str(python), "-c", create], project)
    _run([*plan, "--empty-backfill", "--auto-apply", "--no-prompts"], project)
    # Once more: what the first plan after an apply caches is there for every later one.
    _run(plan, project)

    def unchanged(output: str) -> bool:
        return "No changes to plan" in output

    def modified(output: str) -> bool:
        return "Directly Modified" in output and f"big.{CORE}" in output and "Models needing backfill" in output

    def change(folder: Path) -> None:
        write_sqlmesh_model(changed, changed.views[0], folder)

    return _prepared(
        "SQLMesh",
        _versions(python, ("sqlmesh", "sqlglot", "duckdb")),
        project,
        (
            Case("cold", plan, lambda folder: shutil.rmtree(folder / ".cache"), unchanged),
            Case("warm", plan, _leave, unchanged),
            Case("changed", plan, change, modified),
        ),
    )


def make_dbt(views: int, scratch: Path, tell: Callable[[str], None]) -> Peer:
    """dbt with the manifest of the applied files. Raises PeerUnavailable."""
    python = environment_of("dbt", tell)
    program, changed = make_program(views), make_program(views, changed=True)
    project = scratch / "dbt"
    write_dbt(program, project)
    dbt = str(python.with_name("dbt"))
    parse = (dbt, "parse", "--profiles-dir", ".")
    listing = (dbt, "--quiet", "ls", "--profiles-dir", ".", "--select", "state:modified+", "--state", "applied")
    _run(parse, project)
    (project / "applied").mkdir()
    shutil.copy2(project / "target" / "manifest.json", project / "applied")

    def change(folder: Path) -> None:
        write_dbt_model(changed, changed.views[0], folder)

    def listed(output: str) -> int:
        return sum(line.startswith("big.") for line in output.splitlines())

    affected = 1 + len(program.descendants(CORE))
    return _prepared(
        "dbt",
        _versions(python, ("dbt-core", "dbt-duckdb")),
        project,
        (
            Case("cold", parse, lambda folder: shutil.rmtree(folder / "target"), lambda output: "Error" not in output),
            Case("warm", listing, _leave, lambda output: listed(output) == 0 and "Error" not in output),
            Case("changed", listing, change, lambda output: listed(output) == affected),
        ),
    )


def _leave(project: Path) -> None:
    """Nothing to arrange: the project is as it was prepared."""


def _prepared(name: str, versions: tuple[str, ...], project: Path, cases: tuple[Case, ...]) -> Peer:
    prepared = project.with_name(f"{project.name}-prepared")
    shutil.copytree(project, prepared)
    return Peer(name, versions, project, prepared, cases)


def environment_of(name: str, tell: Callable[[str], None]) -> Path:
    """The interpreter of a peer's environment, made if it is not there or its requirements changed."""
    requirements = _FOLDER / f"requirements-{name}.txt"
    folder = _FOLDER / ".environments" / name
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    if not stamp.exists() or stamp.read_text() != requirements.read_text():
        tell(f"installing {name} into {folder.relative_to(_FOLDER.parent)}")
        shutil.rmtree(folder, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(folder)], _FOLDER)
        _run(
            [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "-r", str(requirements)], _FOLDER
        )
        stamp.write_text(requirements.read_text())
    return python


def _versions(python: Path, packages: Sequence[str]) -> tuple[str, ...]:
    code = "import sys, importlib.metadata as m; print(*(f'{name} {m.version(name)}' for name in sys.argv[1:]), sep='\\n')"
    return tuple(_run([str(python), "-c", code, *packages], _FOLDER).splitlines())


def _run(command: Sequence[str], folder: Path) -> str:
    """Run a command of the set-up. Raises PeerUnavailable with the end of its words."""
    with tempfile.TemporaryFile("w+") as words:
        try:
            finished = subprocess.run(
                command, cwd=folder, env={**os.environ, **_QUIET}, stdin=subprocess.DEVNULL, stdout=words, stderr=words
            )
        except OSError as error:
            raise PeerUnavailable(f"{command[0]} can't be run: {error}") from error
        words.seek(0)
        output = words.read()
    if finished.returncode:
        raise PeerUnavailable(f"exit code {finished.returncode} of {' '.join(command)}\n{output[-1500:]}")
    return output
