"""Where a node of a parsed query stands: the offset of its first token that the tree remembers."""

from sqlglot import exp


def own_offset(node: exp.Expr) -> int | None:
    """The offset of the token that the node itself was made from, if the tree says so."""
    start = node.meta.get("start")
    return start if isinstance(start, int) else None


def offset_of(node: exp.Expr) -> int | None:
    """The smallest offset known below the node (and of itself)."""
    found = [start for part in node.walk() if (start := own_offset(part)) is not None]
    return min(found) if found else None


def written_name(node: exp.Expr, text: str) -> str | None:
    """The name of a function as it stands in the text, when the tree remembers where."""
    start, end = node.meta.get("start"), node.meta.get("end")
    if not isinstance(start, int) or not isinstance(end, int):
        return None
    return text[start : end + 1].strip("`")
