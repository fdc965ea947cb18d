"""The head: everything that must change together, in one small document per pipeline, replaced by compare-and-set.

- `applied` names the snapshot in force. It changes only in the commit that closes the journal.
- `published` says at which Delta version each relation stands at the last published step. Readers go through it, so
  that all relations of one answer agree.
- `positions` is how far each input connector has read, as of the published step.
- `outputs` is how far each output connector has written, and what it is writing.
- `intent` is a step of `run` or `execute` under way: written before its first effect, replayed if its writer dies.
- `journal` is an apply under way. It holds the plan's steps, so that finishing it needs no file of the repository.
- `last_step` is the highest step number ever used: that of a step that was withdrawn is never used again.
- Where relations of other pipelines were read is part of what is published (`foreign`), and of an apply under way.
- `versions` says which version of each object is active, and which number was given last: none is given twice. What the
  versions are stands in a history.
- `held` names the objects that are rolled back, and the number of the version that each has (None: it is not there). What
  the files said of them stands with the applied definitions.
- `staged` is what was built beside what is in force and awaits its promotion. It changes nothing else of the head, but that
  the numbers of its versions are given.
- `refreshed` are rows of versions that are not active, computed once from what was published by then (`ObjectVersions.id`
  and number: `view:revenue@v1`). They change nothing else of the head.
- `epoch` rises with every takeover of the lease; a writer whose epoch is not the head's has lost the pipeline.

Snapshots themselves (all definitions) are stored apart, by digest: the head stays small. So are the controls: what people
ask of a pipeline while somebody else writes its head.

What most heads lack (a step or an apply under way) is imported by whoever reads or writes it: a plan would import it for
nothing.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.registry.home import Home
from reconciler.registry.placements import ForeignStep, Placement

if TYPE_CHECKING:
    from reconciler.registry.entries import BuildResult, JournalEntry
    from reconciler.registry.intents import Intent

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Approval:
    """Why a plan may be applied. `kind`: lock (a merged plan.lock), recorded (`reconcile approve`), policy (`allow`), first
    (it invalidates nothing), empty (nothing to approve), restored (from a checkpoint). `by`: everybody who recorded an
    approval of it, and `at` when the first did; of a restore who restored."""

    kind: str
    by: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Applied:
    """The snapshot in force. `digest` is of its meaning, `record` names its stored definitions. None for both of a
    pipeline that was removed. `follows` is the digest of the last plan that changed anything: each digest covers the one
    before, so it never comes back. `home` is None where no base branch knew the project that it was applied from."""

    digest: str | None
    record: str | None
    apply_id: str
    plan_digest: str
    at: str
    by: str
    commit: str
    approval: Approval
    reconciler: str
    follows: str
    home: Home | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """The last published step: relation (folded) → placement. `foreign` says by pipeline what of others it was computed
    from: of each pipeline, one step."""

    step: int
    at: str
    relations: Mapping[str, Placement] = field(default_factory=dict)
    foreign: Mapping[str, ForeignStep] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sending:
    """What an output is writing: the difference between two Delta versions of its view, or all of `after` (`before` None),
    into a sink that is emptied first if `replaces`. `step` is the published step that `after` belongs to. `id` tells it from
    all others, whoever gave them its serial (a copy of the registry, or one that was restored); earlier versions gave
    none."""

    before: int | None
    after: int
    replaces: bool
    step: int
    serial: int
    id: str = ""


@dataclass(frozen=True, slots=True)
class OutputState:
    """How far an output has written: `sent` is the Delta version of its view that the sink shows (None: nothing was ever
    sent). `sending` is pinned before it is written, so that a repeat writes the same. `serial` is the highest number of
    an emission that is known of, its own or one that its sink was found to have; it only rises. `replaces`: the next
    emission empties the sink first. `id` tells the output from all others for good, also from one of its name that was there
    before: sinks keep it with what they were given. `skips` are differences (from one Delta version to a later one) that are
    never sent, in order. `sought` is the id of the last seek that was carried out on it: none is carried out twice.
    `left_out` is the last version that it was put at without sending what led there, by a plan or a seek: as long as `sent`
    is that one, its sink does not show it."""

    sent: int | None = None
    sending: Sending | None = None
    serial: int = 0
    replaces: bool = False
    id: str = ""
    skips: tuple[tuple[int, int], ...] = ()
    sought: str = ""
    left_out: int | None = None

    def told(self) -> JsonObject:
        """How far it is, as people are told. No version is told as sent that was left out."""
        position: dict[str, Any] = {"sent_version": self.sent, "pending": self.sending is not None}
        if self.sent is not None and self.sent == self.left_out:
            return {**position, "sent_version": None, "left_out_to": self.left_out}
        return position


@dataclass(frozen=True, slots=True)
class LeftOutput:
    """What an output has sent to a place that none writes to any more.

    `state` is how far it was when it left, `connector` what it was called then (folded). `location` is the folder of its
    view, whose versions the state tells; `settings` are those that say where it wrote. `removed`: somebody took the output
    out of the pipeline, and did not just have it write elsewhere.
    """

    connector: str
    location: str
    settings: JsonObject
    state: OutputState
    removed: bool = False


@dataclass(frozen=True, slots=True)
class ObjectVersions:
    """Of one object (a table, view or function; by `kind:folded name`): `id` is its key when it was first recorded, which
    stays when it is renamed; `active` the number of its version in force (None: it no longer exists); `last` the
    highest number that was ever given. `columns` tells columns of a table that were renamed, by folded name: what each is
    called for good. What it does not list is called by its name."""

    id: str
    active: int | None
    last: int
    columns: Mapping[str, str] = field(default_factory=dict)

    def column_id(self, column: str) -> str:
        """What the column of this folded name is called for good, whatever its name was or will be."""
        return self.columns.get(column, column)


@dataclass(frozen=True, slots=True)
class Journal:
    """An apply under way.

    `digest` and `record` are those of the desired snapshot (None: the pipeline is removed); `follows` is what
    `Applied.follows` will be. `serial` numbers applies and only rises: it marks the Delta commits of this one. `resumes`
    names the connectors that keep their positions; `formerly` says under which name (folded, by folded name) those that have
    another now kept it until now. `outputs` says where each output (folded) goes on (`run.output_starts.Start`), `back`
    names those among them that write again where an output wrote before, and go on from what was sent there.
    `aborting`: the apply is being taken back. `versions` are those of all objects once it is done. `foreign` is what is read
    of other pipelines, `home` what `Applied.home` will be.
    """

    apply_id: str
    plan_digest: str
    digest: str | None
    record: str | None
    approval: Approval
    by: str
    commit: str
    opened_at: str
    summary: str
    follows: str
    serial: int
    resumes: tuple[str, ...]
    entries: tuple["JournalEntry", ...]
    aborting: bool = False
    formerly: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, ObjectVersions] = field(default_factory=dict)
    foreign: Mapping[str, ForeignStep] = field(default_factory=dict)
    home: Home | None = None
    back: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StagedView:
    """Rows of a view that were built beside what is in force: in the folder `staging` below its own (`location`), which
    `builder` named. `result` is what is known of them."""

    location: str
    staging: str
    builder: str
    result: "BuildResult"

    @property
    def folder(self) -> str:
        """The folder of the rows, below the warehouse."""
        return f"{self.location}/{self.staging}"


@dataclass(frozen=True, slots=True)
class Staged:
    """What was built beside what is in force, and is to be made active without being computed again.

    `plan_digest`, `digest`, `record`, `approval` and `commit` are as in a `Journal`; `step` is the published one that it was
    built from, `views` are the rows by folded name. `numbers` has the versions that become active (by `kind:folded name`),
    `minted` names those among them that were never given before.
    """

    id: str
    plan_digest: str
    digest: str
    record: str
    approval: Approval
    at: str
    by: str
    commit: str
    step: int
    numbers: Mapping[str, int] = field(default_factory=dict)
    minted: tuple[str, ...] = ()
    views: Mapping[str, StagedView] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refreshed:
    """Rows of a version that is not active, computed once: in the folder `staging` below the view's own (`location`), as of
    the published `step`, under the `name` that `record` (a stored program) has for the version. `result` is what is known
    of them."""

    location: str
    staging: str
    name: str
    record: str
    step: int
    at: str
    by: str
    result: "BuildResult"

    @property
    def folder(self) -> str:
        """The folder of the rows, below the warehouse."""
        return f"{self.location}/{self.staging}"


@dataclass(frozen=True, slots=True)
class Head:
    """See the module."""

    pipeline: str
    epoch: int = 0
    applied: Applied | None = None
    published: Published | None = None
    positions: Mapping[str, JsonObject] = field(default_factory=dict)
    intent: "Intent | None" = None
    journal: Journal | None = None
    last_step: int = 0
    outputs: Mapping[str, OutputState] = field(default_factory=dict)
    versions: Mapping[str, ObjectVersions] = field(default_factory=dict)
    held: Mapping[str, int | None] = field(default_factory=dict)
    staged: Staged | None = None
    refreshed: Mapping[str, Refreshed] = field(default_factory=dict)
    left: tuple[LeftOutput, ...] = ()


class Wish(StrEnum):
    """What people want of a pipeline now: that it runs, pauses (held, but takes no input) or stops."""

    RUN = "run"
    PAUSE = "pause"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Seek:
    """A position that somebody gave a connector: `to` is what the transport understands (`earliest`, `latest`, offsets, a
    version). `id` tells it from others; the run that carried it out takes it away."""

    id: str
    to: Any
    at: str
    by: str


@dataclass(frozen=True, slots=True)
class Controls:
    """What people ask of a pipeline, whoever runs it, until they ask otherwise.

    `paused` and `stops` are for the whole pipeline, and each holds whatever becomes of the other: a run that is paused and
    stopped ends, and the next one starts paused. `forced`: stop without finishing the step under way. `connectors` maps a
    connector's folded name to whether it is paused, where somebody said so: that holds against `paused` of the manifest,
    and a pause against `start_after`, too. `seeks` maps a connector's folded name to where it is to read on.
    """

    paused: bool = False
    stops: bool = False
    forced: bool = False
    connectors: Mapping[str, bool] = field(default_factory=dict)
    seeks: Mapping[str, Seek] = field(default_factory=dict)
    by: str = ""
    at: str = ""

    @property
    def wish(self) -> Wish:
        """What a run has to do first."""
        if self.stops:
            return Wish.STOP
        return Wish.PAUSE if self.paused else Wish.RUN


@dataclass(frozen=True, slots=True)
class AliasMove:
    """An alias of an object (its id) was put to a version; None: it was taken away, or was not there before."""

    object: str
    alias: str
    before: int | None
    after: int | None
    at: str
    by: str


@dataclass(frozen=True, slots=True)
class Aliases:
    """Names that people give to versions: by object (its id), alias (folded) → number. `moves` are how they came to be, in
    their order: they change together."""

    numbers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    moves: tuple[AliasMove, ...] = ()


@dataclass(frozen=True, slots=True)
class Readers:
    """The pipelines that read relations of this one, sorted; perhaps also some that did once. What they read is in what is
    applied of them: this only says where to look."""

    pipelines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a pipeline has come along its branch without anything being applied: the newest commit whose files were
    looked at and found to be what is applied, or were staged."""

    commit: str
    at: str


