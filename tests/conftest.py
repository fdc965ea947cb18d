"""What tests share: one Spark session and one Kafka broker for the whole run, each started by the first test that asks."""

import gc
import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from reconciler.base.secrets.known_values import forget_secrets
from reconciler.engine.protocol import Engine
from tests.cells import listed
from tests.few_rows import FEW_ROWS
from tests.served import BOTH_WAYS, Servers, both_ways
from tests.sharing_out import WHERE, FilesByNeed, give_way, note_files, place_of_notes

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

    from tests.kafka.broker import Broker

# The same examples in every run: a failure in CI is a failure here. `--hypothesis-profile=explore` looks further.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("steady")

# Tables are small here: threads that deltalake has for large ones only wake each other. It makes them with its first call.
# Processes that tests start have as many.
os.environ.setdefault("TOKIO_WORKER_THREADS", "1")

_NEED_JAVA = frozenset({"spark_engine", "kafka_broker"})


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Whatever asks for Spark or the broker has the marker, so that `-m "not spark"` never starts a JVM. What
    `slow_suite.txt` names is slow; a line that names no test is an error wherever all tests are collected.

    Files with such tests come first: they take longest, and one of them at the end would keep the other processes waiting.
    """
    named, met = listed(), Counter[str]()
    for item in items:
        # What runs both ways says for itself whether it is in every run.
        names = {item.nodeid, item.nodeid.partition("[")[0]} if not _runs_both_ways(item) else set()
        for name in named.keys() & names:
            if not named[name] or met[name] % named[name]:
                item.add_marker(pytest.mark.slow)
            met[name] += 1
        if not _NEED_JAVA.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.spark)
    if config.args == config.getini("testpaths") and met.keys() != named.keys():
        raise pytest.UsageError(f"slow_suite.txt names what is no test: {', '.join(sorted(named.keys() - met.keys()))}")
    long = {item.path for item in items if item.get_closest_marker("spark") and not item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)
    note_files(config, long)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: "WorkerController") -> None:
    """Tell a process of a parallel run where to write which files need Spark."""
    node.workerinput[WHERE] = place_of_notes(node.config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesByNeed | None:
    """Where files stay together, they are shared out by what they need."""
    return FilesByNeed(config, log) if config.getvalue("dist") == "loadfile" else None


def _runs_both_ways(item: pytest.Item) -> bool:
    parameters = getattr(item, "callspec", None)
    return parameters is not None and parameters.params.get("ways") == BOTH_WAYS


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was collected stays until the end: nobody looks for rubbish in it again and again."""
    give_way(session.config)
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache for this run, so that the user's own is neither believed nor filled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECONCILE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A transcript with the mark `both_ways` runs once more, with its commands through a server as well: those that the mark
    names in every run, the others in the slow suite. In a file with the mark those are transcripts that have `capsys`.
    Beside a run a repository can't be put back: those with the mark `beside_a_run` run one way."""
    mark = metafunc.definition.get_closest_marker("both_ways")
    is_transcript = mark in metafunc.definition.own_markers or "capsys" in metafunc.fixturenames
    if mark is not None and is_transcript and metafunc.definition.get_closest_marker("beside_a_run") is None:
        marks = () if metafunc.definition.name in mark.args else pytest.mark.slow
        metafunc.parametrize("ways", ["alone", pytest.param(BOTH_WAYS, marks=marks)], indirect=True)


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Servers for all tests."""
    servers = Servers(tmp_path_factory.mktemp("servers"))
    yield servers
    servers.close()


@pytest.fixture(autouse=True)
def ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """How `tests.served.run` runs commands."""
    if getattr(request, "param", "alone") != BOTH_WAYS:
        yield
        return
    with both_ways(request.getfixturevalue("servers")):
        yield


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    """What one test resolves of secrets does not mask what another says."""
    yield
    forget_secrets()


@pytest.fixture(scope="session")
def spark_engine() -> Iterator[Engine]:
    """The engine on Spark, which does by itself what is small. Its JVM starts with the first call that needs it."""
    from reconciler.engine.spark.engine import spark_engine as new_engine

    # It serves for a quarter of an hour: Java compiles what it runs often as well as it can. With one compiler the first
    # four minutes cost a third less, and all of them an eighth more.
    engine = new_engine(FEW_ROWS, lives_long=True)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def kafka_broker() -> Iterator["Broker"]:
    """A real broker (tests/kafka/broker.py says how to use it); it needs Java."""
    from tests.kafka.broker import running

    yield from running()
