"""reconciler: a declarative GitOps reconciler for data pipelines on Spark and Delta Lake.

The Python interface is imported lazily, so that `import reconciler` costs nothing:

    from reconciler import Project
    pipeline = Project.open("path/to/repository").pipeline("student_grades")
    print(pipeline.plan().approval_diff)
"""

from typing import TYPE_CHECKING, Any

from reconciler.base.version import __version__

if TYPE_CHECKING:
    from reconciler.service.api import Pipeline, Project

__all__ = ["Pipeline", "Project", "__version__"]


def __getattr__(name: str) -> Any:
    if name in ("Pipeline", "Project"):
        from reconciler.service import api

        return getattr(api, name)
    raise AttributeError(f"module 'reconciler' has no attribute {name!r}")
