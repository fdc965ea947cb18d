"""A repository is begun (`reconcile init`): the files with which the first plan works.

Rules:
- What is there stays as it is. A file is written where there is none; .gitignore gets the line that it lacks. Only schemas,
  which nobody writes by hand, are put in the place of those of another version, when that is asked for.
- The example is a pipeline of its own: it is written whole, or not at all. Where the repository has pipelines, it is written
  only under a name that was asked for.
- What can't be written as it was asked for is told before anything is written (U822, U823).
- Whoever was killed begins again, and gets what is missing: each file is moved into place when it is whole.
- Nothing is written through a link: a folder that leads elsewhere is in the way.
Needs no git, and starts no process.
"""

import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from reconciler.base.boundaries import EFFECTED, INTENDED, Boundary, no_boundary
from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import errors_among
from reconciler.base.errors import ManifestInvalid, ReconcileError
from reconciler.base.schema_files import BASE, schema_text, schemas_of_files
from reconciler.environment.source import (
    LOCK_FILE,
    PROJECT_FILE,
    is_left_over,
    pipeline_folder,
    pipeline_names,
    read_optional,
    write_text,
)
from reconciler.service.new_file_texts import IGNORED, PROJECT, Origin, data_folder, example, workflow

IGNORE_FILE: Final = ".gitignore"
_USUAL_BRANCH: Final = "main"
SCHEMAS_FOLDER: Final = "schemas"
WORKFLOW_FILE: Final = ".github/workflows/pipelines.yml"
PIPELINE_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LEFT_OUT: Final = frozenset({".reconcile", ".reconcile/", "/.reconcile", "/.reconcile/", ".reconcile/*", ".reconcile/**"})


@dataclass(frozen=True, slots=True)
class Begun:
    """What was done, by paths relative to `root`.

    `kept` are files that are there and say something else than would have been written. `pipeline` is the one whose example
    was written, or completed; None: none was. `others` are the pipelines because of which it was not.
    """

    root: Path
    wrote: tuple[str, ...]
    ignores: bool
    kept: tuple[str, ...]
    pipeline: str | None
    others: tuple[str, ...]


def begin(folder: Path, name: str | None, origin: Origin | None, boundary: Boundary = no_boundary) -> Begun:
    """Write what a repository lacks. `name` is that of the example's pipeline, which must be one that is not there; `origin`
    asks for the workflow. Raises ReconcileError (U822, U823), and ManifestInvalid for a reconcile.yaml with errors where the
    workflow has to name its environment."""
    root = _own_root(folder, name)
    wanted: dict[str, str] = {}
    others: tuple[str, ...] = ()
    pipeline = name or name_of(root)
    missing = _missing_of_example(root, pipeline, must_be=name is not None)
    if name is None and missing == example(pipeline):
        others = pipeline_names(root)
    if missing and not others:
        wanted |= missing
    if origin is not None:
        _require_top_of_git(root)
        wanted[WORKFLOW_FILE] = _workflow_of(root, origin)
    wanted[PROJECT_FILE] = PROJECT
    wanted |= _schemas()
    differing = [path for path, text in wanted.items() if _is_there(root / path) and not _says(root / path, text)]
    if WORKFLOW_FILE in differing:
        raise _in_the_way([WORKFLOW_FILE], "remove --github, or move the file away")
    new = {path: text for path, text in wanted.items() if not _is_there(root / path)}
    ignores = not _leaves_out_the_warehouse(root)
    _require_folders(root, [*new, *([IGNORE_FILE] if ignores else [])])
    root.mkdir(parents=True, exist_ok=True)
    if ignores:
        _ignore(root)
    _write(root, new, boundary)
    wrote_example = pipeline if any(path in new for path in missing) else None
    return Begun(root, tuple(new), ignores, tuple(differing), wrote_example, others)


def renew_schemas(folder: Path, boundary: Boundary = no_boundary) -> Begun:
    """Write the schemas of this version, in place of those of another one. Raises ReconcileError (U823)."""
    root = folder.resolve()
    wanted = {path: text for path, text in _schemas().items() if not _says(root / path, text)}
    strange = [path for path in wanted if _is_there(root / path) and not _is_ours(root / path)]
    if strange:
        raise _in_the_way(strange, "they are not schemas of reconciler: move them away")
    _require_folders(root, wanted)
    _write(root, wanted, boundary)
    return Begun(root, tuple(wanted), False, (), None, ())


def name_of(folder: Path) -> str:
    """A pipeline's name made of its repository's: `My Shop` becomes `my-shop`."""
    found = PIPELINE_NAME.match(re.sub(r"[^a-z0-9_]+", "-", folder.name.lower()).strip("-_0123456789"))
    return found[0] if found else "example"


def _own_root(folder: Path, name: str | None) -> Path:
    """The folder, unless it is inside a repository that is begun: one of git ends where git says. Raises ReconcileError
    (U822)."""
    root = folder.resolve()
    for above in (root, *root.parents):
        if (above / PROJECT_FILE).exists():
            if above == root:
                return root
            hint = f"to add a pipeline to it: reconcile init {_quoted(above)} --name {name or name_of(root)}"
            raise ReconcileError("U822", f"{root} is inside the repository {above}, which has a {PROJECT_FILE}", hint)
        if (above / ".git").exists():
            return root
    return root


