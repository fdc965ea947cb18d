"""References inside the texts of a connector: `${var:name}` and `${secret:NAME}`.

Variables are texts of the environment and are put in when a manifest is read, so that the plan shows what will be used.
Secrets stay references: they are resolved by whoever runs the pipeline, and never reach a plan, a lock or the registry.
There are no other kinds, no nesting and no defaults; `${` that begins neither is an error, so that a slip of the pen is
not taken for a path. Keys are not looked at. Variables may be put in as often as their texts are not too long together.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.names import did_you_mean
from reconciler.base.places import Path, Places
from reconciler.base.secrets.names import is_secret_name
from reconciler.base.secrets.redaction import masked

_REFERENCE: Final = re.compile(r"\$\{([^{}]*)\}?")
_WELL_FORMED: Final = re.compile(r"\$\{(var|secret):([A-Za-z_][A-Za-z0-9_]*)\}")
MAXIMUM_PUT_IN: Final = 1_000_000
_KINDS: Final = ("secret", "var")


@dataclass(frozen=True, slots=True)
class Resolved:
    """A value with its variables put in. References that could not be resolved are left as written."""

    value: Any
    diagnostics: tuple[Diagnostic, ...]


def holds_reference(value: Any, kind: str) -> bool:
    """Whether a text holds a well-formed reference of that kind."""
    return isinstance(value, str) and any(match[1] == kind for match in _WELL_FORMED.finditer(value))


class Room:
    """How many characters of variables may still be put into the texts of a pipeline."""

    def __init__(self, characters: int = MAXIMUM_PUT_IN) -> None:
        self._left = characters

    def take(self, text: str) -> bool:
        """Whether there is room for this text, too."""
        self._left -= len(text)
        return self._left >= 0

    @property
    def is_full(self) -> bool:
        """Whether some text found no room."""
        return self._left < 0


def resolve_variables(value: Any, variables: Mapping[str, str], places: Places, room: Room | None = None) -> Resolved:
    """Put variables into all texts of a JSON value. `room` is that of all texts of a pipeline; what finds none is left as
    written, and told once."""
    found: list[Diagnostic] = []
    room = room or Room()

    def resolve(part: Any, path: Path) -> Any:
        match part:
            case str():
                return _resolve_text(part, path, variables, places, room, found)
            case Mapping():
                return {key: resolve(inner, (*path, key)) for key, inner in part.items()}
            case Sequence():
                return [resolve(inner, (*path, index)) for index, inner in enumerate(part)]
            case _:
                return part

    return Resolved(resolve(value, ()), tuple(found))


def _resolve_text(
    text: str, path: Path, variables: Mapping[str, str], places: Places, room: Room, found: list[Diagnostic]
) -> str:
    def replacement(match: re.Match[str]) -> str:
        reference = match[0]
        parts = _WELL_FORMED.fullmatch(reference)
        if parts is None:
            # What looks like a reference may be a part of a secret that is written in clear text.
            is_shown = masked(text) == text and not any(is_secret_name(str(part)) for part in path)
            found.append(_malformed(reference, match[1], path, places, is_shown))
        elif parts[1] == "var":
            name = parts[2]
            if name in variables:
                if room.is_full:
                    return reference
                if room.take(variables[name]):
                    return variables[name]
                message = (
                    f"with this one, the values of variables in the pipeline's connectors exceed {MAXIMUM_PUT_IN:,} "
                    "characters"
                )
                found.append(Diagnostic("M103", message, places.of_value(path), "use shorter values, or fewer variables"))
                return reference
            hint = did_you_mean(name, variables) or "declare it under variables of each environment in reconcile.yaml"
            found.append(Diagnostic("C413", f"unknown variable {name!r}", places.of_value(path), hint))
        return reference

    return _REFERENCE.sub(replacement, text)


def _malformed(reference: str, inside: str, path: Path, places: Places, is_shown: bool) -> Diagnostic:
    if not is_shown:
        return Diagnostic("C414", "malformed reference", places.of_value(path), "write ${secret:NAME}")
    kind, colon, _ = inside.partition(":")
    hint = "write ${var:name} or ${secret:NAME}"
    if not reference.endswith("}"):
        hint = "close it with }"
    elif colon and kind not in _KINDS:
        hint = did_you_mean(kind, _KINDS) or hint
    elif not colon:
        hint = f"write ${{var:{inside}}}" if re.fullmatch(r"[A-Za-z_]\w*", inside) else hint
    return Diagnostic("C414", f"malformed reference {reference!r}", places.of_value(path), hint)
