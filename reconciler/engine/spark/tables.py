"""A table's rows written under other columns, to its staging folder.

The columns are converted as rows that come in are (`conform`): strictly, so that nothing becomes NULL on the way. Rows are
not moved between tasks; files come out about as large as Spark reads them at once. A staging folder is complete exactly
when its Delta log has version 0.
"""

from reconciler.engine.protocol import Built, TableBuild
from reconciler.engine.spark.commits import built_from, read_commit
from reconciler.engine.spark.conform import Given, by_name, conformed
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.locations import Sessions, folder, spark_location
from reconciler.engine.spark.views import isolated
from reconciler.errors import EngineError
from reconciler.names import fold


def build_table(sessions: Sessions, wanted: TableBuild) -> Built:
    """Write the rows into the staging folder, unless that is complete."""
    staging = folder(wanted.staging, sessions)
    done = read_commit(staging, 0)
    if done is not None:
        return built_from(done, reused=True)
    session = isolated(sessions, {})
    with translated(f"table {wanted.table}"):
        reader = session.read.format("delta").option("versionAsOf", str(wanted.source.version))
        rows = reader.load(spark_location(wanted.source.location))
        given = _given(by_name(rows), wanted)
        staging.remove()
        converted = conformed(rows, wanted.columns, given)
        converted.write.format("delta").mode("errorifexists").save(spark_location(wanted.staging))
    written = read_commit(staging, 0)
    if written is None:
        raise EngineError("X700", f"table {wanted.table}: Spark reported success, but {wanted.staging} holds no Delta table")
    return built_from(written, reused=False)


def _given(known: dict[str, Given], wanted: TableBuild) -> dict[str, Given]:
    """Where each column's values come from, by the column's folded name."""
    pairs = zip(wanted.columns, wanted.taken_from, strict=True)
    return {fold(column.name): known[fold(source)] for column, source in pairs if source is not None}
