"""The shape of a token: one short text by which a rewrite recognises it, whatever it was spelled like.

- an unquoted word: itself in lower case (as it is, when it has letters outside ASCII: no word of Spark's grammar has);
- a quoted name: itself in lower case, in its backquotes;
- a string `'`, a number `0`; a symbol: itself.

So a keyword is never taken for a string or a quoted name that reads like it, and the first character tells the kind.
"""

from typing import Final

from reconciler.sql.lexer import Kind, Token
from reconciler.sql.words import spark_words

STRING: Final = "'"
NUMBER: Final = "0"
_CLOSING: Final = frozenset({")", "]", STRING, NUMBER})
# Words of Spark's grammar that are whole operands, or end one, and begin nothing that goes on with a bare word: values,
# END of a CASE, units that end an interval, and nouns that often name columns.
_ENDING_WORDS: Final = (
    "comment current_catalog current_database current_date current_path current_schema current_time current_timestamp "
    "current_user date day end false hour key localtimestamp location minute month name null quarter role second "
    "session_user source target time timestamp true type user value week year"
)
_ENDING: Final = frozenset(_ENDING_WORDS.split())
VALUES: Final = _ENDING - {"end"}
"""Words of Spark's grammar that are whole operands by themselves."""
# They mean something before a string only: `X'1F'`, `R'\d'`.
_PREFIXES: Final = frozenset({"r", "x"})


def shapes_of(tokens: list[Token]) -> list[str] | None:
    """The shape of each token; None when the text can't be cut, or Spark may cut it otherwise (`spelling.is_strange`)."""
    shapes: list[str] = []
    add = shapes.append
    for kind, text, _, _ in tokens:
        if kind is Kind.WORD or kind is Kind.QUOTED:
            add(text.lower() if text.isascii() else text)
        elif kind is Kind.STRING:
            add(STRING)
        elif kind is Kind.NUMBER:
            add(NUMBER)
        elif kind is Kind.BAD or text[0] in "$;" or not text.isascii():
            return None
        else:
            add(text)
    return shapes


def is_word(shape: str) -> bool:
    """Whether it is an unquoted word."""
    return shape[0].isalpha() or shape[0] == "_"


def is_plain(shape: str) -> bool:
    """Whether it is a word that means nothing to Spark's grammar, so that (before no string) it can only be a name."""
    return is_word(shape) and shape.isascii() and (shape not in spark_words() or shape in _PREFIXES)


def is_alias(shape: str) -> bool:
    """Whether it is surely a name: a plain word or a quoted name."""
    return shape[0] == "`" or is_plain(shape)


def ends_operand(shapes: list[str], index: int) -> bool:
    """Whether an expression, a relation or a list is complete after this token, so that the next word can't begin one.

    False when unsure. What may follow then is an alias, an operator, or the keyword of a clause.
    """
    if index < 0:
        return False
    shape = shapes[index]
    if shape in _CLOSING or shape[0] == "`":
        return True
    if not is_word(shape):
        return False
    return shape in _ENDING or is_plain(shape) or (index > 0 and shapes[index - 1] == ".")


def at(shapes: list[str], index: int) -> str:
    """The shape at an index; empty beyond the end or before the beginning."""
    return shapes[index] if 0 <= index < len(shapes) else ""
