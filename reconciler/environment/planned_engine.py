"""Whether the Spark and the Python that are here are those that the plan in force was made for.

Another minor version may compute other rows from the same definitions. So nothing is computed with one that nobody planned
for: whoever would make a step, or finish an apply, is told to plan first. A plan from the files shows the upgrade, and its
apply computes the views anew. Reading what is stored needs neither.
"""

from reconciler.base.declarations import PythonBody
from reconciler.base.errors import EngineError
from reconciler.base.names import is_version
from reconciler.environment.target import Target
from reconciler.project.manifest.functions import PYTHON
from reconciler.project.program.model import Program
from reconciler.project.program.settings import minor


def require_planned_engine(target: Target, program: Program) -> None:
    """Raises EngineError (X780) where another minor version of Spark, or of Python where functions are written in it, is
    here than the program was planned for."""
    planned, here = program.settings.spark_version, target.spark_version
    if minor(planned) != minor(here):
        raise _other(program.name, f"Spark {planned}", f"Spark {here}")
    # A version that somebody keeps on purpose goes on as it is: no plan from the files could bring it forward.
    kept = program.settings.function_pins
    bodies = (one.declaration.body for key, one in program.functions.items() if key not in kept and not is_version(key))
    for python in sorted({body.python for body in bodies if isinstance(body, PythonBody)} - {"", PYTHON}):
        raise _other(program.name, f"Python {python}", f"Python {PYTHON}")


def _other(pipeline: str, planned: str, here: str) -> EngineError:
    return EngineError(
        "X780",
        f"{pipeline} was planned for {planned}, but {here} is installed, which may compute other rows",
        f"run `reconcile plan {pipeline}`, which shows what the upgrade changes, and apply it; or go back to {planned}",
    )
