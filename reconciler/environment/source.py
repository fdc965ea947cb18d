"""The source: what a repository says, read from its working tree. How that relates to git: `commits`.

Rules:
- The repository is the nearest parent with reconcile.yaml, else with a pipelines/ folder, else (its last pipeline was
  deleted) of git.
- A pipeline is a folder pipelines/<name> with a pipeline.yaml. Nothing in it is executed; links that lead out are not
  followed.
Nothing here writes but `write_text` and `rewrite_text`.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from reconciler.base.errors import NotFound, ReconcileError
from reconciler.base.names import did_you_mean

PROJECT_FILE = "reconcile.yaml"
PIPELINES_FOLDER = "pipelines"
MANIFEST_FILE = "pipeline.yaml"
LOCK_FILE = "plan.lock"
FUNCTIONS_FOLDER = "udf"
MAXIMUM_FILE = 4 * 1024 * 1024
"""Bytes. No larger file of a pipeline is read."""


def find_root(start: Path) -> Path:
    """The repository's root above (or at) a folder. Raises NotFound (U811)."""
    folders = [start.resolve(), *start.resolve().parents]
    for marker in (PROJECT_FILE, PIPELINES_FOLDER, ".git"):
        for folder in folders:
            if (folder / marker).exists():
                return folder
    raise NotFound(
        "U811",
        f"no {PROJECT_FILE} and no {PIPELINES_FOLDER}/ in {start} or above it",
        "use --repo DIR, or create a repository: reconcile init",
    )


def pipeline_names(root: Path) -> tuple[str, ...]:
    """The pipelines of a repository, sorted.

    A folder with SQL files but no pipeline.yaml that can be read is among them: it is a mistake to be reported, and no
    wish to remove the pipeline. One that is gone, or holds at most a lock, is no pipeline any more.
    """
    folder = root / PIPELINES_FOLDER
    if not folder.is_dir():
        return ()
    return tuple(sorted(entry.name for entry in folder.iterdir() if is_pipeline_folder(entry)))


def is_pipeline_folder(folder: Path) -> bool:
    """Whether a folder holds, or tries to hold, a pipeline."""
    if not folder.is_dir():
        return folder.is_symlink()
    return os.path.lexists(folder / MANIFEST_FILE) or any(folder.glob("*.sql"))


def require_pipeline(name: str, known: tuple[str, ...]) -> None:
    """Raises NotFound (U812) when no pipeline of that name is known."""
    if name not in known:
        listing = ", ".join(known) or "none"
        raise NotFound("U812", f"no pipeline {name!r}; known pipelines: {listing}", did_you_mean(name, known))


def pipeline_folder(name: str) -> str:
    """The folder of a pipeline relative to the root."""
    return f"{PIPELINES_FOLDER}/{name}"


def read_pipeline_files(root: Path, name: str) -> dict[str, str]:
    """The YAML, SQL and Python texts of a pipeline by path relative to the root. Raises ReconcileError (U813)."""
    root = root.resolve()
    base = root / PIPELINES_FOLDER / name
    files: dict[str, str] = {}
    # Where the folder is a link, whatever stands in it is looked at with care, and refused.
    _collect_files(base, f"{PIPELINES_FOLDER}/{name}", "", base, base.resolve() == base, files)
    return dict(sorted(files.items()))


def files_of(root: Path, name: str) -> dict[str, str] | None:
    """`read_pipeline_files`, or None when there is no such pipeline."""
    return read_pipeline_files(root, name) if is_pipeline_folder(root / PIPELINES_FOLDER / name) else None


