"""No command shows a secret, whoever wrote it and wherever; rows that were asked for are data."""

from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.cli.output import show_csv, show_json, show_rows, show_table
from reconciler.service.project import Project
from reconciler.testing.recording import RecordingEngine
from tests.plan.planted_secrets import LOGIN, PROGRAM


def test_commands_show_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = "ZqHUNTER2HUNTER2"
    folder = tmp_path / "pipelines" / "shop"
    folder.mkdir(parents=True)
    (tmp_path / "reconcile.yaml").write_text(
        f"default: dev\nenvironments:\n  dev: {{warehouse: wh, variables: {{hidden: {token}}}}}\n"
    )
    (folder / "program.sql").write_text(PROGRAM)
    (folder / "pipeline.yaml").write_text(
        "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\nspec:\n  connectors:\n"
        "    - {name: a, table: t, transport: {name: delta_table_input, config: "
        f"{{uri: 's3://bob:{token}@h/x?sig={token}', mode: snapshot, aws_secret_access_key: '${{var:hidden}}'}}}}}}\n"
        "    - {name: b, table: t, transport: {name: kafka_input, config: "
        f"{{topic: x, bootstrap.servers: b, sasl.jaas.config: '{LOGIN.format(token)}'}}}}, format: {{name: json}}}}\n"
    )
    repository = ("--repo", str(tmp_path))
    for form in ("text", "json", "markdown", "mermaid", "dot"):
        assert (
            run(
                ["plan", *repository, "--format", form, "--all"]
                if form == "text"
                else ["plan", *repository, "--format", form]
            )
            == 0
        )
    assert run(["plan", "shop", *repository, "--write-lock"]) == 0
    for form in ("text", "json"):
        assert run(["validate", *repository, "--format", form]) == 0
        assert run(["status", "shop", *repository, "--format", form]) == 0
    captured = capsys.readouterr()
    assert token not in captured.out + captured.err
    assert "C412" in captured.out + captured.err


def test_no_command_shows_a_credential_that_stands_in_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In SQL, in Python, in words of the author, and in what a problem quotes: whoever shows it."""
    tokens = [*(f"ghp_{number:036}" for number in range(5)), *(f"Zq7hunTer{number}Xk" for number in range(3))]
    folder = tmp_path / "pipelines" / "shop"
    (folder / "udf").mkdir(parents=True)
    (tmp_path / "reconcile.yaml").write_text("environments: {dev: {warehouse: wh}}\n")
    (folder / "program.sql").write_text(
        f"CREATE TABLE t (a STRING DEFAULT '{tokens[0]}', b INT);\n"
        f"CREATE FUNCTION g(x INT) RETURNS STRING;\n"
        f"CREATE VIEW v AS SELECT a, g(b) AS g FROM t WHERE a <> '{tokens[1]}' AND a <> 'postgresql://bob:{tokens[2]}@h/d';\n"
    )
    (folder / "udf" / "g.py").write_text(f'TOKEN = "{tokens[3]}"\n\n\ndef g(x):\n    return TOKEN\n')
    yaml = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
    named = f"metadata: {{name: shop, description: 'password={tokens[5]}', owner: 'secret: {tokens[6]}'}}"
    readers = f"'the board, {tokens[4]}', 'password={tokens[7]}'"
    spec = f"spec: {{bootstrap_policy: allow, views: {{v: {{used_by: [{readers}]}}}}}}\n"
    repository = ("--repo", str(tmp_path))
    (folder / "pipeline.yaml").write_text(yaml.replace("metadata: {name: shop}", named) + spec)
    target = Project.open(tmp_path, engine=RecordingEngine())
    target.pipeline("shop").apply()
    (folder / "pipeline.yaml").write_text(yaml)
    for name in ("t", "v", "g"):
        for form in ("text", "json"):
            assert run(["versions", "show", name, *repository, "--format", form]) == 0
    for form in ("text", "json"):
        assert run(["history", "shop", "--at", "2100-01-01", *repository, "--format", form]) == 0
        assert run(["plan", *repository, "--format", form]) == 0
        assert run(["explain", "shop", "v", *repository, "--format", form]) == 0
    assert run(["plan", *repository, "--format", "markdown", "--write-lock"]) == 0
    (folder / "more.sql").write_text(f"CREATE VIEW w AS SELECT '{tokens[0]}' FROM;\n")
    assert run(["validate", *repository]) == 1
    captured = capsys.readouterr()
    shown = captured.out + captured.err + "".join(file.read_text() for file in folder.glob("plan.lock"))
    assert "***" in shown
    assert not [token for token in tokens if token in shown]


def test_rows_that_were_asked_for_are_data(capsys: pytest.CaptureFixture[str]) -> None:
    token = "ghp_" + "0" * 36
    show_rows(["a"], [[token]])
    show_csv(["a"], [[token]])
    show_json({"step": 1}, {"rows": [{"a": token}]})
    assert capsys.readouterr().out.count(token) == 3
    show_json({"step": token})
    show_table(["a"], [[token]])
    assert token not in capsys.readouterr().out
