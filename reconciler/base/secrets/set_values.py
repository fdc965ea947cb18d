"""What secret names are set to in code where it is no literal alone: the literals that the value may be made of.

`password = upper('x')`, `password = a or 'x'`, `map('password', ('x'))`, `password STRING DEFAULT upper('x')`, and
in a query `upper('x') AS password`. By these rules:

- A literal counts if the value may be it, or be computed of it: also one within calls, of which nothing is known.
- It does not count where it says which or how (`call_values`): a pattern, a format, a path, a key, what is compared, a named
  argument, what a CASE compares.
- A value ends before what belongs to something else: a comma, a word after a whole term, a comparison, AND.

A value is read from its name on, a query from each SELECT on, as lists of options are (`option_lists`): what stands before
may have put the quotes the wrong way round. Reading takes as long as the text is: once more was read than the text has,
nothing is read again.

Not here: literals that stand right after the name (`said`).
"""

import re
from collections.abc import Iterator
from dataclasses import field
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.literals import Span
from reconciler.base.patterns import lazy_pattern
from reconciler.base.secrets.call_values import OF_PAIRS, may_be_value, may_hold_values, takes_values
from reconciler.base.secrets.code_parts import CODE_PART, Part
from reconciler.base.secrets.listed_values import items_named
from reconciler.base.secrets.names import is_secret_name, names_one_secret

_NAME: Final = r"(?:(?<![\w.-])(?P<bare>[A-Za-z_][\w.]{0,99}+)|(?P<quote>[\"'`])(?P<named>[\w.-]{1,100}+)(?P=quote))"
_SET: Final = lazy_pattern(rf"{_NAME}\s*+(?:\]\s*+|(?P<closed>(?:\)\s*+)++))?(?P<sign>:=|=>|={{1,3}}(?!=)|:(?!:)|,|\()")
_DEFAULTED: Final = lazy_pattern(
    rf"{_NAME}\s++(?!as\b|is\b|and\b)\w++(?:\s?\([\d\s,]{{0,20}}\))?(?:\s++not\s++null)?\s++default\b", re.IGNORECASE
)
_SELECT: Final = lazy_pattern(r"(?<![\w.])select(?!\w)", re.IGNORECASE)
_SETTER: Final = lazy_pattern(
    r"(?:\w+\.)*_?(?:(?:set|with|add|use)_?[A-Za-z_]+|password|passwd|passphrase|pwd)", re.IGNORECASE
)
_PARENTHESIS: Final = lazy_pattern(r"[()]")
_CALLED: Final = lazy_pattern(r"(\w+)\s*\Z")
_SPARE: Final = 20_000
_BEFORE: Final = 300
_LONGEST_WORD: Final = 12

_COMPARES: Final = frozenset(("like", "ilike", "rlike", "regexp", "in", "between", "is"))
_ENDS_A_LIST: Final = frozenset(
    ("from", "where", "group", "having", "order", "union", "intersect", "except", "limit", "window", "lateral")
)
_NO_CALL: Final = frozenset(
    ("and", "or", "not", "then", "else", "when", "over", "by", "return", "as", "filter", "using", "on", "if", "select")
)
_NO_ALIAS: Final = (
    _COMPARES
    | _ENDS_A_LIST
    | frozenset(("as", "and", "or", "end", "when", "then", "else", "over", "collate", "filter", "not"))
)
_ARGUMENTS_OF_VALUE: Final = frozenset({"default", "value", "fallback", "default_value", "text"})
_GLUE: Final = lazy_pattern(r"\s*(?:\|\||[+,)])")
"""What begins so is no literal, but what stands between two."""

_WORD_OF_CODE: Final = lazy_pattern(r"utf-?(8|16|32)|(us-)?ascii|latin-?1|iso-8859-1", re.IGNORECASE)
_BEGINS: Final = frozenset("([+-\\")
_JOIN: Final = frozenset(("+", "-", "||", "::", "%", "*"))


