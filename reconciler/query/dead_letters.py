"""Dead letters as a query sees them: `dead_letters`, beside a pipeline's relations.

Where a relation of the pipeline has that name, `reconcile_dead_letters` reads them; none can be called that. They are seen
as of the step that is read: those of a step that is not published are not.

`SELECT * FROM dead_letters`, with `WHERE column = literal AND …` and `LIMIT n` if need be, is answered without an engine,
sorted by step; whatever says more is the engine's.
"""

from collections.abc import Iterator
from typing import Final

from reconciler.base.names import fold
from reconciler.delta.reading import equal_rows
from reconciler.delta.tables import table_version
from reconciler.engine.dead_letters import DEAD_LETTER_COLUMNS
from reconciler.engine.protocol import Rows
from reconciler.engine.sources import EmptySource, InlineSource, Source, StoredSource
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.sql.lexer import Dialect, Kind, Token, tokens_of
from reconciler.state.folders import dead_letters_location

DEAD_LETTERS: Final = "dead_letters"
ALWAYS_DEAD_LETTERS: Final = "reconcile_dead_letters"
_ALL: Final = "reconcile_all_dead_letters"
_STEP: Final = "step"
_TYPES: Final = {column.name: column.type for column in DEAD_LETTER_COLUMNS}


def is_dead_letters(program: Program, name: str) -> bool:
    """Whether a query of the program means the dead letters by this name."""
    return fold(name) == ALWAYS_DEAD_LETTERS or (fold(name) == DEAD_LETTERS and program.relation(name) is None)


def dead_letter_sources(target: Target, pipeline: str, names: tuple[str, ...], step: int) -> tuple[Source, ...]:
    """The sources of a selection that reads them under these names, as of a step."""
    if not names:
        return ()
    location = dead_letters_location(target, pipeline)
    version = table_version(location)
    if version is None:
        return tuple(EmptySource(name, DEAD_LETTER_COLUMNS) for name in names)
    query = f"SELECT * FROM {_ALL} WHERE {_STEP} <= {step}"
    return (StoredSource(_ALL, location, version), *(InlineSource(name, query) for name in names))


def rows_without_engine(target: Target, pipeline: str, sql: str, step: int) -> Rows | None:
    """The answer to a simple query of the dead letters (see the module); None for any other."""
    asked = _asked(sql)
    if asked is None:
        return None
    equal, limit = asked
    location, columns = dead_letters_location(target, pipeline), tuple(_TYPES)
    return Rows(DEAD_LETTER_COLUMNS, equal_rows(location, columns, equal, (_STEP, step), limit))


def _asked(sql: str) -> tuple[dict[str, str | int], int | None] | None:
    """The values that columns must have, and how many rows are wanted at most."""
    words = iter([token for token in tokens_of(sql, Dialect.QUERY) if not token.is_symbol(";")])
    if not (_next(words).is_word("SELECT") and _next(words).is_symbol("*") and _next(words).is_word("FROM")):
        return None
    if fold(_next(words).text) not in (DEAD_LETTERS, ALWAYS_DEAD_LETTERS):
        return None
    equal: dict[str, str | int] = {}
    following, expected = _next(words), "WHERE"
    while following.is_word(expected):
        column, sign, value = fold(_next(words).text.strip("`")), _next(words), _value(_next(words))
        if not sign.is_symbol("=") or value is None or column in equal or _TYPES.get(column) != _KINDS[type(value)]:
            return None
        equal[column] = value
        following, expected = _next(words), "AND"
    limit = None
    if following.is_word("LIMIT"):
        most = _value(_next(words))
        if not isinstance(most, int):
            return None
        limit, following = most, _next(words)
    return (equal, limit) if following.kind is Kind.END else None


_KINDS: Final = {str: "string", int: "bigint"}


def _next(words: Iterator[Token]) -> Token:
    return next(words, Token(Kind.END, "", 0, 0))


def _value(token: Token) -> str | int | None:
    """What a literal says that every SQL reads alike; None for all others."""
    if token.kind is Kind.NUMBER and token.text.isascii() and token.text.isdecimal() and len(token.text) < 19:
        return int(token.text)
    inner = token.text[1:-1]
    plain = token.kind is Kind.STRING and token.text.startswith(("'", '"')) and token.text[0] == token.text[-1]
    return inner if plain and "\\" not in inner and token.text[0] not in inner else None
