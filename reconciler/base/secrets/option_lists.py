"""The entries of lists of options (`OPTIONS (password 'x')`), where a blank may stand between a name and its value.

A list is read from each `options` on, wherever it stands: what comes before it may have put the quotes the wrong way round.
An entry that can't be read is left out, those after it are read. Reading takes as long as the text is: once what was read is
longer than the text, no list within another is read by itself.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.patterns import lazy_pattern
from reconciler.base.secrets.code_parts import OPTION_PART, Part

_LIST: Final = lazy_pattern(r"(?<![\w.])(?:options|(?:tbl|db|serde)?properties|with)(?!\w)", re.IGNORECASE)
_BEFORE_A_NAME: Final = frozenset({"set", "add", "drop"})
_JOINED_BY: Final = frozenset({"||", "+"})
_SPARE: Final = 20_000


@dataclass(frozen=True, slots=True)
class Option:
    """An entry of a list of options: its name, and where its value, or a literal of it, is written, without the quotes
    around it."""

    name: str
    start: int
    end: int


def options_in(text: str) -> Iterator[Option]:
    """The entries of all lists of options, some twice."""
    left = len(text) + _SPARE
    position = 0
    while (named := _LIST.search(text, position)) is not None:
        entries, end = _entries(text, named.end())
        left -= end - named.end()
        position = named.end() if left > 0 else end
        for entry in entries:
            yield from _options(entry)


def _entries(text: str, position: int) -> tuple[list[list[Part]], int]:
    """What stands between the commas of the list that opens here, gaps left out, and where it ends; no entries where none
    opens."""
    entries: list[list[Part]] = []
    depth = 0
    while (found := OPTION_PART.match(text, position)) is not None:
        position = found.end()
        if found["gap"] is not None:
            continue
        sign = found["sign"]
        if not entries:
            if sign != "(":
                break
            entries.append([])
        elif depth == 0 and sign == ",":
            entries.append([])
        elif (depth == 0 and sign == ")") or sign == ";":
            break
        else:
            depth += {"(": 1, ")": -1}.get(sign, 0)
            entries[-1].append(found)
    return entries, position


def _options(entry: Sequence[Part]) -> Iterator[Option]:
    start = 0
    while start < len(entry) and _name_in(entry[start]) is None:
        start += 1
    if start + 1 < len(entry) and (entry[start]["word"] or "").lower() in _BEFORE_A_NAME:
        start += _name_in(entry[start + 1]) is not None
    name, position = _name(entry, start)
    if position < len(entry) and entry[position]["sign"] in ("=", "=="):
        position += 1
    is_joined = True
    while position < len(entry):
        if not is_joined and entry[position]["literal"] is None:
            # A word behind the value; literals behind it may belong to it (CASE … END).
            position += 1
            continue
        spans, position = _term(entry, position)
        for first, last in spans:
            yield Option(name, first, last)
        is_joined = position < len(entry) and entry[position][0] in _JOINED_BY
        position += is_joined


def _name(entry: Sequence[Part], position: int) -> tuple[str, int]:
    """A name, which may have parts (a.`b`), and where what follows it begins."""
    name = ""
    while position < len(entry):
        part = _name_in(entry[position])
        is_first = not name
        if part is None or not (is_first or _goes_on(entry[position - 1], entry[position])):
            break
        name += part
        position += 1
    return name, position


def _goes_on(part: Part, following: Part) -> bool:
    if part.end() != following.start():
        return False
    return (part["word"] or "").endswith(".") or (following["word"] or "").startswith(".")


def _name_in(part: Part) -> str | None:
    if part["literal"] is not None:
        return part["literal"][1:-1]
    return part["word"] if part["quoted"] is None else part["quoted"]


def _term(entry: Sequence[Part], position: int) -> tuple[list[tuple[int, int]], int]:
    """Where what may be secret of one term of a value is written: literals side by side as one, those of a call, a word with
    all that touches it. And where the term ends."""
    part = entry[position]
    if part["literal"] is not None:
        last = _after_literals(entry, position)
        return [(part.start("literal") + 1, entry[last - 1].end() - 1)], last
    if part["quoted"] is not None:
        return [part.span("quoted")], position + 1
    opens = position + (part["word"] is not None)
    if opens < len(entry) and entry[opens]["sign"] == "(":
        return _within(entry, opens)
    if part["word"] is None:
        return [], len(entry)
    last = position + 1
    while last < len(entry) and entry[last].start() == entry[last - 1].end() and _is_bare(entry[last]):
        last += 1
    return [(part.start(), entry[last - 1].end())], last


def _is_bare(part: Part) -> bool:
    return part["word"] is not None or part["sign"] not in (None, "(", ")", "||")


def _within(entry: Sequence[Part], position: int) -> tuple[list[tuple[int, int]], int]:
    """The literals within the parentheses that open here, and where these end."""
    spans: list[tuple[int, int]] = []
    depth = 0
    while position < len(entry):
        part = entry[position]
        depth += {"(": 1, ")": -1}.get(part["sign"], 0)
        last = _after_literals(entry, position)
        if last > position:
            spans.append((part.start("literal") + 1, entry[last - 1].end() - 1))
        position = max(last, position + 1)
        if depth == 0:
            break
    return spans, position


def _after_literals(entry: Sequence[Part], position: int) -> int:
    while position < len(entry) and entry[position]["literal"] is not None:
        position += 1
    return position