@dataclass(slots=True)
class _Frame:
    """Parentheses, brackets or a CASE, of which the literals from `first` on may be the value of what runs now."""

    closes: str
    holds_values: bool
    first: int
    call: str = ""
    argument: int = 0
    is_compared: bool = False
    """Up to the next argument or branch."""
    word: str = ""
    """The only word of the argument, which may be its name."""
    is_query: bool = False

    def takes_a_literal(self) -> bool:
        return self.holds_values and not self.is_compared and may_be_value(self.call, self.argument)

    def takes_a_call(self) -> bool:
        return self.holds_values and not self.is_compared and may_hold_values(self.call)

    def begin(self, first: int, is_compared: bool = False) -> None:
        self.first, self.is_compared, self.word = first, is_compared, ""


@dataclass(slots=True)
class _Reading:
    """An expression, or a query, as far as it was read."""

    is_query: bool
    may_be_type: bool
    """Whether what is read first may be the type of a name."""
    spans: list[Span] = field(default_factory=list)
    given: list[tuple[str, Span]] = field(default_factory=list)
    """Of a query: the names of secrets that something has, with each literal of it."""
    frames: list[_Frame] = field(default_factory=list)
    last: Part | None = None
    """The part before, gaps left out."""
    is_whole: bool = False
    """Whether a term was read, behind which another one begins only after a sign."""
    names: bool = False
    """Whether AS stands right before."""
    is_first: bool = True
    """Whether a literal that comes next stands right behind the name, and is no matter."""

    def __post_init__(self) -> None:
        self.frames.append(_Frame("", True, 0, is_query=self.is_query))


def values_set(text: str) -> Iterator[Span]:
    """Where literals stand, without their quotes, that a value may be made of which a secret name has in a text of code."""
    if "'" not in text and '"' not in text:
        # Most texts are names and sentences.
        return
    left = len(text) + _SPARE
    for pattern in (_SET, _DEFAULTED):
        position = 0
        while (named := pattern.search(text, position)) is not None:
            position = named.end()
            name = named["bare"] or named["named"]
            if not names_one_secret(name) or not _is_set(text, named):
                continue
            sign = named.groupdict().get("sign")
            start = named.end() - 1 if sign == "(" else named.end()
            # What stands right behind the name is judged where it stands, by most names.
            is_judged = sign is not None and named["quote"] != "`" and not named.groupdict().get("closed")
            reading, end = _read(text, start, _Reading(False, sign == ":" and "\n" not in named[0], is_first=is_judged))
            left -= end - start
            position = position if left > 0 else end
            yield from reading.spans
    position = 0
    left = len(text) + _SPARE
    while (begun := _SELECT.search(text, position)) is not None:
        reading, end = _read(text, begun.end(), _Reading(True, False))
        left -= end - begun.end()
        position = begun.end() if left > 0 else end
        yield from (span for name, span in reading.given if not _says_which(name, text[slice(*span)]))
    left = len(text) + _SPARE
    for name, (start, end) in items_named(text):
        left -= end - start
        spans = _literals_of_item(text, start, end) if left > 0 else iter(())
        yield from (span for span in spans if not _says_which(name, text[slice(*span)]))


def _literals_of_item(text: str, start: int, end: int) -> Iterator[Span]:
    """The literals that an item of a list may be made of; all of them where it can't be read to its end."""
    reading, reached = _read(text, start, _Reading(False, False, is_first=False), end)
    if text[reached:end].strip().lower() == "as":
        yield from reading.spans
        return
    position = start
    while position < end and (part := CODE_PART.match(text, position, end)) is not None:
        position = part.end()
        if part["literal"] is not None:
            yield part.start("literal") + 1, part.end("literal") - 1


def is_about_a_secret(value: str) -> bool:
    """Whether a literal within a value is a word of code: a name of a secret (`get('password')`), an encoding."""
    return _WORD_OF_CODE.fullmatch(value) is not None or (value.isidentifier() and is_secret_name(value))


def is_of_pairs(before: str) -> bool:
    """Whether what follows is an argument of a call that takes names and values in turn. `before` ends where the name
    begins."""
    depth = 0
    for found in reversed(list(_PARENTHESIS.finditer(before))):
        if found[0] == "(" and depth == 0:
            called = _CALLED.search(before, max(0, found.start() - 50), found.start())
            return called is not None and called[1].lower() in OF_PAIRS
        depth += 1 if found[0] == ")" else -1
    return False


