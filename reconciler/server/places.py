"""Where the server of a repository listens, and which commands are handed to it. Each command looks: imports are few."""

import os
import stat
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from reconciler.base.dataclass import dataclass

_SERVED: Final = frozenset({"query", "execute", "apply", "promote", "rollback", "prune"})
"""Commands that may need Spark."""
_SERVED_WITH: Final = {"run": ("--once",), "versions": ("--data", "refresh"), "checkpoint": ("restore",)}
"""Commands of which some forms may need Spark, and the words that tell these."""
_COMPLETION: Final = "_RECONCILE_COMPLETE"
_NOT_SERVED: Final = "RECONCILE_OWN_SPARK"
"""Set it, and a command starts a Spark of its own."""


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of a repository's server. Only its user may look into it."""

    folder: Path

    @property
    def commands(self) -> Path:
        """The socket for commands."""
        return self.folder / "commands"

    @property
    def spark(self) -> Path:
        """The socket of Spark's process."""
        return self.folder / "spark"

    @property
    def lock(self) -> Path:
        """The file that the server locks while it lives."""
        return self.folder / "lock"

    @property
    def log(self) -> Path:
        """What a server in the background has to say."""
        return self.folder / "log"

    def is_own(self) -> bool:
        """Whether the folder is there, and this user's alone."""
        try:
            found = self.folder.lstat()
        except OSError:
            return False
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def place_of(root: Path) -> Place:
    """Where the server of the repository at `root` listens. The name is short: a socket's path has a hundred characters."""
    name = sha256(os.fsencode(root.resolve())).hexdigest()[:16]
    return Place(Path(os.environ.get("TMPDIR") or "/tmp") / f"reconcile-{os.getuid()}" / name)


def is_served(arguments: Sequence[str]) -> bool:
    """Whether a command line is one that a server runs."""
    if not arguments or os.environ.get(_COMPLETION) or os.environ.get(_NOT_SERVED):
        return False
    command = arguments[0]
    return command in _SERVED or not frozenset(_SERVED_WITH.get(command, ())).isdisjoint(arguments[1:])


def repository_named(arguments: Sequence[str]) -> Path:
    """The folder that `--repo` says, else this one."""
    for number, word in enumerate(arguments):
        if word == "--repo" and number + 1 < len(arguments):
            return Path(arguments[number + 1])
        if word.startswith("--repo="):
            return Path(word.removeprefix("--repo="))
    return Path(".")
