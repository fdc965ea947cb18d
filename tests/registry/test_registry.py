"""The contract of a registry, run against the Delta registry and its fake in memory."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from reconciler.base.digest import JsonObject, digest_json
from reconciler.base.errors import RegistryConflict, RegistryError
from reconciler.delta import documents
from reconciler.delta.documents import DocumentTable
from reconciler.delta.histories import HistoryTable
from reconciler.delta.opening import join_location, open_table
from reconciler.delta.registry_clean_up import FORGETS_FILES
from reconciler.engine.protocol import ColumnType
from reconciler.plan.operations.clear_table import ClearTable
from reconciler.registry.codec import document_from_json, document_to_json, head_from_json, head_to_json
from reconciler.registry.delta import DeltaRegistry
from reconciler.registry.entries import EntryState, JournalEntry, TableIntent
from reconciler.registry.intents import Intent, ReadInputs
from reconciler.registry.model import (
    Aliases,
    AliasMove,
    Applied,
    Approval,
    Controls,
    Head,
    Home,
    Journal,
    Lease,
    LeftOutput,
    ObjectVersions,
    OutputState,
    Published,
    Reached,
    Readers,
    Seek,
    Sending,
    Stored,
)
from reconciler.registry.placements import ForeignStep, Placement, moved_foreign, read_of
from reconciler.registry.protocol import History, Registry
from reconciler.testing.memory import MemoryRegistry

FULL_HEAD = Head(
    pipeline="shop",
    epoch=3,
    applied=Applied(
        "sha256:a",
        "sha256:r",
        "id",
        "sha256:p",
        "2026-01-01",
        "ann",
        "c0ffee",
        Approval("lock"),
        "0.1.0",
        "sha256:f",
        Home("team/data", "prod", ("main",), True, "trunk"),
    ),
    published=Published(
        4,
        "2026-01-01",
        {
            "t": Placement("shop/t", 7, 12, (ColumnType("a", "INT"), ColumnType("b", "STRING", False))),
            "v": Placement("shop/v", 3, 2, (), bytes=900, seconds=1.25, rows_read=12),
        },
    ),
    outputs={
        "v.lake": OutputState(2, Sending(2, 3, False, 4, 8, "its id"), 7, False, "an id", ((3, 4), (5, 6)), "a seek"),
        "v.topic": OutputState(None, None, 0, replaces=True),
    },
    left=(
        LeftOutput("v.lake", "shop/v", {"transport": {"name": "file_output", "config": {"path": "A"}}}, OutputState(2)),
        LeftOutput("v.gone", "shop/v", {}, OutputState(2, Sending(2, 3, False, 4, 8), 8, skips=((3, 4),)), removed=True),
    ),
    positions={"t.history": {"version": 3, "complete": True}},
    intent=Intent(5, ReadInputs(()), "2026-01-01"),
    journal=Journal(
        "id2",
        "sha256:p2",
        None,
        None,
        Approval("recorded", "bob", "2026-01-02"),
        "bob",
        "beef",
        "2026-01-02",
        "1 to add",
        "sha256:p2",
        9,
        ("t.history",),
        (JournalEntry("0001", ClearTable("t"), EntryState.INTENDED, TableIntent("shop/t", 7)),),
        versions={"view:v": ObjectVersions("view:v", 3, 3), "table:u": ObjectVersions("table:t", None, 1, {"a": "b"})},
        home=Home("", "prod"),
        back=("v.lake",),
    ),
    last_step=5,
    versions={
        "view:v": ObjectVersions("view:v", 2, 3),
        "table:t": ObjectVersions("table:t", None, 1),
        "table:u": ObjectVersions("table:t/2", 0, 0),
        "table:w": ObjectVersions("table:w", 2, 2, {"net": "gross", "gross": "net"}),
    },
)
LEASE = Lease("holder", "apply", "host", "1:1", 1, "2026-01-01T00:00:00+00:00", "2026-01-01T00:01:00+00:00")


@pytest.fixture(params=["delta", "memory"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Registry:
    return DeltaRegistry(str(tmp_path)) if request.param == "delta" else MemoryRegistry()


def test_a_new_registry_knows_nothing(registry: Registry) -> None:
    assert registry.pipelines() == ()
    assert registry.head("shop") is None
    assert registry.document("shop", Lease) is None
    assert registry.history(History.APPLIES, "shop") == ()


def test_a_head_comes_back_as_it_was_written(registry: Registry) -> None:
    registry.replace_head(None, FULL_HEAD, "w1")
    found = registry.head("shop")
    assert found is not None
    assert found.value == FULL_HEAD
    assert found.value.published is not None
    assert found.value.published.relations["v"].seconds == 1.25, "which equality does not look at"
    assert registry.pipelines() == ("shop",)


def test_of_two_writers_of_one_token_the_second_is_refused_and_writes_nothing(registry: Registry) -> None:
    first = registry.replace_head(None, Head("shop"), "w1")
    second = registry.replace_head(first.token, Head("shop", epoch=1), "w2")
    with pytest.raises(RegistryConflict):
        registry.replace_head(first.token, Head("shop", epoch=2), "w3")
    found = registry.head("shop")
    assert found == second


def test_of_two_first_writers_the_second_is_refused(registry: Registry) -> None:
    registry.replace_head(None, Head("shop"), "w1")
    with pytest.raises(RegistryConflict):
        registry.replace_head(None, Head("shop", epoch=5), "w2")


def test_a_write_whose_answer_was_lost_succeeds_when_repeated(registry: Registry) -> None:
    first = registry.replace_head(None, Head("shop"), "w1")
    written = registry.replace_head(first.token, Head("shop", epoch=1), "w2")
    assert registry.replace_head(first.token, Head("shop", epoch=1), "w2").token == written.token


def test_a_lease_is_compared_and_set_like_a_head(registry: Registry) -> None:
    first = registry.replace_document("shop", None, LEASE, "w1")
    registry.replace_document("shop", first.token, replace(LEASE, released=True), "w2")
    with pytest.raises(RegistryConflict):
        registry.replace_document("shop", first.token, LEASE, "w3")
    found = registry.document("shop", Lease)
    assert found is not None
    assert found.value.released


def test_a_snapshot_is_written_once_and_read_whole(registry: Registry) -> None:
    objects = [
        {"kind": "view", "name": "v", "definition": {"query": "SELECT 'it''s' AS \"ü\""}},
        {"kind": "table", "name": "t", "definition": {"columns": [1, None, {"a": True}]}},
    ]
    record = digest_json([objects[1], objects[0]])
    registry.write_snapshot("shop", record, objects)
    registry.write_snapshot("shop", record, objects)
    assert registry.snapshot("shop", record) == (objects[1], objects[0])


def test_definitions_that_are_not_what_their_record_names_are_damaged(registry: Registry) -> None:
    registry.write_snapshot("shop", "sha256:of-something-else", [{"kind": "table", "name": "t", "definition": {}}])
    with pytest.raises(RegistryError) as caught:
        registry.snapshot("shop", "sha256:of-something-else")
    assert caught.value.code == "G602"


def test_the_last_few_definitions_are_read_once(tmp_path: Path) -> None:
    """They never change. Who changes what was given changes no other answer."""
    registry, large = DeltaRegistry(str(tmp_path), kept_signs=0), DeltaRegistry(str(tmp_path))
    many = [[{"kind": "table", "name": "t", "definition": {"n": number}}] for number in range(5)]
    records = [digest_json(objects) for objects in many]
    for objects, record in zip(many, records, strict=True):
        registry.write_snapshot("shop", record, objects)
        registry.snapshot("shop", record)[0]["definition"]["n"] = "changed"
        large.snapshot("shop", record)
    for file in (tmp_path / "_registry/shop/snapshots").rglob("*.parquet"):
        file.unlink()
    for objects, record in zip(many[1:], records[1:], strict=True):
        assert registry.snapshot("shop", record) == tuple(objects)
    assert large.snapshot("shop", records[0]) == tuple(many[0]), "small ones stay, however many"
    for reader, record in ((registry, records[0]), (DeltaRegistry(str(tmp_path)), records[4])):
        with pytest.raises(RegistryError) as caught:
            reader.snapshot("shop", record)
        assert caught.value.code == "G602"


def test_a_pipeline_that_another_process_adds_is_known_at_once(tmp_path: Path) -> None:
    registry, other = DeltaRegistry(str(tmp_path)), DeltaRegistry(str(tmp_path))
    assert registry.pipelines() == ()
    for name in ("shop", "bank"):
        other.replace_head(None, Head(name), name)
        assert name in registry.pipelines()
    assert registry.pipelines() == ("bank", "shop")


def test_a_missing_snapshot_is_an_error_not_an_empty_program(registry: Registry) -> None:
    with pytest.raises(RegistryError) as caught:
        registry.snapshot("shop", "sha256:none")
    assert caught.value.code == "G601"


class MadeMeanwhile(DeltaRegistry):
    """One that sees another process write a first head, after it looked for it and before it looks into the index."""

    def __init__(self, warehouse: str) -> None:
        super().__init__(warehouse)
        self._warehouse, self._is_made = warehouse, False

    def _index(self) -> HistoryTable:
        if not self._is_made:
            self._is_made = True
            DeltaRegistry(self._warehouse).replace_head(None, Head("shop"), "one")
        return super()._index()


def test_a_head_that_is_made_while_somebody_looks_is_not_missing(tmp_path: Path) -> None:
    found = MadeMeanwhile(str(tmp_path)).head("shop")
    assert found is not None
    assert found.value == Head("shop")


def test_a_batch_is_recorded_once(registry: Registry) -> None:
    row = {"event": "e", "at": "1", "by": "it's me", "details": "d"}
    registry.record(History.AUDIT, "shop", [row], "b1")
    registry.record(History.AUDIT, "shop", [row], "b1")
    registry.record(History.AUDIT, "shop", [{**row, "at": "0"}], "b2")
    assert [found["at"] for found in registry.history(History.AUDIT, "shop")] == ["0", "1"]
    assert len(registry.history(History.AUDIT, "shop", by="it's me", at="1")) == 1
    assert registry.history(History.AUDIT, "shop", by="nobody") == ()


def test_a_head_without_measures_is_read_and_none_are_written() -> None:
    value = head_to_json(FULL_HEAD)
    relations = value["published"]["relations"]
    assert set(relations["t"]) == {"location", "version", "rows", "columns"}
    old = {**value, "published": {**value["published"], "relations": {"v": relations["t"]}}}
    published = head_from_json(old, "here").published
    assert published is not None
    assert published.relations["v"].bytes is None
    assert published.relations["v"].rows == 12


def test_a_head_whose_emissions_have_no_ids_is_read() -> None:
    value = head_to_json(FULL_HEAD)
    del value["outputs"]["v.lake"]["sending"]["id"]

    sending = head_from_json(value, "here").outputs["v.lake"].sending

    assert sending == Sending(2, 3, False, 4, 8)
    assert sending.id == ""


def test_a_head_without_versions_is_read() -> None:
    value = head_to_json(FULL_HEAD)
    assert value["versions"] == {
        "view:v": [2, 3],
        "table:t": [None, 1],
        "table:u": [0, 0, "table:t/2"],
        "table:w": [2, 2, "table:w", {"gross": "net", "net": "gross"}],
    }
    old = {key: part for key, part in value.items() if key != "versions"}
    old["journal"] = {key: part for key, part in value["journal"].items() if key != "versions"}
    found = head_from_json(old, "here")
    assert found.journal is not None
    assert FULL_HEAD.journal is not None
    assert found == replace(FULL_HEAD, versions={}, journal=replace(FULL_HEAD.journal, versions={}))


@pytest.mark.parametrize("damage", [{"view:v": [1]}, {"view:v": 1}, [1, 2]])
def test_versions_that_are_damaged_are_an_error(damage: object) -> None:
    with pytest.raises(RegistryError) as caught:
        head_from_json({**head_to_json(FULL_HEAD), "versions": damage}, "here")
    assert caught.value.code == "G602"


def test_a_head_of_a_newer_format_is_refused() -> None:
    with pytest.raises(RegistryError) as caught:
        head_from_json({**head_to_json(Head("shop")), "format": 99}, "here")
    assert caught.value.code == "G606"


@pytest.mark.parametrize("damage", [{"format": 1}, {"format": "1"}, {"format": 1, "pipeline": "p", "epoch": 0}])
def test_a_damaged_head_is_an_error(damage: dict[str, object]) -> None:
    with pytest.raises(RegistryError) as caught:
        head_from_json(damage, "here")
    assert caught.value.code == "G602"


def test_a_head_that_disappeared_is_an_error_not_a_first_apply(tmp_path: Path) -> None:
    registry = DeltaRegistry(str(tmp_path))
    registry.replace_head(None, Head("shop"), "w1")
    (tmp_path / "_registry" / "shop" / "head").rename(tmp_path / "elsewhere")
    with pytest.raises(RegistryError) as caught:
        registry.head("shop")
    assert caught.value.code == "G601"


def test_a_damaged_log_is_an_error_not_an_absence(tmp_path: Path) -> None:
    registry = DeltaRegistry(str(tmp_path))
    registry.replace_head(None, Head("shop"), "w1")
    for commit in (tmp_path / "_registry" / "shop" / "head" / "_delta_log").glob("*.json"):
        commit.write_text("{ not json")
    with pytest.raises(RegistryError):
        registry.head("shop")


def test_reading_a_head_does_not_slow_down_with_its_history(tmp_path: Path) -> None:
    registry = DeltaRegistry(str(tmp_path))
    stored = registry.replace_head(None, Head("shop"), "first")
    for number in range(130):
        stored = registry.replace_head(stored.token, Head("shop", epoch=number), f"w{number}")
    log = tmp_path / "_registry" / "shop" / "head" / "_delta_log"
    checkpoints = sorted(int(file.name[:20]) for file in log.glob("*.checkpoint.parquet"))
    assert stored.token - checkpoints[-1] <= 10


def _increment(location: str, times: int, name: str) -> None:
    registry = DeltaRegistry(location)
    done = 0
    while done < times:
        found = registry.head("shop")
        assert found is not None
        try:
            registry.replace_head(found.token, replace(found.value, epoch=found.value.epoch + 1), f"{name}-{done}")
        except RegistryConflict:
            continue
        done += 1


def test_a_clean_up_is_no_write_of_somebody_else(tmp_path: Path) -> None:
    """What was replaced long ago goes with every 50th write, and the next write still finds what it replaces."""
    table = DocumentTable(str(tmp_path / "head"), keep_hours=0)
    written = table.replace(None, {"count": 0}, "first")
    for number in range(1, 120):
        written = table.replace(written.version, {"count": number}, f"write {number}")
    assert written.version == 119
    assert table.read() == written
    assert len(list((tmp_path / "head").glob("*.parquet"))) < 25


@pytest.mark.parametrize("made_before", [False, True])
def test_checkpoints_of_a_document_forget_what_was_replaced_long_ago(
    made_before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time that a document says is none here: then no checkpoint names what was replaced."""
    monkeypatch.setitem(FORGETS_FILES, "delta.deletedFileRetentionDuration", "interval 0 hours")
    former = {"delta.checkpointInterval": "10", "delta.logRetentionDuration": "interval 1 hours"}
    monkeypatch.setattr(documents, "_CONFIGURATION", former if made_before else former | FORGETS_FILES)
    table = DocumentTable(str(tmp_path / "head"))
    written = table.replace(None, {"count": 0}, "first")
    for number in range(1, 131):
        written = table.replace(written.version, {"count": number}, f"write {number}")
        assert table.read() == written
    # One commit more where the document has to say it first.
    assert written.version == 130 + made_before
    checkpoints = sorted((tmp_path / "head" / "_delta_log").glob("*.checkpoint.parquet"))
    assert ds.dataset(checkpoints[-1]).count_rows(filter=ds.field("remove").is_valid()) <= 10


