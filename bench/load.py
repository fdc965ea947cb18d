"""Many clients at once: 20 pipelines over the API, 25 clients that query and 25 that send rows, for minutes.

    python -m bench.load [--seconds 60]             # 1200 for the figures of README

`reconcile serve` runs with real Spark; clients are those of Feldera, from PyPI. All pipelines are made and started at once.
Each has a table without a key and a view that counts and adds up. Then each client works and waits in turn; how long it
waits is even between half and one and a half of `--pause` seconds, as people and devices do that look or send now and then.

| client | in turn |
|---|---|
| of queries | the view; its rows as Arrow; a count of the table |
| of rows | `input_json` of five rows that waits until they are processed; of one row, without; `execute` of an INSERT |

A client that is told to come again (429, 503) does so by itself; how often is counted. Every other error is one. Rows have
numbers of their own, and each client writes down which were acknowledged: at the end each table has these, each once, and
each view agrees. Memory: `bench/resident.py`. After the first third of the run it counts as flat what grows by less than a
hundredth of itself a minute, or than 2 MiB: of the server, the API and the pipelines by their samples, of Java by what
lives in its heap and what it holds beside that when all garbage was collected, after a third of the run and at its end.

Results stand in bench/results/load.json as well. What is missed is said, and is no error.
"""

import json
import logging
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

import click
from feldera import FelderaClient, Pipeline, PipelineBuilder

from bench.plan import ROOT
from bench.resident import Watch, growth, java_of, settled

RESULTS: Final = ROOT / "bench" / "results" / "load.json"
SQL: Final = """\
CREATE TABLE items (id BIGINT NOT NULL, client INT, amount DECIMAL(12, 2));
CREATE MATERIALIZED VIEW totals AS SELECT client, COUNT(*) AS n, SUM(amount) AS total FROM items GROUP BY client;
"""
_COME_AGAIN: Final = (429, 503)
_LASTING: Final = ("server", "api", "pipelines")
_FLAT_SHARE: Final = 0.01
_FLAT_MIB: Final = 2.0
_MANY: Final = 1_000_000


