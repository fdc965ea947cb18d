"""Delta's transactions (`txn`: an application and a rising version) in a session of Spark: commits carry them, tables know
the last one of each application."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from reconciler.base.digest import JsonObject, canonical_json
from reconciler.engine.protocol import Transaction
from reconciler.engine.spark.locations import spark_location

_APPLICATION = "spark.databricks.delta.write.txnAppId"
_VERSION = "spark.databricks.delta.write.txnVersion"
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


@contextmanager
def carried(session: SparkSession, transaction: Transaction, commit: JsonObject) -> Iterator[None]:
    """What the session commits inside carries the transaction, and (unless `commit` is empty) what it says of itself."""
    settings = {_APPLICATION: transaction.application, _VERSION: str(transaction.version)}
    if commit:
        settings[_METADATA] = canonical_json(commit)
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            session.conf.unset(name)


def last_version(session: SparkSession, location: str, application: str) -> int:
    """The version of the last transaction of an application that the table has; -1 when it has none."""
    jvm: Any = session._jvm
    path = jvm.org.apache.hadoop.fs.Path(spark_location(location))
    snapshot = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, path).update(
        False, jvm.scala.Option.empty(), jvm.scala.Option.empty()
    )
    found = snapshot.transactions().get(application)
    return int(found.get()) if found.isDefined() else -1
