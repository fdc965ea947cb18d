"""Everything that stands in a registry, or anywhere in a warehouse, as one text: of each Delta table the rows of all its
versions, of all files what is in them."""

from pathlib import Path

from deltalake import QueryBuilder

from reconciler.delta.opening import open_table


def stored_text(folder: Path) -> str:
    """See the module."""
    found = [path.read_bytes().decode("latin-1") for path in sorted(folder.rglob("*")) if path.is_file()]
    for log in sorted(folder.rglob("_delta_log")):
        newest = open_table(str(log.parent))
        for version in range(newest.version() + 1 if newest is not None else 0):
            rows = QueryBuilder().register("t", open_table(str(log.parent), version)).execute("select * from t").read_all()
            found += [str(rows[name].to_pylist()) for name in rows.schema.names]
    return "\n".join(found)
