"""Connectors that fail: when to try them again. A failure of one never holds up another.

The first retry comes after a second, each further one after twice the time, up to a minute; success forgets the failure.
Nothing is taken for hopeless: what retrying alone can't mend (a format that does not fit, offsets that are gone) is mended
by people at a time that nobody here knows of, and its message says how.
"""

import time
from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError

UNADDRESSED: Final = "PIPELINE CONNECTOR"
"""How a command reads in the hint of whoever knows neither name."""

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Failure:
    """A connector's failure: the error, how often it came in a row, and when to try again."""

    error: EngineError
    attempts: int
    retry: float
    retry_at: datetime


class Failures:
    """The connectors of a run that fail now, by their keys."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._clock = clock
        self._now = now
        self._failures: dict[str, Failure] = {}

    def add(self, key: str, error: EngineError) -> Failure:
        """A connector failed, perhaps again."""
        known = self._failures.get(key)
        attempts = known.attempts + 1 if known is not None else 1
        wait = wait_after(attempts)
        failure = Failure(error, attempts, self._clock() + wait, self._now() + timedelta(seconds=wait))
        self._failures[key] = failure
        return failure

    def forget(self, key: str) -> bool:
        """A connector did what it should; whether it had failed before."""
        return self._failures.pop(key, None) is not None

    def try_now(self, keys: Iterable[str]) -> None:
        """Those of these that fail are to be tried at the next look: somebody says that they can go on."""
        for key in keys:
            if key in self._failures:
                self._failures[key] = replace(self._failures[key], retry=self._clock(), retry_at=self._now())

    def keep(self, keys: Container[str]) -> None:
        """Forget the connectors that are not among these."""
        self._failures = {key: failure for key, failure in self._failures.items() if key in keys}

    def of(self, key: str) -> Failure | None:
        """A connector's failure, if it fails."""
        return self._failures.get(key)

    def waiting(self, once: bool) -> set[str]:
        """Those not to be tried now; in a run that ends by itself, nothing is tried twice."""
        now = self._clock()
        return {key for key, failure in self._failures.items() if once or failure.retry > now}

    def first(self) -> EngineError | None:
        """The error of the connector that failed first."""
        return next((failure.error for failure in self._failures.values()), None)


def wait_after(attempts: int) -> float:
    """The seconds to wait after so many failures in a row."""
    return float(min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** min(attempts - 1, 16)))


def addressed(error: EngineError, pipeline: str, connector: str) -> EngineError:
    """The error with a command in its hint that can be carried out as it stands there."""
    if error.hint is None or UNADDRESSED not in error.hint:
        return error
    return EngineError(error.code, error.message, error.hint.replace(UNADDRESSED, f"{pipeline} {connector}"))