def _collect_files(folder: Path, prefix: str, below: str, base: Path, direct: bool, into: dict[str, str]) -> None:
    """`below` is the folder's path below the pipeline's own, ending in `/` unless empty. Folders that are links are not
    followed; files that are links are read if they lead to a file of the pipeline."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            _collect_files(folder / name, f"{prefix}/{name}", f"{below}{name}/", base, direct, into)
        elif is_of_a_pipeline(name, below) and not (entry.is_symlink() and entry.is_dir()):
            plain = direct and entry.is_file(follow_symlinks=False)
            into[f"{prefix}/{name}"] = _content(entry.path) if plain else _read(Path(entry.path), base)


def is_of_a_pipeline(name: str, below: str) -> bool:
    """Whether a file says something of the pipeline; `below` is its folder below the pipeline's."""
    if name == MANIFEST_FILE or name.endswith(".sql"):
        return True
    return name.endswith(".py") and below.startswith(f"{FUNCTIONS_FOLDER}/")


def _read(path: Path, base: Path) -> str:
    # `base` stands below the resolved root: a link anywhere on the way, the folder itself included, leads elsewhere.
    if not path.resolve().is_relative_to(base):
        raise ReconcileError("U813", f"{path} is a link out of {base}", "put the file itself there")
    if not path.is_file():
        raise ReconcileError("U813", f"{path} is not a readable file")
    return _content(str(path))


def _content(path: str) -> str:
    """The text of a regular file."""
    try:
        # Not by one of Python's own files: a plan may read thousands, and this way each takes a quarter less.
        descriptor = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(descriptor).st_size
            if size > MAXIMUM_FILE:
                raise ReconcileError("U813", f"{path} is larger than {MAXIMUM_FILE} bytes")
            content = os.read(descriptor, size + 1)
            while more := os.read(descriptor, size + 1):
                content += more
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ReconcileError("U813", f"{path} is not a readable file") from error
    try:
        # The ends of lines are LF, however a checkout has them: they may stand within a literal.
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ReconcileError("U813", f"{path} is not UTF-8: {error}", "save it as UTF-8") from error


def read_optional(path: Path, root: Path) -> str | None:
    """The text of a file of the repository, or None when there is none. Raises ReconcileError (U813)."""
    return _read(path, root.resolve()) if os.path.lexists(path) else None


def write_text(path: Path, text: str | None) -> None:
    """Replace a file in one move, or remove it when the text is None."""
    with _alone_in(path.parent) as is_alone:
        _write(path, text, is_alone)


def rewrite_text(path: Path, root: Path, change: Callable[[str | None], str | None]) -> tuple[str | None, str | None]:
    """Replace a file of the repository by what `change` makes of its text (None: there is no file); what it said before, and
    says now. Of several who do so at once each one sees what the others wrote, where the file system has locks. Raises
    ReconcileError (U813)."""
    with _alone_in(path.parent) as is_alone:
        before = read_optional(path, root)
        after = change(before)
        if after != before:
            _write(path, after, is_alone)
    return before, after


@contextmanager
def _alone_in(folder: Path) -> Iterator[bool]:
    """While nobody else of reconciler writes a file of this folder; False: this file system has no locks."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            is_alone = True
        except OSError:
            is_alone = False
        yield is_alone
    finally:
        os.close(descriptor)


def _write(path: Path, text: str | None, is_alone: bool) -> None:
    if text is None:
        path.unlink(missing_ok=True)
        return
    if is_alone:
        # What a process that died left, or a link that came with the repository.
        for name in os.listdir(path.parent):
            if is_left_over(name, path.name):
                path.with_name(name).unlink(missing_ok=True)
    # A name that nobody else has: of two who write at once, each moves its own. Nothing is written through a link.
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def is_left_over(name: str, written: str) -> bool:
    """Whether a file's name is one under which `written` is written before it is moved into place, or earlier versions wrote
    it."""
    return re.fullmatch(rf"\.{re.escape(written)}\.([0-9a-f]{{32}}\.)?tmp", name) is not None


def lock_path(root: Path, pipeline: str) -> Path:
    """Where a pipeline's lock stands: in its folder, or at the root when the folder is gone."""
    folder = root / PIPELINES_FOLDER / pipeline
    return folder / LOCK_FILE if is_pipeline_folder(folder) else root / LOCK_FILE
