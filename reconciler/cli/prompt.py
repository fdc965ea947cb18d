"""The prompt of `reconcile query`: one SELECT after the other, each at the step that is published then.

- A query ends with a semicolon at the end of a line, or with an empty line. `exit` ends the prompt; so does Ctrl-D.
- On a terminal, what was asked before is there again, also next time, and Tab completes names of relations and columns.
- Ctrl-C drops the lines that are written, or cancels the query that runs.
- Elsewhere queries are read from stdin to its end, and the first that fails ends it.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from reconciler.base.errors import EXIT_DONE, ReconcileError
from reconciler.cli.output import note, say, show_error

Result = TypeVar("Result")

_ENDS: Final = frozenset({"exit", "quit", "\\q"})
_AGAIN_SECONDS: Final = 0.3
_MOST_REMEMBERED: Final = 1_000
_SQL: Final = """
SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT JOIN LEFT RIGHT FULL ON USING UNION ALL DISTINCT AS AND OR NOT NULL CASE
WHEN THEN ELSE END CAST COUNT SUM AVG MIN MAX OVER PARTITION WITH BETWEEN LIKE IN IS EXISTS
"""
_WORDS: Final = tuple(_SQL.split())


def run_prompt(
    name: str, names: Callable[[], Mapping[str, tuple[str, ...]]], show: Callable[[str], None], is_on: bool
) -> int:
    """Read queries until there are no more, and show what each gives. `names` are what may be completed; `is_on`: people
    write them at a terminal."""
    if not is_on:
        for sql in statements(iter(sys.stdin.readline, "")):
            show(sql)
        return EXIT_DONE
    with _Remembered(names):
        while True:
            try:
                for sql in statements(_typed(name)):
                    show(sql)
                    break
                else:
                    return EXIT_DONE
            except KeyboardInterrupt:
                note("")
            except ReconcileError as error:
                show_error(error)


def waited_for(ask: Callable[[], Result], interrupt: Callable[[], None]) -> Result:
    """What a call gives, which another thread makes. Ctrl-C interrupts it, and is raised again when it is over: a connection
    is not left in the middle of an answer."""
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(ask)
        try:
            return asked.result()
        except KeyboardInterrupt:
            # What has not begun yet can't be interrupted yet.
            while not wait([asked], _AGAIN_SECONDS).done:
                interrupt()
            raise


def statements(lines: Iterator[str]) -> Iterator[str]:
    """Queries, each without the semicolon that ends it."""
    written: list[str] = []
    for line in lines:
        if not written and line.strip().rstrip(";") in _ENDS:
            return
        is_end = line.rstrip().endswith(";") or not line.strip()
        if line.strip():
            written.append(line.rstrip("\n"))
        if is_end and (sql := "\n".join(written).rstrip().rstrip(";").strip()):
            yield sql
        written = [] if is_end else written
    if sql := "\n".join(written).strip():
        yield sql


def _typed(name: str) -> Iterator[str]:
    """Lines as they are typed, until Ctrl-D."""
    prompt, more = f"{name}> ", f"{'.' * len(name)}> "
    while True:
        try:
            line = input(prompt)
        except EOFError:
            say()
            return
        yield line
        prompt = more if line.strip() else prompt


class _Remembered:
    """Lines that were typed before, and completion, where this Python has readline."""

    def __init__(self, names: Callable[[], Mapping[str, tuple[str, ...]]]) -> None:
        self._names, self._found = cache(names), list[str]()
        self._readline: Any = None

    def __enter__(self) -> None:
        try:
            import readline
        except ImportError:
            return
        self._readline = readline
        readline.set_history_length(_MOST_REMEMBERED)
        readline.set_completer_delims(" \t\n,()=<>+-*/;.")
        readline.set_completer(self._complete)
        readline.parse_and_bind("tab: complete")
        file = _history_file()
        if file is not None:
            with suppress(OSError):
                readline.read_history_file(file)

    def __exit__(self, *raised: object) -> None:
        file = _history_file()
        if self._readline is None or file is None:
            return
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.touch(mode=0o600)
            self._readline.write_history_file(file)

    def _complete(self, text: str, state: int) -> str | None:
        if state == 0:
            self._found = completions(text, self._names())
        return self._found[state] if state < len(self._found) else None


def completions(text: str, names: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Words that begin with a text: relations, then columns, then words of SQL in the letter case that is typed."""
    begun = text.casefold()
    known = [*names, *sorted({column for columns in names.values() for column in columns})]
    words = [word if text.isupper() or not text else word.lower() for word in _WORDS]
    return list(dict.fromkeys(one for one in (*known, *words) if one.casefold().startswith(begun)))


def _history_file() -> Path | None:
    base = os.environ.get("XDG_STATE_HOME")
    home = os.environ.get("HOME")
    folder = Path(base) if base else Path(home) / ".local" / "state" if home else None
    return None if folder is None else folder / "reconcile" / "queries"
