"""Connectors within a program: to which relation they belong, what they are called, which waits for which.

See `compile` for the rules. Shapes of settings are judged elsewhere (`manifest`, `connectors`), so everything here
looks twice before it believes a setting to be what it should.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import ConnectorDeclaration
from reconciler.base.diagnostics import Diagnostic, Location, Severity
from reconciler.base.names import did_you_mean, fold
from reconciler.connectors.catalogue import TRANSPORTS, ends
from reconciler.connectors.columns import has_fields, written_sources
from reconciler.connectors.transport import Direction, Values
from reconciler.project.program.model import Connector, Table, View
from reconciler.project.program.order import cycles
from reconciler.sql.types import has_keys_that_are_no_texts, is_variant


def compile_connectors(
    declarations: Sequence[ConnectorDeclaration],
    tables: Mapping[str, Table],
    views: Mapping[str, View],
    into: list[Diagnostic],
) -> dict[str, Connector]:
    """The connectors by folded qualified name."""
    found: dict[str, Connector] = {}
    columns: dict[str, _Columns] = {}
    for declaration in sorted(declarations, key=_position):
        key = fold(declaration.relation)
        if key in tables and key not in columns:
            columns[key] = _columns(tables[key])
        connector = _connector(declaration, tables, views, columns, into)
        if connector is None:
            continue
        key = fold(connector.qualified_name)
        first = found.setdefault(key, connector)
        if first is not connector:
            place = first.declaration.location
            where = f" (at {place})" if place is not None else ""
            message = f"{declaration.relation} already has a connector named {first.name!r}{where}"
            into.append(
                Diagnostic("P307", message, declaration.location, "a relation's connectors need different names: rename one")
            )
    _judge_starts(found, into)
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class _Columns:
    """What is asked of a table's columns for each of its connectors: names by key, the first VARIANT, and the first with a
    MAP whose keys are no texts."""

    names: Mapping[str, str]
    variant: str | None
    keyed: str | None


def _columns(table: Table) -> _Columns:
    names = {fold(column.name): column.name for column in table.columns}
    variant = next((column.name for column in table.columns if is_variant(column.type)), None)
    keyed = next((column.name for column in table.columns if has_keys_that_are_no_texts(column.type)), None)
    return _Columns(names, variant, keyed)


def _position(declaration: ConnectorDeclaration) -> tuple[str, int, str]:
    return (fold(declaration.relation), declaration.ordinal, declaration.name or "")


def _transport(declaration: ConnectorDeclaration) -> str:
    transport = declaration.settings.get("transport")
    name = transport.get("name") if isinstance(transport, Mapping) else None
    return name if isinstance(name, str) else ""


def _connector(
    declaration: ConnectorDeclaration,
    tables: Mapping[str, Table],
    views: Mapping[str, View],
    columns: Mapping[str, _Columns],
    into: list[Diagnostic],
) -> Connector | None:
    key = fold(declaration.relation)
    relation = tables.get(key) or views.get(key)
    transport = _transport(declaration)
    if relation is None:
        candidates = chain((one.name for one in tables.values()), (one.name for one in views.values()))
        message = f"the connector's relation {declaration.relation!r} does not exist in this pipeline"
        into.append(Diagnostic("P305", message, declaration.location, did_you_mean(declaration.relation, candidates)))
        return None
    direction = Direction.INPUT if isinstance(relation, Table) else Direction.OUTPUT
    if relation.is_local:
        message = f"LOCAL view {relation.name!r} has a connector"
        into.append(Diagnostic("P311", message, declaration.location, "only views see it: use CREATE VIEW"))
    elif direction is Direction.INPUT and transport.endswith("_output"):
        message = f"{transport!r} writes, but {relation.name!r} is a table: tables have inputs"
        into.append(Diagnostic("P306", message, declaration.location, "attach it to a view that selects from the table"))
    elif direction is Direction.OUTPUT and transport.endswith("_input"):
        message = f"{transport!r} reads, but {relation.name!r} is a view: views have outputs"
        into.append(Diagnostic("P306", message, declaration.location, "attach it to a table that the view reads"))
    elif isinstance(relation, Table):
        into += _what_it_can_not_fill(declaration, relation, columns[key])
    name = declaration.name
    if name is None:
        name = f"unnamed-{declaration.ordinal}"
        message = f"a connector of {relation.name!r} has no name; reconciler names it {name!r} by its position"
        hint = "give it a name: otherwise a new connector before it looks like a change"
        into.append(Diagnostic("P308", message, declaration.location, hint, Severity.WARNING))
    if isinstance(relation, Table):
        _judge_columns(declaration, relation, columns[key].names, into)
    return Connector(declaration, name, direction)


def _what_it_can_not_fill(declaration: ConnectorDeclaration, table: Table, columns: _Columns) -> Iterator[Diagnostic]:
    transport = TRANSPORTS.get(_transport(declaration))
    if transport is None:
        # What is no transport is told elsewhere.
        return
    values = transport.values(declaration.settings)
    if columns.variant is not None and values is not Values.ANY:
        column = f"{columns.variant!r} of {table.name!r}"
        message = f"{transport.name!r} reads texts, which can't fill the VARIANT column {column}"
        hint = "make the column a STRING, and create the VARIANT in a view: try_parse_json(…)"
        yield Diagnostic("S281", message, declaration.location, hint)
    if columns.keyed is not None and values is Values.TEXTS:
        message = (
            f"{transport.name!r} reads texts, but the keys of the MAP in column {columns.keyed!r} of {table.name!r} are "
            "not texts"
        )
        hint = "the keys of a JSON object are texts: make the keys of the MAP a STRING, and cast them in a view"
        yield Diagnostic("S283", message, declaration.location, hint)


def _judge_columns(
    declaration: ConnectorDeclaration, table: Table, columns: Mapping[str, str], into: list[Diagnostic]
) -> None:
    """Each column that has a source is there, and no two columns take one field: its values would stand twice."""
    said = written_sources(declaration.settings)
    if not said:
        # Names of columns differ by themselves.
        return
    for name in sorted(said):
        if fold(name) not in columns:
            message = f"column {name!r} has the source {said[name]!r}, but table {table.name!r} has no such column"
            into.append(Diagnostic("P340", message, declaration.location, did_you_mean(name, columns.values())))
    if not has_fields(declaration.settings):
        message = (
            f"the records of this input of {table.name!r} have no field names, so {', '.join(sorted(said))} can't "
            "have a source"
        )
        hint = "reconciler reads lines without a header by position; for datagen, set fields"
        into.append(Diagnostic("P342", message, declaration.location, hint))
    spellings = Counter(map(fold, said))
    if len(spellings) < len(said):
        names = sorted(name for name in said if spellings[fold(name)] > 1)
        message = f"{' and '.join(names)} name the same column of table {table.name!r}"
        into.append(Diagnostic("P341", message, declaration.location, "names are case-insensitive"))
    fields: dict[str, str] = {}
    for name, source in said.items():
        fields.setdefault(fold(name), fold(source))
    # Names of columns differ by themselves: two take one field only where a source is said of one of them.
    takers: dict[str, set[str]] = {}
    for key, field in fields.items():
        if key in columns:
            takers.setdefault(field, set()).add(key)
    for field, keys in sorted(takers.items()):
        if field in columns and field not in fields:
            keys.add(field)
        if len(keys) > 1:
            names = [name for key, name in columns.items() if key in keys]
            message = f"columns {', '.join(names)} of table {table.name!r} read the same field, {field!r}"
            hint = "set the source of the other columns, or compute them in a view"
            into.append(Diagnostic("P341", message, declaration.location, hint))


def _texts(value: object) -> tuple[str, ...]:
    """A text, or the texts of a list."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Sequence):
        return tuple(one for one in value if isinstance(one, str))
    return ()


