"""The standard library's decorator for data classes, with methods that are made when they are needed.

The standard decorator writes the text of up to six methods for each class, and compiles them, while a module is imported. A
command imports some 250 such classes and calls few of their methods: compiling was a fifth of what a small plan costs.

Rules:
- A class behaves as one of `dataclasses.dataclass`: so do `fields`, `replace`, `asdict`, `match`, copies and pickles.
  What a class defines itself stays.
- `__init__` is compiled when the first instance is made; until then `inspect` sees no parameters of it. The other methods
  are written once, for all classes.
- Whoever asks for more than `frozen` and `slots` gets the standard decorator.
- For type checkers this is the standard decorator.

`tests/base/test_dataclass.py` compares the two.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, **others):
        """See the module."""
        if others:
            return dataclasses.dataclass(cls, frozen=frozen, slots=slots, **others)
        return _decorated(cls, frozen, slots) if cls is not None else lambda cls: _decorated(cls, frozen, slots)


def _decorated(cls: type, frozen: bool, slots: bool) -> type:
    # Otherwise the standard decorator asks for the signature of the class, to document it.
    cls.__doc__ = cls.__doc__ or cls.__name__
    # A class that defines `__eq__` alone has None as its `__hash__`.
    own = {name for name, value in cls.__dict__.items() if (name, value) != ("__hash__", None)}
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    methods = {"__init__": _first_init(made, frozen), "__repr__": _repr, **_comparisons(made, frozen)}
    for name, method in {**methods, **(_STATES if frozen and slots else {})}.items():
        if name not in own:
            setattr(made, name, method)
    if frozen:
        made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
    return made  # type: ignore[no-any-return]


def _first_init(cls: Any, frozen: bool) -> Callable[..., None]:
    """An `__init__` that compiles the one which takes its place from then on."""

    def init(self: Any, *values: Any, **named: Any) -> None:
        cls.__init__ = _compiled_init(cls, frozen)
        cls.__init__(self, *values, **named)

    return init


def _compiled_init(cls: type, frozen: bool) -> Callable[..., None]:
    """`__init__` as the standard decorator has it."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    positional, keywords, body = list[str](), list[str](), list[str]()
    for one in fields(cls):
        default, made = _default(one, known)
        if one.init:
            (keywords if one.kw_only else positional).append(one.name + default)
        if one.init or made:
            value = made or one.name
            body.append(f" _set(self, {one.name!r}, {value})" if frozen else f" self.{one.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    parameters = ", ".join(("self", *positional, *(("*", *keywords) if keywords else ())))
    exec("\n".join((f"def __init__({parameters}):", *body, " return")), known)
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _default(one: "Field[Any]", known: dict[str, Any]) -> tuple[str, str]:
    """What a field adds to its parameter, and its value where that is not just the parameter; `known` gets their names."""
    name = f"_default_{one.name}"
    if one.default_factory is not MISSING:
        known[name] = one.default_factory
        return "=_missing", f"{name}() if {one.name} is _missing else {one.name}" if one.init else f"{name}()"
    if one.default is MISSING:
        return "", ""
    known[name] = one.default
    return f"={name}", "" if one.init else name


def _comparisons(cls: type, frozen: bool) -> Mapping[str, Callable[..., Any] | None]:
    """`__eq__` and `__hash__`, by the fields that are compared, as one tuple. What can change has no hash."""
    names = [one.name for one in fields(cls) if one.compare]
    values: Callable[[Any], Any]
    if len(names) > 1:
        values = attrgetter(*names)
    else:

        def values(self: Any) -> Any:
            return tuple(getattr(self, name) for name in names)

    def equal(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": hashed if frozen else None}


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: Any, name: str, value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


_STATES: Final = {"__getstate__": _get_state, "__setstate__": _set_state}
"""Copies and pickles of what has slots would assign to its fields otherwise."""
