"""YAML text → JSON-like value, with the place of every key and value.

Responsibility: read one YAML document within limits and report everything that would surprise its author.

Rules:
- The text comes from strangers. It is at most 1 MiB, 40 levels deep, has at most 50 anchors and 50 aliases, and no
  more than 20,000 values once aliases are expanded. Nothing is constructed but mappings, lists, texts, numbers, true,
  false and null.
- Values are those of YAML 1.2's core schema: only `true` and `false` are booleans; `yes`, `on`, dates and `60s` are
  texts. Integers with a leading zero mean different numbers in 1.1 and 1.2, so they are refused. Infinities and NaN
  have no place in JSON.
- Keys are texts, as written. A key that is given twice is an error at its second place; the first value stays.
- A message never quotes a value, an alias or a tag: an unquoted password may be read as one. It tells the place.
- Positions are those of the source; what an alias repeats has the positions of its anchor, except that the alias
  itself stands where it is written.

What it does not do: know which keys mean something (`manifest.check`), read files.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final

import yaml

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic, Location
from reconciler.base.invisible import code_point, first_invisible
from reconciler.base.places import Path

MAXIMUM_SIZE: Final = 1024 * 1024
MAXIMUM_DEPTH: Final = 40
MAXIMUM_ALIASES: Final = 50
MAXIMUM_VALUES: Final = 20_000

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE: Final = "tag:yaml.org,2002:"
_QUOTE_IT: Final = "put it in quotes if it is a text"
# What the parser quotes of the file. Single signs, and its own names of what it expects (<document start>), say nothing.
_QUOTED: Final = re.compile(r"""'(?!<[a-z ]+>')[^']{2,}'|"[^"]{2,}\"""")

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE: Final = frozenset({"true", "True", "TRUE"})
_FALSE: Final = frozenset({"false", "False", "FALSE"})
_DECIMAL: Final = re.compile(r"[-+]?[0-9]+\Z")
_LEADING_ZERO: Final = re.compile(r"[-+]?0[0-9]+\Z")
_OTHER_BASE: Final = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")
_INTEGER_LIMIT: Final = 2**63


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: its key (None for list entries and the root) and its value."""

    key: Location | None
    value: Location


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """What was read. `value` is None when nothing could be; then a diagnostic says why."""

    value: Any
    positions: Mapping[Path, Place]
    diagnostics: tuple[Diagnostic, ...]

    def of_value(self, path: Path) -> Location | None:
        """Where the value at `path` stands, or the nearest value around it."""
        for length in range(len(path), -1, -1):
            place = self.positions.get(path[:length])
            if place is not None:
                return place.value
        return None

    def of_key(self, path: Path) -> Location | None:
        """Where the key of `path` stands; for a list entry or the root, where its value does."""
        for length in range(len(path), -1, -1):
            place = self.positions.get(path[:length])
            if place is not None:
                return place.key or place.value
        return None


def load_yaml(text: str, file: str) -> YamlDocument:
    """Read `text` of `file`. Never raises for what a text can hold."""
    reading = _Reading(file)
    value: Any = None
    try:
        text = text.removeprefix("\ufeff")
        if len(text) > MAXIMUM_SIZE or len(text.encode("utf-8")) > MAXIMUM_SIZE:
            raise _Refused("M103", f"the file has more than {MAXIMUM_SIZE:,} bytes", Location(file, 1, 1), None)
        if (hidden := first_invisible(text)) is not None:
            message = f"not readable as YAML: the text holds {code_point(text[hidden])}, an invisible control character"
            at = Location(file, text.count("\n", 0, hidden) + 1, hidden - text.rfind("\n", 0, hidden))
            raise _Refused("M101", message, at, f"remove it; in a double-quoted text, write \\u{ord(text[hidden]):04x}")
        value = reading.document(yaml.parse(text, Loader=_LOADER))
    except _Refused as refused:
        reading.diagnostics.append(refused.diagnostic)
    except yaml.MarkedYAMLError as error:
        reading.diagnostics.append(_unreadable(error, text, file))
    except yaml.reader.ReaderError as error:
        reading.diagnostics.append(_bad_character(error, text, file))
    except UnicodeError:
        message = "not readable as YAML: the file has characters that UTF-8 can't encode"
        reading.diagnostics.append(Diagnostic("M101", message, Location(file, 1, 1)))
    return YamlDocument(value, reading.positions, tuple(reading.diagnostics))