def test_concurrent_processes_lose_no_update(tmp_path: Path) -> None:
    DeltaRegistry(str(tmp_path)).replace_head(None, Head("shop"), "first")
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_increment, args=(str(tmp_path), 10, f"p{number}")) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    found = DeltaRegistry(str(tmp_path)).head("shop")
    assert found is not None
    assert found.value.epoch == 30


def test_pipelines_share_no_file(tmp_path: Path) -> None:
    registry = DeltaRegistry(join_location(str(tmp_path)))
    registry.replace_head(None, Head("one"), "w1")
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "_registry" / "one").rglob("*") if file.is_file()}
    two = registry.replace_head(None, Head("two"), "w2")
    registry.replace_head(two.token, Head("two", epoch=1), "w3")
    registry.record(History.AUDIT, "two", [{"event": "e", "at": "1", "by": "b", "details": "d"}], "b1")
    after = {file: file.stat().st_mtime_ns for file in (tmp_path / "_registry" / "one").rglob("*") if file.is_file()}
    assert before == after


CONTROLS = Controls(
    True,
    True,
    True,
    {"t.live": True, "t.history": False},
    {"t.live": Seek("id", {"0": 42}, "2026-01-01", "ann")},
    "ann",
    "now",
)


def test_controls_are_replaced_by_who_saw_them(registry: Registry) -> None:
    assert registry.document("shop", Controls) is None
    first = registry.replace_document("shop", None, Controls(), "one")
    second = registry.replace_document("shop", first.token, CONTROLS, "two")
    assert registry.document("shop", Controls) == second
    assert second.value == CONTROLS
    with pytest.raises(RegistryConflict):
        registry.replace_document("shop", first.token, Controls(), "three")


