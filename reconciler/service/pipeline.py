"""One pipeline of a project, and all that can be done with it."""

import getpass
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from reconciler.apply.applying import ApplyResult, apply_pipeline, close_open_apply
from reconciler.apply.explaining import Explanation, explain
from reconciler.apply.giving_approval import record_approval
from reconciler.apply.planning import plan_pipeline
from reconciler.apply.promoting import all_staged, drop_staged, find_staged, plan_promotion, promote
from reconciler.apply.refreshing import RefreshResult, refresh_version
from reconciler.apply.rejecting import reject_plan
from reconciler.apply.removing import plan_removal, remove_pipeline
from reconciler.apply.restore import Restored, WantedRestore, restore_checkpoint
from reconciler.apply.rolling_back import plan_rollback, roll_back
from reconciler.apply.staging import StageResult, stage_pipeline
from reconciler.engine.protocol import Rows
from reconciler.environment.observer import Observer
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.plan.model import Plan
from reconciler.project.program.model import Connector
from reconciler.query.querying import Answer, StepRows, query, read_relations, readable_relations, step_at_time
from reconciler.query.rows import RowDifference, compare_rows
from reconciler.registry.model import AliasMove, Staged
from reconciler.run.connector_controls import Put, pause_connector, put_connector, skip_file
from reconciler.run.pace import Pace
from reconciler.run.running import RunResult, run_pipeline
from reconciler.run.statements import execute
from reconciler.run.stepping import StepResult
from reconciler.service.engines import Engines
from reconciler.service.past_applies import list_applies
from reconciler.service.planned_change import PlannedChange
from reconciler.service.status import read_status
from reconciler.service.status_model import PipelineStatus
from reconciler.state.checkpoints import Checkpoint, create_checkpoint, list_checkpoints
from reconciler.state.controls import pause, read_controls, resume
from reconciler.state.events import LoggedEvent, read_events
from reconciler.state.rejections import Rejection, read_rejections
from reconciler.state.stopping import live_run, stop_run
from reconciler.versions.aliases import put_alias, take_alias_away
from reconciler.versions.history import PastApply, PastProgram, program_at
from reconciler.versions.looking import (
    ObjectVersion,
    VersionDifference,
    VersionedName,
    VersionList,
    compare_versions,
    find_object,
    list_versions,
    read_version,
    versioned_name,
)
from reconciler.versions.rollbacks import Rollback, end_of, rollback_of, rollback_of_pipeline
from reconciler.workspace.desired import Validated, validate_pipeline

if TYPE_CHECKING:
    from reconciler.engine.protocol import Engine
    from reconciler.retention.live_pruning import LivePruning
    from reconciler.retention.pruning import Pruning


