"""`policy.yaml` at the root of the repository: what is done about the hazards of a plan.

Rules are asked in order; the first that matches a hazard's code and the pipeline's name decides. What no rule matches is
decided by `BUILT_IN`. A file that holds any mistake gives no policy: half a policy would let through what the other half
forbids. So a rule that can never decide anything (an unknown code, a pattern that no name can match, one hidden behind an
earlier rule) is an error, too.

This module only reads a text; whose text it is (that of the base branch), `environment.policies` decides.
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from reconciler.base.codes import CODES
from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic, errors_among, in_order
from reconciler.base.names import did_you_mean
from reconciler.base.schema_check import MANIFEST_CODES, check_against, found_words
from reconciler.project.manifest.verdicts import EVERY, POLICY_FILE, Limits, Policy, Rule, Verdict
from reconciler.project.manifest.yaml_text import YamlDocument, load_yaml

SCHEMA_FILE: Final = "policy.schema.json"
_PATTERN: Final = re.compile(r"[a-z*?][a-z0-9_*?-]*\Z")
_LONGEST_NAME: Final = 63


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """What was read. `policy` is None exactly when there is an error among the diagnostics."""

    policy: Policy | None
    diagnostics: tuple[Diagnostic, ...]


def read_policy(text: str, file: str = POLICY_FILE) -> ReadPolicy:
    """Read a policy file; `file` is what its diagnostics call it."""
    document = load_yaml(text, file)
    found = list(document.diagnostics)
    if document.value is not None:
        found += check_against(SCHEMA_FILE, document.value, document, MANIFEST_CODES)
        found += _idle_rules(document.value, document)
    diagnostics = in_order(found)
    if document.value is None or errors_among(diagnostics):
        return ReadPolicy(None, diagnostics)
    rules = tuple(
        Rule(
            rule["hazard"],
            Verdict(rule["verdict"]),
            rule.get("pipelines", EVERY),
            rule.get("approvals", 1),
            rule.get("reason", ""),
        )
        for rule in document.value.get("rules", ())
    )
    return ReadPolicy(Policy(rules, _limits(document.value.get("limits", {}))), diagnostics)


def _limits(value: Mapping[str, Any]) -> Limits:
    default = Limits()
    return Limits(
        float(value.get("removed_share", default.removed_share)),
        int(value.get("large_rows", default.large_rows)),
        int(value.get("large_bytes", default.large_bytes)),
    )


def _idle_rules(value: Any, document: YamlDocument) -> list[Diagnostic]:
    """Rules, or parts of them, that can't decide anything."""
    rules = value.get("rules") if isinstance(value, Mapping) else None
    found: list[Diagnostic] = []
    earlier: list[tuple[int, str, str]] = []
    for index, rule in enumerate(rules if isinstance(rules, list) else ()):
        if not isinstance(rule, Mapping):
            continue
        hazard, pipelines = rule.get("hazard"), rule.get("pipelines", EVERY)
        place = ("rules", index)
        if "approvals" in rule and rule.get("verdict") in ("allow", "warn", "deny"):
            message = f"approvals has no effect with verdict {rule['verdict']}"
            found.append(Diagnostic("M153", message, document.of_key((*place, "approvals")), "write verdict: approve"))
        if not isinstance(hazard, str) or not isinstance(pipelines, str):
            continue
        if re.fullmatch(r"H\d{3}", hazard) and hazard not in CODES:
            hint = did_you_mean(hazard, [code for code in CODES if code.startswith("H")])
            found.append(Diagnostic("M150", f"there is no hazard {hazard}", document.of_value((*place, "hazard")), hint))
        if pipelines and not _can_match(pipelines):
            hint = "names are lower-case letters, digits, - and _; * stands for any characters, ? for one"
            at = document.of_value((*place, "pipelines"))
            found.append(Diagnostic("M152", f"no pipeline's name can match {found_words(pipelines)}", at, hint))
        hiding = next((one for one, *other in earlier if _covers(other[0], hazard) and _covers(other[1], pipelines)), None)
        if hiding is not None:
            message = f"rule {index + 1} never decides: rule {hiding + 1} already matches everything that it matches"
            found.append(Diagnostic("M151", message, document.of_value(place), "put the more specific rule first"))
        earlier.append((index, hazard, pipelines))
    return found


def _can_match(pattern: str) -> bool:
    return bool(_PATTERN.match(pattern)) and len(pattern.replace(EVERY, "")) <= _LONGEST_NAME


def _covers(wider: str, narrower: str) -> bool:
    """Whether a pattern surely matches whatever another does. A pattern is tried as a name: what `*` and `?` match as
    letters, they match as wild cards of a narrower pattern, too, unless `?` would have to match a `*`."""
    if wider in (narrower, EVERY):
        return True
    return "?" not in wider and fnmatchcase(narrower, wider)
