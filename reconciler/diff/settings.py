"""Spark settings, its version and the environment's settings compared: whatever of them differs and is no cause of a view's
change is told as metadata.

Values are told where they are plain (`manifest.spark_values`).
"""

from collections.abc import Iterator, Mapping

from reconciler.base.declarations import Settings
from reconciler.diff.model import MetadataChange
from reconciler.project.manifest.known_spark_settings import is_harmless, is_neutral
from reconciler.project.manifest.spark_values import shown_value
from reconciler.project.program.model import Program
from reconciler.project.program.settings import SPARK, differing_settings

_NOT_SET = "not set"


def compare_settings(applied: Program, desired: Program) -> Iterator[MetadataChange]:
    """The changes, in no order. Where there are views, what decides results is told as the cause of their change."""
    before, after = applied.settings, desired.settings
    decisive = set(differing_settings(before, after)) if desired.views else set()
    if before.spark_version != after.spark_version and SPARK not in decisive:
        yield MetadataChange(desired.name, "version of Spark", before.spark_version, after.spark_version)
    for name in _differing(before.spark, after.spark):
        if name not in decisive and not _is_of_environment(name, before, after):
            yield MetadataChange(desired.name, name, *_values(name, before.spark, after.spark))
    if before.environment is None or after.environment is None:
        if before.environment != after.environment:
            said = ["not recorded" if one.environment is None else "recorded" for one in (before, after)]
            yield MetadataChange(desired.name, "the environment's settings of Spark", *said)
        return
    environments = {**before.environment, **before.sealed}, {**after.environment, **after.sealed}
    for name in _differing(*environments):
        if name not in decisive:
            sealed = name in {*before.sealed, *after.sealed}
            values = (None, None) if sealed else _values(name, before.environment, after.environment)
            yield MetadataChange(desired.name, f"the environment's {name}", *values)


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def _is_of_environment(name: str, before: Settings, after: Settings) -> bool:
    """Whether the setting came with the environment, which is told by itself."""
    return all(one.environment is not None and one.spark.get(name) == one.environment.get(name) for one in (before, after))


def _values(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str | None, str | None]:
    if not (is_harmless(name) or is_neutral(name)):
        return None, None
    return shown_value(name, before.get(name, _NOT_SET)), shown_value(name, after.get(name, _NOT_SET))
