"""The Python interface: a project, its pipelines, and what the command line does with them.

    from reconciler import Project

    with Project.open("path/to/repository") as project:
        pipeline = project.pipeline("student_grades")
        plan = pipeline.plan()
        pipeline.apply()
        pipeline.execute("INSERT INTO students VALUES (1, 'Alice')")
        rows = list(pipeline.query("SELECT * FROM avg_grade_enriched"))

Errors are those of `reconciler.base.errors`. A project starts Spark when a call first needs it, and stops it on `close`.
"""

import getpass
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from reconciler.apply.applying import ApplyResult, Progress, apply_pipeline
from reconciler.apply.approvals import record_approval
from reconciler.apply.explaining import Explanation, explain
from reconciler.apply.planning import plan_pipeline
from reconciler.apply.promoting import all_staged, drop_staged, find_staged, plan_promotion, promote
from reconciler.apply.refreshing import RefreshResult, refresh_version
from reconciler.apply.restore import Restored, restore_checkpoint
from reconciler.apply.rolling_back import plan_rollback, roll_back
from reconciler.apply.staging import StageResult, stage_pipeline
from reconciler.base.boundaries import Boundary, no_boundary
from reconciler.delta.opening import is_on_s3
from reconciler.engine.protocol import Engine, Rows
from reconciler.engine.resources import Resources, process_settings
from reconciler.environment.resources import applied_resources, desired_resources
from reconciler.environment.session import Session
from reconciler.environment.source import find_root
from reconciler.environment.target import Target, open_target
from reconciler.plan.model import Plan
from reconciler.query.querying import Answer, StepRows, query, read_relations, step_at_time
from reconciler.query.rows import RowDifference, compare_rows
from reconciler.registry.model import AliasMove, Staged
from reconciler.run.pausing import pause_connector, put_connector, skip_file
from reconciler.run.running import RunResult, run_pipeline
from reconciler.run.statements import execute
from reconciler.run.stepping import StepResult
from reconciler.service.status import PipelineStatus, read_status
from reconciler.state.checkpoints import Checkpoint, create_checkpoint, list_checkpoints
from reconciler.state.controls import pause, resume
from reconciler.state.events import LoggedEvent, read_events
from reconciler.state.stopping import stop_run
from reconciler.versions.aliases import put_alias, take_alias_away
from reconciler.versions.history import PastApply, PastProgram, list_applies, program_at
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
from reconciler.workspace.pipeline_order import apply_order
from reconciler.workspace.pipelines import own_pipelines, require_known

if TYPE_CHECKING:
    from reconciler.retention.pruning import Pruning


