"""From offsets in a text to lines and columns in a file. Lines end with `\\n`; columns count characters from 1."""

from bisect import bisect_right

from reconciler.base.diagnostics import Location


class Positions:
    """The lines of one text. `origin` is where its first character stands in the file."""

    __slots__ = ("_origin", "_starts")

    def __init__(self, text: str, origin: Location) -> None:
        self._origin = origin
        self._starts = [0]
        self._starts.extend(index + 1 for index, character in enumerate(text) if character == "\n")

    def at(self, offset: int) -> Location:
        """The place of the character at `offset`."""
        line = bisect_right(self._starts, offset) - 1
        column = offset - self._starts[line]
        shift = self._origin.column if line == 0 else 1
        return Location(self._origin.file, self._origin.line + line, column + shift)
