"""A manifest, compiled; what it reads of other pipelines is looked up on the way (`foreign`), only where it names any."""

from dataclasses import replace

from reconciler.base.declarations import Manifest
from reconciler.project.program.compile import Compiled, compile_program
from reconciler.workspace.visits import Visit


def compile_manifest(visit: Visit, manifest: Manifest, *, complete: bool = True, limited: bool = False) -> Compiled:
    """Compile a manifest, with what it reads of other pipelines as it is now. `limited`: it is of files only, with nothing
    that the registry holds."""
    cache = visit.target.cache
    compiled = compile_program(manifest, complete=complete, cache=cache, limited=limited)
    if not compiled.missing:
        return compiled
    from reconciler.workspace.foreign import look_up

    found = look_up(visit, manifest, compiled.missing)
    return compile_program(
        replace(manifest, foreign=(*manifest.foreign, *found.relations)),
        complete=complete,
        cache=cache,
        refused=found.refused,
        limited=limited,
    )