@dataclass(slots=True)
class Ledger:
    """What clients saw: seconds of each kind of request, errors, answers that say to come again, rows by pipeline."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)
    come_again: Counter[str] = field(default_factory=Counter)
    acknowledged: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    uncertain: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def took(self, kind: str, seconds: float) -> None:
        with self._lock:
            self.seconds[kind].append(seconds)

    def failed(self, what: str, error: Exception) -> None:
        with self._lock:
            self.errors.append(f"{what}: {type(error).__name__}: {str(error)[:500]}")

    def told_to_come_again(self, what: str) -> None:
        with self._lock:
            self.come_again[what] += 1


class Client:
    """One client, in a thread: works and waits, until it is told to end."""

    def __init__(self, pipeline: Pipeline, number: int, ledger: Ledger, pause: float, ends: threading.Event) -> None:
        self._pipeline, self._number, self._ledger, self._pause, self._ends = pipeline, number, ledger, pause, ends
        self._random = random.Random(number)
        self._next = number * _MANY

    def query(self) -> None:
        pipeline = self._pipeline
        kinds: list[tuple[str, Callable[[], object]]] = [
            ("query of the view", lambda: list(pipeline.query("SELECT * FROM totals"))),
            ("query of the view as Arrow", lambda: list(pipeline.query_arrow("SELECT * FROM totals"))),
            ("query that counts", lambda: list(pipeline.query("SELECT COUNT(*) AS n FROM items"))),
        ]
        for kind, act in cycle(kinds):
            if not self._waits():
                return
            self._timed(kind, act)

    def send(self) -> None:
        for kind in cycle(("processed", "acknowledged", "executed")):
            if not self._waits():
                return
            rows = [self._row() for _ in range(5 if kind == "processed" else 1)]
            done = self._timed(kind, lambda kind=kind, rows=rows: self._sent(kind, rows))
            kept = self._ledger.acknowledged if done else self._ledger.uncertain
            kept[self._pipeline.name] |= {row["id"] for row in rows}

    def _sent(self, kind: str, rows: list[dict[str, Any]]) -> None:
        if kind == "executed":
            (row,) = rows
            self._pipeline.execute(f"INSERT INTO items VALUES ({row['id']}, {row['client']}, {row['amount']})")
        else:
            self._pipeline.input_json("items", rows, wait=kind == "processed")

    def _row(self) -> dict[str, Any]:
        self._next += 1
        return {"id": self._next, "client": self._number, "amount": "1.25"}

    def _waits(self) -> bool:
        return not self._ends.wait(self._random.uniform(0.5, 1.5) * self._pause)

    def _timed(self, kind: str, act: Callable[[], object]) -> bool:
        began = time.monotonic()
        try:
            act()
        except Exception as error:
            self._ledger.failed(f"{self._pipeline.name}, {kind}", error)
            return False
        self._ledger.took(kind, time.monotonic() - began)
        return True


@click.command()
@click.option("--seconds", default=60, show_default=True, help="How long the clients work.")
@click.option("--pipelines", default=20, show_default=True, help="How many pipelines there are.")
@click.option("--clients", default=25, show_default=True, help="How many clients query, and how many send rows.")
@click.option("--pause", default=20.0, show_default=True, help="Seconds between two requests of a client, on average.")
@click.option("--results", default=RESULTS, type=click.Path(path_type=Path), help="Where to write them as JSON.")
def main(seconds: int, pipelines: int, clients: int, pause: float, results: Path) -> None:
    """Make and start the pipelines, let the clients work, compare with the ledger, write what was seen as JSON."""
    ledger, busy = Ledger(), [round(os.getloadavg()[1], 1)]
    with tempfile.TemporaryDirectory() as scratch, served(Path(scratch)) as (address, server):
        _count_come_again(ledger)
        names = [f"load_{number}" for number in range(pipelines)]
        found, starts = _started(FelderaClient(address), names)
        click.echo(f"{pipelines} pipelines run; starts took {starts['first']} to {starts['last']} s")
        began = time.monotonic()
        watch = Watch(server, lambda: time.monotonic() - began)
        memory = _at_work(found, ledger, seconds, clients, pause, server)
        watch.end()
        busy.append(round(os.getloadavg()[1], 1))
        problems = _compared(found, ledger)
        for pipeline in found:
            pipeline.stop(force=True)
    document = {
        "seconds": seconds,
        "pipelines": pipelines,
        "clients": 2 * clients,
        "pause": pause,
        "load_average_before_and_after": busy,
        "starts": starts,
        "latencies": {kind: _told(taken) for kind, taken in sorted(ledger.seconds.items())},
        "rows": sum(map(len, ledger.acknowledged.values())),
        "come_again": dict(ledger.come_again),
        "errors": ledger.errors,
        "differences": problems,
        "memory": {**memory, **_growths(watch, seconds / 3)},
        "samples": [{"second": one.second, "processes": one.processes, **one.memory} for one in watch.samples[::6]],
    }
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps(document, indent=2) + "\n")
    click.echo(json.dumps({key: value for key, value in document.items() if key != "samples"}, indent=2))


@contextmanager
def served(root: Path) -> Iterator[tuple[str, int]]:
    """A service of a new repository: its address and process."""
    (root / "reconcile.yaml").write_text("default: dev\nenvironments:\n  dev: {warehouse: .reconcile/warehouse}\n")
    command = [str(Path(sys.executable).with_name("reconcile")), "serve"]
    told = subprocess.run([*command, "--background", "--port", "0"], cwd=root, check=True, capture_output=True, text=True)
    found = re.search(r"process (\d+); API at (http://localhost:\d+);", told.stdout)
    assert found is not None, told.stdout + told.stderr
    try:
        yield found[2], int(found[1])
    finally:
        subprocess.run([*command, "--stop"], cwd=root, check=True, stdout=subprocess.DEVNULL)


class _Answers(logging.Handler):
    """Counts the answers that say to come again: the client hides them by coming again, but its library tells of each."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger

    def emit(self, record: logging.LogRecord) -> None:
        match record.args:
            case (_, _, _, str(method), str(path), _, int(status), _) if status in _COME_AGAIN:
                shown = re.sub(r"/pipelines/[^/]+", "/pipelines/…", path.partition("?")[0])
                self._ledger.told_to_come_again(f"{status} {method} {shown}")