class _Refused(Exception):
    """Ends the reading of one document; becomes a diagnostic in `load_yaml`."""

    def __init__(self, code: str, message: str, location: Location, hint: str | None) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(code, message, location, hint)


@dataclass(slots=True)
class _Anchored:
    """What an anchor stands for, to be repeated by aliases. `values` counts it and all in it, aliases expanded."""

    value: Any
    positions: dict[Path, Place]
    values: int


@dataclass(slots=True)
class _Reading:
    """One document being built from the parser's events (the parser itself does not recurse)."""

    file: str
    positions: dict[Path, Place] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    anchors: dict[str, _Anchored] = field(default_factory=dict)
    aliases: int = 0
    values: int = 0

    def document(self, events: Iterator[Any]) -> Any:
        """The value of the one document."""
        found = False
        value: Any = None
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if found:
                    raise _Refused(
                        "M105", "a second YAML document begins here", self._at(event), "write one document per file"
                    )
                found = True
                value = self._value(next(events), events, (), None)
        if not found or value is None:
            raise _Refused("M106", "the file is empty", Location(self.file, 1, 1), None)
        return value

    def _at(self, event: Any) -> Location:
        return Location(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _value(self, event: Any, events: Iterator[Any], path: Path, key: Location | None) -> Any:
        at = self._at(event)
        before = self.values
        self._count(1, at)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path, key, at)
        if len(path) >= MAXIMUM_DEPTH:
            raise _Refused("M103", f"nested more than {MAXIMUM_DEPTH} levels deep", at, None)
        self.positions[path] = Place(key, at)
        value: Any
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event, at)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._check_tag(event.tag, {"seq"}, at)
            value = []
            while not isinstance(child := next(events), yaml.SequenceEndEvent):
                value.append(self._value(child, events, (*path, len(value)), None))
        else:
            self._check_tag(event.tag, {"map"}, at)
            value = self._mapping(events, path)
        if event.anchor is not None:
            if len(self.anchors) >= MAXIMUM_ALIASES:
                raise _Refused("M103", f"more than {MAXIMUM_ALIASES} anchors", at, None)
            below = {place[len(path) :]: at for place, at in self.positions.items() if place[: len(path)] == path}
            self.anchors[event.anchor] = _Anchored(value, below, self.values - before)
        return value

    def _mapping(self, events: Iterator[Any], path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(key_event := next(events), yaml.MappingEndEvent):
            at = self._at(key_event)
            key = self._key(key_event, at)
            if key in found:
                first = self.positions[(*path, key)].key
                line = f" (first on line {first.line})" if first else ""
                self.diagnostics.append(Diagnostic("M102", f"key {key!r} is given twice{line}", at))
                # A branch of its own, so that the positions of the first value stay.
                self._value(next(events), events, (*path, f"{key}\0{at.line}:{at.column}"), at)
            else:
                found[key] = self._value(next(events), events, (*path, key), at)
        return found

    def _key(self, event: Any, at: Location) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise _Refused("M107", "a key must be a text, not a list, a mapping or an alias", at, None)
        self._check_tag(event.tag, {"str"}, at)
        if event.value == "<<" and not event.style:
            raise _Refused("M107", "merge keys (<<) are not part of YAML 1.2", at, "write the entries themselves")
        if event.value == "" and not event.style:
            raise _Refused("M107", "a key is empty", at, None)
        return str(event.value)

    def _alias(self, event: Any, path: Path, key: Location | None, at: Location) -> Any:
        self.aliases += 1
        if self.aliases > MAXIMUM_ALIASES:
            raise _Refused("M103", f"more than {MAXIMUM_ALIASES} aliases", at, "write the repeated parts themselves")
        anchored = self.anchors.get(event.anchor)
        if anchored is None:
            raise _Refused("M101", "the alias that begins here with * has no anchor before it", at, _QUOTE_IT)
        self._count(anchored.values, at)
        for below, place in anchored.positions.items():
            if len(path) + len(below) > MAXIMUM_DEPTH:
                raise _Refused("M103", f"nested more than {MAXIMUM_DEPTH} levels deep", at, None)
            self.positions[(*path, *below)] = place
        self.positions[path] = Place(key, at)
        return anchored.value

    def _count(self, values: int, at: Location) -> None:
        self.values += values
        if self.values > MAXIMUM_VALUES:
            hint = "each use of an alias counts" if self.aliases else None
            raise _Refused("M103", f"more than {MAXIMUM_VALUES:,} values", at, hint)

    def _check_tag(self, tag: str | None, allowed: set[str], at: Location) -> str | None:
        """The core tag without its prefix, None when there is none. Other tags are refused."""
        if tag is None or tag == "!":
            return None
        name = tag.removeprefix(_CORE)
        if not tag.startswith(_CORE) or name not in allowed:
            message = "the tag that begins here with ! is not allowed"
            raise _Refused("M104", message, at, f"write the value without a tag; {_QUOTE_IT}")
        return name

    def _scalar(self, event: Any, at: Location) -> Any:
        text = str(event.value)
        tag = self._check_tag(event.tag, {"str", "int", "float", "bool", "null"}, at)
        if tag == "str" or event.tag == "!" or (tag is None and event.style):
            return text
        value = self._plain(text, at)
        types: dict[str, Any] = {"int": int, "float": (int, float), "bool": bool, "null": type(None)}
        expected = types.get(tag or "")
        if expected is not None and (not isinstance(value, expected) or (tag != "bool" and isinstance(value, bool))):
            raise _Refused("M104", f"this value is not of type !!{tag}", at, None)
        return value

    def _plain(self, text: str, at: Location) -> Any:
        """What an unquoted text means."""
        if text in _NULL:
            return None
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        if _LEADING_ZERO.match(text):
            hint = f"{_QUOTE_IT}; for a decimal number remove the zeros, for an octal number write 0o…"
            self.diagnostics.append(Diagnostic("M108", "a number that begins with 0 may be octal or decimal", at, hint))
            return 0
        value: int | float
        if _DECIMAL.match(text) or _OTHER_BASE.match(text):
            # Python refuses to convert very long decimals; those are out of range anyhow.
            value = int(text, 10 if _DECIMAL.match(text) else 0) if len(text) < 100 else _INTEGER_LIMIT
            if not -_INTEGER_LIMIT <= value < _INTEGER_LIMIT:
                self.diagnostics.append(Diagnostic("M108", "the number does not fit into 64 bits", at, _QUOTE_IT))
                return 0
            return value
        if _NOT_FINITE.match(text) or (_FLOAT.match(text) and abs(float(text)) == float("inf")):
            self.diagnostics.append(Diagnostic("M108", "the number is not finite", at, _QUOTE_IT))
            return 0
        return float(text) if _FLOAT.match(text) else text


def _unreadable(error: yaml.MarkedYAMLError, text: str, file: str) -> Diagnostic:
    mark = error.problem_mark or error.context_mark
    at = Location(file, mark.line + 1, mark.column + 1) if mark else Location(file, 1, 1)
    lines = text.splitlines()
    hint = None
    if at.line <= len(lines) and "\t" in lines[at.line - 1][: at.column]:
        hint = "indent with spaces: YAML allows no tabs there"
    elif error.context and error.context_mark:
        hint = f"{error.context}, which began on line {error.context_mark.line + 1}"
    problem = _QUOTED.sub("…", error.problem or "syntax error")
    return Diagnostic("M101", f"not readable as YAML: {problem}", at, hint)


def _bad_character(error: yaml.reader.ReaderError, text: str, file: str) -> Diagnostic:
    before = text[: error.position]
    at = Location(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
    return Diagnostic("M101", f"not readable as YAML: {error.reason}", at)
