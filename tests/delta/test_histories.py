"""What this process read of a history serves again, and never when something was appended since."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.delta.histories import HistoryTable
from reconciler.delta.seen_tables import SeenTables

COLUMNS = ("step", "kind")


@pytest.fixture
def history(tmp_path: Path) -> HistoryTable:
    """A history of two rows, as a process sees it that has not read it."""
    location = str(tmp_path / "steps")
    HistoryTable(location, COLUMNS).append_serial([row(1), row(2, "apply")], 1)
    return HistoryTable(location, COLUMNS)


def row(step: int, kind: str = "run") -> dict[str, str]:
    return {"step": str(step), "kind": kind}


def steps(history: HistoryTable) -> list[str]:
    return [one["step"] for one in history.read_last(("step",), "step", True, None)]


def files_gone(history: HistoryTable) -> None:
    for file in Path(history.location).glob("*.parquet"):
        file.unlink()


def test_a_question_is_answered_again_without_a_look_at_files(history: HistoryTable) -> None:
    asked = (steps(history), history.read(kind="apply"))
    assert asked == (["1", "2"], ({"step": "2", "kind": "apply"},))
    files_gone(history)
    assert (steps(history), history.read(kind="apply")) == asked
    with pytest.raises(Exception, match="parquet"):
        history.read(kind="run")


def test_who_changes_an_answer_changes_no_other(history: HistoryTable) -> None:
    history.read()[0]["kind"] = "changed"
    history.read()[0]["kind"] = "changed"
    assert sorted(one["kind"] for one in history.read()) == ["apply", "run"]


def test_an_answer_serves_for_a_minute(history: HistoryTable) -> None:
    now = [1000.0]
    history = HistoryTable(history.location, COLUMNS, SeenTables(lambda: now[0]))
    assert steps(history) == ["1", "2"]
    files_gone(history)
    now[0] += 59
    assert steps(history) == ["1", "2"]
    now[0] += 2
    with pytest.raises(Exception, match="parquet"):
        steps(history)


def test_a_history_that_is_made_anew_is_another(history: HistoryTable, tmp_path: Path) -> None:
    assert steps(history) == ["1", "2"]
    (tmp_path / "steps").rename(tmp_path / "before")
    assert steps(history) == []
    HistoryTable(history.location, COLUMNS).append_serial([row(7)], 1)
    assert steps(history) == ["7"]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["mine", "other", "again", "read"]), st.integers(0, 2)), max_size=12))
def test_whoever_appends_each_reads_all_rows(tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int]]) -> None:
    each_reads_all_rows(tmp_path_factory, acts)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["mine", "other", "again", "read"]), st.integers(0, 2)), max_size=12))
def test_whoever_appends_each_reads_all_rows_in_many_more_cases(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int]]
) -> None:
    each_reads_all_rows(tmp_path_factory, acts)


def each_reads_all_rows(tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int]]) -> None:
    location = str(tmp_path_factory.mktemp("history") / "steps")
    writers = {"mine": HistoryTable(location, COLUMNS), "other": HistoryTable(location, COLUMNS)}
    written: list[str] = []
    for act, which in acts:
        if act in writers:
            written.append(str(len(written)))
            writers[act].append([row(len(written) - 1)], f"batch {len(written) - 1}")
        elif act == "again" and written:
            # A batch whose answer was lost is sent again.
            writers["other" if which else "mine"].append([row(len(written) - 1)], f"batch {len(written) - 1}")
        for reader in writers.values():
            assert steps(reader) == written