class Pipeline:
    """One pipeline of a project. Every call reads files and registry anew."""

    def __init__(self, target: Target, engines: Engines, observer: Observer, name: str) -> None:
        self.target = target
        self.name = name
        self._engines = engines
        self._observer = observer

    def observed(self, **changes: Any) -> Self:
        """The same pipeline, whose work others are told of: `report`, `tell`, `boundary` of an `Observer`."""
        return type(self)(self.target, self._engines, replace(self._observer, **changes), self.name)

    def validate(self) -> Validated:
        """Compile the files; every problem is in `diagnostics`."""
        return validate_pipeline(self.target, self.name)

    def plan(self) -> Plan:
        """The plan from what is applied to what the files say. Needs no JVM."""
        return plan_pipeline(self.target, self.name)

    def explain(self, relation: str | None = None) -> Explanation:
        """The tables and views, each with its place in the plan and why; or one of them in full. Needs no JVM."""
        return explain(self.target, self.name, relation)

    def approve(self, digest: str, by: str = "", comment: str = "", *, override_rejection: bool = False) -> None:
        """Record an approval of the plan with this digest. Raises ReconcileError: where no plan that waits has it (A504),
        where it would not count (A582), where others rejected the plan (A585; `override_rejection`: it counts all the
        same)."""
        who = by or getpass.getuser()
        record_approval(self.target, self.name, digest, who, comment, overrides=override_rejection)

    def reject(self, digest: str, reason: str, by: str = "") -> Plan:
        """Record that somebody rejects the plan with this digest, so that nothing carries it out; that plan. Raises
        ReconcileError where no plan that waits has it (A504)."""
        return reject_plan(self.target, self.name, digest, by or getpass.getuser(), reason).plan

    def rejections(self) -> tuple[Rejection, ...]:
        """Every rejection of a plan of this pipeline, oldest first, whatever became of it since."""
        return read_rejections(self.target.registry, self.name)

    def apply(self) -> ApplyResult:
        """Apply the files. Raises ApprovalRequired or PlanRejected, with nothing touched."""
        return apply_pipeline(self.target, self.name, self._observer.session(self._engines.to_apply(self.name)))

    def close_apply(self) -> None:
        """Close an apply that is open since its process died, whatever the files say: what nobody can have read is undone,
        else the apply is finished. Nothing happens where none is open."""
        head = self.target.registry.head(self.name)
        if head is not None and head.value.journal is not None:
            close_open_apply(self.target, self.name, self._session())

    def removal(self) -> PlannedChange | None:
        """Removing all that is stored of the pipeline, whatever its files say, as a plan that can be looked at and carried
        out. None: nothing is applied."""
        planned = plan_removal(self.target, self.name)
        if planned is None:
            return None
        return PlannedChange(self.target, planned, lambda: remove_pipeline(self.target, self.name, self._session()))

    def stage(self) -> StageResult:
        """Build new versions of views beside those that serve, without making them active. Raises ApprovalRequired or
        PlanRejected, with nothing touched."""
        return stage_pipeline(self.target, self.name, self._observer.session(self._engines.to_apply(self.name)))

    def staged(self, name: str | None = None) -> Staged:
        """What is staged, all of it. `name` (`revenue@v3`): only if that is staged. Raises NotFound (A571)."""
        return all_staged(self.target, self.name) if name is None else find_staged(self.target, self._named(name))[1]

    def promotion(self, staged: Staged) -> PlannedChange:
        """Making active what is staged, as a plan that can be looked at and carried out."""
        return PlannedChange(
            self.target,
            plan_promotion(self.target, self.name, staged),
            lambda: promote(self.target, self.name, staged, self._session()),
        )

    def plan_promotion(self, name: str | None = None) -> Plan:
        """The plan of `promote`."""
        return plan_promotion(self.target, self.name, self.staged(name)).plan

    def promote(self, name: str | None = None) -> ApplyResult:
        """Make active what is staged, all of it. `name` (`revenue@v3`): only if that is staged."""
        return promote(self.target, self.name, self.staged(name), self._session())

    def unstage(self) -> Staged:
        """Drop what is staged; what was."""
        return drop_staged(self.target, self.name, self._session())

    def refresh_version(self, name: str) -> RefreshResult:
        """Compute a version of a view that is not active (`revenue@v1`) once, from what is published now."""
        return refresh_version(self.target, self._named(name), self._session())

    def rollback_of(self, name: str, kind: str | None = None) -> Rollback:
        """To give an object an earlier version: `revenue@v1`, or of `revenue` the version that was active before."""
        return rollback_of(self.target, self._named(name), kind)

    def rollback_of_all(self, to: str) -> Rollback:
        """To give the pipeline the definitions of an earlier registry version (`history` has the numbers), or of a time."""
        return rollback_of_pipeline(self.target, self.name, to)

    def end_of_rollback(self, name: str | None = None, kind: str | None = None) -> Rollback:
        """To let the files hold again for an object, or for all that is rolled back."""
        return end_of(self.target, self._named(name) if name is not None else None, self.name, kind)

    def rolling_back(self, rollback: Rollback, only: str = "") -> PlannedChange:
        """A rollback, as a plan that can be looked at and carried out; `only`: it is carried out if its plan has this digest
        then, else that raises ReconcileError (A504)."""
        return PlannedChange(self.target, plan_rollback(self.target, rollback), lambda: self._roll_back(rollback, only))

    def plan_rollback(self, name: str, kind: str | None = None) -> Plan:
        """The plan of `rollback`."""
        return plan_rollback(self.target, self.rollback_of(name, kind)).plan

    def rollback(self, name: str, kind: str | None = None) -> ApplyResult:
        """Give an object an earlier version, until the files say something else: `revenue@v1`, or of `revenue` the version
        that was active before. Raises ApprovalRequired or PlanRejected, with nothing touched."""
        return self._roll_back(self.rollback_of(name, kind))

    def rollback_to(self, registry_version: int | datetime) -> ApplyResult:
        """Give the pipeline the definitions of an earlier registry version (`history` has the numbers), or of a time."""
        to = registry_version.isoformat() if isinstance(registry_version, datetime) else str(registry_version)
        return self._roll_back(self.rollback_of_all(to))

    def end_rollback(self, name: str | None = None, kind: str | None = None) -> ApplyResult:
        """Let the files hold again for an object, or for all that is rolled back."""
        return self._roll_back(self.end_of_rollback(name, kind))

    def _roll_back(self, rollback: Rollback, only: str = "") -> ApplyResult:
        return roll_back(self.target, rollback, self._session(), only)

    def run(
        self,
        *,
        once: bool = False,
        interval_seconds: float = 1.0,
        stop: Callable[[], bool] = lambda: False,
        abandon: Callable[[str], None] | None = None,
        warmed: Callable[[], None] = lambda: None,
    ) -> RunResult:
        """Ingest what the inputs have and bring every view up to date, until `stop` says so (asked between two steps), or
        `once`. `interval_seconds`: how often to look for new input, at most, while there is none. `abandon` is called with
        the reason where somebody forces the run to end within a step; it must not return. `warmed` is called once the engine
        is warm."""
        engine = self._engines.to_work_on(self.name) if once else self._engines.to_run(self.name)
        session = self._observer.session(engine)
        upkeep = None if once else self._live_pruning(engine)
        pace = Pace(once, interval_seconds, stop, abandon, upkeep, warmed)
        return run_pipeline(self.target, self.name, session, pace)

    def run_once(self) -> RunResult:
        """Ingest what the inputs have and bring every view up to date."""
        return self.run(once=True)

    def is_live(self) -> bool:
        """Whether a run of this pipeline is live."""
        return live_run(self.target.registry, self.name) is not None

    def is_paused(self) -> bool:
        """Whether the pipeline takes no input until it is resumed."""
        return read_controls(self.target.registry, self.name).paused

    def stop(self, *, force: bool = False) -> bool:
        """Have the live run of this pipeline end, and wait until it has. False: there was none."""
        return stop_run(self.target, self.name, getpass.getuser(), force=force, tell=self._observer.tell)

    def pause(self) -> None:
        """Have the pipeline take no input until it is resumed, over restarts."""
        pause(self.target.registry, self.name, getpass.getuser())

    def resume(self) -> bool:
        """Have the pipeline take input again; whether it was paused."""
        return resume(self.target.registry, self.name, getpass.getuser())

    def pause_connector(self, connector: str) -> Connector:
        """Pause one connector (`table.connector`, or its own name where no other has it), over restarts."""
        return pause_connector(self.target, self.name, connector, True, getpass.getuser())

    def resume_connector(self, connector: str) -> Connector:
        """Take back a pause of one connector, said or declared."""
        return pause_connector(self.target, self.name, connector, False, getpass.getuser())

    def seek_connector(self, connector: str, to: Any) -> Put:
        """Have an input read on from `to`, or an output go on from there. A live run does it between two steps."""
        return put_connector(self.target, self.name, connector, to, getpass.getuser(), self._observer)

    def skip_file(self, connector: str, file: str) -> Put:
        """Have an input of files go on without one of them, whatever it holds. A live run does it between two steps."""
        return skip_file(self.target, self.name, connector, file, getpass.getuser(), self._observer)

    def events(self, limit: int | None = None) -> tuple[LoggedEvent, ...]:
        """What happened to the pipeline while it ran: the last events, oldest first."""
        return read_events(self.target.registry, self.name, limit)

    def execute(self, sql: str) -> StepResult:
        """Run one INSERT or DELETE on a table and bring every view up to date."""
        return execute(self.target, self.name, sql, self._session())

    def select(self, sql: str, at_step: int | None = None) -> Rows:
        """Run a SELECT at the published step, or at an earlier one; columns and rows."""
        return self.answer(sql, at_step).rows

    def answer(self, sql: str, at_step: int | None = None) -> Answer:
        """Run a SELECT; its rows, and the step at which they were read."""
        return query(self.target, self.name, sql, self._engines.to_work_on(self.name), at_step)

    def readable(self) -> Mapping[str, tuple[str, ...]]:
        """What queries may read of what is applied: tables, views and streams by name, each with its columns, as far as they
        are known without Spark."""
        return readable_relations(self.target, self.name)

    def step_at(self, time: datetime) -> int:
        """The last step that was published by a time, for reading as of it."""
        return step_at_time(self.target, self.name, time)

    def query(self, sql: str, at_step: int | None = None) -> Iterator[dict[str, Any]]:
        """Run a SELECT at the published step, or at an earlier one; rows as dictionaries."""
        return self.select(sql, at_step).as_dictionaries()

    def read_step(self, relations: Sequence[str], step: int | None = None) -> StepRows:
        """All rows of several tables and views, all of them at one step: the last one, or an earlier one."""
        return read_relations(self.target, self.name, relations, self._engines.to_work_on(self.name), step)

    def checkpoint(self, name: str | None = None) -> Checkpoint:
        """Write a checkpoint of the last published step, under this name (default: `step-N`)."""
        return create_checkpoint(self.target, self.name, name)

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The last checkpoints, oldest first."""
        return list_checkpoints(self.target, self.name)

    def restore(
        self,
        checkpoint: str,
        from_pipeline: str | None = None,
        *,
        replaces: bool = False,
        approve_as: str | None = None,
    ) -> Restored:
        """Go back to a checkpoint, or take over another pipeline's; `replaces`: in place of what is applied here. Raises
        ApprovalRequired where another program comes into force by it; `approve_as` approves that, by this name."""
        session = self._observer.session(self._engines.to_work_on(from_pipeline or self.name))
        wanted = WantedRestore(checkpoint, from_pipeline, replaces, approve_as)
        return restore_checkpoint(self.target, self.name, wanted, session)

    def versions(self, name: str, kind: str | None = None, limit: int | None = None) -> VersionList:
        """The last versions of a table, view or function (`kind` says which, where a name is that of two), oldest first."""
        return list_versions(self.target, find_object(self.target, self._named(name), kind), limit)

    def version(self, name: str, kind: str | None = None) -> ObjectVersion:
        """One version of an object: `revenue@v2`, or the active one of `revenue`."""
        given = self._named(name)
        return read_version(self.target, find_object(self.target, given, kind), given.version)

    def compare_versions(self, before: str, after: str, kind: str | None = None) -> VersionDifference:
        """What differs between two versions of an object: `revenue@v1`, `revenue@v3`."""
        return compare_versions(self.version(before, kind), self.version(after, kind))

    def put_alias(self, alias: str, version: str, kind: str | None = None) -> AliasMove:
        """Have an alias (`revenue@stable`) stand for a version (`v2`)."""
        given = self._named(alias)
        found = find_object(self.target, VersionedName(self.name, given.name, None), kind)
        return put_alias(self.target, found, given.version or "", version, getpass.getuser())

    def take_alias_away(self, alias: str, kind: str | None = None) -> AliasMove:
        """Take an alias (`revenue@stable`) away."""
        given = self._named(alias)
        found = find_object(self.target, VersionedName(self.name, given.name, None), kind)
        return take_alias_away(self.target, found, given.version or "", getpass.getuser())

    def compare_rows(
        self, before: str, after: str, kind: str | None = None, key: Sequence[str] = (), samples: int = 10
    ) -> RowDifference:
        """How the rows of two versions differ, by a table's key or by these columns, else as multisets."""
        return self.rows_between(self.version(before, kind), self.version(after, kind), key, samples)

    def rows_between(
        self, before: ObjectVersion, after: ObjectVersion, key: Sequence[str] = (), samples: int = 10
    ) -> RowDifference:
        """The same of two versions that were looked up."""
        return compare_rows(self.target, self._engines.to_work_on(self.name), before, after, key, samples)

    def history(self, limit: int | None = None) -> tuple[PastApply, ...]:
        """What was applied when, by whom, from which commit; oldest first."""
        return list_applies(self.target, [self.name], limit)

    def program_at(self, time: datetime) -> PastProgram:
        """The whole program as it was in force at a time."""
        return program_at(self.target, self.name, time)

    def prune(self, *, dry_run: bool = False, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> "Pruning":
        """Remove the rows of versions and steps that the pipeline's retention lets go; what went. `dry_run`: what would."""
        from reconciler.retention.pruning import PruneRun, look, prune

        if dry_run:
            return look(self.target, self.name, now())
        engine, observer = self._engines.to_work_on(self.name), self._observer
        return prune(self.target, self.name, PruneRun(engine, getpass.getuser(), observer.tell, observer.boundary, now))

    def status(self, before: PipelineStatus | None = None) -> PipelineStatus:
        """What the pipeline is doing, what is applied and pending. `before` is an earlier status, whose plan is shown again:
        to watch without planning each time."""
        return read_status(self.target, self.name, before)

    def _live_pruning(self, engine: "Engine") -> "LivePruning":
        from reconciler.retention.live_pruning import LivePruning
        from reconciler.retention.pruning import PruneRun

        run = PruneRun(engine, getpass.getuser(), self._observer.tell, self._observer.boundary)
        return LivePruning(self.target, self.name, run)

    def _session(self) -> Session:
        return self._observer.session(self._engines.to_work_on(self.name))

    def _named(self, text: str) -> VersionedName:
        given = versioned_name(text)
        return VersionedName(self.name, given.name, given.version)
