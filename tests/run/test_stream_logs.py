"""What a stream remembers of many keys, on Spark: a step writes the keys that it comes upon, and the rest stays where it
stands, as long as the head, the step before or a checkpoint needs it."""

import shutil
from pathlib import Path

import pytest

from reconciler.engine.protocol import Engine
from reconciler.materialize.stream_steps import FEW_ROWS
from reconciler.registry.placements import StreamState
from tests.streams.pond import YAML, open_pond, placement, put, rows, write_pond

MANY = FEW_ROWS + 500


def state_of(root: Path) -> StreamState:
    state = placement(root, "once").state
    assert state is not None
    return state


def step(root: Path, engine: Engine, number: int, *readings: tuple[str, str, int]) -> StreamState:
    put(root, number, *readings)
    (done,) = open_pond(root, engine).run_once().steps
    assert done.lost_states == ()
    return state_of(root)


def folders(root: Path) -> set[str]:
    """Those that hold what `once` remembers."""
    found = (root / "warehouse" / placement(root, "once").location).glob("v-*")
    return {one.name for one in found if _is_state(one)}


def _is_state(folder: Path) -> bool:
    log = folder / "_delta_log" / f"{0:020d}.json"
    return log.exists() and "__until" in log.read_text()


def given(root: Path) -> list[str]:
    return sorted(row[0] for row in rows(root, "once") if not row[0].startswith("d"))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, spark_engine: Engine) -> Path:
    """The pond after a step of many devices, `d0` and so on. Copy it; don't change it."""
    root = tmp_path_factory.mktemp("pond")
    # No checkpoints but those that are asked for.
    write_pond(root, YAML.replace("  connectors:", "  runtime: {checkpoint_interval: 86400s}\n  connectors:"))
    open_pond(root, spark_engine).apply()
    step(root, spark_engine, 0, *((f"d{number}", "10:00", number) for number in range(MANY)))
    return root


def copy_of(many: Path, to: Path) -> Path:
    shutil.copytree(many, to / "pond")
    return to / "pond"


def test_small_steps_leave_a_large_state_where_it_stands(many: Path, tmp_path: Path, spark_engine: Engine) -> None:
    root = copy_of(many, tmp_path)
    first = state_of(root)
    assert [one.rows for one in first.segments] == [MANY]
    put(root, 1, ("a", "10:01", 1), ("d7", "10:02", 1), ("a", "10:03", 1))
    put(root, 2, ("b", "10:04", 1), ("d7", "10:05", 1), ("a", "10:05", 1))
    put(root, 3, ("b", "10:06", 1))
    assert open_pond(root, spark_engine).run_once().step_count == 3
    last = state_of(root)
    assert [one.rows for one in last.segments] == [MANY, 3], "of the keys that came, put together"
    assert last.earlier == (first.segments[0],)
    assert last.former is not None
    assert folders(root) == {*last.folders, last.former.folder}, "that of the step before stays for one step more"
    assert given(root) == ["a", "b"]
    assert len(rows(root, "once")) == MANY + 2
    assert open_pond(root, spark_engine).plan().diff.is_empty


def test_what_expired_is_forgotten_though_it_stands_there(many: Path, tmp_path: Path, spark_engine: Engine) -> None:
    root = copy_of(many, tmp_path)
    step(root, spark_engine, 1, ("a", "11:59", 1))
    step(root, spark_engine, 2, ("d7", "11:59", 1), ("d9", "12:01", 1), ("a", "12:02", 1))
    assert len(rows(root, "once")) == MANY + 1, "the watermark is 11:58: nothing is forgotten"
    last = step(root, spark_engine, 3, ("d3", "12:10", 1), ("d7", "12:10", 1), ("d9", "12:11", 1))
    assert len(rows(root, "once")) == MANY + 2, "d3 is new: its last reading was at 10:00, and the watermark is 12:01"
    again = step(root, spark_engine, 4, *((f"e{number}", "12:12", 1) for number in range(MANY)))
    assert last.segments[0].rows == MANY, "few rows came: it is left where it is"
    assert sum(one.rows for one in again.segments) <= MANY + 10, "as many came: put together, what expired is gone"


@pytest.mark.slow
def test_a_state_does_not_grow_over_ten_times_its_expiry(tmp_path: Path, spark_engine: Engine) -> None:
    """Of devices that come again and again; the expiry is two hours, and windows are an hour long."""
    write_pond(tmp_path)
    open_pond(tmp_path, spark_engine).apply()
    devices, held = ("a", "b", "c", "d"), []
    for number in range(48):
        at = f"{number // 2:02d}:{30 * (number % 2):02d}"
        put(tmp_path, number, *((device, at, number) for device in devices))
        assert open_pond(tmp_path, spark_engine).run_once().step_count == 1
        states = [placement(tmp_path, name).state for name in ("once", "hourly")]
        assert None not in states
        stored = sum(segment.rows for segment in state_of(tmp_path).segments)
        held.append((*(state.rows for state in states if state is not None), stored))
    filled, later = held[8:16], held[16:]
    assert len(later) * 30 > 60 * 2 * 10 - 60 * 8, "most of ten times the expiry comes after it"
    for of_first, of_rest in zip(zip(*filled, strict=True), zip(*later, strict=True), strict=True):
        assert max(of_rest) <= max(of_first)
    assert max(rows_ for rows_, *_ in held) == len(devices)


def test_a_checkpoint_keeps_what_it_needs_of_a_log(many: Path, tmp_path: Path, spark_engine: Engine) -> None:
    root = copy_of(many, tmp_path)
    noted = step(root, spark_engine, 1, ("a", "10:01", 1))
    open_pond(root, spark_engine).checkpoint("noted")
    for number in range(2, 5):
        last = step(root, spark_engine, number, (f"b{number}", "10:04", 1), ("d1", "10:04", 1))
    assert folders(root) >= {*noted.folders, *last.folders}
    open_pond(root, spark_engine).prune()
    assert folders(root) >= {*noted.folders, *last.folders}
    open_pond(root, spark_engine).restore("noted")
    assert state_of(root) == noted
    assert given(root) == ["a"]
    # The files are there still, and come again.
    open_pond(root, spark_engine).run_once()
    assert given(root) == ["a", "b2", "b3", "b4"]
    assert len(rows(root, "once")) == MANY + 4


@pytest.mark.parametrize("gone", [0, 1], ids=["the oldest segment", "the newest segment"])
def test_a_log_of_which_a_segment_is_gone_is_computed_anew(
    gone: int, many: Path, tmp_path: Path, spark_engine: Engine
) -> None:
    root = copy_of(many, tmp_path)
    before = step(root, spark_engine, 1, ("a", "10:01", 1), ("d1", "10:01", 1))
    shutil.rmtree(root / "warehouse" / placement(root, "once").location / before.folders[gone])
    put(root, 2, ("a", "10:02", 1), ("d1", "10:02", 1), ("c", "10:02", 1))
    (done,) = open_pond(root, spark_engine).run_once().steps
    assert done.lost_states == ("once",)
    assert given(root) == ["a", "c"]
    assert len(rows(root, "once")) == MANY + 2
