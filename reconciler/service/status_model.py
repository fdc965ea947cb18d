"""The status of a pipeline as values: what `read_status` gives, and what JSON and Prometheus forms are made of."""

from collections.abc import Mapping
from dataclasses import field

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.engine.stored import FailedCalls
from reconciler.registry.model import Applied, Lease
from reconciler.registry.placements import KeysSeen
from reconciler.run.orchestration import Activity
from reconciler.state.failed_commands import FailedCommand
from reconciler.state.lifecycle import State
from reconciler.state.rejections import Rejection


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """What a stream remembers after its last step: `rows` and `bytes` of state, its `watermark` (UTC; None: it has none yet)
    and how many seconds that is behind now (negative: ahead of it), and how many rows came too late since it was
    bootstrapped. `keys` says how many rows of a step were divided among its keys (None: no step had many), `uneven_keys` in
    words what of that makes tasks wait for each other, and `largest_part` which part of the rows the largest key had.
    `furthest_behind`: what the watermark waits for. Of several inputs, the one with the least watermark, by the stream that
    assigns it (`purchases_timed`); of values that have a watermark of their own, the one with the least (`site = north`).
    None: nothing is behind."""

    rows: int
    bytes: int
    watermark: str | None
    behind_seconds: float | None
    late: int
    keys: KeysSeen | None = None
    uneven_keys: str | None = None
    largest_part: float | None = None
    furthest_behind: str | None = None


@dataclass(frozen=True, slots=True)
class RelationStatus:
    """A table, view or stream as published. `rows` is None when it is not stored or not known. `failed_calls` are those of
    functions that gave NULL where they failed, when the view was computed last. `stream`: what a stream remembers, once it
    went a step."""

    name: str
    kind: str
    rows: int | None
    version: int | None
    failed_calls: tuple[FailedCalls, ...] = ()
    stream: StreamStatus | None = None


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """A connector, how far it has read, what it does and why; and what the last run told of it. `rows` and the other counts
    are those of all runs; of the `batches` that it moved, `without_spark` were written without Spark. `backlog` is what was
    left by part of the input when it was last looked at; `waiting_since` is since when the oldest of that could be seen at
    its source, and `waiting_seconds` how long that is by now. `freshness` is how many seconds old the oldest change of its
    last batch was when it was published. None: nobody knows, or there was none. `unknown_fields` says in how many rows
    fields came that no column takes, `missing_fields` which fields a header or schema lacked; `skipped_files` are those that
    somebody had it go on without, `files_read_once` those of them that it had read before: their rows are there, and
    whatever changes in them is passed over."""

    name: str
    direction: str
    transport: str
    position: JsonObject | None
    activity: str = Activity.RUNNING.value
    reason: str = ""
    complete: bool = False
    rows: int = 0
    inserted: int = 0
    deleted: int = 0
    rejected: int = 0
    unmatched: int = 0
    late: int = 0
    dropped: int = 0
    batches: int = 0
    without_spark: int = 0
    rows_per_second: float = 0.0
    backlog: Mapping[str, int] = field(default_factory=dict)
    waiting_since: str | None = None
    waiting_seconds: float | None = None
    freshness: float | None = None
    unknown_fields: Mapping[str, int] = field(default_factory=dict)
    missing_fields: tuple[str, ...] = ()
    skipped_files: tuple[str, ...] = ()
    files_read_once: tuple[str, ...] = ()
    last_error: JsonObject | None = None
    retry_at: str | None = None


@dataclass(frozen=True, slots=True)
class RunStatus:
    """What the last run told of itself. `phases` are seconds by phase of a step: of the last one, and on average.

    `freshness` has that of the last step that brought something, the median and the highest of the last hundred, in seconds
    (None: nobody knows), and of how many `steps` these are. `without_spark` are the connectors and views that the last step
    wrote without Spark (None: a version that did not tell). `ways` says of the views of the last step which way each was
    brought up to date (`incremental.model.Way`). `error` is why the run as a whole can't go on, or why it ended."""

    alive: bool
    host: str
    process: str
    started_at: str
    updated_at: str
    since: str
    steps: int
    phases: Mapping[str, Mapping[str, float]]
    error: JsonObject | None
    doing: JsonObject | None = None
    freshness: JsonObject = field(default_factory=dict)
    without_spark: tuple[str, ...] | None = None
    ways: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """See the module. `pending` is the plan's summary, or the reason why there is no plan; `staged` names the versions that
    are staged, and as of which step (empty: none are); `rolled_back` the objects that are rolled back, and to what;
    `failed_command` the last command that failed, if nothing went well since. `pending_diff` lists what the files would
    change, as the seed has it (`deployment_runtime_status_details`); None: nothing, or there is no plan. `rejections` are
    those by people that stop the plan of now. `fault` is what keeps the files from being planned: the first of it."""

    pipeline: str
    environment: str
    state: State
    detail: str
    pending: str
    applied: Applied | None
    step: int | None
    lease: Lease | None
    relations: tuple[RelationStatus, ...] = field(default=())
    connectors: tuple[ConnectorStatus, ...] = field(default=())
    wish: str = "run"
    run: RunStatus | None = None
    refusal: str = ""
    staged: str = ""
    rolled_back: tuple[str, ...] = ()
    failed_command: FailedCommand | None = None
    pending_diff: JsonObject | None = None
    rejections: tuple[Rejection, ...] = ()
    fault: str = ""
