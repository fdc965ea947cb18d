"""The client's configuration of a pipeline: what it may say, and the whole of it where it says only some.

All that the client knows is taken and kept. What becomes of each setting is written in docs/sdk.md.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from reconciler.base.digest import JsonObject
from reconciler.rest.errors import Refused

_OF_THE_SERVICE: Final = ("FELDERA_", "KUBERNETES_", "RECONCILE_", "TOKIO_")
_RESERVED: Final = frozenset({"HOSTNAME", "RUST_LOG"})
_Kind = TypeVar("_Kind", bound=BaseModel)
_PROFILES: Final = ("dev", "unoptimized", "optimized", "optimized_symbols")


class _Resources(BaseModel):
    """`runtime_config.resources`."""

    model_config = ConfigDict(extra="allow")
    cpu_cores_min: float | None = None
    cpu_cores_max: float | None = None
    memory_mb_min: int | None = None
    memory_mb_max: int | None = None
    storage_mb_max: int | None = None
    storage_class: str | None = None
    service_account_name: str | None = None
    namespace: str | None = None


class _Runtime(BaseModel):
    """`runtime_config`, with the client's defaults."""

    model_config = ConfigDict(extra="allow")
    workers: int = 8
    hosts: int = 1
    cpu_profiler: bool = True
    tracing: bool = False
    tracing_endpoint_jaeger: str = "127.0.0.1:6831"
    min_batch_size_records: int = 0
    max_buffering_delay_usecs: int = 0
    clock_resolution_usecs: int | None = 1_000_000
    provisioning_timeout_secs: int | None = None
    logging: str | None = None
    env: dict[str, str] = {}
    resources: _Resources = _Resources()


class _Program(BaseModel):
    """`program_config`, with the client's defaults."""

    model_config = ConfigDict(extra="allow", strict=True)
    cache: bool = True
    profile: str | None = None
    runtime_version: str | None = None


def require_configuration(runtime: Mapping[str, Any], program: Mapping[str, Any]) -> None:
    """Whether a pipeline may be configured so. Raises Refused."""
    found = _read(_Runtime, runtime, "runtime_config", "InvalidRuntimeConfig")
    reserved = sorted(one for one in found.env if one in _RESERVED or one.startswith(_OF_THE_SERVICE))
    if reserved:
        message = f"runtime_config: these environment variables are reserved and cannot be overridden: {', '.join(reserved)}"
        raise Refused(400, "InvalidRuntimeConfig", message)
    profile = _read(_Program, program, "program_config", "InvalidProgramConfig").profile
    if profile is not None and profile not in _PROFILES:
        message = f"program_config.profile: {profile!r} is none of: {', '.join(_PROFILES)}"
        raise Refused(400, "InvalidProgramConfig", message)


def is_deeper(value: Any, most: int) -> bool:
    """Whether there are more than so many objects and lists within each other."""
    if not isinstance(value, dict | list):
        return False
    return most == 0 or any(is_deeper(one, most - 1) for one in (value.values() if isinstance(value, dict) else value))


def whole_runtime(given: Mapping[str, Any]) -> JsonObject:
    """The whole runtime configuration, of what was said of it; as it is, if it was written down before it was checked."""
    return _whole(_Runtime, given)


def whole_program(given: Mapping[str, Any]) -> JsonObject:
    """The whole configuration of the program."""
    return _whole(_Program, given)


def _whole(kind: type[BaseModel], given: Mapping[str, Any]) -> JsonObject:
    try:
        return kind.model_validate(_said(given)).model_dump()
    except ValidationError:
        return dict(given)


def _read(kind: type[_Kind], given: Mapping[str, Any], name: str, code: str) -> _Kind:
    try:
        return kind.model_validate(_said(given))
    except ValidationError as error:
        told = "; ".join(f"{'.'.join([name, *map(str, one['loc'])])}: {one['msg']}" for one in error.errors())
        raise Refused(400, code, told) from error


def _said(given: Mapping[str, Any]) -> JsonObject:
    """Without what is null: that stands for the default."""
    return {name: value for name, value in given.items() if value is not None}
