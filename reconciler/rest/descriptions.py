"""Pipelines that are made through the API, as files of the repository.

    pipelines/<name>/api.json        what the client sent, whole; it comes first, all else is written from it
    pipelines/<name>/pipeline.yaml   the same for reconciler
    pipelines/<name>/program.sql     the program as it was sent

So such a pipeline is one as any: the command line plans, applies and shows it, and whoever commits its files takes it over
for git. From then on the API leaves the files alone, as it does with all that stand at the commit that is checked out, and
with those that have no api.json. Where the environment has a branch, only what is merged is applied, and no pipeline is made
here.

Whoever dies between two files is overtaken by the next look: `complete` writes what does not say what api.json says.
"""

import json
import os
import re
import shutil
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any, Final

import yaml

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import ViewKind
from reconciler.base.errors import ReconcileError
from reconciler.base.json_objects import from_json
from reconciler.base.moments import this_moment
from reconciler.base.names import fold
from reconciler.environment.bases import required_branches
from reconciler.environment.commits import pipelines_checked_out
from reconciler.environment.source import (
    MANIFEST_FILE,
    MAXIMUM_FILE,
    PIPELINES_FOLDER,
    is_pipeline_folder,
    pipeline_names,
    read_optional,
    write_text,
)
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.rest.errors import Refused, no_such_pipeline
from reconciler.service.new_repository import PIPELINE_NAME
from reconciler.sql.statements import read_sql

DESCRIPTION_FILE: Final = "api.json"
PROGRAM_FILE: Final = "program.sql"
HTTP_CONNECTOR: Final = "api_ingress"
"""The connector of each table that takes rows over HTTP."""
_REQUESTS: Final = ".reconcile/requests"
_TAG: Final = re.compile(r"[A-Za-z0-9 ._/|\\:=-]{1,50}")
_LONGEST_NAME: Final = 63
_MOST_TAGS: Final = 50
_LONGEST_DESCRIPTION: Final = 300
_IN_SECONDS: Final = "checkpoint_interval_secs"
_MOST_SECONDS: Final = 999_999
_MOST_PARTS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Description:
    """What the API knows of a pipeline that was made through it. `version` rises with each change but those of description
    and tags, which mean nothing to a pipeline that runs; `program_version` with each of the program."""

    name: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    description: str = ""
    tags: tuple[str, ...] = ()
    program_code: str = ""
    udf_rust: str = ""
    udf_toml: str = ""
    program_config: Mapping[str, Any] = field(default_factory=dict)
    runtime_config: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    program_version: int = 1
    created_at: str = field(default_factory=this_moment)
    program_status_since: str = field(default_factory=this_moment)

    def with_values(self, values: Mapping[str, Any]) -> "Description":
        """The same with other values, as it is made; those that are None stay."""
        return replace(self, **{name: value for name, value in values.items() if value is not None})

    @property
    def program(self) -> tuple[Any, ...]:
        """What is compiled."""
        return self.program_code, self.program_config, self.udf_rust, self.udf_toml

    def changed(self, changes: Mapping[str, Any]) -> "Description":
        """The same after a change: its versions rise."""
        after = self.with_values(changes)
        if after == replace(self, description=after.description, tags=after.tags):
            return after
        has_program = after.program != self.program
        return replace(
            after,
            version=self.version + 1,
            program_version=self.program_version + has_program,
            program_status_since=this_moment() if has_program else self.program_status_since,
        )


def new_description(name: str) -> Description:
    """That of a pipeline that is made now: one moment is that of all of it."""
    moment = this_moment()
    return Description(name, created_at=moment, program_status_since=moment)


def committed_among(target: Target, names: Iterable[str]) -> frozenset[str]:
    """Those of these pipelines that were made through the API, and are git's by now; git is asked once."""
    made = [name for name in names if os.path.lexists(target.root / PIPELINES_FOLDER / name / DESCRIPTION_FILE)]
    return pipelines_checked_out(target.root, made) if made else frozenset()


