"""A table's rows written under other columns, to its staging folder.

The columns are converted as rows that come in are (`conform`): strictly, so that nothing becomes NULL on the way. Rows are
not moved between tasks; files come out about as large as Spark reads them at once. What a staging folder is: `staging`.
"""

from reconciler.base.names import fold
from reconciler.engine.protocol import Built, TableBuild
from reconciler.engine.spark.conform import Given, Rules, by_name, conformed
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.locations import Sessions, spark_location
from reconciler.engine.spark.staging import staged_before, write_staged
from reconciler.engine.spark.views import isolated


def build_table(sessions: Sessions, wanted: TableBuild) -> Built:
    """Write the rows into the staging folder, unless that is complete."""
    done = staged_before(sessions, wanted.staging)
    if done is not None:
        return done
    session = isolated(sessions, {})
    with translated(f"table {wanted.table}"):
        reader = session.read.format("delta").option("versionAsOf", str(wanted.source.version))
        rows = reader.load(spark_location(wanted.source.location))
        converted = conformed(rows, Rules(wanted.columns, {}), _given(by_name(rows), wanted))
        return write_staged(session, wanted.staging, converted, f"table {wanted.table}")


def _given(known: dict[str, Given], wanted: TableBuild) -> dict[str, Given]:
    """Where each column's values come from, by the column's folded name."""
    pairs = zip(wanted.columns, wanted.taken_from, strict=True)
    return {fold(column.name): known[fold(source)] for column, source in pairs if source is not None}
