"""A process of its own that compiles Java: `python -m reconciler.engine.spark.compile SOURCE CLASS_PATH JAR`.

Spark carries a compiler, for the code that it makes of queries, so a machine needs no Java development kit. The source may
use Spark's classes and those of the class path. The jar has the same bytes each time.
"""

import os
import sys
import zipfile
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError

from reconciler.engine.spark.session import bare_java

_NO_TIME = (1980, 1, 1, 0, 0, 0)


def main(source: str, class_path: str, jar: str) -> int:
    """Compile one file of Java into a jar."""
    gateway = bare_java()
    jvm: Any = gateway
    places = [jvm.java.io.File(place).toURI().toURL() for place in class_path.split(os.pathsep)]
    loader = jvm.java.net.URLClassLoader(_array(jvm, places), jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(loader)
    try:
        compiler.cookFile(source)
    except Py4JJavaError as error:
        print(f"{Path(source).name}: {str(error.java_exception.getMessage()).splitlines()[0]}", file=sys.stderr)
        return 1
    with zipfile.ZipFile(jar, "w") as file:
        for name, code in sorted(dict(compiler.getBytecodes()).items()):
            file.writestr(zipfile.ZipInfo(f"{name.replace('.', '/')}.class", _NO_TIME), bytes(code))
    return 0


def _array(jvm: Any, places: list[Any]) -> Any:
    found = jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName("java.net.URL"), len(places))
    for at, place in enumerate(places):
        jvm.java.lang.reflect.Array.set(found, at, place)
    return found


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