@pytest.mark.parametrize(
    ("wish", "expected"),
    [("run", Controls()), ("pause", Controls(paused=True)), ("stop", Controls(stops=True))],
)
def test_controls_of_a_version_that_knew_one_wish_at_a_time_are_read(wish: str, expected: Controls) -> None:
    stored = {"format": 1, "wish": wish, "forced": False, "connectors": {}, "seeks": {}, "by": "", "at": ""}
    assert document_from_json(Controls, stored, "here") == expected
    assert document_to_json(expected)["wish"] == wish


def test_aliases_are_replaced_by_who_saw_them(registry: Registry) -> None:
    assert registry.document("shop", Aliases) is None
    aliases = Aliases({"view:v": {"stable": 2}}, (AliasMove("view:v", "stable", None, 2, "2025-01-01", "somebody"),))
    first = registry.replace_document("shop", None, aliases, "w1")
    assert registry.document("shop", Aliases) == Stored(first.token, aliases)
    second = registry.replace_document("shop", first.token, Aliases(), "w2")
    with pytest.raises(RegistryConflict):
        registry.replace_document("shop", first.token, aliases, "w3")
    assert registry.document("shop", Aliases) == second
    assert registry.replace_document("shop", first.token, Aliases(), "w2").token == second.token


def test_readers_are_replaced_by_who_saw_them(registry: Registry) -> None:
    assert registry.document("shop", Readers) is None
    first = registry.replace_document("shop", None, Readers(("bonus",)), "w1")
    assert registry.document("shop", Readers) == Stored(first.token, Readers(("bonus",)))
    second = registry.replace_document("shop", first.token, Readers(("bonus", "marks")), "w2")
    with pytest.raises(RegistryConflict):
        registry.replace_document("shop", first.token, Readers(()), "w3")
    assert registry.document("shop", Readers) == second


