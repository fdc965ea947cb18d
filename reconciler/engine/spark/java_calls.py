"""Columns made by Java's methods, for what no function of Spark's SQL gives."""

from typing import Any

from pyspark.sql import Column
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.classic.column import _to_seq
from pyspark.sql.utils import get_active_spark_context


def bytes_by(value: Column, method: str) -> Column:
    """The bytes that a method of the value gives; NULL for NULL."""
    java = _java()
    invoke = java.org.apache.spark.sql.catalyst.expressions.objects.Invoke
    others = [getattr(invoke, f"apply$default${place}")() for place in range(4, 9)]
    return _column(invoke(_expression(value), method, java.org.apache.spark.sql.types.DataTypes.BinaryType, *others))


def long_by(value: Column, class_name: str, method: str) -> Column:
    """The number of 64 bits that a static method makes of a value; NULL for NULL."""
    java = _java()
    invoke = java.org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
    given = _to_seq(get_active_spark_context(), [_expression(value)])
    others = [getattr(invoke, f"apply$default${place}")() for place in range(5, 10)]
    place = java.java.lang.Class.forName(class_name)
    return _column(invoke(place, java.org.apache.spark.sql.types.DataTypes.LongType, method, given, *others))


def _java() -> Any:
    return get_active_spark_context()._jvm


def _expression(column: Column) -> Any:
    return _java().org.apache.spark.sql.classic.ExpressionUtils.expression(column._jc)


def _column(expression: Any) -> Column:
    return ClassicColumn(_java().org.apache.spark.sql.classic.ExpressionUtils.column(expression))
