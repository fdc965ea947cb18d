"""Markdown pages as a test reads them: fenced blocks, the files and commands in them, results compared with what is shown.

How a page is written:
- A path in backticks, alone in the line before a block: the block is that file.
- A block in `console`: lines that begin with `$ ` are commands, what follows is all that they print, on stdout and stderr; a
  last line `(exit N)` says that the exit code is N and not 0.
- `…` alone in a line of a result stands for any lines; within a line, for anything.
- Twelve hexadecimal digits in a result stand for the digits that are really printed, and from then on for them everywhere.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

_FENCE = re.compile(r"^(`{3,}|~{3,})\s*([\w-]*)[^\n]*\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"(?:^|\n)`([\w./-]+)`\n$")
_EXIT = re.compile(r"^\(exit (\d+)\)$")
_DIGEST = re.compile(r"\b[0-9a-f]{12}\b")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, the file that it is (or None), and the line where its text begins."""

    language: str
    text: str
    file: str | None
    line: int


@dataclass(frozen=True, slots=True)
class Command:
    """A command as shown, with what it prints and its exit code."""

    text: str
    prints: str
    code: int
    line: int


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found = []
    for match in _FENCE.finditer(page):
        file = _FILE.search(page[: match.start()])
        line = page.count("\n", 0, match.start(3)) + 1
        found.append(Block(match[2], match[3], file[1] if file else None, line))
    return found


def commands(block: Block) -> list[Command]:
    """The commands of a `console` block."""
    found: list[Command] = []
    lines = block.text.splitlines()
    starts = [index for index, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        shown = lines[start + 1 : end]
        code = 0
        if shown and (exited := _EXIT.match(shown[-1])):
            code = int(exited[1])
            shown = shown[:-1]
        prints = "".join(f"{line}\n" for line in shown)
        found.append(Command(lines[start].removeprefix("$ "), prints, code, block.line + start))
    return found


def pages(root: Path) -> list[Path]:
    """The pages that tell users what to type."""
    return sorted([root / "README.md", *(root / "docs").rglob("*.md")])


@dataclass(slots=True)
class Digests:
    """What the digests that a page shows stand for."""

    real: dict[str, str] = field(default_factory=dict)

    def put_into(self, text: str) -> str:
        """A text with the digests of the page replaced by those that they stand for."""
        return _DIGEST.sub(lambda found: self.real.get(found[0], found[0]), text)

    def matches(self, shown: str, printed: str) -> bool:
        """Whether what was printed is what is shown; binds the digests that are shown."""
        names: list[str] = []

        def part(text: str) -> str:
            pieces = []
            last = 0
            for found in _DIGEST.finditer(text):
                pieces.append(_anything(text[last : found.start()]))
                pieces.append("([0-9a-f]{12})")
                names.append(found[0])
                last = found.end()
            return "".join([*pieces, _anything(text[last:])])

        pattern = "".join(r"(?:.*\n)*?" if line == "…" else part(line) + r"\n" for line in shown.splitlines())
        found = re.fullmatch(pattern, printed)
        if found is None:
            return False
        self.real.update(zip(names, found.groups(), strict=True))
        return True


def _anything(text: str) -> str:
    return re.escape(text).replace("…", ".*")
