"""Texts of JSON before they are parsed: what is unfit, how strictly Spark reads the others, and numbers kept as written.

- `STRICT`: Spark would take single quotes for double ones, and a bare NaN or Infinity for a text with quotes in it.
- Unfit is what Spark's parser would make another text of, without a word: bytes that are no UTF-8 become U+FFFD, and an
  escape of half a surrogate pair (`\\ud800`) becomes `?`.
- Spark takes numbers through doubles. So they are written as strings that begin with a mark (`marked`), parsed, and freed of
  it (`unmarked`). A record that holds the mark itself is unfit.
"""

from typing import Final

from reconciler.engine.spark.locations import literal
from reconciler.engine.texts import FOR_NUMBERS, HALF_A_CHARACTER, IN_HEXADECIMAL, NONCHARACTER, NOT_UTF_8

STRICT: Final = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
_NUMBER: Final = "(?<![-+.0-9eE])(?!-0(?![-+.0-9eE]))-?[0-9][-+.0-9eE]*"
# They stand for an escaped backslash and an escaped quote while numbers are looked for. JSON holds neither, but escaped.
_BACKSLASH: Final = "\u0001"
_QUOTE: Final = "\u0002"
_PAIR: Final = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF: Final = r"\\u[dD][89a-fA-F]"
_ESCAPE: Final = r"\u"
_WRITTEN_MARK: Final = r"\\u[fF][dD][dD]2"


def strict(**options: str) -> str:
    """The options of `from_json`."""
    return f"map({', '.join(f'{literal(name)}, {literal(value)}' for name, value in {**STRICT, **options}.items())})"


def shown(text: str) -> str:
    """A text of whatever bytes as people see it."""
    return f"if(is_valid_utf8({text}), {text}, concat({literal(IN_HEXADECIMAL)}, hex({text})))"


def is_unfit(text: str) -> str:
    """A condition: Spark's parser would change the text. For most texts their bytes and two `contains` decide."""
    escapes = f"contains({text}, {literal(_ESCAPE)}) AND ({_is_half(text)} OR {_has_written_mark(text)})"
    return f"(NOT is_valid_utf8({text}) OR contains({text}, '{FOR_NUMBERS}') OR {escapes})"


def unfit_or(text: str, problem: str) -> str:
    """What is wrong with a text that was not parsed: why it is unfit, else `problem` (an expression)."""
    cases = (
        (f"NOT is_valid_utf8({text})", NOT_UTF_8),
        (_is_half(text), HALF_A_CHARACTER),
        (f"contains({text}, '{FOR_NUMBERS}') OR {_has_written_mark(text)}", NONCHARACTER),
    )
    told = " ".join(f"WHEN {condition} THEN {literal(message)}" for condition, message in cases)
    return f"CASE {told} ELSE {problem} END"


def marked(text: str) -> str:
    """A JSON text whose numbers are strings that begin with a mark. Between quotes, every second piece is no string.

    Not -0: it is the whole number 0, marked or not.
    """
    escaped = f"replace(replace({text}, '\\\\\\\\', '{_BACKSLASH}'), '\\\\\"', '{_QUOTE}')"
    numbers = f"""regexp_replace(piece, '{_NUMBER}', '"{FOR_NUMBERS}$0"')"""
    pieces = f"transform(split({escaped}, '\"', -1), (piece, place) -> if(place % 2 = 0, {numbers}, piece))"
    return f"replace(replace(array_join({pieces}, '\"'), '{_QUOTE}', '\\\\\"'), '{_BACKSLASH}', '\\\\\\\\')"


def unmarked(value: str) -> str:
    """What was parsed of a marked text, with its numbers as they were written."""
    return f"""regexp_replace(replace({value}, '"{FOR_NUMBERS}', '{FOR_NUMBERS}'), '{FOR_NUMBERS}([-+.0-9eE]*)"?', '$1')"""


def _is_half(text: str) -> str:
    """Whether a half is left when pairs are taken away."""
    is_likely = f"{text} RLIKE {literal(_HALF)}"
    return f"({is_likely} AND regexp_replace({_escapes(text)}, {literal(_PAIR)}, '_') RLIKE {literal(_HALF)})"


def _has_written_mark(text: str) -> str:
    return f"{_escapes(text)} RLIKE {literal(_WRITTEN_MARK)}"


def _escapes(text: str) -> str:
    """The text without escaped backslashes, which begin no escape."""
    return f"replace({text}, {literal(chr(92) * 2)}, '_')"
