"""What was changed in a git repository, where and when: what the pipeline `activity` reads.

    python demo/activity_data.py --repository . --out .reconcile/activity

Writes a CSV file for each day (of UTC) on which something was changed. A row is what one commit changed in one folder: when
(the author's time, which stays when a commit is rebased), the folder, how many files, how many lines were added and removed.
There are no authors and no messages. The same history gives the same files on every machine. No JVM, no network.

Run again, it adds the days that are missing. A day that got more commits since its file was written is refused, because a
pipeline may have read the file. So leave out the day that is not over: --until "$(date -u +%F)"

demo/activity holds this repository's own history up to a day. It was made by:

    python demo/activity_data.py --out demo/activity --until 2026-11-26
"""

import argparse
import csv
import io
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NamedTuple

COMMIT = "\x01"
"""Begins the line of a commit; no number does."""

Lines = tuple[int, int]
"""Of a file: added, removed."""


class Change(NamedTuple):
    """What one commit changed in one folder. The names are the columns."""

    changed_at: datetime
    package: str
    files: int
    lines_added: int
    lines_removed: int


def main() -> int:
    """Read the arguments, write the files, say what was done."""
    parser = argparse.ArgumentParser(
        description="Write what each commit of a git repository changed: a CSV file for each day."
    )
    option = parser.add_argument
    option("--repository", type=Path, default=Path(), help="(default: the one that this is run in)")
    option("--revision", default="HEAD", help="a branch or commit, with all before it (default: %(default)s)")
    option("--until", type=date.fromisoformat, default=date.max, metavar="DAY", help="leave out this day and all after it")
    option("--depth", type=int, default=2, help="how many levels of folders to tell apart (default: %(default)s)")
    option("--out", type=Path, default=Path(".reconcile/activity"), help="the folder (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.depth < 1:
        parser.error("--depth must be at least 1")
    try:
        history = changes(arguments.repository, arguments.revision, arguments.depth)
        days = by_day(one for one in history if one.changed_at.date() < arguments.until)
        written = write(days, arguments.out)
    except subprocess.CalledProcessError as error:
        return error.returncode  # git has said why
    except FileExistsError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"wrote {sum(len(days[day]) for day in written)} changes of {len(written)} days to {arguments.out}")
    return 0


def changes(repository: Path, revision: str, depth: int) -> Iterator[Change]:
    """What each commit changed by folder; of merges nothing, since their parts have it."""
    git = ["git", "-C", str(repository)]
    commits = subprocess.run([*git, "rev-list", "--no-merges", revision, "--"], stdout=subprocess.PIPE, check=True).stdout
    # Commands for scripts: these do not go by the user's settings, such as those of renames or of how to compare.
    tell = ["diff-tree", "--stdin", "--root", "-r", "-z", "--numstat", "--no-renames", f"--format={COMMIT}%at"]
    told = subprocess.run([*git, *tell], input=commits, stdout=subprocess.PIPE, check=True).stdout
    at, folders = datetime.fromtimestamp(0, UTC), defaultdict[str, list[Lines]](list)
    for line in told.decode("utf-8", "replace").replace("\n", "").split("\0"):
        if line.startswith(COMMIT):
            yield from _of_commit(at, folders)
            at, folders = datetime.fromtimestamp(int(line.removeprefix(COMMIT)), UTC), defaultdict(list)
        elif line:
            added, removed, path = line.split("\t", 2)
            folders["/".join(path.split("/")[:-1][:depth]) or "."].append((_count(added), _count(removed)))
    yield from _of_commit(at, folders)


def by_day(found: Iterable[Change]) -> dict[date, list[Change]]:
    """Changes by their day, those of a day in order."""
    days = defaultdict[date, list[Change]](list)
    for change in sorted(found):
        days[change.changed_at.date()].append(change)
    return dict(days)


def write(days: dict[date, list[Change]], out: Path) -> list[date]:
    """Write a file for each day that has none yet; returns these days.

    Raises FileExistsError if a file holds something else: a pipeline may have read it.
    """
    out.mkdir(parents=True, exist_ok=True)
    texts = {day: _text(changes) for day, changes in days.items()}
    present = [day for day in days if _file(out, day).exists()]
    for day in present:
        if _file(out, day).read_bytes() != texts[day]:
            raise FileExistsError(f"{_file(out, day)} holds something else; remove it or name another folder")
    missing = [day for day in days if day not in present]
    for day in missing:
        _file(out, day).write_bytes(texts[day])
    return missing


def _file(out: Path, day: date) -> Path:
    return out / f"{day}.csv"


def _text(changes: Sequence[Change]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Change._fields)
    writer.writerows([f"{change.changed_at:%Y-%m-%dT%H:%M:%SZ}", *change[1:]] for change in changes)
    return text.getvalue().encode()


def _of_commit(at: datetime, folders: dict[str, list[Lines]]) -> Iterator[Change]:
    for folder, files in folders.items():
        yield Change(at, folder, len(files), sum(added for added, _ in files), sum(removed for _, removed in files))


def _count(lines: str) -> int:
    """Of a binary file git counts no lines."""
    return 0 if lines == "-" else int(lines)


if __name__ == "__main__":
    sys.exit(main())
