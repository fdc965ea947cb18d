"""reconciler: a declarative GitOps reconciler for data pipelines on Spark and Delta Lake.

The Python interface is imported lazily, so that `import reconciler` costs nothing:

    from reconciler import Project
    pipeline = Project.open("path/to/repository").pipeline("student_grades")
    print(pipeline.plan().approval_diff)
"""

from typing import TYPE_CHECKING, Any

from reconciler.base.version import __version__

if TYPE_CHECKING:
    from reconciler.environment.observer import Observer
    from reconciler.service.pipeline import Pipeline
    from reconciler.service.project import Project

__all__ = ["Observer", "Pipeline", "Project", "__version__"]


def __getattr__(name: str) -> Any:
    match name:
        case "Observer":
            from reconciler.environment.observer import Observer

            return Observer
        case "Pipeline":
            from reconciler.service.pipeline import Pipeline

            return Pipeline
        case "Project":
            from reconciler.service.project import Project

            return Project
    raise AttributeError(f"module 'reconciler' has no attribute {name!r}")
