"""What is told of the service itself; and what the API has that has no meaning here."""

import re
from collections.abc import Callable
from typing import Final

from fastapi import APIRouter

from reconciler.base.digest import JsonObject
from reconciler.base.version import __version__
from reconciler.rest.errors import Refused
from reconciler.rest.shared import Service

API_VERSION: Final = "0.369.0"
"""The version of the client that the API is tested with."""

_PART: Final = re.compile(r"{(\w+)}")
NOT_HERE: Final = (
    ("POST", "/pipelines/{name}/activate", "standby: nothing is gained by it here, as all state is in Delta tables"),
    ("POST", "/pipelines/{name}/rebalance", "Spark balances joins by itself (adaptive query execution)"),
    ("POST", "/pipelines/{name}/start_compaction", "a run puts small files together by itself"),
    ("POST", "/pipelines/{name}/clock/advance", "time is not driven from outside here"),
    ("POST", "/pipelines/{name}/samply_profile", "there is no native process to sample: Spark's own pages show its jobs"),
    ("GET", "/pipelines/{name}/samply_profile", "there is no native process to sample: Spark's own pages show its jobs"),
    ("GET", "/pipelines/{name}/circuit_profile", "there is no circuit: Spark's own pages show how queries are carried out"),
    (
        "GET",
        "/pipelines/{name}/circuit_json_profile",
        "there is no circuit: Spark's own pages show how queries are carried out",
    ),
    ("GET", "/pipelines/{name}/heap_profile", "there is no native process to profile: Spark's own pages show its memory"),
    ("GET", "/pipelines/{name}/dataflow_graph", "there is no circuit: plans and explain show what reads what"),
    ("GET", "/pipelines/{name}/time_series", "no figures of the past are kept: have Prometheus collect the metrics"),
    ("GET", "/pipelines/{name}/time_series_stream", "no figures of the past are kept: have Prometheus collect the metrics"),
    ("POST", "/pipelines/{name}/testing", "the version of the platform is the one that is installed"),
    ("POST", "/pipelines/{name}/checkpoint/sync", "a checkpoint is in the warehouse, which may be an object store"),
    ("GET", "/pipelines/{name}/checkpoint/sync_status", "a checkpoint is in the warehouse, which may be an object store"),
    ("GET", "/pipelines/{name}/checkpoints/remote", "a checkpoint is in the warehouse, which may be an object store"),
    ("POST", "/api_keys", "the service makes no tokens: the file of tokens names who may ask"),
    ("GET", "/tenants", "there are no tenants"),
    ("POST", "/tenants", "there are no tenants"),
    ("GET", "/tenants/{tenant}", "there are no tenants"),
    ("PATCH", "/tenants/{tenant}", "there are no tenants"),
    ("DELETE", "/tenants/{tenant}", "there are no tenants"),
    ("GET", "/oidc_trust", "there are no tokens of identity providers"),
    ("POST", "/oidc_trust", "there are no tokens of identity providers"),
    ("GET", "/oidc_trust/{name}", "there are no tokens of identity providers"),
    ("DELETE", "/oidc_trust/{name}", "there are no tokens of identity providers"),
    ("GET", "/cluster/events", "there is no cluster of services"),
    ("GET", "/cluster/events/{event}", "there is no cluster of services"),
)
"""What is answered with 501, and why."""


def router(service: Service) -> APIRouter:
    """The requests."""
    pages = APIRouter(tags=["service"])

    @pages.get("/config")
    def config() -> JsonObject:
        """What the client looks at first."""
        return {
            "version": API_VERSION,
            "edition": "Open source",
            "revision": f"reconciler {__version__}",
            "runtime_revision": service.target.spark_version,
            "changelog_url": "",
            "license_validity": None,
            "telemetry": "",
            "update_info": None,
            "build_info": {},
            "unstable_features": None,
        }

    @pages.get("/cluster_healthz")
    def healthy() -> JsonObject:
        """Whether the service answers."""
        return {"all_healthy": True, "api": {"healthy": True}, "compiler": {"healthy": True}, "runner": {"healthy": True}}

    for method, path, reason in NOT_HERE:
        parts = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in _PART.findall(path)
        ]
        pages.add_api_route(
            path,
            _refusing(reason),
            methods=[method],
            status_code=501,
            summary=reason,
            openapi_extra={"parameters": parts},
        )
    return pages


def _refusing(reason: str) -> Callable[[], JsonObject]:
    def refuse() -> JsonObject:
        raise Refused(501, "NotSupported", reason)

    return refuse
