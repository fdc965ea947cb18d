"""Where no engine lets an output write: within a warehouse. Plans refuse it (C418); but secrets are resolved, and links are
followed, only when a sink is written."""

from reconciler.base.errors import EngineError
from reconciler.delta.warehouse_places import warehouse_around
from reconciler.engine.protocol import Emission


def require_outside_of_warehouses(emission: Emission, location: str) -> None:
    """Raises EngineError (X755) for a sink that lies within a warehouse now. Whoever writes asks when it opens the place and
    just before it writes: a link may have changed meanwhile. `location` has its secrets resolved."""
    found = warehouse_around(location, emission.warehouses)
    if found is not None:
        raise within(emission, found)


def within(emission: Emission, warehouse: str) -> EngineError:
    """The error for a sink that lies within this warehouse."""
    return EngineError(
        "X755",
        f"connector {emission.connector}: its sink is inside the warehouse {warehouse}, where only reconciler may write",
        "choose a folder outside every warehouse, and check where the links on its path lead",
    )