class Project:
    """A repository and one of its environments."""

    def __init__(self, target: Target, engine: Engine | None = None) -> None:
        self.target = target
        self._engine = engine
        self._owns_engine = engine is None

    @classmethod
    def open(cls, repository: str | Path = ".", environment: str | None = None, engine: Engine | None = None) -> Self:
        """Open the repository at, or above, a folder. `engine` replaces the Spark that is started on demand."""
        return cls(open_target(find_root(Path(repository)), environment), engine)

    @property
    def engine(self) -> Engine:
        """The engine; made, but not started, at the first use, as the environment says."""
        return self._engine_with(Resources)

    def engine_for(self, pipeline: str) -> Engine:
        """The engine for work on what is applied of a pipeline. One process has one Spark: the pipeline for which it is made
        first says what it may use (`spec.runtime`)."""
        return self._engine_with(lambda: applied_resources(self.target, pipeline))

    def engine_to_apply(self, pipeline: str) -> Engine:
        """The same for work on what the files say."""
        return self._engine_with(lambda: desired_resources(self.target, pipeline))

    def engine_to_run(self, pipeline: str) -> Engine:
        """That of `engine_for`, for a process that runs the pipeline until it is stopped."""
        return self._engine_with(lambda: applied_resources(self.target, pipeline), lives_long=True)

    def _engine_with(self, resources: Callable[[], Resources], lives_long: bool = False) -> Engine:
        if self._engine is None:
            from reconciler.engine.spark.engine import spark_engine

            settings = self.target.environment.spark
            is_far = is_on_s3(self.target.warehouse)
            self._engine = spark_engine(lambda: process_settings(settings, resources()), is_far, lives_long)
        return self._engine

    def pipelines(self) -> tuple[str, ...]:
        """The pipelines that have files here, and those that were applied from here, sorted."""
        return own_pipelines(self.target)

    def in_order(self, names: Iterable[str]) -> tuple[str, ...]:
        """Pipelines in the order in which they are to be applied: each after those that it reads."""
        return apply_order(self.target, names)

    def pipeline(self, name: str) -> "Pipeline":
        """One pipeline. Raises NotFound when neither files nor registry know it."""
        require_known(self.target, name)
        return Pipeline(self, name)

    def new_pipeline(self, name: str) -> "Pipeline":
        """One pipeline, known or not: another's checkpoint can be restored under a name that is nothing yet."""
        return Pipeline(self, name)

    def close(self) -> None:
        """Stop the engine, if this project made it."""
        if self._owns_engine and self._engine is not None:
            self._engine.close()
            self._engine = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Pipeline:
    """One pipeline of a project. Every call reads files and registry anew."""

    def __init__(self, project: Project, name: str) -> None:
        self._project = project
        self.name = name

    def validate(self) -> Validated:
        """Compile the files; every problem is in `diagnostics`."""
        return validate_pipeline(self._project.target, self.name)

    def plan(self) -> Plan:
        """The plan from what is applied to what the files say. Needs no JVM."""
        return plan_pipeline(self._project.target, self.name)

    def explain(self, relation: str | None = None) -> Explanation:
        """The tables and views, each with its place in the plan and why; or one of them in full. Needs no JVM."""
        return explain(self._project.target, self.name, relation)

    def approve(self, digest: str, by: str = "", comment: str = "") -> None:
        """Record an approval of the plan with this digest. Raises ReconcileError: where no plan that waits has it (A504),
        where it would not count (A582)."""
        record_approval(self._project.target, self.name, digest, by or getpass.getuser(), comment)

    def apply(
        self,
        report: Callable[[Progress], None] = lambda progress: None,
        tell: Callable[[str], None] = lambda message: None,
        boundary: Boundary = no_boundary,
    ) -> ApplyResult:
        """Apply the files. Raises ApprovalRequired or PlanRejected, with nothing touched."""
        return apply_pipeline(
            self._project.target,
            self.name,
            Session(self._project.engine_to_apply(self.name), report=report, tell=tell, boundary=boundary),
        )

    def stage(
        self,
        report: Callable[[Progress], None] = lambda progress: None,
        tell: Callable[[str], None] = lambda message: None,
        boundary: Boundary = no_boundary,
    ) -> StageResult:
        """Build new versions of views beside those that serve, without making them active. Raises ApprovalRequired or
        PlanRejected, with nothing touched."""
        session = Session(self._project.engine_to_apply(self.name), report=report, tell=tell, boundary=boundary)
        return stage_pipeline(self._project.target, self.name, session)

    def promote(
        self,
        name: str | None = None,
        report: Callable[[Progress], None] = lambda progress: None,
        tell: Callable[[str], None] = lambda message: None,
        boundary: Boundary = no_boundary,
    ) -> ApplyResult:
        """Make active what is staged, all of it. `name` (`revenue@v3`): only if that is staged."""
        target = self._project.target
        staged = self._staged(name)
        return promote(
            target,
            self.name,
            staged,
            Session(self._project.engine_for(self.name), report=report, tell=tell, boundary=boundary),
        )

    def plan_promotion(self, name: str | None = None) -> Plan:
        """The plan of `promote`."""
        return plan_promotion(self._project.target, self.name, self._staged(name)).plan

    def unstage(self, boundary: Boundary = no_boundary) -> Staged:
        """Drop what is staged; what was."""
        session = Session(self._project.engine_for(self.name), boundary=boundary)
        return drop_staged(self._project.target, self.name, session)

    def refresh_version(
        self,
        name: str,
        report: Callable[[Progress], None] = lambda progress: None,
        tell: Callable[[str], None] = lambda message: None,
        boundary: Boundary = no_boundary,
    ) -> RefreshResult:
        """Compute a version of a view that is not active (`revenue@v1`) once, from what is published now."""
        given = versioned_name(name)
        session = Session(self._project.engine_for(self.name), report=report, tell=tell, boundary=boundary)
        return refresh_version(self._project.target, VersionedName(self.name, given.name, given.version), session)

    def _staged(self, name: str | None) -> Staged:
        target = self._project.target
        if name is None:
            return all_staged(target, self.name)
        given = versioned_name(name)
        return find_staged(target, VersionedName(self.name, given.name, given.version))[1]

    def plan_rollback(self, name: str, kind: str | None = None) -> Plan:
        """The plan of `rollback`."""
        return plan_rollback(self._project.target, self._rollback(name, kind)).plan

    def rollback(
        self,
        name: str,
        kind: str | None = None,
        report: Callable[[Progress], None] = lambda progress: None,
        tell: Callable[[str], None] = lambda message: None,
        boundary: Boundary = no_boundary,
    ) -> ApplyResult:
        """Give an object an earlier version, until the files say something else: `revenue@v1`, or of `revenue` the version
        that was active before. Raises ApprovalRequired or PlanRejected, with nothing touched."""
        return self._roll_back(self._rollback(name, kind), report, tell, boundary)

    def rollback_to(
        self,
        registry_version: int | datetime,
        report: Callable[[Progress], None] = lambda progress: None,
        tell: Callable[[str], None] = lambda message: None,
        boundary: Boundary = no_boundary,
    ) -> ApplyResult:
        """Give the pipeline the definitions of an earlier registry version (`history` has the numbers), or of a time."""
        to = registry_version.isoformat() if isinstance(registry_version, datetime) else str(registry_version)
        return self._roll_back(rollback_of_pipeline(self._project.target, self.name, to), report, tell, boundary)

    def end_rollback(
        self,
        name: str | None = None,
        kind: str | None = None,
        report: Callable[[Progress], None] = lambda progress: None,
        tell: Callable[[str], None] = lambda message: None,
        boundary: Boundary = no_boundary,
    ) -> ApplyResult:
        """Let the files hold again for an object, or for all that is rolled back."""
        given = VersionedName(self.name, name, None) if name is not None else None
        return self._roll_back(end_of(self._project.target, given, self.name, kind), report, tell, boundary)

    def _rollback(self, name: str, kind: str | None) -> Rollback:
        given = versioned_name(name)
        return rollback_of(self._project.target, VersionedName(self.name, given.name, given.version), kind)

    def _roll_back(
        self,
        rollback: Rollback,
        report: Callable[[Progress], None],
        tell: Callable[[str], None],
        boundary: Boundary,
    ) -> ApplyResult:
        session = Session(self._project.engine_for(self.name), report=report, tell=tell, boundary=boundary)
        return roll_back(self._project.target, rollback, session)

    def run_once(self, tell: Callable[[str], None] = lambda message: None, boundary: Boundary = no_boundary) -> RunResult:
        """Ingest what the inputs have and bring every view up to date."""
        session = Session(self._project.engine_for(self.name), tell=tell, boundary=boundary)
        return run_pipeline(self._project.target, self.name, session, once=True)

    def stop(self, *, force: bool = False) -> bool:
        """Have the live run of this pipeline end, and wait until it has. False: there was none."""
        return stop_run(self._project.target, self.name, getpass.getuser(), force=force)

    def pause(self) -> None:
        """Have the pipeline take no input until it is resumed, over restarts."""
        pause(self._project.target.registry, self.name, getpass.getuser())

    def resume(self) -> None:
        """Have the pipeline take input again."""
        resume(self._project.target.registry, self.name, getpass.getuser())

    def pause_connector(self, connector: str) -> None:
        """Pause one connector (`table.connector`, or its own name where no other has it), over restarts."""
        pause_connector(self._project.target, self.name, connector, True, getpass.getuser())

    def resume_connector(self, connector: str) -> None:
        """Take back a pause of one connector, said or declared."""
        pause_connector(self._project.target, self.name, connector, False, getpass.getuser())

    def seek_connector(self, connector: str, to: Any) -> bool:
        """Have an input read on from `to`, or an output go on from there; whether that is done: a live run does it between
        two steps."""
        return put_connector(self._project.target, self.name, connector, to, getpass.getuser()).done

    def skip_file(self, connector: str, file: str) -> bool:
        """Have an input of files go on without one of them, whatever it holds; whether that is done: a live run does it
        between two steps."""
        return skip_file(self._project.target, self.name, connector, file, getpass.getuser()).done

    def events(self, limit: int | None = None) -> tuple[LoggedEvent, ...]:
        """What happened to the pipeline while it ran: the last events, oldest first."""
        return read_events(self._project.target.registry, self.name, limit)

    def execute(
        self, sql: str, boundary: Boundary = no_boundary, tell: Callable[[str], None] = lambda message: None
    ) -> StepResult:
        """Run one INSERT or DELETE on a table and bring every view up to date."""
        return execute(
            self._project.target, self.name, sql, Session(self._project.engine_for(self.name), tell=tell, boundary=boundary)
        )

    def select(self, sql: str, at_step: int | None = None) -> Rows:
        """Run a SELECT at the published step, or at an earlier one; columns and rows."""
        return self.answer(sql, at_step).rows

    def answer(self, sql: str, at_step: int | None = None) -> Answer:
        """Run a SELECT; its rows, and the step at which they were read."""
        return query(self._project.target, self.name, sql, self._project.engine_for(self.name), at_step)

    def step_at(self, time: datetime) -> int:
        """The last step that was published by a time, for reading as of it."""
        return step_at_time(self._project.target, self.name, time)

    def query(self, sql: str, at_step: int | None = None) -> Iterator[dict[str, Any]]:
        """Run a SELECT at the published step, or at an earlier one; rows as dictionaries."""
        return self.select(sql, at_step).as_dictionaries()

    def read_step(self, relations: Sequence[str], step: int | None = None) -> StepRows:
        """All rows of several tables and views, all of them at one step: the last one, or an earlier one."""
        return read_relations(self._project.target, self.name, relations, self._project.engine_for(self.name), step)

    def checkpoint(self, name: str | None = None) -> Checkpoint:
        """Write a checkpoint of the last published step, under this name (default: `step-N`)."""
        return create_checkpoint(self._project.target, self.name, name)

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The last checkpoints, oldest first."""
        return list_checkpoints(self._project.target, self.name)

    def restore(
        self,
        checkpoint: str,
        from_pipeline: str | None = None,
        *,
        replaces: bool = False,
        approve_as: str | None = None,
        tell: Callable[[str], None] = lambda message: None,
        boundary: Boundary = no_boundary,
    ) -> Restored:
        """Go back to a checkpoint, or take over another pipeline's; `replaces`: in place of what is applied here. Raises
        ApprovalRequired where another program comes into force by it; `approve_as` approves that, by this name."""
        session = Session(self._project.engine_for(from_pipeline or self.name), tell=tell, boundary=boundary)
        target = self._project.target
        return restore_checkpoint(
            target, self.name, checkpoint, session, from_pipeline, replaces=replaces, approve_as=approve_as
        )

    def versions(self, name: str, kind: str | None = None, limit: int | None = None) -> VersionList:
        """The last versions of a table, view or function (`kind` says which, where a name is that of two), oldest first."""
        target = self._project.target
        return list_versions(target, find_object(target, VersionedName(self.name, name, None), kind), limit)

    def version(self, name: str, kind: str | None = None) -> ObjectVersion:
        """One version of an object: `revenue@v2`, or the active one of `revenue`."""
        target, given = self._project.target, versioned_name(name)
        found = find_object(target, VersionedName(self.name, given.name, given.version), kind)
        return read_version(target, found, given.version)

    def compare_versions(self, before: str, after: str, kind: str | None = None) -> VersionDifference:
        """What differs between two versions of an object: `revenue@v1`, `revenue@v3`."""
        return compare_versions(self.version(before, kind), self.version(after, kind))

    def put_alias(self, alias: str, version: str, kind: str | None = None) -> AliasMove:
        """Have an alias (`revenue@stable`) stand for a version (`v2`)."""
        target, given = self._project.target, versioned_name(alias)
        found = find_object(target, VersionedName(self.name, given.name, None), kind)
        return put_alias(target, found, given.version or "", version, getpass.getuser())

    def take_alias_away(self, alias: str, kind: str | None = None) -> AliasMove:
        """Take an alias (`revenue@stable`) away."""
        target, given = self._project.target, versioned_name(alias)
        found = find_object(target, VersionedName(self.name, given.name, None), kind)
        return take_alias_away(target, found, given.version or "", getpass.getuser())

    def compare_rows(
        self, before: str, after: str, kind: str | None = None, key: Sequence[str] = (), samples: int = 10
    ) -> RowDifference:
        """How the rows of two versions differ, by a table's key or by these columns, else as multisets."""
        versions = self.version(before, kind), self.version(after, kind)
        return compare_rows(self._project.target, self._project.engine_for(self.name), *versions, key, samples)

    def history(self, limit: int | None = None) -> tuple[PastApply, ...]:
        """What was applied when, by whom, from which commit; oldest first."""
        return list_applies(self._project.target, [self.name], limit)

    def program_at(self, time: datetime) -> PastProgram:
        """The whole program as it was in force at a time."""
        return program_at(self._project.target, self.name, time)

    def prune(
        self,
        *,
        dry_run: bool = False,
        tell: Callable[[str], None] = lambda message: None,
        boundary: Boundary = no_boundary,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> "Pruning":
        """Remove the rows of versions and steps that the pipeline's retention lets go; what went. `dry_run`: what would."""
        from reconciler.retention.pruning import PruneRun, look, prune

        if dry_run:
            return look(self._project.target, self.name, now())
        run = PruneRun(self._project.engine_for(self.name), getpass.getuser(), tell, boundary, now)
        return prune(self._project.target, self.name, run)

    def status(self) -> PipelineStatus:
        """What the pipeline is doing, what is applied and pending."""
        return read_status(self._project.target, self.name)
