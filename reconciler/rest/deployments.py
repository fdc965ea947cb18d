"""What is wished of pipelines, and the processes that carry it out.

- A wish (`registry.model.Deployment`) is written down before anything is done for it. A service that is killed leaves
  wishes, and the next one takes up what is to run (`take_up`), when the run that was left has ended, however long that
  takes.
- A pipeline that is to run has one process of the server's, which applies what the files say and then runs
  (`work.WORK`). That is begun only when apply would not refuse the plan; else the pipeline awaits approval, of that plan and
  no other, and nothing is touched. That plan may be approved, or carried out, by other means: then the start goes on.
- Who starts with `allow` agrees to the plan of that moment, as if he approved it. Of files that are git's he can't: their
  policy decides. Nor does he take back a rejection, be it his own: such a plan awaits approval.
- When the process ends by itself with an error, the wish becomes to be stopped, and the error stays until it is dismissed.
- One pipeline's wishes are changed one after the other.
"""

import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from reconciler.apply.giving_approval import give_approval
from reconciler.base.boundaries import Boundary, no_boundary
from reconciler.base.digest import JsonObject
from reconciler.base.errors import PlanRejected, ReconcileError
from reconciler.base.moments import this_moment
from reconciler.environment.source import pipeline_names
from reconciler.environment.target import Target
from reconciler.plan.model import Plan
from reconciler.registry.changing import change_document
from reconciler.registry.model import Deployment
from reconciler.rest.descriptions import read_description, remove_requests
from reconciler.rest.errors import Refused, Told, may_pass, no_such_pipeline, told_of, told_of_any
from reconciler.rest.known import wait_for_known
from reconciler.rest.pipeline_processes import PipelineProcesses
from reconciler.rest.same_starts import PAUSED, RUNNING, STOPPED, require_same_start
from reconciler.rest.shown_diff import list_changed, shown_diff
from reconciler.server.asking import Working
from reconciler.server.places import Place
from reconciler.service.pending import Pending, read_pending
from reconciler.service.states import Standing, read_standing
from reconciler.state.controls import pause, resume
from reconciler.state.lifecycle import State
from reconciler.state.stopping import live_run, stop_run
from reconciler.workspace.pipelines import known_pipelines

_POLL_SECONDS: Final = 0.05
_LONGEST_POLL_SECONDS: Final = 1.0


