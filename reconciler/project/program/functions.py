"""The functions of a program: one a name, what they call, and everything that is wrong with them.

Rules:
- Functions share one namespace of their own, letter case aside: a table and a function may have one name.
- A body in SQL is an expression over the parameters; it may call other functions of the pipeline, never in a circle: the
  engine puts bodies in the place of calls. A function in Python calls what it imports, which is part of itself.
- Recorded versions of functions (`tax@v0`) are called by what is bound to them only (`functions` of a declaration).
Functions come out whatever is wrong: of two of one name the first by place stays.
"""

from collections.abc import Collection, Iterable, Mapping

from reconciler.base.declarations import FunctionDeclaration, SqlBody
from reconciler.base.diagnostics import Diagnostic, Location
from reconciler.base.names import fold, is_version
from reconciler.project.program.model import Function
from reconciler.project.program.order import cycles
from reconciler.sql.calls import functions_called


def compile_functions(
    declarations: Iterable[FunctionDeclaration], into: list[Diagnostic], *, ansi: bool = True
) -> dict[str, Function]:
    """The functions by folded name, sorted. `ansi`: whether the pipeline runs in Spark's ANSI mode."""
    declared = _by_name(declarations, into)
    found: dict[str, Function] = {}
    today = callable_names(declared)
    counts = {name: len(declared[key].parameters) for name, key in today.items()}
    for key, one in sorted(declared.items()):
        calls: tuple[str, ...] = ()
        if isinstance(one.body, SqlBody):
            # The parser is loaded by whom it has something to parse.
            from reconciler.sql.functions import check_expression

            known, parameters = today, counts
            if one.functions:
                known = callable_names(declared, one.functions)
                parameters = {name: len(declared[other].parameters) for name, other in known.items()}
            calls = resolved_calls(one.body.expression, known)
            into += check_expression(one.body.expression, one.body_location, one.parameters, parameters, ansi=ansi)
        found[key] = Function(one, calls)
    for cycle in cycles({key: one.calls for key, one in found.items()}):
        first = declared[cycle[0]]
        chain = " → ".join(declared[key].name for key in (*cycle, cycle[0]))
        hint = "write one of them in Python, or remove one of the calls"
        into.append(Diagnostic("P321", f"circular dependency between functions: {chain}", first.location, hint))
    return found


def called_functions(query: str, known: Iterable[str]) -> tuple[str, ...]:
    """The functions of `known` (folded names) that a query or an expression calls, sorted, but for recorded versions, which
    nobody calls by their names. When unsure, it calls."""
    known = frozenset(one for one in known if not is_version(one))
    return functions_called(query, known) if known else ()


def callable_names(functions: Iterable[str], own: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """By the folded name as called, the key of the function that is meant. `own` says it of those that are recorded
    versions."""
    known = frozenset(functions)
    return {**{one: one for one in known if not is_version(one)}, **{name: key for name, key in own if key in known}}


def callable_among(keys: Collection[str], functions: Iterable[str], own: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The folded names as called of those functions that have one of these keys."""
    return frozenset(name for name, key in callable_names(functions, own).items() if key in keys)


def resolved_calls(text: str, names: Mapping[str, str]) -> tuple[str, ...]:
    """The keys of the functions that a query or an expression calls, sorted."""
    return tuple(sorted(names[one] for one in functions_called(text, names))) if names else ()


def steady_functions(functions: Mapping[str, Function]) -> frozenset[str]:
    """The functions (keys) that surely give the same for the same: those that are declared deterministic, and those
    in SQL whose body calls nothing else. `functions`: by key."""
    found: set[str] = {key for key, one in functions.items() if one.declaration.deterministic}
    bodies = {key: body for key, one in functions.items() if isinstance(body := one.declaration.body, SqlBody)}
    waiting = sorted(bodies.keys() - found)
    today = parameter_counts(functions)
    while waiting:
        from reconciler.sql.functions import is_steady_expression

        steady, among_today = set(), frozenset(found)
        for key in waiting:
            declaration = functions[key].declaration
            counts, known = today, among_today
            if declaration.functions:
                counts = parameter_counts(functions, declaration.functions)
                known = callable_among(found, functions, declaration.functions)
            if is_steady_expression(bodies[key].expression, declaration.parameters, counts, known):
                steady.add(key)
        if not steady:
            break
        found |= steady
        waiting = [key for key in waiting if key not in found]
    return frozenset(found)


def parameter_counts(functions: Mapping[str, Function], own: Iterable[tuple[str, str]] = ()) -> dict[str, int]:
    """Folded name → number of parameters, as the analysis of queries wants it."""
    return {name: len(functions[key].declaration.parameters) for name, key in callable_names(functions, own).items()}


def _by_name(declarations: Iterable[FunctionDeclaration], into: list[Diagnostic]) -> dict[str, FunctionDeclaration]:
    def position(one: FunctionDeclaration) -> tuple[str, int, int, str]:
        place = one.location or Location("", 0, 0)
        return (place.file, place.line, place.column, one.name)

    found: dict[str, FunctionDeclaration] = {}
    for one in sorted(declarations, key=position):
        first = found.setdefault(fold(one.name), one)
        if first is not one:
            where = f" (at {first.location})" if first.location is not None else ""
            into.append(Diagnostic("P320", f"function {one.name!r} is already declared{where}", one.location, "rename one"))
    return found
