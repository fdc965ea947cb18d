"""What the columns of a table are called in what an input reads (`columns` of a connector).

    columns: {cost: {source: price}}

A field is what a record, a header or another table has under a name; a column takes the field of its own name, unless its
connector says another. Names are told apart without regard to letter case on both sides. An input that makes its values
itself (`datagen`) has no fields with names, nor have lines of CSV without a header: their columns are told by their place.
"""

from collections.abc import Mapping

from reconciler.base.digest import JsonObject
from reconciler.base.names import fold

COLUMNS = "columns"
_WITHOUT_FIELDS = frozenset({"datagen"})


def has_fields(settings: JsonObject) -> bool:
    """Whether what an input reads has names at all."""
    transport = settings.get("transport")
    return isinstance(transport, Mapping) and transport.get("name") not in _WITHOUT_FIELDS and not is_by_place(settings)


def is_by_place(settings: JsonObject) -> bool:
    """Whether columns take what stands at their place: lines of CSV without a header."""
    form = settings.get("format")
    config = form.get("config") if isinstance(form, Mapping) and form.get("name") == "csv" else None
    return isinstance(config, Mapping) and config.get("header") is False


def written_sources(settings: JsonObject) -> dict[str, str]:
    """By column as written, the name of its field. What is not of the right form is left out: the schema tells it."""
    columns = settings.get(COLUMNS)
    if not isinstance(columns, Mapping):
        return {}
    found = {column: entry.get("source") for column, entry in columns.items() if isinstance(entry, Mapping)}
    return {column: source for column, source in found.items() if isinstance(source, str)}


def field_of(settings: JsonObject, column: str) -> str:
    """The name of the field that a column takes. Of many columns: `sources_by_key`."""
    return sources_by_key(settings).get(fold(column), column)


def sources_by_key(settings: JsonObject) -> dict[str, str]:
    """By folded column, the name of its field, where one is said."""
    found: dict[str, str] = {}
    for written, source in written_sources(settings).items():
        found.setdefault(fold(written), source)
    return found


def canonical_columns(settings: JsonObject) -> JsonObject:
    """`columns` in one spelling, without what says nothing."""
    sources = {fold(column): fold(source) for column, source in written_sources(settings).items()}
    return {column: {"source": source} for column, source in sorted(sources.items()) if column != source}
