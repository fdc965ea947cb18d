"""What is written down and means nothing to results: descriptions, owners, comments. Told in a plan, never approved."""

from reconciler.diff.model import MetadataChange
from reconciler.names import fold
from reconciler.program.model import Program


def compare_metadata(applied: Program, desired: Program) -> tuple[MetadataChange, ...]:
    """The changes of metadata that can be named, sorted by subject."""
    before, after = applied.settings, desired.settings
    found: list[MetadataChange] = []
    for what in ("description", "owner", "tags", "workers", "bootstrap_policy"):
        if getattr(before, what) != getattr(after, what):
            found.append(MetadataChange(desired.name, what))
    for key in sorted({*desired.tables, *desired.views} & {*applied.tables, *applied.views}):
        relation = desired.relation(key)
        assert relation is not None
        if before.descriptions.get(key) != after.descriptions.get(key):
            found.append(MetadataChange(relation.name, "description"))
        if (key in before.protected) != (key in after.protected):
            found.append(MetadataChange(relation.name, "protect"))
    for key in sorted({*desired.tables} & {*applied.tables}):
        table = desired.tables[key]
        if applied.evolution_of(key) is not desired.evolution_of(key):
            found.append(MetadataChange(table.name, "evolution"))
        comments = {fold(column.name): column.comment for column in applied.tables[key].columns}
        for column in table.columns:
            if fold(column.name) in comments and comments[fold(column.name)] != column.comment:
                found.append(MetadataChange(f"{table.name}.{column.name}", "comment"))
    return tuple(sorted(found, key=lambda change: (fold(change.subject), change.what)))
