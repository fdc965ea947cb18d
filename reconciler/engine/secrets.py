"""`${secret:NAME}` in a connector's settings, replaced by the environment variable NAME just before use.

The values go into Spark's options and nowhere else: never into a position, a range, a message or a log. Whoever is given one
may well quote it, so each is remembered (`secrets.known_values`) and taken out of all that is said from then on; and so is
what stands in clear where a secret belongs.

A range or a position may hold what a setting says (a query, a folder), and both stand in the registry: there the references
are put back (`concealed`), and resolved again when it is read (`revealed`).
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.secrets.known_values import remember_secret
from reconciler.base.secrets.names import is_secret_name
from reconciler.project.manifest.spark_values import may_be_credential

_REFERENCE = re.compile(r"\$\{secret:([^}]*)\}")
_SHORTEST = 4
_CREDENTIALS_OF_S3 = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


def resolved(settings: Any, environment: Mapping[str, str] | None = None, about: tuple[str, ...] = ()) -> Any:
    """The settings with every secret in place; `about` are the names on the way to them. Raises EngineError (X715) that
    names a secret which is not set."""
    variables = os.environ if environment is None else environment
    match settings:
        case str():
            text = _REFERENCE.sub(lambda found: _secret(found.group(1), variables, about), settings)
            if any(is_secret_name(name) for name in about):
                remember_secret(text, about)
            return text
        case Mapping():
            return {name: resolved(value, variables, (*about, str(name))) for name, value in settings.items()}
        case list() | tuple():
            return [resolved(value, variables, about) for value in settings]
        case _:
            return settings


def remember_credentials(spark: Mapping[str, str], environment: Mapping[str, str] | None = None) -> None:
    """Take what a session of Spark is given to log in with out of all that is said, too: of its settings, and of what S3's
    clients read from the environment."""
    variables = os.environ if environment is None else environment
    for name, text in spark.items():
        if may_be_credential(name):
            remember_secret(text, (name,))
    for name in _CREDENTIALS_OF_S3:
        remember_secret(variables.get(name, ""), (name,))


def concealed(value: Any, settings: JsonObject) -> Any:
    """A range or a position with references in place of the secrets that these settings refer to, wherever they stand in a
    text. One of less than four characters is found where it is all of a text."""
    secrets: dict[str, str] = {}
    for text in _texts(settings):
        secrets |= {str(resolved(found[0])): found[0] for found in _REFERENCE.finditer(text)}
    ordered = sorted((one for one in secrets if one), key=lambda one: (-len(one), one))
    if not ordered:
        return value
    long = "|".join(re.escape(one) for one in ordered if len(one) >= _SHORTEST)

    def without(text: str) -> str:
        if text in secrets:
            return secrets[text]
        return re.sub(long, lambda found: secrets[found[0]], text) if long else text

    return _with_texts(value, without)


def revealed(value: Any) -> Any:
    """A range or a position as it was before references were put into it. Raises EngineError (X715)."""
    return _with_texts(value, resolved)


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for part in value.values():
                yield from _texts(part)
        case list() | tuple():
            for part in value:
                yield from _texts(part)


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with all texts changed, those of names too."""
    match value:
        case str():
            return change(value)
        case Mapping():
            return {change(name): _with_texts(part, change) for name, part in value.items()}
        case list() | tuple():
            return [_with_texts(part, change) for part in value]
        case _:
            return value


def _secret(name: str, variables: Mapping[str, str], about: tuple[str, ...]) -> str:
    if name not in variables:
        raise EngineError("X715", f"the secret {name} is not set", f"set the environment variable {name}")
    remember_secret(variables[name], about)
    return variables[name]