@dataclass(frozen=True, slots=True)
class Deployment:
    """What was asked of the service for a pipeline, and stands until something else is asked: `desired` is what it is to be
    (`stopped`, `running`, `paused`), since when, by whom; `initial` what it was to be first; `incarnation` names this start
    of it. `awaits`: the digest of the plan that waits for an approval before it goes on. `policy` is what the start said of
    changes. `error` is why the service gave up (`{"error_code", "message", "details"}`), until somebody dismisses it. `life`
    names what is stored, from the start that first applies something until that is removed."""

    desired: str = "stopped"
    since: str = ""
    by: str = ""
    incarnation: str = ""
    awaits: str = ""
    policy: str = ""
    error: JsonObject | None = None
    initial: str = ""
    life: str = ""


@dataclass(frozen=True, slots=True)
class Lease:
    """Who writes a pipeline. Times are UTC, ISO 8601. `process` is the holder's process and its start, to tell whether
    it lives when asked on the same host. `handover_to` is set by one who asks a live `run` to let go."""

    holder: str
    command: str
    host: str
    process: str
    epoch: int
    since: str
    expires: str
    released: bool = False
    handover_to: str | None = None


@dataclass(frozen=True, slots=True)
class Stored(Generic[Value]):
    """A value as read, with the token that its replacement must name."""

    token: int
    value: Value