def _waits_for_ever(connector: Connector, label: str, endless: Sequence[Connector]) -> Diagnostic:
    others = (
        f" and {len(endless) - 1:,} more with that label never end"
        if len(endless) > 1
        else ", which has that label, never ends"
    )
    message = (
        f"{connector.qualified_name} starts after {label!r}, and {endless[0].qualified_name}{others}: it would wait forever"
    )
    hint = "give the label to an input that ends: a snapshot, a table with end_version, a single file, a query"
    return Diagnostic("P345", message, connector.declaration.location, hint)


# No key begins so; a circle is told from its smallest name, which is a connector's then.
_LABEL: Final = "\U0010ffff"


def _judge_starts(found: Mapping[str, Connector], into: list[Diagnostic]) -> None:
    labelled: dict[str, list[str]] = {}
    for key in sorted(found):
        if found[key].direction is Direction.INPUT:
            for label in _texts(found[key].settings.get("labels")):
                labelled.setdefault(label, []).append(key)
    endless = {label: [found[key] for key in keys if ends(found[key].settings) is False] for label, keys in labelled.items()}
    # A label is a node of its own: of many that wait for many, the pairs are not built.
    waits: dict[str, tuple[str, ...]] = {f"{_LABEL}{label}": tuple(keys) for label, keys in labelled.items()}
    for key in sorted(found):
        connector = found[key]
        labels = list(_texts(connector.settings.get("start_after")))
        for label in labels:
            if label not in labelled:
                hint = did_you_mean(label, labelled) or "labels are given by 'labels' of this pipeline's inputs"
                message = f"start_after names {label!r}, but no input of this pipeline has that label"
                into.append(Diagnostic("P309", message, connector.declaration.location, hint))
            if endless.get(label):
                into.append(_waits_for_ever(connector, label, endless[label]))
        waits[key] = tuple(f"{_LABEL}{label}" for label in labels if label in labelled)
    for nodes in cycles(waits):
        cycle = [node for node in nodes if not node.startswith(_LABEL)]
        place: Location | None = found[cycle[0]].declaration.location
        chain = " → ".join(found[key].qualified_name for key in (*cycle, cycle[0]))
        into.append(Diagnostic("P310", f"circular dependency between connectors: {chain}", place))
