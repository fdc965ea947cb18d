"""What a live run has done beside its steps, as the run sees it: it is asked between two steps, and never waits for it."""

from typing import Protocol

from reconciler.state.lease import HeldLease


class Upkeep(Protocol):
    """Work that goes on beside a run, of which only what needs the lease is done between two steps."""

    def between_steps(self, lease: HeldLease) -> bool:
        """Do what is due and takes a moment; begin what takes longer. True: the head may have been replaced, and is to be
        read anew. Raises LeaseHeld when the lease was lost."""
        ...

    def end(self) -> None:
        """Begin nothing more, and let what goes on end soon."""
        ...
