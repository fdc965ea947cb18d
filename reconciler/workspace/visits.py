"""A visit: the way from a pipeline whose files are being compiled through those that it reads."""

from collections.abc import Callable
from dataclasses import field

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic
from reconciler.environment.target import Target
from reconciler.project.snapshot.model import Snapshot


@dataclass(frozen=True, slots=True)
class Visit:
    """`chain` are the pipelines whose files are being compiled, the first one first. `known` is what was found of others on
    the way, so that each is compiled once, `circles` the pipelines that read each other, by the message that says so.
    `compiled` compiles the files of the last pipeline of a visit's chain: None where it has none; it raises ManifestInvalid
    with every error (`desired.begin_visit` gives it)."""

    target: Target
    chain: tuple[str, ...]
    compiled: Callable[["Visit"], Snapshot | None]
    known: dict[str, Snapshot | Diagnostic] = field(default_factory=dict)
    circles: dict[str, frozenset[str]] = field(default_factory=dict)

    def below(self, pipeline: str) -> "Visit":
        """One pipeline further."""
        return Visit(self.target, (*self.chain, pipeline), self.compiled, self.known, self.circles)

    def apart(self, pipeline: str) -> "Visit":
        """From that pipeline anew."""
        return Visit(self.target, (pipeline,), self.compiled)
