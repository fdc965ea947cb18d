"""A function in Python where it runs: on an executor, from the sources that came with the job.

This module goes to executors by value, and needs nothing but Python's standard library. Rules:
- The modules of a function live under a package whose name is a digest of their texts. So two versions of one module, or
  modules of one name of two pipelines, never meet, and equal ones are loaded once a process.
- In these modules, and in them only, an absolute import finds modules of the folder first. All others import as ever.
- Values are what their declared types say. Spark would silently make NULL of a returned value of another type; here it is an
  error, but for what is surely meant: an int for a DECIMAL or DOUBLE, a value with fewer digits, a tuple for an ARRAY.
- TIMESTAMP comes and goes with time zone UTC; one that is returned without a zone is taken to be UTC.
- Whatever goes wrong arrives as one line with the function's name, what Python says, and the file and line of the folder.
- A function that gives NULL where it fails does so for what one call brings about: what its code raises, a value that it
  returned, a NULL that it was given. That it can't be loaded, or that memory ran out, fails as ever.
"""

import builtins
import datetime
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import re
import sys
import time
import types
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, NamedTuple

Form = tuple[Any, ...]
"""A type: its kind, then what it consists of."""

_MARKED = "reconcile:X708@"
_LONGEST_TOLD = 300
_PACKAGE = re.compile(r"reconcile_udf_[0-9a-f]{24}\.?")


class FunctionFailed(Exception):
    """The one thing that is raised here."""


class CallFailed(FunctionFailed):
    """One call failed; others may not."""


class SumOfFailures:
    """How failed calls are added up, for an accumulator of Spark: by (computation, function) how many there were and what
    the first said."""

    def zero(self, value: Any) -> dict[tuple[str, str], tuple[int, str]]:
        return {}

    def addInPlace(self, into: Any, more: Any) -> Any:  # noqa: N802 (the name that Spark calls)
        for key, (count, first) in more.items():
            known = into.get(key)
            into[key] = (count, first) if known is None else (known[0] + count, known[1])
        return into


class Code(NamedTuple):
    """The module that declares a function, the texts of all files of its folder, and the packages that they need."""

    module: str
    sources: Mapping[str, str]
    requirements: Sequence[str] = ()


class PythonFunction:
    """A function with its sources; `call` is what Spark calls. It is loaded by its first call. `failures`: where calls that
    fail are counted, and for which computation; None: they fail."""

    def __init__(
        self,
        name: str,
        code: Code,
        parameters: Sequence[tuple[str, Form, bool]],
        returns: tuple[Form, str, bool],
        failures: tuple[Any, str] | None = None,
    ) -> None:
        self.name = name
        self.module = code.module
        self.sources = dict(code.sources)
        self.requirements = tuple(code.requirements)
        self.parameters = tuple(parameters)
        self.returns = returns
        self.failures = failures
        self.function: Callable[..., Any] | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        # On arrival, before any value is read: Spark makes timestamps in the process's own zone.
        self.__dict__.update(state)
        os.environ["TZ"] = "UTC"
        if hasattr(time, "tzset"):
            time.tzset()

    def call(self, *arguments: Any) -> Any:
        one_call_failed = False
        try:
            if self.function is None:
                _require(self.requirements)
                self.function = getattr(_loaded(self.module, self.sources), self.name)
            given = [self._received(one, value) for one, value in zip(self.parameters, arguments, strict=True)]
            one_call_failed = True
            value = self.function(*given)
            return self._returned(value)
        except FunctionFailed as error:
            one_call_failed = isinstance(error, CallFailed)
            text = f"function {self.name}: {error}"
        except Exception as error:
            one_call_failed = one_call_failed and not isinstance(error, MemoryError)
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            text = f"function {self.name}: {said}{_place(error)}"
        text = " ".join(_PACKAGE.sub("", text).split())
        if self.failures is None or not one_call_failed:
            raise FunctionFailed(f"{_MARKED}{self.name}: {text}")
        counted, computation = self.failures
        counted.add({(computation, self.name): (1, text[:_LONGEST_TOLD])})
        return None

    def _received(self, parameter: tuple[str, Form, bool], value: Any) -> Any:
        name, form, nullable = parameter
        if value is None and not nullable:
            raise CallFailed(f"parameter {name} is NOT NULL, but got NULL")
        return received(value, form)

    def _returned(self, value: Any) -> Any:
        form, written, nullable = self.returns
        if value is None:
            if not nullable:
                raise CallFailed("it is declared NOT NULL, but returned None")
            return None
        try:
            return returned(value, form)
        except (TypeError, ValueError, ArithmeticError):
            shown = repr(value)
            shown = shown if len(shown) <= 60 else shown[:60] + "…"
            raise CallFailed(f"it is declared {written}, but returned {type(value).__name__} {shown}") from None


def received(value: Any, form: Form) -> Any:
    """An argument as functions get it."""
    if value is None:
        return None
    match form:
        case ("timestamp",):
            return value.replace(tzinfo=datetime.UTC)
        case ("array", inner):
            return [received(one, inner) for one in value]
        case ("map", key, inner):
            return {received(one, key): received(other, inner) for one, other in value.items()}
        case ("struct", *parts):
            return {name: received(one, inner) for (name, inner), one in zip(parts, value, strict=True)}
    return value


