"""The Python files below a pipeline's `udf/` folder: which modules they are, what each defines and imports.

They are read, never run. What a module imports is found in its text; what can't be found so is an error, since a change
there would go unnoticed:
- modules of the folder, by their path below it (`udf/lib/rates.py` is `lib.rates`) or relatively;
- Python's standard library; packages that a requirement declares, whose versions are then part of the function;
- nothing that is decided when the code runs. What runs text or imports by a name (`exec`, `__import__`, `builtins`,
  `sys.modules` …) is refused wherever it is mentioned, called or not: what is mentioned can be called by another name.
  `importlib.import_module("…")` with the name written out is the one exception. So are the ways that lead there from what
  is harmless: modules that other modules hold (`os.sys`), private parts of libraries, frames, namespaces as dictionaries,
  and these names within strings.

This keeps a change from going unnoticed by accident. It is no wall against an author who wants to hide one: Python has more
ways than a text shows, and whoever reviews the pull request sees his code.

Which module a name means is decided as Python would if `udf/` were first on its path: a module of the folder hides one of
the standard library. What else a function reads while it runs (files, the network) is not seen here.

Each module is read once, however many functions import it. It belongs to each of them, and so many texts belong to the
functions of a pipeline at most.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from itertools import chain
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic, Location
from reconciler.base.names import did_you_mean
from reconciler.project.manifest.ways_round import (
    ENTRY_POINTS,
    HELD,
    IMPORT_BY_NAME,
    IN_STRINGS,
    LOADERS,
    RUN_TEXT,
    WAYS_ROUND,
    as_written,
    foreign_names,
    joined,
    may_be_taken,
    roots_of,
    standing_alone,
)
from reconciler.sql.limits import MAXIMUM_PROBLEMS

# Python's own parser takes half a gigabyte for a dense file of twice that length.
MAXIMUM_CHARACTERS: Final = 250_000
# Each function is compared with all that it imports.
MAXIMUM_IMPORTED: Final = 25_000_000

_INIT: Final = "__init__"
_NOT_A_NAME: Final = re.compile(r"[^A-Za-z0-9._-]")

# Modules whose package is distributed under another name.
_DISTRIBUTIONS: Final[Mapping[str, str]] = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "Crypto": "pycryptodome",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "jose": "python-jose",
    "jwt": "pyjwt",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}


@dataclass(frozen=True, slots=True)
class Module:
    """One file. `name` is dotted, empty for `udf/__init__.py`; `path` is below `udf/`, `file` from the repository's root."""

    name: str
    path: str
    file: str
    text: str
    tree: ast.Module
    is_package: bool

    @property
    def package(self) -> str:
        """The package that relative imports start from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    def at(self, node: ast.stmt | ast.expr) -> Location:
        # Python counts columns in bytes of UTF-8.
        lines = _lines(self.text)
        line = lines[node.lineno - 1] if node.lineno <= len(lines) else ""
        before = node.col_offset if line.isascii() else len(line.encode()[: node.col_offset].decode(errors="replace"))
        return Location(self.file, node.lineno, before + 1)


@lru_cache(maxsize=8)
def _lines(text: str) -> list[str]:
    return text.split("\n")


@dataclass(frozen=True, slots=True)
class Modules:
    """All modules of a folder by dotted name, `packages` also those folders that have no `__init__.py`."""

    by_name: Mapping[str, Module]
    packages: frozenset[str]

    def has(self, name: str) -> bool:
        return name in self.by_name or name in self.packages


@dataclass(slots=True)
class _Imported:
    """What one module imports of the folder, in order, and what is wrong with its imports."""

    modules: Modules
    distributions: frozenset[str]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)


def read_modules(folder: str, files: Mapping[str, str], into: list[Diagnostic]) -> Modules:
    """The modules below `folder`. Files whose path can't be imported are left out; those that are no Python are reported."""
    by_name: dict[str, Module] = {}
    packages: set[str] = set()
    for file in sorted(files):
        if not file.startswith(f"{folder}/") or not file.endswith(".py"):
            continue
        path = file.removeprefix(f"{folder}/")
        parts = path.removesuffix(".py").split("/")
        if not all(part.isidentifier() for part in parts):
            continue
        is_package = parts[-1] == _INIT
        name = ".".join(parts[:-1] if is_package else parts)
        packages.update(".".join(parts[:depth]) for depth in range(1, len(parts)))
        tree = _parsed(file, files[file], into)
        if tree is not None and (is_package or name not in by_name or not by_name[name].is_package):
            by_name[name] = Module(name, path, file, files[file], tree, is_package)
    return Modules(by_name, frozenset(packages))


def _parsed(file: str, text: str, into: list[Diagnostic]) -> ast.Module | None:
    if len(text) > MAXIMUM_CHARACTERS:
        message = f"the file has more than {MAXIMUM_CHARACTERS:,} characters"
        into.append(
            Diagnostic("M103", message, Location(file, 1, 1), "divide the file, and keep data out of the files of functions")
        )
        return None
    try:
        return ast.parse(text, file)
    except SyntaxError as error:
        # Python counts from 1, and says 0 where it does not know.
        place = Location(file, max(error.lineno or 1, 1), max(error.offset or 1, 1))
        into.append(Diagnostic("M162", f"this is not valid Python: {error.msg}", place))
    except (ValueError, RecursionError, MemoryError) as error:
        into.append(
            Diagnostic("M162", f"this is not valid Python: {str(error) or 'it is nested too deeply'}", Location(file, 1, 1))
        )
    return None


