"""A connector that is put somewhere while a step is open goes there as soon as that step is finished, whoever finishes it:
what comes after is not taken for what it was said of."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.environment.target import open_target
from reconciler.state.controls import read_controls
from reconciler.testing.crashes import Crash, crash_at
from tests.shops.lineitem import PROGRAM, opened, put
from tests.shops.runs import rows


def restore(root: Path) -> None:
    opened(root).restore("good")


def execute(root: Path) -> None:
    opened(root).execute("INSERT INTO log VALUES ('said')")


def apply(root: Path) -> None:
    (root / "pipelines/shop/program.sql").write_text(PROGRAM + "CREATE TABLE more (x INT);\n")
    opened(root).apply()


@pytest.mark.parametrize("left_open", [True, False])
@pytest.mark.parametrize(
    ("do", "then"),
    [
        (restore, ["a", "b"]),
        (execute, ["a", "a", "b", "b", "said"]),
        (apply, ["a", "a", "b", "b"]),
    ],
)
def test_it_is_the_same_whether_a_step_was_open_or_not(
    left_open: bool, do: Callable[[Path], None], then: list[str], root: Path
) -> None:
    put(root, "log", "1.json", {"line": "a"})
    opened(root).run_once()
    opened(root).checkpoint("good")
    put(root, "log", "2.json", {"line": "b"})
    if left_open:
        with pytest.raises(Crash):
            opened(root).observed(boundary=crash_at("step:intended")).run_once()
    else:
        opened(root).run_once()
    assert opened(root).seek_connector("log.lines", "earliest").done is not left_open
    do(root)
    assert not read_controls(open_target(root, None).registry, "shop").seeks
    opened(root).run_once()
    assert sorted(line for (line,) in rows(root, "log")) == then