def read_description(target: Target, name: str, committed: frozenset[str] | None = None) -> Description | None:
    """What the API knows of a pipeline; None where it was not made through it, or is git's by now. `committed`: by
    `committed_among`, where that was asked for several."""
    if PIPELINE_NAME.fullmatch(name) is None or not is_pipeline_folder(target.root / PIPELINES_FOLDER / name):
        return None
    text = read_optional(target.root / PIPELINES_FOLDER / name / DESCRIPTION_FILE, target.root)
    if text is None or name in (committed_among(target, (name,)) if committed is None else committed):
        return None
    try:
        return from_json(Description, json.loads(text))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        place = f"{PIPELINES_FOLDER}/{name}/{DESCRIPTION_FILE}"
        hint = "put it back from a copy, or remove it: then the files of the pipeline are yours to change"
        raise ReconcileError("U813", f"{place} is damaged: {error!r}", hint) from error


def require_own(target: Target, name: str) -> Description:
    """What the API knows of a pipeline that it may change. Raises Refused."""
    found = read_description(target, name)
    if found is None:
        if name not in pipeline_names(target.root):
            raise no_such_pipeline(name)
        message = f"the files of pipeline {name} are not the API's: change them in git, and merge"
        raise Refused(403, "OwnedByGit", message)
    return found


def require_may_make(target: Target, name: str) -> None:
    """Whether a pipeline of this name may be made here. Raises Refused."""
    if PIPELINE_NAME.fullmatch(name) is None or name.endswith(("-", "_")):
        code = "EmptyName" if not name else "TooLongName" if len(name) > _LONGEST_NAME else "NameDoesNotMatchPattern"
        message = (
            f"the name {name!r} is not a lower-case letter, then up to 62 lower-case letters, digits, - or _, "
            "of which the last is no - or _"
        )
        raise Refused(400, code, message)
    branches = required_branches(target, name)
    if branches:
        environment = target.environment.name
        message = f"environment {environment} applies only what is merged to {' and '.join(branches)}: make it in git"
        raise Refused(403, "OwnedByGit", message)


def require_words(description: str, tags: Sequence[str]) -> None:
    """Whether a pipeline may be described so. Raises Refused."""
    if len(description) > _LONGEST_DESCRIPTION:
        message = f"the description has {len(description)} characters; at most {_LONGEST_DESCRIPTION} are allowed"
        raise Refused(400, "TooLongDescription", message)
    if len(tags) > _MOST_TAGS:
        raise Refused(400, "TooManyTags", f"there are {len(tags)} tags; at most {_MOST_TAGS} are allowed")
    for tag in tags:
        if _TAG.fullmatch(tag) is None:
            message = f"the tag {tag!r} is not 1 to 50 letters (a to z), digits, spaces or any of . _ / | \\ : = -"
            raise Refused(400, "InvalidTag", message)


def require_size(text: str) -> None:
    """Whether a program may be looked at: none is read that no file could hold. Raises Refused."""
    if len(text) >= MAXIMUM_FILE or len(text.encode("utf-8", "replace")) >= MAXIMUM_FILE:
        raise Refused(413, "TooLarge", f"a program has less than {MAXIMUM_FILE} bytes")


def write_description(target: Target, description: Description) -> None:
    """Write a pipeline's files. Raises Refused for what is too long to be read again."""
    require_size(description.program_code)
    text = json.dumps(asdict(description), indent=2, sort_keys=True) + "\n"
    if len(text) > MAXIMUM_FILE:
        raise Refused(413, "TooLarge", f"a pipeline, with all that is said of it, has at most {MAXIMUM_FILE} bytes")
    folder = target.root / PIPELINES_FOLDER / description.name
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / DESCRIPTION_FILE, text)
    _write_files(target, description)


def complete(target: Target) -> None:
    """Have the files of all pipelines say what api.json says. One that can't be read or written holds up no other; whoever
    looks at it is told."""
    for name in pipeline_names(target.root):
        with suppress(ReconcileError, OSError, ValueError):
            description = read_description(target, name)
            if description is not None:
                _write_files(target, description)


