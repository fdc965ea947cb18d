"""make demo-live tells its story to the end: it checks each exit code, and the rows of history and live records, itself."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_the_demo_of_live_data_comes_to_its_end() -> None:
    done = subprocess.run(["bash", str(ROOT / "demo/live")], capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert said.index("$ reconcile plan lineitem\n") < said.index("$ reconcile apply lineitem\n") < said.index("== Done ==")
    assert "$ reconcile plan lineitem --detailed-exitcode\nlineitem (dev)\n  no changes\n" in said
