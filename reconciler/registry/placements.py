"""Where a relation stands, and where what is read of other pipelines stood.

Keys: a relation of this pipeline by its folded name; one of another by `pipeline.name`; a version, which stands by itself,
by its own key.
"""

from collections.abc import Mapping
from dataclasses import asdict, field

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.names import is_version
from reconciler.engine.stored import ColumnType, FailedCalls


@dataclass(frozen=True, slots=True)
class FormerState:
    """Folders below a stream's own by which it remembered until the step `step`, and some of which since the step `since`:
    `folder` and `others`."""

    folder: str
    step: int
    others: tuple[str, ...] = ()
    since: int | None = None


@dataclass(frozen=True, slots=True)
class StateSegment:
    """Rows that a stream remembers since an earlier step, `step`, which wrote them to the folder `folder` below its own."""

    folder: str
    step: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SummaryState:
    """What is kept of groups beside themselves (`incremental.summaries`): the step `step` wrote it to the folder `folder` of
    the view, a Delta table of one version. `form` says by which definition. `has_all`: it leaves out no group that the view
    may show."""

    folder: str
    step: int
    rows: int
    bytes: int
    form: str
    has_all: bool = True


@dataclass(frozen=True, slots=True)
class KeyRows:
    """A key, by the texts of its values (None: NULL), and how many rows it had."""

    values: tuple[str | None, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class KeysSeen:
    """How the rows that came to a stream in the step `step` were divided: `rows` of `keys` keys. `names` are the columns of
    a key, `most` the keys with most rows, `constant` the columns that had one value only."""

    step: int
    rows: int
    keys: int
    names: tuple[str, ...]
    most: tuple[KeyRows, ...] = ()
    constant: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamState:
    """What a stream remembers after a step.

    The step `step` wrote the folder `folder` below the stream's own, a Delta table of one version, with what is remembered
    of the keys that it came upon. Of all others, `earlier` has it, the oldest segment first. `rows` and `bytes` are those of
    all segments: what a later one has of a key stands for what an earlier one has, so they are no less than what is
    remembered.

    `form` says by which definition, and in which layout, the rows are written. `former` goes with the next step, unless a
    checkpoint needs it. `greatest` has by key of the stream that assigns event time the greatest one so far, in microseconds
    since 1970; where values have a watermark of their own, it is the one by which the least of these goes, and `by_value`
    has that of each value (as JSON). `watermark` is how far the stream's own has come (None: there is none, or an earlier
    version did not say). `late` counts the rows that came too late since the stream was bootstrapped. `keys` says what keys
    a step with many rows had (None: none had many).

    A view remembers its groups in the same way. `summary` is what it has of them besides (None: nothing)."""

    folder: str
    step: int
    rows: int
    bytes: int
    former: FormerState | None = None
    greatest: Mapping[str, int] = field(default_factory=dict)
    late: int = 0
    form: str = ""
    earlier: tuple[StateSegment, ...] = ()
    keys: KeysSeen | None = None
    by_value: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    watermark: int | None = None
    summary: SummaryState | None = None

    @property
    def segments(self) -> tuple[StateSegment, ...]:
        """All of them, the oldest first."""
        rows = self.rows - sum(one.rows for one in self.earlier)
        size = self.bytes - sum(one.bytes for one in self.earlier)
        return (*self.earlier, StateSegment(self.folder, self.step, rows, size))

    @property
    def folders(self) -> tuple[str, ...]:
        """Those of all segments, and of the summary, below the stream's own."""
        summary = (self.summary.folder,) if self.summary is not None else ()
        return (*(one.folder for one in self.segments), *summary)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a relation stands: its folder under the warehouse, the Delta version, and what is known of it there.

    `seconds` and `rows_read` are of a view's last bootstrap: how long the engine took, and how many rows it read. Time takes
    no part in equality: two placements that differ in it are the same place. `failed_calls` are those that gave NULL in the
    rows that stand there. `greatest` has of a table by folded column with LATENESS the greatest value that it ever had, as
    text (`program.lateness`; empty: none yet). `id` is Delta's of the table; None: heads of earlier versions did not say,
    and whoever writes a head next finds out. `state` is what a stream remembers; None until its first step after a
    bootstrap: then it is what a bootstrap of it gives.
    """

    location: str
    version: int
    rows: int | None = None
    columns: tuple[ColumnType, ...] = ()
    bytes: int | None = None
    seconds: float | None = field(default=None, compare=False)
    rows_read: int | None = None
    failed_calls: tuple[FailedCalls, ...] = field(default=(), compare=False)
    id: str | None = field(default=None, compare=False)
    greatest: Mapping[str, str] = field(default_factory=dict)
    state: StreamState | None = None


@dataclass(frozen=True, slots=True)
class ForeignStep:
    """What was read of another pipeline: a published step of it, and where its relations (folded) stood by then. `ids` are
    those of their Delta tables: a table that is made anew at the same place is another one. Each version of a relation that
    is read has one of its own, under its key, and there the empty name."""

    step: int
    relations: Mapping[str, Placement] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)


def moved_foreign(before: Mapping[str, ForeignStep], after: Mapping[str, ForeignStep]) -> frozenset[str]:
    """The keys (`pipeline.name`) of relations that are read at another place, version or table than before."""
    known, now = _stands(before), _stands(after)
    return frozenset(key for key, stands in now.items() if known.get(key) != stands)


def _stands(foreign: Mapping[str, ForeignStep]) -> dict[str, tuple[str, int, str | None]]:
    return {
        foreign_key(source, name): (placement.location, placement.version, one.ids.get(name))
        for source, one in foreign.items()
        for name, placement in one.relations.items()
    }


def foreign_key(source: str, name: str) -> str:
    """The key of what is read there: of a pipeline's relation, or of a version, which stands by itself."""
    return f"{source}.{name}" if name else source


def foreign_placements(foreign: Mapping[str, ForeignStep]) -> dict[str, Placement]:
    """Where other pipelines' relations are read, by key."""
    return {foreign_key(name, key): placement for name, one in foreign.items() for key, placement in one.relations.items()}


def read_of(foreign: Mapping[str, ForeignStep], pipeline: str, reader: str) -> dict[str, Placement]:
    """By key, what `reader` has read of a pipeline's tables: as of a step of it, and of versions. Own versions count for the
    reader itself."""
    found: dict[str, Placement] = {}
    for source, one in foreign.items():
        owner = source.partition(".")[0] if not is_version(source) or "." in source else reader
        if owner == pipeline:
            found |= {foreign_key(source, name): placement for name, placement in one.relations.items()}
    return found


def foreign_place(key: str, foreign: Mapping[str, ForeignStep]) -> tuple[str, str]:
    """Under which source and name a key stands in what is read: a version by itself, or, where its pipeline keeps it up to
    date, as any relation of that pipeline."""
    source, _, name = key.partition(".")
    return (key, "") if key in foreign else (source, name)


def foreign_places(foreign: Mapping[str, ForeignStep]) -> dict[str, JsonObject]:
    """What is read of others by key, as histories have it. `followed` tells a version that its pipeline keeps up to date
    from one that stands by itself."""
    return {
        foreign_key(source, name): {
            "location": placement.location,
            "version": placement.version,
            "step": one.step,
            "id": one.ids.get(name, ""),
            **({"followed": True} if is_version(name) else {}),
        }
        for source, one in foreign.items()
        for name, placement in one.relations.items()
    }


def recorded_place(key: str, place: JsonObject) -> tuple[str, str]:
    """Under which source and name stands what a history has under this key."""
    source, _, name = key.partition(".")
    return (key, "") if is_version(key) and not place.get("followed") else (source, name)


# Of a placement, what heads of older versions lack.
_MEASURES = ("bytes", "seconds", "rows_read", "id", "state")


def placement_to_json(placement: Placement) -> JsonObject:
    """One placement as it stands in a head. What is not known is left out, and what there is none of."""
    value = {key: part for key, part in asdict(placement).items() if key not in _MEASURES or part is not None}
    for name in ("failed_calls", "greatest"):
        if not value[name]:
            del value[name]
    return value


def placements_to_json(relations: Mapping[str, Placement]) -> JsonObject:
    """Placements by key."""
    return {key: placement_to_json(placement) for key, placement in relations.items()}


def foreign_to_json(foreign: Mapping[str, ForeignStep]) -> JsonObject:
    """What was read of other pipelines, as it stands in heads and intents."""
    return {
        name: {"step": one.step, "relations": placements_to_json(one.relations), "ids": dict(one.ids)}
        for name, one in foreign.items()
    }
