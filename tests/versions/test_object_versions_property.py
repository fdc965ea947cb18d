"""Versions of objects over random histories of a program: in memory, without any engine."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from hypothesis import given, settings
from hypothesis import strategies as some

from reconciler.diff.compare import compare
from reconciler.diff.model import Diff
from reconciler.diff.objects import ObjectChanges, changed_objects
from reconciler.project.snapshot.model import Snapshot
from reconciler.project.snapshot.objects import object_keys, versioned_objects
from reconciler.registry.model import Applied, Approval, Head, ObjectVersions, Published
from reconciler.registry.protocol import History
from reconciler.state.histories import versions_at
from reconciler.testing.memory import MemoryRegistry
from reconciler.versions.numbering import Switch, record_versions, versions_after
from tests.diff.test_hidden_changes import snapshot

# Of each object what it may be; empty: it is not there. What reads what is gone reads `base` instead.
TABLES = ("", "a INT", "a INT, b INT", "a BIGINT", "A INT")
QUERIES = ("", "SELECT * FROM {}", "SELECT a FROM {}", "select a -- why\nfrom {}", "SELECT f(a) AS c FROM {}")
KINDS = ("VIEW", "MATERIALIZED VIEW", "LOCAL VIEW")
FUNCTIONS = ("x + 1", "X+1", "x + 2")
DATA = "CREATE VIEW data AS SELECT to_json(struct(*)) AS j FROM base;\n"
APPROVAL = Approval("policy")


@lru_cache(maxsize=4096)
def program(table: str, name: str, query: str, kind: str, over: str, function: str, data: bool, moved_from: str) -> Snapshot:
    sql = f"CREATE TABLE base (a INT);\nCREATE FUNCTION f(x INT) RETURNS INT AS {function};\n"
    if table:
        sql += f"CREATE TABLE {name} ({table});\n"
    if query:
        sql += f"CREATE {kind} v AS {query.format(name if table else 'base')};\n"
    if over:
        sql += f"CREATE VIEW w AS {over.format('v' if query and 'f(' not in query else 'base')};\n"
    moves = f", moved: [{{from: {moved_from}, to: {name}}}]" if moved_from else ""
    return snapshot(sql + (DATA if data else ""), f"spec: {{evolution: evolve{moves}}}")


def changes(with_names: bool) -> some.SearchStrategy[tuple[object, ...]]:
    names = ("t", "u", "r") if with_names else ("t",)
    return some.tuples(
        some.sampled_from(TABLES),
        some.sampled_from(names),
        some.sampled_from(QUERIES),
        some.sampled_from(KINDS),
        some.sampled_from(QUERIES),
        some.sampled_from(FUNCTIONS),
        some.booleans() if with_names else some.just(False),
        some.booleans(),
        # Applied; the same told twice, since its process died; taken back; all of the pipeline removed.
        some.sampled_from(("applied", "applied", "applied", "told twice", "taken back", "removed")),
    )


class Past:
    """A pipeline's head and histories through its changes."""

    def __init__(self) -> None:
        self.registry = MemoryRegistry()
        self.head = Head("shop")
        self.snapshot: Snapshot | None = None
        self.name = ""
        self.seen: dict[str, dict[int, set[str]]] = {}

    def bring(self, desired: Snapshot | None, how: str) -> None:
        before = self.snapshot
        applied = before.program if before is not None else None
        diff = compare(before, desired) if before is not None and desired is not None else Diff((), ())
        after = versions_after(self.registry, self.head, applied, desired, diff)
        self._holds(self.head.versions, after, desired)
        if desired is not None:
            self._changes(changed_objects(applied, desired.program, diff), after)
        if how == "taken back":
            return
        step = self.head.last_step + 1
        switch = Switch(step, f"{step:04d}", "ann", "c0ffee", APPROVAL, "", f"apply {step}")
        for _ in range(2 if how == "told twice" else 1):
            record_versions(self.registry, self.head, after, desired, switch)
        published = Published(step, switch.at, {}) if desired is not None else None
        record = desired.record if desired is not None else None
        applied_now = Applied(None, record, "id", "", switch.at, "ann", "c0ffee", APPROVAL, "0", "")
        self.head = replace(self.head, applied=applied_now, published=published, last_step=step, versions=after)
        self.snapshot = desired
        assert {one.id: one for one in versions_at(self.registry, self.head, None).values()} == {
            one.id: one for one in after.values()
        }, "the histories say what the head says"
        self._is_recorded()

    def _holds(
        self, before: Mapping[str, ObjectVersions], after: Mapping[str, ObjectVersions], desired: Snapshot | None
    ) -> None:
        by_id = {one.id: one for one in after.values()}
        assert len(by_id) == len(after)
        for one in before.values():
            assert by_id[one.id].last in (one.last, one.last + 1)
        for one in after.values():
            assert one.active is None or 0 <= one.active <= one.last
        keys = object_keys(desired.program) if desired is not None else ()
        assert {key for key, one in after.items() if one.active is not None} == set(keys)

    def _changes(self, changes: ObjectChanges, after: Mapping[str, ObjectVersions]) -> None:
        """What was there and is there has another number exactly if it means something else."""
        for key, one in after.items():
            former = self.head.versions.get(changes.renamed.get(key, key))
            if one.active is not None and former is not None and former.active is not None:
                assert former.id == one.id
                assert (former.active != one.active) is (key in changes.redefined), key

    def _is_recorded(self) -> None:
        rows = self.registry.history(History.VERSIONS, "shop")
        for one in self.head.versions.values():
            numbers = sorted(int(row["number"]) for row in rows if row["object"] == one.id)
            assert numbers == list(range(one.last + 1))

    def meanings(self) -> None:
        """Equal fingerprints of an object ↔ equal numbers; to be called after each change."""
        if self.snapshot is None:
            return
        keys = object_keys(self.snapshot.program)
        for key, found in versioned_objects(self.snapshot.program, frozenset(keys)).items():
            number = self.head.versions[key].active
            assert number is not None
            of_number = self.seen.setdefault(self.head.versions[key].id, {})
            assert of_number.setdefault(number, {found.fingerprint}) == {found.fingerprint}, "one number, one meaning"
            others = {other for known, meant in of_number.items() if known != number for other in meant}
            assert found.fingerprint not in others, "one meaning, one number"


def go(history: Past, change: tuple[object, ...]) -> None:
    table, name, query, kind, over, function, data, moves, how = change
    if how == "removed":
        if history.snapshot is not None:
            history.bring(None, "applied")
        history.name = ""
        return
    moved_from = history.name if moves and table and history.name not in ("", name) else ""
    history.bring(program(table, name, query, kind, over, function, data, moved_from), str(how))  # type: ignore[arg-type]
    if how != "taken back":
        history.name = str(name) if table else ""


@settings(max_examples=150)
@given(some.lists(changes(with_names=False), min_size=2, max_size=9))
def test_equal_meanings_have_equal_numbers_and_others_have_others(sequence: list[tuple[object, ...]]) -> None:
    history = Past()
    for change in sequence:
        go(history, change)
        history.meanings()


@settings(max_examples=150)
@given(some.lists(changes(with_names=True), min_size=2, max_size=9))
def test_numbers_are_never_reused_nor_left_out_whatever_is_renamed(sequence: list[tuple[object, ...]]) -> None:
    history = Past()
    for change in sequence:
        go(history, change)