def test_what_is_reached_is_replaced_by_who_saw_it(registry: Registry) -> None:
    assert registry.document("shop", Reached) is None
    first = registry.replace_document("shop", None, Reached("a" * 40, "2025-01-01"), "w1")
    assert registry.document("shop", Reached) == Stored(first.token, Reached("a" * 40, "2025-01-01"))
    second = registry.replace_document("shop", first.token, Reached("b" * 40, "2025-01-02"), "w2")
    with pytest.raises(RegistryConflict):
        registry.replace_document("shop", first.token, Reached("c" * 40, "2025-01-03"), "w3")
    assert registry.document("shop", Reached) == second
    assert registry.pipelines() == ()


FOREIGN = {"sales": ForeignStep(7, {"revenue": Placement("sales/revenue", 3, 12, bytes=90)}, {"revenue": "an id"})}


def test_a_head_says_what_was_read_of_other_pipelines(registry: Registry) -> None:
    head = Head("shop", published=Published(1, "now", {"t": Placement("shop/t", 0)}, FOREIGN))
    registry.replace_head(None, head, "w1")
    assert registry.head("shop") == Stored(0, head)
    glance = registry.glance("shop")
    assert glance is not None
    assert glance.reads == ()  # nothing is applied


def test_what_is_read_of_a_pipeline_counts_versions() -> None:
    one, two, three = (Placement("sales/revenue", version) for version in (1, 2, 3))
    foreign = {
        "sales": ForeignStep(7, {"revenue": one}),
        "sales.revenue@v0": ForeignStep(2, {"": two}),
        "good@v1": ForeignStep(1, {"": three}),
    }
    assert read_of(foreign, "sales", "bonus") == {"sales.revenue": one, "sales.revenue@v0": two}
    assert read_of(foreign, "bonus", "bonus") == {"good@v1": three}
    assert moved_foreign(foreign, {**foreign, "good@v1": ForeignStep(1, {"": two})}) == {"good@v1"}


