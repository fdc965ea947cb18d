"""Crashes in one process, at the boundaries of the shell (`base.boundaries`)."""

from typing import Final

from reconciler.base.boundaries import BEFORE, EFFECTED, INTENDED, RECORDED, Boundary, stop_at

POINTS: Final = (BEFORE, INTENDED, EFFECTED, RECORDED)


class Crash(BaseException):
    """A crash in one process: no `except Exception` on the way may take it for an error that it can handle."""


def crash_at(name: str, occurrence: int = 1) -> Boundary:
    """Raise Crash at the n-th occurrence of a name."""
    return stop_at(name, occurrence, _raise)


def _raise(name: str) -> None:
    raise Crash(name)
