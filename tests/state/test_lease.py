"""The writer lease: one holder at a time, takeover of the dead, handover by a live run."""

import json
import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from reconciler.base.errors import LeaseHeld, RegistryConflict, RegistryError
from reconciler.registry.model import Head, Lease, Stored, Value
from reconciler.state.lease import HeldLease, Holder, hold_lease, is_alive, is_free, patience, this_process
from reconciler.testing.memory import MemoryRegistry

ELSEWHERE = Holder("other", "apply", "another-host", "1:1")


def hold(registry: MemoryRegistry, holder: Holder, seconds: float = 60.0) -> AbstractContextManager[HeldLease]:
    return hold_lease(registry, "shop", holder, seconds=seconds, wait_seconds=5)


def test_a_lease_is_free_again_after_the_body() -> None:
    registry = MemoryRegistry()
    with hold(registry, this_process("apply")):
        pass
    with hold(registry, ELSEWHERE):
        pass


def test_the_second_is_told_who_holds_it_since_when() -> None:
    registry = MemoryRegistry()
    with hold(registry, ELSEWHERE) as held:
        lease = registry.document("shop", Lease)
        assert lease is not None
        with pytest.raises(LeaseHeld) as caught, hold(registry, this_process("apply")):
            pytest.fail("two holders")
        assert held.epoch == 1
    assert "another-host" in caught.value.message
    assert lease.value.since in caught.value.message
    assert caught.value.code == "A503"


def test_a_lease_is_released_when_the_body_fails() -> None:
    registry = MemoryRegistry()
    with pytest.raises(ZeroDivisionError), hold(registry, ELSEWHERE):
        _ = 1 / 0
    lease = registry.document("shop", Lease)
    assert lease is not None
    assert lease.value.released


def test_a_dead_process_of_this_host_holds_nothing() -> None:
    mine = this_process("apply")
    lease = Lease("x", "apply", mine.host, "999999999:5", 1, "", _in(60))
    assert is_free(lease, datetime.now(UTC), mine.host)
    assert not is_free(lease, datetime.now(UTC), "another-host")
    assert not is_free(replace(lease, process=mine.process), datetime.now(UTC), mine.host)


def test_a_process_number_that_was_reused_is_another_process() -> None:
    pid = this_process("apply").process.partition(":")[0]
    assert not is_alive(f"{pid}:1")
    assert is_alive(this_process("apply").process)


class RefusingRegistry(MemoryRegistry):
    """Refuses to write leases while `full`."""

    full = False

    def replace_document(self, pipeline: str, token: int | None, document: Value, write_id: str) -> Stored[Value]:
        if self.full and isinstance(document, Lease):
            raise RegistryError("G603", "no space left on device")
        return super().replace_document(pipeline, token, document, write_id)


def test_what_this_process_let_go_is_free_to_it_though_that_could_not_be_written() -> None:
    registry = RefusingRegistry()
    with hold(registry, this_process("apply")):
        registry.full = True
    registry.full = False
    found = registry.document("shop", Lease)
    assert found is not None
    assert not found.value.released
    with hold(registry, this_process("apply")) as held:
        assert held.epoch == 2


def test_an_expired_lease_is_free_everywhere() -> None:
    assert is_free(Lease("x", "run", "h", "1:1", 1, "", _in(-1)), datetime.now(UTC), "another-host")


def test_taking_over_fences_the_head_against_the_former_holder() -> None:
    registry = MemoryRegistry()
    stored = registry.replace_head(None, Head("shop"), "w1")
    registry.replace_document("shop", None, Lease("dead", "apply", "h", "1:1", 4, "", _in(-1)), "w2")
    with hold(registry, this_process("apply")) as held:
        assert held.epoch == 5
        with pytest.raises(RegistryConflict):
            registry.replace_head(stored.token, Head("shop", epoch=4), "late")


def test_a_released_lease_needs_no_fence() -> None:
    registry = MemoryRegistry()
    stored = registry.replace_head(None, Head("shop"), "w1")
    for _ in range(2):
        with hold(registry, this_process("apply")):
            pass
    found = registry.head("shop")
    assert found == stored


def test_a_lease_is_renewed_while_it_is_held() -> None:
    registry = MemoryRegistry()
    with hold(registry, ELSEWHERE, seconds=0.3):
        time.sleep(0.8)
        with pytest.raises(LeaseHeld), hold(registry, this_process("apply")):
            pytest.fail("it expired")


