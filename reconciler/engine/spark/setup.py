"""Set up this machine for Spark: fetch the pinned jars, then make the class-data archive. Repeating it is free.

- The jars are fetched once, by the Ivy that Spark brings, each for itself (what they depend on is in Spark), compared with
  their SHA-256 and moved into place one by one. $RECONCILE_IVY_SETTINGS may name an Ivy settings file (a mirror). What
  commits to a disk and to S3, what brings few rows to Spark, and what lets other processes in, is compiled here (`compile`).
- The archive is made by a rehearsal of usual work (see `rehearsal`). Without one everything works, but starts slower; a
  failure leaves a note beside the place of the archive and is not tried again until the note is deleted.
- A lock keeps two set-ups from doing the same work at once; what a killed one left is removed by the next.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reconciler.base.errors import SetUpMissing
from reconciler.engine.spark.installation import (
    ANSWER_FILES,
    GATEWAYS,
    LOCAL_LOG_STORE,
    S3_LOG_STORE,
    SMALL_QUERY,
    SMALL_ROWS,
    Installation,
    Jar,
    installation,
    pinned_jars,
    pinned_s3_jars,
)
from reconciler.engine.spark.java import Java, find_java

Report = Callable[[str], None]

_PARTIAL = ".partial-"
_LONGEST_REHEARSAL = 600


def install(report: Report, s3: bool = False) -> None:
    """Fetch what is missing, with `s3` also what S3 needs, and report each thing done. Raises SetUpMissing when Java or a
    jar can't be had."""
    java, place = find_java(), installation()
    if _is_complete(place, java, s3):
        report(f"Spark's jars and class-data archive are in {place.folder}")
        return
    place.folder.mkdir(parents=True, exist_ok=True)
    with _alone(place.folder, report):
        for left_over in place.folder.glob(f"{_PARTIAL}*"):
            shutil.rmtree(left_over, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_PARTIAL, dir=place.folder) as partial:
            _install_jars(place, _wanted(place, s3), Path(partial), report)
            for source, jar in _compiled(place, s3):
                _install_compiled(place, source, jar, Path(partial), report)
            _install_archive(place, java, Path(partial), report)


def note_of(archive: Path) -> Path:
    """Where a failed attempt to make an archive leaves its reason."""
    return archive.with_suffix(".failed")


def _is_complete(place: Installation, java: Java, s3: bool = False) -> bool:
    archive = place.archive(java)
    has_all = not _missing(_wanted(place, s3)) and all(jar.is_file() for _, jar in _compiled(place, s3))
    return has_all and (archive.is_file() or note_of(archive).is_file())


def _wants_s3(place: Installation, s3: bool) -> bool:
    # Jars for S3 that are there are looked after from then on.
    return s3 or all(jar.is_file() for jar in place.s3_jars)


def _wanted(place: Installation, s3: bool) -> list[tuple[Jar, Path]]:
    chosen = list(zip(pinned_jars(), place.fetched_jars, strict=True))
    return chosen + list(zip(pinned_s3_jars(), place.s3_jars, strict=True)) if _wants_s3(place, s3) else chosen


def _compiled(place: Installation, s3: bool) -> list[tuple[Path, Path]]:
    chosen = [
        (LOCAL_LOG_STORE, place.local_log_store_jar),
        (SMALL_ROWS, place.small_rows_jar),
        (SMALL_QUERY, place.small_query_jar),
        (ANSWER_FILES, place.answer_files_jar),
        (GATEWAYS, place.gateways_jar),
    ]
    return [*chosen, (S3_LOG_STORE, place.s3_log_store_jar)] if _wants_s3(place, s3) else chosen


def _missing(wanted: list[tuple[Jar, Path]]) -> list[tuple[Jar, Path]]:
    return [(jar, path) for jar, path in wanted if not path.is_file() or _sha256(path) != jar.sha256]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _alone(folder: Path, report: Report) -> Iterator[None]:
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("waiting for another `reconcile setup` of the same folder")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install_jars(place: Installation, wanted: list[tuple[Jar, Path]], partial: Path, report: Report) -> None:
    missing = _missing(wanted)
    if not missing:
        report(f"{len(wanted)} jars are in {place.folder / 'jars'}")
        return
    report(f"fetching {len(missing)} jar(s) for Spark into {place.folder / 'jars'}")
    (place.folder / "jars").mkdir(exist_ok=True)
    answer = _python("reconciler.engine.spark.fetch", [str(partial / "ivy"), *(jar.coordinates for jar, _ in missing)])
    if answer.returncode != 0:
        raise SetUpMissing(
            "U805",
            f"the jars can't be fetched: {_last_line(answer.stderr)}",
            "check the network; for a mirror, set RECONCILE_IVY_SETTINGS to an Ivy settings file",
        )
    fetched = dict(line.split("\t", 1) for line in answer.stdout.splitlines() if "\t" in line)
    for jar, path in missing:
        source = Path(fetched[jar.coordinates])
        if _sha256(source) != jar.sha256:
            raise SetUpMissing("U806", f"{jar.coordinates} was fetched, but its SHA-256 is not the pinned one")
        os.replace(source, path)
        report(f"  {jar.coordinates}")


def _install_compiled(place: Installation, source: Path, jar: Path, partial: Path, report: Report) -> None:
    if jar.is_file():
        return
    fresh = partial / jar.name
    answer = _python("reconciler.engine.spark.compile", [str(source), place.class_path, str(fresh)])
    if answer.returncode != 0:
        raise SetUpMissing("U808", f"what Spark needs can't be compiled: {_last_line(answer.stderr)}")
    os.replace(fresh, jar)
    report(f"  compiled {source.name}")


def _install_archive(place: Installation, java: Java, partial: Path, report: Report) -> None:
    archive = place.archive(java)
    if archive.is_file() or note_of(archive).is_file():
        return
    report("creating the class-data archive, which halves Spark's start time (about a minute, 190 MB)")
    started = time.monotonic()
    fresh, launcher = partial / archive.name, partial / place.launcher_archive(java).name
    answer = _python("reconciler.engine.spark.rehearsal", [str(fresh), str(launcher), str(partial / "work")])
    if answer.returncode != 0 or not fresh.is_file():
        reason = _last_line(answer.stderr)
        note_of(archive).write_text(f"{reason}\n", "utf-8")
        report(f"  not made ({reason}); everything works, but Spark starts more slowly")
        return
    # Another Java's or another Spark's archive is of no use any more.
    for old in (*place.folder.glob("classes-*"), *place.folder.glob("launcher-*")):
        old.unlink(missing_ok=True)
    if launcher.is_file():
        os.replace(launcher, place.launcher_archive(java))
    os.replace(fresh, archive)
    report(f"  made in {time.monotonic() - started:.0f} s: {archive.name}, {archive.stat().st_size // 1_000_000} MB")


def _python(module: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-m", module, *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_REHEARSAL, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"no answer within {_LONGEST_REHEARSAL} s")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it ended without a message"
