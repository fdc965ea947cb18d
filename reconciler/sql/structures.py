"""What is within a column's type: the fields of its structures, also of those in arrays and maps, by name, and the types
that have no parts."""

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias, assert_never

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.sql.types import canonical_type

Shape: TypeAlias = "Structure | Elements | Entries | Leaf"


@dataclass(frozen=True, slots=True)
class Structure:
    """The fields of a STRUCT, in its order."""

    fields: tuple[tuple[str, Shape], ...]

    def by_name(self) -> dict[str, tuple[str, Shape]]:
        """The fields by folded name."""
        return {fold(name): (name, shape) for name, shape in self.fields}


@dataclass(frozen=True, slots=True)
class Elements:
    """An ARRAY of these."""

    element: Shape


@dataclass(frozen=True, slots=True)
class Entries:
    """A MAP of these."""

    key: Shape
    value: Shape


@dataclass(frozen=True, slots=True)
class Leaf:
    """A type without parts, and what is no type: canonical as `shape_of` reads it, else as its source names it."""

    type: str


@lru_cache(maxsize=4096)
def shape_of(type_: str) -> Shape:
    """The shape of a type as SQL writes it."""
    canonical = canonical_type(type_)
    return Leaf(type_) if canonical is None else _read(canonical)


def _read(canonical: str) -> Shape:
    name, opens, inner = canonical.partition("<")
    parts = list(_parts(inner[:-1])) if opens else []
    match name:
        case "ARRAY":
            return Elements(_read(parts[0]))
        case "MAP":
            return Entries(_read(parts[0]), _read(parts[1]))
        case "STRUCT":
            named = (part.partition(":") for part in parts)
            return Structure(tuple((field, _read(kind.removesuffix(" NOT NULL"))) for field, _, kind in named))
        case _:
            return Leaf(canonical)


def _parts(inner: str) -> Iterator[str]:
    """What stands between the commas of a canonical type, but for those within brackets."""
    depth = start = 0
    for place, letter in enumerate(inner):
        if letter in "<(":
            depth += 1
        elif letter in ">)":
            depth -= 1
        elif letter == "," and depth == 0:
            yield inner[start:place]
            start = place + 1
    yield inner[start:]


def paths(shape: Shape, path: str) -> Iterator[str]:
    """The path of every field within a value at a path: `column.field.field`. Elements and entries add nothing to it."""
    match shape:
        case Structure():
            for name, inner in shape.fields:
                yield f"{path}.{name}"
                yield from paths(inner, f"{path}.{name}")
        case Elements():
            yield from paths(shape.element, path)
        case Entries():
            yield from paths(shape.value, path)
        case Leaf():
            return
        case _:
            assert_never(shape)


def without_taker(source: Shape, target: Shape, path: str) -> Iterator[str]:
    """The paths of fields of a source that the target does not have; the other way round: fields that a source lacks."""
    match source, target:
        case Structure(), Structure():
            taken = target.by_name()
            for name, inner in source.fields:
                found = taken.get(fold(name))
                if found is None:
                    yield f"{path}.{name}"
                else:
                    yield from without_taker(inner, found[1], f"{path}.{name}")
        case Elements(), Elements():
            yield from without_taker(source.element, target.element, path)
        case Entries(), Entries():
            yield from without_taker(source.value, target.value, path)
        case _:
            return


def without_common_field(source: Shape, target: Shape, path: str) -> str | None:
    """The path of a structure of the source that has no field of the target's; None where there is none such."""
    match source, target:
        case Structure(), Structure():
            known = source.by_name()
            pairs = [(known[fold(name)][1], inner, f"{path}.{name}") for name, inner in target.fields if fold(name) in known]
            if not pairs:
                return path
            return next((found for pair in pairs if (found := without_common_field(*pair)) is not None), None)
        case Elements(), Elements():
            return without_common_field(source.element, target.element, path)
        case Entries(), Entries():
            return without_common_field(source.value, target.value, path)
        case _:
            return None
