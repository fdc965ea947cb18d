"""Functions in Python where they run: they arrive whole, and need no package of this project."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

TAX = """\
from lib.rates import RATE

def tax(x):
    if x < 0:
        raise ValueError("negative")
    return x * RATE
"""

ARRIVES = """\
import pickle, sys
sys.modules["reconciler"] = None
call = pickle.loads(open(sys.argv[1], "rb").read())
print(call(2))
try:
    call(-1)
except Exception as error:
    print(error)
print(sorted(name for name in sys.modules if name in ("lib", "rates", "taxes")))
import time
print(time.tzname[0])
"""


def test_a_function_arrives_with_its_sources_where_this_package_is_not(tmp_path: Path) -> None:
    from pyspark import cloudpickle

    from reconciler.engine.spark import functions  # noqa: F401  (it says that `loading` goes by value)
    from reconciler.engine.spark.loading import Code, PythonFunction

    sources = {"taxes.py": TAX, "lib/rates.py": "RATE = 3\n"}
    function = PythonFunction("tax", Code("taxes", sources), (("x", ("integer", 32), True),), (("integer", 32), "INT", True))
    pickled = tmp_path / "function"
    pickled.write_bytes(cloudpickle.dumps(function.call))
    script = tmp_path / "arrives.py"
    script.write_text(ARRIVES)

    command = [sys.executable, "-I", str(script), str(pickled)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"TZ": "Asia/Tokyo"})

    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "6",
        "reconcile:X708@tax: function tax: ValueError: negative (udf/taxes.py, line 5)",
        "[]",
        "UTC",
    ]
