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
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from reconciler.sql.limits import MAXIMUM_TOKENS, TOO_MANY_TOKENS


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


class Token(NamedTuple):
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


_COMMENT_EDGE: Final = re.compile(r"/\*(?!\+)|\*/")
_PIECE: Final = r"""
    (?P<blank>[ \t\r\n\f\v\u00a0\ufeff]+|--(?:\\\n|[^\r\n])*)
    |(?P<comment>/\*(?!\+))
    {raw}
    |(?P<word>[^\W\d]\w*)
    |(?P<number>(?:\d|\.\d)(?:(?<=[eE])[+-](?=\d)|[\w.])*)
    |(?P<ticked>`(?:[^`]|``)*`)
    {strings}
    |(?P<symbol><=>|>>>|\|\||\|>|>=|<=|<>|!=|==|->|=>|<<|>>|::|!<|!>|/\*\+|\*/|\$\$|.)
"""
_PIECES: Final = {
    Dialect.DDL: re.compile(
        _PIECE.format(raw="", strings=r"""|(?P<string>'(?:[^']|'')*')|(?P<named>"(?:[^"]|"")*")"""),
        re.DOTALL | re.VERBOSE,
    ),
    Dialect.QUERY: re.compile(
        _PIECE.format(
            raw=r"""|(?P<raw>[rR](?:'[^']*'|"[^"]*"))""",
            strings=r"""|(?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")""",
        ),
        re.DOTALL | re.VERBOSE,
    ),
}
_KINDS: Final = {
    "raw": Kind.STRING,
    "word": Kind.WORD,
    "number": Kind.NUMBER,
    "ticked": Kind.QUOTED,
    "string": Kind.STRING,
    "named": Kind.QUOTED,
    "symbol": Kind.SYMBOL,
}

UNTERMINATED_STRING: Final = "a string that is not closed"
UNTERMINATED_NAME: Final = "a quoted name that is not closed"
UNTERMINATED_COMMENT: Final = "a comment that is not closed"


def _comment_end(text: str, position: int) -> int | None:
    """The end of the comment that opens at `position`, those inside it closed; None when there is none."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, position):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return None


def next_token(text: str, position: int, dialect: Dialect) -> Token:
    """The first token at or after `position`; END at the end of the text."""
    match = _PIECES[dialect].match
    while (piece := match(text, position)) is not None:
        group = piece.lastgroup
        if group == "blank":
            position = piece.end()
            continue
        if group == "comment":
            end = _comment_end(text, position)
            if end is None:
                return Token(Kind.BAD, UNTERMINATED_COMMENT, position, len(text))
            position = end
            continue
        found = piece.group()
        if group == "symbol" and found in "'\"`":
            is_name = found == "`" or (found == '"' and dialect is Dialect.DDL)
            return Token(Kind.BAD, UNTERMINATED_NAME if is_name else UNTERMINATED_STRING, position, len(text))
        return Token(_KINDS[group or "symbol"], found, position, piece.end())
    return Token(Kind.END, "", len(text), len(text))


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


_WORD: Final = re.compile(r"\w+")
_SPACES_BETWEEN: Final = bytes(one if chr(one).isalnum() or one == ord("_") else ord(" ") for one in range(128)).ljust(256)
"""Of ASCII, what stands in words as it is, and spaces for the rest."""


def words_in(text: str) -> frozenset[str]:
    """Every run of letters, digits and `_` in a text, in small letters, wherever it stands: in a name, a literal, a comment.
    A look that spares most texts from being cut into tokens, or parsed, for a word that is not in them."""
    return frozenset(_words(text))


def words_among(text: str, wanted: frozenset[str]) -> frozenset[str]:
    """Those of the wanted words that `words_in` a text gives."""
    return wanted.intersection(_words(text))


def _words(text: str) -> list[str]:
    small = _small(text)
    # A plan asks it of each view that comes out anew; where all is ASCII, as mostly, a third of the time is enough.
    return small.encode().translate(_SPACES_BETWEEN).decode().split() if small.isascii() else _WORD.findall(small)


def _small(text: str) -> str:
    # Through capitals: to Spark `lımıt`, whose i has no dot, is LIMIT.
    return text.upper().lower()


_MOST_REMEMBERED: Final = 16_384
_remembered: dict[str, tuple[Token, ...]] = {}


def query_tokens(text: str) -> tuple[Token, ...]:
    """All tokens of a query, without the END; a BAD one is the last. Remembered: many look at the same query in turn."""
    known = _remembered.get(text)
    if known is None:
        known = tuple(_cut(text, 0, None)[0])
        _remember(text, known)
    return known


Ends = Callable[[Sequence[Token], int], bool]
"""Whether a query ends before a word: given the tokens before it, and its offset in the text."""


def cut_query(text: str, start: int, words: Collection[str] = (), ends: Ends | None = None) -> tuple[tuple[Token, ...], int]:
    """The tokens from `start` up to the next semicolon, or to the end, with offsets from `start`; and the offset in the
    text where they end: that of the semicolon, of a token that can't be cut (which is the last), or the text's end. They
    also end before one of the `words` (upper case) of which `ends` says so; that is never the first one."""
    tokens, end = _cut(text, start, ";", words, ends)
    return tuple(tokens), end


def remember_tokens(text: str, tokens: tuple[Token, ...]) -> None:
    """What `query_tokens` will give for a text, told by who has cut it already."""
    _remember(text, tokens)


def _remember(text: str, tokens: tuple[Token, ...]) -> None:
    if len(_remembered) >= _MOST_REMEMBERED:
        # The oldest goes: texts are looked at in turn, not over and over.
        del _remembered[next(iter(_remembered))]
    _remembered[text] = tokens


def _cut(
    text: str, start: int, stop: str | None, ending: Collection[str] = (), ends: Ends | None = None
) -> tuple[list[Token], int]:
    lengths = frozenset(map(len, ending))
    match = _PIECES[Dialect.QUERY].match
    found: list[Token] = []
    position = start
    while (piece := match(text, position)) is not None:
        group = piece.lastgroup
        if group == "blank":
            position = piece.end()
            continue
        if group == "comment" or (group == "symbol" and text[position] in "'\"`"):
            # Nested comments, and what is not closed, are rare.
            token = next_token(text, position, Dialect.QUERY)
            if token.kind is Kind.END:
                break
            if token.kind is Kind.SYMBOL and token.text == stop:
                return found, token.start
            found.append(token._replace(start=token.start - start, end=token.end - start))
            if token.kind is Kind.BAD:
                return found, token.start
            position = token.end
            continue
        words = piece.group()
        if words == stop:
            return found, position
        begin = position - start
        if len(words) in lengths and words.upper() in ending and found and ends is not None and ends(found, position):
            return found, position
        if len(found) == MAXIMUM_TOKENS:
            found.append(Token(Kind.BAD, TOO_MANY_TOKENS, begin, len(text) - start))
            return found, position
        position = piece.end()
        found.append(Token(_KINDS[group or "symbol"], words, begin, position - start))
    return found, len(text)


def unquote(token: Token) -> str:
    """The name or the string that a token stands for, by the rules of DDL."""
    if token.kind in (Kind.QUOTED, Kind.STRING):
        quote = token.text[0]
        return token.text[1:-1].replace(quote * 2, quote)
    return token.text
