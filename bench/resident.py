"""How much memory the processes of a service hold, and whether that grows.

A service is the process of `reconcile serve` and all below it. Each has a role:

| role | processes |
|---|---|
| server | the process that forks the others |
| api | the process that answers over HTTP |
| spark | Java, and the Python processes around it |
| pipelines | the processes that run pipelines, with their guards |
| requests | those that answer one query or statement, with their guards: they come and go, and are counted apart |

Samples are of resident memory less a share of what is shared (PSS): forked processes share most of theirs. Growth is the
slope of the least squares line through the samples after the warm-up, in MiB a minute. Java takes memory until its heap has
the size that it may have, collects late, and gives nothing back: of it the samples tell nothing. So it is told to collect
all garbage, and then `settled` says what lives in its heap, how large the heap has grown, and what the process holds beside
it.
What lives, and what is beside the heap, are what could grow without end; the heap's size has a bound, which is a setting.
"""

import contextlib
import re
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Final

import psutil

_EVERY_SECONDS: Final = 5.0
_LASTING_SECONDS: Final = 20.0
_ROLES: Final = ("server", "api", "spark", "pipelines", "requests")
_HEAP: Final = re.compile(r"(?:generation|heap)\s+total \d+K, used (\d+)K\s+\[0x([0-9a-f]+), 0x[0-9a-f]+, 0x([0-9a-f]+)\)")
"""A generation of Java's heap: what is used, and the addresses between which it lies."""
_MAPPED: Final = re.compile(r"^([0-9a-f]+)-[0-9a-f]+ .*?\n(?:.*\n)*?Pss:\s+(\d+) kB", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sample:
    """MiB by role, at a second of the run; how many processes there were."""

    second: float
    memory: dict[str, float]
    processes: int


class Watch:
    """Samples the processes of a service, until it is ended. `now` is the second of the run."""

    def __init__(self, server: int, now: Callable[[], float]) -> None:
        self._server, self._now = psutil.Process(server), now
        self.samples: list[Sample] = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ends.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ends.wait(_EVERY_SECONDS):
            self.samples.append(self._sample())

    def _sample(self) -> Sample:
        found = dict.fromkeys(_ROLES, 0.0)
        found["server"] += _memory(self._server)
        count = 1
        for child in self._server.children():
            with contextlib.suppress(psutil.NoSuchProcess):
                whole = [child, *child.children(recursive=True)]
                role = _role(child, whole)
                count += len(whole)
                found[role] += sum(map(_memory, whole))
        return Sample(round(self._now(), 1), {role: round(value, 1) for role, value in found.items()}, count)


def java_of(server: int) -> int:
    """The process of Java below a server."""
    for one in psutil.Process(server).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if one.name() == "java":
                return one.pid
    raise LookupError("the server has no Spark")


def pipeline_of(server: int) -> psutil.Process:
    """The process below a server that runs its only pipeline; its guard, which does nothing, is not it."""
    for child in psutil.Process(server).children():
        with contextlib.suppress(psutil.NoSuchProcess):
            whole = [child, *child.children(recursive=True)]
            if len(whole) > 1 and _role(child, whole) != "spark":
                return whole[-1]
    raise LookupError("the server runs no pipeline")


def settled(java: int) -> dict[str, float]:
    """MiB that live in Java's heap after a full collection, that the heap holds, and that the process holds beside it."""
    for what in ("GC.run", "GC.heap_info"):
        told = subprocess.run(["jcmd", str(java), what], capture_output=True, text=True, check=True).stdout
    generations = [(int(used), int(first, 16), int(end, 16)) for used, first, end in _HEAP.findall(told)]
    heap = beside = 0.0
    for start, size in _MAPPED.findall(Path(f"/proc/{java}/smaps").read_text()):
        if any(first <= int(start, 16) < end for _, first, end in generations):
            heap += int(size) / 1024
        else:
            beside += int(size) / 1024
    live = sum(used for used, _, _ in generations) / 1024
    return {"live_heap": round(live, 1), "heap": round(heap, 1), "beside": round(beside, 1)}


def growth(samples: Sequence[Sample], roles: Sequence[str], after: float) -> tuple[float, float]:
    """MiB a minute by which these roles grew after a second of the run, and their mean then."""
    taken = [(one.second / 60, sum(one.memory[role] for role in roles)) for one in samples if one.second >= after]
    if len(taken) < 2:
        return 0.0, 0.0
    middle, level = mean(x for x, _ in taken), mean(y for _, y in taken)
    square = sum((x - middle) ** 2 for x, _ in taken)
    return sum((x - middle) * (y - level) for x, y in taken) / square, level


def _role(child: psutil.Process, whole: list[psutil.Process]) -> str:
    if any(one.name() == "java" for one in whole):
        return "spark"
    if len(whole) == 1 and any(found.status == "LISTEN" for found in child.net_connections("tcp")):
        return "api"
    return "pipelines" if time.time() - child.create_time() > _LASTING_SECONDS else "requests"


def _memory(process: psutil.Process) -> float:
    try:
        text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) / 1024 if found is not None else 0.0