class Deployments:
    """See the module. `logs` is the folder for what the processes say."""

    def __init__(self, target: Target, place: Place, logs: Path, boundary: Boundary = no_boundary) -> None:
        self._target, self._boundary = target, boundary
        self._processes = PipelineProcesses(target, place, logs)
        self._locks: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)
        self._workers: dict[str, Working] = {}
        self._stopping: set[str] = set()
        self._left: set[str] = set()
        self._clearing: dict[str, Working] = {}
        self._awaited: dict[str, tuple[str, JsonObject]] = {}
        self._reached: dict[str, str] = {}
        self._is_ending = False

    def lock(self, pipeline: str) -> threading.RLock:
        """Held by whoever changes what is wished of a pipeline, or its files."""
        return self._locks[pipeline]

    def wish(self, pipeline: str) -> Deployment:
        """What is wished of a pipeline; of one of which nobody wished anything, that it is stopped."""
        found = self._target.registry.document(pipeline, Deployment)
        return Deployment() if found is None else found.value

    def is_worked_on(self, pipeline: str) -> bool:
        """Whether a process of this service applies or runs the pipeline, or the service is about to stop its run, or to
        take it up."""
        return pipeline in self._workers or pipeline in self._stopping or pipeline in self._left

    def is_clearing(self, pipeline: str) -> bool:
        """Whether what is stored of the pipeline is being removed."""
        return pipeline in self._clearing

    def status(self, pipeline: str, wish: Deployment, standing: Standing) -> str:
        """`deployment_status`, by the names that the client knows. A run that lets somebody else have the lease for a moment
        runs all the while."""
        state = standing.state
        if wish.awaits:
            return "AwaitingApproval"
        is_worked_on = self.is_worked_on(pipeline)
        if wish.desired == STOPPED and is_worked_on:
            return "Stopping"
        if state in (State.STOPPED, State.FAILED, State.AWAITING_APPROVAL):
            return "Initializing" if is_worked_on else "Stopped"
        if state in (State.RUNNING, State.PAUSED):
            self._reached[pipeline] = wish.incarnation
        if standing.is_between_steps and self._reached.get(pipeline) == wish.incarnation:
            return wish.desired.capitalize()
        return state.value

    def log_of(self, pipeline: str) -> Path:
        """What the processes of a pipeline said."""
        return self._processes.log_of(pipeline)

    def is_stopped(self, pipeline: str) -> bool:
        """Whether nothing runs, and nothing is to."""
        return (
            self.wish(pipeline).desired == STOPPED
            and not self.is_worked_on(pipeline)
            and live_run(self._target.registry, pipeline) is None
        )

    def require_stopped(self, pipeline: str, what: str, code: str = "UpdateRestrictedToStopped") -> None:
        """Raises Refused, by default with the code of changes, unless the pipeline is stopped."""
        if not self.is_stopped(pipeline):
            raise Refused(400, code, f"{what} requires that pipeline {pipeline} is stopped")
        if self.is_clearing(pipeline):
            raise Refused(400, "CannotStartWhileClearingStorage", f"the storage of pipeline {pipeline} is being cleared")

    def start(self, pipeline: str, initial: str, policy: str, by: str, *, dismisses: bool = False) -> None:
        """Have a pipeline run, or be paused. Raises Refused, and ReconcileError as planning does."""
        with self.lock(pipeline):
            # It may have been deleted since it was looked at.
            if pipeline not in pipeline_names(self._target.root) and pipeline not in known_pipelines(self._target):
                raise no_such_pipeline(pipeline)
            wish = self.wish(pipeline)
            if wish.desired != STOPPED and (self.is_worked_on(pipeline) or wish.awaits):
                require_same_start(pipeline, wish, initial, policy)
                return
            if not self._is_left_alone(pipeline, wish):
                self.require_stopped(pipeline, "a start", "IllegalPipelineAction")
            if wish.error is not None and not dismisses:
                message = f"pipeline {pipeline} has an error that was not dismissed: {wish.error['message']}"
                raise Refused(400, "CannotStartWithUndismissedError", message)
            new = Deployment(initial, this_moment(), by, str(uuid.uuid4()), policy=policy, initial=initial, life=wish.life)
            self._go_on(pipeline, new, self._agreed(pipeline, new))

    def approve(self, pipeline: str, by: str) -> None:
        """Approve the plan that a pipeline waits with. Raises Refused, and ReconcileError where the approval would not
        count."""
        with self.lock(pipeline):
            wish = self.wish(pipeline)
            if not wish.awaits:
                raise Refused(400, "IllegalPipelineAction", f"pipeline {pipeline} does not await approval")
            pending = self._pending(pipeline)
            if pending is not None and pending.refusal is not None:
                if pending.plan.digest != wish.awaits:
                    self._await(pipeline, wish, pending.plan)
                    message = (
                        f"the plan of pipeline {pipeline} changed since it was shown: look at it again, and approve that"
                    )
                    raise Refused(409, "PlanChanged", message)
                give_approval(self._target, pending.plan, by, "approved through the API")
                pending = self._pending(pipeline)
            self._go_on(pipeline, wish, pending)

    def go_on(self, pipeline: str) -> None:
        """Go on with a start whose plan needs nobody any more: it was approved, or carried out, by other means."""
        with self.lock(pipeline):
            wish = self.wish(pipeline)
            pending = self._pending(pipeline) if wish.awaits and not self._is_ending else None
            if pending is None or pending.refusal is not None or live_run(self._target.registry, pipeline) is not None:
                return
            if pending.plan.digest == wish.awaits or pending.plan.changes_nothing:
                self._go_on(pipeline, wish, pending)

    def pause(self, pipeline: str, by: str) -> None:
        """Have a pipeline that runs take no input."""
        with self.lock(pipeline):
            self._require_started(pipeline, "PauseWhileNotProvisioned")
            pause(self._target.registry, pipeline, by)
            self._change(pipeline, lambda now: replace(now, desired=PAUSED))

    def resume(self, pipeline: str, by: str) -> None:
        """Have a pipeline that is paused take input again."""
        with self.lock(pipeline):
            self._require_started(pipeline, "ResumeWhileNotProvisioned")
            resume(self._target.registry, pipeline, by)
            self._change(pipeline, lambda now: replace(now, desired=RUNNING))

    def stop(self, pipeline: str, by: str, *, force: bool) -> None:
        """Have a pipeline stop: after its step and with a checkpoint, or at once. It has not stopped yet when this returns.
        What waits for an approval is touched by nothing, and waits no more."""
        with self.lock(pipeline):
            self._change(pipeline, lambda now: _stopped(now, by))
            self._left.discard(pipeline)
            working = self._workers.get(pipeline)
            is_live = live_run(self._target.registry, pipeline) is not None
            if working is not None and not force:
                working.ask_to_end()
            elif is_live:
                self._stopping.add(pipeline)
                self._in_background(self._stop_run, pipeline, by, force)
            elif working is not None:
                working.kill()

    def dismiss_error(self, pipeline: str) -> None:
        """Take the error away."""
        with self.lock(pipeline):
            self._change(pipeline, lambda now: replace(now, error=None))

    def clear(self, pipeline: str, by: str) -> None:
        """Remove all that is stored of a pipeline. It is not gone yet when this returns."""
        with self.lock(pipeline):
            if self.is_clearing(pipeline):
                return
            self.require_stopped(pipeline, "clearing storage", "StorageStatusImmutableUnlessStopped")
            self._change(pipeline, lambda now: replace(now, life=""))
            if not read_standing(self._target, pipeline).is_applied:
                remove_requests(self._target, pipeline)
                return
            self._clearing[pipeline] = working = self._processes.begin("clear", pipeline, by=by)
            self._in_background(self._see_through_clearing, pipeline, working)

    def forget(self, pipeline: str) -> None:
        """Wish nothing any more of a pipeline that is deleted."""
        self._change(pipeline, lambda now: Deployment())
        self.log_of(pipeline).unlink(missing_ok=True)

    def awaited_diff(self, pipeline: str, wish: Deployment) -> JsonObject | None:
        """The seed's diff object of the plan that waits for an approval."""
        if not wish.awaits:
            return None
        known = self._awaited.get(pipeline)
        if known is None or known[0] != wish.awaits:
            pending = self._pending(pipeline)
            if pending is None:
                return None
            # The files may say something else by now: what is kept under a digest is of that plan.
            known = self._awaited[pipeline] = pending.plan.digest, shown_diff(pending.plan)
        return known[1]

    def take_up(self) -> None:
        """Go on with what was wished before this service was started."""
        for pipeline in wait_for_known(self._target):
            with self.lock(pipeline):
                if self.is_worked_on(pipeline):
                    continue
                try:
                    wish = self.wish(pipeline)
                except (ReconcileError, OSError):
                    # It is looked at again, by itself.
                    wish = None
                if wish is None or (wish.desired != STOPPED and not wish.awaits):
                    self._left.add(pipeline)
                    self._in_background(self._take_up, pipeline, None if wish is None else wish.incarnation)

    def end(self) -> None:
        """End what runs, and wait for it; what is wished stays."""
        self._is_ending = True
        for working in list(self._workers.values()):
            working.ask_to_end()
        while self._workers or self._clearing:
            time.sleep(_POLL_SECONDS)

    def _take_up(self, pipeline: str, incarnation: str | None) -> None:
        """Go on with one pipeline, when what the service before left running has ended."""
        wait = _POLL_SECONDS
        while not self._has_taken_up(pipeline, incarnation):
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_POLL_SECONDS)

    def _has_taken_up(self, pipeline: str, incarnation: str | None) -> bool:
        """Take a pipeline up if nobody runs it any more. Whether there is nothing left to do. `incarnation`: the start that
        is gone on with; None: any."""
        with self.lock(pipeline):
            if pipeline not in self._left or self._is_ending:
                return True
            try:
                if live_run(self._target.registry, pipeline) is not None:
                    return False
                wish = self.wish(pipeline)
                if wish.desired != STOPPED and not wish.awaits and incarnation in (None, wish.incarnation):
                    self._go_on(pipeline, wish, self._pending(pipeline))
            except Exception as error:
                if may_pass(error):
                    return False
                # Where the wish itself is damaged, whoever looks at the pipeline is told that.
                with suppress(ReconcileError, OSError):
                    self._give_up(pipeline, told_of_any(error))
            self._left.discard(pipeline)
            return True

    def _is_left_alone(self, pipeline: str, wish: Deployment) -> bool:
        """Whether a pipeline is wished to run and nobody cares: who saw its run end could not write that down."""
        is_wished = wish.desired != STOPPED and not wish.awaits
        return is_wished and not self.is_worked_on(pipeline) and live_run(self._target.registry, pipeline) is None

    def _pending(self, pipeline: str) -> Pending | None:
        return read_pending(self._target, pipeline)

    def _agreed(self, pipeline: str, wish: Deployment) -> Pending | None:
        """What waits to be applied, with the consent that the start itself is."""
        pending = self._pending(pipeline)
        if pending is None or pending.refusal is None or isinstance(pending.refusal, PlanRejected):
            return pending
        if pending.rejections:
            # Who said no takes that back by an approval of this plan, not by a start.
            return pending
        if wish.policy == "allow" and read_description(self._target, pipeline) is not None:
            give_approval(self._target, pending.plan, wish.by, "started with bootstrap_policy=allow")
            return self._pending(pipeline)
        return pending

    def _go_on(self, pipeline: str, wish: Deployment, pending: Pending | None) -> None:
        """Begin what is wished, if the plan may be carried out; else await approval, or give up."""
        if pending is not None and wish.policy == "reject" and not pending.plan.is_first and not pending.plan.diff.is_empty:
            diff = shown_diff(pending.plan)
            message = f"pipeline {pipeline} was changed, and it was started with bootstrap_policy=reject{list_changed(diff)}"
            self._give_up(pipeline, Told(400, "BootstrapRejected", message, {"approval_diff": diff}))
            return
        match pending:
            case Pending(refusal=PlanRejected() as refusal):
                self._give_up(pipeline, Told(400, "BootstrapRejected", told_of(refusal).message))
                return
            case Pending(plan=plan, refusal=ReconcileError()):
                self._await(pipeline, wish, plan)
                return
        is_applied = read_standing(self._target, pipeline).is_applied
        if not is_applied:
            # What stands there was for tables that are no more.
            remove_requests(self._target, pipeline)
            wish = replace(wish, life=str(uuid.uuid4()))
        (pause if wish.desired == PAUSED else resume)(self._target.registry, pipeline, wish.by)
        self._change(pipeline, lambda now: replace(wish, awaits="", error=None))
        self._boundary("deployment:recorded")
        self._workers[pipeline] = working = self._processes.start(pipeline)
        self._in_background(self._see_through, pipeline, working, wish.incarnation)

    def _await(self, pipeline: str, wish: Deployment, plan: Plan) -> None:
        self._awaited[pipeline] = plan.digest, shown_diff(plan)
        self._change(pipeline, lambda now: replace(wish, awaits=plan.digest, error=None))

    def _give_up(self, pipeline: str, told: Told) -> None:
        self._change(
            pipeline, lambda now: replace(now, desired=STOPPED, awaits="", error=told.to_json(), since=this_moment())
        )

    def _change(self, pipeline: str, change: Callable[[Deployment], Deployment]) -> None:
        def changed(before: Deployment | None) -> Deployment | None:
            after = change(before or Deployment())
            return None if after == before else after

        change_document(self._target.registry, pipeline, Deployment, changed)

    def _require_started(self, pipeline: str, code: str) -> None:
        wish = self.wish(pipeline)
        if self.is_stopped(pipeline):
            raise Refused(400, code, f"pipeline {pipeline} is stopped: start it first")
        if wish.awaits:
            raise Refused(400, code, f"pipeline {pipeline} awaits approval: approve, or stop it first")
        if wish.desired == STOPPED and self.is_worked_on(pipeline):
            raise Refused(400, code, f"pipeline {pipeline} is stopping: start it again when it has stopped")

    def _see_through(self, pipeline: str, working: Working, incarnation: str) -> None:
        code = working.wait()
        working.close()
        with self.lock(pipeline):
            self._workers.pop(pipeline, None)
            wish = self.wish(pipeline)
            if self._is_ending or wish.desired == STOPPED or wish.incarnation != incarnation:
                return
            if code == 0:
                # Somebody stopped the run by other means.
                self._change(pipeline, lambda now: replace(now, desired=STOPPED, since=this_moment()))
            else:
                self._give_up(pipeline, self._processes.told_by(pipeline, code))

    def _see_through_clearing(self, pipeline: str, working: Working) -> None:
        code = working.wait()
        working.close()
        with self.lock(pipeline):
            self._clearing.pop(pipeline, None)
            if code != 0 and not self._is_ending:
                self._give_up(pipeline, self._processes.told_by(pipeline, code))

    def _stop_run(self, pipeline: str, by: str, force: bool) -> None:
        try:
            stop_run(self._target, pipeline, by, force=force)
        except ReconcileError as error:
            self._give_up(pipeline, told_of(error))
        finally:
            self._stopping.discard(pipeline)

    def _in_background(self, work: Callable[..., None], *arguments: Any) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()


def _stopped(wish: Deployment, by: str) -> Deployment:
    if wish.desired == STOPPED and not wish.awaits:
        return wish
    return replace(wish, desired=STOPPED, awaits="", since=this_moment(), by=by)