def _is_set(text: str, named: re.Match[str]) -> bool:
    sign = named.groupdict().get("sign")
    if named.groupdict().get("closed"):
        # `(password) = …`, `upper(password) = …`
        return sign is not None and set(sign) == {"="}
    if sign == ",":
        return named["quote"] in ("'", '"') and is_of_pairs(text[max(0, named.start() - _BEFORE) : named.start()])
    if sign == "(":
        return named["bare"] is not None and _SETTER.fullmatch(named["bare"]) is not None
    return True


def _says_which(name: str, value: str) -> bool:
    """Whether a word says which token something is (`'refresh' AS token`): nobody makes a token of letters alone."""
    return "token" in name.lower() and value.isalpha() and value.islower() and len(value) <= _LONGEST_WORD


def _read(text: str, position: int, reading: _Reading, end: int | None = None) -> tuple[_Reading, int]:
    """What is read from there on, up to `end` (None: the text's), and where that ends."""
    bound = len(text) if end is None else end
    while (part := CODE_PART.match(text, position, bound)) is not None:
        if part["gap"] is not None:
            position = part.end()
            continue
        if not _goes_on(reading, part):
            break
        position = part.end()
        reading.last = part
    return reading, position


def _goes_on(reading: _Reading, part: Part) -> bool:
    """Whether the part belongs to what is read, which then has it."""
    if part["literal"] is not None:
        return _literal(reading, part)
    if part["quoted"] is not None:
        return _word(reading, part, part["quoted"], "")
    if part["word"] is not None:
        return _word(reading, part, part["word"], part["word"].lower())
    return _sign(reading, part["sign"])


def _literal(reading: _Reading, part: Part) -> bool:
    if _GLUE.match(part["literal"], 1) is not None:
        return False
    top = reading.frames[-1]
    is_joined = reading.last is not None and reading.last["literal"] is not None
    if reading.is_whole and len(reading.frames) == 1 and not is_joined:
        return False
    is_direct = not reading.is_query and len(reading.frames) == 1 and reading.is_first
    if top.takes_a_literal() and not is_direct:
        start, end = part.start("literal") + 1, part.end("literal") - 1
        if is_joined and reading.spans and reading.last is not None and reading.spans[-1][1] == reading.last.end() - 1:
            start = reading.spans.pop()[0]
        reading.spans.append((start, end))
    reading.is_whole, reading.names = True, False
    top.word = ""
    return True


def _word(reading: _Reading, part: Part, name: str, word: str) -> bool:
    top = reading.frames[-1]
    is_alias = reading.is_whole and top.is_query and not name.startswith(".")
    if reading.names or (is_alias and word not in _NO_ALIAS):
        reading.names = False
        if names_one_secret(name):
            reading.given += ((name, span) for span in reading.spans[top.first :])
        return True
    reading.is_first = False
    if word in _COMPARES:
        return _compare(reading)
    match word:
        case "as":
            reading.names = reading.is_query
            return len(reading.frames) > 1 or reading.is_query
        case "select" | "distinct" | "all":
            top.is_query = top.is_query or word == "select"
            top.begin(len(reading.spans))
            reading.is_whole = False
        case "case" if not reading.is_whole:
            reading.frames.append(_Frame("end", top.takes_a_literal(), len(reading.spans), is_compared=True))
        case "end" if top.closes == "end":
            reading.frames.pop()
            reading.is_whole = True
        case "when" | "then" | "else" if top.closes == "end":
            top.begin(len(reading.spans), is_compared=word == "when")
            reading.is_whole = False
        case "if" | "else" if reading.is_whole and not reading.is_query:
            # Of Python: what decides is no value.
            top.begin(len(reading.spans), is_compared=word == "if")
            reading.is_whole = False
        case "and" | "or":
            return _joined_by(reading, word)
        case "not" | "await" | "date" | "timestamp" | "interval" | "binary":
            reading.is_whole = False
        case _ if word in _ENDS_A_LIST and reading.is_query:
            if len(reading.frames) == 1:
                return False
            # Of a query within: what follows is none of its values.
            top.begin(len(reading.spans), is_compared=True)
            top.is_query = False
        case _:
            return _name(reading, name)
    return True


