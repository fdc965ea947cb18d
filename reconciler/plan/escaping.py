"""What users wrote, as text of a markdown comment that can't act there.

Text that holds nothing with a meaning to markdown, HTML or the host (mentions, references, links, emoji) stands as it is,
all else as code, where none of that happens. Names and clauses of ours are mostly of the first sort, so comments stay
readable; whatever is of the second sort can't begin a part, end one, or call anybody.
"""

import re

from reconciler.base.printing import printable
from reconciler.base.secrets.redaction import masked_in_code

# Underscores and hyphens only within words: elsewhere they emphasise, rule lines, or begin lists.
_PLAIN = re.compile(r"(?!.*(?:www\.|ftp:|https?:|mailto:|xmpp:|GH-\d|:[\w-]+:))[\w ,.:;()'/→…·%?-]*", re.IGNORECASE)
_EDGE = re.compile(r"(?<!\w)[_-]|[_-](?!\w)|^\s*\d+[.)]|^\s|\s$")
_IN_CODE = re.compile(r"[\w ,.:;()'/→…·%?=<>+!\"${}\[\]@#*^~-]+")


def inline(text: str) -> str:
    """A text within a paragraph, list item or table cell."""
    text = _shown(text)
    if _PLAIN.fullmatch(text) and not _EDGE.search(text) and _is_tame(text):
        return text
    return code(text)


def code(text: str) -> str:
    """A text as inline code; empty for nothing."""
    text = _shown(text)
    if not text:
        return ""
    if _IN_CODE.fullmatch(text) and text == text.strip():
        return f"`{text}`"
    # Backticks, pipes and backslashes have no spelling within a code span that holds in a table cell too.
    return f"<code>{entities(text)}</code>"


def entities(text: str) -> str:
    """A text within HTML: every sign that means something there, in markdown or to the host by its number. What looks like
    an address is broken where a line could be."""
    spelled = re.sub(r"[^\w ,;()/]|_|(?<= ) |^ | $", lambda found: f"&#{ord(found[0])};", printable(text))
    return spelled.replace("&#64;", "&#64;<wbr>")


def fenced(lines: list[str], language: str) -> str:
    """Lines as a block of code."""
    body = "\n".join(lines)
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def _shown(text: str) -> str:
    # Before it is escaped: after that no name is known by its letters.
    return printable(masked_in_code(text)[0])


def _is_tame(text: str) -> bool:
    """Whether what is not ASCII is of our own words only: letters of other scripts may look like other letters."""
    return all(character.isascii() or character in "→…·" for character in text)
