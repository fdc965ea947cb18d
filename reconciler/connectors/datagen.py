"""`datagen`: rows that are made up, for trials, demonstrations and measurements.

Plans run one after the other; each says how many rows, how fast, and what stands in which column. A row depends only on the
seed and its number, so that whatever is read again is the same. Whether the columns exist is known when rows are made.
"""

from collections.abc import Mapping, Sequence

from reconciler.base.diagnostics import Diagnostic
from reconciler.base.digest import JsonObject
from reconciler.base.places import Path, Places
from reconciler.connectors.transport import Direction, Transport, any_values, config_of

_PLAN: Path = ("transport", "config", "plan")


def _check_further(settings: JsonObject, places: Places) -> tuple[Diagnostic, ...]:
    found: list[Diagnostic] = []
    plans = settings["transport"].get("config", {}).get("plan", [])
    for number, plan in enumerate(plans):
        path: Path = (*_PLAN, number)
        if "limit" not in plan and number < len(plans) - 1:
            message = "a plan without limit never ends, so the plans after it are never reached"
            found.append(Diagnostic("C416", message, places.of_value(path), "give it a limit, or make it the last plan"))
        for name, field in sorted(plan.get("fields", {}).items()):
            at: Path = (*path, "fields", name)
            if "range" in field and "values" in field:
                message = "values and range exclude each other"
                found.append(Diagnostic("C416", message, places.of_key((*at, "range")), "keep one of them"))
            elif "range" in field and type(field["range"][0]) is type(field["range"][1]) is not str:
                low, high = field["range"]
                if low >= high:
                    message = f"the range from {low} (included) to {high} (excluded) is empty"
                    found.append(
                        Diagnostic("C416", message, places.of_value((*at, "range")), "write the smaller value first")
                    )
    return tuple(found)


def _ends(settings: JsonObject) -> bool | None:
    plans = config_of(settings).get("plan", ())
    if not isinstance(plans, Sequence):
        return None
    # Without a plan, there is one without limit.
    return bool(plans) and all(isinstance(plan, Mapping) and "limit" in plan for plan in plans)


TRANSPORT = Transport(
    name="datagen",
    direction=Direction.INPUT,
    takes_format=False,
    not_yet={
        (("transport", "config", "workers"), None): "Spark decides how many tasks make the rows",
        (("transport", "config", "transaction_size"), None): "max_batch_size says how many rows are made at once",
    },
    check_further=_check_further,
    ends=_ends,
    values=any_values,
)
