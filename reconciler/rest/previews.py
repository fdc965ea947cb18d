"""Programs that are only looked at: compiled, or compared with what is applied, as if they stood in a pipeline's files."""

from typing import Final

from reconciler.apply.planning import Planned, plan_or_programs
from reconciler.base.diagnostics import errors_among
from reconciler.base.digest import JsonObject
from reconciler.environment.source import MANIFEST_FILE, pipeline_folder
from reconciler.environment.target import Target
from reconciler.plan.model import Plan
from reconciler.rest.compilation import Compiled, program_info
from reconciler.rest.descriptions import PROGRAM_FILE, Description, manifest_text, require_own, require_size
from reconciler.workspace.desired import begin_visit, validate_files

_NAMELESS: Final = "program"


def compiled_text(target: Target, text: str) -> JsonObject:
    """A program compiled, as `validate_program` tells it: `Success` or `SqlError`. Raises Refused."""
    require_size(text)
    compiled = _compiled(target, Description(_NAMELESS, program_code=text))
    if compiled.program is None or errors_among(compiled.problems):
        return {"SqlError": {"info": compiled.error_json()["sql_compilation"]}}
    info = {**program_info(compiled.program, {}), "dataflow": None, "main_rust": None}
    return {"Success": {"program_info": info, "info": compiled.error_json()["sql_compilation"]}}


def diff_with(target: Target, pipeline: str, text: str) -> Plan:
    """The plan that would bring another program into force. Raises ManifestInvalid, Refused."""
    require_size(text)
    description = require_own(target, pipeline).changed({"program_code": text})
    found = plan_or_programs(target, pipeline, _files(target, description))
    return found.plan if isinstance(found, Planned) else found


def _compiled(target: Target, description: Description) -> Compiled:
    files = _files(target, description)
    validated = validate_files(begin_visit(target, description.name), files)
    return Compiled(validated.program, validated.diagnostics, files)


def _files(target: Target, description: Description) -> dict[str, str]:
    folder = pipeline_folder(description.name)
    return {
        f"{folder}/{PROGRAM_FILE}": f"{description.program_code}\n",
        f"{folder}/{MANIFEST_FILE}": manifest_text(target, description),
    }
