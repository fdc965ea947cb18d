"""What of Python files is their meaning: their text, or only what Python does with it.

A comment, a docstring and the number of a line are values for code that looks for them: by a traceback, `__doc__`, a frame,
a source file. What people write for functions does no such thing, and a comment in it need compute nothing again. So files
are compared as Python understands them where they surely can't see their own text, all of one function together: who imports
a file may look at it. Everything else is compared as it is written, but for the signs that end lines.

Sure is what is listed, never what is merely not known to be wrong:
- only modules of a list are imported, and files of the pipeline; of the modules no other modules that they hold;
- no name with underscores on both sides, but for methods that see no text; none in a string either, nor a string that is
  made into a format: those reach attributes by name;
- nothing that has attributes by a name, lists names, runs text, makes classes or reads files; no attributes of frames,
  tracebacks, code and generators;
- classes extend a few plain ones only: a class of classes is handed the docstrings of those it makes.
"""

import ast
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from string import Formatter
from typing import Final

_MODULES_LIST: Final = (
    "__future__ array base64 binascii bisect calendar cmath collections collections.abc copy dataclasses datetime "
    "decimal enum fractions functools hashlib heapq hmac html ipaddress itertools json math numbers operator random "
    "re secrets statistics string struct textwrap time typing unicodedata urllib.parse uuid zlib zoneinfo numpy "
    "pandas pyarrow pyarrow.compute"
)
_MODULES: Final = frozenset(_MODULES_LIST.split())
# Names of modules that people give to other things, too; these modules show no text.
_HARMLESS_AS_ATTRIBUTES: Final = frozenset({"array", "code", "copy", "dataclasses", "select", "string", "time"})
_MODULES_HELD: Final = (
    sys.stdlib_module_names
    - {module.partition(".")[0] for module in _MODULES if not module.startswith("urllib")}
    - _HARMLESS_AS_ATTRIBUTES
)
_TELLING_LIST: Final = (
    # Attributes by name, names, and what runs text.
    "attrgetter breakpoint compile delattr dir eval exec getattr globals hasattr help locals methodcaller query "
    "setattr vars "
    # What reads attributes by the names in a format, or evaluates annotations.
    "evaluate_forward_ref format_map Formatter ForwardRef get_field get_type_hints register singledispatch "
    "singledispatchmethod vformat WRAPPER_ASSIGNMENTS WRAPPER_UPDATES "
    # What makes classes, and so has their docstrings.
    "ABCMeta EnumMeta EnumType make_dataclass new_class "
    # What reads files, and the parts of large libraries that hold other modules or show text.
    "compat core ctypeslib DataSource f2py file_digest fromfile fromregex fs genfromtxt info input_stream lib "
    "load loadtxt lookfor memmap memory_map open OSFile source testing util with_traceback "
    # What copies attributes by their names.
    "update_wrapper wraps"
)
_TELLING: Final = frozenset(_TELLING_LIST.split())
_TELLING_BEGIN: Final = re.compile(r"(tb|f|co|gi|cr|ag)_|read_|open_")
_DUNDER: Final = re.compile(r"__.*__")
_METHODS_LIST: Final = (
    "__abs__ __add__ __and__ __bool__ __call__ __contains__ __divmod__ __enter__ __eq__ __exit__ __float__ "
    "__floordiv__ __ge__ __getitem__ __gt__ __hash__ __iadd__ __init__ __int__ __invert__ __iter__ __le__ __len__ "
    "__lt__ __missing__ __mod__ __mul__ __ne__ __neg__ __next__ __or__ __pos__ __post_init__ __pow__ __radd__ "
    "__repr__ __reversed__ __rmul__ __round__ __rsub__ __rtruediv__ __setitem__ __str__ __sub__ __truediv__ __xor__"
)
_METHODS: Final = frozenset(_METHODS_LIST.split())
# What may be extended: under these names nothing else may stand.
_BASES_LIST: Final = (
    "ArithmeticError Enum Exception Flag IntEnum IntFlag KeyError LookupError NamedTuple RuntimeError StrEnum "
    "TypeError TypedDict ValueError bytes dict float frozenset int list object set str tuple"
)
_BASES: Final = frozenset(_BASES_LIST.split())
_NAMES: Final = frozenset({"__future__", "__main__", "__name__"})


