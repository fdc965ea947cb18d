"""Manifest → Program: names resolved, reads found, relations ordered; and everything that is wrong with it.

A program always comes out, whatever is wrong: what the registry holds as applied is compiled here too, perhaps by a
newer version with new objections. Then the first of two relations of one name stays, a view that can't be parsed reads
(as a whole) every relation that its text mentions, and a connector of no relation is left out.

Rules:
- Relations share one namespace, letter case aside. Names that the engine or the registry use are reserved.
- Where names can be data anywhere (`sql.spelling`), their letter case is kept in every canonical text.
- Where settings may let Spark read texts otherwise (`manifest.reading_settings`), canonical texts are what is written, and
  no view has a lineage: both are proven for how Spark reads by itself.
- Views may not read each other in a circle. LOCAL views are read by other views only: they have no connectors.
- Transports named `…_input` belong to tables, `…_output` to views.
- A connector without a name is called `unnamed-<ordinal>`, and that is warned about: the name changes when connectors
  are added before it. Names are unique within a relation.
- `start_after` names labels of input connectors of this pipeline; a connector can't wait for itself, directly or not.

Each query is parsed at most once, and not at all where the cache knows it (`analysis`).

Relations of other pipelines (`sales.revenue`) are read as the manifest's `foreign` says they are. Those that it does not
know are `missing`: whoever can look them up compiles again with what was found, or with the reason why they can't be read.

A pipeline declares so many relations and functions at most, and its queries bring so many columns along (`sql.limits`); what
is beyond is told and not looked at. What the registry holds was taken before, and is compiled without limits.

Analysis of queries is `sql.check`'s; types found there serve messages only and are no part of the program.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, TypeAlias

from reconciler.base.cache import Cache, NoCache
from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import (
    ForeignRelation,
    FunctionDeclaration,
    Manifest,
    Settings,
    SqlBody,
    TableDeclaration,
    ViewDeclaration,
    ViewKind,
)
from reconciler.base.diagnostics import Diagnostic, Location, Severity, in_order
from reconciler.base.names import bounded_suggestions, fold, is_foreign
from reconciler.connectors.transport import Direction
from reconciler.project.program.analysis import Facts, Queries, Recalled, Surroundings, columns_digest, unknown
from reconciler.project.program.connectors import compile_connectors
from reconciler.project.program.functions import (
    callable_among,
    callable_names,
    compile_functions,
    parameter_counts,
    resolved_calls,
    steady_functions,
)
from reconciler.project.program.model import Function, Program, Read, Stream, Table, View
from reconciler.project.program.moves import check_moves
from reconciler.project.program.order import cycles, topological
from reconciler.project.program.settings import are_read_plainly
from reconciler.project.program.written_names import with_spelled_names
from reconciler.sql.limits import (
    HINT_OF_BROUGHT_BY_PIPELINE,
    MAXIMUM_BROUGHT,
    MAXIMUM_BROUGHT_BY_PIPELINE,
    MAXIMUM_DECLARED,
    MAXIMUM_FUNCTIONS,
)
from reconciler.sql.spelling import Spelling, may_hold_names, may_make_names_data

RESERVED_PREFIXES = ("__", "_reconcile", "reconcile_")
RESERVED_NAMES = ("information_schema", "global_temp", "default")
# A relation has a folder of its name, and with one of these a pipeline's folder is no folder of tables to Delta or Hadoop.
RESERVED_FOLDERS = ("_delta_log", "_delta_index", "_change_data", "_temporary", "_registry")


_Declaration: TypeAlias = TableDeclaration | ViewDeclaration | FunctionDeclaration
_BEYOND: Final = (
    f"with this view the pipeline's queries have more than {MAXIMUM_BROUGHT_BY_PIPELINE:,} columns to check; the views "
    "after it were not checked"
)
_ABOUT_UNKNOWN_NAMES: Final = frozenset({"S220", "S231", "P305", "P309", "P322"})


@dataclass(frozen=True, slots=True)
class Compiled:
    """The program, and what is wrong with the manifest that it came from. `missing` are the keys of other pipelines'
    relations that queries name and nobody has looked up."""

    program: Program
    diagnostics: tuple[Diagnostic, ...]
    missing: tuple[str, ...] = ()


def compile_program(
    manifest: Manifest,
    *,
    complete: bool = True,
    cache: Cache | None = None,
    refused: Mapping[str, Diagnostic] = MappingProxyType({}),
    limited: bool = True,
) -> Compiled:
    """Compile a manifest. See the module.

    Of a manifest that is not `complete`, names that are unknown are not reported: they may be declared in what could
    not be read, and one mistake should not be told twice. `refused` says of other pipelines' relations (by key) why they
    can't be read. `limited`: it is of files, not of what the registry holds.
    """
    with bounded_suggestions():
        return _compile(manifest, complete, cache or NoCache(), refused, limited)


def _compile(manifest: Manifest, complete: bool, cache: Cache, refused: Mapping[str, Diagnostic], limited: bool) -> Compiled:
    diagnostics: list[Diagnostic] = []
    if limited:
        manifest, is_whole = _within_limits(manifest, diagnostics)
        complete = complete and is_whole
    places = {fold(one.name): one.locations for one in manifest.streams}
    manifest, streams = _with_streams(manifest, diagnostics)
    declared = _by_name(manifest, diagnostics)
    ansi = manifest.settings.spark.get("spark.sql.ansi.enabled", "true").strip().lower() != "false"
    functions = compile_functions(manifest.functions, diagnostics, ansi=ansi)
    queries = Queries(cache)
    facts = queries.facts({key: one.query for key, one in declared.items() if isinstance(one, ViewDeclaration)})
    # A version that is kept up to date is a view of this program.
    named = {name for one in facts.values() for name in one.names or () if is_foreign(name) and name not in declared}
    known = {fold(one.qualified_name): one for one in manifest.foreign} if named else {}
    foreign = {key: known[key] for key in sorted(named) if key in known}
    order, circular = _order(declared, queries, facts, diagnostics)
    tables = {key: Table(one) for key, one in sorted(declared.items()) if isinstance(one, TableDeclaration)}
    makes_names_data = (
        any(one.may_make_names_data for one in facts.values())
        or _names_in_types(tables)
        or _names_in_functions(functions)
        or any(one.names_are_data for one in foreign.values())
    )
    surroundings = Surroundings(
        ansi=ansi,
        spelling=_spelling(manifest.settings, makes_names_data=makes_names_data),
        functions=parameter_counts(functions),
        refused=refused,
        steady=steady_functions(functions),
        limit=MAXIMUM_BROUGHT if limited else None,
    )
    relations = _Relations(declared, foreign, order, circular, streams, places)
    views = _views(relations, queries, facts, functions, surroundings, diagnostics)
    connectors = compile_connectors(manifest.connectors, tables, views, diagnostics)
    outputs = {fold(one.relation) for one in connectors.values() if one.direction is Direction.OUTPUT}
    views = {key: replace(view, has_output=True) if key in outputs else view for key, view in views.items()}
    if streams:
        from reconciler.project.program.streams import with_streams

        views = with_streams(views, streams)
    views = with_spelled_names(tables, views, foreign)
    check_moves(manifest.moves, tables, views, connectors, diagnostics)
    program = Program(
        manifest.settings,
        tables,
        views,
        connectors,
        order,
        surroundings.spelling,
        functions,
        manifest.moves,
        foreign,
    )
    told = diagnostics if complete else [one for one in diagnostics if one.code not in _ABOUT_UNKNOWN_NAMES]
    return Compiled(program, in_order(told), tuple(sorted(named - {*foreign, *refused})))


def _with_streams(manifest: Manifest, into: list[Diagnostic]) -> tuple[Manifest, Mapping[str, Stream]]:
    """The manifest with the queries of its streams, and the streams by key."""
    if not (manifest.streams or manifest.unread_streams) and all(one.stream is None for one in manifest.views):
        return manifest, {}
    from reconciler.project.program.streams import compile_streams

    views, streams = compile_streams(manifest, into)
    return replace(manifest, views=views, streams=(), unread_streams=()), streams


_NOT_AGGREGATED: Final = "S228"
_OF_AN_AGGREGATE: Final = "write an aggregate of it, such as max(…) or any_value(…)"


def _of_stream(
    declaration: ViewDeclaration,
    errors: Iterable[Diagnostic],
    relations: "_Relations",
    analysed_alone: Callable[[str], Iterable[Diagnostic]],
) -> list[Diagnostic]:
    """What is wrong with the query of a stream, which nobody wrote: told of the expressions in it that somebody wrote, where
    it is one of these, else where the stream is declared."""
    key = fold(declaration.name)
    places, found = relations.places.get(key, {}), []
    if key in relations.streams:
        from reconciler.project.program.streams import written_expressions

        for path, query in written_expressions(relations.streams[key]):
            place = next((places[one] for one in sorted(places) if one.endswith(f".{path}")), declaration.location)
            for one in analysed_alone(query):
                hint = _OF_AN_AGGREGATE if one.code == _NOT_AGGREGATED else one.hint
                if one.severity is Severity.ERROR:
                    found.append(replace(one, location=place, hint=hint))
    return list(dict.fromkeys(found or [replace(one, location=declaration.location) for one in errors]))


def foreign_names(manifest: Manifest, cache: Cache) -> tuple[str, ...]:
    """The keys of other pipelines' relations that a manifest's queries name, sorted."""
    facts = Queries(cache).facts({view.query: view.query for view in manifest.views})
    named = (name for one in facts.values() for name in one.names or ())
    return tuple(sorted({name for name in named if is_foreign(name)}))


def _place(location: Location | None) -> str:
    return f" (at {location})" if location is not None else ""


def _within_limits(manifest: Manifest, into: list[Diagnostic]) -> tuple[Manifest, bool]:
    """The manifest with as many declarations as are taken, the first by place, and whether that is all."""
    declarations: tuple[_Declaration, ...] = (*manifest.tables, *manifest.views, *manifest.functions)
    everything = sorted(declarations, key=_position)
    if len(manifest.functions) > MAXIMUM_FUNCTIONS:
        first = sorted(manifest.functions, key=_position)[MAXIMUM_FUNCTIONS]
        message = f"the pipeline declares {len(manifest.functions):,} functions"
        message = f"{message}; at most {MAXIMUM_FUNCTIONS:,} are allowed, and this is the first one too many"
        into.append(Diagnostic("P361", message, first.location, "divide it into several pipelines"))
        return replace(manifest, functions=(), views=()), False
    if len(everything) <= MAXIMUM_DECLARED:
        return manifest, True
    what = f"the pipeline declares {len(everything):,} tables, views and functions"
    message = f"{what}; at most {MAXIMUM_DECLARED:,} are allowed, and this is the first one too many"
    into.append(Diagnostic("P361", message, everything[MAXIMUM_DECLARED].location, "divide it into several pipelines"))
    taken = everything[:MAXIMUM_DECLARED]
    tables = tuple(one for one in taken if isinstance(one, TableDeclaration))
    views = tuple(one for one in taken if isinstance(one, ViewDeclaration))
    functions = tuple(one for one in taken if isinstance(one, FunctionDeclaration))
    return replace(manifest, tables=tables, views=views, functions=functions), False


def _position(one: _Declaration) -> tuple[str, int, int, str]:
    place = one.location or Location("", 0, 0)
    return (place.file, place.line, place.column, one.name)


def _by_name(manifest: Manifest, into: list[Diagnostic]) -> dict[str, TableDeclaration | ViewDeclaration]:
    """The relations by folded name, the first of a name by place; reserved and repeated names are reported."""
    found: dict[str, TableDeclaration | ViewDeclaration] = {}
    everything: list[TableDeclaration | ViewDeclaration] = [*manifest.tables, *manifest.views]
    for declaration in sorted(everything, key=_position):
        key = fold(declaration.name)
        if key.startswith(RESERVED_PREFIXES) or key in (*RESERVED_NAMES, *RESERVED_FOLDERS):
            hint = "choose another name: this one is used by reconciler, Spark or Delta"
            into.append(Diagnostic("P302", f"{declaration.name!r} is a reserved name", declaration.location, hint))
        first = found.setdefault(key, declaration)
        if first is not declaration:
            kind = "table" if isinstance(first, TableDeclaration) else "view"
            message = f"{declaration.name!r} is already declared as a {kind}{_place(first.location)}"
            hint = "names are case-insensitive" if first.name != declaration.name else "rename one of them"
            into.append(Diagnostic("P301", message, declaration.location, hint))
    return found


_Declared: TypeAlias = Mapping[str, TableDeclaration | ViewDeclaration]


def _order(
    declared: _Declared, queries: Queries, facts: Mapping[str, Facts], into: list[Diagnostic]
) -> tuple[tuple[str, ...], frozenset[str]]:
    """The topological order, and the names that lie on a reported circle."""
    reads: dict[str, tuple[str, ...]] = {}
    for key, one in declared.items():
        reads[key] = queries.named(one.query, facts[key], declared, key) if isinstance(one, ViewDeclaration) else ()
    circular: set[str] = set()
    for cycle in cycles(reads):
        first = declared[cycle[0]]
        circular.update(cycle)
        if len(cycle) == 1:
            into.append(Diagnostic("P304", f"view {first.name!r} reads itself", first.location))
            continue
        chain = " → ".join(declared[key].name for key in (*cycle, cycle[0]))
        hint = "change one of them to read tables, or the relations that the other one reads"
        into.append(Diagnostic("P303", f"circular dependency between views: {chain}", first.location, hint))
    for key in sorted(reads):
        if key in reads[key] and key not in circular:
            circular.add(key)
            into.append(Diagnostic("P304", f"view {declared[key].name!r} reads itself", declared[key].location))
    return topological(reads), frozenset(circular)


def _spelling(settings: Settings, *, makes_names_data: bool) -> Spelling:
    if not are_read_plainly(settings):
        return Spelling.LAYOUT_ASIDE
    return Spelling.CASE_OF_NAMES if makes_names_data else Spelling.EVENED_OUT


def _names_in_types(tables: Mapping[str, Table]) -> bool:
    return any(may_hold_names(column.type) for table in tables.values() for column in table.columns)


def _names_in_functions(functions: Mapping[str, Function]) -> bool:
    declared = [function.declaration for function in functions.values()]
    types = [kind for one in declared for kind in (one.returns, *(parameter.type for parameter in one.parameters))]
    bodies = [one.body.expression for one in declared if isinstance(one.body, SqlBody)]
    # Python gets a struct with the names of its fields.
    given = [parameter.type for one in declared if not isinstance(one.body, SqlBody) for parameter in one.parameters]
    sees_fields = any("STRUCT" in kind.upper() for kind in given)
    return sees_fields or any(map(may_hold_names, types)) or any(map(may_make_names_data, bodies))


@dataclass(frozen=True, slots=True)
class _Relations:
    """The relations that a program declares and those of other pipelines that it names, by key; the declared ones in
    topological order, and which of them read each other in a circle. Of `streams` also where the parts of each are written
    (`places`)."""

    declared: _Declared
    foreign: Mapping[str, ForeignRelation]
    order: tuple[str, ...]
    circular: frozenset[str]
    streams: Mapping[str, Stream]
    places: Mapping[str, Mapping[str, Location]]


def _views(
    relations: _Relations,
    queries: Queries,
    facts: Mapping[str, Facts],
    functions: Mapping[str, Function],
    surroundings: Surroundings,
    into: list[Diagnostic],
) -> dict[str, View]:
    """Analyse the views, each after those that it reads. Columns of views in a circle count as unknown."""
    declared, foreign, circular = relations.declared, relations.foreign, relations.circular
    known: dict[str, Mapping[str, str | None]] = {key: {} for key in declared}
    for key, one in declared.items():
        if isinstance(one, TableDeclaration):
            known[key] = {column.name: column.type for column in one.columns}
    for key, relation in foreign.items():
        known[key] = dict(relation.columns)
    spelled = {key: one.name for key, one in declared.items()} | {key: one.qualified_name for key, one in foreign.items()}
    none = columns_digest(())
    digests = {key: columns_digest(columns.items()) if columns else none for key, columns in known.items()}
    today = callable_names(functions)
    recalled = Recalled(queries, facts, digests, circular)
    views: dict[str, View] = {}
    brought = 0

    def asked(key: str) -> tuple[ViewDeclaration, Surroundings]:
        one = declared[key]
        assert isinstance(one, ViewDeclaration)
        if not one.functions:
            return one, surroundings
        bound = parameter_counts(functions, one.functions)
        return one, replace(
            surroundings, functions=bound, steady=callable_among(surroundings.steady, functions, one.functions)
        )

    for key in relations.order:
        one = declared[key]
        if not isinstance(one, ViewDeclaration):
            continue
        is_beyond = surroundings.limit is not None and brought > MAXIMUM_BROUGHT_BY_PIPELINE
        analysed = recalled.of(key, asked) if not is_beyond else unknown(one)
        if analysed is None:
            analysed = queries.analyse(one, facts[key], known, digests, asked(key)[1])
            recalled.settle(key, analysed)
        if one.kind is not ViewKind.STREAM:
            into += analysed.diagnostics
        elif errors := [one for one in analysed.diagnostics if one.severity is Severity.ERROR]:

            def analysed_alone(query: str, key: str = key, one: ViewDeclaration = one) -> Iterable[Diagnostic]:
                alone = replace(one, query=query, sql=query, stream=None)
                return queries.analyse(alone, queries.facts({"": query})[""], known, digests, asked(key)[1]).diagnostics

            into += _of_stream(one, errors, relations, analysed_alone)
        brought += analysed.brought
        if not is_beyond and surroundings.limit is not None and brought > MAXIMUM_BROUGHT_BY_PIPELINE:
            into.append(Diagnostic("P360", _BEYOND, one.location, HINT_OF_BROUGHT_BY_PIPELINE))
        names = [name for name, _ in analysed.columns]
        if key not in circular and analysed.columns_differ:
            known[key] = dict(analysed.columns)
        # A query that could not be parsed mentions its own name without reading it.
        reads = tuple([Read(spelled[name], columns) for name, columns in analysed.reads if name != key or key in circular])
        called = callable_names(functions, one.functions) if one.functions else today
        calls = resolved_calls(one.query, called)
        crosswise = analysed.joins_crosswise
        views[key] = View(one, analysed.canonical, reads, tuple(names), analysed.lineage, calls, joins_crosswise=crosswise)
    return dict(sorted(views.items()))
