"""The commands of `reconcile`, as messages name them: what a user pastes has to act where the message came from.

A message that names a command writes it as for the default environment: whoever makes one knows none (`reconcile run shop`).
Whoever shows it puts the environment in (`in_environment`): the command line on all that it says (`cli.output`), `status`
on what it tells.
"""

import shlex
from typing import Final

from reconciler.base.patterns import lazy_pattern

COMMANDS: Final = (
    "validate",
    "plan",
    "explain",
    "approve",
    "reject",
    "apply",
    "promote",
    "unstage",
    "rollback",
    "run",
    "stop",
    "pause",
    "resume",
    "connector",
    "execute",
    "query",
    "status",
    "events",
    "versions",
    "history",
    "prune",
    "checkpoint",
    "serve",
)
"""Those that act on an environment, in the order in which they are listed."""

# After the name comes a space, the end, or what ends a sentence; a colon follows in marks of other programs.
_COMMAND: Final = lazy_pattern(rf"\breconcile ({'|'.join(COMMANDS)})(?! --env\b)(?=[\s`'\"),;.]|$)")


def in_environment(text: str, environment: str | None) -> str:
    """A text whose commands act on that environment; None: on the default one, which need not be said."""
    if not environment:
        return text
    name = shlex.quote(environment)
    return _COMMAND.sub(lambda found: f"{found[0]} --env {name}", text)
