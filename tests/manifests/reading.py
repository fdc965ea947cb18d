"""Reads a folder of test files as the pipeline `shop`, through everything that stands before a plan."""

from pathlib import Path

from reconciler.base.diagnostics import Diagnostic, in_order
from reconciler.project.manifest.project import read_project
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program

PIPELINE = "shop"
SMALLEST = """\
apiVersion: reconciler/v1
kind: Pipeline
metadata: {name: shop}
spec: {}
"""


def read_case(folder: Path) -> tuple[Diagnostic, ...]:
    """All diagnostics of a case, in order. See test_bad_manifests for what a case holds."""
    texts = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in {"expected.json", "warnings.json"}
    }
    project_text = texts.pop("reconcile.yaml", None)
    if texts.pop("no-pipeline-yaml", None) is None:
        texts.setdefault("pipeline.yaml", SMALLEST)
    files = {f"pipelines/{PIPELINE}/{name}": text for name, text in texts.items()}

    project = read_project(project_text)
    diagnostics = list(project.diagnostics)
    variables = project.project.environments[project.project.default].variables if project.project else {}
    read = read_manifest(f"pipelines/{PIPELINE}", files, variables)
    diagnostics += read.diagnostics
    if read.manifest is not None:
        diagnostics += compile_program(read.manifest, complete=read.complete).diagnostics
    return in_order(diagnostics)
