"""What the engine is told to compute a stored view: the one place that says so, for applies, steps and restores."""

from reconciler.engine.protocol import ViewBuild
from reconciler.project.program.model import Program, View
from reconciler.query.reading import Place, functions_for, query_of, sources_for


def view_build(program: Program, view: View, place: Place, staging: str) -> ViewBuild:
    """The build of a view of a program into a staging folder; `place` says where each relation is read. Equal inputs give
    equal builds: staging folders are named by them (`building`)."""
    reads = [read.relation for read in view.reads]
    return ViewBuild(
        view=view.name,
        query=query_of(view),
        column_names=view.declaration.column_names,
        sources=sources_for(program, reads, place),
        staging=staging,
        settings=dict(sorted(program.settings.spark.items())),
        functions=functions_for(program, view.calls, reads),
        kind="stream" if view.stream is not None else "view",
    )
