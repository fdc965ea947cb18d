"""Which pipelines there are, for a service that begins: the registry may be out of reach at that moment."""

import time
from typing import Final

from reconciler.base.errors import ReconcileError
from reconciler.environment.source import pipeline_names
from reconciler.environment.target import Target
from reconciler.rest.errors import may_pass
from reconciler.workspace.pipelines import known_pipelines

_POLL_SECONDS: Final = 1.0


def wait_for_known(target: Target) -> tuple[str, ...]:
    """All pipelines, when the registry can be reached; those that have files, where it is damaged."""
    while True:
        try:
            return known_pipelines(target)
        except (ReconcileError, OSError) as error:
            if not may_pass(error):
                return pipeline_names(target.root)
        time.sleep(_POLL_SECONDS)
