"""Whatever is killed within a bootstrap, or while a checkpoint is written: what was acknowledged is there, each row once.
The bootstrap ends as if nothing had been. Checkpoints are whole or not there."""

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
import pytest
from feldera import Pipeline
from feldera.enums import BootstrapPolicy, PipelineStatus

from reconciler import Project
from tests.cells import mostly_slow
from tests.rest.conftest import Serving
from tests.rest.test_killed import TABLE, VIEW, Sender, kill_all, kill_http, kill_worker, started_again, workers
from tests.waiting import wait_until

KILLS = (kill_http, kill_worker, kill_all)
WITHIN_A_BOOTSTRAP = (
    "bootstrap_view:before",
    "bootstrap_view:intended",
    "bootstrap_view:effected",
    "publish_view:effected",
    "commit_snapshot:before",
    "commit_snapshot:effected",
)
OF_A_CHECKPOINT = ("checkpoint:before", "checkpoint:effected")


def _cells(places: tuple[str, ...]) -> list[tuple[str, Callable[[Serving], None]]]:
    return [(place, kill) for place in places for kill in KILLS]


@contextmanager
def _gone_or_not() -> Iterator[None]:
    """What is asked of a service that may be killed meanwhile."""
    with contextlib.suppress(Exception):
        yield


def _kill_whom_is_held(service: Serving, kill: Callable[[Serving], None]) -> None:
    """Kill, and let nobody go before the one who is held is dead: those whom nobody needs any more are killed by others."""
    held = service.wait_until_held()
    kill(service)
    wait_until(lambda: not psutil.pid_exists(held))
    service.let_go()


def _rows(pipeline: Pipeline, sender: Sender) -> list[int]:
    """The rows of the table, when all that was sent is processed: those that were acknowledged, each once, and at most some
    whose sender got no answer."""
    pipeline.wait_for_token(pipeline.input_json("items", {"id": 0}))
    found = Counter(row["id"] for row in pipeline.query("SELECT * FROM items"))
    assert max(found.values()) == 1
    assert sender.acknowledged <= found.keys() <= {*range(sender.sent + 1)}
    return sorted(found)


@pytest.mark.parametrize(("place", "kill"), mostly_slow(_cells(WITHIN_A_BOOTSTRAP), ("bootstrap_view:effected", kill_all)))
def test_a_bootstrap_ends_as_if_nothing_had_been_killed(
    own_service: Callable[..., Serving], place: str, kill: Callable[[Serving], None]
) -> None:
    service = own_service()
    pipeline = service.pipeline("ledger", TABLE)
    pipeline.start()
    with Sender(service, "ledger") as sender:
        sender.wait_for_more(10)
        # At once: requests were acknowledged that no step has read.
        pipeline.stop(force=True)
    pipeline.modify(sql=TABLE + VIEW)
    service.hold(place)
    pipeline.start(bootstrap_policy=BootstrapPolicy.ALLOW, wait=False)
    _kill_whom_is_held(service, kill)
    pipeline = started_again(service, "ledger")

    rows = _rows(pipeline, sender)
    undisturbed = service.pipeline("undisturbed", TABLE + VIEW)
    undisturbed.start()
    undisturbed.wait_for_token(undisturbed.input_json("items", [{"id": number} for number in rows]))
    # Of this engine a view is a digest of its query and of all rows that it reads.
    assert list(pipeline.query("SELECT * FROM counted")) == list(undisturbed.query("SELECT * FROM counted"))
    assert Project.open(service.root).pipeline("ledger").plan().changes_nothing
    pipeline.stop(force=True)
    undisturbed.stop(force=True)


@pytest.mark.parametrize(("place", "kill"), mostly_slow(_cells(OF_A_CHECKPOINT), ("checkpoint:effected", kill_http)))
def test_a_checkpoint_that_is_asked_for_is_whole_or_not_there(
    own_service: Callable[..., Serving], place: str, kill: Callable[[Serving], None]
) -> None:
    service = own_service()
    service.pipeline("ledger", TABLE).start()
    with Sender(service, "ledger") as sender:
        sender.wait_for_more(5)
        service.hold(place)

        def ask() -> None:
            with _gone_or_not():
                Pipeline.get("ledger", service.client).checkpoint()

        asking = threading.Thread(target=ask)
        asking.start()
        service.wait_until_held()
        sender.wait_for_more(5)
        if kill is kill_worker:
            # It is the service that is held, which lives on.
            kill(service)
            service.let_go()
        else:
            _kill_whom_is_held(service, kill)
        pipeline = started_again(service, "ledger")
        asking.join()
        sender.wait_for_more(5)
    named = len(_named_checkpoints(service))
    # A service that lives on writes it, whatever was killed beside it.
    assert named == (place == "checkpoint:effected" or kill is kill_worker)
    rows = _rows(pipeline, sender)
    pipeline.checkpoint()
    assert len(_named_checkpoints(service)) == named + 1
    assert pipeline.checkpoints()[-1].processed_records == len(rows)
    pipeline.stop(force=True)


@pytest.mark.slow
@pytest.mark.parametrize("place", OF_A_CHECKPOINT)
@pytest.mark.parametrize("kill", [kill_http, kill_all, lambda service: [one.kill() for one in workers(service)]])
def test_the_checkpoint_of_a_stop_is_whole_or_not_there(
    own_service: Callable[..., Serving], place: str, kill: Callable[[Serving], None]
) -> None:
    service = own_service()
    pipeline = service.pipeline("ledger", TABLE)
    pipeline.start()
    with Sender(service, "ledger") as sender:
        sender.wait_for_more(10)
        service.hold(place)
        pipeline.stop(force=False, wait=False)
        _kill_whom_is_held(service, kill)
        pipeline = started_again(service, "ledger")
        sender.wait_for_more(5)
    _rows(pipeline, sender)
    stops = [one for one in Project.open(service.root).pipeline("ledger").checkpoints() if one.cause == "stop"]
    assert len(stops) == (place == "checkpoint:effected")
    pipeline.stop(force=False)
    assert pipeline.status() == PipelineStatus.STOPPED


def _named_checkpoints(service: Serving) -> list[str]:
    """Those that somebody asked for."""
    return [one.name for one in Project.open(service.root).pipeline("ledger").checkpoints() if one.cause == "named"]
