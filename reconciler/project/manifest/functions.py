"""Functions of a pipeline: what SQL declares, joined with the definitions in `udf/` and the settings of pipeline.yaml.

Rules:
- `CREATE FUNCTION f(…) RETURNS …` without AS is written in Python: exactly one `def f`, spelled the same, stands at the top
  level of some module below `udf/`, and can be called with as many arguments as there are parameters.
- A function in Python is not deterministic unless `spec.functions.<name>.deterministic` says so: only the author can know.
  One in SQL is, if all that it calls is, unless it is said otherwise.
- `requirements` are distributions with exact versions, so that a result depends on nothing unsaid. They, the minor version
  of the running Python and the texts of every module imported from `udf/` belong to the function.
- `on_error: give_null` lets a call that fails give NULL. It is for functions in Python that may give NULL: what fails within
  an expression of Spark can't be caught.
Nothing of the repository is run: `manifest.modules` reads the files.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import FunctionDeclaration, PythonBody, SqlBody
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.names import closest, did_you_mean, fold
from reconciler.base.places import Places
from reconciler.project.manifest.check import part
from reconciler.project.manifest.modules import MAXIMUM_IMPORTED, Imports, Module, Modules, read_modules
from reconciler.sql.calls import functions_called
from reconciler.sql.determinism import non_deterministic_calls

FOLDER: Final = "udf"
PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
GIVE_NULL: Final = "give_null"
TRY_HINT: Final = (
    "use functions that give NULL themselves, such as try_divide(a, b) or try_cast(a AS INT), or write it in Python"
)
NULLABLE_HINT: Final = "remove NOT NULL after RETURNS, or remove on_error"
_TOO_LONG: Final = (
    f"with this one, the pipeline's functions have more than {MAXIMUM_IMPORTED:,} characters of Python: a module counts "
    "once for each function that imports it"
)

_Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class _Found:
    """A definition and the module that holds it."""

    module: Module
    definition: _Definition


def read_functions(
    declared: Iterable[FunctionDeclaration], folder: str, files: Mapping[str, str], value: Any, places: Places
) -> tuple[tuple[FunctionDeclaration, ...], tuple[Diagnostic, ...]]:
    """The declarations with their bodies and settings, and what is wrong with them. `folder` is the pipeline's, `value` its
    pipeline.yaml. A function whose definition is missing or wrong stays, so that its callers are not blamed too."""
    declared = tuple(declared)
    found: list[Diagnostic] = list(_unknown_settings(declared, value, places))
    problems: list[Diagnostic] = []
    modules = read_modules(f"{folder}/{FOLDER}", files, problems)
    settings = {fold(name): (name, one) for name, one in _settings(value).items() if isinstance(one, Mapping)}
    functions: list[FunctionDeclaration] = []
    definitions = _definitions(modules)
    imports = Imports(modules)
    for function in declared:
        name, own = settings.get(fold(function.name), (function.name, {}))
        said = own.get("deterministic")
        deterministic = said is True or (said is None and isinstance(function.body, SqlBody))
        function = replace(function, deterministic=deterministic, description=_text(own.get("description")))
        required = _requirements(own)
        if isinstance(function.body, SqlBody):
            if required:
                place = places.of_key(("spec", "functions", name, "requirements"))
                message = f"function {function.name!r} has a body in SQL, which imports nothing"
                found.append(Diagnostic("M167", message, place, "remove requirements"))
            if own.get("on_error") == GIVE_NULL:
                found.append(_cannot_give_null(function, "it is written in SQL", TRY_HINT, name, places))
            functions.append(function)
            continue
        body = _body(function, definitions, imports, required, bool(problems), found)
        if own.get("on_error") == GIVE_NULL:
            body = replace(body, gives_null_on_error=True)
            if not function.returns_nullable:
                found.append(_cannot_give_null(function, "it is declared NOT NULL", NULLABLE_HINT, name, places))
        functions.append(replace(function, body=body))
    # Files that no function needs may be anything.
    found += problems if any(isinstance(one.body, PythonBody) for one in functions) else []
    return _with_determinism_of_calls(functions, settings), tuple(found)


def _cannot_give_null(function: FunctionDeclaration, why: str, hint: str, name: str, places: Places) -> Diagnostic:
    place = places.of_key(("spec", "functions", name, "on_error"))
    return Diagnostic("M168", f"function {function.name!r} can't give NULL where it fails: {why}", place, hint)


def _with_determinism_of_calls(
    functions: list[FunctionDeclaration], settings: Mapping[str, tuple[str, Mapping[str, Any]]]
) -> tuple[FunctionDeclaration, ...]:
    """A body in SQL is what it calls, where its author has not said what it is."""
    doubtful = {fold(one.name) for one in functions if not one.deterministic}
    open_ones = {
        fold(one.name): one.body.expression
        for one in functions
        if isinstance(one.body, SqlBody) and settings.get(fold(one.name), ("", {}))[1].get("deterministic") is None
    }
    doubtful |= {key for key, expression in open_ones.items() if non_deterministic_calls(expression)}
    callers: dict[str, list[str]] = {}
    names = frozenset(fold(one.name) for one in functions)
    for key, text in open_ones.items():
        for called in functions_called(text, names):
            callers.setdefault(called, []).append(key)
    waiting = sorted(doubtful)
    while waiting:
        more = [key for key in callers.pop(waiting.pop(), ()) if key not in doubtful]
        doubtful.update(more)
        waiting += more
    return tuple(replace(one, deterministic=fold(one.name) not in doubtful) for one in functions)


def _settings(value: Any) -> Mapping[str, Any]:
    settings = part(value, "spec", "functions")
    return settings if isinstance(settings, Mapping) else {}


def _requirements(settings: Mapping[str, Any]) -> tuple[str, ...]:
    value = settings.get("requirements")
    return tuple(sorted({one for one in value if isinstance(one, str)})) if isinstance(value, list) else ()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _unknown_settings(declared: tuple[FunctionDeclaration, ...], value: Any, places: Places) -> Iterator[Diagnostic]:
    names = [function.name for function in declared]
    known = {fold(name) for name in names}
    for name in sorted(_settings(value)):
        if fold(name) not in known:
            hint = did_you_mean(name, names) or "no SQL file of this pipeline declares that function"
            yield Diagnostic("M166", f"there is no function {name!r}", places.of_key(("spec", "functions", name)), hint)


def _body(
    function: FunctionDeclaration,
    definitions: Mapping[str, list[_Found]],
    imports: Imports,
    required: tuple[str, ...],
    unread: bool,
    into: list[Diagnostic],
) -> PythonBody:
    """The function's definition. `unread`: some file could not be read, and may be the one that holds it."""
    empty = PythonBody("", {}, required, PYTHON)
    own = definitions.get(function.name)
    if not own:
        if not unread:
            into.append(_missing(function, definitions))
        return empty
    first, *others = own
    for other in others:
        message = f"function {function.name!r} is already defined (at {first.module.at(first.definition)})"
        into.append(Diagnostic("M161", message, other.module.at(other.definition), "rename one of them"))
    reason = _misfit(first.definition, len(function.parameters))
    if reason is not None:
        hint = f"declared at {function.location}" if function.location is not None else None
        into.append(Diagnostic("M163", f"function {function.name!r} {reason}", first.module.at(first.definition), hint))
    if imports.is_full:
        return empty
    sources = imports.sources_of(first.module, required, into)
    if imports.is_full:
        into.append(Diagnostic("M103", _TOO_LONG, function.location, "let functions import only what they need"))
        return empty
    return PythonBody(first.module.name, sources, required, PYTHON)


