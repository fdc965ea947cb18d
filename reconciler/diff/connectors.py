"""Compare connectors: by name within their relation, by the settings that decide what is read or written. Names are those
of desired, declared renames (`moves`) taken into account.

A setting that is secret (`connectors.catalogue.secret_paths`), or holds one, is named, its value never shown; within others
credentials are masked. So no later part of the program ever sees them.
"""

from collections.abc import Mapping
from typing import Any

from reconciler.connectors.catalogue import canonical_settings, secret_paths
from reconciler.diff.model import Action, ConnectorChange, SettingDifference
from reconciler.diff.moves import Renames
from reconciler.digest import canonical_json
from reconciler.names import fold
from reconciler.program.model import Connector
from reconciler.redaction import masked
from reconciler.snapshot.model import Snapshot


def compare_connectors(applied: Snapshot, desired: Snapshot, renames: Renames) -> tuple[ConnectorChange, ...]:
    """The connectors that were added, modified or removed, sorted by qualified name.

    One that only follows its relation to a new name is not among them; one that was moved itself is modified, without a
    difference.
    """
    before, after = applied.program.connectors, desired.program.connectors
    changes = []
    went_on: set[str] = set()
    for key, new in after.items():
        old_key = renames.applied_connector(key)
        old = before.get(old_key)
        if old is None or old.direction is not new.direction:
            changes.append(ConnectorChange(Action.ADDED, new.direction, new.qualified_name))
            continue
        went_on.add(old_key)
        renamed_from = old.qualified_name if key in renames.connectors else None
        if canonical_settings(old.settings) != canonical_settings(new.settings):
            differences = setting_differences(old, new)
            changes.append(ConnectorChange(Action.MODIFIED, new.direction, new.qualified_name, differences, renamed_from))
        elif renamed_from is not None:
            changes.append(ConnectorChange(Action.MODIFIED, new.direction, new.qualified_name, (), renamed_from))
    for key, old in before.items():
        if key not in went_on:
            changes.append(ConnectorChange(Action.REMOVED, old.direction, old.qualified_name))
    return tuple(sorted(changes, key=lambda change: (fold(change.name), change.action)))


def setting_differences(applied: Connector, desired: Connector) -> tuple[SettingDifference, ...]:
    """The settings that differ, by path, sorted."""
    from deepdiff import DeepDiff

    before, after = canonical_settings(applied.settings), canonical_settings(desired.settings)
    secret = {tuple(path) for path in (*secret_paths(applied.settings), *secret_paths(desired.settings))}
    differing: set[tuple[Any, ...]] = set()
    tree = DeepDiff(before, after, view="tree", ignore_numeric_type_changes=False)
    for kind in tree:
        for item in tree[kind]:
            differing.add(tuple(item.path(output_format="list")))
    found = []
    for path in sorted(differing, key=str):
        values = _values(before, after, path, secret)
        found.append(SettingDifference(".".join(str(part) for part in path), *values))
    return tuple(found)


def _values(
    applied: Mapping[str, Any], desired: Mapping[str, Any], path: tuple[Any, ...], secret: set[tuple[Any, ...]]
) -> tuple[str | None, str | None]:
    """Both values as they are shown; neither where they are secret, or differ in nothing that may be shown."""
    if any(path[: len(known)] == known or known[: len(path)] == path for known in secret):
        return (None, None)
    before, after = _shown(applied, path), _shown(desired, path)
    return (None, None) if before == after else (before, after)


def _shown(settings: Mapping[str, Any], path: tuple[Any, ...]) -> str | None:
    value: Any = settings
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return masked(value if isinstance(value, str) else canonical_json(value))
