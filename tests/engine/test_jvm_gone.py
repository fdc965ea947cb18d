"""The end of Spark's process is X707 however pyspark wraps what it noticed. Without a JVM: pyspark's own code over a
connection that is not there."""

from collections.abc import Callable
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException, PySparkValueError
from pyspark.sql.classic.dataframe import DataFrame

from reconciler.base.errors import EngineError
from reconciler.engine.spark.failures import jvm_watched, translated

GONE = [ConnectionRefusedError(111, "Connection refused"), Py4JNetworkError("Answer from Java side is empty"), EOFError()]


class Cut:
    """An object of Java whose connection is cut off."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def schema(self) -> Any:
        raise self._error


def schema_of(error: Exception) -> None:
    """What pyspark raises when it asks for a frame's schema."""
    frame: Any = object.__new__(DataFrame)
    frame._jdf = Cut(error)
    frame._schema = None
    assert frame.schema


def wrapped_twice(error: Exception) -> None:
    try:
        schema_of(error)
    except PySparkException as inner:
        raise PySparkValueError("outer") from inner


@pytest.mark.parametrize("gone", GONE, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("ask", [schema_of, wrapped_twice])
def test_what_pyspark_wraps_is_still_the_end_of_the_process(gone: Exception, ask: Callable[[Exception], None]) -> None:
    with pytest.raises(EngineError) as caught, translated("output total.lake"):
        ask(gone)
    assert (caught.value.code, caught.value.message) == ("X707", "output total.lake: Spark's process ended")
    with pytest.raises(EngineError) as caught, jvm_watched():
        ask(gone)
    assert caught.value.code == "X707"


def test_what_java_answered_is_not() -> None:
    with pytest.raises(EngineError) as caught, translated("a view"):
        schema_of(ValueError("no JSON"))
    assert caught.value.code == "X700"
    with pytest.raises(PySparkException), jvm_watched():
        schema_of(Py4JError("An error occurred while calling o1.schema. Trace:\n"))


def test_an_earlier_end_is_not_taken_for_another_one() -> None:
    """What is done about one failure may fail for a reason of its own."""

    def put_back() -> None:
        with translated("putting back"):
            raise PySparkValueError("refused")

    def step() -> None:
        try:
            with translated("a step"):
                raise GONE[0]
        except EngineError:
            put_back()

    with pytest.raises(EngineError) as caught:
        step()
    assert caught.value.code == "X700"
