"""Parts of a text by its tokens: parentheses, what stands between commas, other texts in their place; without a parser."""

from collections.abc import Iterator, Sequence

from reconciler.sql.block_model import Span
from reconciler.sql.lexer import Kind, Token


def closing(tokens: Sequence[Token], opening: int) -> int | None:
    """The index of the parenthesis that closes the one at that index."""
    depth = 0
    for index in range(opening, len(tokens)):
        depth += tokens[index].is_symbol("(") - tokens[index].is_symbol(")")
        if depth == 0:
            return index
    return None


def split(tokens: Sequence[Token]) -> Iterator[Span]:
    """The parts of a list between its commas."""
    depth = first = 0
    for index, token in enumerate(tokens):
        if token.kind is Kind.SYMBOL:
            depth += (token.text in "([") - (token.text in ")]")
            if depth == 0 and token.text == "," and index > first:
                yield Span(tokens[first].start, tokens[index - 1].end)
                first = index + 1
    if first < len(tokens):
        yield Span(tokens[first].start, tokens[-1].end)


def with_texts(query: str, texts: Sequence[tuple[Span, str]]) -> str:
    """A query with other texts in some places, which are in their order. A word may stand right before a parenthesis."""
    parts, position = [], 0
    for span, text in texts:
        parts += [query[position : span.start], f" {text} "]
        position = span.end
    return "".join((*parts, query[position:]))