def test_a_holder_whose_lease_was_taken_notices_and_leaves_it_alone() -> None:
    registry = MemoryRegistry()
    with hold(registry, ELSEWHERE, seconds=0.15) as held:
        found = registry.document("shop", Lease)
        assert found is not None
        registry.replace_document("shop", found.token, replace(found.value, holder="thief"), "w")
        assert held.lost.wait(5)
    found = registry.document("shop", Lease)
    assert found is not None
    assert found.value.holder == "thief"
    assert not found.value.released


def test_who_writes_after_a_takeover_is_told_of_it() -> None:
    registry = MemoryRegistry()
    stored = registry.replace_head(None, Head("shop"), "w1")

    def write_late() -> None:
        with hold(registry, ELSEWHERE, seconds=0.2) as held:
            found = registry.document("shop", Lease)
            assert found is not None
            lease, token = replace(found.value, holder="thief", epoch=2), found.token
            registry.replace_document("shop", token, lease, "w2")
            registry.replace_head(stored.token, Head("shop", epoch=2), "w3")
            held.lost.wait(5)
            registry.replace_head(stored.token, Head("shop", epoch=1), "late")

    with pytest.raises(LeaseHeld, match="another process took shop over"):
        write_late()


def test_a_live_run_hands_over_at_its_next_boundary() -> None:
    registry = MemoryRegistry()
    running = Holder("runner", "run", "another-host", "1:1")
    order: list[str] = []

    def run() -> None:
        with hold(registry, running) as held:
            while not held.wanted():
                time.sleep(0.01)
            order.append("step finished")

    thread = threading.Thread(target=run)
    thread.start()
    while registry.document("shop", Lease) is None:
        time.sleep(0.01)
    with hold(registry, this_process("apply")):
        order.append("applying")
    thread.join(5)
    assert order == ["step finished", "applying"]


MOMENTS = [(command, waiting) for command in ("connector", "prune", "stop") for waiting in ("apply", "run", "prune")]


@pytest.mark.parametrize(
    ("command", "waiting"), [*MOMENTS, *(("execute", waiting) for waiting in ("apply", "connector", "execute", "run"))]
)
def test_who_holds_it_for_a_moment_is_waited_for(command: str, waiting: str) -> None:
    registry = MemoryRegistry()
    with hold(registry, Holder("other", command, "another-host", "1:1")) as held:
        threading.Timer(0.3, held.release).start()
        with hold(registry, this_process(waiting)) as mine:
            assert mine.epoch == 2


def test_who_waits_for_a_statement_says_so_once() -> None:
    registry, said = MemoryRegistry(), list[str]()
    with hold(registry, Holder("other", "execute", "another-host", "1:1")) as held:
        threading.Timer(0.7, held.release).start()
        with hold_lease(registry, "shop", this_process("apply"), wait_seconds=5, report=said.append):
            pass
    (line,) = said
    assert line.startswith("waiting for `execute` of shop (on another-host since ")


@pytest.mark.parametrize(
    ("held", "asks", "seconds"),
    [
        ("run", "apply", 1800),
        ("execute", "apply", 120),
        ("execute", "run", 120),
        ("prune", "apply", 10),
        ("apply", "apply", 0),
    ],
)
def test_an_apply_that_would_wait_long_for_a_run_does_not_for_others(held: str, asks: str, seconds: float) -> None:
    assert patience(held, asks, 1800) == seconds


def _in(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def test_who_is_not_to_be_found_in_another_container_of_the_name_is_not_dead() -> None:
    """A process there has a number of its own, which here is nobody's, or somebody else's."""
    inside = (
        "import json; from reconciler.state.lease import this_writer as us; print(json.dumps([us().host, us().process]))"
    )
    contained = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", inside]
    done = subprocess.run(contained, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("no container can be made here")
    host, process = json.loads(done.stdout)
    here = this_process("run").host
    assert host != here
    assert host.partition(" (")[0] == here.partition(" (")[0]
    lease = Lease("x", "run", host, process, 1, "", _in(60))
    assert not is_free(lease, datetime.now(UTC), here)
    assert is_free(replace(lease, host=here, process="999999999:5"), datetime.now(UTC), here)
