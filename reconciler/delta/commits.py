"""What single commits of a Delta table say, read from its log: cheap, and for tables of any size."""

import json

from reconciler.base.digest import JsonObject, json_lines
from reconciler.base.errors import RegistryError
from reconciler.delta.objects import read_objects
from reconciler.delta.transactions import USER_METADATA, name_of
from reconciler.engine.stored import Transaction

_FAR = 1000


def said_with(location: str, newest: int, transaction: Transaction) -> JsonObject | None:
    """What the commit says of itself that carries exactly this transaction, nothing as nothing; None where it can't be
    looked up: there is none, very many others came after it, or the log was cleaned up. `newest` is the table's version."""
    found = _commit_with(location, newest, transaction)
    return None if found is None else _said(found[1])


def version_with(location: str, newest: int, transaction: Transaction) -> int | None:
    """The version whose commit carries exactly this transaction, looked up as in `said_with`."""
    found = _commit_with(location, newest, transaction)
    return None if found is None else found[0]


def version_of(location: str, newest: int, transaction: Transaction) -> int:
    """The same of a table that has the transaction. Raises RegistryError (G602) where its log does not say any more."""
    found = version_with(location, newest, transaction)
    if found is None:
        raise RegistryError("G602", f"the log of {location} no longer has the commit of {name_of(transaction)}")
    return found


def _commit_with(location: str, newest: int, transaction: Transaction) -> tuple[int, list[JsonObject]] | None:
    for version in range(newest, max(-1, newest - _FAR), -1):
        try:
            (text,) = read_objects(location, [f"_delta_log/{version:020d}.json"])
        except RegistryError:
            continue
        actions = list(json_lines(text.decode()))
        found = [one["txn"] for one in actions if "txn" in one and one["txn"]["appId"] == transaction.application]
        numbers = [int(one["version"]) for one in found]
        if transaction.version in numbers:
            return version, actions
        if any(number < transaction.version for number in numbers):
            # They only rise.
            return None
    return None


def _said(actions: list[JsonObject]) -> JsonObject:
    for action in actions:
        if "commitInfo" in action:
            try:
                said = json.loads(action["commitInfo"].get(USER_METADATA) or "null")
            except ValueError:
                # Whoever writes beside us may say what he likes.
                return {}
            return said if isinstance(said, dict) else {}
    return {}
