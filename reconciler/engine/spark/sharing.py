"""One Spark for several processes: the one that started it opens a way in for each of the others (Gateways.java).

A process that was told where to ask (`ask_first`) uses the Spark that it is offered, if that is the one that it would start
itself: the same settings, and the same environment, which Java, Hadoop and functions in Python may read. Else it starts its
own, and says what differs.
"""

import os
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark.sql import SparkSession

from reconciler.base.dataclass import dataclass

_OF_TERMINALS: Final = frozenset(
    {"PWD", "OLDPWD", "SHLVL", "_", "TERM", "COLORTERM", "NO_COLOR", "COLUMNS", "LINES", "WINDOWID", "DISPLAY", "PS1"}
)
_OF_SHELLS: Final = frozenset({"PATH", "VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "EDITOR", "VISUAL", "PAGER", "LESS"})
_BESIDE: Final = ("TERM_", "SSH_", "TMUX", "VTE_", "XDG_SESSION", "GITHUB_", "RUNNER_", "GIT_")
"""Beginnings of variables of terminals, and of what runs a command."""
_OF_THIS_PRODUCT: Final = frozenset(
    {"RECONCILE_CACHE", "RECONCILE_TRACEBACK", "RECONCILE_LEASE_SECONDS", "RECONCILE_CRASH_AT"}
)
"""Variables that only the process of a command reads."""
_SET_HERE: Final = frozenset(
    {
        "JAVA_HOME",
        "SPARK_HOME",
        "SPARK_LOCAL_IP",
        "SPARK_LAUNCHER_OPTS",
        "PYSPARK_PYTHON",
        "PYSPARK_DRIVER_PYTHON",
        "SPARK_AUTH_SOCKET_TIMEOUT",
        "SPARK_BUFFER_SIZE",
        "PYTHONHASHSEED",
    }
)
"""Variables that a process sets while it starts Spark. What they said before is part of the settings, or of no weight."""
_CLOSING_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Offer:
    """A way into a Spark that runs: its port on this machine, and what it was started with (`known_to_java`)."""

    port: int
    secret: str
    settings: Mapping[str, str]
    environment: Mapping[str, str]


Ask = Callable[[], Offer | None]
Tell = Callable[[str], None]

_asked: Ask | None = None
_tell: Tell = lambda message: None  # noqa: E731
_cancel: Callable[[], None] = lambda: None  # noqa: E731


def ask_first(ask: Ask, tell: Tell, cancel: Callable[[], None]) -> None:
    """From now on this process asks for a Spark before it starts one; `tell` hears why it does not take the offer,
    and `cancel` has its jobs cancelled there."""
    global _asked, _tell, _cancel
    _asked, _tell, _cancel = ask, tell, cancel


def cancel() -> None:
    """Cancel what this process has asked of the Spark that it was offered."""
    _cancel()


def offered() -> Offer | None:
    """The Spark that this process may use, if there is one."""
    return None if _asked is None else _asked()


def refuse(different: list[str]) -> None:
    """Say why the offer does not serve."""
    names = ", ".join(different[:3]) + (", …" if len(different) > 3 else "")
    _tell(f"starting a Spark of its own: the server's was started with another {names}")


def differing(offer: Offer, settings: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    """The names of settings and variables in which a process differs from an offer."""
    names = sorted(name for name in {*offer.settings, *settings} if offer.settings.get(name) != settings.get(name))
    theirs, ours = offer.environment, known_to_java(environment)
    return names + sorted(name for name in {*theirs, *ours} if theirs.get(name) != ours.get(name))


def known_to_java(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that may mean something to Spark, or to what it runs: all but those of terminals and shells, and ours."""
    return {
        name: text
        for name, text in environment.items()
        if name not in _OF_TERMINALS | _OF_SHELLS | _OF_THIS_PRODUCT | _SET_HERE and not name.startswith(_BESIDE)
    }


def open_gateway(session: SparkSession, name: str) -> tuple[int, str]:
    """A way in for a process that may come: port and secret."""
    secret = secrets.token_hex(32)
    return int(_gateways(session).open(name, secret)), secret


def begin_gateway(session: SparkSession) -> None:
    """A process begins to use a way in, which may have been open for long."""
    _gateways(session).begin()


def cancel_jobs(session: SparkSession, name: str) -> None:
    """Cancel the jobs of a process that uses a way in."""
    jvm: Any = session._jsc.sc()
    jvm.cancelJobsWithTag(name)


def close_gateway(session: SparkSession, name: str) -> bool:
    """End a way in, and what is done for its process. False: something of it still runs after a minute."""
    return bool(_gateways(session).close(name, int(_CLOSING_SECONDS * 1000)))


def environment_of_this_process() -> dict[str, str]:
    """What a Spark that is started now knows of the environment."""
    return known_to_java(os.environ)


def _gateways(session: SparkSession) -> Any:
    jvm: Any = session._jvm
    return jvm.reconciler.Gateways
