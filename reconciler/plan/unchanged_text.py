"""The text of a plan in which nothing changed. Apart from `text_form`, because it needs no plan."""

from collections.abc import Callable


def render_unchanged(pipeline: str, environment: str, paint: Callable[[str, str], str]) -> str:
    """Title and verdict, ending in a newline. `paint(text, style)` gets the style title."""
    return f"{paint(f'{pipeline} ({environment})', 'title')}\n  no changes\n"
