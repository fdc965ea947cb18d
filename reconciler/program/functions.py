"""The functions of a program: one a name, what they call, and everything that is wrong with them.

Rules:
- Functions share one namespace of their own, letter case aside: a table and a function may have one name.
- A body in SQL is an expression over the parameters; it may call other functions of the pipeline, never in a circle: the
  engine puts bodies in the place of calls. A function in Python calls what it imports, which is part of itself.
Functions come out whatever is wrong: of two of one name the first by place stays.
"""

from collections.abc import Iterable, Mapping

from reconciler.diagnostics import Diagnostic, Location
from reconciler.manifest.model import FunctionDeclaration, SqlBody
from reconciler.names import fold
from reconciler.program.model import Function
from reconciler.program.order import cycles
from reconciler.sql.calls import functions_called


def compile_functions(
    declarations: Iterable[FunctionDeclaration], into: list[Diagnostic], *, ansi: bool = True
) -> dict[str, Function]:
    """The functions by folded name, sorted. `ansi`: whether the pipeline runs in Spark's ANSI mode."""
    declared = _by_name(declarations, into)
    parameters = {key: len(one.parameters) for key, one in declared.items()}
    found: dict[str, Function] = {}
    for key, one in sorted(declared.items()):
        calls: tuple[str, ...] = ()
        if isinstance(one.body, SqlBody):
            # The parser is loaded by whom it has something to parse.
            from reconciler.sql.functions import check_expression

            calls = called_functions(one.body.expression, declared)
            into += check_expression(one.body.expression, one.body_location, one.parameters, parameters, ansi=ansi)
        found[key] = Function(one, calls)
    for cycle in cycles({key: one.calls for key, one in found.items()}):
        first = declared[cycle[0]]
        chain = " → ".join(declared[key].name for key in (*cycle, cycle[0]))
        hint = "write one of them in Python, or let one do without the other"
        into.append(Diagnostic("P321", f"functions call each other in a circle: {chain}", first.location, hint))
    return found


def called_functions(query: str, known: Iterable[str]) -> tuple[str, ...]:
    """The functions of `known` (folded names) that a query or an expression calls, sorted. When unsure, it calls."""
    known = known if isinstance(known, set | frozenset | dict) else frozenset(known)
    return functions_called(query, known) if known else ()


def steady_functions(functions: Mapping[str, Function]) -> frozenset[str]:
    """The functions (folded names) that surely give the same for the same: those that are declared deterministic, and those
    in SQL whose body calls nothing else. `functions`: by folded name."""
    found: set[str] = {key for key, one in functions.items() if one.declaration.deterministic}
    bodies = {key: body for key, one in functions.items() if isinstance(body := one.declaration.body, SqlBody)}
    counts = parameter_counts(functions.values())
    waiting = sorted(bodies.keys() - found)
    while waiting:
        from reconciler.sql.functions import is_steady_expression

        steady = {
            key
            for key in waiting
            if is_steady_expression(bodies[key].expression, functions[key].declaration.parameters, counts, frozenset(found))
        }
        if not steady:
            break
        found |= steady
        waiting = [key for key in waiting if key not in found]
    return frozenset(found)


def parameter_counts(functions: Iterable[Function]) -> dict[str, int]:
    """Folded name → number of parameters, as the analysis of queries wants it."""
    return {fold(one.name): len(one.declaration.parameters) for one in functions}


def _by_name(declarations: Iterable[FunctionDeclaration], into: list[Diagnostic]) -> dict[str, FunctionDeclaration]:
    def position(one: FunctionDeclaration) -> tuple[str, int, int, str]:
        place = one.location or Location("", 0, 0)
        return (place.file, place.line, place.column, one.name)

    found: dict[str, FunctionDeclaration] = {}
    for one in sorted(declarations, key=position):
        first = found.setdefault(fold(one.name), one)
        if first is not one:
            where = f" (at {first.location})" if first.location is not None else ""
            into.append(Diagnostic("P320", f"function {one.name!r} is declared already{where}", one.location, "rename one"))
    return found
