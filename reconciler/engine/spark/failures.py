"""Spark's exceptions as EngineErrors: one line that says what is wrong, with Spark's error class, without Java's stack.

Spark wraps the reason of a failure in its circumstances (job aborted, task failed, file read failed), each an exception of
its own. The message is made from the innermost one that has an error class, since that is what the user can do something
about. Checks that this project builds into its own expressions raise with a marker in front; they keep their own code.
"""

import errno
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException

from reconciler.base.errors import Declared, EngineError, ReconcileError
from reconciler.base.secrets.known_values import without_secrets

_MARKER = "reconcile:"
# After the code, the function of the pipeline that it is about, if there is one.
_CODE = r"(X\d\d\d)(?:@(\w+))?"
_OWN = re.compile(rf"^(?:\[USER_RAISED_EXCEPTION\] )?{_MARKER}{_CODE}: (.*)", re.DOTALL)
_RAISED_IN_PYTHON = re.compile(rf"^[\w.]+: {_MARKER}{_CODE}: (.*)$", re.MULTILINE)
_FILE = re.compile(r"(?:Encountered error while reading file|CSV file:) (\S+?)\.?(?:\s|$)")
_LOCAL_FILE = re.compile(r"\bfile:(?://)?(/\S*)")
# What the system says of a disk that is full, and the exceptions of Java that hand it on.
_NO_ROOM = re.compile(r"No space left on device|File too large|Disk quota exceeded")
_OF_THE_SYSTEM = ("java.io.IOException", "java.nio.file.FileSystemException", "org.apache.hadoop.fs.FSError")
_FULL_DISK = "_FULL_DISK"
# What our log store says around what the disk says.
_NEEDS_LINKS = re.compile(r"a commit needs a hard link, .*", re.DOTALL)
_NO_LINKS = "_NO_LINKS"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SQL_STATE = re.compile(r" SQLSTATE: \w+")
_LONGEST = 600

# What py4j raises when the JVM does not answer any more: killed, out of memory, exited.
JVM_GONE = (Py4JError, ConnectionError, EOFError)

# Spark's error class → our code, where the general ones (X700 failed, X703 refused) would say too little.
_CODES = {
    _FULL_DISK: "X709",
    "DELTA_NOT_NULL_CONSTRAINT_VIOLATED": "X713",
    "KAFKA_DATA_LOSS": "X742",
    "DELTA_TABLE_NOT_FOUND": "X721",
    "DELTA_MISSING_DELTA_TABLE": "X721",
    "DELTA_PATH_DOES_NOT_EXIST": "X721",
    "DELTA_VERSION_NOT_FOUND": "X730",
    "DELTA_VERSION_INVALID": "X730",
    "DELTA_LOG_FILE_NOT_FOUND": "X730",
    "DELTA_FILE_NOT_FOUND_DETAILED": "X730",
}
# What a file or record of a connector is. Where a query computes the same, it is a failure of the query (X700).
_CODES_OF_CONNECTORS = {
    "MALFORMED_CSV_RECORD": "X714",
    "_LEGACY_ERROR_TEMP_3241": "X714",
    "MALFORMED_RECORD_IN_PARSING": "X714",
    "CANNOT_READ_FILE_FOOTER": "X714",
    "FAILED_READ_FILE": "X714",
    "INVALID_VARIANT_CAST": "X712",
}
_IF_DETERMINISTIC = "if the function is deterministic, declare that: spec.functions.<name>.deterministic"
_HINTS = {
    _FULL_DISK: "free space for the warehouse and Spark's temporary files; nothing was published",
    _NO_LINKS: "use a disk that supports hard links, or set your own log store: spark.delta.logStore.file.impl",
    "X730": "that version no longer exists: a vacuum or a log clean-up deleted a version that is still in use",
    "UNSUPPORTED_SQL_UDF_USAGE": "call the function in the select list of a subquery, and use its result column",
    "UNSUPPORTED_FEATURE.LAMBDA_FUNCTION_WITH_SQL_UDF": "a lambda can't call functions of the pipeline: explode the array "
    "instead",
    "INVALID_NON_DETERMINISTIC_EXPRESSIONS": _IF_DETERMINISTIC,
    "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION": _IF_DETERMINISTIC,
    "INVALID_AGGREGATE_FILTER.NON_DETERMINISTIC": _IF_DETERMINISTIC,
}
_MAY_NOT = "let the user of this process read that place and, for an output, write to it"
_LOOK_THERE = "check and repair that place, or give the connector another one"
_HINTS_OF_THE_SYSTEM = {
    errno.ENOTDIR: "there is a file where a folder should be: move the file away, or give the connector another place",
    errno.EISDIR: "there is a folder where a file should be: move the folder away, or give the connector another place",
    errno.ELOOP: "the links on that path form a cycle: correct them, or give the connector another place",
    errno.ENAMETOOLONG: "give the connector a place with a shorter name",
    errno.EACCES: _MAY_NOT,
    errno.EPERM: _MAY_NOT,
}
# What gives NULL in a query, by the class of what stops it.
_HINTS_OF_QUERIES = {
    "MALFORMED_RECORD_IN_PARSING": "parse_json fails for a text that is not JSON; try_parse_json gives NULL",
    "INVALID_VARIANT_CAST": "a cast of a VARIANT fails for a value of another type; try_variant_get(column, '$.field', "
    "'type') gives NULL",
    "CAST_INVALID_INPUT": "a cast fails for a value that does not fit the type; try_cast gives NULL",
    "CAST_OVERFLOW": "a cast fails for a number that is too large; try_cast gives NULL",
    "NUMERIC_VALUE_OUT_OF_RANGE": "a number is too large for its type; try_cast gives NULL",
    "DIVIDE_BY_ZERO": "try_divide gives NULL where it would divide by zero",
    "ARITHMETIC_OVERFLOW": "try_add, try_subtract and try_multiply give NULL where a number becomes too large",
    "CANNOT_PARSE_TIMESTAMP": "try_to_timestamp gives NULL for a text that is not a time",
    "INVALID_ARRAY_INDEX": "get(array, index) gives NULL beyond the end",
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT": "try_element_at gives NULL beyond the end",
}


