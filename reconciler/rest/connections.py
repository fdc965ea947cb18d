"""Connections on which nobody asks anything: they are closed, so that they take no place from those who do.

So many connections are open at most. Whoever opens all of them and sends half of a request on each would shut out everybody
else, without a token. uvicorn waits without end for the head of a request; here it has to come in time.
"""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class Connection(H11Protocol):
    """See the module."""

    head_seconds: ClassVar[float] = 20.0
    """Within which the head of a request comes."""
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """Wait for the head of a request; not anew because a part of it came."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_watching()
        elif self._patience is None:
            self._patience = self.loop.call_later(self.head_seconds, self.transport.close)

    def _stop_watching(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
