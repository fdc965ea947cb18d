"""docs/sdk.md is true: its example runs, and its table has each method of the client, as it is answered."""

import re

from feldera import Pipeline

from tests.rest.conftest import ROOT, Serving

PAGE = (ROOT / "docs" / "sdk.md").read_text(encoding="utf-8")


def test_the_example_runs(service: Serving, capsys) -> None:  # type: ignore[no-untyped-def]
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert "http://localhost:8080" in example
    exec(compile(example.replace("http://localhost:8080", service.address), "docs/sdk.md", "exec"), {})
    assert capsys.readouterr().out.startswith("[{")


def test_each_method_of_the_client_stands_in_the_table() -> None:
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \| (.*) \|$", PAGE.partition("## Methods")[2].partition("\n## ")[0], re.MULTILINE)
    named = [name for names, _ in rows for name in re.findall(r"`([a-z_]+)`", names)]
    assert sorted(named) == sorted(name for name in vars(Pipeline) if not name.startswith("_"))
    assert all(re.match(r"works|differs: |501: ", said) for _, said in rows)


def test_the_page_names_the_version_that_is_tested() -> None:
    import importlib.metadata

    version = importlib.metadata.version("feldera")
    assert set(re.findall(r"`?feldera`?(?:==| )(0\.\d+\.\d+)", PAGE)) == {version}
