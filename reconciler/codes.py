"""Every permanent code, in one place: code → short title. docs/errors.md explains each (a test compares the two).

Letters: M manifest (YAML), S SQL statements, P program (names, types, cycles), C connectors, A approval and apply,
G registry, X engine and execution, U usage and set-up, H hazards of a plan. A code is never reused or given another
meaning; one that is no longer issued stays here, its title starting with "(retired)".
"""

from typing import Final

_MANIFEST: Final = {
    "M100": "the pipeline's files have errors",
}

_SQL: Final[dict[str, str]] = {}

_PROGRAM: Final[dict[str, str]] = {}

_CONNECTORS: Final[dict[str, str]] = {}

_APPROVAL_AND_APPLY: Final[dict[str, str]] = {}

_REGISTRY: Final[dict[str, str]] = {}

_EXECUTION: Final[dict[str, str]] = {}

_USAGE: Final[dict[str, str]] = {}

_HAZARDS: Final[dict[str, str]] = {}

CODES: Final[dict[str, str]] = (
    _MANIFEST | _SQL | _PROGRAM | _CONNECTORS | _APPROVAL_AND_APPLY | _REGISTRY | _EXECUTION | _USAGE | _HAZARDS
)
