"""A process of its own that fetches jars by Ivy: `python -m reconciler.engine.spark.fetch FOLDER COORDINATES…`.

Spark carries Ivy; a JVM without a session is enough to use it. Prints `coordinates<TAB>path` for each jar.
"""

import os
import sys
from typing import Any

from py4j.protocol import Py4JJavaError

from reconciler.engine.spark.session import bare_java


def main(folder: str, coordinates: list[str]) -> int:
    """Fetch each jar alone, without what it depends on."""
    jvm: Any = bare_java()
    system = jvm.java.lang.System
    system.setProperty("spark.jars.ivy", folder)
    if os.environ.get("RECONCILE_IVY_SETTINGS"):
        system.setProperty("spark.jars.ivySettings", os.environ["RECONCILE_IVY_SETTINGS"])
    resolver = getattr(getattr(jvm.org.apache.spark.util, "DependencyUtils$"), "MODULE$")
    for one in coordinates:
        try:
            found = resolver.resolveMavenDependencies(jvm.java.net.URI.create(f"ivy://{one}?transitive=false"))
        except Py4JJavaError as error:
            print(f"{one}: {str(error.java_exception.getMessage()).splitlines()[0]}", file=sys.stderr)
            return 1
        print(f"{one}\t{found.head()}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2:]))
