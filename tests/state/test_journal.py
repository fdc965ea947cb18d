"""The journal's records: each step by itself in short journals, several at a time in long ones, and none lost."""

from collections import Counter
from itertools import product
from typing import Any

import pytest

from reconciler.base.boundaries import no_boundary
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.commit_snapshot import CommitSnapshot
from reconciler.plan.operations.publish_view import PublishView
from reconciler.registry.entries import (
    BuildIntent,
    BuildResult,
    CommitResult,
    EntryIntent,
    EntryResult,
    EntryState,
    JournalEntry,
    PublishIntent,
)
from reconciler.registry.model import Approval, Head, Journal, Stored
from reconciler.state.journal import OpenJournal
from reconciler.testing.crashes import Crash, crash_at
from reconciler.testing.memory import MemoryRegistry
from tests.cells import mostly_slow


class Counting(MemoryRegistry):
    """Counts how often the head is written."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def replace_head(self, token: int | None, head: Head, write_id: str) -> Stored[Head]:
        self.writes += 1
        return super().replace_head(token, head, write_id)


def opened(registry: MemoryRegistry, views: int) -> None:
    bootstraps, publishes = [BootstrapView("v", ("t",))] * views, [PublishView("v")] * views
    steps = [*bootstraps, *publishes, CommitSnapshot()]
    entries = tuple(JournalEntry(f"{number:04d}", step) for number, step in enumerate(steps, start=1))
    journal = Journal("id", "p", "d", "r", Approval("policy"), "ann", "c", "now", "", "p", 1, (), entries)
    registry.replace_head(None, Head("shop", journal=journal), "w")


def work_on(registry: MemoryRegistry, boundary: Any = no_boundary, check: Any = lambda: None) -> list[str]:
    """Do what is left; the entries whose effects were run."""
    stored = registry.head("shop")
    assert stored is not None
    work, ran = OpenJournal(registry, stored, boundary, check), []

    def pin(entry: JournalEntry) -> EntryIntent:
        if entry.intent is not None:
            return entry.intent
        is_build = isinstance(entry.step, BootstrapView)
        return BuildIntent("shop/v", entry.id) if is_build else PublishIntent("shop/v", None, entry.id)

    def effect(entry: JournalEntry) -> EntryResult:
        if int(entry.id) % 250 == 0:
            assert recorded(registry, entry.id) == entry, "no effect without its intent in the head"
        ran.append(entry.id)
        return BuildResult(int(entry.id)) if isinstance(entry.step, BootstrapView) else CommitResult(int(entry.id))

    for batch in work.batches():
        assert len({type(entry.step) for entry in batch}) == 1
        work.run_batch(batch, pin, effect)
    return ran


def recorded(registry: MemoryRegistry, name: str) -> JournalEntry:
    stored = registry.head("shop")
    assert stored is not None
    assert stored.value.journal is not None
    return next(one for one in stored.value.journal.entries if one.id == name)


def states(registry: MemoryRegistry) -> Counter[EntryState]:
    stored = registry.head("shop")
    assert stored is not None
    assert stored.value.journal is not None
    return Counter(entry.state for entry in stored.value.journal.entries)


def test_a_short_journal_records_each_step_by_itself() -> None:
    registry = Counting()
    opened(registry, 20)
    work_on(registry)
    assert registry.writes == 1 + 2 * 40
    assert states(registry) == {EntryState.DONE: 40, EntryState.PENDING: 1}


@pytest.mark.parametrize("views", mostly_slow([220, 300, 600], 220))
def test_a_long_journal_is_written_no_more_often_than_one_of_hundreds(views: int) -> None:
    registry = Counting()
    opened(registry, views)
    ran = work_on(registry)
    assert len(ran) == len(set(ran)) == 2 * views
    assert registry.writes < 2 * 310
    assert states(registry) == {EntryState.DONE: 2 * views, EntryState.PENDING: 1}


@pytest.mark.parametrize(
    ("kind", "boundary"),
    mostly_slow(
        list(product(("bootstrap_view", "publish_view"), ("before", "intended", "effected", "recorded"))),
        ("bootstrap_view", "intended"),
        ("publish_view", "effected"),
    ),
)
def test_who_dies_among_steps_recorded_together_leaves_what_can_be_finished(kind: str, boundary: str) -> None:
    registry = Counting()
    opened(registry, 200)
    with pytest.raises(Crash):
        work_on(registry, crash_at(f"{kind}:{boundary}", 8))
    if kind == "bootstrap_view":
        stored = registry.head("shop")
        assert stored is not None
        assert stored.value.journal is not None
        published = [one for one in stored.value.journal.entries if isinstance(one.step, PublishView)]
        assert {one.state for one in published} == {EntryState.PENDING}, "it can still be taken back"
    work_on(registry)
    assert states(registry) == {EntryState.DONE: 400, EntryState.PENDING: 1}


def test_who_lost_the_pipeline_runs_no_effect() -> None:
    registry = Counting()
    opened(registry, 3)
    calls = []

    def check() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        work_on(registry, check=check)
    assert states(registry)[EntryState.DONE] == 2
