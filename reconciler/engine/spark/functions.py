"""Functions of a pipeline in the session of one call.

Each becomes a temporary SQL function, so that arguments are counted and converted to the types of its parameters, as those
of Spark's own are. One in Python has a Python function of Spark behind it, which takes its sources along to the executors
(`loading`). Nothing of it is run in this process. Sessions are of one call each, so no call sees functions of another.

Calls that fail of functions that give NULL then are counted in one accumulator of the Spark context, under a name of the
computation: Spark adds what each task counted once that has succeeded, before the computation is done.
"""

from collections.abc import Iterable
from threading import Lock
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from pyspark import Accumulator, AccumulatorParam, SparkContext, cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from reconciler.base.errors import Declared, EngineError
from reconciler.base.names import fold, quoted
from reconciler.engine.protocol import FailedCalls
from reconciler.engine.sources import FunctionSource, PythonModule
from reconciler.engine.spark import loading
from reconciler.engine.spark.failures import marked, translated
from reconciler.engine.spark.locations import literal

_BEHIND: Final = "reconcile_python_"
_CODE: Final = "X708"
_WIDTHS: Final[dict[type[DataType], int]] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_PLAIN: Final[dict[type[DataType], str]] = {
    BinaryType: "binary",
    BooleanType: "boolean",
    DateType: "date",
    DoubleType: "float",
    FloatType: "float",
    StringType: "string",
    TimestampType: "timestamp",
    TimestampNTZType: "timestamp_ntz",
}

_counted: WeakKeyDictionary[SparkContext, Accumulator[Any]] = WeakKeyDictionary()
_making: Final = Lock()

# Executors need not have this package: what they run goes there whole.
cloudpickle.register_pickle_by_value(loading)  # type: ignore[no-untyped-call]


def register_functions(session: SparkSession, functions: Iterable[FunctionSource], computation: str = "") -> None:
    """Make each callable under its name. Each comes after what it calls itself. `computation`: under which name calls that
    fail and give NULL are counted."""
    for function in functions:
        with translated(f"function {function.name}", Declared("function", function.name)):
            if isinstance(function.body, PythonModule):
                _register_python(session, function, function.body, computation)
                arguments = ", ".join(quoted(parameter.name) for parameter in function.parameters)
                expression = f"{quoted(_BEHIND + fold(function.name))}({arguments})"
            else:
                expression = _guarded(function, function.body)
            session.sql(_declaration(function, expression))


def failed_calls(session: SparkSession, computation: str) -> tuple[FailedCalls, ...]:
    """The calls that failed and gave NULL in a computation that is done, sorted by the names of functions. Told once."""
    counted = _counted.get(session.sparkContext)
    if counted is None:
        return ()
    found = []
    for key in sorted(key for key in list(counted.value) if key[0] == computation):
        count, first = counted.value.pop(key)
        found.append(FailedCalls(key[1], count, first))
    return tuple(found)


def _counting(session: SparkSession) -> Accumulator[Any]:
    """The one accumulator of a Spark context: Python keeps each that was ever made."""
    with _making:
        context = session.sparkContext
        if context not in _counted:
            # What is pickled for executors is the sum alone; it has the two methods that Spark calls.
            _counted[context] = context.accumulator({}, cast("AccumulatorParam[Any]", loading.SumOfFailures()))
        return _counted[context]


def _declaration(function: FunctionSource, expression: str) -> str:
    parameters = ", ".join(f"{quoted(parameter.name)} {parameter.type}" for parameter in function.parameters)
    name = quoted(fold(function.name))
    return f"CREATE OR REPLACE TEMPORARY FUNCTION {name}({parameters}) RETURNS {function.returns} RETURN {expression}"


def _guarded(function: FunctionSource, expression: str) -> str:
    """The expression, refusing NULL where it may not come. A comment may end it, so each part has its own lines."""
    if not function.returns_nullable:
        message = literal(marked(_CODE, f"function {function.name} is declared NOT NULL, but returned NULL", function.name))
        expression = f"coalesce(\n{expression}\n, raise_error({message}))"
    for parameter in function.parameters:
        if not parameter.nullable:
            text = f"function {function.name}: parameter {parameter.name} is NOT NULL, but got NULL"
            message = literal(marked(_CODE, text, function.name))
            expression = f"if({quoted(parameter.name)} IS NULL, raise_error({message}),\n{expression}\n)"
    return expression


def _register_python(session: SparkSession, function: FunctionSource, module: PythonModule, computation: str) -> None:
    returned = DataType.fromDDL(function.returns)
    called = loading.PythonFunction(
        name=function.name,
        code=loading.Code(module.module, dict(module.sources), module.requirements),
        parameters=tuple((one.name, _form(DataType.fromDDL(one.type)), one.nullable) for one in function.parameters),
        returns=(_form(returned), function.returns, function.returns_nullable),
        failures=(_counting(session), computation) if module.gives_null_on_error else None,
    )
    # Arrow would convert values by rules of its own, and only where it is installed.
    made: Any = f.udf(called.call, returned, useArrow=False)
    session.udf.register(_BEHIND + fold(function.name), made if function.deterministic else made.asNondeterministic())


def _form(kind: DataType) -> loading.Form:
    """A type as `loading` wants it, which knows nothing of Spark."""
    match kind:
        case DecimalType():
            return ("decimal", kind.precision, kind.scale)
        case ArrayType():
            return ("array", _form(kind.elementType))
        case MapType():
            return ("map", _form(kind.keyType), _form(kind.valueType))
        case StructType():
            return ("struct", *((part.name, _form(part.dataType)) for part in kind.fields))
    if type(kind) in _WIDTHS:
        return ("integer", _WIDTHS[type(kind)])
    if type(kind) in _PLAIN:
        return (_PLAIN[type(kind)],)
    raise EngineError(_CODE, f"functions in Python can't take or return {kind.simpleString()}")
