"""Prebuilding: the long part of an apply, done beside a live run.

Rules:
- While a run holds the pipeline, what the plan stages (rows of evolved tables, bootstrapped views) is built from the step
  published just then, into the staging folders that `building` names. The run goes on and publishes steps; readers read on
  what is published. Nothing of this is recorded, and nothing needs the lease.
- Under the lease the apply chooses its staging folders from the step published by then. Where nothing moved that a build
  reads, directly or through others, that is the folder which is complete already, and nothing is computed again. Where
  something moved it is another folder, and that is what catching up costs.
- A view whose rows are kept, and current as of that step (`kept_rows`), is not built; under the lease that is asked again.
- So it is with a view whose rows were staged before (`staging`) and are current as of that step.
- Folders that the apply did not come to use are removed at its end, whether it succeeds or is refused. Only folders that
  this very process chose and never pinned in a journal are: no table's version can name their files. What a process leaves
  that was killed while it built, nobody knows of; it is below the relation's folder, named by no version of its table, and
  goes when old files go.
- A failure of a build is a failure of the apply, with nothing touched; unless somebody else applied meanwhile, when what was
  built is void anyway and the plan is made again.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from reconciler.base.boundaries import BEFORE, EFFECTED, RECORDED
from reconciler.base.digest import canonical_json
from reconciler.base.errors import EngineError
from reconciler.delta.opening import join_location
from reconciler.delta.removal import remove_if_empty
from reconciler.environment.progress import Progress, in_built_rows
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.materialize.apply_effects import Builder, remove
from reconciler.materialize.building import Building, PlannedBuilds
from reconciler.materialize.following import PinnedApply
from reconciler.materialize.kept_rows import KeptRows
from reconciler.plan.model import Plan
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.evolve_table import EvolveTable
from reconciler.project.program.model import Program
from reconciler.project.snapshot.codec import decode_program, encode_program
from reconciler.project.snapshot.model import Snapshot
from reconciler.registry.entries import BuildResult
from reconciler.registry.model import Head, Lease
from reconciler.state.lease import is_free, this_process
from reconciler.versions.numbering import versions_after


def run_is_live(target: Target, pipeline: str) -> bool:
    """Whether a run holds the pipeline now."""
    lease = target.registry.document(pipeline, Lease)
    if lease is None or lease.value.command != "run":
        return False
    return not is_free(lease.value, datetime.now(UTC), this_process("apply").host)


class Prebuilding:
    """What one apply builds beside a run; see the module. `builder` names the process that builds."""

    def __init__(self, target: Target, session: Session, builder: str) -> None:
        self._target = target
        self._session = session
        self._builder = builder
        self._built: dict[str, BuildResult] = {}
        self._chosen: list[str] = []
        self._used: set[str] = set()
        self._step: int | None = None
        self.plan_digest: str | None = None

    @property
    def builder(self) -> Builder:
        """Who builds, for the journal."""
        return Builder(self._builder, self._session.clock, self._built)

    def build(self, plan: Plan, head: Head, applied: Snapshot | None, desired: Snapshot | None, pinned: PinnedApply) -> None:
        """Build what the plan stages from what the head publishes, and from what is pinned of other pipelines. Raises
        EngineError."""
        steps = [step for step in pinned.steps if isinstance(step, BootstrapView | EvolveTable)]
        self.plan_digest = plan.digest
        if not steps or desired is None or head.published is None:
            return
        self._step = head.published.step
        program = as_stored(self._target, desired.program)
        staged = head.staged.views if head.staged is not None else {}
        planned = PlannedBuilds(program, pinned.steps, head.published.relations, pinned.foreign, staged)
        session = self._session
        building = Building(session.engine, self._target.warehouse, planned, self._builder, session.clock)
        versions = versions_after(self._target.registry, head, applied.program if applied else None, desired, plan.diff)
        kept_rows = KeptRows(self._target, head, program, versions)
        self._session.tell(f"building beside the live run of {plan.pipeline}, from step {self._step}")
        for number, step in enumerate(steps, start=1):
            self._session.boundary(f"prebuild:{BEFORE}")
            words = step.describe()
            if building.has_staged(step):
                continue
            kept = kept_rows.find(step.relation, building) if isinstance(step, BootstrapView) else None
            if kept is not None:
                # It is looked for again under the lease: by then what it reads may have moved.
                if kept.location is None:
                    building.take_kept(step.relation, kept.version, kept.step)
                else:
                    building.take_copied(step.relation, kept.location, kept.version, kept.step)
                continue
            self._session.report(Progress(number, len(steps), words, done=False))
            building.choose(step)
            folder = building.staged_folder(step.relation)
            self._chosen.append(folder)
            result = building.build(step)
            self._session.boundary(f"prebuild:{EFFECTED}")
            self._built[folder] = result
            detail = f"{in_built_rows(result)}, built beside step {self._step}"
            self._session.report(Progress(number, len(steps), words, done=True, detail=detail))
        self._session.boundary(f"prebuild:{RECORDED}")

    def use(self, folder: str) -> None:
        """A journal pins a staging folder (below the warehouse): it stays from now on."""
        self._used.add(folder)

    def describe(self, folder: str, step: int | None) -> str:
        """How the build in a folder came to be, for people: nothing to say where nothing was built before. `step` is the
        published one that the journal starts from."""
        if self._step is None:
            return ""
        return f", built beside step {self._step}" if folder in self._built else f", caught up with step {step}"

    def remove_unused(self) -> None:
        """Remove the folders that were built and that no journal pinned."""
        for folder in self._chosen:
            if folder not in self._used:
                place = join_location(self._target.warehouse, folder)
                with suppress(EngineError):  # on an object store; a prune removes what stays there
                    remove(self._session.engine, place)
                remove_if_empty(place.rpartition("/")[0])
        self._chosen.clear()


@contextmanager
def prebuilding(target: Target, session: Session, builder: str) -> Iterator[Prebuilding]:
    """What an apply builds beside a run; at the end of the body, what of it was not used is removed."""
    beside = Prebuilding(target, session, builder)
    try:
        yield beside
    except (Exception, KeyboardInterrupt):
        beside.remove_unused()
        raise
    beside.remove_unused()


def as_stored(target: Target, program: Program) -> Program:
    """The program as it is read back from the registry: the journal's builds are compared with these."""
    objects = json.loads(canonical_json(encode_program(program)))
    return decode_program(sorted(objects, key=lambda one: (one["kind"], one["name"])), target.cache)
