"""Files of the repository that several processes write at once."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reconciler.environment.source import rewrite_text, write_text

WRITERS = 8
TIMES = 40


def test_of_several_who_write_a_file_at_once_none_fails_and_the_file_is_always_whole(tmp_path: Path) -> None:
    path = tmp_path / "plan.lock"
    texts = {f"{number}\n" * 500 for number in range(WRITERS)}
    write_text(path, min(texts))

    def write(text: str) -> set[str]:
        seen = set()
        for _ in range(TIMES):
            write_text(path, text)
            seen.add(path.read_text())
        return seen

    with ThreadPoolExecutor(WRITERS) as threads:
        seen = set().union(*threads.map(write, sorted(texts)))
    assert seen <= texts
    assert os.listdir(tmp_path) == ["plan.lock"]


def test_who_rewrites_a_file_sees_what_others_wrote(tmp_path: Path) -> None:
    path = tmp_path / "plan.lock"

    def add(number: int) -> None:
        for turn in range(TIMES):
            rewrite_text(path, tmp_path, lambda text, line=f"{number} {turn}\n": (text or "") + line)  # type: ignore[misc]

    with ThreadPoolExecutor(WRITERS) as threads:
        list(threads.map(add, range(WRITERS)))
    assert sorted(path.read_text().split("\n")[:-1]) == sorted(
        f"{one} {turn}" for one in range(WRITERS) for turn in range(TIMES)
    )


def test_what_a_dead_process_left_goes_with_the_next_write_of_that_file(tmp_path: Path) -> None:
    left = [f".plan.lock.{'0a' * 16}.tmp", ".plan.lock.tmp"]
    others = [".plan.lock.mine.tmp", f".other.lock.{'0a' * 16}.tmp", "plan.lock.tmp"]
    for name in left + others:
        (tmp_path / name).write_text("half")
    write_text(tmp_path / "plan.lock", "whole")
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "plan.lock"])


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "plan.lock").mkdir()
    with pytest.raises(OSError):  # noqa: PT011
        write_text(tmp_path / "plan.lock", "text")
    assert os.listdir(tmp_path) == ["plan.lock"]
