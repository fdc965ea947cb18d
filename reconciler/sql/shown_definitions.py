"""A definition as it may be shown: what stands in the settings of connectors within it may be secret, and is left out."""

from typing import Final

from reconciler.sql.lexer import Dialect, Kind, tokens_of, unquote

LEFT_OUT: Final = "'…'"


def without_connectors(sql: str) -> str:
    """The text of CREATE TABLE or CREATE VIEW with `'…'` in place of the JSON of `'connectors' = '[…]'`."""
    if "connectors" not in sql.lower():
        return sql
    tokens = list(tokens_of(sql, Dialect.DDL))
    shown, end = "", 0
    for name, sign, value in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_property = name.kind is Kind.STRING and unquote(name).lower() == "connectors" and sign.is_symbol("=")
        if is_property and value.kind in (Kind.STRING, Kind.BAD):
            shown += sql[end : value.start] + LEFT_OUT
            end = value.end
    return shown + sql[end:]
