"""Which functions of the pipeline a text calls, and the canonical text of a function's body. No parser is needed for these.

A name right before a parenthesis is a call, also behind a point: `session.f(x)` calls f. That errs on the side of calling:
the name of a CTE with a list of columns looks the same.
"""

from collections.abc import Collection
from typing import Final

from reconciler.base.names import fold
from reconciler.sql.canonicalise import canonical_text
from reconciler.sql.lexer import Dialect, Kind, tokens_of
from reconciler.sql.spelling import Spelling

# Looking for so many in a text is less work than cutting it into tokens.
_FEW: Final = 50


def canonical_expression(expression: str, spelling: Spelling = Spelling.EVENED_OUT) -> str:
    """The canonical text of a body."""
    # As a whole query, so that its words are judged as those of one.
    text = canonical_text("SELECT " + expression, spelling)
    return text[len("select ") :] if text[:7].lower() == "select " else text


def functions_called(text: str, known: Collection[str]) -> tuple[str, ...]:
    """The functions of `known` (folded) that a query or expression calls, sorted."""
    candidates = known
    if len(known) <= _FEW:
        lower = text.lower()
        candidates = {name for name in known if name in lower}
        if not candidates:
            return ()
    found: set[str] = set()
    name: str | None = None
    for token in tokens_of(text, Dialect.QUERY):
        if name is not None and token.is_symbol("("):
            found.add(name)
        key = fold(token.text.strip("`")) if token.kind in (Kind.WORD, Kind.QUOTED) else None
        name = key if key in candidates else None
    return tuple(sorted(found))