def returned(value: Any, form: Form) -> Any:
    """What a function gave as Spark takes it. Raises TypeError, ValueError or ArithmeticError when it does not fit."""
    if value is None:
        return None
    if not isinstance(value, bool | int | float | str | bytes) and hasattr(value, "item") and not hasattr(value, "items"):
        value = value.item()  # a number of numpy
    match form:
        case ("integer", width):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError
            if not -(2 ** (width - 1)) <= value < 2 ** (width - 1):
                raise ValueError
            return value
        case ("float",):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError
            return float(value)
        case ("decimal", precision, scale):
            return _decimal(value, precision, scale)
        case ("timestamp",):
            if not isinstance(value, datetime.datetime):
                raise TypeError
            return value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
        case ("array", inner):
            if not isinstance(value, list | tuple):
                raise TypeError
            return [returned(one, inner) for one in value]
        case ("map", key, inner):
            if not isinstance(value, dict):
                raise TypeError
            return {returned(one, key): returned(other, inner) for one, other in value.items()}
        case ("struct", *parts):
            return _struct(value, parts)
        case (kind,):
            return _plain(value, kind)
    raise TypeError


def _plain(value: Any, kind: str) -> Any:
    expected: dict[str, type | tuple[type, ...]] = {
        "boolean": bool,
        "string": str,
        "date": datetime.date,
        "timestamp_ntz": datetime.datetime,
        "binary": (bytes, bytearray),
    }
    if not isinstance(value, expected[kind]) or (kind == "date" and isinstance(value, datetime.datetime)):
        raise TypeError
    if kind == "timestamp_ntz" and isinstance(value, datetime.datetime) and value.tzinfo is not None:
        raise TypeError
    return value


def _decimal(value: Any, precision: int, scale: int) -> Decimal:
    """The value with the digits after the point that the type has, rounded as Spark's casts do."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise TypeError
    number = Decimal(value)
    if not number.is_finite():
        raise ValueError
    fitted = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, Context(prec=80))
    if abs(fitted) >= Decimal(10) ** (precision - scale):
        raise ValueError
    return fitted


def _struct(value: Any, parts: Sequence[tuple[str, Form]]) -> tuple[Any, ...]:
    """A mapping by the names of the fields, all of them and no others; or a sequence of as many values."""
    if isinstance(value, dict):
        if set(value) != {name for name, _ in parts}:
            raise ValueError
        return tuple(returned(value[name], form) for name, form in parts)
    if not isinstance(value, tuple | list) or len(value) != len(parts):
        raise TypeError
    return tuple(returned(one, form) for one, (_, form) in zip(value, parts, strict=True))


def _require(requirements: Sequence[str]) -> None:
    for requirement in requirements:
        name, _, wanted = requirement.partition("==")
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            raise FunctionFailed(f"it needs {requirement}, which is not installed where Spark runs it") from None
        if _release(found) != _release(wanted):
            raise FunctionFailed(f"it needs {requirement}, but {found} is installed where Spark runs it")


def _release(version: str) -> str:
    """A version as compared: 2.1 is 2.1.0, and what a distributor added does not count."""
    text = version.partition("+")[0]
    while text.endswith(".0"):
        text = text[:-2]
    return text


def _place(error: BaseException) -> str:
    """The innermost line of the folder's files that the error passed through."""
    found = ""
    if isinstance(error, SyntaxError) and str(error.filename or "").startswith("udf/"):
        return f" ({error.filename}, line {error.lineno})"
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith("udf/"):
            found = f" ({file}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return found


def _loaded(module: str, sources: Mapping[str, str]) -> types.ModuleType:
    """The module, made from the sources unless this process has made it already."""
    digest = hashlib.sha256()
    for path, text in sorted(sources.items()):
        for part in (path, text):
            digest.update(len(part.encode()).to_bytes(8, "big") + part.encode())
    package = f"reconcile_udf_{digest.hexdigest()[:24]}"
    if not any(getattr(finder, "package", None) == package for finder in sys.meta_path):
        sys.meta_path.insert(0, Sources(package, sources))
    return importlib.import_module(f"{package}.{module}" if module else package)


class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and runs the modules of one function's folder, all below `package`."""

    def __init__(self, package: str, sources: Mapping[str, str]) -> None:
        self.package = package
        self.sources = dict(sources)
        self.tops = {path.partition("/")[0].removesuffix(".py") for path in sources} - {"__init__"}
        self.builtins = {**vars(builtins), "__import__": self.imported}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.package and not fullname.startswith(f"{self.package}."):
            return None
        file, is_package = self._file(fullname)
        if file is None and not is_package:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=file, is_package=is_package)

    def _file(self, fullname: str) -> tuple[str | None, bool]:
        """The path of a module's source, if it has one, and whether other modules lie below it."""
        stem = fullname[len(self.package) + 1 :].replace(".", "/")
        initial = f"{stem}/__init__.py" if stem else "__init__.py"
        if initial in self.sources:
            return initial, True
        if stem and f"{stem}.py" in self.sources:
            return f"{stem}.py", False
        return None, any(path.startswith(f"{stem}/" if stem else "") for path in self.sources)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__["__builtins__"] = self.builtins
        file, _ = self._file(module.__name__)
        if file is not None:
            exec(compile(self.sources[file], f"udf/{file}", "exec"), module.__dict__)

    def imported(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        """What an import statement of these modules does."""
        top = name.partition(".")[0]
        if level or top not in self.tops:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        if fromlist:
            return builtins.__import__(f"{self.package}.{name}", globals, locals, fromlist, 0)
        importlib.import_module(f"{self.package}.{name}")
        return sys.modules[f"{self.package}.{top}"]
