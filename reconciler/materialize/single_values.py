"""Values that a query asks for by subqueries, in a step in which the relations that these read stay as they are.

Such a value is asked for once, and remembered for as long as the relations stand at the same versions: so a step reads no
relation for it, and its query is the one of the step before, which Spark has planned. Relations on an object store are left
to the query: it is not known for sure that a version of theirs is the one that it was.
"""

from collections import OrderedDict
from collections.abc import Hashable
from datetime import date, datetime
from decimal import Decimal
from threading import Lock
from typing import Any, Final

from reconciler.base.errors import EngineError
from reconciler.delta.entries import entry_of
from reconciler.engine.protocol import ColumnType, Engine, Selection
from reconciler.engine.sources import StoredSource
from reconciler.incremental.derive import Columns, values_of, with_values
from reconciler.incremental.model import Method
from reconciler.materialize.changed_sources import StepChanges
from reconciler.materialize.view_steps import ENDED
from reconciler.project.program.model import Program

_MOST: Final = 1_000

_known: Final[OrderedDict[Hashable, str | None]] = OrderedDict()
_lock: Final = Lock()


def with_single_values(
    engine: Engine, program: Program, method: Method, stored: dict[str, Columns], changes: StepChanges
) -> Method:
    """The method of a view with the values that its query asks for, where they are known."""
    changed = set(changes.of(method.relations))
    texts = []
    for one in values_of(program, method, stored):
        if changed.isdisjoint(one.relations):
            text = _text(engine, program, one.span.of(method.query), tuple(sorted(one.relations)), changes)
            texts += [(one.span, text)] if text is not None else []
    return with_values(program, method, stored, texts) if texts else method


def _text(engine: Engine, program: Program, query: str, relations: tuple[str, ...], changes: StepChanges) -> str | None:
    """The value of a subquery, as SQL has it. None: it is not known."""
    settings = dict(sorted(program.settings.spark.items()))
    sources = changes.current_sources(program, relations)
    places = [(one, entry_of(one.location, one.version)) for one in sources if isinstance(one, StoredSource)]
    if len(places) < len(sources) or any(entry is None for _, entry in places):
        return None
    asked = (query, tuple(places), tuple(settings.items()))
    with _lock:
        if asked in _known:
            _known.move_to_end(asked)
            return _known[asked]
    selection = Selection(f"SELECT {query} AS value", sources, settings)
    text = None
    try:
        found = engine.select(selection)
        text = _literal(found.columns[0], found.rows[0][0])
    except EngineError as error:
        if error.code in ENDED:
            raise
        # What is wrong with it the query says; or Python has no such value.
    with _lock:
        _known[asked] = text
        if len(_known) > _MOST:
            _known.popitem(last=False)
    return text


def _literal(column: ColumnType, value: Any) -> str | None:
    """A value of a column, in its type. None: it is not surely written so that it is the same."""
    match value:
        case None:
            return f"CAST(NULL AS {column.type})"
        case bool() | int():
            return f"CAST({value} AS {column.type})"
        case Decimal() if value.is_finite():
            return f"CAST('{value:f}' AS {column.type})"
        case date() if not isinstance(value, datetime):
            return f"CAST('{value.isoformat()}' AS {column.type})"
        case _:
            return None