def marked(code: str, message: str, function: str | None = None) -> str:
    """The text that an expression raises (`raise_error`) so that it arrives as this code with this message. `function`: of
    the pipeline, that it is about."""
    return f"{_MARKER}{code}{'' if function is None else f'@{function}'}: {message}"


def raised(problem: str) -> str:
    """An expression of SQL that raises what the expression `problem` gives (`X712: a value …`): it arrives with its code."""
    return f"raise_error(concat('{_MARKER}', {problem}))"


def refusal(code: str, message: str) -> AnalysisException:
    """An exception like Spark's that arrives as this code with this message."""
    return AnalysisException(marked(code, message))


@contextmanager
def translated(doing: str, about: Declared | None = None, *, of_connector: bool = False) -> Iterator[None]:
    """Whatever Spark raises inside becomes an EngineError whose message starts with `doing`, and which is about `about`.
    `of_connector`: what is read are files and records of a connector, and not what a query computes. Then what the system
    refuses there, whatever it was asked, becomes one, too: it is the failure of this connector alone."""
    try:
        yield
    except EngineError as error:
        error.about = error.about or about
        raise
    except ReconcileError:
        raise
    except (PySparkException, Py4JJavaError) as error:
        if _wraps_the_end(error):
            raise _ended(f"{doing}: ") from error
        found = _as_engine_error(doing, error, of_connector)
        found.about = found.about or about
        raise found from error
    except JVM_GONE as error:
        if _was_answered(error):
            raise
        raise _ended(f"{doing}: ") from error
    except OSError as error:
        if not of_connector:
            raise
        raise _refused_by_system(doing, error) from error
    except ValueError as error:
        told = _malformed(doing, error) if of_connector else None
        if told is None:
            raise
        raise told from error


def _malformed(doing: str, error: ValueError) -> EngineError | None:
    """The error where what a connector reads, or its address, holds signs that nothing may hold."""
    if isinstance(error, UnicodeDecodeError | json.JSONDecodeError):
        return EngineError("X714", _readable(without_secrets(f"{doing}: one of its files is malformed: {error}")))
    if "null byte" in str(error) or "null character" in str(error):
        return EngineError(
            "X757", f"{doing}: its address contains the character NUL", "a path can't contain it: correct the address"
        )
    return None


def _refused_by_system(doing: str, error: OSError) -> EngineError:
    """The error for what the system says of a place of a connector."""
    place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    said = error.strerror or str(error) or type(error).__name__
    message = _readable(without_secrets(f"{doing}: {place}{said}"))
    if error.errno in _FULL:
        return EngineError("X709", message, _HINTS[_FULL_DISK])
    return EngineError("X757", message, _HINTS_OF_THE_SYSTEM.get(error.errno or 0, _LOOK_THERE))


