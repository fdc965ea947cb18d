"""Where a pipeline stands, without planning: for whoever asks often. `status` says more, at the price of a plan."""

from dataclasses import replace
from datetime import UTC, datetime

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.environment.target import Target
from reconciler.registry.model import Controls, Head, Lease
from reconciler.state.controls import read_controls
from reconciler.state.failed_commands import FailedCommand, died, told_failure
from reconciler.state.lease import is_free, this_process
from reconciler.state.lifecycle import Evidence, State, state_of
from reconciler.state.stopping import report_is_alive


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a pipeline stands: what was seen of it, the lease that somebody holds, its head, what is asked of it, what its
    last run told (`run.reporting`), and the last command that failed, if nothing went well since."""

    seen: Evidence
    lease: Lease | None
    head: Head | None
    controls: Controls
    report: JsonObject
    failed: FailedCommand | None

    @property
    def state(self) -> State:
        """The state, as far as it is known without a plan."""
        return state_of(self.seen)

    def state_with(self, refused: bool) -> State:
        """The state, by whoever planned: `refused` tells whether apply would ask for an approval."""
        return state_of(replace(self.seen, refused=refused))

    @property
    def is_between_steps(self) -> bool:
        """Whether a live run is about to go on, after it handed the lease over for something else than an apply."""
        is_applying = self.seen.command == "apply" or self.seen.apply_open
        return self.state in (State.INITIALIZING, State.BOOTSTRAPPING) and not is_applying

    @property
    def is_applied(self) -> bool:
        """Whether something of it is applied, or an apply of it is open."""
        head = self.head
        return head is not None and (
            head.journal is not None or (head.applied is not None and head.applied.digest is not None)
        )


def read_standing(target: Target, pipeline: str) -> Standing:
    """Where a pipeline stands; one that nobody applied is stopped. Raises RegistryError."""
    stored = target.registry.head(pipeline)
    return standing_with(target, pipeline, stored.value if stored is not None else None)


def standing_with(target: Target, pipeline: str, head: Head | None) -> Standing:
    """Where a pipeline stands whose head was just read. Raises RegistryError."""
    here = this_process("status").host
    found = target.registry.document(pipeline, Lease)
    lease = found.value if found is not None and not is_free(found.value, datetime.now(UTC), here) else None
    controls, report = read_controls(target.registry, pipeline), target.registry.report(pipeline) or {}
    holds = lease is not None and lease.command == "run"
    mine = holds and lease is not None and (lease.host, lease.process) == (report.get("host"), report.get("process"))
    # One that handed the lease over and waits can be seen on its own host only.
    is_alive = "state" in report and (mine or (not holds and report_is_alive(report, here)))
    failed = _failed_command(report, found.value if found is not None else None) if lease is None else None
    seen = Evidence(
        command=lease.command if lease is not None else None,
        told=State(report["state"]) if "state" in report else None,
        told_alive=is_alive,
        stop_wanted=controls.stops,
        apply_open=head is not None and head.journal is not None,
        step_open=head is not None and head.intent is not None,
        command_failed=failed is not None,
    )
    return Standing(seen, lease, head, controls, report, failed)


def _failed_command(report: JsonObject, lease: Lease | None) -> FailedCommand | None:
    """The last command that failed; not a run that told of itself, be it that it lived then."""
    if lease is not None and lease.command == "run" and lease.process == report.get("process"):
        return told_failure(report)
    return told_failure(report) or died(lease)
