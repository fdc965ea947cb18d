"""Which pipelines there are: those with files, and those that are applied."""

from reconciler.base.errors import RegistryError
from reconciler.environment.source import pipeline_names, require_pipeline
from reconciler.environment.target import Target


def require_known(target: Target, pipeline: str) -> None:
    """Raises NotFound (U812) when neither files nor registry know the pipeline. Looks at this one only: damage to another
    pipeline's part of the registry is none of its business."""
    if pipeline not in pipeline_names(target.root) and not _is_held(target, pipeline):
        require_pipeline(pipeline, tuple(sorted({*pipeline_names(target.root), *target.registry.pipelines()} - {pipeline})))


def known_pipelines(target: Target) -> tuple[str, ...]:
    """Pipelines that have files, or that were applied and not removed, sorted. One whose head can't be read is among
    them: whoever looks at it is told why."""
    found = set(pipeline_names(target.root))
    for pipeline in target.registry.pipelines():
        try:
            if pipeline not in found and _is_held(target, pipeline):
                found.add(pipeline)
        except RegistryError:
            found.add(pipeline)
    return tuple(sorted(found))


def own_pipelines(target: Target) -> tuple[str, ...]:
    """`known_pipelines` less those without files here that another project of the warehouse has: what is not there in this
    project's files says nothing of them."""
    return own_and_others(target)[0]


def own_and_others(target: Target) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """`own_pipelines`, and the others of `known_pipelines`."""
    files = set(pipeline_names(target.root))
    known = known_pipelines(target)
    others = tuple(name for name in known if name not in files and _is_of_another_project(target, name))
    return tuple(name for name in known if name not in others), others


def _is_of_another_project(target: Target, pipeline: str) -> bool:
    # Most pipelines have files here.
    from reconciler.environment.bases import is_of_another_repository, project_that_has

    try:
        return is_of_another_repository(target, pipeline) or project_that_has(target, pipeline) is not None
    except RegistryError:
        # Whoever looks at it is told why.
        return False


def _is_held(target: Target, pipeline: str) -> bool:
    """Whether something of the pipeline is applied, or an apply of it is open."""
    glance = target.registry.glance(pipeline)
    return glance is not None and (glance.record is not None or glance.is_open)
