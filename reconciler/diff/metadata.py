"""What is written down and means nothing to results: descriptions, owners, comments, settings of connectors that reset
nothing. Told in a plan, never approved, with values where these say more than the name (`weights`).

Of a table or view that is new, only what guards it is told: whoever approves it consents to that, too (`plan.make`)."""

from collections.abc import Iterator

from reconciler.base.declarations import Held, Pin, Retention, Settings
from reconciler.base.names import fold
from reconciler.connectors.columns import COLUMNS, canonical_columns
from reconciler.diff.model import MetadataChange
from reconciler.diff.moves import Renames
from reconciler.diff.recorded import LETTER_CASE, Told, untold_changes
from reconciler.diff.settings import compare_settings
from reconciler.diff.weights import NOT_SET, told_values
from reconciler.diff.wording import told_readers
from reconciler.project.program.model import Program
from reconciler.project.program.written_names import respelled_columns


def _said_of_relations(*settings: Settings) -> set[str]:
    """The relations (folded) of which settings say anything. Of most there is nothing to compare."""
    found: set[str] = set()
    for one in settings:
        found |= {*one.pins, *one.descriptions, *one.used_by, *one.relation_retention, *one.protected}
    return found


def compare_metadata(applied: Program, desired: Program, told: Told, renames: Renames) -> tuple[MetadataChange, ...]:
    """The changes of metadata, sorted by subject. `told` is what the rest of the diff tells of."""
    before, after = applied.settings, desired.settings
    found = list(compare_settings(applied, desired))
    for what in ("description", "owner", "tags"):
        if getattr(before, what) != getattr(after, what):
            found.append(MetadataChange(desired.name, what))
    for what in ("workers", "memory", "driver_memory"):
        if getattr(before, what) != getattr(after, what):
            said = [str(value) if (value := getattr(one, what)) is not None else NOT_SET for one in (before, after)]
            found.append(MetadataChange(desired.name, what, *said))
    if before.checkpoint_interval_seconds != after.checkpoint_interval_seconds:
        seconds = [f"{one.checkpoint_interval_seconds}s" for one in (before, after)]
        found.append(MetadataChange(desired.name, "checkpoint_interval", *seconds))
    if before.version_reads != after.version_reads:
        values = _boolean(before.version_reads), _boolean(after.version_reads)
        found.append(MetadataChange(desired.name, "versions.reads", *values))
    if before.bootstrap_policy is not after.bootstrap_policy:
        values = before.bootstrap_policy.value, after.bootstrap_policy.value
        found.append(MetadataChange(desired.name, "bootstrap_policy", *values))
    if before.retention != after.retention:
        found.append(MetadataChange(desired.name, "retention", before.retention.words, after.retention.words))
    for key in sorted(desired.relations.keys() & applied.relations.keys() & _said_of_relations(before, after)):
        relation = desired.relations[key]
        versions = [_version(one.pins.get(key)) for one in (before, after)]
        if versions[0] != versions[1]:
            found.append(MetadataChange(relation.name, "version", *versions))
        if before.descriptions.get(key) != after.descriptions.get(key):
            found.append(MetadataChange(relation.name, "description"))
        if before.used_by.get(key) != after.used_by.get(key):
            readers = [told_readers(one.used_by.get(key, ())) for one in (before, after)]
            found.append(MetadataChange(relation.name, "used_by", *readers))
        retentions = [one.relation_retention.get(key, Retention()) for one in (before, after)]
        if retentions[0] != retentions[1]:
            found.append(MetadataChange(relation.name, "retention", *[one.words for one in retentions]))
        if (key in before.protected) != (key in after.protected):
            found.append(
                MetadataChange(relation.name, "protect", *[_boolean(key in one.protected) for one in (before, after)])
            )
    found += guards_of_new(applied, desired, renames)
    for key in sorted({*desired.functions} & {*applied.functions}):
        versions = [_version(one.function_pins.get(key)) for one in (before, after)]
        if versions[0] != versions[1]:
            found.append(MetadataChange(desired.functions[key].name, "version", *versions))
    for key in sorted({*before.held, *after.held}):
        versions = [_held(one.held.get(key)) for one in (before, after)]
        if versions[0] != versions[1]:
            found.append(MetadataChange(key.partition(":")[2], "rollback", *versions))
    for key in sorted(desired.tables.keys() & applied.tables.keys()):
        table = desired.tables[key]
        if applied.evolution_of(key) is not desired.evolution_of(key):
            values = applied.evolution_of(key).value, desired.evolution_of(key).value
            found.append(MetadataChange(table.name, "evolution", *values))
        comments = {fold(column.name): column.comment for column in applied.tables[key].columns}
        for column in table.columns:
            if fold(column.name) in comments and comments[fold(column.name)] != column.comment:
                found.append(MetadataChange(f"{table.name}.{column.name}", "comment"))
    for key, connector in sorted(desired.connectors.items()):
        former = applied.connectors.get(renames.applied_connector(key))
        if former is not None and former.settings != connector.settings:
            old, new = former.settings, connector.settings
            elsewhere = {"transport", "format"} | ({COLUMNS} if canonical_columns(old) != canonical_columns(new) else set())
            skipped = {name for name in {*old, *new} if old.get(name) != new.get(name)} - elsewhere
            name = connector.qualified_name
            found += [MetadataChange(name, one, *told_values(old, new, one)) for one in sorted(skipped)]
    for key, pairs in respelled_columns(applied, desired).items():
        if key in told.changed or key in told.read:
            continue
        own = desired.relation(key)
        name = own.name if own is not None else desired.foreign[key].qualified_name
        found += [MetadataChange(f"{name}.{new}", LETTER_CASE, old, new) for old, new in pairs]
    found += untold_changes(applied, desired, told, found)
    return tuple(sorted(found, key=lambda change: (fold(change.subject), change.what)))


def guards_of_new(applied: Program, desired: Program, renames: Renames) -> Iterator[MetadataChange]:
    """What guards the tables and views that are new, where it is not the default."""
    settings = desired.settings
    for key, relation in sorted(desired.relations.items()):
        if applied.relation(renames.applied_key(key)) is not None:
            continue
        if key in settings.protected:
            yield MetadataChange(relation.name, "protect", "false", "true")
        if key in settings.relation_retention:
            yield MetadataChange(relation.name, "retention", Retention().words, settings.relation_retention[key].words)
        if settings.used_by.get(key):
            yield MetadataChange(relation.name, "used_by", "nobody", told_readers(settings.used_by[key]))


def _version(pin: Pin | None) -> str:
    return "latest" if pin is None else f"v{pin.number}"


def _held(held: Held | None) -> str:
    if held is None:
        return "none"
    return "not there" if held.number is None else f"v{held.number}"


def _boolean(value: bool) -> str:
    return "true" if value else "false"