def test_a_head_without_what_was_read_is_one_of_a_pipeline_that_reads_nothing() -> None:
    value = head_to_json(Head("shop", published=Published(1, "now", {}, FOREIGN)))
    del value["published"]["foreign"]
    head = head_from_json(value, "a test")
    assert head.published is not None
    assert head.published.foreign == {}


def test_a_report_is_what_was_told_last(registry: Registry) -> None:
    assert registry.report("shop") is None
    for step in (1, 2, 3):
        registry.replace_report("shop", {"step": step})
    assert registry.report("shop") == {"step": 3}


def test_who_updates_a_report_loses_nothing_that_others_write_meanwhile(registry: Registry) -> None:
    asked: list[JsonObject | None] = []

    def change(before: JsonObject | None) -> JsonObject:
        asked.append(before)
        if len(asked) <= 2:
            registry.replace_report("shop", {"step": len(asked)})
        return {**(before or {}), "failed": True}

    registry.update_report("shop", change)
    assert registry.report("shop") == {"step": 2, "failed": True}
    assert asked == [None, {"step": 1}, {"step": 2}]
    registry.update_report("shop", lambda before: None)
    assert registry.report("shop") == {"step": 2, "failed": True}


def test_a_report_that_is_told_last_stands_whoever_wrote_meanwhile(tmp_path: Path) -> None:
    def told(writer: str, turn: int, before: JsonObject | None) -> JsonObject:
        return {**(before or {}), writer: turn}

    def tell(writer: int) -> None:
        for turn in range(5):
            DeltaRegistry(str(tmp_path)).update_report("shop", partial(told, f"{writer}", turn))

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(tell, range(3)))
    assert DeltaRegistry(str(tmp_path)).report("shop") == {"0": 4, "1": 4, "2": 4}