def _name(reading: _Reading, name: str) -> bool:
    """A name of anything, or a keyword of no matter."""
    top = reading.frames[-1]
    goes_on = name.startswith(".") or name.lower() in ("over", "collate")
    if reading.is_whole and len(reading.frames) == 1 and not reading.is_query and not goes_on:
        return False
    is_begin = reading.last is None or reading.last["sign"] in ("(", ",")
    top.word = name.lower() if is_begin else ""
    reading.is_whole = True
    return True


def _joined_by(reading: _Reading, word: str) -> bool:
    top = reading.frames[-1]
    if len(reading.frames) == 1 and not reading.is_query:
        if word == "and":
            return False
        # Of Python; of SQL a comparison follows.
        top.begin(len(reading.spans))
    elif word == "and" or reading.is_query:
        return _compare(reading)
    reading.is_whole = False
    return True


def _compare(reading: _Reading) -> bool:
    """Both sides are compared: neither is the value."""
    top = reading.frames[-1]
    del reading.spans[top.first :]
    top.is_compared = True
    reading.is_whole = False
    return True


def _sign(reading: _Reading, sign: str) -> bool:
    frames = reading.frames
    top = frames[-1]
    if reading.last is None and not reading.is_query and sign[0] not in _BEGINS:
        return False
    is_first, reading.is_first = reading.is_first, False
    was_whole, reading.is_whole = reading.is_whole, False
    match sign:
        case "(" | "[" | "{":
            if sign == "{" and len(frames) == 1:
                return False
            # A list that a name has is judged where it stands.
            is_item = sign == "{" or (sign == "[" and (was_whole or (is_first and len(frames) == 1)))
            call = _called(reading, was_whole) if sign == "(" else ""
            is_method = call.startswith(".")
            takes = top.takes_a_literal() if not call or is_method else top.takes_a_call()
            holds = takes and not is_item and (not is_method or takes_values(call[1:]))
            closes = {"(": ")", "[": "]", "{": "}"}[sign]
            frames.append(_Frame(closes, holds, len(reading.spans), _last_part(call)))
            top.word = ""
        case ")" | "]" | "}":
            while len(frames) > 1 and frames[-1].closes == "end":
                frames.pop()
            if len(frames) == 1:
                return False
            frames.pop()
            reading.is_whole = True
        case ",":
            if len(frames) == 1 and not reading.is_query:
                return False
            top.argument += 1
            top.begin(len(reading.spans))
        case ";":
            return False
        case "=" | "==" | "<" | ">" | "!":
            return _compared_by(reading, sign)
        case ":" if len(frames) == 1 and not reading.is_query:
            return False
        case _ if len(frames) == 1 and not reading.is_query:
            return sign in _JOIN or sign[0] == "\\"
        case _:
            pass
    return True


def _compared_by(reading: _Reading, sign: str) -> bool:
    top = reading.frames[-1]
    if sign == ">" and reading.last is not None and reading.last["sign"] in ("=", "-"):
        # Of a named argument, of a function without a name.
        return True
    if len(reading.frames) == 1 and reading.may_be_type and sign == "=":
        reading.spans.clear()
        reading.is_first, reading.may_be_type = True, False
        return True
    if top.word and sign == "=":
        if top.word in _ARGUMENTS_OF_VALUE:
            top.word = ""
            return True
        return _compare(reading)
    return _compare(reading)


def _called(reading: _Reading, was_whole: bool) -> str:
    """The name of what is called by the parenthesis that follows; with a point before it if it is a method."""
    last = reading.last
    if last is None or last["word"] is None or not was_whole or last["word"].lower() in _NO_CALL:
        return ""
    called = last["word"].lower()
    return f".{_last_part(called)}" if "." in called else called


def _last_part(name: str) -> str:
    return name.rpartition(".")[2].lower()
