"""What a pipeline is wished to be, and who starts one that is started already: a client that lost the answer asks again."""

from typing import Final

from reconciler.registry.model import Deployment
from reconciler.rest.errors import Refused

STOPPED: Final = "stopped"
RUNNING: Final = "running"
PAUSED: Final = "paused"


def require_same_start(pipeline: str, wish: Deployment, initial: str, policy: str) -> None:
    """Whether a pipeline that is started may be started so once more, which changes nothing. Raises Refused."""
    if policy != wish.policy:
        message = f"pipeline {pipeline} was started with bootstrap_policy={wish.policy}: stop it, to start it with {policy}"
        raise Refused(400, "BootstrapPolicyImmutableUnlessStopped", message)
    if initial != (wish.initial or wish.desired):
        message = f"pipeline {pipeline} was started as {wish.initial or wish.desired}: pause or resume it"
        raise Refused(400, "InitialImmutableUnlessStopped", message)
    if initial != wish.desired:
        # It was paused or resumed since: whoever starts it would wait in vain.
        how = "paused: resume it" if wish.desired == PAUSED else "running: pause it"
        raise Refused(400, "IllegalPipelineAction", f"pipeline {pipeline} is {how}")
