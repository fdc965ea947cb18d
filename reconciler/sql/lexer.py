"""Cut SQL text into tokens, exactly as it stands, with offsets.

Two dialects meet in one file, so the caller says which rules hold:
- DDL (the seeds'): `'…'` is a string whose only escape is `''` (a backslash is a backslash: connectors are JSON);
  `"…"` and backticks quote names.
- QUERY (Spark's): `'…'` and `"…"` are both strings, with backslash escapes and doubled quotes; `r'…'` is raw;
  backticks quote names; bracketed comments nest; `/*+` opens a hint, which is no comment.

The cut is never coarser than Spark's where white space matters: two texts that give the same tokens mean the same to
Spark. (A number takes every letter, digit and point that follows it, so `1a` never looks like `1 a`.)

Not here: keywords. A word is a word; readers say what it means.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final


class Dialect(Enum):
    """Whose rules hold for quotes."""

    DDL = auto()
    QUERY = auto()


class Kind(Enum):
    """What a token is. BAD is text that can't be cut: its token reaches to the end of the text."""

    WORD = auto()
    QUOTED = auto()
    STRING = auto()
    NUMBER = auto()
    SYMBOL = auto()
    BAD = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text from `start` up to `end`. For BAD, `text` says what is wrong."""

    kind: Kind
    text: str
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these words (given in upper case), unquoted."""
        return self.kind is Kind.WORD and self.text.upper() in words

    def is_symbol(self, symbol: str) -> bool:
        return self.kind is Kind.SYMBOL and self.text == symbol


_SPACE: Final = re.compile(r"[ \t\r\n\f\v\u00a0\ufeff]+")
_LINE_COMMENT: Final = re.compile(r"--(?:\\\r?\n|[^\r\n])*")
_COMMENT_EDGE: Final = re.compile(r"/\*(?!\+)|\*/")
_NUMBER: Final = re.compile(r"(?:\d|\.\d)(?:(?<=[eE])[+-](?=\d)|[\w.])*")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_SYMBOL: Final = re.compile(r"<=>|>>>|\|\||\|>|>=|<=|<>|!=|==|->|=>|<<|>>|::|!<|!>|/\*\+|\*/|\$\$|.", re.DOTALL)
_TICKED: Final = re.compile(r"`(?:[^`]|``)*`")
_DDL_STRING: Final = re.compile(r"'(?:[^']|'')*'")
_DDL_NAME: Final = re.compile(r'"(?:[^"]|"")*"')
_QUERY_STRING: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"", re.DOTALL)
_RAW_STRING: Final = re.compile(r"[rR](?:'[^']*'|\"[^\"]*\")")

UNTERMINATED_STRING: Final = "a string that is not closed"
UNTERMINATED_NAME: Final = "a quoted name that is not closed"
UNTERMINATED_COMMENT: Final = "a comment that is not closed"


def _skip(text: str, position: int) -> int | Token:
    """Past white space and comments; a BAD token when a comment has no end."""
    while position < len(text):
        if match := _SPACE.match(text, position) or _LINE_COMMENT.match(text, position):
            position = match.end()
            continue
        if not text.startswith("/*", position) or text.startswith("/*+", position):
            return position
        depth, start = 0, position
        while True:
            edge = _COMMENT_EDGE.search(text, position)
            if edge is None:
                return Token(Kind.BAD, UNTERMINATED_COMMENT, start, len(text))
            position = edge.end()
            depth += 1 if edge.group() == "/*" else -1
            if depth == 0:
                break
    return position


def _quoted(text: str, position: int, pattern: re.Pattern[str], kind: Kind, problem: str) -> Token:
    match = pattern.match(text, position)
    if match is None:
        return Token(Kind.BAD, problem, position, len(text))
    return Token(kind, match.group(), position, match.end())


def next_token(text: str, position: int, dialect: Dialect) -> Token:
    """The first token at or after `position`; END at the end of the text."""
    skipped = _skip(text, position)
    if isinstance(skipped, Token):
        return skipped
    position = skipped
    if position >= len(text):
        return Token(Kind.END, "", len(text), len(text))
    first = text[position]
    if dialect is Dialect.QUERY and (match := _RAW_STRING.match(text, position)):
        return Token(Kind.STRING, match.group(), position, match.end())
    if match := _WORD.match(text, position):
        return Token(Kind.WORD, match.group(), position, match.end())
    if match := _NUMBER.match(text, position):
        return Token(Kind.NUMBER, match.group(), position, match.end())
    if first == "`":
        return _quoted(text, position, _TICKED, Kind.QUOTED, UNTERMINATED_NAME)
    if first == "'":
        pattern = _QUERY_STRING if dialect is Dialect.QUERY else _DDL_STRING
        return _quoted(text, position, pattern, Kind.STRING, UNTERMINATED_STRING)
    if first == '"':
        if dialect is Dialect.QUERY:
            return _quoted(text, position, _QUERY_STRING, Kind.STRING, UNTERMINATED_STRING)
        return _quoted(text, position, _DDL_NAME, Kind.QUOTED, UNTERMINATED_NAME)
    symbol = _SYMBOL.match(text, position)
    assert symbol is not None, "the last alternative matches any character"
    return Token(Kind.SYMBOL, symbol.group(), position, symbol.end())


def tokens_of(text: str, dialect: Dialect, position: int = 0) -> Iterator[Token]:
    """All tokens from `position`, without the END; a BAD one is the last."""
    while True:
        token = next_token(text, position, dialect)
        if token.kind is Kind.END:
            return
        yield token
        if token.kind is Kind.BAD:
            return
        position = token.end


def unquote(token: Token) -> str:
    """The name or the string that a token stands for, by the rules of DDL."""
    if token.kind in (Kind.QUOTED, Kind.STRING):
        quote = token.text[0]
        return token.text[1:-1].replace(quote * 2, quote)
    return token.text
