"""Compare connectors: by name within their relation, by the settings that decide what is read or written. Names are those
of desired, declared renames (`moves`) taken into account.

Of the values of settings only those are taken over that may be shown (`connectors.catalogue.shown_settings`); of others the
difference says that they changed. So no later part of the program ever sees what may be secret.
"""

from collections.abc import Mapping
from typing import Any

from reconciler.base.digest import canonical_json
from reconciler.base.names import fold
from reconciler.base.secrets.redaction import MASK
from reconciler.connectors.catalogue import canonical_settings, shown_settings, told_address
from reconciler.diff.model import Action, ConnectorChange, SettingDifference
from reconciler.diff.moves import Renames
from reconciler.project.program.model import Connector
from reconciler.project.snapshot.model import Snapshot


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
            address = told_address(new.settings)
            changes.append(ConnectorChange(Action.ADDED, new.direction, new.qualified_name, address=address))
            continue
        went_on.add(old_key)
        renamed_from = old.qualified_name if key in renames.connectors else None
        differs = canonical_settings(old.settings) != canonical_settings(new.settings)
        if differs or renamed_from is not None:
            differences = setting_differences(old, new) if differs else ()
            addresses = told_address(new.settings), told_address(old.settings)
            name = new.qualified_name
            changes.append(ConnectorChange(Action.MODIFIED, new.direction, name, differences, renamed_from, *addresses))
    for key, old in before.items():
        if key not in went_on:
            address = told_address(old.settings)
            changes.append(ConnectorChange(Action.REMOVED, old.direction, old.qualified_name, applied_address=address))
    return tuple(sorted(changes, key=lambda change: (fold(change.name), change.action)))


def setting_differences(applied: Connector, desired: Connector) -> tuple[SettingDifference, ...]:
    """The settings that differ, by path, sorted."""
    from deepdiff import DeepDiff

    before, after = canonical_settings(applied.settings), canonical_settings(desired.settings)
    differing: set[tuple[Any, ...]] = set()
    tree = DeepDiff(before, after, view="tree", ignore_numeric_type_changes=False)
    for kind in tree:
        for item in tree[kind]:
            differing.add(tuple(item.path(output_format="list")))
    shown_before, shown_after = shown_settings(before), shown_settings(after)
    found = []
    for path in sorted(differing, key=str):
        values = _shown(shown_before, path), _shown(shown_after, path)
        # What is equal as it is shown, or hidden on either side, differs in what may not be shown.
        told = values if values[0] != values[1] and not any(text and MASK in text for text in values) else (None, None)
        found.append(SettingDifference(".".join(str(part) for part in path), *told))
    return tuple(found)


def _shown(settings: Mapping[str, Any], path: tuple[Any, ...]) -> str | None:
    value: Any = settings
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value if isinstance(value, str) else canonical_json(value)
