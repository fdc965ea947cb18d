"""reconcile.yaml as values."""

from reconciler.project.manifest.environment import Environment, Project
from reconciler.project.manifest.project import read_project


def test_without_the_file_there_is_one_environment() -> None:
    assert read_project(None).project == Project({"dev": Environment("dev", ".reconcile/warehouse")}, "dev")


def test_everything_is_read_as_text() -> None:
    read = read_project(
        "default: prod\n"
        "environments:\n"
        "  prod:\n"
        "    warehouse: s3://w\n"
        "    variables: {a: 1, b: true, c: '${secret:X}', d: x}\n"
        "    first_apply: await_approval\n"
        "    branch: main\n"
        "    spark: {spark.executor.instances: 4, spark.ui.enabled: false}\n"
        "  dev: {warehouse: w}\n"
    )

    assert read.diagnostics == ()
    assert read.project is not None
    assert list(read.project.environments) == ["dev", "prod"]
    assert read.project.default == "prod"
    assert read.project.environments["prod"] == Environment(
        "prod",
        "s3://w",
        {"a": "1", "b": "true", "c": "${secret:X}", "d": "x"},
        "await_approval",
        "main",
        {"spark.executor.instances": "4", "spark.ui.enabled": "false"},
    )


def test_the_only_environment_is_the_default() -> None:
    read = read_project("environments: {prod: {warehouse: w}}")

    assert read.project is not None
    assert read.project.default == "prod"


def test_an_error_leaves_no_project() -> None:
    for text in (
        "",
        "[]",
        "environments: {a: {}}",
        "environments: []",
        "a: [",
        "default: 1\nenvironments: {a: {warehouse: w}}",
    ):
        read = read_project(text)
        assert read.project is None
        assert read.diagnostics
        assert all(problem.location and problem.location.file == "reconcile.yaml" for problem in read.diagnostics)
