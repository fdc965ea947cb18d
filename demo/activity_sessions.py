"""The view `longest_sessions` of the pipeline `activity`, computed plainly from the files that the pipeline read.

    python demo/activity_sessions.py --gap 30 .reconcile/activity

Prints a line for each package, as `SELECT * FROM longest_sessions ORDER BY minutes DESC, package` gives them: what demo/run
compares with. A session counts when it is over: when something was changed anywhere later than its last change and the gap.
"""

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

Change = tuple[datetime, int]
"""When, and how many lines were added and removed."""


def main() -> int:
    """Read the arguments and the files, print the lines."""
    parser = argparse.ArgumentParser(description="Compute the longest session of work on each package.")
    parser.add_argument("--gap", type=int, required=True, metavar="MINUTES", help="the longest break within a session")
    parser.add_argument("folder", type=Path, help="where the CSV files are")
    arguments = parser.parse_args()
    for row in longest_sessions(arguments.folder, timedelta(minutes=arguments.gap)):
        print(*row)
    return 0


def longest_sessions(folder: Path, gap: timedelta) -> list[tuple[str, str, int, int, int, int, int]]:
    """The rows of the view, in their order."""
    packages = defaultdict[str, list[Change]](list)
    for file in folder.glob("*.csv"):
        with file.open(encoding="utf-8", newline="") as opened:
            for row in csv.DictReader(opened):
                change = datetime.fromisoformat(row["changed_at"]), int(row["lines_added"]) + int(row["lines_removed"])
                packages[row["package"]].append(change)
    latest = max(at for changes in packages.values() for at, _ in changes)
    found = []
    for package, changes in packages.items():
        over = [session for session in _sessions(sorted(changes), gap) if session[-1][0] + gap < latest]
        if over:
            minutes, began, longest = max((_minutes(session), session[0][0], session) for session in over)
            lines = sum(count for _, count in longest)
            found.append((package, began.isoformat(), minutes, len(longest), lines, len(over), sum(map(len, over))))
    return sorted(found, key=lambda row: (-row[2], row[0]))


def _sessions(changes: Sequence[Change], gap: timedelta) -> Iterator[list[Change]]:
    session: list[Change] = []
    for change in changes:
        if session and change[0] - session[-1][0] > gap:
            yield session
            session = []
        session.append(change)
    yield session


def _minutes(session: Sequence[Change]) -> int:
    return (session[-1][0] - session[0][0]) // timedelta(minutes=1)


if __name__ == "__main__":
    sys.exit(main())
