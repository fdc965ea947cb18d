"""docs/python.md: its examples, in a process of their own, as whoever copies them has them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_RUN = """
import doctest, sys
text = open(sys.argv[1], encoding="utf-8").read()
test = doctest.DocTestParser().get_doctest(text, {}, "python.md", "python.md", 0)
runner = doctest.DocTestRunner(verbose=False)
runner.run(test)
sys.exit(min(runner.failures, 1))
"""


@pytest.mark.spark
def test_every_example_of_the_page(tmp_path: Path) -> None:
    # A fence would be taken for a line that an example prints.
    text = re.sub(r"^```\w*$", "", (Path(__file__).parents[2] / "docs/python.md").read_text("utf-8"), flags=re.MULTILINE)
    assert text.count(">>> ") > 20
    (tmp_path / "page.txt").write_text(text, "utf-8")
    command = [sys.executable, "-c", "from reconciler.cli.main import main; main(['init', 'shop'])"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-c", _RUN, "page.txt"], cwd=tmp_path, capture_output=True, text=True, env=os.environ
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
