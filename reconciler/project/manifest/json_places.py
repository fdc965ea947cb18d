"""Where the parts of a connector stand that is JSON inside a quoted string of SQL.

The reader of SQL says where the connector's `{` is. From there the JSON is walked once; it was read before, so it is
known to be sound. In a SQL string `''` stands for one quote; positions are those of the file.
"""

import json
import re
from typing import Final

from reconciler.base.diagnostics import Location
from reconciler.base.places import OnePlace, Path, Places
from reconciler.project.manifest.yaml_text import Place, YamlDocument

_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_OTHER: Final = re.compile(r"[^\s,\]}:'\"\[{]+")


def places_of_json(text: str, origin: Location) -> Places:
    """The places of the JSON value that begins at `origin` of a file with this text."""
    lines = text.split("\n")
    if not (0 < origin.line <= len(lines) and 0 < origin.column <= len(lines[origin.line - 1])):
        return OnePlace(origin)
    offset = sum(len(line) + 1 for line in lines[: origin.line - 1]) + origin.column - 1
    walk = _Walk(text, offset, origin)
    try:
        walk.value((), None)
    except (ValueError, RecursionError):
        # Not the JSON that it was said to be: better one true place than many guessed ones.
        return OnePlace(origin)
    return YamlDocument(None, walk.places, ())


class _Walk:
    """One pass over JSON inside a SQL string. Raises ValueError where it is none."""

    def __init__(self, text: str, offset: int, origin: Location) -> None:
        self._text = text
        self._offset = offset
        self._line = origin.line
        self._line_start = offset - (origin.column - 1)
        self._file = origin.file
        self.places: dict[Path, Place] = {}

    def value(self, path: Path, key: Location | None) -> None:
        """The value that begins here, after blanks."""
        self._blanks()
        self.places[path] = Place(key, self._here())
        character = self._peek()
        if character == "{":
            self._entries(path, "}", named=True)
        elif character == "[":
            self._entries(path, "]", named=False)
        elif character == '"':
            self._match(_STRING)
        else:
            self._match(_OTHER)

    def _entries(self, path: Path, closing: str, *, named: bool) -> None:
        self._offset += 1
        index = 0
        self._blanks()
        while self._peek() != closing:
            if named:
                key_place = self._here()
                key = str(json.loads(self._match(_STRING).replace("''", "'"), strict=False))
                self._blanks()
                self._expect(":")
                self.value((*path, key), key_place)
            else:
                self.value((*path, index), None)
                index += 1
            self._blanks()
            if self._peek() == ",":
                self._offset += 1
                self._blanks()
            elif self._peek() != closing:
                raise ValueError("neither a comma nor a closing bracket")
        self._offset += 1

    def _peek(self) -> str:
        if self._offset >= len(self._text):
            raise ValueError("the text ends too early")
        return self._text[self._offset]

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise ValueError(f"no {character}")
        self._offset += 1

    def _blanks(self) -> None:
        while self._offset < len(self._text) and self._text[self._offset] in " \t\r\n":
            if self._text[self._offset] == "\n":
                self._line += 1
                self._line_start = self._offset + 1
            self._offset += 1

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._offset)
        if match is None:
            raise ValueError("no JSON here")
        self._offset = match.end()
        return match[0]

    def _here(self) -> Location:
        return Location(self._file, self._line, self._offset - self._line_start + 1)
