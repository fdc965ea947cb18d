"""Our decorator against the standard one: what classes of both do is the same."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, astuple, field, fields, is_dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.base.dataclass import dataclass

T = TypeVar("T")
Decorator = Callable[..., Any]
Maker = Callable[[Decorator], Any]
Settings = dict[str, bool]


def plain(decorate: Decorator) -> Any:
    @decorate
    class Point:
        """A point."""

        x: int
        y: str = "y"

    return Point


def undocumented(decorate: Decorator) -> Any:
    @decorate
    class Point:
        x: int

    return Point


def empty(decorate: Decorator) -> Any:
    @decorate
    class Nothing:
        """Has no fields."""

    return Nothing


def with_factories(decorate: Decorator) -> Any:
    @decorate
    class Bag:
        """Has values of its own."""

        first: int
        items: tuple[int, ...] = field(default_factory=lambda: (1, 2))
        seen: list[int] = field(default_factory=list, compare=False, repr=False)
        made: str = field(default="made", init=False)
        counted: list[int] = field(default_factory=lambda: [3], init=False, compare=False)
        last: int = field(default=0, kw_only=True)
        kind: ClassVar[str] = "bag"

    return Bag


def with_methods(decorate: Decorator) -> Any:
    @decorate
    class Loud:
        """Defines what decorators would make."""

        x: Any
        y: int = 0

        def __post_init__(self) -> None:
            object.__setattr__(self, "y", (self.y, 1))

        def __repr__(self) -> str:
            return "loud"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Loud) and self.x == other.x

    return Loud


def with_own_hash(decorate: Decorator) -> Any:
    @decorate
    class Hashed:
        """Defines its hash."""

        x: Any
        y: int = 0

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Hashed)

        def __hash__(self) -> int:
            return 7

    return Hashed


def with_own_init(decorate: Decorator) -> Any:
    @decorate
    class Made:
        """Defines how it is made."""

        x: Any
        y: int = 5

        def __init__(self, x: Any, y: int = 1) -> None:
            object.__setattr__(self, "x", [x])
            object.__setattr__(self, "y", y)

    return Made


def inherited(decorate: Decorator) -> Any:
    @decorate
    class Base:
        """A base."""

        x: Any
        y: int = 0

        def __post_init__(self) -> None:
            object.__setattr__(self, "y", (self.y, 2))

    @decorate
    class Derived(Base):
        """Adds a field, and another default."""

        y: int = 3
        z: str = "z"

    return Derived


def generic(decorate: Decorator) -> Any:
    @decorate
    class Box(Generic[T]):
        """Of anything."""

        x: T
        y: int = 0

    return Box


MAKERS = (plain, undocumented, with_factories, with_methods, with_own_hash, with_own_init, inherited, generic)
SETTINGS = [{"frozen": frozen, "slots": slots} for frozen in (True, False) for slots in (True, False)]
KINDS = [
    pytest.param(maker, settings, id="-".join([maker.__name__, *(name for name in settings if settings[name])]))
    for maker in MAKERS
    for settings in SETTINGS
]
VALUES = st.one_of(st.integers(-1, 1), st.text(max_size=1), st.just(float("nan")), st.tuples(st.integers(0, 1)), st.none())


@cache
def made_by_both(maker: Maker, **settings: bool) -> tuple[Any, Any]:
    return maker(dataclasses.dataclass(**settings)), maker(dataclass(**settings))


def outcome(act: Callable[..., Any], *values: Any, **named: Any) -> Any:
    """What something gives, or how it fails."""
    try:
        return act(*values, **named)
    except (TypeError, AttributeError) as error:
        return type(error).__name__


@pytest.mark.parametrize(("maker", "settings"), KINDS)
@given(data=st.data())
def test_instances_are_made_compared_and_shown_alike(maker: Maker, settings: Settings, data: st.DataObject) -> None:
    standard, ours = made_by_both(maker, **settings)
    drawn = data.draw(st.lists(st.tuples(st.lists(VALUES, max_size=4), st.booleans()), min_size=2, max_size=4))

    def make(cls: Any) -> list[Any]:
        return [outcome(cls, *values, **({"last": 4} if named else {})) for values, named in drawn]

    one, other = make(standard), make(ours)
    assert [str(made) for made in one] == [str(made) for made in other]
    for left, right in zip(one, other, strict=True):
        if not is_dataclass(left):
            continue
        assert outcome(hash, left) == outcome(hash, right)
        assert str(asdict(left)) == str(asdict(right))  # type: ignore[call-overload]
        assert str(astuple(left)) == str(astuple(right))  # type: ignore[call-overload]
        assert str(outcome(replace, left, x=9)) == str(outcome(replace, right, x=9))
        assert str(copy.copy(left)) == str(copy.copy(right))
    assert [[a == b for a in one] for b in one] == [[a == b for a in other] for b in other]


@pytest.mark.parametrize(("maker", "settings"), [*KINDS, *(pytest.param(empty, settings) for settings in SETTINGS)])
def test_classes_are_alike(maker: Maker, settings: Settings) -> None:
    standard, ours = made_by_both(maker, **settings)
    one, other = ([(one.name, one.init, one.compare, one.kw_only) for one in fields(cls)] for cls in (standard, ours))
    assert one == other
    assert standard.__match_args__ == ours.__match_args__
    assert getattr(standard, "__slots__", None) == getattr(ours, "__slots__", None)
    assert (standard.__qualname__, standard.__module__) == (ours.__qualname__, ours.__module__)
    assert (standard.__hash__ is None) == (ours.__hash__ is None)


@pytest.mark.parametrize("slots", [True, False])
def test_nothing_frozen_is_assigned_or_deleted(slots: bool) -> None:
    for made in (cls(1) for cls in made_by_both(plain, frozen=True, slots=slots)):
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
            made.x = 2
        with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
            del made.x
        assert made.x == 1


@dataclass(frozen=True, slots=True)
class Kept:
    """Somewhere from where it can be imported."""

    x: int
    within: "Kept | None" = None


@dataclass(frozen=True)
class Counted:
    """Computes once."""

    x: int

    @cached_property
    def doubled(self) -> int:
        return self.x * 2


def test_pickles_and_deep_copies_are_equal() -> None:
    kept = Kept(1, Kept(2))
    assert pickle.loads(pickle.dumps(kept)) == kept == copy.deepcopy(kept)
    assert repr(kept) == "Kept(x=1, within=Kept(x=2, within=None))"
    assert (Counted(2).doubled, pickle.loads(pickle.dumps(Counted(3)))) == (4, Counted(3))


def test_what_refers_to_itself_is_shown() -> None:
    seen: list[Any] = []
    bag = dataclass(frozen=True, slots=True)(type("Bag", (), {"__annotations__": {"x": Any}}))(seen)
    seen.append(bag)
    assert repr(bag) == "Bag(x=[...])"


def test_whoever_asks_for_more_gets_the_standard_decorator() -> None:
    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        x: int

    assert Ordered(1) < Ordered(2)


@pytest.mark.parametrize("slots", [True, False])
def test_what_is_not_frozen_changes(slots: bool) -> None:
    for made in (cls(1) for cls in made_by_both(plain, frozen=False, slots=slots)):
        before = copy.copy(made)
        made.x = 2
        assert (made.x, made == before, copy.deepcopy(made) == made) == (2, False, True)
        del made.x
        assert not hasattr(made, "x")


def test_the_module_compiles_nothing_before_an_instance_is_made() -> None:
    cls = dataclass(frozen=True, slots=True)(type("Point", (), {"__annotations__": {"x": int}, "__doc__": "A point."}))
    before = cls.__init__
    assert cls(1) == cls(x=1)
    assert cls.__init__ is not before
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        cls()