def python_meaning(sources: Mapping[str, str]) -> dict[str, str]:
    """For each file of a function, by its path, a text that is equal for files that mean the same. The running Python writes
    it, for both sides of a comparison; it is never stored."""
    own = frozenset(path.removesuffix(".py").partition("/")[0] for path in sources)
    imported = [_imported_by_the_blind(text) for text in sources.values()]
    if all(names is not None and names <= own for names in imported):
        return {path: _understood(text) for path, text in sorted(sources.items())}
    return {path: text.replace("\r\n", "\n").replace("\r", "\n") for path, text in sorted(sources.items())}


@lru_cache(maxsize=1024)
def _understood(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            _drop_docstring(node)
    return ast.dump(tree)


def _drop_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    match node.body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            node.body = rest


@lru_cache(maxsize=1024)
def _imported_by_the_blind(text: str) -> frozenset[str] | None:
    """What a file imports that has to be of the pipeline, by the first part of its name, where it surely sees no text of its
    own then, and can be written out as Python understands it; else None."""
    try:
        tree = ast.parse(text)
        ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # Applied by a newer Python, perhaps. ValueError: Python reads a number of 5,000 hexadecimal digits, and does not
        # write it.
        return None
    nodes = list(ast.walk(tree))
    # Strings that stand for themselves are read by nobody; of a format that is written out its names are seen; of what is
    # called `type` with one argument tells a class and makes none.
    passed = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format") as function):
                if _is_plain_format(text):
                    passed.add(id(function))
            case ast.Call(func=ast.Name(id="type") as function, args=[one], keywords=[]) if not isinstance(one, ast.Starred):
                passed.add(id(function))
    if any(_may_see(node, passed) for node in nodes):
        return None
    return frozenset(module.partition(".")[0] for node in nodes for module in _unlisted(node))


def _unlisted(node: ast.AST) -> list[str]:
    """The modules that a node imports by their whole names, and that are not listed."""
    match node:
        case ast.Import(names=names):
            return [one.name for one in names if one.name not in _MODULES]
        case ast.ImportFrom(level=0, module=str(module), names=names) if module not in _MODULES:
            return [module for one in names if f"{module}.{one.name}" not in _MODULES]
        case _:
            return []


def _is_plain_format(text: str) -> bool:
    """Whether a format has no attributes of what it writes."""
    try:
        fields = list(Formatter().parse(text))
    except ValueError:
        return False
    return not any("." in (name or "") or "{" in (form or "") for _, name, form, _ in fields)


def _may_see(node: ast.AST, passed: set[int]) -> bool:
    match node:
        case ast.ImportFrom(level=0, module=str(module), names=names) if module in _MODULES:
            return any(one.name == "*" or _shows(one.name) or one.name.lstrip("_") in _MODULES_HELD for one in names)
        case ast.ImportFrom(names=names):
            # A star may bring any name.
            return any(one.name == "*" or _shows(one.name) or (one.asname or one.name) in _BASES for one in names)
        case ast.Name(id=name, ctx=context):
            is_bound = name in _BASES and not isinstance(context, ast.Load)
            return is_bound or _tells(name) or (name == "type" and id(node) not in passed)
        case ast.Attribute(attr=name, ctx=context):
            is_bound = name in _BASES and not isinstance(context, ast.Load)
            is_held = name.lstrip("_") in _MODULES_HELD or name in _MODULES_HELD
            return is_bound or is_held or _shows(name) or (name == "format" and id(node) not in passed)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return _tells(name) or name in _BASES
        case ast.ClassDef(name=name, bases=bases, keywords=keywords):
            is_plain = all(isinstance(base, ast.Name) and base.id in _BASES for base in bases)
            return bool(keywords) or not is_plain or _tells(name) or name in _BASES
        case ast.MatchClass(kwd_attrs=names):
            return any(_shows(one) for one in names)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return name in _BASES
        case ast.arg(arg=name) | ast.alias(asname=str(name)):
            return _DUNDER.fullmatch(name) is not None or name in _BASES
        case ast.keyword(arg=str(name)):
            return _DUNDER.fullmatch(name) is not None
        case ast.Constant(value=str(text)):
            return "__" in text and text not in _NAMES and id(node) not in passed
        case _:
            return False


def _tells(name: str) -> bool:
    if _DUNDER.fullmatch(name):
        return name not in _METHODS | _NAMES
    return name in _TELLING


def _shows(name: str) -> bool:
    """Whether an attribute, or what is imported under that name, may show a text."""
    return _tells(name) or _TELLING_BEGIN.match(name) is not None
