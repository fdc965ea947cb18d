"""Requests as their writer stores them: what was acknowledged is not lost, whoever dies and when."""

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reconciler.engine import http_requests
from reconciler.engine.http_requests import Waiting, next_number, numbers, place_of, remove_read, store, waiting
from reconciler.testing.crashes import Crash, crash_at

BOUNDARIES = ("request:before", "request:intended", "request:effected")
"""Where a request is whole but nowhere; where it has a number that is not yet written down; where it stands."""
WRITER = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from reconciler.base.boundaries import boundary_from_environment
from reconciler.engine.http_requests import store

folder, who, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
boundary = boundary_from_environment(os.environ)

def one(n):
    number = store(folder, f"{who} {n}".encode(), 1, boundary)
    os.write(1, f"{number} {who} {n}\\n".encode())

with ThreadPoolExecutor(2) as threads:
    list(threads.map(one, range(count)))
"""


def writer(folder: Path, who: str, count: int, crash_at: str | None = None) -> "subprocess.Popen[str]":
    """A process that stores so many requests from two threads, and says of each which number it got."""
    environment = os.environ | ({"RECONCILE_CRASH_AT": crash_at} if crash_at is not None else {})
    command = [sys.executable, "-c", WRITER, str(folder), who, str(count)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def said(process: "subprocess.Popen[str]") -> dict[int, str]:
    """What a process acknowledged, by number."""
    lines, _ = process.communicate(timeout=60)
    return {int(number): text for number, _, text in (line.partition(" ") for line in lines.splitlines())}


def texts(folder: Path) -> dict[int, str]:
    return {number: place_of(folder, number).read_text() for number in numbers(folder)}


def test_numbers_begin_with_one_and_only_rise(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "yet"
    assert (numbers(folder), next_number(folder), waiting(folder, 1)) == ([], 1, Waiting(0, 0))
    assert remove_read(folder, 5) == 0

    assert [store(folder, text) for text in (b"a", b"bc")] == [1, 2]
    assert [store(folder, b"def", 10), store(folder, b"", 4)] == [10, 11]

    assert texts(folder) == {1: "a", 2: "bc", 10: "def", 11: ""}
    assert waiting(folder, 2) == Waiting(3, 5)
    assert sorted(os.listdir(folder)) == [".last", *(f"{number:020d}.jsonl" for number in (1, 2, 10, 11))]


def test_a_number_is_not_given_again_though_its_request_was_removed(tmp_path: Path) -> None:
    for _ in range(3):
        store(tmp_path, b"x")

    assert (remove_read(tmp_path, 3), numbers(tmp_path)) == (2, [3])
    assert (remove_read(tmp_path, 9), numbers(tmp_path)) == (1, [])

    assert next_number(tmp_path) == 9
    assert store(tmp_path, b"x") == 9


@pytest.mark.parametrize("last", [None, "", f"{2:020d}", "no number at all, but long"])
def test_requests_are_listed_where_the_last_number_is_not_known(last: str | None, tmp_path: Path) -> None:
    for _ in range(5):
        store(tmp_path, b"x")
    (tmp_path / ".last").unlink()
    if last is not None:
        (tmp_path / ".last").write_text(last)

    assert next_number(tmp_path) == 6
    assert [store(tmp_path, b"y"), store(tmp_path, b"z")] == [6, 7]


def test_what_can_not_be_stored_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object) -> None:
        raise OSError(28, "No space left on device")

    store(tmp_path, b"x")
    monkeypatch.setattr(http_requests.os, "link", no_room)
    with pytest.raises(OSError, match="No space"):
        store(tmp_path, b"y")
    monkeypatch.undo()

    assert sorted(os.listdir(tmp_path)) == [".last", f"{1:020d}.jsonl"]
    assert store(tmp_path, b"z") == 2


def test_several_processes_store_at_once_while_another_reads(tmp_path: Path) -> None:
    writers = [writer(tmp_path, who, 150) for who in ("one", "other")]
    next_, read = 1, dict[int, str]()
    deadline = time.monotonic() + 60
    while len(read) < 300 and time.monotonic() < deadline:
        for number in numbers(tmp_path):
            if number >= next_:
                read[number] = place_of(tmp_path, number).read_text()
        next_ = max(read, default=0) + 1
        remove_read(tmp_path, next_ - 5)

    acknowledged = {number: text for one in writers for number, text in said(one).items()}
    assert read == acknowledged
    assert sorted(read) == list(range(1, 301))


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_killed_process_loses_nothing_that_it_acknowledged(boundary: str, tmp_path: Path) -> None:
    dying = writer(tmp_path, "dying", 40, f"{boundary}#21")
    acknowledged = said(dying)
    assert dying.returncode == -signal.SIGKILL
    acknowledged |= said(writer(tmp_path, "next", 10))

    stored = texts(tmp_path)
    assert acknowledged.items() <= stored.items()
    assert len(set(stored.values())) == len(stored)
    assert len(acknowledged) >= 10 + 20 - 3

    left = [name for name in os.listdir(tmp_path) if name.endswith(".part")]
    remove_read(tmp_path, 1)
    assert set(left) <= set(os.listdir(tmp_path)), "somebody may be about to link it"
    for name in left:
        os.utime(tmp_path / name, (time.time() - 4000,) * 2)
    remove_read(tmp_path, 1)
    assert not set(left) & set(os.listdir(tmp_path))
    assert texts(tmp_path) == stored


@pytest.mark.parametrize("seed", range(20))
def test_numbers_rise_whatever_happens(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes die, and so does the machine: then the disk has `.last` as it was flushed last. Whoever stores may not have
    heard how far requests were read."""
    chance, last, flush = random.Random(seed), tmp_path / ".last", os.fsync
    on_disk: list[bytes] = []

    def flushed(descriptor: int) -> None:
        flush(descriptor)
        if last.exists() and os.fstat(descriptor).st_ino == last.stat().st_ino:
            on_disk.append(last.read_bytes())

    monkeypatch.setattr(http_requests.os, "fsync", flushed)
    highest, position = 0, 1
    for _ in range(120):
        match chance.randrange(8):
            case 0:
                with pytest.raises(Crash):
                    store(tmp_path, b"x", chance.randint(1, position), crash_at(chance.choice(BOUNDARIES)))
            case 1 if last.exists():
                last.write_bytes(on_disk[-1] if on_disk else b"")
            case 2:
                position = next_number(tmp_path) + chance.choice((0, 0, 3))
                highest = max(highest, store(tmp_path, b"x", position))
            case 3:
                read = numbers(tmp_path)
                position = max(position, chance.choice(read) + 1 if read else 1)
                remove_read(tmp_path, chance.randint(1, position))
            case _:
                there = numbers(tmp_path)
                number = store(tmp_path, b"x", chance.randint(1, position))
                assert number > max(highest, *there, 0)
                assert number >= position
                highest = number


def test_a_list_of_numbers_leaves_out_none_that_came_before_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where two requests come while a folder is listed: the list may have the second alone."""
    look, looked = os.listdir, list[Path]()

    def listed(folder: Path) -> list[str]:
        looked.append(folder)
        if len(looked) > 1:
            store(tmp_path, b"later")
        names = look(folder)
        return [name for name in names if name != f"{2 * len(looked):020d}.jsonl"]

    for _ in range(3):
        store(tmp_path, b"x")
    monkeypatch.setattr(http_requests.os, "listdir", listed)

    assert numbers(tmp_path) == [1, 2, 3]


def test_threads_share_a_folder(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        got = list(threads.map(lambda n: (store(tmp_path, b"%d" % n), n), range(200)))

    assert sorted(number for number, _ in got) == list(range(1, 201))
    assert texts(tmp_path) == {number: str(n) for number, n in got}