def remove_files(target: Target, name: str) -> None:
    """Remove the files of a pipeline. What else stands in its folder stays."""
    folder = target.root / PIPELINES_FOLDER / name
    for file in (MANIFEST_FILE, PROGRAM_FILE, DESCRIPTION_FILE):
        (folder / file).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def folder_of_requests(target: Target, pipeline: str, table: str = "") -> Path:
    """Where rows that came for a table stand until they are read; without a table, the folder above all of a pipeline."""
    above = target.root.resolve() / _REQUESTS / target.environment.name / pipeline
    return above / fold(table) if table else above


def are_requests_read(target: Target, program: Program, table: str) -> bool:
    """Whether the pipeline reads the rows that come for a table (a key) here: files that were committed elsewhere, or for
    another environment, name the folder of that place."""
    connector = program.connectors.get(f"{table}.{HTTP_CONNECTOR}")
    if connector is None or connector.transport != "http_input":
        return False
    path = Path(connector.settings["transport"]["config"]["path"])
    return path.resolve() == folder_of_requests(target, program.name, table).resolve()


def remove_requests(target: Target, pipeline: str) -> None:
    """Remove the rows that came for a pipeline, be they read or not, and what is known of those that were refused."""
    shutil.rmtree(folder_of_requests(target, pipeline), ignore_errors=True)


def remove_requests_of_others(target: Target, pipeline: str, tables: Collection[str]) -> None:
    """Remove the rows that came for tables other than these, which are no more. A table that has the name of one of them
    later is another one."""
    with suppress(FileNotFoundError):
        for folder in folder_of_requests(target, pipeline).iterdir():
            if folder.is_dir() and folder.name not in tables:
                shutil.rmtree(folder, ignore_errors=True)


def _write_files(target: Target, description: Description) -> None:
    folder = target.root / PIPELINES_FOLDER / description.name
    files = {PROGRAM_FILE: f"{description.program_code}\n", MANIFEST_FILE: manifest_text(target, description)}
    for file, text in files.items():
        if read_optional(folder / file, target.root) != text:
            write_text(folder / file, text)


def manifest_text(target: Target, description: Description) -> str:
    """pipeline.yaml of a pipeline that was made through the API: its policy is to ask; who starts it says what then."""
    metadata: dict[str, Any] = {"name": description.name}
    if description.description:
        metadata["description"] = description.description
    if description.tags:
        metadata["tags"] = list(dict.fromkeys(description.tags))
    spec: dict[str, Any] = {"sql": [PROGRAM_FILE], "bootstrap_policy": "await_approval"}
    runtime = _runtime(description.runtime_config)
    if runtime:
        spec["runtime"] = runtime
    declared = read_sql(description.program_code, PROGRAM_FILE)
    tables = {fold(table.name): table.name for table in declared.tables}
    connectors = [
        {
            "table": name,
            "name": HTTP_CONNECTOR,
            "transport": {
                "name": "http_input",
                "config": {"path": str(folder_of_requests(target, description.name, key))},
            },
        }
        for key, name in tables.items()
    ]
    if connectors:
        spec["connectors"] = connectors
    # Whoever listens to a view is told what changed in it: it has to be stored.
    plain = {view.name: {"stored": True} for view in declared.views if view.kind is ViewKind.PLAIN}
    if plain:
        spec["views"] = plain
    document = {"apiVersion": "reconciler/v1", "kind": "Pipeline", "metadata": metadata, "spec": spec}
    return "# Written by the API from api.json.\n" + yaml.safe_dump(
        document, sort_keys=False, allow_unicode=True, width=1_000
    )


def _runtime(config: Mapping[str, Any]) -> dict[str, Any]:
    """What of the client's configuration the pipeline takes from here. All pipelines share one Spark: workers say in how
    many parts rows are shuffled. docs/sdk.md says what becomes of each field."""
    found: dict[str, Any] = {}
    workers = config.get("workers")
    if isinstance(workers, int) and 1 <= workers <= _MOST_PARTS:
        found["shuffle_partitions"] = workers
    tolerance = config.get("fault_tolerance")
    seconds = tolerance.get(_IN_SECONDS) if isinstance(tolerance, Mapping) else None
    if isinstance(seconds, int) and 1 <= seconds <= _MOST_SECONDS:
        found["checkpoint_interval"] = f"{seconds}s"
    return found
