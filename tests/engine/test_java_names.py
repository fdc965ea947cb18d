"""What py4j is told of Java's names is what it would find by asking Java."""

from typing import Any

from py4j.java_gateway import JavaClass, JavaPackage, JVMView

from reconciler.engine.protocol import Engine
from reconciler.engine.spark.java_names import CLASSES, PACKAGES
from tests.engine.engines import session_of


def test_each_name_is_what_java_says(spark_engine: Engine) -> None:
    known: Any = session_of(spark_engine)._jvm
    asking: Any = JVMView(known._gateway_client, "asking", id=known._id)
    for name, whole in CLASSES.items():
        assert vars(known)[name]._fqn == whole
        found = getattr(asking, name)
        assert (type(found), found._fqn) == (JavaClass, whole)
    for package in PACKAGES:
        told, found = known, asking
        for part in package.split("."):
            told, found = vars(told)[part], getattr(found, part)
            assert (type(found), found._fqn) == (JavaPackage, told._fqn)
