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
