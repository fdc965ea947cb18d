"""`${secret:NAME}` in a connector's settings, replaced by the environment variable NAME just before use.

The values go into Spark's options and nowhere else: never into a position, a range, a message or a log.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

from reconciler.errors import EngineError

_REFERENCE = re.compile(r"\$\{secret:([^}]*)\}")


def resolved(settings: Any, environment: Mapping[str, str] | None = None) -> Any:
    """The settings with every secret in place. Raises EngineError (X715) that names a secret which is not set."""
    variables = os.environ if environment is None else environment
    match settings:
        case str():
            return _REFERENCE.sub(lambda found: _secret(found.group(1), variables), settings)
        case Mapping():
            return {name: resolved(value, variables) for name, value in settings.items()}
        case list() | tuple():
            return [resolved(value, variables) for value in settings]
        case _:
            return settings


def _secret(name: str, variables: Mapping[str, str]) -> str:
    if name not in variables:
        raise EngineError("X715", f"the secret {name} is not set", f"set the environment variable {name}")
    return variables[name]
