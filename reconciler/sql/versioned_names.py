"""Names of versions in a query: `revenue@v2` may stand wherever a relation's name does.

Spark knows no such name, so it is quoted before anything else reads the query. Only what stands close together is one name
(`revenue @ v2` is none); strings and comments stay as they are. A name that is quoted as a whole needs nothing.
"""

from reconciler.base.names import is_identifier
from reconciler.sql.lexer import Dialect, Kind, Token, tokens_of


def quote_versions(sql: str) -> str:
    """The query with each `name@version` in backticks."""
    tokens = list(tokens_of(sql, Dialect.QUERY))
    parts: list[str] = []
    position = 0
    for index, at in enumerate(tokens[1:-1], start=1):
        name, version = tokens[index - 1], tokens[index + 1]
        if (
            at.is_symbol("@")
            and _is_name(name)
            and _is_version(version)
            and name.end == at.start
            and at.end == version.start
        ):
            parts += [sql[position : name.start], f"`{name.text.strip('`')}@{version.text}`"]
            position = version.end
    return "".join([*parts, sql[position:]])


def _is_name(token: Token) -> bool:
    return token.kind in (Kind.WORD, Kind.QUOTED) and is_identifier(token.text.strip("`"))


def _is_version(token: Token) -> bool:
    return token.kind is Kind.WORD and is_identifier(token.text)
