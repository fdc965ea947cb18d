"""The environments that pipelines are applied to, as `reconcile.yaml` names them. See `project` for how it is read."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final, Literal

from reconciler.base.dataclass import dataclass

PROJECT_FILE: Final = "reconcile.yaml"


@dataclass(frozen=True, slots=True)
class Environment:
    """One environment. `branch` is the branch that merged locks must be on; `spark` holds session settings as texts."""

    name: str
    warehouse: str
    variables: Mapping[str, str] = field(default_factory=dict)
    first_apply: Literal["allow", "await_approval"] = "allow"
    branch: str | None = None
    spark: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Project:
    """The environments by name, sorted, and the one that is meant when a command names none."""

    environments: Mapping[str, Environment]
    default: str


def project_without_file() -> Project:
    """The project of a repository without the file."""
    return Project({"dev": Environment("dev", ".reconcile/warehouse")}, "dev")