def _event(number: int) -> dict[str, str]:
    return {"at": f"{number:04d}", "event": "step", "subject": "shop", "step": str(number), "details": "{}"}


def test_a_serial_history_takes_each_serial_once(registry: Registry) -> None:
    for serial in (1, 2, 2, 5, 3):
        registry.append(History.EVENTS, "shop", [_event(serial)], serial)
    assert [row["step"] for row in registry.history(History.EVENTS, "shop")] == ["1", "2", "5"]
    registry.append(History.EVENTS, "shop", [_event(9)], None)
    registry.append(History.EVENTS, "shop", [_event(9)], None)
    assert [row["step"] for row in registry.history(History.EVENTS, "shop")] == ["1", "2", "5", "9", "9"]


def test_a_column_that_came_later_is_empty_in_the_rows_before(tmp_path: Path) -> None:
    location = str(tmp_path / "events")
    before, after = HistoryTable(location, ("at", "step")), HistoryTable(location, ("at", "step", "told"))
    before.append_serial([{"at": "a", "step": "1"}], 1)
    assert after.read() == ({"at": "a", "step": "1", "told": ""},)
    assert after.read(told="x") == ()
    assert after.read_last(("step", "told"), "step", True, None) == ({"step": "1", "told": ""},)
    after.append_serial([{"at": "b", "step": "2", "told": "x"}], 2)
    after.append_serial([{"at": "c", "step": "3", "told": ""}], 3)
    assert after.read_last(("step", "told"), "step", True, None) == (
        {"step": "1", "told": ""},
        {"step": "2", "told": "x"},
        {"step": "3", "told": ""},
    )
    assert [row["step"] for row in after.read(told="x")] == ["2"]
    assert [row["at"] for row in before.read(step="2")] == ["b"], "an earlier version reads on"


