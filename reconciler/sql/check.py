"""What one view's query reads and gives, and what is surely wrong with it. No Spark: when unsure, nothing is said.

Rules:
- Reads are the relations named anywhere in the query (names of CTEs aside) and the columns of theirs that are used
  anywhere in it: selected, compared, joined, grouped, sorted. `*` reads all. Where a column can't be told (a query that
  is beyond us, a relation whose columns are unknown) the read says `*`: possibly all.
- A false error is worse than a missed one: Spark judges again at bootstrap. Types are inferred for messages only.
- Diagnostics stand at the token they are about, in the view's file.

Not here: what names exist (the caller says), the order of views, what a change of a read column does to a view.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic, Location, in_order
from reconciler.base.names import fold
from reconciler.sql.arity import wrong_calls
from reconciler.sql.blocks import Analyser
from reconciler.sql.forbidden import forbidden
from reconciler.sql.lexer import query_tokens
from reconciler.sql.limits import MAXIMUM_PROBLEMS, TooMuch
from reconciler.sql.lineage import ALL_COLUMNS, Lineage
from reconciler.sql.lineage_whole import lost_names
from reconciler.sql.outputs import judge_outputs
from reconciler.sql.positions import Positions
from reconciler.sql.problems import Problem
from reconciler.sql.query import Parsed, ParsedQuery, Unsure, parse_query
from reconciler.sql.references import mentioned
from reconciler.sql.scopes import Outputs
from reconciler.sql.surroundings import USUAL, QuerySurroundings
from reconciler.sql.tracing import lineage_of

__all__ = ["ALL_COLUMNS", "QueryAnalysis", "RelationRead", "analyse_query"]


@dataclass(frozen=True, slots=True)
class RelationRead:
    """A relation that a query reads (its folded name) and the columns used, sorted by folded name."""

    relation: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryAnalysis:
    """`columns` are the output columns in order with their types where known; empty when they can't be known.

    `lineage`: None when it is not surely known. Every output column then depends on all that is read, rows too.
    `brought`: how many columns were looked at, see `limits`.
    """

    reads: tuple[RelationRead, ...]
    columns: tuple[tuple[str, str | None], ...]
    diagnostics: tuple[Diagnostic, ...]
    lineage: Lineage | None = None
    brought: int = 0


@dataclass(frozen=True, slots=True)
class ViewShape:
    """How a view is declared beside its query. `is_stored`: it has a Delta table, which needs a distinct plain name for each
    column. `column_names`: its own list of names, empty where the query's count. `is_read_in_place`: its query is computed
    where the view is read, so that its ORDER BY decides what a LIMIT there leaves."""

    is_stored: bool = False
    column_names: tuple[str, ...] = ()
    is_read_in_place: bool = False


_BARE: Final = ViewShape()


def analyse_query(
    query: str,
    location: Location | None,
    relations: Mapping[str, Mapping[str, str | None]],
    shape: ViewShape = _BARE,
    around: QuerySurroundings = USUAL,
    parsed: ParsedQuery | None = None,
) -> QueryAnalysis:
    """Analyse a query. See the module.

    `relations`: folded name → columns as spelled → canonical type (None: unknown); a relation with no columns has
    unknown ones. `parsed`: what `parse_query` gave for this query, if the caller has it.
    """
    functions, column_names = around.functions, shape.column_names
    if parsed is None:
        parsed = parse_query(query)
    calls = forbidden(query, paths=not isinstance(parsed, Parsed))
    if isinstance(parsed, Parsed):
        calls += wrong_calls(parsed.tokens, functions)
    else:
        calls += wrong_calls(query_tokens(query), functions) if isinstance(parsed, Problem) else ()
    calls = calls[:MAXIMUM_PROBLEMS]
    if not isinstance(parsed, Parsed):
        problems = [parsed] if isinstance(parsed, Problem) else []
        if calls and problems and problems[0].code == "S214":
            problems = []
        return QueryAnalysis(
            _reads({name: {ALL_COLUMNS} for name in mentioned(query, relations)}),
            tuple((name, None) for name in column_names),
            _diagnostics([*problems, *calls], query, location),
        )
    analyser = Analyser(relations, query, around)
    try:
        block = analyser.analyse(parsed.tree, shape.is_read_in_place)
        outputs = judge_outputs(analyser, parsed, block.columns, shape.is_stored, column_names)
    except TooMuch:
        return QueryAnalysis(
            _reads({name: {ALL_COLUMNS} for name in mentioned(query, relations)}),
            tuple((name, None) for name in column_names),
            _diagnostics(analyser.problems, query, location),
            brought=analyser.brought.count + analyser.pairs.count,
        )
    except RecursionError:
        # Too deep for this walk, perhaps not for Spark.
        around = QuerySurroundings(functions=functions)
        return analyse_query(query, location, relations, ViewShape(column_names=column_names), around, Unsure())
    lineage = lineage_of(analyser, parsed, block, outputs) if not analyser.problems else None
    found = analyser.reads.found
    if lineage is None and not analyser.problems:
        found = _with_lost(found, lost_names(parsed, relations), relations)
    return QueryAnalysis(
        _reads(found),
        _named(outputs),
        _diagnostics([*analyser.problems, *calls], query, location),
        lineage,
        analyser.brought.count + analyser.pairs.count,
    )


def _named(outputs: Outputs) -> tuple[tuple[str, str | None], ...]:
    if outputs is None or any(output.name is None for output in outputs):
        return ()
    return tuple((output.name or "", output.type if output.type != "NUMBER" else None) for output in outputs)


def _reads(found: Mapping[str, Iterable[str]]) -> tuple[RelationRead, ...]:
    return tuple(RelationRead(name, tuple(sorted(found[name], key=lambda c: (fold(c), c)))) for name in sorted(found))


def _with_lost(
    found: Mapping[str, Iterable[str]], lost: frozenset[str] | None, relations: Mapping[str, Mapping[str, str | None]]
) -> dict[str, set[str]]:
    """Reads with what the parser has lost of the text: a column where it knows a word only (`date_trunc(format, ts)`,
    `INTERVAL n DAY`), or a `*`."""
    if lost is None:
        return {relation: {ALL_COLUMNS} for relation in found}
    return {
        relation: {*columns, *(column for column in relations.get(relation, ()) if fold(column) in lost)}
        for relation, columns in found.items()
    }


def _diagnostics(problems: Iterable[Problem], query: str, location: Location | None) -> tuple[Diagnostic, ...]:
    problems = tuple(problems)
    if not problems:
        return ()
    positions = Positions(query, location) if location is not None else None
    return in_order(
        Diagnostic(one.code, one.message, positions.at(one.offset) if positions else None, one.hint) for one in problems
    )