def _count_come_again(ledger: Ledger) -> None:
    logging.getLogger("feldera").setLevel(logging.ERROR)
    told = logging.getLogger("urllib3.connectionpool")
    told.setLevel(logging.DEBUG)
    told.propagate = False
    told.addHandler(_Answers(ledger))


def _started(client: FelderaClient, names: list[str]) -> tuple[list[Pipeline], dict[str, float]]:
    """Pipelines that are made one by one, and started at once; the seconds that starts took."""
    found = [PipelineBuilder(client, name, SQL).create() for name in names]
    began, taken, failed = time.monotonic(), [], []

    def start(pipeline: Pipeline) -> None:
        try:
            pipeline.start()
            taken.append(round(time.monotonic() - began, 1))
        except Exception as error:
            failed.append(f"{pipeline.name}: {error}")

    _all_at_once([lambda one=one: start(one) for one in found])
    if failed:
        raise click.ClickException("\n".join(failed))
    return found, {"first": min(taken), "last": max(taken)}


def _at_work(found: list[Pipeline], ledger: Ledger, seconds: int, clients: int, pause: float, server: int) -> dict[str, Any]:
    """Let the clients work; what Java held after a third of the time, and at the end."""
    ends = threading.Event()
    acts = []
    for number in range(2 * clients):
        client = Client(found[number % len(found)], number, ledger, pause, ends)
        acts.append(client.query if number % 2 else client.send)
    threads = [threading.Thread(target=act, daemon=True) for act in acts]
    for thread in threads:
        thread.start()
    java, until = java_of(server), time.monotonic() + seconds
    time.sleep(seconds / 3)
    before, at = settled(java), time.monotonic()
    time.sleep(max(0.0, until - time.monotonic()))
    ends.set()
    for thread in threads:
        thread.join()
    after, minutes = settled(java), (time.monotonic() - at) / 60
    before_all, after_all = (one["live_heap"] + one["beside"] for one in (before, after))
    slope = (after_all - before_all) / minutes
    told = {"a_minute": round(slope, 2), "flat": _is_flat(slope, before_all)}
    return {"java": {"after_a_third": before, "at_the_end": after, **told}}


def _all_at_once(acts: list[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=act) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _compared(found: list[Pipeline], ledger: Ledger) -> list[str]:
    """What differs between the ledger and the tables, or between tables and views."""
    problems = []
    for pipeline in found:
        pipeline.wait_for_token(pipeline.input_json("items", [], wait=False))
        rows = Counter(row["id"] for row in pipeline.query("SELECT id FROM items"))
        acknowledged, uncertain = ledger.acknowledged[pipeline.name], ledger.uncertain[pipeline.name]
        lost, twice = acknowledged - rows.keys(), [one for one, times in rows.items() if times > 1]
        others = rows.keys() - acknowledged - uncertain
        counted = sum(row["n"] for row in pipeline.query("SELECT n FROM totals"))
        if lost or twice or others or counted != sum(rows.values()):
            differs = f"{len(lost)} lost, {len(twice)} twice, {len(others)} of nobody"
            problems.append(f"{pipeline.name}: {differs}; the view counts {counted} of {sum(rows.values())}")
    return problems


def _told(taken: list[float]) -> dict[str, float]:
    cuts = quantiles(taken, n=100, method="inclusive") if len(taken) > 1 else taken * 99
    return {"requests": len(taken), "p50": round(cuts[49], 3), "p99": round(cuts[98], 3), "most": round(max(taken), 3)}


def _growths(watch: Watch, after: float) -> dict[str, Any]:
    """Of each role that lasts but Spark, and of these together: the mean in MiB, the growth in MiB a minute, whether it is
    flat."""
    found = {}
    for name, roles in {**{role: (role,) for role in _LASTING}, "together": _LASTING}.items():
        slope, level = growth(watch.samples, roles, after)
        found[name] = {"mean": round(level, 1), "a_minute": round(slope, 2), "flat": _is_flat(slope, level)}
    return found


def _is_flat(slope: float, level: float) -> bool:
    return slope <= max(_FLAT_SHARE * level, _FLAT_MIB)


if __name__ == "__main__":
    main()
