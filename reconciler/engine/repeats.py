"""What tells the repeat of an emission from another one that only has its number. Of a warehouse that was copied, or a
registry that was restored, outputs give numbers that somebody else has given before them."""

from reconciler.base.digest import JsonObject
from reconciler.base.errors import AnotherEmission
from reconciler.engine.protocol import Emission

ID = "emission"
"""Under this name a sink keeps an emission's id, with whatever else is said of it."""


def what_is_kept(emission: Emission) -> JsonObject:
    """What a sink keeps of an emission so that its repeat is known."""
    return {ID: emission.id} if emission.id else {}


def is_repeated(emission: Emission, kept: JsonObject) -> bool:
    """Whether what a sink keeps under an emission's number is of this one. Of one without an id, the number alone tells."""
    return is_of(emission, str(kept.get(ID, "")))


def is_of(emission: Emission, kept_id: str) -> bool:
    """`is_repeated`, by the id that a sink keeps; empty where it keeps none."""
    return not emission.id or kept_id == emission.id


def another_emission(emission: Emission, location: str, serial: int) -> AnotherEmission:
    """The error for a sink that has another emission under this one's number, or one with a later number: `serial`."""
    own = emission.transaction.version
    has = "another emission with this number" if serial == own else f"emissions of this output up to {serial}"
    return AnotherEmission(
        f"connector {emission.connector}: can't send emission {own}: {location} has {has}, which this registry "
        "does not know; nothing was written",
        serial,
    )