@pytest.mark.parametrize("count", [105, pytest.param(205, marks=pytest.mark.slow)])
def test_a_long_serial_history_stays_small(tmp_path: Path, count: int) -> None:
    registry = DeltaRegistry(str(tmp_path))
    for serial in range(count):
        registry.append(History.EVENTS, "shop", [_event(serial)], serial)
    assert len(registry.history(History.EVENTS, "shop")) == count
    table = open_table(str(tmp_path / "_registry" / "shop" / "events"))
    assert table is not None
    assert len(table.file_uris()) < 10


def _activation(step: int, name: str = "view:v", number: str = "0") -> dict[str, str]:
    same = {"at": "now", "by": "it's me", "commit": "", "apply_id": ""}
    return {**same, "object": name, "number": number, "name": name.partition(":")[2], "step": str(step)}


def test_the_last_rows_are_in_the_order_of_their_numbers(registry: Registry) -> None:
    assert registry.last_rows(History.ACTIVATIONS, "shop", ("step",), "step", None) == ()
    # As numbers: 10 comes after 9. Not in the order in which they were written, either.
    for serial, step in enumerate((9, 10, 2)):
        registry.append(History.ACTIVATIONS, "shop", [_activation(step), _activation(step + 20, "it's")], serial)

    def steps(limit: int | None, **equal: str) -> list[int]:
        found = registry.last_rows(History.ACTIVATIONS, "shop", ("step", "object"), "step", limit, **equal)
        assert all(set(row) == {"step", "object"} for row in found), "these columns and no others"
        return [int(row["step"]) for row in found]

    assert steps(None) == [2, 9, 10, 22, 29, 30]
    assert steps(2) == [29, 30]
    assert steps(9) == [2, 9, 10, 22, 29, 30]
    assert steps(None, object="view:v") == [2, 9, 10]
    assert steps(1, object="view:v") == [10]
    assert steps(1, object="view:v", number="0") == [10]
    assert steps(None, object="it's") == [22, 29, 30]
    assert steps(None, object="nobody") == []
    assert registry.last_rows(History.ACTIVATIONS, "another", ("step",), "step", None) == ()


def test_the_last_rows_may_lie_between_two_numbers_or_be_those_of_the_last_times(registry: Registry) -> None:
    for serial, step in enumerate((9, 10, 2, 100)):
        row = {**_activation(step), "at": f"2026-01-0{serial + 1}"}
        registry.append(History.ACTIVATIONS, "shop", [row], serial)

    def steps(by: str, limit: int | None, between: tuple[int, int] | None = None, **equal: str) -> list[int]:
        found = registry.last_rows(History.ACTIVATIONS, "shop", ("step",), by, limit, between, **equal)
        return [int(row["step"]) for row in found]

    assert steps("step", None, (2, 10)) == [2, 9, 10]
    assert steps("step", 1, (0, 99)) == [10]
    assert steps("step", None, (11, 99)) == []
    assert steps("step", None, (2, 10), object="nobody") == []
    assert steps("at", 2) == [2, 100]
    assert steps("at", None) == [9, 10, 2, 100]


def test_rows_of_versions_are_told_whole_or_not_at_all(registry: Registry) -> None:
    row = _activation(1)
    with pytest.raises((ValueError, KeyError)):
        registry.append(History.ACTIVATIONS, "shop", [{key: row[key] for key in row if key != "name"}], 1)
    assert registry.history(History.ACTIVATIONS, "shop") == ()
