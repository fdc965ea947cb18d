"""The snapshot: a program with the fingerprints of what it means.

Two digests, for two questions:
- `digest` is of the meaning: it changes exactly when some fingerprint does, and it is what a plan digest covers.
  Comments, layout, descriptions, owners and the like are no part of it.
- `record` is of the definitions as written (codec): it names what the registry stores, so that nothing that the author
  wrote is lost, and changes with any edit.
"""

from collections.abc import Mapping

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import canonical_json, digest_json
from reconciler.project.program.model import Program
from reconciler.project.program.settings import decisive_settings
from reconciler.project.snapshot.codec import encode_program
from reconciler.project.snapshot.fingerprint import connector_content, function_content, table_content, view_fingerprint


@dataclass(frozen=True, slots=True)
class Snapshot:
    """See the module. `fingerprints` maps `table:<key>`, `view:<key>`, `function:<key>`, `foreign:<key>`,
    `connector:<relation key>.<name key>` to digests."""

    program: Program
    fingerprints: Mapping[str, str]
    digest: str
    record: str


def take_snapshot(program: Program, record: str | None = None) -> Snapshot:
    """The snapshot of a compiled program. `record`: its record digest, where that is known."""
    spelling = program.spelling
    settings = canonical_json(decisive_settings(program.settings))
    fingerprints = {
        f"table:{key}": digest_json(table_content(one, program.settings, spelling)) for key, one in program.tables.items()
    }
    for key, view in program.views.items():
        fingerprints[f"view:{key}"] = view_fingerprint(view, settings, spelling)
    for key, connector in program.connectors.items():
        fingerprints[f"connector:{key}"] = digest_json(connector_content(connector))
    for key, function in program.functions.items():
        bound = [list(one) for one in function.declaration.functions]
        content = function_content(function, spelling)
        fingerprints[f"function:{key}"] = digest_json({**content, "functions": bound} if bound else content)
    for key, relation in program.foreign.items():
        fingerprints[f"foreign:{key}"] = relation.meaning
    ordered = dict(sorted(fingerprints.items()))
    return Snapshot(program, ordered, digest_json(ordered), record or digest_json(encode_program(program)))
