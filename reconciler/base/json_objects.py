"""Dataclasses to JSON objects and back, by the types of their members.

A member whose type is a dataclass, an enum, or a tuple or mapping of these is read as that; any other value is taken as it
is. A member that is missing has its default. A type in quotes, of a module that is imported for checking types alone, is not
known here: whoever reads such an object reads that member, too. A value that does not have the shape it should raises
AttributeError, KeyError, TypeError or ValueError: whoever reads the whole document says that it is damaged.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache, lru_cache, partial
from types import NoneType, UnionType
from typing import Any, Final, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

Value = TypeVar("Value")
_Reader: TypeAlias = Callable[[Any], Any]

_OF_JSON: Final = frozenset({bool, float, int, NoneType, str})


def to_json(value: Any, always: Collection[str] = ()) -> dict[str, Any]:
    """The JSON object of a dataclass. Members with their default are left out, but for those of `always`, and so are members
    that take no part in equality."""
    kind: Any = type(value)
    return {
        name: plain(found) for name, default in _stored(kind) if (found := getattr(value, name)) != default or name in always
    }


def plain(value: Any) -> Any:
    """A value of a member as JSON has it."""
    if type(value) in _OF_JSON:
        # Most are; to tell by abstract types that they are nothing else takes ten times as long.
        return value
    match value:
        case Enum():
            return value.value
        case tuple() | list():
            return [plain(item) for item in value]
        case Mapping():
            return {key: plain(item) for key, item in value.items()}
        case _:
            return to_json(value) if is_dataclass(value) else value


def from_json(kind: Callable[..., Value], value: Mapping[str, Any], **read: Any) -> Value:
    """The dataclass `kind` of its JSON object. `read` are members that the caller has read, in place of those there."""
    readers = _members(kind, frozenset(read))
    members = {name: reader(value[name]) for name, reader in readers.items() if name in value}
    return kind(**{**value, **members, **read}) if members or read else kind(**value)


@cache
def _stored(kind: Any) -> tuple[tuple[str, Any], ...]:
    """The members of a dataclass that take part in equality, with their defaults, which nobody changes."""
    return tuple((member.name, _default(member)) for member in fields(kind) if member.compare)


def _default(member: Field[Any]) -> Any:
    return member.default if member.default_factory is MISSING else member.default_factory()


@cache
def _members(kind: Any, read: frozenset[str]) -> Mapping[str, _Reader]:
    """The readers of a dataclass's members, but for those that are taken as they are, and those that were read."""
    types = {member.name: member.type for member in fields(kind) if member.name not in read}
    if any(isinstance(type_, str) for type_ in types.values()):
        types = {name: found for name, found in get_type_hints(kind).items() if name in types}
    readers = {name: _reader(type_) for name, type_ in types.items()}
    return {name: reader for name, reader in readers.items() if reader is not None}


def _reader(kind: Any) -> _Reader | None:
    """What reads values of a type; None: they are taken as they are."""
    if isinstance(kind, type) and is_dataclass(kind):
        if all(member.type in (str, bool) for member in fields(kind)):
            return partial(_shared, kind)
        return lambda value: from_json(kind, value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        return _tuple_reader(arguments)
    if origin is Mapping:
        inner = _reader(arguments[1])
        return None if inner is None else lambda value: {key: inner(member) for key, member in value.items()}
    if origin in (Union, UnionType) and len(arguments) == 2 and NoneType in arguments:
        (known,) = (_reader(argument) for argument in arguments if argument is not NoneType)
        return None if known is None else lambda value: None if value is None else known(value)
    return None


def _shared(kind: Any, value: Any) -> Any:
    """A dataclass of texts, or of what is true of something. Equal ones are one object: the columns of a thousand relations
    are mostly alike."""
    try:
        return _made(kind, *value.items())
    except TypeError:
        return from_json(kind, value)


@lru_cache(maxsize=1 << 14)
def _made(kind: Any, *members: tuple[str, Any]) -> Any:
    return kind(**dict(members))


def _tuple_reader(arguments: tuple[Any, ...]) -> _Reader:
    inner = _reader(arguments[0])
    if arguments[1:] != (...,) or inner is None:
        return tuple
    return lambda value: tuple(map(inner, value))
