"""The literals and comments of a text of code, as what they say: escapes read, and pieces that a language joins together.

SQL and Python in one, as a text that is shown may hold either: `'…'` and `"…"` with backslash escapes and doubled quotes,
raw ones (`r'…'`), bytes in hexadecimal (`X'…'`). Literals that stand side by side, or with `||` or `+` between them, say
what they say together. Where it is not sure what a text is, it is taken for a literal: whoever asks looks for secrets.

A text is gone through twice: as a whole, where a literal has many lines; and line by line, since an apostrophe of a comment
or of a sentence puts what follows the wrong way round. Every look takes as long as the text is.
"""

import re
from array import array
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.patterns import lazy_pattern

_PREFIX: Final = r"(?<![\w'\"\\])(?P<prefix>[rRbBuUfFxXnN]{0,2})"
_IN_A_LINE: Final = lazy_pattern(_PREFIX + r"(?P<body>'(?:[^'\\\n]|\\[^\n]|'')*+'|\"(?:[^\"\\\n]|\\[^\n]|\"\")*+\")")
_ANYWHERE: Final = lazy_pattern(
    r"(?P<comment>(?<!\S)(?:--|\#)(?=[^\S\n])[^\n]*|/\*(?:[^*]|\*(?!/)|(?!))*+(?:\*/|\Z))"
    rf"|{_PREFIX}(?P<body>'(?:[^'\\]|\\.|'')*+(?:'|\Z)|\"(?:[^\"\\]|\\.|\"\")*+(?:\"|\Z))",
    re.DOTALL,
)
_BETWEEN: Final = lazy_pattern(r"(?:\s|\\\n|\|\||\+)*+")
_ESCAPE: Final = lazy_pattern(
    r"\\(?:u(?P<four>[0-9A-Fa-f]{4})|U(?P<eight>[0-9A-Fa-f]{8})|x(?P<two>[0-9A-Fa-f]{2})|(?P<octal>[0-3][0-7]{2})|(?P<one>.))"
    r"|(?P<doubled>''|\"\")",
    re.DOTALL,
)
_ONE: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a", "\n": "", "%": "\\%", "_": "\\_"}
_ITEM: Final = lazy_pattern(
    r"(?P<quote>[\"'])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]|(?!))*+)(?P=quote)"
    r"|(?P<reference>\$\{[^{}\n]{0,200}\}|\$?\{\{[^{}\n]{0,200}\}\})"
    r"|(?P<word>(?:\\.|[^\s,\[\]{}\"'&;\\])++)|(?P<sign>.)",
    re.DOTALL,
)
_HEXADECIMAL: Final = lazy_pattern(r"(?:[0-9A-Fa-f]{2}|(?!)){8,}+")


Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Said:
    """What a literal, or a comment, says. `starts` and `ends` are where each character of `value` is written in the text;
    where they are not given, it is written as it is from `start` on. `is_whole`: it can't be told what is written where."""

    value: str
    start: int
    end: int
    starts: "array[int] | None" = None
    ends: "array[int] | None" = None
    is_whole: bool = False
    is_comment: bool = False

    def written(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the value (not empty) is written."""
        if self.is_whole:
            return self.start, self.end
        if self.starts is None or self.ends is None:
            return self.start + start, self.start + end
        return self.starts[start], self.ends[end - 1]


@dataclass(frozen=True, slots=True)
class _Piece:
    prefix: str
    start: int
    """Of what stands between the quotes."""
    end: int
    quote: str


def said_in(text: str) -> Iterator[Said]:
    """What the literals and comments of a text say, one after another; some twice."""
    if "'" in text or '"' in text:
        yield from _literals(text, (_piece(found) for found in _IN_A_LINE.finditer(text)))
    pieces: list[_Piece] = []
    position = 0
    while (found := _ANYWHERE.search(text, position)) is not None:
        position = max(found.end(), position + 1)
        if found["comment"] is not None:
            yield Said(found["comment"], found.start(), found.end(), is_comment=True)
        elif len(found["body"]) > 1 and found["body"][-1] == found["body"][0]:
            pieces.append(_piece(found))
    yield from _literals(text, iter(pieces))


def items_of_a_list(text: str, start: int, is_other: Callable[[int], bool] = lambda _: False) -> tuple[list[Span], int]:
    """Where the words and quoted texts of the list (`[a, "b"]`) that opens at `start` stand, references left out, and where
    it ends: after its last bracket, or before a structure in it and what `is_other` knows to begin there."""
    spans: list[Span] = []
    depth = 0
    position = start
    while (found := _ITEM.match(text, position)) is not None:
        if found["sign"] is None and found["reference"] is None:
            span = found.span("quoted" if found["quote"] else "word")
            if is_other(span[0]):
                break
            spans.append(span)
        elif found["sign"] == "{":
            break
        position = found.end()
        depth += {"[": 1, "]": -1}.get(found["sign"], 0)
        if depth == 0:
            break
    return spans, position


def _piece(found: re.Match[str]) -> _Piece:
    return _Piece(found["prefix"].lower(), found.start("body") + 1, found.end("body") - 1, found["body"][0])


def _literals(text: str, pieces: Iterator[_Piece]) -> Iterator[Said]:
    """Literals, each with those that are joined to it."""
    joined: list[_Piece] = []
    for piece in pieces:
        if joined and not _are_joined(text, joined[-1].end + 1, piece.start - 1 - len(piece.prefix)):
            yield from _read(text, joined)
            joined = []
        joined.append(piece)
    if joined:
        yield from _read(text, joined)


def _are_joined(text: str, start: int, end: int) -> bool:
    """Whether nothing stands between two literals that keeps them apart."""
    while start < end:
        found = _BETWEEN.match(text, start, end)
        start = found.end() if found is not None else start
        if start >= end:
            return True
        comment = _ANYWHERE.match(text, start, end)
        if comment is None or comment["comment"] is None:
            return False
        start = comment.end()
    return True


def _read(text: str, pieces: list[_Piece]) -> Iterator[Said]:
    start, end = pieces[0].start, pieces[-1].end
    for piece in pieces:
        written = text[piece.start : piece.end]
        if _HEXADECIMAL.fullmatch(written):
            yield Said(bytes.fromhex(written).decode("utf-8", "replace"), piece.start, piece.end, is_whole=True)
    if len(pieces) == 1 and _is_plain(text, pieces[0]):
        yield Said(text[start:end], start, end)
        return
    values: list[str] = []
    starts, ends = array("q"), array("q")

    def add(value: str, first: int, last: int) -> None:
        values.append(value)
        starts.extend([first] * len(value))
        ends.extend([last] * len(value))

    for piece in pieces:
        position = piece.start
        escapes = () if "r" in piece.prefix else _ESCAPE.finditer(text, piece.start, piece.end)
        for found in escapes:
            if found["doubled"] not in (None, piece.quote * 2):
                continue
            _add_plain(text, position, found.start(), values, starts, ends)
            add(_meant(found), found.start(), found.end())
            position = found.end()
        _add_plain(text, position, piece.end, values, starts, ends)
    yield Said("".join(values), start, end, starts, ends)


def _is_plain(text: str, piece: _Piece) -> bool:
    if "r" in piece.prefix:
        return True
    return text.find("\\", piece.start, piece.end) < 0 and text.find(piece.quote * 2, piece.start, piece.end) < 0


def _add_plain(text: str, start: int, end: int, values: list[str], starts: "array[int]", ends: "array[int]") -> None:
    values.append(text[start:end])
    starts.extend(range(start, end))
    ends.extend(range(start + 1, end + 1))


def _meant(escape: re.Match[str]) -> str:
    if escape["doubled"] is not None:
        return escape["doubled"][0]
    if escape["one"] is not None:
        return _ONE.get(escape["one"], escape["one"])
    if escape["octal"] is not None:
        return chr(int(escape["octal"], 8))
    code = int(escape["four"] or escape["eight"] or escape["two"], 16)
    return chr(code) if code <= 0x10FFFF else "?"
