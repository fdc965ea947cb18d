"""What a function does, with all that it calls: two functions with equal closures give the same for the same arguments.

Names of versions play no part: `tax@v0`, recorded, does what `tax` does if both are defined so.
"""

from collections.abc import Iterable, Mapping

from reconciler.base.digest import digest_json
from reconciler.base.names import without_version
from reconciler.project.program.model import Function
from reconciler.project.program.order import topological
from reconciler.project.snapshot.fingerprint import function_content
from reconciler.sql.spelling import Spelling


def closures(functions: Mapping[str, Function], keys: Iterable[str], spelling: Spelling) -> dict[str, str]:
    """By key, the digest of all that decides what a function gives: of these functions, and of all that they call. Whoever
    compares many asks once."""
    known: dict[str, str] = {}
    for key in topological({key: functions[key].calls for key in called_closely(functions, keys)}):
        function = functions[key]
        # In a circle of calls, which is an error elsewhere, one has to be the first.
        called = {without_version(one): known.get(one, "") for one in function.calls if one in functions}
        known[key] = digest_json({**function_content(function, spelling), **({"calls": called} if called else {})})
    return known


def called_closely(functions: Mapping[str, Function], calls: Iterable[str]) -> frozenset[str]:
    """The keys of all functions that are called, directly or through others."""
    found: set[str] = set()
    waiting = list(calls)
    while waiting:
        key = waiting.pop()
        if key in functions and key not in found:
            found.add(key)
            waiting += functions[key].calls
    return frozenset(found)
