"""Names of Java that are asked for again and again, found without asking Java.

py4j asks Java what a name is whenever it is written: of `org.apache.hadoop.fs.Path` each part by itself, and of a short name
like `PythonUtils` in each package that pyspark imports. For whatever is no class Java looks into each of its jars, of which
there are some three hundred, and remembers nothing. So what is surely a package or a class is put into py4j's view of Java,
where py4j looks first.

What is not listed here works as ever, and takes longer.
"""

from typing import Any, Final

from py4j.java_gateway import JavaClass, JavaPackage, JVMView

PACKAGES: Final = (
    "java.lang",
    "java.util",
    "org.apache.hadoop.fs",
    "org.apache.spark.sql.catalyst.expressions.objects",
    "org.apache.spark.sql.classic",
    "org.apache.spark.sql.delta",
    "org.apache.spark.sql.types",
    "org.apache.spark.util",
    "py4j.reflection",
    "reconciler",
    "scala.collection.immutable",
)
SHORT_NAMES: Final = {
    name: f"{package}.{name}"
    for package, names in {
        "org.apache.spark.api.java": ("JavaSparkContext",),
        "org.apache.spark.api.python": ("PythonErrorUtils", "PythonUtils"),
        "org.apache.spark.sql": ("functions",),
        "org.apache.spark.sql.api.python": ("PythonSQLUtils",),
    }.items()
    for name in names
}
"""What pyspark calls by a short name: its whole name."""
_WHOLE_NAMES: Final = (
    "org.apache.spark.sql.catalyst.trees.PySparkCurrentOrigin",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.functions",
)
CLASSES: Final = {**SHORT_NAMES, **{name: name for name in _WHOLE_NAMES}}


def know_names(jvm: JVMView) -> None:
    """Put the names into py4j's view of a Java. It asks Java nothing."""
    view: Any = jvm
    client, view_id = view._gateway_client, view._id
    for name, whole in CLASSES.items():
        vars(view)[name] = JavaClass(whole, client)
    for package in PACKAGES:
        at, parts = view, package.split(".")
        for place, part in enumerate(parts):
            at = vars(at).setdefault(part, JavaPackage(".".join(parts[: place + 1]), client, jvm_id=view_id))
