"""What `status` and the event log say after a command that failed or was killed: an apply, a rollback, a promotion, a
restore, a run. By the command line and the Python interface over real Delta tables, with the recording engine."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.base.digest import JsonObject
from reconciler.base.errors import ApprovalRequired, EngineError, ReconcileError, RegistryError
from reconciler.registry.model import Lease
from reconciler.registry.protocol import Registry
from reconciler.service.pipeline import Pipeline
from reconciler.state.events import Event
from reconciler.state.failed_commands import telling_of_failure
from reconciler.state.lease import hold_lease, this_process
from reconciler.testing.memory import MemoryRegistry
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.shops.lineitem import PROGRAM, YAML, events, happened, live, make, opened
from tests.shops.runs import Reconcile, state, status
from tests.waiting import wait_until

CHANGED = PROGRAM.replace("SELECT part FROM", "SELECT id, part FROM")


class Away(RecordingEngine):
    """An engine that builds no view."""

    def build_view(self, build):  # type: ignore[no-untyped-def]
        raise EngineError("X700", "the engine is away", "bring it back")


def change(root: Path, program: str = CHANGED) -> None:
    (root / "pipelines/shop/program.sql").write_text(program)


def fails(name: str) -> None:
    """At each boundary."""
    raise EngineError("X700", "the engine is away")


def with_versions(root: Path) -> None:
    change(root)
    opened(root).apply()


def staged(root: Path) -> None:
    change(root)
    opened(root).stage()


COMMANDS: dict[str, tuple[Callable[[Path], None], Callable[[Pipeline], object]]] = {
    "apply": (change, lambda shop: shop.observed(boundary=fails).apply()),
    "rollback": (with_versions, lambda shop: shop.observed(boundary=fails).rollback("parts")),
    "promote": (staged, lambda shop: shop.observed(boundary=fails).promote()),
    "apply --no-promote": (change, lambda shop: shop.observed(boundary=fails).stage()),
    "checkpoint restore": (
        lambda root: opened(root).checkpoint("good") and None,
        lambda shop: shop.observed(boundary=fails).restore("good"),
    ),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_failed_is_told(command: str, root: Path, reconcile: Reconcile) -> None:
    prepare, fail = COMMANDS[command]
    opened(root).run_once()
    prepare(root)
    with pytest.raises(EngineError):
        fail(opened(root))
    found = status(root)
    assert found.state.value == "Failed"
    assert "X700: the engine is away" in found.detail
    assert f"`reconcile {command}`" in found.detail
    last = events(root)[-1]
    assert last.event == ("restore failed" if "restore" in command else "apply failed")
    assert last.details == {"command": command, "code": "X700", "message": "the engine is away"}
    assert "X700: the engine is away" in reconcile("status", "shop")
    told = json.loads(reconcile("status", "shop", "--format", "json"))["pipelines"][0]["failed_command"]
    assert (told["command"], told["error"]["code"]) == (command, "X700")
    # What the last run told stays.
    assert found.run is not None
    assert found.run.steps == 1
    # Until something goes well.
    if command == "checkpoint restore":
        opened(root).restore("good")
    elif command == "rollback":
        opened(root).rollback("parts")
    else:
        opened(root).apply()
    assert state(root) == "Stopped"
    assert status(root).failed_command is None


def test_a_first_apply_that_failed_is_told(tmp_path: Path) -> None:
    with pytest.raises(EngineError):
        make(tmp_path, program=PROGRAM, apply=lambda root: opened(root, Away(DeltaWriter())).apply())
    found = status(tmp_path)
    assert (found.state.value, found.run) == ("Failed", None)
    assert "X700: the engine is away" in found.detail
    opened(tmp_path).apply()
    assert state(tmp_path) == "Stopped"


def run_before_it(root: Path) -> None:
    """A run of what was never applied, and then the first apply."""
    with pytest.raises(ReconcileError):
        opened(root).run(stop=lambda: True)
    assert state(root) == "Failed"
    opened(root).apply()


def test_an_apply_forgets_a_run_that_failed(tmp_path: Path) -> None:
    make(tmp_path, program=PROGRAM, apply=run_before_it)
    assert state(tmp_path) == "Stopped"
    assert "A506" not in status(tmp_path).detail


def test_a_run_that_begins_forgets_it(root: Path) -> None:
    change(root)
    with pytest.raises(EngineError):
        opened(root, Away(DeltaWriter())).apply()
    assert state(root) == "Failed"
    opened(root).run_once()
    assert state(root) == "Stopped"


def test_files_that_are_put_back_forget_it(root: Path) -> None:
    change(root)
    with pytest.raises(EngineError):
        opened(root, Away(DeltaWriter())).apply()
    change(root, PROGRAM)
    opened(root).apply()
    assert state(root) == "Stopped"


def test_what_is_refused_is_no_failure(root: Path) -> None:
    (root / "pipelines/shop/pipeline.yaml").write_text(YAML.replace("policy: allow", "policy: await_approval"))
    opened(root).run_once()
    change(root)
    with pytest.raises(ApprovalRequired):
        opened(root).apply()
    assert state(root) == "AwaitingApproval"
    with pytest.raises(ReconcileError):
        opened(root).restore("none")
    assert state(root) == "AwaitingApproval"
    assert not [one for one in happened(root) if "failed" in one]


def test_beside_a_live_run_it_stands_in_the_events_only(root: Path) -> None:
    change(root)
    with live(root):
        wait_until(lambda: state(root) == "Running")
        with pytest.raises(EngineError):
            opened(root, Away(DeltaWriter())).apply()
        assert "apply failed" in happened(root)
        wait_until(lambda: state(root) == "Running")


@pytest.mark.parametrize("command", ["apply", "run", "checkpoint restore"])
def test_a_command_that_was_killed_is_told(command: str, root: Path) -> None:
    """Killed before it wrote anything but its lease, after a run that ended well."""
    opened(root).run_once()
    registry = opened(root).target.registry
    with hold_lease(registry, "shop", this_process(command)):
        found = registry.document("shop", Lease)
        assert found is not None
    dead = registry.document("shop", Lease)
    assert dead is not None
    registry.replace_document("shop", dead.token, replace(found.value, process="999999999:1"), "a test")
    told = status(root)
    assert told.state.value == "Failed"
    assert f"`reconcile {command}` on {found.value.host} died; it began at " in told.detail
    opened(root).run_once()
    assert state(root) == "Stopped"


@pytest.mark.parametrize("command", ["apply", "checkpoint restore"])
def test_a_command_that_was_killed_is_told_no_more_once_one_succeeds_that_has_nothing_to_do(
    command: str, root: Path
) -> None:
    registry = opened(root).target.registry
    with hold_lease(registry, "shop", this_process(command)):
        found = registry.document("shop", Lease)
        assert found is not None
    dead = registry.document("shop", Lease)
    assert dead is not None
    registry.replace_document("shop", dead.token, replace(found.value, process="999999999:1"), "a test")
    assert state(root) == "Failed"
    assert opened(root).apply().did_nothing
    assert state(root) == "Stopped"
    after, head = registry.document("shop", Lease), registry.head("shop")
    assert after is not None
    assert head is not None
    assert after.value.epoch == head.value.epoch > dead.value.epoch, "who comes back after all writes nothing"


def test_a_command_that_has_nothing_to_do_leaves_who_is_at_work_alone(root: Path) -> None:
    registry = opened(root).target.registry
    with hold_lease(registry, "shop", this_process("apply")) as held:
        assert opened(root).apply().did_nothing
        found = registry.document("shop", Lease)
        assert found is not None
        assert found.value.epoch == held.epoch
        held.check()


def test_a_mistake_of_ours_is_told_of_a_run(root: Path) -> None:
    class Mistaken(RecordingEngine):
        def discover(self, connector, settings, position):  # type: ignore[no-untyped-def]
            raise ZeroDivisionError("by nothing")

    with pytest.raises(ZeroDivisionError):
        opened(root, Mistaken(DeltaWriter())).run_once()
    found = status(root)
    assert found.state.value == "Failed"
    assert "U890: unexpected error: ZeroDivisionError: by nothing" in found.detail
    assert happened(root)[-1] == "run failed"


def test_a_registry_that_can_not_be_written_does_not_hide_the_error(root: Path) -> None:
    registry = opened(root).target.registry

    class Unwritable:
        def __getattr__(self, name: str) -> object:
            if name in ("replace_report", "append"):
                raise RegistryError("G603", "no room")
            return getattr(registry, name)

    from reconciler.state.events import Event
    from reconciler.state.failed_commands import telling_of_failure

    with pytest.raises(EngineError, match="away"), telling_of_failure(Unwritable(), "shop", "apply", Event.APPLY_FAILED):  # type: ignore[arg-type]
        fails("")


class WrittenMeanwhile(MemoryRegistry):
    """Somebody else writes the report each time after it was looked at, so often."""

    def __init__(self, times: int, words: JsonObject) -> None:
        super().__init__()
        self._times = times
        self._words = words

    def report(self, pipeline: str) -> JsonObject | None:
        found = super().report(pipeline)
        if self._times > 0:
            self._times -= 1
            self.replace_report(pipeline, {**(found or {}), **self._words, "times": self._times})
        return found


def failing(registry: Registry, code: str) -> None:
    with (
        pytest.raises(EngineError, match="the engine is away"),
        telling_of_failure(registry, "shop", "apply", Event.APPLY_FAILED),
    ):
        raise EngineError(code, "the engine is away")


@pytest.mark.parametrize("times", [1, 3])
def test_what_others_tell_while_a_failure_is_told_stays(times: int) -> None:
    registry = WrittenMeanwhile(times, {"connectors": {"a.left": {"rows": 3}}})
    failing(registry, "X700")
    report = registry.report("shop") or {}
    assert (report["connectors"], report["failed_command"]["error"]["code"]) == ({"a.left": {"rows": 3}}, "X700")


def test_what_others_tell_while_a_failure_is_forgotten_stays() -> None:
    registry = WrittenMeanwhile(0, {})
    failing(registry, "X700")
    busy = WrittenMeanwhile(1, {**(registry.report("shop") or {}), "connectors": {"a.left": {"rows": 3}}})
    busy.replace_report("shop", registry.report("shop") or {})
    with telling_of_failure(busy, "shop", "apply", Event.APPLY_FAILED):
        pass
    report = busy.report("shop") or {}
    assert (report["connectors"], "failed_command" in report) == ({"a.left": {"rows": 3}}, False)


def test_of_two_failures_the_later_one_is_told() -> None:
    later = {
        "command": "promote",
        "host": "elsewhere",
        "error": {"code": "X701", "message": "", "at": "2999-01-01T00:00:00Z"},
    }
    registry = WrittenMeanwhile(1, {"failed_command": later})
    failing(registry, "X700")
    assert (registry.report("shop") or {})["failed_command"] == later
