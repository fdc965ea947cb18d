"""The effects of one step: its tables are written, then the stored views that depend on them are computed and published.

Each is repeatable, with everything pinned: the ranges by the intent, the versions that are read by the published step and by
what this step wrote before, the transactions by the step's number. Each commit says of which pipeline, step and epoch it is,
and from what it was made: for a table the connector's range in short, for a view the versions of the relations it reads.

Views are computed after the tables, in the same step. Only those follow that read, directly or not, a relation that changed.

A step that follows other pipelines (kind `follow`) writes no table: it reads their relations where its intent pins them, and
what stands elsewhere than before has changed.
"""

from typing import assert_never

from reconciler.base.errors import RegistryError
from reconciler.base.names import fold
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.materialize.step_progress import Doing, StepProgress, untold
from reconciler.materialize.table_effects import TableEffects
from reconciler.materialize.view_effects import ViewEffects
from reconciler.plan.steps import StoredReads
from reconciler.project.program.model import Program
from reconciler.registry.intents import FollowPipelines, ReadInputs, RestoreCheckpoint, RunStatement, UnknownWork
from reconciler.registry.model import Head


class StepEffects:
    """The effects of the head's intent. `progress` says how far they came."""

    def __init__(self, target: Target, program: Program, head: Head, session: Session, doing: Doing = untold) -> None:
        self.progress = StepProgress(target, program, head, session, doing)
        self._tables = TableEffects(self.progress)
        self._views = ViewEffects(self.progress)

    def write_tables(self) -> None:
        """Bring in what the intent names."""
        work = self.progress.intent.work
        match work:
            case ReadInputs():
                for number, ingest in enumerate(work.ingests, start=1):
                    self.progress.doing(self.progress.number, f"read {ingest.connector}", number, len(work.ingests))
                    self._tables.ingest(ingest)
            case RunStatement():
                self._tables.execute(work)
            case FollowPipelines():
                self._tables.follow(work.foreign)
            case RestoreCheckpoint():
                raise AssertionError("a restore is carried out by `restoring_checkpoints`")
            case UnknownWork():
                raise RegistryError("G606", f"a newer version of reconciler left a step of kind {work.kind!r} unfinished")
            case _:
                assert_never(work)

    def compute_views(self) -> tuple[str, ...]:
        """Bring every stored view up to date that reads what changed; their names."""
        computed = []
        reads = StoredReads(self.progress.program)
        views = self.progress.program.views
        stored = [(key, views[key]) for key in self.progress.program.order if key in views and views[key].is_stored]
        for number, (key, view) in enumerate(stored, start=1):
            if not self.progress.changed & {fold(name) for name in reads.of(key)}:
                continue
            self.progress.doing(self.progress.number, f"compute {view.name}", number, len(stored))
            if view.stream is not None and view.stream.remembers:
                self._views.go_on(key)
            else:
                self._views.compute(key)
            computed.append(view.name)
        return tuple(computed)
