"""By which names a Python text gets at what only a run can tell: what imports or runs text, and what leads there.

Names only: `manifest.modules` goes through the nodes of a parsed text, from the outermost inward, and refuses them. A
library is whatever does not belong to the pipeline's folder.
"""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

RUN_TEXT: Final = frozenset(
    {"__import__", "exec", "eval", "compile", "__builtins__", "__loader__", "__spec__", "globals", "locals", "vars"}
)
# Attributes by which any object leads to what imports.
WAYS_ROUND: Final = frozenset(
    {
        *("__import__", "__builtins__", "__globals__", "__subclasses__", "__loader__", "__spec__", "__getattribute__"),
        *("__self__", "__code__", "f_back", "f_builtins", "f_globals", "f_locals"),
        *("ag_frame", "cr_frame", "gi_frame", "tb_frame"),
    }
)
# The same within a string, which `operator.attrgetter`, `format` or an annotation may read.
IN_STRINGS: Final = re.compile("|".join(sorted(name for name in WAYS_ROUND if name.startswith("__"))))
# What modules of the library hold of others, by the names that they give them: nothing else is called so.
HELD: Final = frozenset({"bltns", "builtins", "importlib", "sys"})
ENTRY_POINTS: Final = frozenset({"EntryPoint", "EntryPoints", "entry_points"})
IMPORT_BY_NAME: Final = "import_module"
# Of these modules only some attributes are safe, or all but some: so they may only be named before a point.
_SAFE_OF_IMPORTLIB: Final = frozenset({IMPORT_BY_NAME, "metadata", "resources"})
_UNSAFE_OF_SYS: Final = frozenset({"modules", "path", "meta_path", "path_hooks", "path_importer_cache", "_getframe"})
LOADERS: Final = frozenset(
    {
        *(
            "_frozen_importlib",
            "_frozen_importlib_external",
            "_imp",
            "bdb",
            "builtins",
            "cProfile",
            "code",
            "codeop",
            "ctypes",
            "doctest",
            "gc",
        ),
        *(
            "imp",
            "importlib.abc",
            "importlib.machinery",
            "importlib.util",
            "logging.config",
            "pdb",
            "pkg_resources",
            "pkgutil",
        ),
        *("marshal", "profile", "pydoc", "runpy", "site", "timeit", "trace", "unittest", "zipimport"),
    }
)

_SHOWN: Final = 5


def may_be_taken(base: str, name: str) -> bool:
    """Whether `from base import name` gives nothing that imports or runs text by another name."""
    match base:
        case "importlib":
            return name in _SAFE_OF_IMPORTLIB
        case "sys":
            return name not in _UNSAFE_OF_SYS and name != "*"
        case _:
            is_private = name.startswith("_") and not name.endswith("__")
            return not (is_private or name in HELD | LOADERS | ENTRY_POINTS)


def foreign_names(nodes: Iterable[ast.AST], is_own: Callable[[str], bool]) -> frozenset[str]:
    """The names by which a text has what belongs to libraries. `is_own`: whether a module at the top is the folder's."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            tops = {alias: alias.name.partition(".")[0] for alias in node.names}
            names |= {alias.asname or top for alias, top in tops.items() if not is_own(top)}
        elif isinstance(node, ast.ImportFrom) and not node.level and not is_own((node.module or "").partition(".")[0]):
            names |= {alias.asname or alias.name for alias in node.names}
    return frozenset(names)


def standing_alone(nodes: Iterable[ast.AST]) -> frozenset[int]:
    """The strings that stand for themselves, which nobody reads but people."""
    return frozenset(id(node.value) for node in nodes if isinstance(node, ast.Expr))


def joined(node: ast.BinOp, seen: set[int]) -> str:
    """Strings that are written with + between them, as one; empty where there is anything else. The sums within it are added
    to `seen`: whoever walks on leaves them out."""
    parts: list[str] = []
    waiting: list[ast.expr] = [node]
    while waiting:
        match waiting.pop():
            case ast.BinOp(op=ast.Add(), left=left, right=right) as within:
                seen.add(id(within))
                waiting += [right, left]
            case ast.Constant(value=str(text)):
                parts.append(text)
            case _:
                return ""
    return "".join(parts)


def roots_of(nodes: Iterable[ast.AST]) -> Mapping[int, str | None]:
    """The name that each attribute's chain begins with, by the node's id; None where it begins with no name. The outermost
    of a chain comes first, so that each chain is gone through once."""
    roots: dict[int, str | None] = {}
    for node in nodes:
        if not isinstance(node, ast.Attribute) or id(node) in roots:
            continue
        chain: list[int] = []
        value: ast.expr = node
        while isinstance(value, ast.Attribute):
            chain.append(id(value))
            value = value.value
        roots.update(dict.fromkeys(chain, value.id if isinstance(value, ast.Name) else None))
    return roots


def as_written(node: ast.Attribute) -> str:
    """An attribute with what stands before its points, as far as that is short and names only."""
    parts: list[str] = []
    value: ast.expr = node
    while isinstance(value, ast.Attribute) and len(parts) < _SHOWN:
        parts.append(value.attr)
        value = value.value
    parts.append(value.id if isinstance(value, ast.Name) else "…")
    return ".".join(reversed(parts))
