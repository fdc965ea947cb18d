"""What of a definition is its meaning: the content that fingerprints are taken of.

- table: name, columns in order (name, type, nullability), primary key, materialized, append_only.
- view: name, kind, names of output columns, canonical query, the Spark settings that change results.
- connector: relation, name, transport and format with their configuration, defaults filled in.

Letter case of names of columns is hashed only where names can be data (`Program.names_are_data`).
Not hashed: comments, layout, letter case of keywords, descriptions, owners, tags; of connectors also what cannot change
which rows are read or written (labels, start_after, paused, batch limits: the table is in `connectors.catalogue`).
Types inferred without Spark never enter. The rules are the seed's ("A table is considered modified if …", "A view is
considered modified if …"); a change upstream is not hashed in but propagated by `diff`, which can say why.
"""

from typing import Any

from reconciler.connectors.catalogue import canonical_settings
from reconciler.manifest.model import Settings
from reconciler.names import fold
from reconciler.program.model import Connector, Table, View
from reconciler.program.settings import meaning_settings


def _spelled(name: str, names_are_data: bool) -> str:
    return name if names_are_data else fold(name)


def table_content(table: Table, names_are_data: bool = False) -> dict[str, Any]:
    """The meaning of a table."""
    return {
        "name": fold(table.name),
        "columns": [[_spelled(column.name, names_are_data), column.type, column.nullable] for column in table.columns],
        "primary_key": [fold(column) for column in table.primary_key],
        "materialized": table.declaration.materialized,
        "append_only": table.declaration.append_only,
    }


def view_content(view: View, settings: Settings, names_are_data: bool = False) -> dict[str, Any]:
    """The meaning of a view, but for what it reads."""
    return {
        "name": fold(view.name),
        "kind": view.kind.value,
        "column_names": [_spelled(name, names_are_data) for name in view.declaration.column_names],
        "query": view.canonical,
        "settings": dict(sorted(meaning_settings(settings.spark).items())),
    }


def connector_content(connector: Connector) -> dict[str, Any]:
    """The meaning of a connector: what decides which rows it reads or writes."""
    return {
        "relation": fold(connector.relation),
        "name": fold(connector.name),
        "settings": canonical_settings(connector.settings),
    }
