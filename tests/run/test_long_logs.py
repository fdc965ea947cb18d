"""No step lists the log of a table on a disk: what a step costs does not grow with the steps before it.

The logs hold a loop of links here. Whoever lists one, as deltalake does whenever it opens a table or commits to it, is
refused by it; whoever asks for files by their names does not meet it.
"""

from pathlib import Path

import pytest

from bench.history import Aged
from reconciler.base.errors import RegistryError
from reconciler.delta.opening import open_table


def test_no_step_lists_the_log_of_a_table(tmp_path: Path) -> None:
    aged = Aged(tmp_path)
    aged.steps(1)
    # The steps to come pass a checkpoint of the table, and one of the view.
    aged.age(92)
    logs = [tmp_path / "warehouse" / "clock" / name / "_delta_log" for name in ("ticks", "last_tick")]
    before = [max(log.glob("*.checkpoint.parquet")) for log in logs]
    for log in logs:
        (log / "loop").symlink_to("loop")
        with pytest.raises(RegistryError, match="can't be read"):
            open_table(str(log.parent))
    assert len(aged.steps(12)) == 12
    for log, checkpoint in zip(logs, before, strict=True):
        assert max(log.glob("*.checkpoint.parquet")) > checkpoint
        (log / "loop").unlink()
        table = open_table(str(log.parent))
        assert table is not None
        assert table.version() > 100
        assert table.get_add_actions(flatten=True).num_rows == 1


def test_a_large_checkpoint_is_not_written_again_with_each_tenth_commit(tmp_path: Path) -> None:
    aged = Aged(tmp_path)
    aged.steps(1)
    aged.age(750, replaced=20)
    log = tmp_path / "warehouse" / "clock" / "ticks" / "_delta_log"
    before = sorted(log.glob("*.checkpoint.parquet"))
    # More than a megabyte of names of replaced files: it pays for over twenty commits.
    assert before[-1].stat().st_size > 20 * 50_000
    aged.steps(50)
    more = sorted({*log.glob("*.checkpoint.parquet")} - {*before})
    assert 1 <= len(more) <= 2
    aged.steps(1)
    table = open_table(str(log.parent))
    assert table is not None
    assert table.get_add_actions(flatten=True).num_rows == 1
    for before_that in (0, 15, 30, 45):
        past = open_table(str(log.parent), table.version() - before_that)
        assert past is not None
        assert past.get_add_actions(flatten=True).num_rows == 1