class Imports:
    """What modules import, each read once."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._known: dict[tuple[str, frozenset[str]], tuple[Module, ...]] = {}
        self._characters = 0

    def sources_of(self, start: Module, requirements: Iterable[str], into: list[Diagnostic]) -> dict[str, str]:
        """The texts of a module and of all that it imports of the folder, by path. Imports that are not known are reported,
        once."""
        # One that is not well formed is reported elsewhere, and means its package all the same.
        distributions = frozenset(_distribution(_NOT_A_NAME.split(requirement)[0]) for requirement in requirements)
        sources: dict[str, str] = {}
        waiting = list(_with_packages(start.name, self._modules))
        while waiting:
            module = waiting.pop()
            if module.path in sources:
                continue
            sources[module.path] = module.text
            waiting += self._imported(module, distributions, into)
        self._characters += sum(map(len, sources.values()))
        return dict(sorted(sources.items()))

    @property
    def is_full(self) -> bool:
        """Whether the functions so far have more than is taken."""
        return self._characters > MAXIMUM_IMPORTED

    def _imported(self, module: Module, distributions: frozenset[str], into: list[Diagnostic]) -> tuple[Module, ...]:
        """The modules that a module imports."""
        known = self._known.get((module.path, distributions))
        if known is None:
            found = _read_imports(module, self._modules, distributions)
            into += found.diagnostics
            names = (one for name in found.names for one in _with_packages(name, self._modules))
            known = self._known[(module.path, distributions)] = tuple({one.path: one for one in names}.values())
        return known


def _read_imports(module: Module, modules: Modules, distributions: frozenset[str]) -> _Imported:
    found = _Imported(modules, distributions)
    nodes = list(ast.walk(module.tree))
    foreign = foreign_names(nodes, modules.has)
    roots = roots_of(nodes)
    passed = set(standing_alone(nodes))
    # Names that stand where they may: before a point, or as what is called with a name written out.
    allowed: set[int] = set()
    for node in nodes:
        if len(found.diagnostics) >= MAXIMUM_PROBLEMS:
            message = f"the file has {MAXIMUM_PROBLEMS} problems or more; the rest was not read"
            found.diagnostics.append(Diagnostic("M103", message, Location(module.file, 1, 1), "begin with the first one"))
            break
        match node:
            case ast.Import():
                for alias in node.names:
                    if _import(alias.name, node, module, found):
                        _check_alias(alias, ("importlib", "sys"), node, module, found)
            case ast.ImportFrom():
                _import_from(node, module, found)
            case ast.Call():
                _call(node, module, found, allowed)
            case ast.Attribute():
                _attribute(node, module, found, allowed, is_foreign=roots[id(node)] in foreign)
            case ast.Name():
                _name(node, module, found, allowed)
            case ast.Constant(value=str(text)) if id(node) not in passed:
                _string(text, node, module, found)
            case ast.BinOp(op=ast.Add()) if id(node) not in passed:
                _string(joined(node, passed), node, module, found)
    return found


def _with_packages(name: str, modules: Modules) -> Iterator[Module]:
    """A module and the packages around it, which are imported first."""
    parts = name.split(".") if name else []
    for depth in range(len(parts) + 1):
        module = modules.by_name.get(".".join(parts[:depth]))
        if module is not None:
            yield module


def _import(name: str, node: ast.stmt | ast.expr, module: Module, found: _Imported) -> bool:
    """Follow an absolute import; whether it is known."""
    top = name.partition(".")[0]
    if found.modules.has(top):
        if found.modules.has(name):
            found.names[name] = None
            return True
        hint = did_you_mean(name, found.modules.by_name)
        found.diagnostics.append(Diagnostic("M164", f"there is no module {name!r} below udf/", module.at(node), hint))
        return False
    if name in LOADERS or top in LOADERS:
        _refuse(f"{name} imports a module that only a run can determine", node, module, found)
        return False
    if top in sys.stdlib_module_names or _distribution(_DISTRIBUTIONS.get(top, top)) in found.distributions:
        return True
    wanted = _DISTRIBUTIONS.get(top, top)
    hint = did_you_mean(top, chain(found.modules.by_name, found.modules.packages))
    hint = hint or f"declare it: spec.functions.<name>.requirements: [{wanted}==VERSION]"
    found.diagnostics.append(Diagnostic("M164", f"unknown module {top!r}", module.at(node), hint))
    return False


def _import_from(node: ast.ImportFrom, module: Module, found: _Imported) -> None:
    if node.level == 0:
        base = node.module or ""
        for alias in node.names:
            is_own = found.modules.has(base.partition(".")[0])
            if not is_own and (f"{base}.{alias.name}" in LOADERS or not may_be_taken(base, alias.name)):
                _refuse(f"{base}.{alias.name} gives access to values that only a run can determine", node, module, found)
                return
            _check_alias(alias, (IMPORT_BY_NAME,), node, module, found)
        if not _import(base, node, module, found) or not found.modules.has(base.partition(".")[0]):
            return
    else:
        around = module.package.split(".") if module.package else []
        if node.level - 1 > len(around):
            found.diagnostics.append(Diagnostic("M164", "a relative import leads out of udf/", module.at(node)))
            return
        base = ".".join([*around[: len(around) - node.level + 1], *(node.module.split(".") if node.module else [])])
        if base and not found.modules.has(base):
            hint = did_you_mean(base, found.modules.by_name)
            found.diagnostics.append(Diagnostic("M164", f"there is no module {base!r} below udf/", module.at(node), hint))
            return
        found.names[base] = None
    _members(base, node, module, found)


def _members(base: str, node: ast.ImportFrom, module: Module, found: _Imported) -> None:
    """What is imported of a module of the folder: a name of its own, or a module below it."""
    owner = found.modules.by_name.get(base)
    if owner is not None and not owner.is_package:
        return
    prefix = f"{base}." if base else ""
    for alias in node.names:
        name = prefix + alias.name
        if alias.name == "*":
            # Which modules `__all__` names is for a run to tell: take all.
            for other in sorted(found.modules.by_name):
                if other.startswith(prefix) and other != base and "." not in other.removeprefix(prefix):
                    found.names[other] = None
        elif found.modules.has(name):
            found.names[name] = None
        elif owner is None:
            hint = did_you_mean(name, found.modules.by_name)
            found.diagnostics.append(Diagnostic("M164", f"there is no module {name!r} below udf/", module.at(node), hint))


def _check_alias(alias: ast.alias, names: tuple[str, ...], node: ast.stmt, module: Module, found: _Imported) -> None:
    """Refuse another name for what is followed by its name."""
    if alias.name in names and alias.asname not in (None, alias.name):
        _refuse(f"{alias.name} gets another name here, which can't be traced", node, module, found)


def _call(node: ast.Call, module: Module, found: _Imported, allowed: set[int]) -> None:
    match node.func:
        case ast.Name(id=name) if name == IMPORT_BY_NAME:
            allowed.add(id(node.func))
            _import_by_name(node, module, found)
        case ast.Attribute(attr=name) if name == IMPORT_BY_NAME:
            allowed.add(id(node.func))
            _import_by_name(node, module, found)
        case ast.Name(id="getattr" | "hasattr" | "setattr"):
            for argument in node.args[1:2]:
                if isinstance(argument, ast.Constant) and argument.value in RUN_TEXT | WAYS_ROUND | {IMPORT_BY_NAME}:
                    _refuse(f"{argument.value} gives access to values that only a run can determine", node, module, found)


def _import_by_name(node: ast.Call, module: Module, found: _Imported) -> None:
    argument = node.args[0] if len(node.args) == 1 and not node.keywords else None
    if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
        _refuse("import_module imports a module that only a run can determine", node, module, found)
    elif argument.value.startswith(".") or found.modules.has(argument.value.partition(".")[0]):
        _refuse("import_module does not find modules of udf/", node, module, found)
    else:
        _import(argument.value, node, module, found)


def _string(text: str, node: ast.expr, module: Module, found: _Imported) -> None:
    way = IN_STRINGS.search(text)
    if way is not None:
        _refuse(
            f"{way.group()} gives access to values that only a run can determine, also within a string", node, module, found
        )


def _attribute(node: ast.Attribute, module: Module, found: _Imported, allowed: set[int], *, is_foreign: bool) -> None:
    owner = node.value.id if isinstance(node.value, ast.Name) else None
    if owner in ("importlib", "sys"):
        allowed.add(id(node.value))
        is_safe = may_be_taken(owner, node.attr)
    elif is_foreign:
        is_safe = may_be_taken("", node.attr)
    else:
        is_safe = node.attr not in HELD | ENTRY_POINTS
    if node.attr in WAYS_ROUND or not is_safe or (node.attr == IMPORT_BY_NAME and id(node) not in allowed):
        _refuse(f"{as_written(node)} gives access to values that only a run can determine", node, module, found)


def _name(node: ast.Name, module: Module, found: _Imported, allowed: set[int]) -> None:
    if id(node) in allowed or isinstance(node.ctx, ast.Store):
        return
    if node.id in RUN_TEXT or node.id in (IMPORT_BY_NAME, "importlib", "sys"):
        _refuse(f"{node.id} may import a module that only a run can determine", node, module, found)


def _refuse(message: str, node: ast.stmt | ast.expr, module: Module, found: _Imported) -> None:
    hint = "write an import statement, so that reconciler sees changes of the imported module"
    found.diagnostics.append(Diagnostic("M165", message, module.at(node), hint))


def _distribution(name: str) -> str:
    """A distribution's name as compared: letter case, `-`, `_` and `.` tell none apart."""
    return name.strip().lower().replace("_", "-").replace(".", "-")