def _definitions(modules: Modules) -> dict[str, list[_Found]]:
    """The functions at the top level of modules, by name."""
    found: dict[str, list[_Found]] = {}
    for module in modules.by_name.values():
        for node in module.tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.setdefault(node.name, []).append(_Found(module, node))
    return found


def _missing(function: FunctionDeclaration, definitions: Mapping[str, list[_Found]]) -> Diagnostic:
    message = f"no file below {FOLDER}/ defines function {function.name!r}"
    near = closest(function.name, definitions)
    if near is not None and fold(near) == fold(function.name):
        hint = f"{FOLDER}/{definitions[near][0].module.path} has def {near}: letter case counts in Python"
    elif near is not None:
        hint = f"did you mean {near!r} in {FOLDER}/{definitions[near][0].module.path}?"
    else:
        parameters = ", ".join(parameter.name for parameter in function.parameters)
        hint = f"write def {function.name}({parameters}) in {FOLDER}/, or give it a body in SQL: AS expression"
    return Diagnostic("M160", message, function.location, hint)


def _misfit(definition: _Definition, count: int) -> str | None:
    """Why the definition can't be called with `count` arguments for one value, or None."""
    if isinstance(definition, ast.AsyncFunctionDef):
        return "is async, so it returns no value"
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(definition)):
        return "is a generator, so it returns no value"
    arguments = definition.args
    most = len(arguments.posonlyargs) + len(arguments.args)
    least = most - len(arguments.defaults)
    unnamed = [one.arg for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None]
    if unnamed:
        return f"takes {unnamed[0]!r} by name only, but SQL passes arguments by position"
    if count < least or (count > most and arguments.vararg is None):
        takes = str(most) if least == most else f"{least} to {most}"
        return f"takes {takes} argument{'s' if takes != '1' else ''}, but is declared with {count}"
    return None


def _own_nodes(definition: _Definition) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions and classes within."""
    waiting: list[ast.AST] = list(definition.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
