"""`reconcile` as a program for `spark-submit`: the same commands, on the JVM that spark-submit has started.

    spark-submit --master spark://host:7077 --jars "$(reconcile setup --jars)" "$(reconcile setup --job)" run tpch --once

The Python that spark-submit starts (PYSPARK_DRIVER_PYTHON, PYSPARK_PYTHON) must have reconciler installed.
"""

import sys
from pathlib import Path


def _start() -> None:
    # A program's own folder comes first where modules are looked for, and ours has some whose names others have, too.
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    from reconciler.cli.main import main

    main()


if __name__ == "__main__":
    _start()
