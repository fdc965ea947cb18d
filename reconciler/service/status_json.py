"""The status of pipelines as JSON, with the form that scripts can rely on: `reconciler/status/v1`."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

from reconciler.service.status_model import PipelineStatus

FORM: Final = "reconciler/status/v1"


def statuses_to_json(statuses: Iterable[PipelineStatus]) -> dict[str, Any]:
    """{form, pipelines}: of each pipeline all that `PipelineStatus` has, under the same names."""
    return {"form": FORM, "pipelines": [asdict(status) for status in statuses]}
