"""Compare connectors: by name within their relation, by the settings that decide what is read or written.

A setting whose path the transport's schema marks as secret is named, its value never shown.
"""

from collections.abc import Mapping
from typing import Any

from reconciler.connectors.catalogue import canonical_settings, secret_paths
from reconciler.diff.model import Action, ConnectorChange, SettingDifference
from reconciler.digest import canonical_json
from reconciler.names import fold
from reconciler.program.model import Connector
from reconciler.snapshot.model import Snapshot


def compare_connectors(applied: Snapshot, desired: Snapshot) -> tuple[ConnectorChange, ...]:
    """The connectors that were added, modified or removed, sorted by qualified name."""
    before, after = applied.program.connectors, desired.program.connectors
    changes = []
    for key in sorted({*before, *after}):
        match before.get(key), after.get(key):
            case None, Connector() as new:
                changes.append(ConnectorChange(Action.ADDED, new.direction, new.qualified_name))
            case Connector() as old, None:
                changes.append(ConnectorChange(Action.REMOVED, old.direction, old.qualified_name))
            case Connector() as old, Connector() as new:
                if applied.fingerprints[f"connector:{key}"] != desired.fingerprints[f"connector:{key}"]:
                    changes.append(
                        ConnectorChange(Action.MODIFIED, new.direction, new.qualified_name, setting_differences(old, new))
                    )
            case _:
                raise AssertionError("a key comes from one of the two")
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
        values = (None, None) if path in secret else (_shown(before, path), _shown(after, path))
        found.append(SettingDifference(".".join(str(part) for part in path), *values))
    return tuple(found)


def _shown(settings: Mapping[str, Any], path: tuple[Any, ...]) -> str | None:
    value: Any = settings
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value if isinstance(value, str) else canonical_json(value)
