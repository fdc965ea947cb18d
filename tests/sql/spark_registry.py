"""What Spark itself says of its functions: all of its registry, one by one, asked through the JVM.

The class of a function says what it makes of rows. Where a builder stands in the class's place, it is made to build one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reconciler.sql.words import FunctionKind

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
# A window function is an aggregate, too, by its class.
_CLASSES = (
    (FunctionKind.WINDOW, _EXPRESSIONS + "WindowFunction"),
    (FunctionKind.AGGREGATE, _EXPRESSIONS + "aggregate.AggregateFunction"),
    (FunctionKind.GENERATOR, _EXPRESSIONS + "Generator"),
)
_ARGUMENTS = ("NULL", "1", "'a'", "array(1)", "TIMESTAMP '2020-01-01 00:00:00'", "map(1, 2)", "array(struct(1))")
_MOST = 8


@dataclass(frozen=True, slots=True)
class Registered:
    """What Spark says of a function: what it makes of rows, and whether it surely gives other values each time, or takes
    the clock or the session, in one call of it at least."""

    kind: FunctionKind
    varies: bool


def functions_of_spark(session: Any) -> dict[str, Registered]:
    """All functions of Spark's registry whose names are words."""
    return dict(sorted(_Asking(session).all()))


class _Asking:
    """Asks one session."""

    def __init__(self, session: Any) -> None:
        self.jvm = session._jvm
        self._classes: dict[str, Any] = {}
        # Each name on the way to it is a question to the JVM.
        self._class_for_name = self.jvm.java.lang.Class.forName
        self.state = session._jsparkSession.sessionState()
        parse = self.state.sqlParser().parseExpression
        self.arguments = {
            count: [self.jvm.PythonUtils.toSeq([parse(one)] * count) for one in (_ARGUMENTS if count else ("NULL",))]
            for count in range(_MOST)
        }
        self.current = self.jvm.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE()

    def all(self) -> Iterator[tuple[str, Registered]]:
        values = self.state.functionRegistry()
        in_values = set()
        for name, identifier in self._names(values):
            in_values.add(name)
            yield name, self._of_values(values, identifier)
        for name, _ in self._names(self.state.tableFunctionRegistry()):
            if name not in in_values:
                yield name, Registered(FunctionKind.TABLE, False)

    def _names(self, registry: Any) -> Iterator[tuple[str, Any]]:
        known = registry.listFunction()
        for index in range(known.size()):
            identifier = known.apply(index)
            name = str(registry.lookupFunction(identifier).get().getName())
            if name.replace("_", "").isalnum():
                yield name, identifier

    def _of_values(self, registry: Any, identifier: Any) -> Registered:
        own = self._class(registry.lookupFunction(identifier).get().getClassName())
        built = list(self._built(registry, identifier))
        if not self._class(_EXPRESSIONS + "Expression").isAssignableFrom(own):
            own = built[0].getClass()
        kind = next((kind for kind, name in _CLASSES if self._class(name).isAssignableFrom(own)), FunctionKind.SCALAR)
        is_chance = bool(self._class(_EXPRESSIONS + "Nondeterministic").isAssignableFrom(own))
        return Registered(kind, is_chance or any(map(self._varies, built)))

    def _class(self, name: str) -> Any:
        if name not in self._classes:
            self._classes[name] = self._class_for_name(name)
        return self._classes[name]

    def _built(self, registry: Any, identifier: Any) -> Iterator[Any]:
        """The calls that Spark builds of the fewest arguments: one, and one with an argument more if it takes that."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        built = 0
        for alike in self.arguments.values():
            for arguments in alike:
                try:
                    yield registry.lookupFunction(identifier, arguments)
                    built += 1
                    break
                except (Py4JError, PySparkException):
                    continue
            if built:
                return

    def _varies(self, call: Any) -> bool:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            return bool(not call.deterministic() or call.containsPattern(self.current))
        except (Py4JError, PySparkException):
            # It asks for the types of its arguments first.
            return False
