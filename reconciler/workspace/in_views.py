r"""Versions that a view's query names: `revenue@v2` in backquotes, or of another pipeline `sales.\`revenue@v2\``.

- A version is named by its number. An alias moves without a plan, and what a view means must not (P375).
- It has to be allowed (A524) by the pipeline whose relation it is: in the reader's own files, or in what is applied.
- Of a table or a materialized view: a plain view keeps no rows (P370).
- Its rows are in the history of the relation's own table: what drops that takes them along (P376).
- A version never changes, so its meaning is which one it is. `following` says where its rows are.
- One that is kept up to date (`maintained`) is a view of its pipeline, and read, followed and compared as such.
"""

from reconciler.base.declarations import ForeignRelation, Manifest, ViewKind
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.digest import digest_json
from reconciler.base.errors import NotFound, RegistryError
from reconciler.base.names import fold
from reconciler.environment.target import Target
from reconciler.registry.model import Head
from reconciler.state.applied import read_snapshot
from reconciler.versions.looking import ObjectVersion, find_in_head, list_versions, read_version, version_number


def look_up_version(target: Target, manifest: Manifest, key: str) -> ForeignRelation | Diagnostic | None:
    """What is known of a version that a query of this manifest names; a diagnostic without its place if it can't be read."""
    settings = manifest.settings
    written, _, version = key.partition("@")
    pipeline, dot, name = written.rpartition(".")
    if "." in pipeline or not name:
        return None
    if dot and pipeline == settings.name:
        return Diagnostic("P371", f"{key} belongs to this pipeline", None, f"leave its name out: `{name}@{version}`")
    owner = pipeline or settings.name
    stored = target.registry.head(owner)
    head = stored.value if stored is not None else None
    try:
        allowed = settings.version_reads if not pipeline else _allows(target, head)
        if not allowed:
            return not_allowed(key, owner, ", and apply" if pipeline else "")
        if head is None:
            return Diagnostic("A522", f"{key}: pipeline {owner} was never applied", None)
        found = find_in_head(head, name)
        if version_number(version) is None:
            names = ", ".join(f"{name}@v{one.number}" for one in list_versions(target, found, limit=20).versions)
            message = f"{key} names a version by a name that may change its meaning"
            return Diagnostic("P375", message, None, f"a view must name a version by its number: {names}")
        relation = _relation(key, read_version(target, found, version), is_own=not pipeline)
        if isinstance(relation, ForeignRelation) and relation.is_own and not _is_kept(manifest, name):
            message = f"{key} reads rows of {name}, which the files no longer have as a table or materialized view"
            hint = "the plan drops its table with the rows of all its versions: keep the relation, or remove this reference"
            return Diagnostic("P376", message, None, hint)
        return relation
    except NotFound as error:
        return Diagnostic(error.code, error.message, None, error.hint)


def not_allowed(key: str, owner: str, more: str = "") -> Diagnostic:
    """Says that a pipeline does not let its versions be read. `more` ends the hint."""
    hint = "set spec.versions.reads to true in its pipeline.yaml" + more
    return Diagnostic("A524", f"{key} can't be read: pipeline {owner} does not allow reading versions", None, hint)


def _is_kept(manifest: Manifest, name: str) -> bool:
    stored = [view.name for view in manifest.views if view.kind is ViewKind.MATERIALIZED]
    return fold(name) in {fold(one) for one in (*stored, *(table.name for table in manifest.tables))}


def _allows(target: Target, head: Head | None) -> bool:
    if head is None or head.applied is None or head.applied.record is None:
        return True  # then there is no version, which is told
    return read_snapshot(target, head.pipeline, head.applied.record).program.settings.version_reads


def _relation(key: str, version: ObjectVersion, *, is_own: bool) -> ForeignRelation | Diagnostic:
    found = version.found
    if found.kind == "function":
        return Diagnostic("P370", f"{key} is a version of a function: it can't be read", None)
    if found.kind == "view" and version.content.get("kind") != ViewKind.MATERIALIZED.value:
        message = f"{key} is a version of a view that stored no rows"
        return Diagnostic("P370", message, None, "only tables and materialized views store rows of their versions")
    columns = [(str(one["name"]), str(one.get("type") or "") or None) for one in version.content.get("columns", [])]
    if not columns:
        raise RegistryError("G602", f"the registry has no columns of {key}")
    return ForeignRelation(
        pipeline=found.pipeline,
        name=found.name,
        kind=found.kind,
        columns=tuple((name, kind if found.kind == "table" else None) for name, kind in columns),
        meaning=digest_json({"pipeline": found.pipeline, "object": found.versions.id, "version": version.summary.number}),
        record="",
        version=version.summary.number,
        is_own=is_own,
    )