def _require_top_of_git(root: Path) -> None:
    """GitHub looks for workflows where git's repository begins, and so does the workflow for pipelines. Raises
    ReconcileError (U822)."""
    for above in () if (root / ".git").exists() else root.parents:
        if (above / ".git").exists():
            message = f"{root} is inside the git repository {above}, and GitHub looks for workflows only at the top of it"
            raise ReconcileError("U822", message, "remove --github, or run `reconcile init` there")


def _missing_of_example(root: Path, pipeline: str, *, must_be: bool) -> Mapping[str, str]:
    """The files of the example that are to be written: all where there is no such pipeline, the rest where somebody was
    killed, none of one that is complete or is not the example any more. Raises ReconcileError (U823) for the last if it
    `must_be` the example."""
    files = example(pipeline)
    folder = pipeline_folder(pipeline)
    inside = [path for path in files if path.startswith(f"{folder}/")]
    other = _others(root, folder, files)
    if other and must_be:
        raise _in_the_way(other, "choose another --name")
    if other or all(_is_there(root / path) for path in inside):
        return {}
    # Whatever else stands in the folder of its data, the example would read.
    strange = _others(root, data_folder(pipeline), files)
    if strange:
        raise _in_the_way(strange, "choose another --name, or move them away")
    return {path: text for path, text in files.items() if not _is_there(root / path)}


def _others(root: Path, folder: str, files: Mapping[str, str]) -> list[str]:
    """What stands in a folder, or in its place, and is neither one of the files, as they are written, nor a lock, nor what a
    process that was killed left."""
    place = root / folder
    if not _is_there(place):
        return []
    if not place.is_dir():
        return [folder]
    names = {Path(path).name for path in files} | {LOCK_FILE}
    found = [(f"{folder}/{path.name}", path) for path in sorted(place.iterdir())]
    strange = [(name, path) for name, path in found if not any(is_left_over(path.name, one) for one in names)]
    return [name for name, path in strange if path.name not in names or (name in files and not _says(path, files[name]))]


def _workflow_of(root: Path, origin: Origin) -> str:
    """For the default environment, and the branch that is applied there."""
    from reconciler.environment.bases import likely_default_branch
    from reconciler.project.manifest.project import read_project

    read = read_project(read_optional(root / PROJECT_FILE, root) or PROJECT)
    if read.project is None:
        raise ManifestInvalid(errors_among(read.diagnostics))
    environment = read.project.environments[read.project.default]
    return workflow(origin, environment.name, environment.branch or likely_default_branch(root) or _USUAL_BRANCH)


def _schemas() -> dict[str, str]:
    return {f"{SCHEMAS_FOLDER}/{name}": schema_text(name) for name in schemas_of_files()}


def _is_ours(path: Path) -> bool:
    return _is_file(path) and f'"$id": "{BASE}{path.name}"'.encode() in path.read_bytes()


def _is_there(path: Path) -> bool:
    """Whether anything has that name: also a link that leads nowhere."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _is_file(path: Path) -> bool:
    return _is_there(path) and stat.S_ISREG(path.lstat().st_mode)


def _says(path: Path, text: str) -> bool:
    """Whether a file has this text; a checkout may have other ends of lines."""
    return _is_file(path) and path.read_bytes().replace(b"\r\n", b"\n") == text.encode()


def _leaves_out_the_warehouse(root: Path) -> bool:
    path = root / IGNORE_FILE
    if not _is_there(path):
        return False
    if not _is_file(path):
        raise _in_the_way([IGNORE_FILE], "git accepts only a plain file: put one in its place")
    return any(line.strip().decode("utf-8", "replace") in _LEFT_OUT for line in path.read_bytes().splitlines())


def _ignore(root: Path) -> None:
    """Add the line, in one write; what is there stays, byte by byte."""
    path = root / IGNORE_FILE
    before = path.read_bytes() if path.exists() else b""
    end = b"\r\n" if b"\r\n" in before else b"\n"
    begin = end if before and not before.endswith(b"\n") else b""
    with path.open("ab", buffering=0) as file:
        file.write(begin + IGNORED.encode() + end)


def _require_folders(root: Path, paths: Iterable[str]) -> None:
    """Each file can stand in its folder: nothing on the way is a link, or no folder. Raises ReconcileError (U823)."""
    wrong: list[str] = []
    for path in paths:
        for folder in reversed(Path(path).parents):
            place = root / folder
            if _is_there(place) and not stat.S_ISDIR(place.lstat().st_mode) and folder.as_posix() not in wrong:
                wrong.append(folder.as_posix())
    for above in root.parents:
        if _is_there(above) and not above.is_dir():
            wrong.append(str(above))
    if wrong:
        raise _in_the_way(wrong, "put a folder there, not a file or a link")


def _in_the_way(paths: Iterable[str], hint: str) -> ReconcileError:
    return ReconcileError("U823", f"nothing was written, because these paths are taken: {', '.join(sorted(paths))}", hint)


def _write(root: Path, files: Mapping[str, str], boundary: Boundary) -> None:
    for path, text in files.items():
        boundary(f"init:{path}:{INTENDED}")
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        write_text(root / path, text)
        boundary(f"init:{path}:{EFFECTED}")


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
