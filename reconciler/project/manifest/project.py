"""`reconcile.yaml` at the root of the repository: the environments that pipelines are applied to.

Without the file there is one environment, `dev`, with its warehouse in `.reconcile/warehouse`. A relative warehouse is
relative to the repository's root; this module only reads, whoever uses a warehouse finds it.
"""

from collections.abc import Mapping
from typing import Any, Final

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic, errors_among, in_order
from reconciler.base.names import did_you_mean
from reconciler.base.places import Below
from reconciler.base.schema_check import MANIFEST_CODES, check_against
from reconciler.connectors.references import resolve_variables
from reconciler.project.manifest.check import part
from reconciler.project.manifest.environment import PROJECT_FILE, Environment, Project, project_without_file
from reconciler.project.manifest.java_options import JAVA_OPTIONS, files_among, settings_among
from reconciler.project.manifest.read import option_text, setting_text
from reconciler.project.manifest.warehouses import canonical_warehouse, is_meant_for_s3, spelled_otherwise
from reconciler.project.manifest.yaml_text import YamlDocument, load_yaml

SCHEMA_FILE: Final = "project.schema.json"


@dataclass(frozen=True, slots=True)
class ReadProject:
    """What was read. `project` is None exactly when there is an error among the diagnostics."""

    project: Project | None
    diagnostics: tuple[Diagnostic, ...]


def read_project(text: str | None, file: str = PROJECT_FILE) -> ReadProject:
    """Read the project's file; `text` is None when there is none."""
    if text is None:
        return ReadProject(project_without_file(), ())
    document = load_yaml(text, file)
    found = list(document.diagnostics)
    if document.value is not None:
        found += check_against(SCHEMA_FILE, document.value, document, MANIFEST_CODES)
        found += _default_problems(document.value, document)
        found += _reference_problems(document.value, document)
        found += _warehouse_problems(document.value, document)
        found += _java_option_problems(document.value, document)
    diagnostics = in_order(found)
    if document.value is None or errors_among(diagnostics):
        return ReadProject(None, diagnostics)
    environments = document.value["environments"]
    default = document.value.get("default") or next(iter(environments))
    read = {name: _environment(name, environments[name]) for name in sorted(environments)}
    return ReadProject(Project(read, default), diagnostics)


def _environment(name: str, value: Mapping[str, Any]) -> Environment:
    return Environment(
        name,
        value["warehouse"],
        {key: option_text(text) for key, text in sorted(value.get("variables", {}).items())},
        value.get("first_apply", "allow"),
        value.get("branch"),
        {key: setting_text(text) for key, text in sorted(value.get("spark", {}).items())},
    )


def _default_problems(value: Any, document: YamlDocument) -> list[Diagnostic]:
    environments, default = part(value, "environments"), part(value, "default")
    if not isinstance(environments, Mapping) or not environments:
        return []
    if default is None:
        if len(environments) == 1:
            return []
        message = "there are several environments and no default"
        hint = f"write default: {min(environments)}"
        return [Diagnostic("M140", message, document.of_key(("environments",)), hint)]
    if not isinstance(default, str) or default in environments:
        return []
    hint = did_you_mean(default, environments) or f"declared: {', '.join(sorted(environments))}"
    return [Diagnostic("M140", f"there is no environment {default!r}", document.of_value(("default",)), hint)]


def _environments(value: Any) -> list[tuple[Any, Any]]:
    environments = part(value, "environments")
    return list(environments.items()) if isinstance(environments, Mapping) else []


def _warehouse_problems(value: Any, document: YamlDocument) -> list[Diagnostic]:
    """A place on S3 has one spelling: what is asked of an environment is asked of its place."""
    found: list[Diagnostic] = []
    for name, environment in _environments(value):
        written = part(environment, "warehouse")
        if not isinstance(written, str) or not is_meant_for_s3(written) or not spelled_otherwise(written):
            continue
        meant = canonical_warehouse(written)
        message = f"{written!r} is not the canonical form of a warehouse on S3"
        hint = f"write {meant}" if meant is not None else "write s3://bucket/path"
        found.append(Diagnostic("M133", message, document.of_value(("environments", name, "warehouse")), hint))
    return found


def _java_option_problems(value: Any, document: YamlDocument) -> list[Diagnostic]:
    """A setting of Spark stands under its name, where it is judged."""
    found: list[Diagnostic] = []
    for name, environment in _environments(value):
        for setting in JAVA_OPTIONS:
            written = part(part(environment, "spark"), setting)
            if not isinstance(written, str):
                continue
            place = document.of_value(("environments", name, "spark", setting))
            for hidden in settings_among(written):
                message = f"{setting} sets {hidden}, which is a setting of Spark"
                found.append(Diagnostic("M134", message, place, f"write {hidden} as a separate entry under spark"))
            for file in files_among(written):
                message = f"{setting} reads options from a file: {file}"
                found.append(Diagnostic("M134", message, place, "write the options here instead"))
    return found


def _reference_problems(value: Any, document: YamlDocument) -> list[Diagnostic]:
    """Variables are put in once: their values may refer to secrets, not to other variables."""
    found: list[Diagnostic] = []
    for name, environment in _environments(value):
        places = Below(document, ("environments", name, "variables"))
        for problem in resolve_variables(part(environment, "variables"), {}, places).diagnostics:
            if problem.code == "C413":
                message = "a variable's value can't refer to another variable"
                problem = Diagnostic("C414", message, problem.location, "write the value itself")
            found.append(problem)
    return found
