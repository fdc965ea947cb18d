"""Which Spark is installed here, without importing or starting it.

Its own package says so, in a file of one line. That of a cluster (`spark-submit` puts it first) is asked as the installed
one is: whichever an import would find.
"""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_VERSION: Final = re.compile(r"^__version__[^=\n]*=\s*[\"']([^\"'\n]+)[\"']", re.MULTILINE)


@cache
def installed_spark() -> str:
    """The version, as 4.2.0. Where there is none to be found, nothing can be computed, and the first one's is as good."""
    found = find_spec("pyspark")
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        try:
            said = _VERSION.search((Path(folder) / "version.py").read_text(encoding="utf-8"))
        except OSError:
            continue
        if said is not None:
            return said[1]
    from reconciler.base.declarations import FIRST_SPARK

    return FIRST_SPARK