@contextmanager
def jvm_watched() -> Iterator[None]:
    """For what is outside `translated`, too: the end of the JVM, wherever it is noticed, becomes an EngineError.

    It may be noticed while a session is made, in Hadoop's file systems, or while another failure is being explained.
    """
    try:
        yield
    except JVM_GONE as error:
        if _was_answered(error):
            raise
        raise _ended() from error
    except PySparkException as error:
        if not _wraps_the_end(error):
            raise
        raise _ended() from error


def _wraps_the_end(error: BaseException) -> bool:
    """Whether pyspark noticed the end of the JVM and tells of something else: it makes exceptions of its own of whatever a
    call raised (a schema that can't be parsed, say). What we raised ourselves before is another matter."""
    seen = error.__cause__ or error.__context__
    while seen is not None and not isinstance(seen, ReconcileError):
        if isinstance(seen, JVM_GONE) and not _was_answered(seen):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _was_answered(error: Exception) -> bool:
    """A call that Java refused holds what Java said, and is a bug of ours; one that was cut off has nothing to hold."""
    return isinstance(error, Py4JJavaError) or "Trace:" in str(error)


def _ended(doing: str = "") -> EngineError:
    hint = "nothing was published; run the command again, and check that there is enough memory"
    return EngineError("X707", f"{doing}Spark's process ended", hint)


def _as_engine_error(doing: str, error: Exception, of_connector: bool) -> EngineError:
    condition, message, file = _reason(error)
    # Before it is cut: of half a secret nobody knows any more that it is one.
    message = without_secrets(message)
    own = _OWN.search(message) or _RAISED_IN_PYTHON.search(message)
    if own is not None:
        function = None if own.group(2) is None else Declared("function", own.group(2))
        return EngineError(own.group(1), f"{doing}: {_readable(own.group(3))}", about=function)
    refused = isinstance(error, AnalysisException | ParseException)
    kind = (condition or "").split(".")[0]
    codes = {**_CODES, **_CODES_OF_CONNECTORS} if of_connector else _CODES
    code = codes.get(kind, "X703" if refused else "X700")
    line = _first_line(message)
    if file is not None and file not in line:
        line += f" (reading {file})"
    if condition is not None and not condition.startswith("_") and not line.startswith("["):
        line = f"[{condition}] {line}"
    of_query = None if of_connector else _HINTS_OF_QUERIES.get(kind)
    return EngineError(code, f"{doing}: {line}", _HINTS.get(condition or "") or of_query or _HINTS.get(code))


def _reason(error: Exception) -> tuple[str | None, str, str | None]:
    """The innermost error class with its message, and the file that was being read, if Spark says so."""
    origin = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    best: tuple[str | None, str] = (None, str(error))
    file: str | None = None
    if isinstance(error, PySparkException):
        best = (error.getCondition(), str(error))
    for cause in _causes(origin):
        message = str(cause.getMessage() or cause.toString())
        if _OWN.search(message) or _RAISED_IN_PYTHON.search(message):
            return None, message, None
        full = _NO_ROOM.search(message) if cause.getClass().getName() in _OF_THE_SYSTEM else None
        if full is not None:
            return _FULL_DISK, full.group(), None
        needed = _NEEDS_LINKS.search(message)
        if needed is not None:
            return _NO_LINKS, needed.group(), None
        found = _FILE.search(message)
        file = _readable(found.group(1)) if found else file
        condition = _condition(cause)
        if condition is not None:
            best = (condition, message)
        elif best[0] is None:
            best = (None, message)
    return *best, file


def _causes(origin: Any) -> Iterator[Any]:
    seen = 0
    while origin is not None and seen < 20:
        yield origin
        origin = origin.getCause()
        seen += 1


def _condition(cause: Any) -> str | None:
    try:
        condition = cause.getCondition()
    except Exception:  # not every Java exception has one, and py4j says so in several ways
        return None
    return None if condition is None else str(condition)


def _first_line(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    # Errors that Spark has not given a name yet carry a placeholder.
    line = re.sub(r"^\[_LEGACY\w+\] ", "", _SQL_STATE.sub("", (lines or ["no message"])[0]))
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"


def _readable(message: str) -> str:
    """On one line, without Spark's suffix, and with paths of files as people write them."""
    line = " ".join(_SQL_STATE.sub("", message).split())
    return _LOCAL_FILE.sub(lambda found: unquote(found.group(1)), line)
